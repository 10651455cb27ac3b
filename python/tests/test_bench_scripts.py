# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The scripts of bench/ that compare with torch, in short runs on the host."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch
FOLDER = Path(__file__).parents[2] / "bench"


def rows_of(tmp_path, name, *options):
    """What a script writes as JSON, and the lines that it prints."""
    pytest.importorskip("torch")
    pytest.importorskip("sympy", reason="flex_attention of torch needs sympy")
    path = tmp_path / "rows.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, FOLDER / name, *options, f"--json={path}"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(path.read_text(encoding="utf-8")), result.stdout.splitlines()


def test_calls(tmp_path):
    written, lines = rows_of(tmp_path, "python_call.py", "--device=cpu", "--seconds=0.01")
    assert written["microseconds"]["host"]["sparsec.torch.linear(x, w)"] > 0
    assert len(lines) == 1 + len(written["microseconds"]["host"])


def test_products(tmp_path):
    options = ("--size=64", "--blocks=16,32", "--density=0.5", "--tokens=1,5", "--rounds=1")
    written, lines = rows_of(tmp_path, "torch_products.py", *options)
    assert [(row["block"], row["tokens"]) for row in written["rows"]] == [(16, 1), (16, 5), (32, 1), (32, 5)]
    assert len(lines) == 3 + 4
    for row in written["rows"]:
        assert row["rounding"] <= 1
        assert min(row["linear"], row["packed"], row["launch"], row["dense"]) > 0


def test_attention(tmp_path):
    written, lines = rows_of(tmp_path, "torch_attention.py", "--tokens=256", "--rounds=1")
    assert len(lines) == 4 + len(written["rows"]) == 4 + 6
    for row in written["rows"].values():
        assert row["sparsec_error"] < 3e-3
        assert row["flex_error"] < 3e-3
        assert row["sparsec"] > 0
        assert max(row["sparsec_gradient_errors"]) < 5e-3
        assert row["sparsec_both"] > 0
