#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures products of the host target in GFLOP/s of one core, by the processor time of launches. PYTHONPATH has the
package, which needs ml_dtypes.

    bench/host_products.py [--blocks=128,64,32,16] [--size=1024x1024x512] [--density=0.25] [--rounds=15]

The process stays on one core, and the best of the rounds counts: other processes take some of its caches. Every result
is compared with float64 first.
"""

import argparse
import math
import os
import time

import ml_dtypes
import numpy as np

import sparsec
from sparsec import programs, tracing
from sparsec.kernel import Launcher

SECONDS_OF_ROUND = 0.02
Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Exact = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def products(block: int) -> dict[str, programs.Program]:
    bias = {"bias": programs.per_row("f32")}
    return {
        "X as K x N, Y as M x N": sparsec.spmm(block),
        "y = x W^T": sparsec.spmm(block, x_layout="nk", y_layout="nm"),
        "y = gelu(x W^T + b)": sparsec.spmm(
            block, x_layout="nk", y_layout="nm", extras=bias, epilogue=lambda acc, bias: tracing.gelu(acc + bias)
        ),
    }


def expected(name: str, w: Array, x: Array, bias: Array) -> Exact:
    """The result as M x N, of X as K x N."""
    product: Exact = w.astype(np.float64) @ x.astype(np.float64)
    if "gelu" not in name:
        return product
    sums = product + bias[:, None].astype(np.float64)
    erf: Exact = np.vectorize(math.erf)(sums / math.sqrt(2))
    return sums / 2 * (1 + erf)


def gigaflops(launcher: Launcher, flops: int, rounds: int) -> float:
    """The best rate of a round."""
    launcher.run()
    begin = time.process_time()
    launcher.run()
    count = max(1, int(SECONDS_OF_ROUND / max(time.process_time() - begin, 1e-6)))
    best = math.inf
    for _ in range(rounds):
        begin = time.process_time()
        for _ in range(count):
            launcher.run()
        best = min(best, (time.process_time() - begin) / count)
    return flops / best * 1e-9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", default="128,64,32,16", help="block sizes")
    parser.add_argument("--size", default="1024x1024x512", help="MxKxN")
    parser.add_argument("--density", type=float, default=0.25)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    m, k, n = map(int, options.size.split("x"))
    random = np.random.default_rng(1)
    dense = random.standard_normal((m, k), np.float32)
    x = random.standard_normal((k, n), np.float32).astype(ml_dtypes.bfloat16)
    bias = random.standard_normal(m, np.float32)
    for block in map(int, options.blocks.split(",")):
        w = sparsec.BSR.from_dense(dense, block, sparsec.prune.random((m, k), block, options.density), "bf16")
        flops = 2 * w.values.size * n
        for name, program in products(block).items():
            kernel = sparsec.compile(program, "host", cache=False)["spmm"]
            is_transposed = "W^T" in name
            launcher = kernel.launcher(w, np.ascontiguousarray(x.T) if is_transposed else x, *([bias] * ("b)" in name)))
            y = launcher.run()
            result = (y.T if is_transposed else y).astype(np.float64)
            exact = expected(name, w.to_dense().astype(np.float32), x.astype(np.float32), bias)
            np.testing.assert_allclose(result, exact, rtol=2**-8, atol=1e-4)
            print(f"{block:4}-blocks  {name:24} {gigaflops(launcher, flops, options.rounds):6.1f} GFLOP/s", flush=True)


if __name__ == "__main__":
    main()
