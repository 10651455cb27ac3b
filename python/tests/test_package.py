# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pyproject.toml says about the package."""

import re
import tomllib
from pathlib import Path

import sparsec

REPOSITORY = Path(__file__).parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))


def test_only_numpy_is_required():
    assert [re.match(r"\w+", each)[0] for each in PROJECT["project"]["dependencies"]] == ["numpy"]


def test_extras_are_those_of_the_tour_and_of_messages():
    extras = set(PROJECT["project"]["optional-dependencies"])
    tour = (REPOSITORY / "docs" / "python.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`sparsec\[(\w+)\]`", tour)) == extras
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(sparsec.__file__).parent.rglob("*.py"))
    named = set(re.findall(r"sparsec\[(\w+)\]", sources))
    assert {"cuda13", "ml_dtypes", "scipy"} <= named <= extras


def test_wheels_are_for_all_later_pythons():
    build = PROJECT["tool"]["scikit-build"]
    assert build["wheel"]["py-api"] == "cp311"
    assert build["cmake"]["define"]["SPARSEC_WHEEL"] is True
    assert PROJECT["project"]["requires-python"] == ">=3.11"
