# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code of the tour runs, and prints what the tour says."""

import re
from pathlib import Path

import sparsec

DOCS = Path(__file__).parents[2] / "docs"


def test_tour(capsys):
    """Blocks of Python run in order. A block of text behind one is what it prints."""
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks].count("python") == 6
    namespace = {}
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, "python.md", "exec"), namespace)
        else:
            assert capsys.readouterr().out == block
    assert capsys.readouterr().out == ""


def test_tour_lists_all_errors():
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    kinds = {name for name in sparsec.__all__ if isinstance(getattr(sparsec, name), type)
             and issubclass(getattr(sparsec, name), sparsec.Error)}  # fmt: skip
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == kinds - {"Error"}
