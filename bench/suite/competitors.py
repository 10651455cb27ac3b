#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times the block-sparse product of another library beside torch's dense product: a child process of measure.py.

    bench/suite/competitors.py LIBRARY [--device=cuda]     LIBRARY: torch-bsr, triton, cusparse-bsr, cusparse-ell

Reads a case from every line of the standard input, as JSON: {"key", "size": [M, K, N], "block", "pattern": a file
.smtx}. Writes a line for each: its key and the times of the fastest way that gave the right result, or its key and
"failure". W and X are N(0, 1) in bf16. L2 is flushed before every launch. A result is right if 64 rows of it are within
two units in the last place of float64, plus a millionth of the magnitudes that were added, and nothing is NaN.
"""

import argparse
import functools
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

from torch_timer import Timer

SAMPLED_ROWS = 64
LAUNCHES, LAUNCHES_OF_SLOW = 15, 5
SLOW_MS = 20.0
Run = Callable[[], Any]


@dataclass
class Pattern:
    """The stored blocks of a matrix."""

    rows: int
    columns: int
    row_ptr: torch.Tensor
    col_idx: torch.Tensor

    @staticmethod
    def read(path: Path, device: str) -> "Pattern":
        """Of a file .smtx: sizes, row offsets, column indices."""
        sizes, row_ptr, *rest = path.read_text(encoding="utf-8").splitlines()
        rows, columns, _ = map(int, sizes.split(","))
        numbers = [torch.tensor([int(word) for word in line.split()], dtype=torch.int32, device=device)
                   for line in (row_ptr, rest[0] if rest else "")]  # fmt: skip
        return Pattern(rows, columns, *numbers)

    @property
    def count(self) -> int:
        return len(self.col_idx)

    def block_rows(self) -> torch.Tensor:
        """The block row of every block."""
        counts = self.row_ptr.diff().long()
        return torch.repeat_interleave(torch.arange(self.rows, device=counts.device), counts)


class Problem:
    """The operands of a product Y = W X, and what Y should be."""

    def __init__(self, size: Sequence[int], block: int, pattern: Pattern, device: str) -> None:
        self.rows, self.depth, self.width = size
        if (pattern.rows * block, pattern.columns * block) != (self.rows, self.depth):
            raise ValueError(f"a pattern of {pattern.rows} x {pattern.columns} blocks of {block} is no {size}")
        self.block, self.pattern, self.device = block, pattern, device
        generator = torch.Generator(device).manual_seed(1)

        def normal(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, generator=generator, device=device, dtype=torch.float32).bfloat16()

        self.values = normal(pattern.count, block, block)
        self.x = normal(self.depth, self.width)
        self.dense = self.dense_matrix()
        self.y = torch.empty(self.rows, self.width, dtype=torch.bfloat16, device=device)
        chosen = torch.randperm(self.rows, generator=torch.Generator().manual_seed(2))[:SAMPLED_ROWS].sort()[0]
        self.sample = chosen.to(device)
        lines = self.dense[self.sample].double()
        self.exact = lines @ self.x.double()
        self.magnitude = lines.abs() @ self.x.double().abs()

    def dense_matrix(self) -> torch.Tensor:
        """W with its zeros."""
        blocks = torch.zeros(self.pattern.rows, self.pattern.columns, self.block, self.block, dtype=torch.bfloat16,
                             device=self.device)  # fmt: skip
        blocks[self.pattern.block_rows(), self.pattern.col_idx.long()] = self.values
        return blocks.permute(0, 2, 1, 3).reshape(self.rows, self.depth)

    @property
    def flops(self) -> float:
        """Those of stored blocks."""
        return 2.0 * self.pattern.count * self.block**2 * self.width

    def error(self, y: torch.Tensor) -> str:
        """Why a result of M x N is wrong; empty when it is right."""
        if bool(torch.isnan(y).any()):
            return "elements are NaN or not written"
        # frexp gives a fraction below 1, so that the last of the 8 bits of bf16 is worth 2^(exponent - 8).
        unit = torch.ldexp((self.exact != 0).double(), torch.frexp(self.exact)[1] - 8)
        excess = (y[self.sample].double() - self.exact).abs() - (2 * unit + 1e-6 * self.magnitude)
        worst = int(excess.argmax())
        if float(excess.flatten()[worst]) <= 0:
            return ""
        got, exact = float(y[self.sample].flatten()[worst]), float(self.exact.flatten()[worst])
        return f"an element is {got:.6g}, but should be {exact:.6g}"


@dataclass
class Way:
    """One way to compute the product with a library. `prepare` gives a call, and a function that gets its M x N
    result after the call; it may raise an error."""

    name: str
    prepare: Callable[[], tuple[Run, Callable[[], torch.Tensor]]]


def torch_bsr_ways(problem: Problem) -> Iterator[list[Way]]:
    """torch's sparse BSR tensors: as a product, and as a linear layer, whose operands are transposed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse BSR tensor support")
        matrix = torch.sparse_bsr_tensor(problem.pattern.row_ptr, problem.pattern.col_idx, problem.values,
                                         size=(problem.rows, problem.depth))  # fmt: skip
    results: dict[str, torch.Tensor] = {}

    def product() -> tuple[Run, Callable[[], torch.Tensor]]:
        return lambda: results.update(y=matrix @ problem.x), lambda: results["y"]

    def linear() -> tuple[Run, Callable[[], torch.Tensor]]:
        tokens = problem.x.T.contiguous()
        return lambda: results.update(y=torch.nn.functional.linear(tokens, matrix)), lambda: results["y"].T

    yield [Way("w @ x", product), Way("linear(x, w), X as N x K", linear)]


