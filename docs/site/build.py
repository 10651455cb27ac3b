#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the documentation site. Every warning is an error, and nothing is read from a network.

CMake's target `docs` calls it with an interpreter that has what python/tests/requirements.txt lists, and with the
package sparsec in PYTHONPATH. scripts/docs.sh does all of it.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import checks
import dialect_reference
import doxygen_filter
import performance
import stage

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
HEADERS = REPOSITORY / "runtime" / "include" / "sparsec"
# The headers that each language's reference shows.
LANGUAGES = {
    "c": [HEADERS / "runtime.h", HEADERS / "plans.h", HEADERS / "launch_info.h", HEADERS / "plan_sections.h",
          REPOSITORY / "compiler" / "include" / "sparsec" / "compiler.h"],
    "cpp": [HEADERS / "runtime.hpp", HEADERS / "argument.hpp"],
}  # fmt: skip
_COMMAND = re.compile(r"^```help\n(.+?)\n```$", re.MULTILINE)


def run_doxygen(doxygen, language, folder):
    """Reads the headers of a language into XML. Returns the folder of it."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = [
        (HERE / "Doxyfile").read_text(encoding="utf-8"),
        f"OUTPUT_DIRECTORY = {folder}",
        f"INPUT = {' '.join(map(str, LANGUAGES[language]))}",
        f"OPTIMIZE_OUTPUT_FOR_C = {'YES' if language == 'c' else 'NO'}",
        "EXTENSION_MAPPING = " + ("h=C" if language == "c" else "hpp=C++"),
    ]
    if language == "c":
        settings.append(f'FILTER_PATTERNS = *.h="{sys.executable} {HERE / "doxygen_filter.py"}"')
    file = folder / "Doxyfile"
    file.write_text("\n".join(settings) + "\n", encoding="utf-8")
    subprocess.run([doxygen, file], check=True)
    return folder / "xml"


def c_page():
    """The page of runtime.h and of plans.h, a part of it: a section for each of their banners."""
    headers = LANGUAGES["c"][:2]
    summary = doxygen_filter.summary(headers[0].read_text(encoding="utf-8"))
    parts = ["---\ntocdepth: 3\n---", "# C interface of the runtime", summary]
    for header in headers:
        for title in doxygen_filter.sections(header.read_text(encoding="utf-8")):
            group = doxygen_filter.group_of(header, title)
            options = ":project: c\n:content-only:\n:members:\n:undoc-members:"
            parts += [f"## {title}", f"```{{doxygengroup}} {group}\n{options}\n```"]
    return "\n\n".join(parts) + "\n"


def header_page(title, headers):
    """A page with all of some C headers."""
    parts = ["---\ntocdepth: 3\n---", f"# {title}"]
    for header in headers:
        parts += [f"## {header.name}", doxygen_filter.summary(header.read_text(encoding="utf-8"))]
        parts.append(f"```{{doxygenfile}} {header.name}\n:project: c\n```")
    return "\n\n".join(parts) + "\n"


def with_help(text, programs):
    """A page with what commands print for --help, where it has blocks of `help` with a command in them."""

    def replacement(match):
        program, *words = match[1].split()
        command = [sys.executable if program == "python" else programs / program, *words, "--help"]
        environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
        result = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        return f"```text\n$ {match[1]} --help\n{result.stdout.strip()}\n```"

    return _COMMAND.sub(replacement, text)


def write_references(options, source):
    """Writes the generated pages into the source folder."""
    dialect = REPOSITORY / "dialect"
    includes = [options.mlir_include, dialect]
    text = dialect_reference.run(options.tblgen, ["-gen-dialect-doc", "-dialect=sparsec"], dialect / "SparsecOps.td",
                                 includes)  # fmt: skip
    for name, page in dialect_reference.dialect_pages(dialect, text).items():
        stage.write(source, f"reference/dialect/{name}.md", page)
    passes = dialect_reference.run(options.tblgen, ["-gen-pass-doc"], REPOSITORY / "compiler" / "Passes.td", includes)
    stage.write(source, "reference/dialect/passes.md", dialect_reference.passes_page(passes))
    stage.write(source, "reference/c.md", c_page())
    stage.write(source, "reference/c-files.md", header_page("Compiled files, in C", LANGUAGES["c"][2:4]))
    stage.write(source, "reference/c-compiler.md", header_page("C interface of the compiler", LANGUAGES["c"][4:]))
    performance.write_page(REPOSITORY / "bench" / "results", source)
    command_line = source / "reference" / "command-line.md"
    command_line.write_text(with_help(command_line.read_text(encoding="utf-8"), options.programs), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder of the build; the site is html/ in it")
    parser.add_argument("--tblgen", required=True, help="the program mlir-tblgen")
    parser.add_argument("--mlir-include", type=Path, required=True, help="folder of MLIR's headers")
    parser.add_argument("--programs", type=Path, required=True, help="folder of the programs of sparsec")
    parser.add_argument("--doxygen", default="doxygen", help="the program doxygen")
    options = parser.parse_args()
    output = options.output.resolve()
    source = output / "source"
    stage.stage(REPOSITORY, HERE / "pages", source)
    write_references(options, source)
    projects = {language: run_doxygen(options.doxygen, language, output / f"doxygen-{language}")
                for language in LANGUAGES}  # fmt: skip
    settings = [word for name, xml in projects.items() for word in ("-D", f"breathe_projects.{name}={xml}")]
    command = [sys.executable, "-m", "sphinx", "--fresh-env", "--fail-on-warning", "--keep-going", "--quiet",
               "-b", "html", "-d", output / "doctrees", "-c", HERE, *settings, source, output / "html"]  # fmt: skip
    subprocess.run(command, check=True)
    checks.check(output / "html")
    print(f"the site is {output / 'html' / 'index.html'}")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
