# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which modules of the package import which."""

import ast
import graphlib
from pathlib import Path

import sparsec

FOLDER = Path(sparsec.__file__).parent


def name_of(file):
    parts = file.relative_to(FOLDER.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in FOLDER.rglob("*.py")} | {"sparsec._native": None}


def imports(name, file):
    """The modules of the package that a module imports, also inside functions. A package is its __init__."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            for alias in node.names:
                module = f"{base}.{alias.name}"
                if module in MODULES:
                    yield module
                elif base in MODULES:
                    yield base


def test_imports_have_no_cycle():
    graph = {name: set(imports(name, file)) for name, file in MODULES.items() if file}
    assert "sparsec.bsr" in graph["sparsec.kernel"]
    assert "sparsec._native" in graph["sparsec.arrays"]
    graphlib.TopologicalSorter(graph).prepare()


def test_no_module_imports_the_package_that_it_is_in():
    for name, file in MODULES.items():
        parents = {name.rpartition(".")[0], "sparsec"} - {name}
        assert not (parents & set(imports(name, file) if file else ())), name
