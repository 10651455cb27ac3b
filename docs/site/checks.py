# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the built site must satisfy beyond what Sphinx checks."""

import importlib
import importlib.util
import pkgutil
import re
import types
import zlib

import sparsec

# The attributes whose files a browser fetches by itself when it shows a page.
_FETCHED = re.compile(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="(https?:)?//|<link\b[^>]*\bhref="(https?:)?//')


def documented(inventory):
    """The names of Python objects in the inventory of a site."""
    lines = zlib.decompress(inventory.split(b"\n", 4)[4]).decode().splitlines()
    return {line.split()[0] for line in lines if " py:" in line}


def public_modules():
    """The package, and the modules in it that users import, where the library that they need is there."""
    modules = [sparsec]
    modules += [value for value in map(vars(sparsec).get, sparsec.__all__) if isinstance(value, types.ModuleType)]
    for info in pkgutil.iter_modules(sparsec.__path__):
        name = f"sparsec.{info.name}"
        is_there = info.name not in ("torch", "jax") or importlib.util.find_spec(info.name) is not None
        if info.ispkg and is_there and name not in [module.__name__ for module in modules]:
            modules.append(importlib.import_module(name))
    return [module for module in modules if hasattr(module, "__all__")]


def missing(modules, names):
    """The public names of modules that are documented in none of them."""
    places = {}
    for module in modules:
        for name in module.__all__:
            if not name.startswith("_") and not isinstance(getattr(module, name), types.ModuleType):
                places.setdefault((name, id(getattr(module, name))), []).append(f"{module.__name__}.{name}")
    return sorted(found[0] for found in places.values() if not names & set(found))


def fetching_pages(html):
    """The pages that make a browser read from a network."""
    return sorted(str(page.relative_to(html)) for page in html.rglob("*.html")
                  if _FETCHED.search(page.read_text(encoding="utf-8")))  # fmt: skip


def check(html):
    """Raises ValueError if a public name is not documented, or a page reads from a network."""
    if names := missing(public_modules(), documented((html / "objects.inv").read_bytes())):
        raise ValueError(f"reference/python.md does not have {', '.join(names)}")
    if pages := fetching_pages(html):
        raise ValueError(f"these pages read from a network: {', '.join(pages)}")
