# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the pages of the dialect and the passes from what mlir-tblgen writes about the .td files."""

import re
import subprocess

# The pages of ops, in the order of the pipeline, and the file that defines the ops of each.
OP_PAGES = {
    "kernel-ops": ("Kernel ops", "SparsecKernelOps.td", "They say what a kernel computes. They know no chip."),
    "tile-ops": ("Tile ops", "SparsecTileOps.td", "They say how a kernel computes, in tiles and roles of threads."),
    "scale-ops": ("Scale ops", "SparsecScaleOps.td", "They multiply sums of fp8 products by scales."),
    "stream-ops": ("Stream ops", "SparsecStreamOps.td", "They copy the blocks of a stream for one warp."),
    "walk-ops": ("Walk ops", "SparsecWalkOps.td", "They define walks over blocks and keys, and go over their steps."),
    "ring-ops": ("Ring ops", "SparsecRingOps.td", "They pass stages of shared memory from a producer to consumers."),
    "cut-ops": ("Cut ops", "SparsecCutOps.td", "They pass the sums of cut tiles from worker to worker."),
    "attention-tile-ops": ("Tile ops of attention", "SparsecAttentionTileOps.td", "They walk keys and keep a softmax."),
}
_OP = re.compile(r'\bSparsec_\w*Op\w*<"([\w.]+)"')


def run(tblgen, arguments, definitions, includes):
    """What mlir-tblgen prints."""
    command = [tblgen, *arguments, *(f"-I{folder}" for folder in includes), definitions]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _markdown_table(match):
    """A table of attributes, which mlir-tblgen writes as HTML."""
    lines = [re.findall(r"<t[hd]>(.*?)</t[hd]>", line) for line in match[1].splitlines()]
    lines.insert(1, ["---"] * len(lines[0]))
    text = "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)
    return re.sub(r"</?code>", "`", text) + "\n"


def cleaned(text):
    """The text of mlir-tblgen as Markdown that stands in a page."""
    text = re.sub(r"^(<!--.*?-->|\[TOC\])\n", "", text, flags=re.MULTILINE)
    text = re.sub(r" \(::sparsec::\w+\)$", "", text, flags=re.MULTILINE)
    text = re.sub(r"<table>\n(.*?)</table>", _markdown_table, text, flags=re.DOTALL)
    # Headings of attributes, operands and results are no entries of a table of contents.
    text = re.sub(r"^#### (\w[\w ]*):?$", r"**\1**", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def entries(text):
    """{name: text}: the third-level headings of a text, with what stands below them."""
    parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)
    return {name.strip("`"): body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def section(text, title):
    """What stands below a second-level heading."""
    match = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise ValueError(f"mlir-tblgen wrote no section {title}")
    return match[1].strip()


def page(title, introduction, parts):
    """A page with an entry for each of the parts, by name."""
    body = "\n\n".join(f"## {f'`{name}`' if ' ' not in name else name}\n\n{text}" for name, text in parts.items())
    return f"# {title}\n\n{introduction}\n\n{body}\n"


def dialect_pages(dialect, text):
    """{page: text} of ops, types and attributes.

    Args:
        dialect: the folder of the .td files.
        text: what mlir-tblgen -gen-dialect-doc writes.
    """
    text = cleaned(text)
    ops = entries(section(text, "Operations"))
    pages = {}
    for name, (title, file, introduction) in OP_PAGES.items():
        own = [f"sparsec.{op}" for op in _OP.findall((dialect / file).read_text(encoding="utf-8"))]
        pages[name] = page(title, introduction, {op: ops.pop(op) for op in own})
    if ops:
        raise ValueError(f"no page has the ops {', '.join(ops)}")
    for name, title in (("types", "Types"), ("attributes", "Attributes")):
        pages[name] = page(title, f"The {title.lower()} of the dialect.", entries(section(text, title)))
    pages["enums"] = page("Enums", "The values that attributes take.", entries(section(text, "Enums")))
    return pages


def passes_page(text):
    """The page of the passes, from what mlir-tblgen -gen-pass-doc writes."""
    parts = {name.lstrip("-"): body for name, body in entries(cleaned(text)).items()}
    return page("Passes", "`compiler/Pipeline.cpp` has their order.", parts)
