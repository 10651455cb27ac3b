#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the programs of docs/programs with what the compiler prints.

A documented program is a program of a kernel, without the indentation of the module, with comments between its lines.
Aliases of types are numbered by it alone. usage: documented_programs.py SPARSEC ROOT"""
import pathlib
import re
import subprocess
import sys
import textwrap

# Lines that a reader takes in at once.
LONGEST = {"spmm": 80, "spmm_host": 40, "spmm_sm_89": 80, "attention_host": 40, "attention_sm_89": 80}
KERNELS = {  # the chip, and the end of the program's name
    "spmm": ("bench/kernels/spmm_bf16_64x64_kn_mn.mlir", "sm_90a", ""),
    "spmm_windows": ("bench/kernels/spmm_bf16_64x64_kn_mn.mlir", "sm_90a", "_windows"),
    "spmm_sm_89": ("bench/kernels/spmm_bf16_64x64_kn_mn.mlir", "sm_89", ""),
    "spmm_host": ("bench/kernels/spmm_bf16_64x64_kn_mn.mlir", "host", ".host"),
    "attention": ("bench/attention/attention_bf16_128_128x128.mlir", "sm_90a", ""),
    "attention_host": ("bench/attention/attention_bf16_128_128x128.mlir", "host", ".host"),
    "attention_sm_89": ("bench/attention/attention_bf16_128_64x64.mlir", "sm_89", ""),
}


def find_program(text, name):
    """The type aliases that a program uses, and the program."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.strip().startswith(f"sparsec.program @{name} "))
    indent = lines[begin][:len(lines[begin]) - len(lines[begin].lstrip())]
    end = next(i for i in range(begin, len(lines)) if lines[i] == indent + "}")
    program = textwrap.dedent("\n".join(lines[begin:end + 1])).splitlines()
    aliases = [line for line in lines if re.match(r"!\w+ = ", line)]
    used = [line for line in aliases if any(re.search(line.split()[0] + r"\b", text) for text in program)]
    text, counts = "\n".join(used + program), {}
    for line in used:  # "!ring2" is the first ring, "!ring"; numbers only fall
        name = line.split()[0]
        stem = name.rstrip("0123456789")
        number = counts.setdefault(stem, 0)
        counts[stem] += 1
        text = re.sub(name + r"\b", stem + (str(number) if number else ""), text)
    return text.splitlines()


def documented(path):
    lines = path.read_text().splitlines()
    return [line for line in lines if line.strip() and not line.strip().startswith("//")]


def main():
    sparsec, root = sys.argv[1], pathlib.Path(sys.argv[2])
    differs = False
    for name, (kernel, chip, suffix) in KERNELS.items():
        text = subprocess.run([sparsec, root / kernel, f"--arch={chip}", "--emit=tile", "-o", "-"], check=True,
                              capture_output=True, text=True).stdout
        program = find_program(text, pathlib.Path(kernel).stem + suffix)
        shown = documented(root / "docs" / "programs" / f"{name}.mlir")
        if program != shown:
            differs = True
            print(f"docs/programs/{name}.mlir is not what the compiler prints for {kernel}:")
            for number, (ours, theirs) in enumerate(zip(shown + [""], program + [""])):
                if ours != theirs:
                    print(f"line {number}\n documented: {ours}\n printed:    {theirs}")
                    break
        if len(program) >= LONGEST.get(name, len(program) + 1):
            differs = True
            print(f"the program of {name} has {len(program)} lines, and more than {LONGEST[name]} do not fit a reader")
    return differs


if __name__ == "__main__":
    sys.exit(main())
