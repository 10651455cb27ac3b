#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how long operands take to be quantised to fp8 on a GPU: by the kernel of a compiled file, and by the
operations of torch that sparsec.quantize calls, which give the same numbers. PYTHONPATH has the package.

    bench/quantize.py [--module FILE] [--size N] [--repeats R]

A row has the median time, and the bytes of the values and of their quantised ones divided by it. The file is that of
the program below; without --module the compiler makes it.
"""

import argparse
import functools

import torch
from torch_timer import Timer

import sparsec

BLOCK = 128


def program():
    return sparsec.spmm(
        BLOCK, "f8E4M3FN", scales=True, x_scale=True, x_layout="nk", y_layout="nm", name="quantized_product"
    )


def expect_same(got, expected):
    for one, other in zip(got, expected, strict=True):
        one, other = (each.values if isinstance(each, sparsec.BSR) else each for each in (one, other))
        # A cast to f32 makes the numbers comparable; a NaN is one on both sides.
        torch.testing.assert_close(one.float(), other.float(), rtol=0, atol=0, equal_nan=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", help="the compiled program; default: compile it")
    parser.add_argument("--size", type=int, default=8192, help="rows and columns of W and X")
    parser.add_argument("--repeats", type=int, default=11)
    options = parser.parse_args()
    module = sparsec.load(options.module) if options.module else sparsec.compile(program())
    kernel, size = module["quantized_product"], options.size
    x = torch.randn(size, size, device="cuda").bfloat16()
    keep = sparsec.prune.random((size, size), BLOCK, 0.25)
    counts = torch.tensor(keep.sum(1))
    row_ptr = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)]).int().cuda()
    col_idx = torch.tensor(keep.nonzero()[1]).int().cuda()
    values = torch.randn(len(col_idx), BLOCK, BLOCK, device="cuda").bfloat16()
    w = sparsec.BSR(row_ptr, col_idx, values, (size, size))
    print(f"{torch.cuda.get_device_name()}: {size} x {size}, bf16 to f8E4M3FN; W has {len(col_idx)} blocks of {BLOCK}")

    timer = Timer(torch, options.repeats)
    other = torch.empty_like(x)
    (copied,) = timer.milliseconds(lambda: other.copy_(x))
    print(f"copy of X {1000 * copied:8.1f} us {4 * x.numel() / copied / 1e6:6.0f} GB/s")
    for name, operand, groups in (("x", x, ("tensor", "row", "token")), ("w", w, ("tensor", "row", "block"))):
        moved = 3 * (x if name == "x" else values).numel()
        for group in groups:
            by_kernel = functools.partial(kernel.quantize, name, operand, group)
            by_torch = functools.partial(getattr(sparsec.quantize, f"per_{group}"), operand)
            expect_same(by_kernel(), by_torch())
            own, theirs = (1000 * each for each in timer.milliseconds(by_kernel, by_torch))
            print(f"{name} by {group:6} {own:7.1f} us {moved / own / 1e3:6.0f} GB/s   torch {theirs:8.1f} us")


if __name__ == "__main__":
    main()
