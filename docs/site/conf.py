# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sphinx's settings for the documentation site. build.py calls Sphinx with them."""

import importlib.util
import sys
from pathlib import Path

import sparsec

sys.path.insert(0, str(Path(__file__).parent))

from mlir_lexer import MlirLexer

project = "sparsec"
release = version = sparsec.__version__
author = copyright = "the sparsec authors"
html_title = f"sparsec {release}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "breathe"]
exclude_patterns = ["README.md"]  # the tour includes a part of it
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["sparsec.css"]
html_copy_source = False
html_show_sphinx = False
html_last_updated_fmt = None
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1b4f8a", "color-brand-content": "#1b4f8a"},
    "dark_css_variables": {"color-brand-primary": "#8ab8f0", "color-brand-content": "#8ab8f0"},
    "footer_icons": [],
}
highlight_language = "text"  # of blocks of code that name none
pygments_style = "friendly"
pygments_dark_style = "github-dark"

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
# The reference of sparsec.torch is built without torch too.
autodoc_mock_imports = [] if importlib.util.find_spec("torch") else ["torch"]
default_role = "py:obj"
napoleon_numpy_docstring = False
napoleon_use_rtype = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"

breathe_default_project = "c"
breathe_domain_by_extension = {"h": "c", "hpp": "cpp"}
breathe_show_include = False
c_maximum_signature_line_length = cpp_maximum_signature_line_length = 100


def keep_first_line(app, what, name, obj, options, lines) -> None:
    """Napoleon takes what stands before a colon in the first line of a property for its type."""
    if what in ("attribute", "data", "property"):
        lines.insert(0, "")


def setup(app) -> None:
    app.add_lexer("mlir", MlirLexer)
    app.connect("autodoc-process-docstring", keep_first_line, priority=400)
