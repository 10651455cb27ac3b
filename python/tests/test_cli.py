# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line: python -m sparsec."""

import io
import os
import stat
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import conftest
import sparsec
from sparsec import __main__, compiler, devices, doctor, module


@pytest.fixture
def source(tmp_path):
    """A file with a kernel."""
    path = tmp_path / "kernel.mlir"
    path.write_text(conftest.PRODUCT)
    return path


def test_runs_as_a_module():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "sparsec", "--version"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert result.stdout == f"sparsec {sparsec.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [[], ["unknown"], ["compile"], ["cache", "burn"], ["compile", "x", "--expect-n=a"]]
)
def test_wrong_command_lines(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        __main__.main(arguments)
    assert caught.value.code == 2
    assert "usage: python -m sparsec" in capsys.readouterr().err


# ---- compile and inspect ---------------------------------------------------------------------------------------------


def test_compile_and_inspect(source, tmp_path, capsys):
    output = tmp_path / "kernel.o"
    assert __main__.main(["compile", str(source), "--targets", "host", "-o", str(output)]) == 0
    report = capsys.readouterr().out
    assert "product(w: bsr<" in report
    assert sparsec.load(output).kernels == ("product",)
    assert __main__.main(["inspect", str(output)]) == 0
    assert capsys.readouterr().out == report


def test_compile_options(source, tmp_path, monkeypatch, capsys):
    given = []
    real = module.compile
    monkeypatch.setattr(module, "compile", lambda source, targets, **options: given.append((targets, options)) or
                        real(source, "host"))  # fmt: skip
    flags = ["--targets=sm_89", "--expect-density=0.5", "--expect-n=64", "--embed-ptx", "--allow-spills",
             "--ptxas=assembler", "--no-cache"]  # fmt: skip
    assert __main__.main(["compile", str(source), "-o", str(tmp_path / "out"), *flags]) == 0
    assert __main__.main(["compile", str(source), "-o", str(tmp_path / "out")]) == 0
    assert given == [
        ("sm_89", {"expect_density": 0.5, "expect_n": 64, "embed_ptx": True, "allow_spills": True, "ptxas": "assembler",
                   "cache": False}),
        (None, {"expect_density": None, "expect_n": None, "embed_ptx": False, "allow_spills": False, "ptxas": None,
                "cache": True}),
    ]  # fmt: skip


def test_compile_reads_standard_input_and_emits(monkeypatch, tmp_path, capsys):
    for output in (None, tmp_path / "kernel.mlir"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(conftest.PRODUCT))
        arguments = ["compile", "-", "--targets=host", "--emit=mlir", *(["-o", str(output)] if output else [])]
        assert __main__.main(arguments) == 0
        text = capsys.readouterr().out
        assert "sparsec.kernel @product" in (output.read_text() if output else text)
        assert (text == "") == (output is not None)


def test_errors_are_one_text(source, tmp_path, capsys):
    source.write_text("sparsec.kernel {")
    for arguments, message in (
        (["compile", str(source), "--targets=host", "-o", "x"], f"error: {source}:1:16: error: "),
        (["inspect", str(tmp_path / "missing")], "error: [Errno 2] No such file or directory"),
        (["inspect", str(source)], "error: "),
    ):
        assert __main__.main(arguments) == 1
        assert capsys.readouterr().err.startswith(message)
    source.write_text(conftest.PRODUCT)
    assert __main__.main(["compile", str(source), "--targets=host"]) == 1
    assert "error: compile needs --output for the compiled file, or --emit for text" in capsys.readouterr().err


# ---- run -------------------------------------------------------------------------------------------------------------


def test_run_passes_its_arguments(tmp_path, monkeypatch, capfd):
    for name, body in (("sparsec", "echo version"), ("sparsec-run", 'echo "$@"; exit 7')):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("SPARSEC_COMPILER", str(tmp_path / "sparsec"))
    assert __main__.main(["run", "kernel.o", "--help", "--arg", "x=y"]) == 7
    assert capfd.readouterr().out == "kernel.o --help --arg x=y\n"
    (tmp_path / "sparsec-run").unlink()
    assert __main__.main(["run", "kernel.o"]) == 1
    assert "there is no sparsec-run at" in capfd.readouterr().err


# ---- draw ------------------------------------------------------------------------------------------------------------


def test_draw_masks(tmp_path, capsys):
    path = tmp_path / "mask.npy"
    np.save(path, np.eye(3, dtype=bool))
    assert __main__.main(["draw", str(path)]) == 0
    assert "█··" in capsys.readouterr().out
    np.save(path, np.array([[1, 2], [0, 1]], np.uint8))
    assert __main__.main(["draw", str(path), "--rows=1", "-o", str(tmp_path / "mask.txt")]) == 0
    assert "█▒" in (tmp_path / "mask.txt").read_text()
    assert "1 of 2 block rows" in (tmp_path / "mask.txt").read_text()
    assert __main__.main(["draw", str(path), "--columns=1", "-o", str(tmp_path / "mask.svg")]) == 0
    assert (tmp_path / "mask.svg").read_text().startswith("<svg")
    np.save(path, np.eye(3))
    assert __main__.main(["draw", str(path)]) == 1
    assert "expects bool or uint8, but got float64" in capsys.readouterr().err


def test_draw_matrices(tmp_path, capsys):
    (tmp_path / "p.smtx").write_text("2, 3, 2\n0 1 2\n0 2\n")
    assert __main__.main(["draw", str(tmp_path / "p.smtx")]) == 0
    picture = capsys.readouterr().out
    assert all(row in picture for row in ("█··", "··█"))
    (tmp_path / "p.smtx").write_text("2, 3\n")
    assert __main__.main(["draw", str(tmp_path / "p.smtx")]) == 1
    assert "expects lines of sizes, row pointers and columns" in capsys.readouterr().err
    assert __main__.main(["draw", str(tmp_path / "p.mtx")]) == 1
    assert "expects a .npz, .npy or .smtx file" in capsys.readouterr().err


def test_draw_scipy_matrix(tmp_path, capsys):
    sparse = pytest.importorskip("scipy.sparse")
    sparse.save_npz(tmp_path / "m.npz", sparse.bsr_array(np.kron(np.eye(3), np.ones((2, 2))), blocksize=(2, 2)))
    assert __main__.main(["draw", str(tmp_path / "m.npz")]) == 0
    picture = capsys.readouterr().out
    assert all(row in picture for row in ("█··", "·█·", "··█"))


# ---- cache -----------------------------------------------------------------------------------------------------------


def test_cache(empty_cache, capsys):
    sparsec.compile(conftest.PRODUCT, "host")
    assert __main__.main(["cache"]) == 0
    listing = capsys.readouterr().out
    assert "product for host" in listing
    assert f"1 files, {next(empty_cache.iterdir()).stat().st_size} B, in {empty_cache}" in listing
    assert __main__.main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"removed 1 files from {empty_cache}\n"
    assert __main__.main(["cache", "list"]) == 0
    assert capsys.readouterr().out == f"0 files, 0 B, in {empty_cache}\n"


# ---- doctor ----------------------------------------------------------------------------------------------------------


def lines_of(findings):
    return {finding.name: finding for finding in findings}


def test_doctor(capsys, monkeypatch):
    monkeypatch.setattr(doctor._native, "cuda_device_count", lambda: 0)
    assert __main__.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"sparsec:     {sparsec.__version__}, Python 3.")
    assert any(line.startswith("host test:   right result, ") for line in lines)
    assert any(line.startswith("driver:      ") for line in lines)
    assert any(line.startswith("gpu:         none, or no driver") for line in lines)
    assert lines[-1] == "no problems"


