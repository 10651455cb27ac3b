# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The results of the suite, as reports need them."""

import itertools
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

NAMES = {
    "sparsec": "sparsec",
    "triton": "Triton kernel",
    "cusparse-ell": "cuSPARSE Blocked-ELL",
    "cusparse-bsr": "cuSPARSE BSR",
    "torch-bsr": "torch BSR",
}
Record = dict[str, Any]


def newest(results: Path) -> Path | None:
    """The newest file of measure.py below a folder, by the date in its name."""
    files = sorted(results.glob("*/*-suite.jsonl"), key=lambda path: path.name)
    return files[-1] if files else None


class Results:
    """The records of a file: the last one of each library and case counts.

    All libraries of a case have one dense time, that of sparsec's process where it has the case, so that their
    speed-ups compare as their times do. `own_dense_ms` is the time in the library's own process.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        records = [json.loads(line) for line in lines]
        self.sessions: dict[int, Record] = {each["session"]: each for each in records if each["record"] == "session"}
        last = {(each["library"], each["key"]): each for each in records if each["record"] != "session"}
        self.results = [each for each in last.values() if each["record"] == "result"]
        dense = {each["key"]: each["dense_ms"] for each in self.results if each["library"] == "sparsec"}
        for each in self.results:
            each["own_dense_ms"] = each["dense_ms"]
            each["dense_ms"] = dense.get(each["key"]) or each["dense_ms"]
        self.counters = [each for each in last.values() if each["record"] == "counters"]
        self.failures = [each for each in last.values() if each["record"] == "failure"]

    def where(self, **wanted: Any) -> list[Record]:
        """The results whose case has these values. `library` is one of them, too."""
        return [
            each
            for each in self.results
            if all(({**each["case"], "library": each["library"]})[key] == value for key, value in wanted.items())
        ]

    @property
    def machine(self) -> Record:
        return dict(next(iter(self.sessions.values()))["machine"])

    @property
    def gpu(self) -> str:
        return str(self.machine["name"])

    @property
    def source(self) -> str:
        """Of the numbers in a picture."""
        dates = sorted({each["date"][:10] for each in self.sessions.values()})
        return f"{self.gpu}, driver {self.machine['driver_version']}, {' and '.join(dates)}"


def ordered(values: Iterable[Any]) -> list[Any]:
    return sorted(set(values))


def libraries_of(records: Iterable[Record]) -> list[str]:
    found = {each["library"] for each in records}
    return [name for name in NAMES if name in found]


def speedup(record: Record) -> float:
    """Over the dense product that was timed beside it."""
    return float(record["dense_ms"] / record["median_ms"])


def share(record: Record) -> float:
    """Useful TFLOP/s in proportion to those of the dense product."""
    rows, depth, width = record["case"]["size"]
    dense = 2e-9 * rows * depth * width / record["dense_ms"]
    return float(record["tflops"] / dense)


def crossover(points: Sequence[tuple[float, float]]) -> tuple[str, float]:
    """From (density, speed-up): the density up to which the sparse product is faster at every measured density.

    Between two densities the logarithm of the speed-up is taken as linear in the logarithm of the density. Gives "at"
    and the density, "above" the largest density if it is faster at all of them, or "below" the least one if it is
    slower there.
    """
    points = sorted(points)
    if points[0][1] < 1:
        return "below", points[0][0]
    for (d0, s0), (d1, s1) in itertools.pairwise(points):
        if s1 < 1:
            part = math.log(s0) / (math.log(s0) - math.log(s1))
            return "at", math.exp(math.log(d0) + part * (math.log(d1) - math.log(d0)))
    return "above", points[-1][0]