def triton_ways(problem: Problem) -> Iterator[list[Way]]:
    import triton_spmm

    def prepare(run: Run) -> tuple[Run, Callable[[], torch.Tensor]]:
        return run, lambda: problem.y

    yield [Way(name, functools.partial(prepare, run)) for name, run in triton_spmm.launches(problem)]


def cusparse_bsr_ways(problem: Problem) -> Iterator[list[Way]]:
    import cusparse

    return cusparse.bsr_ways(problem, Way)


def cusparse_ell_ways(problem: Problem) -> Iterator[list[Way]]:
    import cusparse

    return cusparse.ell_ways(problem, Way)


LIBRARIES: dict[str, Callable[[Problem], Iterator[list[Way]]]] = {
    "torch-bsr": torch_bsr_ways,
    "triton": triton_ways,
    "cusparse-bsr": cusparse_bsr_ways,
    "cusparse-ell": cusparse_ell_ways,
}


class HostTimer:
    """Takes the place of torch_timer.Timer where there is no GPU, as in tests."""

    def once(self, run: Run) -> float:
        begin = time.perf_counter()
        run()
        return 1e3 * (time.perf_counter() - begin)

    def back_to_back(self, run: Run, count: int) -> list[float]:
        return [self.once(run) for _ in range(count)]


def samples_of(timer: Any, run: Run) -> list[float]:
    """Milliseconds, fewer of calls that take long. Two calls are not counted."""
    timer.once(run)
    count = LAUNCHES if timer.once(run) < SLOW_MS else LAUNCHES_OF_SLOW
    return sorted(timer.back_to_back(run, count))


def summary(samples: Sequence[float]) -> dict[str, Any]:
    count = len(samples)
    return {
        "median_ms": statistics.median(samples),
        "quartiles_ms": [samples[count // 4], samples[count * 3 // 4]],
        "best_ms": samples[0],
        "launches": count,
    }


def fastest(problem: Problem, groups: Iterable[list[Way]], timer: Any) -> dict[str, Any]:
    """The times of the fastest right way of the first group that has one, or the failure of all ways."""
    refused: list[str] = []
    for group in groups:
        best: dict[str, Any] = {}
        for way in group:
            try:
                run, result = way.prepare()
                problem.y.fill_(float("nan"))
                run()
                error = problem.error(result())
                if error:
                    refused.append(f"{way.name}: {error}")
                    continue
                times = summary(samples_of(timer, run))
            except Exception as error:  # a library may refuse a case in any way; its words are recorded
                refused.append(f"{way.name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
                continue
            if not best or times["median_ms"] < best["median_ms"]:
                best = {**times, "way": way.name}
        if best:
            return {**best, "refused": refused}
    return {"failure": "; ".join(refused)}


def measured(library: str, case: dict[str, Any], device: str, timer: Any) -> dict[str, Any]:
    """A line of the output: the library between two measurements of the dense product."""
    problem = Problem(case["size"], case["block"], Pattern.read(Path(case["pattern"]), device), device)
    dense = [statistics.median(samples_of(timer, lambda: torch.mm(problem.dense, problem.x, out=problem.y)))]
    error = problem.error(problem.y)
    if error:
        return {"failure": f"the dense product is wrong: {error}"}
    times = fastest(problem, LIBRARIES[library](problem), timer)
    if "failure" in times:
        return times
    dense.append(statistics.median(samples_of(timer, lambda: torch.mm(problem.dense, problem.x, out=problem.y))))
    tflops = problem.flops / times["median_ms"] * 1e-9
    return {**times, "tflops": tflops, "dense_ms": statistics.mean(dense), "block_count": problem.pattern.count}


def versions(device: str) -> dict[str, str]:
    found = {"torch": torch.__version__}
    if device == "cuda":
        found["cuda"] = str(torch.version.cuda)
    try:
        import triton

        found["triton"] = triton.__version__
    except ImportError:
        pass
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--device", default="cuda", help="cuda, or cpu for a trial (default: cuda)")
    options = parser.parse_args()
    # The sums of cuBLAS are then in f32 between its parts of K, too.
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    timer = Timer(torch, LAUNCHES) if options.device == "cuda" else HostTimer()
    print(json.dumps({"versions": versions(options.device)}), flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        try:
            record = measured(options.library, case, options.device, timer)
        except (RuntimeError, ValueError, OSError, ImportError) as error:
            record = {"failure": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"}
        print(json.dumps({"key": case["key"], **record}), flush=True)
        if options.device == "cuda":
            torch.cuda.synchronize()  # after an error of the device no case can run: the suite starts a new process
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
