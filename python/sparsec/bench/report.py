# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The results of a run: as a table, as JSON and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sparsec.bench.contenders import TITLES
from sparsec.bench.rounds import Times
from sparsec.charts import Bar, Line, bar_chart, line_chart

FORMAT = 1
"""Of the JSON. It grows when a field changes its meaning or goes away."""


@dataclass(frozen=True)
class Row:
    """What was found out about a contender: times, an error and a note, or a note that says why it has no times."""

    name: str
    times: Times | None
    error: float | None
    is_right: bool
    note: str = ""


@dataclass(frozen=True)
class CaseReport:
    """The rows of a case.

    Attributes:
        operation: "product" or "attention".
        title: the case in words.
        sizes: the numbers that describe it.
        density: stored or visited blocks over all blocks.
        flops: the useful ones.
        rows: in the order of the table.
    """

    operation: str
    title: str
    sizes: dict[str, Any]
    density: float
    flops: int
    rows: Sequence[Row]

    @property
    def dense(self) -> Times | None:
        """The times of the dense way."""
        return next((row.times for row in self.rows if row.name == "dense"), None)

    def speed(self, times: Times) -> float:
        """Useful TFLOP/s."""
        return self.flops / times.median / 1e9

    def ratio(self, times: Times) -> float | None:
        """How many times faster than the dense way."""
        return self.dense.median / times.median if self.dense else None

    def name_of(self, row: Row) -> str:
        return TITLES[self.operation, row.name]


@dataclass(frozen=True)
class Report:
    """A run: `machine` says where, in words; `versions` of what, by name."""

    machine: str
    versions: dict[str, str]
    dtype: str
    rounds: int
    cases: Sequence[CaseReport]

    @property
    def heading(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return f"{self.machine}, {self.dtype}, {versions}, {self.rounds} rounds"

    @property
    def is_right(self) -> bool:
        """Whether every result that there is has a small error."""
        return all(row.is_right for case in self.cases for row in case.rows)


def _rate(speed: float) -> str:
    return f"{speed:.0f}" if speed >= 100 else f"{speed:.3g}"


def table(case: CaseReport) -> str:
    """The rows of a case in columns, as text."""
    lines: list[tuple[str, ...]] = [("", "median ms", "least", "most", "TFLOP/s", "x dense", "error")]
    notes = []
    for row in case.rows:
        name = case.name_of(row)
        if row.note:
            notes.append(f"{name}: {row.note}")
        if row.times is None or row.error is None:
            continue
        ratio = case.ratio(row.times)
        lines.append(
            (
                name,
                *(f"{value:.3f}" for value in (row.times.median, row.times.least, row.times.most)),
                _rate(case.speed(row.times)),
                "-" if ratio is None else f"{ratio:.2f}",
                f"{row.error:.1e}{'' if row.is_right else ' WRONG'}",
            )
        )
    if len(lines) == 1:
        return "\n".join([case.title, *notes])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    texts = []
    for first, *others in lines:
        cells = (f"  {cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True))
        texts.append((first.ljust(widths[0]) + "".join(cells)).rstrip())
    return "\n".join([case.title, *texts, *notes])


def to_json(report: Report) -> dict[str, Any]:
    """The report as what json.dumps takes. docs/python.md describes the fields."""
    return {
        "format": FORMAT,
        "machine": report.machine,
        "versions": report.versions,
        "dtype": report.dtype,
        "rounds": report.rounds,
        "cases": [
            {
                "operation": case.operation,
                **case.sizes,
                "density": case.density,
                "useful_flops": case.flops,
                "contenders": [_contender_json(case, row) for row in case.rows],
            }
            for case in report.cases
        ],
    }


def _contender_json(case: CaseReport, row: Row) -> dict[str, Any]:
    if row.times is None:
        return {"name": row.name, "note": row.note}
    return {
        "name": row.name,
        "note": row.note,
        "median_ms": row.times.median,
        "least_ms": row.times.least,
        "most_ms": row.times.most,
        "samples_ms": list(row.times.samples),
        "useful_tflops": case.speed(row.times),
        "dense_ratio": case.ratio(row.times),
        "relative_error": row.error,
        "is_right": row.is_right,
    }


def picture(report: Report) -> str:
    """An SVG: bars of the times of one case, or lines of the useful speed over the densities of several.

    A picture of several cases has the contenders that have times in at least one of them.
    """
    if len(report.cases) == 1:
        case = report.cases[0]
        bars = [
            Bar(case.name_of(row), row.times.median, row.times.least, row.times.most, _bar_label(case, row.times),
                row.name == "sparsec")
            for row in case.rows if row.times is not None
        ]  # fmt: skip
        return bar_chart(case.title, "milliseconds; bars are medians, thin lines the range", bars, [report.heading])
    points: dict[str, list[tuple[float, float]]] = {}
    for case in sorted(report.cases, key=lambda case: case.density):
        for row in case.rows:
            if row.times is not None:
                points.setdefault(case.name_of(row), []).append((case.density, case.speed(row.times)))
    lines = [Line(name, each) for name, each in points.items()]
    title = f"{report.cases[0].title.rsplit(', density', 1)[0]}: {report.heading}"
    return line_chart(title, "density", "useful TFLOP/s", lines)


def _bar_label(case: CaseReport, times: Times) -> str:
    return f"{times.median:.3f} ms, {_rate(case.speed(times))} TFLOP/s"
