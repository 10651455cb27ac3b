# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples in Python, which check their results."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "python"
LAST_LINES = {
    "flex_attention": "of the blocks are skipped, largest error",
    "merge_layers": "make 0.",
    "prune_linear": "(8, 100, 512) -> (8, 100, 1024): largest relative error",
    "quantize_linear": "relative error against float64: ",
    "serving": "of 64 pages: largest error",
    "top_k_blocks": "step 2: 4 of 16 blocks, largest error",
    "train": "loss 2.",
    "transformer": "masked dense",
    "train_jax": "loss 2.",
}
LAST_LINES_OF_OTHERS = {"../09_merge/halves": "two halves of 900 keys: largest error "}


# In a short form, where the whole takes minutes.
ARGUMENTS = {"transformer": ["--steps=3", "--compile=aot_eager"]}


def test_all_are_run():
    assert {file.stem for file in FOLDER.glob("*.py")} == set(LAST_LINES)
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"[{name}.py]({name}.py)" in readme for name in LAST_LINES)


@pytest.mark.torch
@pytest.mark.parametrize("name", sorted(LAST_LINES.keys() - {"train_jax"}))
def test_example(name):
    pytest.importorskip("torch")
    pytest.importorskip("sympy", reason="flex_attention of torch needs sympy")
    run(name)


def test_example_of_merges():
    run("../09_merge/halves")


@pytest.mark.jax
def test_example_of_jax():
    pytest.importorskip("jax")
    run("train_jax")


def run(name):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CUDA_VISIBLE_DEVICES": ""}
    result = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *ARGUMENTS.get(name, [])],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert (LAST_LINES | LAST_LINES_OF_OTHERS)[name] in result.stdout.splitlines()[-1]
