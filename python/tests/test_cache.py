# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folder of compiled files."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import conftest
import sparsec
from sparsec import cache, compiler


@pytest.fixture
def compiles(monkeypatch):
    """The texts that the compiler, and not the cache, compiled."""
    texts = []
    run = compiler.run

    def counted(text, *arguments):
        texts.append(text)
        return run(text, *arguments)

    monkeypatch.setattr(compiler, "run", counted)
    return texts


def test_second_compile_reads_the_file(empty_cache, compiles):
    first, second = (sparsec.compile(conftest.PRODUCT, "host") for _ in range(2))
    assert len(compiles) == 1
    assert first.data == second.data
    w = sparsec.BSR.from_dense(np.ones((16, 16)), 16, dtype="f16")
    np.testing.assert_array_equal(second["product"](w, np.ones((16, 8), np.float16)), np.full((16, 8), 16))


def test_without_cache_nothing_is_read_or_written(empty_cache, compiles):
    for _ in range(2):
        sparsec.compile(conftest.PRODUCT, "host", cache=False)
    assert len(compiles) == 2
    assert not empty_cache.exists()


def test_key_has_all_that_matters(tmp_path, monkeypatch):
    program = tmp_path / "program"
    program.write_text("1")
    first = compiler.Program(program, "version 1")
    options = compiler.Options(("host",))
    base = cache.key("text", options, first, None)
    assert cache.key("text", compiler.Options(("host",), ptxas="elsewhere"), first, None) == base
    others = {
        cache.key("other", options, first, None),
        cache.key("text", compiler.Options(("sm_89",)), first, None),
        cache.key("text", compiler.Options(("host",), expect_density=0.5), first, None),
        cache.key("text", compiler.Options(("host",), expect_n=5), first, None),
        cache.key("text", compiler.Options(("host",), embed_ptx=True), first, None),
        cache.key("text", compiler.Options(("host",), allow_spills=True), first, None),
        cache.key("text", options, compiler.Program(program, "version 2"), None),
        cache.key("text", options, first, first),
    }
    os.utime(program, (0, 0))  # a new build of the same version
    others.add(cache.key("text", options, first, None))
    assert len(others | {base}) == 10


def test_damaged_file_is_said_and_made_anew(empty_cache, compiles, capsys):
    sparsec.compile(conftest.PRODUCT, "host")
    entry = cache.entries()[0]
    good = entry.path.read_bytes()
    entry.path.write_bytes(good[: len(good) // 2])
    sparsec.compile(conftest.PRODUCT, "host")
    assert len(compiles) == 2
    assert f"the cached file {entry.path} is damaged and is made anew: " in capsys.readouterr().err
    assert entry.path.read_bytes() == good


def test_failed_compile_leaves_nothing(empty_cache):
    with pytest.raises(sparsec.CompileError):
        sparsec.compile("sparsec.kernel {", "host")
    assert cache.entries() == []


def test_failed_write_leaves_nothing(empty_cache, monkeypatch):
    def refuse(source, target):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        cache.write("name", b"data")
    assert list(empty_cache.iterdir()) == []


def test_entries_and_clear(empty_cache):
    assert cache.entries() == []
    sparsec.compile(conftest.PRODUCT, "host")
    sparsec.compile(conftest.PRODUCT, "host", expect_n=8)
    old = cache.entries()[1].path
    os.utime(old, (1000, 1000))
    entries = cache.entries()
    assert [entry.path for entry in entries] == [entries[0].path, old]
    assert (entries[1].modified, entries[1].size) == (1000, old.stat().st_size)
    assert (entries[1].targets, entries[1].kernels) == (("host",), ("product",))
    old.write_bytes(b"damaged")
    assert cache.entries()[0].kernels == ()
    (empty_cache / "removed meanwhile.sparsec").symlink_to("nothing")
    assert len(cache.entries()) == 2
    (empty_cache / "removed meanwhile.sparsec").unlink()
    (empty_cache / "of the user.txt").write_text("kept")
    assert cache.clear() == 2
    assert [path.name for path in empty_cache.iterdir()] == ["of the user.txt"]


def test_folder(monkeypatch):
    monkeypatch.setenv("SPARSEC_CACHE_DIR", "named")
    assert cache.folder() == Path("named")
    monkeypatch.delenv("SPARSEC_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "base")
    assert cache.folder() == Path("base/sparsec/compiled")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "home")
    assert cache.folder() == Path("home/.cache/sparsec/compiled")


def test_processes_share_the_folder(empty_cache):
    """Processes that compile at the same time all get a whole file, and leave one."""
    script = (
        "import sys, sparsec, numpy as np\n"
        "w = sparsec.BSR.from_dense(np.ones((16, 16)), 16, dtype='f16')\n"
        "y = sparsec.compile(sys.argv[1], 'host')['product'](w, np.ones((16, 8), np.float16))\n"
        "assert (y == 16).all()\n"
    )
    path = os.pathsep.join(filter(None, [str(Path(sparsec.__file__).parents[1]), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    processes = [subprocess.Popen([sys.executable, "-c", script, conftest.PRODUCT], env=environment) for _ in range(4)]
    assert [process.wait(timeout=120) for process in processes] == [0] * 4
    assert len(list(empty_cache.iterdir())) == 1
