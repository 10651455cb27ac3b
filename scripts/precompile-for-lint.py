#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Precompiles with clang the headers that a build precompiled with another compiler. clang-tidy cannot read the other
compiler's files and would parse the headers again for every source.

usage: precompile-for-lint.py BUILD    a build folder with compile_commands.json
"""

import json
import pathlib
import shlex
import subprocess
import sys


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
    return ["clang++-22", "-Wno-pragma-system-header-outside-header", *flags, header, "-o", header + ".pch"]


def main():
    build = pathlib.Path(sys.argv[1])
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith("/cmake_pch.hxx.cxx"):
            subprocess.run(clang_command(entry), cwd=entry["directory"], check=True)


main()
