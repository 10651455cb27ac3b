# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions: their types, texts and places; the compiler, ptxas, and the lines for the user."""

import os
import stat

import numpy as np
import pytest

import conftest
import sparsec
from sparsec import compiler, devices, errors, module

WRONG = conftest.PRODUCT.replace("%w, %x :", "%w, %z :")
LINE = next(number for number, line in enumerate(WRONG.split("\n"), 1) if "%z" in line)
COLUMN = WRONG.split("\n")[LINE - 1].index("%z") + 1


def program(folder, name, body):
    """An executable shell script."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def ptxas(folder, release="13.0"):
    return program(folder, "ptxas", f'echo "Cuda compilation tools, release {release}, V{release}.88"')


# ---- Kinds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "kind", "base"), [
    (1, sparsec.InvalidArgument, ValueError),
    (2, sparsec.InvalidPattern, ValueError),
    (3, sparsec.InvalidImage, ValueError),
    (4, sparsec.InvalidImage, ValueError),
    (5, sparsec.DriverError, RuntimeError),
    (6, sparsec.DriverError, RuntimeError),
    (7, sparsec.DriverError, RuntimeError),
    (8, sparsec.OutOfMemory, MemoryError),
    (9, sparsec.UnknownKernel, KeyError),
    (10, sparsec.DriverError, RuntimeError),
    (11, sparsec.Error, Exception),
    (12, sparsec.Cancelled, Exception),
    (13, sparsec.InvalidPlan, ValueError),
])  # fmt: skip
def test_error_of_status(code, kind, base):
    error = errors.error_of_status(code, "the text")
    assert type(error) is kind
    assert isinstance(error, sparsec.Error)
    assert isinstance(error, base)
    assert str(error) == "the text"


def test_damaged_files_are_refused(product, tmp_path):
    path = tmp_path / "product.o"
    path.write_bytes(product.file.data)
    data = bytearray(path.read_bytes())
    for damaged in (b"", b"text", bytes(data[:-1]), bytes(data[:100])):
        with pytest.raises(sparsec.InvalidImage):
            sparsec.load(damaged)
    data[len(data) // 3] ^= 1
    with pytest.raises(sparsec.InvalidImage):
        sparsec.load(bytes(data))["product"].plan(None, None)


def test_no_image_for_the_device(tmp_path):
    only_gpu = sparsec.compile(conftest.PRODUCT, "sm_89")["product"]
    w = sparsec.BSR.from_dense(np.ones((16, 16)), 16, dtype="f16")
    with pytest.raises(sparsec.DriverError, match="no image runs on the host: the file is for sm_89"):
        only_gpu(w, np.ones((16, 8), np.float16))


def test_no_cuda_device():
    if sparsec.compiler.find_compiler() and devices._native.cuda_device_count():
        pytest.skip("this machine has a GPU")
    with pytest.raises(sparsec.DriverError):
        devices.device(0)


# ---- Compile errors --------------------------------------------------------------------------------------------------


def test_compile_error_has_a_place():
    with pytest.raises(sparsec.CompileError, match=f"<stdin>:{LINE}:{COLUMN}: error: ") as caught:
        sparsec.compile(WRONG, "host")
    assert (caught.value.file, caught.value.line, caught.value.column) == ("<stdin>", LINE, COLUMN)
    assert "^" in caught.value.diagnostics


def test_compile_error_names_the_file(tmp_path):
    path = tmp_path / "wrong kernel.mlir"
    path.write_text(WRONG)
    with pytest.raises(sparsec.CompileError) as caught:
        sparsec.compile(path, "host")
    assert str(caught.value).startswith(f"{path}:{LINE}:{COLUMN}: error: ")
    assert caught.value.file == str(path)


def test_wrong_options_are_invalid_arguments():
    with pytest.raises(sparsec.InvalidArgument, match="expects arch to be one of .* but got sm_77"):
        sparsec.compile(conftest.PRODUCT, "sm_77")
    with pytest.raises(sparsec.InvalidArgument, match="expect-density"):
        sparsec.compile(conftest.PRODUCT, "host", expect_density=7)
    with pytest.raises(sparsec.InvalidArgument, match="expect-n"):
        sparsec.compile(conftest.PRODUCT, "host", expect_n=-2)


def test_missing_source():
    with pytest.raises(FileNotFoundError):
        sparsec.compile("missing.mlir", "host")


def test_compiler_that_dies(tmp_path, monkeypatch, empty_cache):
    dying = program(tmp_path, "sparsec", 'if [ "$1" = --version ]; then echo version; else kill -9 $$; fi')
    monkeypatch.setenv("SPARSEC_COMPILER", str(dying))
    with pytest.raises(sparsec.CompileError, match="the compiler ended with exit code -9 and no message") as caught:
        sparsec.compile(conftest.PRODUCT, "host")
    assert caught.value.line is None


def test_compiler_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARSEC_COMPILER", str(tmp_path / "missing"))
    with pytest.raises(sparsec.Error, match="there is no compiler at .*missing .SPARSEC_COMPILER names it"):
        compiler.find_compiler()
    monkeypatch.setenv("SPARSEC_COMPILER", str(program(tmp_path, "broken", "exit 1")))
    with pytest.raises(sparsec.Error, match="the compiler .*broken does not run"):
        compiler.find_compiler()
    monkeypatch.delenv("SPARSEC_COMPILER")
    monkeypatch.setattr(compiler, "__file__", str(tmp_path / "compiler.py"))
    with pytest.raises(sparsec.Error, match="the package should hold it; SPARSEC_COMPILER names another"):
        compiler.find_compiler()
    inside = program(tmp_path, "bin/sparsec", "echo sparsec 9")
    assert compiler.find_compiler() == compiler.Program(inside, "sparsec 9")


def test_options_reach_the_compiler():
    options = compiler.Options(("host", "sm_89"), 0.5, 64, embed_ptx=True, allow_spills=True)
    assert options.flags() == [
        "--arch=host,sm_89", "--expect-density=0.5", "--expect-n=64", "--embed-ptx", "--allow-spills",
    ]  # fmt: skip
    assert options.needs_ptxas
    assert not compiler.Options(("host",)).needs_ptxas
    with_ptx = sparsec.compile(conftest.PRODUCT, "sm_89", expect_density=0.5, expect_n=64, embed_ptx=True)
    assert [image.is_ptx for image in with_ptx.images] == [False, True]


# ---- ptxas -----------------------------------------------------------------------------------------------------------


def test_ptxas_search_order(no_ptxas, tmp_path, monkeypatch):
    """From the last place to the first: each one that appears is taken before those that were there."""
    with pytest.raises(sparsec.Error, match=r"found no ptxas .*pip install 'sparsec\[cuda13\]'.*no-toolkit"):
        compiler.find_ptxas()
    places = [ptxas(tmp_path / "toolkit/bin")]
    monkeypatch.setattr(compiler, "TOOLKIT", tmp_path / "toolkit")
    assert compiler.find_ptxas().path == places[-1]
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        places.append(ptxas(tmp_path / variable / "bin"))
        monkeypatch.setenv(variable, str(tmp_path / variable))
        assert compiler.find_ptxas().path == places[-1]
    places.append(ptxas(tmp_path / "path"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:{os.defpath}")
    assert compiler.find_ptxas().path == places[-1]
    folders = {}
    for package, inside in (
        ("triton", "backends/nvidia/bin"), ("nvidia.cuda_nvcc", "bin"), ("nvidia.cu13", "bin"),
    ):  # fmt: skip
        places.append(ptxas(tmp_path / package / inside))
        folders[package] = tmp_path / package
        monkeypatch.setattr(compiler, "_package_folder", folders.get)
        assert compiler.find_ptxas().path == places[-1]
    named = ptxas(tmp_path / "named")
    monkeypatch.setenv("SPARSEC_PTXAS", str(named))
    assert compiler.find_ptxas().path == named
    given = ptxas(tmp_path / "given")
    assert compiler.find_ptxas(str(given)).path == given


@pytest.mark.parametrize(("release", "message"), [("12.7", "has release 12.7, older than 12.8"),
                                                  ("none", "has no release")])  # fmt: skip
def test_ptxas_that_is_too_old_is_passed_over(no_ptxas, tmp_path, monkeypatch, release, message):
    ptxas(tmp_path / "old/bin", release)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "old"))
    monkeypatch.setattr(compiler, "TOOLKIT", tmp_path / "toolkit")
    with pytest.raises(sparsec.Error, match=f"CUDA_HOME: .*old/bin/ptxas {message}"):
        compiler.find_ptxas()
    new = ptxas(tmp_path / "toolkit/bin", "12.8")
    found, passed_over = compiler.search_ptxas()
    assert found is not None
    assert found.path == new
    assert len(passed_over) == 1


def test_a_named_ptxas_is_the_only_one(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARSEC_PTXAS", str(program(tmp_path, "broken", "exit 3")))
    with pytest.raises(sparsec.Error, match="SPARSEC_PTXAS: .*broken does not run"):
        compiler.find_ptxas()
    with pytest.raises(sparsec.Error, match="ptxas: .*missing is no program"):
        sparsec.compile(conftest.PRODUCT, "sm_89", ptxas=tmp_path / "missing")


def test_packages_are_found_without_import():
    folder = compiler._package_folder("numpy")
    assert folder is not None
    assert (folder / "__init__.py").is_file()
    assert compiler._package_folder("no_such_package") is None
    assert compiler._package_folder("no_such_package.inside") is None
    assert compiler._package_folder("pickle") is None  # a module without a folder


# ---- Lines for the user ----------------------------------------------------------------------------------------------


def test_only_slow_compiles_are_said(monkeypatch, capsys, empty_cache):
    sparsec.compile(conftest.PRODUCT, "host")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(module, "_SLOW_COMPILE", -1.0)
    sparsec.compile(conftest.PRODUCT, "host", expect_n=8)
    line = capsys.readouterr().err
    assert line.startswith("sparsec: compiled a program for host in ")
    assert f"cached as {empty_cache}" in line
    sparsec.compile(conftest.PRODUCT, "host", cache=False)
    assert capsys.readouterr().err.endswith(", not cached\n")


@pytest.mark.parametrize(("value", "is_on"), [("1", True), ("0", False), ("", False)])
def test_log(product, monkeypatch, capsys, value, is_on):
    monkeypatch.setenv("SPARSEC_LOG", value)
    w = sparsec.BSR.from_dense(np.ones((16, 16)), 16, dtype="f16")
    product(w, np.ones((16, 8), np.float16))
    product(w, np.ones((16, 8), np.float16), plan=False)
    sparsec.compile(conftest.PRODUCT, "host")
    lines = capsys.readouterr().err.splitlines()
    if not is_on:
        assert not lines
        return
    assert lines[0].startswith("sparsec: product on host: variant 0 (loops); plan with fixed order, ")
    assert lines[1] == "sparsec: product on host: variant 0 (loops); no plan, tiles in a fixed order"
    assert "same text, options, compiler and ptxas" in lines[2]
