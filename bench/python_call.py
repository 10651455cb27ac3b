#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the host time of calls from Python on tiny products, beside torch.mm, on the host and on a GPU if there is
one. PYTHONPATH has the package.

    bench/python_call.py [--device=cpu|cuda] [--seconds=S] [--json=FILE]

A row is the least mean of many short runs, in microseconds, and includes the launch itself: `launcher.run()` is a
launch with nothing around it. Runs on a GPU end before the launch queue is full, so that they measure the host alone.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch

import sparsec
import sparsec.torch

CALLS = 200


def microseconds(call: Callable[[], object], device: str, seconds: float) -> float:
    """The host time of a call."""
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        best = min(best, (time.perf_counter() - begin) / CALLS)
        if device == "cuda":
            torch.cuda.synchronize()
    return best * 1e6


def calls(device: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """The rows: names and calls."""
    block, size, tokens = (16, 16, 4) if device == "cpu" else (64, 128, 16)  # little work, so that calls are seen
    a = np.random.default_rng(0).standard_normal((size, size))
    keep = sparsec.prune.random(a.shape, block, 1.0)
    w = sparsec.BSR.from_dense(a, block, keep, "bf16").as_torch(device)
    layer = sparsec.torch.SparseLinear(size, size, block, mask=keep, dtype=torch.bfloat16, device=device)
    x = torch.randn(tokens, size, device=device).bfloat16()
    dense, bias = torch.randn(size, size, device=device).bfloat16(), torch.randn(size, device=device).bfloat16()
    targets = "host" if device == "cpu" else None
    kernel = sparsec.compile(sparsec.spmm(block, x_layout="nk", y_layout="nm"), targets)["spmm"]
    launcher = kernel.launcher(w, x)
    yield "torch.mm", lambda: torch.mm(x, dense)
    yield "torch.nn.functional.linear", lambda: torch.nn.functional.linear(x, dense, bias)
    yield "torch.empty_like, as for the result", lambda: torch.empty_like(x)
    yield "launcher.run()", launcher.run
    yield "kernel(w, x), without torch.library", lambda: kernel(w, x)
    yield "sparsec.torch.linear(x, w)", lambda: sparsec.torch.linear(x, w)
    yield "sparsec.torch.linear(x, w, bias)", lambda: sparsec.torch.linear(x, w, bias)
    yield "SparseLinear, with bias", lambda: layer(x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), help="one device alone")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    parser.add_argument("--json", help="writes the rows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    devices = [options.device] if options.device else ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    report = {}
    for device in devices:
        name = torch.cuda.get_device_name() if device == "cuda" else "host"
        print(f"{name}, torch {torch.__version__}, sparsec {sparsec.__version__}: microseconds of host time")
        with torch.no_grad():
            for row, call in calls(device):
                call()
                taken = microseconds(call, device, options.seconds)
                report.setdefault(name, {})[row] = taken
                print(f"  {row:40} {taken:7.2f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "microseconds": report}, file, indent=1)


if __name__ == "__main__":
    main()
