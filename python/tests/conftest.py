# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all tests share: a cache of their own, and kernels that are compiled once."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import sparsec

PRODUCT = """
sparsec.kernel @product(%w: !sparsec.bsr<?x?xf16, block = 16x16>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 16x16>, tensor<?x?xf16>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}
"""


# The same cases in every run, on machines of any speed, and no files in the working directory.
hypothesis.settings.register_profile("sparsec", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("sparsec")


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


def run_blocks(page: str, language: str) -> list[dict[str, Any]]:
    """Runs the blocks of code of a language in a page of docs/, in order. Returns the names after each."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    namespace: dict[str, Any] = {}
    states = []
    for block in re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(compile(block, page, "exec"), namespace)
        states.append(dict(namespace))
    return states
