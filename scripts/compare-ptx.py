#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tells which kernels two compilers translate to different PTX, for changes that only move code:

  git stash; cmake --build --preset ci; cp build/ci/bin/sparsec /tmp/before; git stash pop
  cmake --build --preset ci; scripts/compare-ptx.py /tmp/before build/ci/bin/sparsec

Compiles every kernel of bench/ and examples/ for sm_90a and sm_89. Prints the number of lines of both texts where their
instructions differ, and which differ in the launch info alone. Exit code 1 if any differs."""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["bench/kernels", "bench/attention", "examples"]
CHIPS = ["sm_90a", "sm_89"]


def ptx_of(compiler, kernel, chip):
    """The PTX, or the messages where the compiler refuses the kernel."""
    run = subprocess.run([compiler, kernel, f"--arch={chip}", "--emit=ptx", "-o", "-"], capture_output=True, text=True)
    return run.stdout if run.returncode == 0 else run.stderr


def without_launch_info(ptx):
    return [line for line in ptx.splitlines() if " sparsec_launch_info[" not in line]


def compare(before, after, kernel, chip):
    old, new = (ptx_of(compiler, kernel, chip) for compiler in (before, after))
    if old == new:
        return None
    case, old, new = f"{kernel.relative_to(ROOT)} {chip}", without_launch_info(old), without_launch_info(new)
    return f"{case}: launch info differs" if old == new else f"{case}: differs, {len(old)} and {len(new)} lines"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", help="program sparsec before the change")
    parser.add_argument("after", help="program sparsec with the change")
    parser.add_argument("--filter", default="", help="only kernels whose path contains this")
    options = parser.parse_args()
    kernels = sorted(kernel for folder in FOLDERS for kernel in (ROOT / folder).rglob("*.mlir")
                     if options.filter in str(kernel))
    cases = [(kernel, chip) for kernel in kernels for chip in CHIPS]
    if not cases:
        sys.exit(f"no kernel has '{options.filter}' in its path")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda case: compare(options.before, options.after, *case), cases)
        differences = [result for result in results if result]
    print("\n".join(differences + [f"{len(cases) - len(differences)} of {len(cases)} texts are identical"]))
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
