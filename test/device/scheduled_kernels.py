#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes kernels of generate_kernels.py with random hand-written schedules, one a file: OUT/<chip>/<name>.mlir. The
compiler may refuse some of them."""
import argparse
import pathlib
import random
import sys

import attention_kernels
import generate_kernels

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "random"))
import schedule_fields  # noqa: E402


def schedule_for(rng, chip, kernel):
    if isinstance(kernel, attention_kernels.Kernel):
        blocks = (kernel.query_block, kernel.key_block) if kernel.query_block else None
        return schedule_fields.attribute(schedule_fields.attention(rng, chip, blocks, int(kernel.dimension)))
    block = tuple(map(int, kernel.block.rstrip("t").split("x")))
    return schedule_fields.attribute(schedule_fields.product(rng, chip, block))


def scheduled(text, schedule, attribute="schedule"):
    """The kernel with the schedule among its attributes: between its results and its body."""
    head, body = text.split(") {\n", 1)
    return f"{head}) attributes {{{attribute} = {schedule}}} {{\n{body}"


def kernels_of(rng, count):
    """As many products as attention kernels, (name, text, kernel) of each."""
    products, attention = generate_kernels.select("pairs"), attention_kernels.select("pairs")
    # Schedules for fp8 have steps of other depths, and wide heads have few schedules.
    products = [kernel for kernel in products if kernel.dtype in generate_kernels.DTYPES]
    attention = [kernel for kernel in attention if kernel.dimension in attention_kernels.DIMENSIONS]
    return [(module.name_of(kernel), module.text_of(kernel), kernel)
            for module, kernels in ((generate_kernels, products), (attention_kernels, attention))
            for kernel in rng.sample(kernels, count // 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder to write to")
    parser.add_argument("--count", type=int, default=40, help="kernels for each chip (default 40)")
    parser.add_argument("--seed", default="1", help="another seed, other kernels (default 1)")
    options = parser.parse_args()
    for chip in schedule_fields.CHIPS:
        rng = random.Random(f"{chip} {options.seed}")
        folder = options.out / chip
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.mlir"):
            old.unlink()
        for name, text, kernel in kernels_of(rng, options.count):
            (folder / f"{name}.mlir").write_text(scheduled(text, schedule_for(rng, chip, kernel)))


if __name__ == "__main__":
    main()
