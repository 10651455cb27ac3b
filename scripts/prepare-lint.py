#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prepares a build for clang-tidy. Writes BUILD/lint/compile_commands.json: each of our sources once, in the unity
files of the build, though several targets compile some of them. Precompiles with clang the headers that the build
precompiled with another compiler: clang-tidy cannot read the other compiler's files and would parse the headers again
for every source.

usage: prepare-lint.py BUILD [REGEX...]    BUILD has compile_commands.json; a REGEX selects files with a matching source
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys

FOLDERS = ("bench", "compiler", "dialect", "examples", "python", "runtime", "test")


def clang_command(entry):
    """The compiler's command for cmake_pch.hxx.cxx, as clang's for the header cmake_pch.hxx that lies beside it."""
    header = entry["file"].removesuffix(".cxx")
    skipped = {"-fpch-preprocess", "-Werror", "-Winvalid-pch", "-c", entry["file"]}
    arguments = iter(shlex.split(entry["command"])[1:])
    flags = []
    for argument in arguments:
        if argument in ("-include", "-o"):
            next(arguments)
        elif argument not in skipped:
            flags.append(argument)
    ignored = ["-Wno-unknown-warning-option", "-Wno-pragma-system-header-outside-header"]
    return ["clang++-22", *ignored, *flags, header, "-o", header + ".pch"]


def sources_of(file):
    """The sources that a unity file includes, or the file itself."""
    if "/Unity/unity_" not in file:
        return [file]
    return re.findall(r'^#include "(.*)"$', pathlib.Path(file).read_text(), re.MULTILINE)


def choose(entries, root, patterns):
    """The entries that have a source of ours that no earlier one has. Sources that the build made are not ours."""
    seen = set()
    for entry in entries:
        ours = {s for s in sources_of(entry["file"]) if s.startswith(tuple(f"{root}/{folder}/" for folder in FOLDERS))}
        if ours - seen and (not patterns or any(re.search(p, s) for p in patterns for s in ours)):
            seen |= ours
            yield entry


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parent.parent
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        if entry["file"].endswith("/cmake_pch.hxx.cxx"):
            subprocess.run(clang_command(entry), cwd=entry["directory"], check=True)
    (build / "lint").mkdir(exist_ok=True)
    chosen = list(choose(entries, root, sys.argv[2:]))
    (build / "lint" / "compile_commands.json").write_text(json.dumps(chosen, indent=1))


main()
