# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the pages of the site together.

These are the documents of the repository in their folders with their pictures, the pages of the site alone, and a page
for each file of another kind and each folder that a document links to.
"""

import re
import shutil
from pathlib import Path

DOCUMENTS = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "bench/*.md",
    "bench/notes/*.md",
    "dialect/*.md",
    "docs/*.md",
    "examples/*/README.md",
)
# Pages that stand below a document in the table of contents.
_BELOW = {"bench/NOTES.md": "\n```{toctree}\n:hidden:\n:glob:\n\nnotes/*\n```\n"}
_FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]+)?\)")
_PICTURES = (".svg", ".png")
_LANGUAGES = {".py": "python", ".cpp": "cpp", ".hpp": "cpp", ".h": "c", ".sh": "bash", ".mlir": "mlir"}


def outside_fences(text, change):
    """The text with `change` applied to what is in no block of code."""
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def source_page(repository, name):
    """A page that shows a file of the repository."""
    text = (repository / name).read_text(encoding="utf-8")
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in re.findall("`+", text))])
    language = _LANGUAGES.get(Path(name).suffix, "text")
    return f"---\norphan: true\n---\n\n# {name}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def folder_page(repository, name):
    """A page that lists the files of a folder of the repository, and their names."""
    files = sorted(path.name for path in (repository / name).iterdir() if path.is_file())
    lines = "\n".join(f"- [{file}]({file}.md)" for file in files)
    return f"---\norphan: true\n---\n\n# {name}\n\n{lines}\n", [f"{name}/{file}" for file in files]


def linked(repository, name, text):
    """The text of a document with links to pages of the site, and the files and folders that the site needs for it."""
    files = set()

    def target(match):
        place = ((repository / name).parent / match[1]).resolve()
        if place.is_dir():
            is_described = (place / "README.md").is_file()
            if not is_described:
                files.add(str(place.relative_to(repository)))
            return f"]({match[1].rstrip('/')}/{'README' if is_described else 'index'}.md)"
        if not place.is_file():
            raise ValueError(f"{name}: links to {match[1]}, which is not there")
        if place.suffix == ".md":
            return match[0]
        files.add(str(place.relative_to(repository)))
        return match[0] if place.suffix in _PICTURES else f"]({match[1]}.md)"

    return outside_fences(text, lambda part: _LINK.sub(target, part)), files


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def stage(repository, pages, folder):
    """Writes the documents of the repository and the pages of the site into an empty folder.

    Args:
        repository: the project's top folder.
        pages: a folder of pages of the site alone.
        folder: where to write. What is there is removed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(pages, folder)
    files = set()
    for pattern in DOCUMENTS:
        for path in sorted(repository.glob(pattern)):
            name = str(path.relative_to(repository))
            text, found = linked(repository, name, path.read_text(encoding="utf-8"))
            write(folder, name, text + _BELOW.get(name, ""))
            files |= found
    for name in sorted(name for name in files if (repository / name).is_dir()):
        text, inside = folder_page(repository, name)
        write(folder, f"{name}/index.md", text)
        files |= set(inside)
    for name in sorted(name for name in files if (repository / name).is_file()):
        if name.endswith(_PICTURES):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(repository / name, folder / name)
        else:
            write(folder, f"{name}.md", source_page(repository, name))