def test_doctor_finds_problems(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SPARSEC_COMPILER", str(tmp_path / "missing"))
    monkeypatch.setenv("SPARSEC_PTXAS", str(tmp_path / "no-ptxas"))
    monkeypatch.setattr(doctor._native, "cuda_device_count", lambda: 0)
    found = lines_of(doctor.findings())
    assert {name for name, finding in found.items() if finding.is_problem} == {"compiler", "host test"}
    assert "passed over SPARSEC_PTXAS" in found["ptxas"].text
    assert "targets of a GPU need what SPARSEC_PTXAS names" in found["ptxas"].text
    assert __main__.main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 problems"


def test_doctor_sees_a_wrong_result(monkeypatch):
    """Errors of one part in ten thousand, as of sums in bf16, and elements that are not written, are seen."""
    for spoil in (lambda y: y * 1.0001, lambda y: np.where(y == y.max(), np.nan, y)):
        kernel = module.compile(doctor._SELF_TEST, "host")["self_test"]
        spoiled = types.SimpleNamespace(self_test=lambda w, x, kernel=kernel, spoil=spoil: spoil(kernel(w, x)))
        monkeypatch.setattr(doctor.module, "compile", lambda text, target, spoiled=spoiled: vars(spoiled))
        assert not doctor.self_test(sparsec.HOST, "host")
        monkeypatch.undo()
    assert doctor.self_test(sparsec.HOST, "host")


def test_doctor_on_a_machine_with_gpus(monkeypatch):
    capabilities = [90, 75]
    monkeypatch.setattr(doctor._native, "cuda_device_count", lambda: 2)
    monkeypatch.setattr(devices, "device", lambda ordinal: types.SimpleNamespace(info=lambda: {
        "name": "GPU", "compute_capability": capabilities[ordinal], "memory_bytes": 2**37}))  # fmt: skip
    tested = []
    monkeypatch.setattr(doctor, "self_test", lambda ordinal, target: tested.append((ordinal, target)) or True)
    found = lines_of(doctor.findings())
    assert found["gpu 0"].text == "GPU, capability 9.0, 128 GiB, target sm_90a"
    assert tested == [(sparsec.HOST, "host"), (0, "sm_90a")]
    assert found["host test"].text.startswith("right result, ")
    assert found["gpu 0 test"].text.startswith("the driver takes the cubin of ptxas, right result, ")
    assert found["gpu 1"].is_problem
    assert "target None" in found["gpu 1"].text


@pytest.mark.parametrize(("driver", "is_later"), [(None, False), ((12, 9), True), ((13, 0), False), ((14, 1), False)])
def test_doctor_compares_ptxas_with_the_driver(monkeypatch, driver, is_later):
    program = compiler.Program(Path("/tools/ptxas"), "release 13.2")
    monkeypatch.setattr(compiler, "search_ptxas", lambda: (program, ["PATH: /old/ptxas has release 11.0"]))
    finding = doctor._ptxas(driver)
    assert not finding.is_problem
    assert ("later than the driver, which may refuse its cubins" in finding.text) == is_later
    assert finding.text.startswith("13.2, /tools/ptxas; ")
    assert finding.text.endswith("passed over PATH: /old/ptxas has release 11.0")


@pytest.mark.parametrize(("release", "module", "text"), [
    (None, "", "none"),
    ((12, 8), None, "CUDA 12.8"),
    ((13, 0), "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.15  Release", "580.15, CUDA 13.0"),
    ((12, 4), "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54  Wed", "550.54, CUDA 12.4"),
])  # fmt: skip
def test_doctor_names_the_driver(tmp_path, monkeypatch, release, module, text):
    path = tmp_path / "version"
    if module is not None:
        path.write_text(module)
    monkeypatch.setattr(doctor, "_KERNEL_MODULE", path)
    assert doctor._driver(release) == doctor.Finding("driver", text)


def test_driver_release_is_read_from_its_library(monkeypatch):
    def library(number, status):
        def get_version(pointer):
            pointer._obj.value = number
            return status

        return types.SimpleNamespace(cuDriverGetVersion=get_version)

    monkeypatch.setattr(doctor.ctypes, "CDLL", lambda name: library(12080, 0))
    assert doctor.driver_release() == (12, 8)
    monkeypatch.setattr(doctor.ctypes, "CDLL", lambda name: library(0, 100))
    assert doctor.driver_release() is None

    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(doctor.ctypes, "CDLL", missing)
    assert doctor.driver_release() is None


def test_self_test_uploads_and_downloads():
    """The way to a GPU, through memory that the runtime allocates, on the host device."""
    kernel = module.compile(doctor._SELF_TEST, "host")["self_test"]
    w = sparsec.BSR.from_dense(np.eye(64), 32, dtype="f16")
    x = np.random.default_rng(0).standard_normal((64, 8)).astype(np.float16)
    np.testing.assert_array_equal(doctor._run_on_gpu(kernel, sparsec.HOST, w, x), x.astype(np.float32))


def test_memory_checks_lengths():
    memory = devices.device(sparsec.HOST).allocate(16)
    assert (memory.bytes, memory.pointer % 64) == (16, 0)
    with pytest.raises(sparsec.InvalidArgument, match="expects 16 bytes, but got 8"):
        memory.upload(np.zeros(8, np.uint8))
    with pytest.raises(sparsec.InvalidArgument, match="expects 16 bytes, but got 32"):
        memory.download(np.zeros(32, np.uint8))
    with pytest.raises(BufferError):
        memory.download(bytes(16))
    with pytest.raises(sparsec.InvalidArgument, match="expects 0 or more bytes, but got -1"):
        devices.device(sparsec.HOST).allocate(-1)


def test_compiler_version_has_targets():
    assert "host" in devices.known_targets(compiler.find_compiler())
