# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all tests share: a cache of their own, and kernels that are compiled once."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

import sparsec
from sparsec import compiler

PRODUCT = """
sparsec.kernel @product(%w: !sparsec.bsr<?x?xf16, block = 16x16>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 16x16>, tensor<?x?xf16>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}
"""


# JAX reads it when it first needs devices: several of them, for tests of jax.shard_map.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")

# The same cases in every run, on machines of any speed, and no files in the working directory.
hypothesis.settings.register_profile("sparsec", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("sparsec")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test with the mark of a library is skipped where the library is not installed."""
    for library in ("torch", "jax"):
        if item.get_closest_marker(library) is not None:
            pytest.importorskip(library)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No test reads or writes the user's cache."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["SPARSEC_CACHE_DIR"] = str(folder)
    os.environ.pop("SPARSEC_LOG", None)
    return folder


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without files, for one test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("SPARSEC_CACHE_DIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def compile_host() -> Callable[[str], sparsec.Module]:
    """Compiles text for the host."""
    return lambda text: sparsec.compile(text, "host")


@pytest.fixture(scope="session")
def product(compile_host: Callable[[str], sparsec.Module]) -> sparsec.Kernel:
    """y = w x: w f16 with blocks of 16, x f16 [K, N], y f32 [M, N]."""
    return compile_host(PRODUCT)["product"]


@pytest.fixture
def no_ptxas(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every place of the search for ptxas is empty."""
    for variable in ("SPARSEC_PTXAS", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(compiler, "_package_folder", lambda name: None)
    monkeypatch.setattr(compiler, "TOOLKIT", tmp_path / "no-toolkit")


def on_simulator(code: str) -> str:
    """What a program prints on the GPU made of software, whose folder SPARSEC_SIMULATOR names; skips without it.

    It finds no ptxas, and a device with 6 SMs of sm_90.
    """
    folder = os.environ.get("SPARSEC_SIMULATOR", "")
    if not (Path(folder) / "libcuda.so.1").is_file():
        pytest.skip("SPARSEC_SIMULATOR names no folder with the simulator of docs/simulator.md")
    without_ptxas = "from sparsec import compiler\ncompiler._ptxas_places = lambda: iter(())\n"
    environment = {key: value for key, value in os.environ.items() if key != "SPARSEC_PTXAS"}
    environment |= {"LD_LIBRARY_PATH": folder, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", without_ptxas + code]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def matrix(
    rows: int = 70, columns: int = 52, density: float = 0.4, block: int = 16, dtype: str = "f16", seed: int = 0
) -> sparsec.BSR:
    """A block-sparse matrix of N(0, 1) values whose edges cut blocks."""
    a = np.random.default_rng(seed).standard_normal((rows, columns))
    return sparsec.BSR.from_dense(a, block, sparsec.prune.random(a.shape, block, density, seed), dtype)


def dense(shape: tuple[int, ...], dtype: Any = np.float16, seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def f64(array: Any) -> Any:
    return np.asarray(array).astype(np.float64)


def assert_product(y: Any, w: sparsec.BSR, x: Any) -> None:
    """y = w x, up to f32 sums."""
    exact = f64(w.to_dense()) @ f64(x)
    magnitude = np.abs(f64(w.to_dense())) @ np.abs(f64(x))
    assert y.shape == exact.shape
    assert (np.abs(f64(y) - exact) <= 1e-6 * magnitude).all()


def run_blocks(page: str, language: str) -> list[dict[str, Any]]:
    """Runs the blocks of code of a language in a page of docs/, in order. Returns the names after each."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    namespace: dict[str, Any] = {}
    states = []
    for block in re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(compile(block, page, "exec"), namespace)
        states.append(dict(namespace))
    return states
