#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares sparsec.torch.linear with torch's block-sparse (BSR) and dense linear layers, in one process: times with a
cold cache, and errors against float64. PYTHONPATH has the package. Without a GPU it runs on the host, for small sizes.

    bench/torch_products.py [--size=4096] [--blocks=16,32,64,128] [--density=0.05,0.25,0.5] [--tokens=1,128,2048,16384]
                            [--rounds=11] [--json=FILE]

Columns: `linear` is sparsec.torch.linear, `packed` the same with pack=True, `launch` a launch of the kernel of
`linear` that was prepared before, as a program in C has it, then torch's BSR and dense layers. Times are medians in
microseconds. `rounding` is the largest error of `linear` and `packed` over that of a result which is rounded to bf16
once, from sums in f32: up to 1 is right.
"""

import argparse
import json
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import sparsec
import sparsec.torch
from sparsec import devices, linear_programs
from sparsec.bench.rounds import GpuClock, host_clock, measure
from sparsec.torch.library import kernel_of

HALF_UNIT, SUM = 2.0**-8, 1e-6  # of a rounding to bf16, and of a sum in f32 of terms with this magnitude
COLUMNS = ("linear", "packed", "launch", "bsr", "dense")
device = "cuda" if torch.cuda.is_available() else "cpu"


def rounding(y: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> float:
    """The largest error over the one that rounding allows."""
    exact = x.double() @ weight.double().T
    allowed = HALF_UNIT * exact.abs() + (1 + HALF_UNIT) * SUM * (x.double().abs() @ weight.double().abs().T)
    return float(((y.double() - exact).abs() / allowed.clamp(min=1e-30)).max())


def torch_bsr(w: sparsec.BSR, x: torch.Tensor) -> Callable[[], Any]:
    """The layer of torch, in f32 on the host, where it has no other types."""
    w, x = (w, x) if x.is_cuda else (w.astype("f32"), x.float())
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse BSR tensor support")
        weight = w.to_torch()
    return lambda: torch.nn.functional.linear(x, weight)


def contenders(w: sparsec.BSR, weight: torch.Tensor, x: torch.Tensor) -> dict[str, Callable[[], Any]]:
    """The calls, by column."""
    text = linear_programs.text(w.block, "bf16", None, None, None)
    kernel = kernel_of(text, devices.target_of_device(x.get_device()))
    launcher = kernel.launcher(w, x, plan=kernel.plan(w, None, static=True))
    return {
        "linear": lambda: sparsec.torch.linear(x, w, static=True),
        "packed": lambda: sparsec.torch.linear(x, w, pack=True),
        "launch": launcher.run,
        "bsr": torch_bsr(w, x),
        "dense": lambda: torch.nn.functional.linear(x, weight),
    }


def measured(w: sparsec.BSR, weight: torch.Tensor, tokens: int, options: argparse.Namespace) -> dict[str, Any]:
    """A row of the table."""
    x = torch.randn(tokens, weight.shape[1], device=device).bfloat16()
    calls, row = contenders(w, weight, x), {"block": w.block[0], "density": w.density, "tokens": tokens}
    for name in COLUMNS:
        try:
            calls[name]()
        except RuntimeError as error:  # a library may have no kernel for a case
            row[f"{name}_missing"] = str(error).splitlines()[0]
            del calls[name]
    row["rounding"] = max(rounding(calls[name](), x, weight) for name in ("linear", "packed"))
    times = measure(calls, options.rounds, GpuClock(torch) if device == "cuda" else host_clock)
    for name, each in times.items():
        row[name] = 1e3 * each.median
        row[f"{name}_least"] = 1e3 * each.least
    return row


def numbers(kind: type) -> Callable[[str], list[Any]]:
    return lambda text: [kind(each) for each in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=4096, help="rows and columns of the weight")
    parser.add_argument("--blocks", type=numbers(int), default=[16, 32, 64, 128])
    parser.add_argument("--density", type=numbers(float), default=[0.05, 0.25, 0.5])
    parser.add_argument("--tokens", type=numbers(int), default=[1, 128, 2048, 16384])
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--json", help="writes the rows")
    options = parser.parse_args()
    torch.manual_seed(0)
    name = torch.cuda.get_device_name() if device == "cuda" else "host"
    print(f"{name}, torch {torch.__version__}, sparsec {sparsec.__version__}, {options.size} x {options.size}, bf16")
    print("| block | d | tokens | " + " | ".join(COLUMNS) + " | BSR / linear | dense / linear | rounding |")
    print("|---" * 11 + "|")
    a = np.random.default_rng(0).standard_normal((options.size, options.size), np.float32)
    rows = []
    for block in options.blocks:
        for density in options.density:
            keep = sparsec.prune.random(a.shape, block, density)
            host = sparsec.BSR.from_dense(a, block, keep)
            w = host.as_torch(device).astype("bf16")
            weight = torch.from_numpy(host.to_dense()).to(device).bfloat16()
            for tokens in options.tokens:
                row = measured(w, weight, tokens, options)
                rows.append(row)
                times = " | ".join(f"{row[each]:.1f}" if each in row else "-" for each in COLUMNS)
                ratios = " | ".join(f"{row[e] / row['linear']:.2f}" if e in row else "-" for e in ("bsr", "dense"))
                print(f"| {block} | {density} | {tokens} | {times} | {ratios} | {row['rounding']:.2f} |", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"device": name, "torch": torch.__version__, "size": options.size, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()
