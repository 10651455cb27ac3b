# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""House rules that no compiler checks. Each message says file, line and rule."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = {".c", ".cpp", ".h", ".hpp", ".td", ".def", ".py", ".sh"}
TEXT = CODE | {".mlir", ".test", ".txt", ".cmake", ".md", ".json", ".in"}
DATA_FOLDERS = ("examples/data/", "test/fuzz/corpus/", "bench/results/")
SITE_PAGES = "docs/site/pages/"  # their links are those of the built site, where Sphinx checks them
LICENSE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
LONGEST_LINE = 120


def project_files(suffixes):
    """The project's own files, as (path, lines): tracked, or new and not ignored."""
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                             capture_output=True, text=True).stdout
    for name in sorted(set(listing.splitlines())):
        if (ROOT / name).is_file() and pathlib.Path(name).suffix in suffixes and not name.startswith(DATA_FOLDERS):
            yield name, (ROOT / name).read_text().splitlines(keepends=True)


class Style(unittest.TestCase):
    def report(self, problems):
        if problems:
            self.fail("\n" + "\n".join(problems))

    def lines_that(self, suffixes, breaks_rule):
        return [f"{name}:{number}: {line.strip()[:100]}" for name, lines in project_files(suffixes)
                for number, line in enumerate(lines, 1) if breaks_rule(line)]

    def test_licence_comes_first(self):
        self.report([name for name, lines in project_files(CODE) if LICENSE not in "".join(lines[:2])])

    def test_lines_fit(self):
        # Tables and links in Markdown, and lists of lit commands, cannot be broken.
        limited = TEXT - {".md", ".mlir", ".test", ".json"}
        self.report(self.lines_that(limited, lambda line: len(line.rstrip("\n")) > LONGEST_LINE))

    def test_whitespace(self):
        self.report(self.lines_that(TEXT, lambda line: "\t" in line or re.search(r"[ \r]\n\Z|[^\n]\Z", line)))

    def test_nothing_is_left_to_do(self):
        unfinished = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
        self.report(self.lines_that(TEXT, unfinished.search))

    def test_names_no_private_folder(self):
        self.report(self.lines_that(TEXT, re.compile(r"(?<![\w.~}/])/(work|root|home)/").search))

    def test_definitions_have_a_summary(self):
        problems = []
        for name, lines in project_files({".td"}):
            for definition in re.split(r"^(?=def )", "".join(lines), flags=re.MULTILINE)[1:]:
                kind = re.match(r"def (\w+) : (Sparsec_Op|Sparsec_Type|Sparsec_Attr|Pass)\b", definition)
                if kind and not re.search(r'let summary = "\S', definition):
                    problems.append(f"{name}: {kind[1]} has no summary")
        self.report(problems)


    def test_documents_name_what_is_there(self):
        folders = "|".join(sorted(entry.name for entry in ROOT.iterdir() if entry.is_dir() and entry.name[0] != "."))
        link = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
        path = re.compile(rf"`((?:{folders})/[\w./-]*)`")
        problems = []
        for name, lines in project_files({".md"}):
            if name.startswith(SITE_PAGES):
                continue
            for number, line in enumerate(lines, 1):
                targets = [(ROOT / name).parent / target for target in link.findall(line)]
                targets += [ROOT / target for target in path.findall(line) if not target.startswith("build/")]
                problems += [f"{name}:{number}: {target} is not there"
                             for target in map(pathlib.Path.resolve, targets) if not target.exists()]
        self.report(problems)


if __name__ == "__main__":
    unittest.main()
