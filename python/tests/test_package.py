# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What pyproject.toml says about the package."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_extension_is_imported_by_other_pythons(version):
    """One binary serves all. The package around it is not imported, because NumPy may be missing there."""
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no python{version}")
    program = """
import sys, types
sys.modules["sparsec"] = package = types.ModuleType("sparsec")
package.__path__ = [sys.argv[1]]
from sparsec import _native, errors
view = _native.Dense(memoryview(bytearray(24)).cast("f", (2, 3)))
try:
    _native.Dense(3)
except errors.InvalidArgument:
    print(_native.version(), view.shape, sys.version_info[:2], _native.Device(threads=1).info())
"""
    command = [python, "-c", program, str(Path(sparsec.__file__).parent)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    numbers = tuple(map(int, version.split(".")))
    assert result.stdout.startswith(f"{sparsec.__version__} (2, 3) {numbers}"), result.stderr
