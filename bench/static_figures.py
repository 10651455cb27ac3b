#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what can be known of compiled kernels without a GPU, as a Markdown table: registers, spills, shared memory,
occupancy (`sparsec --verbose`), the mma.sync instructions for every ldmatrix (counted in the PTX), and for products of
sparsec.spmm the bytes of operands that a tile reads for each of its operations.

  bench/static_figures.py --sparsec build/release/bin/sparsec --arch sm_89 bench/kernels/*.mlir
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {result.returncode}\n{result.stderr}")
    return result


def bytes_per_flop(source, schedule):
    """A step of m x n x k reads (m + n) k elements for its 2 m n k operations."""
    text = source.read_text()
    tile = re.search(r" (\d+)x(\d+)x\d+ ", f" {schedule} ")
    if "sparsec.spmm" not in text or not tile:
        return "-"
    rows, columns = map(int, tile.groups())
    size = 1 if "xf8E" in text else 2
    return f"{size * (rows + columns) / (2 * rows * columns):.4f}"


def describe(sparsec, arch, source):
    """Yields one table row for every variant of the kernels in a file."""
    report = run(sparsec, source, f"--arch={arch}", "--verbose", "-o", "/dev/null").stderr
    ptx = run(sparsec, source, f"--arch={arch}", "--emit=ptx", "-o", "-").stdout
    entries = {entry.split("(", 1)[0].strip(): entry for entry in ptx.split(".entry ")[1:]}
    pattern = (
        r"  (\w+): (.+)\n    threads (\d+), registers (\d+), spills (\d+) B, shared memory (\d+) B.*\n"
        r"    occupancy (\d+) %: (\d+) CTA"
    )
    for symbol, schedule, threads, registers, spills, shared, occupancy, ctas in re.findall(pattern, report):
        loads = len(re.findall(r"ldmatrix\.sync\S*\.x4", entries[symbol]))
        products = len(re.findall(r"\bmma\.sync", entries[symbol]))
        ratio = f"{products / loads:.1f}" if loads else "-"
        yield [symbol, schedule, threads, registers, spills, shared, f"{ctas} ({occupancy} %)", ratio,
               bytes_per_flop(source, schedule)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sparsec", default="sparsec", help="the compiler (default: the one in PATH)")
    parser.add_argument("--arch", default="sm_89", help="chip to compile for (default: sm_89)")
    parser.add_argument("sources", type=Path, nargs="+", help="kernels, .mlir")
    options = parser.parse_args()
    head = ["kernel", "schedule", "threads", "registers", "spills, B", "shared memory, B", "CTAs per SM"]
    head += ["mma per ldmatrix", "bytes per flop"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for source in options.sources:
        for row in describe(options.sparsec, options.arch, source):
            print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
