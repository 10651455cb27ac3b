#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/performance.md and its pictures from results of measure.py. PYTHONPATH has the package sparsec, and PNG
pictures need cairosvg. Nothing in the page is written by hand.

    bench/suite/write_report.py [--results=bench/results/MACHINE/DATE-suite.jsonl] [--docs=docs]

Without --results it takes the newest such file.
"""

import argparse
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from records import NAMES, Record, Results, crossover, libraries_of, newest, ordered, share, speedup

from sparsec.charts import Bar, Line, bar_chart, line_chart

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import pictures

REPOSITORY = Path(__file__).resolve().parents[2]
CUBE = [8192, 8192, 8192]
PICTURES = "images/performance"
LAYOUTS = {"kn_mn": "X as K x N, Y as M x N", "nk_nm": "y = x Wᵀ: X as N x K, Y as N x M"}
COUNTERS = (
    ("time, µs", "duration_ns", 1e-3, ".1f"),
    ("SM throughput, %", "sm_throughput_pct", 1, ".1f"),
    ("tensor pipe, %", "tensor_pipe_pct", 1, ".1f"),
    ("DRAM throughput, %", "dram_throughput_pct", 1, ".1f"),
    ("DRAM bytes, MB", "dram_bytes", 1e-6, ".0f"),
    ("L2 throughput, %", "l2_throughput_pct", 1, ".1f"),
    ("L2 hit rate, %", "l2_hit_rate_pct", 1, ".1f"),
    ("occupancy, %", "occupancy_achieved_pct", 1, ".1f"),
    ("theoretical occupancy, %", "occupancy_theoretical_pct", 1, ".1f"),
    ("registers a thread", "registers", 1, ".0f"),
    ("shared memory a CTA, KiB", "shared_memory_bytes", 1 / 1024, ".1f"),
    ("branch efficiency, %", "branch_efficiency_pct", 1, ".1f"),
)
PROGRAM = "bench/suite/measure.py"  # also of results that it wrote when it had another path
WRONG = ("an element is ", "elements are ")  # how competitors.py begins to say that a result is wrong
# Charts and tables share these texts.
X_DENSITY = "density: stored blocks / all blocks"
SPEEDUP, DENSE, HIGHER = "speed-up over cuBLAS dense (times)", ("cuBLAS dense", 1.0), "higher is faster"
CELLS = "Useful TFLOP/s and, in brackets, the speed-up over the dense product."


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [list(columns), ["---"] * len(columns), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def rate(record: Record | None) -> str:
    """Useful TFLOP/s and, in brackets, the speed-up."""
    return f"{record['tflops']:.0f} ({speedup(record):.2f})" if record else ""


def dense_line(records: Iterable[Record]) -> tuple[str, float] | None:
    """The name and the TFLOP/s of the dense product, the median over cases that have one."""
    rates = [each["tflops"] / share(each) for each in records if each["dense_ms"]]
    return (DENSE[0], statistics.median(rates)) if rates else None


def crossover_text(points: Sequence[tuple[float, float]]) -> str:
    kind, density = crossover(points)
    return {"at": f"{density:.2f}", "above": f"> {density:g}", "below": f"< {density:g}"}[kind]


def last_part(word: str) -> str:
    """A word of a command; of a path, its last part."""
    return word.rpartition("/")[2] if word.startswith(("/", "build/")) else word


class Report:
    """The page and its pictures."""

    def __init__(self, results: Results, file: str) -> None:
        self.results, self.file = results, file
        self.pictures: dict[str, str] = {}

    def picture(self, name: str, title: str, svg: str) -> str:
        """Keeps a picture. Gives the line that shows it."""
        self.pictures[name] = svg
        return f"![{title}]({PICTURES}/{name}.svg)\n\n[The picture as PNG]({PICTURES}/{name}.png)"

    def notes(self, text: str) -> list[str]:
        return [text, f"{self.results.source}; random data, L2 flushed before every launch, medians"]

    def markdown(self) -> str:
        sections: list[Callable[[], list[str]]] = [
            self.introduction, self.layouts, self.densities, self.crossovers, self.dense, self.masks, self.rows,
            self.sizes, self.widths, self.types, self.counters, self.ways, self.spread, self.failures,
        ]  # fmt: skip
        parts = [part for section in sections for part in section()]
        return "\n\n".join(parts) + "\n"

    def introduction(self) -> list[str]:
        machine, results = self.results.machine, self.results
        sessions = list(results.sessions.values())
        measured = [each["clocks"] for each in results.results if each.get("clocks")]
        rows = [["GPU", f"{machine['name']}, {machine['memory.total']}"], ["driver", machine["driver_version"]],
                ["largest clocks", f"SM {machine['clocks.max.sm']}, memory {machine['clocks.max.mem']}"],
                ["power limit", machine["power.limit"]]]  # fmt: skip
        if measured:
            clock = statistics.median(each["sm_mhz"][1] for each in measured)
            power = max(each["power_w"][2] for each in measured)
            rows.append(["while it measured", f"SM clock {clock:.0f} MHz (median), power up to {power:.0f} W"])
        versions: dict[str, str] = {}
        for each in results.results:
            versions.update(each.get("versions", {}))
        rows += [[name, version] for name, version in sorted(versions.items())]
        rows.append(["commit", ", ".join(dict.fromkeys(each["commit"] for each in sessions))])
        rows.append(["date", ", ".join(dict.fromkeys(each["date"] for each in sessions))])
        command = " ".join([PROGRAM, *map(last_part, sessions[-1]["command"][1:])])
        return [
            "# Performance of block-sparse products",
            f"`bench/suite/write_report.py` wrote this page from `{self.file}`; do not edit it. The numbers are of the "
            "product Y = W X with a block-sparse W of M x K and a dense X of K x N. TFLOP/s are useful ones: 2 times "
            "the elements of stored blocks times N, over the time. The speed-up is the time of the dense product "
            "(cuBLAS) over that of the sparse one. The dense product is timed before and after each case, and all "
            "libraries of a case have the same dense time ([how](#the-dense-product)).",
            "W and X are N(0, 1). L2 is flushed before every launch. Times are medians of "
            f"{sessions[-1]['launches']} launches, of products that take more than 20 ms in other libraries of 5; "
            "[Spread](#spread) tells how they differ. A result is checked against double precision before its time "
            "counts. Preparation of a matrix (plans, conversions) is not in the times. sparsec has plans of static "
            "patterns and multiplies the stored values; small blocks that are dense or close together are faster as "
            "packed values, which the README has. Of other libraries, the fastest of "
            "[several ways](#how-other-libraries-were-called) is shown. "
            "[A note](../bench/notes/masks-and-libraries.md) says what the numbers mean.",
            table(["", ""], rows),
            f"Command (paths by their last part):\n\n```\n{command}\n```",
        ]

    def layouts(self) -> list[str]:
        found = self.results.where(library="sparsec", size=CUBE, mask="random", dtype="bf16")
        parts = self.by_kind("## sparsec by block and density", "M = K = N = 8192 in bf16, random masks. Useful "
                             "TFLOP/s and, in brackets, the ratio to those of the dense product.",
                             ("layout", "layouts"), LAYOUTS, found)  # fmt: skip
        return [*parts[:2], *self.rates(), *parts[2:]]

    def rates(self) -> list[str]:
        """A picture of the TFLOP/s of sparsec over density, with a line for each block size."""
        series = {block: self.by_density(block).get("sparsec", []) for block in self.blocks()}
        records = [each for of_block in series.values() for each in of_block]
        if not records:
            return []
        lines = [Line(f"blocks of {block}", [(each["case"]["density"], each["tflops"]) for each in of_block])
                 for block, of_block in series.items() if of_block]  # fmt: skip
        title = f"sparsec: speed of block-sparse products, {self.results.gpu}"
        notes = self.notes(f"M = K = N = 8192, bf16, random masks, {LAYOUTS['kn_mn']}; only stored blocks count")
        chart = line_chart(title, X_DENSITY, "useful TFLOP/s", lines, dense_line(records), notes)
        return [self.picture("sparsec", title, chart)]

    def by_density(self, block: int) -> dict[str, list[Record]]:
        """Of every library, the results of a block size over density. Densities of files stay out."""
        found = self.results.where(size=CUBE, block=block, mask="random", layouts="kn_mn", dtype="bf16")
        found = [each for each in found
                 if each["dense_ms"] and each["case"]["density"] == round(each["case"]["density"], 3)]  # fmt: skip
        found.sort(key=lambda each: float(each["case"]["density"]))
        return {name: [each for each in found if each["library"] == name] for name in libraries_of(found)}

    def blocks(self) -> list[int]:
        found = self.results.where(size=CUBE, mask="random", layouts="kn_mn", dtype="bf16")
        return ordered(each["case"]["block"] for each in found if each["dense_ms"])[::-1]

    def densities(self) -> list[str]:
        parts = ["## Speed over the dense product",
                 f"M = K = N = 8192 in bf16, random masks, X as K x N and Y as M x N. {CELLS}"]  # fmt: skip
        for block in self.blocks():
            series = self.by_density(block)
            title = f"Speed-up of block-sparse over dense products, blocks of {block} x {block}, {self.results.gpu}"
            lines = [Line(NAMES[name], [(each["case"]["density"], speedup(each)) for each in records])
                     for name, records in series.items()]  # fmt: skip
            notes = self.notes(f"M = K = N = 8192, bf16, random masks; {HIGHER}")
            chart = line_chart(title, X_DENSITY, SPEEDUP, lines, DENSE, notes, log_y=True)
            densities = ordered(each["case"]["density"] for records in series.values() for each in records)[::-1]
            cells = {name: {each["case"]["density"]: each for each in records} for name, records in series.items()}
            rows = [[NAMES[name], *(rate(cells[name].get(density)) for density in densities)] for name in series]
            parts += [f"### Blocks of {block} x {block}", self.picture(f"speedup-{block}", title, chart),
                      table(["library", *(f"d = {density:g}" for density in densities)], rows)]  # fmt: skip
        return parts if len(parts) > 2 else []

    def crossovers(self) -> list[str]:
        series = {block: self.by_density(block) for block in self.blocks()}
        if not series:
            return []
        names = [name for name in NAMES if any(name in each for each in series.values())]

        def cell(records: Sequence[Record]) -> str:
            return crossover_text([(each["case"]["density"], speedup(each)) for each in records]) if records else ""

        rows = [[f"{block} x {block}", *(cell(each.get(name, [])) for name in names)] for block, each in series.items()]
        return [
            "## Crossover density",
            "The sparse product is faster than the dense one below this density, in the cases of the section above. "
            "Between two measured densities, the logarithm of the speed-up is taken as linear in the logarithm of the "
            'density. "> 1" says that it is faster at every measured density up to that one, "< 0.05" that it is '
            "slower even there.",
            table(["block", *(NAMES[name] for name in names)], rows),
        ]

    def dense(self) -> list[str]:
        """How the dense products of the processes differ."""
        found = [each for each in self.results.where(size=CUBE, mask="random", layouts="kn_mn", dtype="bf16")
                 if each["dense_ms"] and each["case"]["density"] == round(each["case"]["density"], 3)]  # fmt: skip
        densities = ordered(each["case"]["density"] for each in found)[::-1]
        rows = []
        for name in libraries_of(found):
            own = [each for each in found if each["library"] == name]
            times = [[each["own_dense_ms"] for each in own if each["case"]["density"] == density]
                     for density in densities]  # fmt: skip
            rows.append([NAMES[name], *(f"{statistics.median(each):.3f}" if each else "" for each in times)])
        text = (
            "Milliseconds of the dense product in the process of each library, M = K = N = 8192 in bf16, the median "
            "over block sizes. That of sparsec multiplies a full W. Those of other libraries multiply the W of the "
            "case, with its zeros. Speed-ups of this page are over the dense product in the process of sparsec where "
            "it has the case."
        )
        ratios = [each["own_dense_ms"] / each["dense_ms"] for each in found if each["own_dense_ms"] != each["dense_ms"]]
        if ratios:
            text += f" The dense products of other processes took {min(ratios):.2f} to {max(ratios):.2f} of its time."
        return self.section("## The dense product", text, ["process", *(f"d = {each:g}" for each in densities)], rows)

    def ways(self) -> list[str]:
        """How the fastest results of other libraries were made."""
        found = [each for each in self.results.results if "way" in each]
        counts: dict[tuple[str, str], list[int]] = {}
        for each in found:
            counts.setdefault((each["library"], each["way"]), []).append(each["case"]["block"])
        rows = [[NAMES[library], way, str(len(blocks)), ", ".join(map(str, ordered(blocks)[::-1]))]
                for library in libraries_of(found)
                for (other, way), blocks in sorted(counts.items()) if other == library]  # fmt: skip
        return self.section(
            "## How other libraries were called", "The fastest of several ways counts: orders of memory, types, and "
            "tiles of the Triton kernel, which is `bench/suite/triton_spmm.py`. cuSPARSE's Blocked-ELL pads each block "
            "row to the longest one. torch has no tuned parameters for some sizes, which it says as it runs.",
            ["library", "fastest way", "cases", "blocks"], rows)  # fmt: skip

    def masks(self) -> list[str]:
        cells: dict[tuple[str, int, float, str], dict[str, Record]] = {}
        for each in self.results.where(layouts="kn_mn", dtype="bf16"):
            case = each["case"]
            key = (case["mask"], case["block"], case["density"], " x ".join(map(str, case["size"])))
            cells.setdefault(key, {})[each["library"]] = each
        # Uniform masks have a section of their own; here they stand beside others.
        skewed = {key[1:] for key in cells if key[0] not in ("random", "uniform") and ("random", *key[1:]) in cells}
        kept = {key: each for key, each in cells.items() if key[1:] in skewed}
        names = libraries_of(record for key, each in kept.items() if key[0] != "random" for record in each.values())
        rows = []
        for key, each in kept.items():
            random = kept["random", *key[1:]]
            rows.append([key[0], f"{key[1]} x {key[1]}", f"{key[2]:.3g}", key[3],
                         *(f"{each[name]['tflops']:.0f} ({each[name]['tflops'] / random[name]['tflops']:.2f})"
                           if name in each and name in random else "" for name in names)])  # fmt: skip
        if not rows:
            return []
        counted = [key[1:] for key, each in kept.items() if "sparsec" in each]
        parts = [
            "## Skewed masks",
            "Masks of `sparsec-mask`; `sparsec-bench --help` says what each kind is. A mask with the name of a file "
            "is a matrix of DLMC, each of whose nonzeros is a block. Useful TFLOP/s and, in brackets, the ratio to the "
            "random mask of the same density.",
        ]
        if counted:
            block, density, size = max(counted, key=counted.count)
            chosen = {key[0]: each["sparsec"] for key, each in kept.items()
                      if key[1:] == (block, density, size) and "sparsec" in each}  # fmt: skip
            title = f"sparsec on skewed masks, blocks of {block} x {block}, {self.results.gpu}"
            bars = [self.bar(name, record, chosen["random"]) for name, record in chosen.items()]
            stored = f"{density:.0%} of the blocks stored"
            notes = self.notes(f"M x K x N = {size}, bf16, {stored}; thin lines are quartiles")
            notes.insert(1, "in brackets: the ratio to the random mask of the same density")
            chart = bar_chart(title, "useful TFLOP/s (only stored blocks count)", bars, notes,
                              dense_line(chosen.values()))  # fmt: skip
            parts.append(self.picture("masks", title, chart))
        return [*parts, table(["mask", "block", "density", "M x K x N", *(NAMES[name] for name in names)], rows)]

    def bar(self, name: str, record: Record, random: Record) -> Bar:
        """Of useful TFLOP/s, with the quartiles of the time as its range, and the ratio to the random mask."""
        speed, median = record["tflops"], record["median_ms"]
        low, high = record["quartiles_ms"]
        label = f"{speed:.0f} ({speed / random['tflops']:.2f})"
        return Bar(name, speed, speed * median / high, speed * median / low, label, record is random)

    def rows(self) -> list[str]:
        found = self.results.where(mask="uniform", size=CUBE, layouts="kn_mn", dtype="bf16")
        cells: dict[tuple[int, int], dict[str, Record]] = {}
        for each in found:
            count = round(each["case"]["density"] * CUBE[1] / each["case"]["block"])
            cells.setdefault((each["case"]["block"], count), {})[each["library"]] = each
        names = libraries_of(found)
        rows = [[f"{block} x {block}", str(count), f"{count * block / CUBE[1]:.4g}",
                 *(rate(cells[block, count].get(name)) for name in names)]
                for block, count in sorted(cells, key=lambda key: (-key[0], key[1]))]  # fmt: skip
        return self.section(
            "## Blocks a row", "M = K = N = 8192 in bf16, as many stored blocks in every block row, in random columns. "
            "Useful TFLOP/s and, in brackets, the speed-up over the dense product.",
            ["block", "blocks a row", "density", *(NAMES[name] for name in names)], rows)  # fmt: skip

    def section(self, title: str, text: str, columns: Sequence[str], rows: list[list[str]]) -> list[str]:
        """A section with a table, or nothing without rows."""
        return [title, text, table(columns, rows)] if rows else []

    def over(self, name: str, axis: int, title: str, x_name: str, fixed: str) -> list[str]:
        """A section about one of M, K and N of products with 10 % of the blocks: a chart of sparsec beside the dense
        product, and a table of all libraries. `fixed` says what the products have in common."""
        found = self.results.where(mask="random", density=0.1, layouts="kn_mn", dtype="bf16")
        cells: dict[tuple[int, str], dict[int, Record]] = {}
        for each in found:
            height, depth, width = each["case"]["size"]
            if each["dense_ms"] and height == depth and (width == 4096 if axis == 0 else height == CUBE[0]):
                cells.setdefault((each["case"]["block"], each["library"]), {})[each["case"]["size"][axis]] = each
        # Other sections have cases that are here by chance: blocks with one position.
        blocks = [block for block in ordered(block for block, _ in cells)[::-1]
                  if max(len(each) for key, each in cells.items() if key[0] == block) > 1]  # fmt: skip
        if not blocks:
            return []
        kept = [(block, library) for block in blocks for library in NAMES if (block, library) in cells]
        positions = ordered(position for key in kept for position in cells[key])
        lines = [Line(f"sparsec, blocks of {key[0]}", [(x, speedup(each)) for x, each in sorted(cells[key].items())])
                 for key in kept if key[1] == "sparsec"]  # fmt: skip
        rows = [[f"{block} x {block}", NAMES[library],
                       *(rate(cells[block, library].get(position)) for position in positions)]
                      for block, library in kept]  # fmt: skip
        title = f"Speed-up of {title}, {self.results.gpu}"
        text = f"{fixed}, bf16, 10 % of the blocks stored, random masks"
        chart = line_chart(title, x_name, SPEEDUP, lines, DENSE, self.notes(f"{text}; {HIGHER}"), log_y=True)
        return [f"## {name.capitalize()}", f"{text}. {CELLS}", self.picture(name, title, chart),
                table(["block", "library", *(str(each) for each in positions)], rows)]  # fmt: skip

    def sizes(self) -> list[str]:
        return self.over(
            "sizes", 0, "sparsec over dense products by the size of W", "M = K: rows and columns of W", "N = 4096"
        )

    def widths(self) -> list[str]:
        return self.over(
            "widths", 2, "sparsec over dense products by the width of X", "N: columns of X", "M = K = 8192"
        )

    def types(self) -> list[str]:
        found = self.results.where(library="sparsec", size=CUBE, mask="random", layouts="nk_nm")
        return self.by_kind("## Types", "sparsec with y = x Wᵀ, M = K = N = 8192, random masks. f8E4M3FN has results "
                            "in bf16 and sums of two levels; its dense product is that of cublasLt in fp8. Useful "
                            "TFLOP/s and, in brackets, the ratio to those of the dense product.",
                            ("type", "dtype"), {}, found)  # fmt: skip

    def by_kind(self, title: str, text: str, of: tuple[str, str], names: dict[str, str],
                found: Sequence[Record]) -> list[str]:  # fmt: skip
        """A table with a row for each block size and value of a property, given as the title of its column and the key
        in a case. Nothing where there is one value."""
        column, key = of
        found = [each for each in found if each["case"]["density"] == round(each["case"]["density"], 3)]
        densities = ordered(each["case"]["density"] for each in found)[::-1]
        cells = {(each["case"][key], each["case"]["block"], each["case"]["density"]): each for each in found}
        if len({kind for kind, _, _ in cells}) < 2:
            return []
        rows = []
        for kind, block in sorted({(kind, block) for kind, block, _ in cells}, key=lambda row: (-row[1], row[0])):
            values = [cells.get((kind, block, density)) for density in densities]
            rows.append(
                [
                    f"{block} x {block}",
                    names.get(kind, kind),
                    *(f"{each['tflops']:.0f} ({share(each):.2f})" if each else "" for each in values),
                ]
            )
        return self.section(title, text, ["block", column, *(f"d = {density:.4g}" for density in densities)], rows)

    def counters(self) -> list[str]:
        def cell(record: Record, name: str, factor: float, form: str) -> str:
            value = record["counters"].get(name)
            return "" if value is None else format(value * factor, form)

        found = sorted(self.results.counters, key=lambda each: (-each["case"]["block"], -each["case"]["density"]))
        columns = ["", *(f"{each['case']['block']}-blocks, d = {each['case']['density']:.4g}" for each in found)]
        rows = [["kernel", *(f"`{each['counters']['kernel'].split('(')[0]}`" for each in found)],
                ["CTAs", *(each["counters"]["grid"].strip("()").replace(", 1", "") for each in found)],
                ["threads a CTA", *(each["counters"]["cta"].strip("()").replace(", 1", "") for each in found)],
                *([title, *(cell(each, name, factor, form) for each in found)]
                  for title, name, factor, form in COUNTERS)]  # fmt: skip
        return self.section(
            "## Hardware counters", "Counts of one launch by Nsight Compute, with clocks as they are "
            "(`--clock-control none`) and flushed caches. Percentages are of the peak, over the time of the kernel; "
            "the occupancy is over the cycles in which an SM has work.", columns, rows if found else [])  # fmt: skip

    def spread(self) -> list[str]:
        rows = []
        for name in libraries_of(self.results.results):
            widths = sorted((each["quartiles_ms"][1] - each["quartiles_ms"][0]) / each["median_ms"]
                            for each in self.results.where(library=name))  # fmt: skip
            rows.append([NAMES[name], str(len(widths)), f"{statistics.median(widths):.1%}", f"{widths[-1]:.1%}"])
        return self.section("## Spread", "The distance between the quartiles of the times of a case, in proportion to "
                            "its median.", ["library", "cases", "median", "largest"], rows)  # fmt: skip

    def failures(self) -> list[str]:
        groups: dict[tuple[str, str], list[Record]] = {}
        for each in self.results.failures:
            groups.setdefault((each["library"], each["failure"]), []).append(each)
        rows = [[NAMES.get(library, library), str(len(cases)), f"`{cases[0]['key']}`",
                 message.replace("|", "\\|").replace("<", "\\<")]
                for (library, message), cases in sorted(groups.items())]  # fmt: skip
        title = "## What did not run"
        count = len(self.results.results) + len(self.results.counters)
        cases = [title, f"{count} cases were measured, and none failed."]
        if rows:
            cases = self.section(title, "Cases that a library refused or got wrong, in its own words.",
                                 ["library", "cases", "one of them", "message"], rows)  # fmt: skip
        return cases + self.refused()

    def refused(self) -> list[str]:
        """Ways that gave no right result in cases where another one did."""
        counts: dict[tuple[str, str, str], int] = {}
        for each in self.results.results:
            for text in each.get("refused", ()):
                way, _, message = text.partition(": ")
                reason = "a wrong result" if message.startswith(WRONG) else f"`{message.partition(':')[0]}`"
                counts[each["library"], way, reason] = counts.get((each["library"], way, reason), 0) + 1
        rows = [[NAMES[library], way, str(count), reason] for (library, way, reason), count in sorted(counts.items())]
        if not rows:
            return []
        return ["In these cases one of several ways to call a library gave no right result, and another one counts.",
                table(["library", "way", "cases", "why"], rows)]  # fmt: skip


def write(report: Report, docs: Path, *, draw_png: bool) -> None:
    """Writes the page and its pictures, and removes pictures that it no longer has."""
    folder = docs / PICTURES
    folder.mkdir(parents=True, exist_ok=True)
    (docs / "performance.md").write_text(report.markdown(), encoding="utf-8")
    for path in folder.iterdir():
        if path.stem not in report.pictures:
            path.unlink()
    for name, svg in report.pictures.items():
        pictures.write(folder, name, svg, draw_png=draw_png)


def report_of(file: Path) -> Report:
    name = file.resolve().relative_to(REPOSITORY) if file.resolve().is_relative_to(REPOSITORY) else Path(file.name)
    return Report(Results(file.read_text(encoding="utf-8").splitlines()), str(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="a file of measure.py")
    parser.add_argument("--docs", type=Path, default=REPOSITORY / "docs", help="where to write (default: docs)")
    parser.add_argument("--no-png", action="store_true", help="writes SVG pictures only")
    options = parser.parse_args()
    file = options.results or newest(REPOSITORY / "bench" / "results")
    if not file:
        sys.exit("there is no file bench/results/*/*-suite.jsonl")
    write(report_of(file), options.docs, draw_png=not options.no_png)


if __name__ == "__main__":
    main()
