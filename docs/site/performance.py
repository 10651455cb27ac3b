# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the performance page from the results in bench/results: the newest file of each series."""

import json
import re
import sys
from pathlib import Path

from sparsec.charts import Line, line_chart

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

import plot

_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-(.+))?")
_LAYOUTS = {"kn_mn": "X as K x N, Y as M x N", "nk_nm": "y = x Wᵀ: X as N x K, Y as N x M"}
_GROUPS = {
    "table": "By density",
    "regions": "Score and mask regions",
    "patterns": "Patterns",
    "gqa": "Grouped-query attention",
    "small": "Short sequences",
    "errors": "Errors against float64",
    "sm_89": "The sm_89 kernels",
}
_BASELINES = {"cudnn": "cuDNN", "none": "the kernel without the region", "full": "the same blocks, full"}
_PLANS = {"with": "with plans for the lists", "sizes": "with plans for the sizes alone", "without": "without plans"}


def newest(results):
    """{(machine, series): path}: the newest file of each series of each machine, such as h200, attention."""
    found = {}
    for path in sorted(results.glob("*/*.json")):
        match = _NAME.fullmatch(path.stem)
        if match is None:
            raise ValueError(f"{path}: expects a name that begins with a date")
        found[path.parent.name, match[2] or ""] = path
    return dict(sorted(found.items()))


def table(columns, rows):
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def products(path, folder, name):
    """The section of a file of sparsec-bench, and its charts, written to `folder`."""
    report, panels = plot.load(path, "planned")
    size = " x ".join(map(str, report["size"]))
    parts = [
        f"M x K x N = {size} in bf16, random masks. Useful TFLOP/s, which count stored blocks only, and in brackets "
        "the ratio to the row-major dense product of cuBLAS in the same process."
    ]
    for (layouts, target), blocks in sorted(panels.items()):
        densities = sorted({point[0] for points in blocks.values() for point in points}, reverse=True)
        rows, lines = [], []
        for block, points in sorted(blocks.items(), reverse=True):
            cells = {density: f"{rate:.0f} ({ratio:.2f})" for density, rate, ratio in points}
            title = f"{block[0]} x {block[1]}"
            rows.append([title, *(cells.get(density, "") for density in densities)])
            lines.append(Line(title, [(density, rate) for density, rate, _ in points]))
        title = f"{target}, {_LAYOUTS[layouts]}"
        dense = plot.dense_rate(report)
        chart = line_chart(f"{report['device']}, {title}", "density", "useful TFLOP/s", lines,
                           ("cuBLAS dense", dense) if dense else None)  # fmt: skip
        picture = f"{name}-{target}-{layouts}.svg"
        (folder / picture).write_text(chart, encoding="utf-8")
        parts += [f"### {title}", f"![Speed over density: {title}]({picture})",
                  table(["block", *(f"d = {density:g}" for density in densities)], rows)]  # fmt: skip
    return "\n\n".join(parts)


def attention(path):
    """The section of a file of bench/attention/measure.py."""
    report = json.loads(path.read_text(encoding="utf-8"))
    parts = [
        f"PyTorch {report['torch']}, cuDNN {report['cudnn']}, {_PLANS[report['plan']]}. TFLOP/s count visible blocks "
        "only. The last column is their ratio to the TFLOP/s of the baseline in the same process."
    ]
    groups = {}
    for case in report["cases"]:
        groups.setdefault(case["group"], []).append(case)
    for group, cases in groups.items():
        parts += [f"### {_GROUPS.get(group, group)}", errors(cases) if group == "errors" else speeds(cases)]
    return "\n\n".join(parts)


def speeds(cases):
    """The table of the times of attention."""
    rows = [
        [case["case"], f"{case['milliseconds']:.3f}", f"{case['tflops']:.0f}", _BASELINES.get(case["baseline"],
         case["baseline"]), f"{case['baseline_milliseconds']:.3f}", f"{case['ratio']:.2f}"]
        for case in cases
    ]  # fmt: skip
    return table(["case", "ms", "TFLOP/s", "baseline", "its ms", "ratio"], rows)


def errors(cases):
    """The table of the errors of attention."""
    rows = [
        [case["case"], f"{case['error']['max']:.1e}", f"{case['error']['relative']:.3%}",
         f"{case['cudnn_error']['relative']:.3%}"]
        for case in cases
    ]  # fmt: skip
    return table(["case", "largest error", "root-mean-square error", "that of cuDNN"], rows)


def write_page(results, folder):
    """Writes performance.md and its charts into a folder."""
    parts = [
        "# Performance",
        "These are the newest results of each benchmark of the project. "
        "[The experiments](bench/NOTES.md) tell how they came about, and the README has the commands. "
        "`python -m sparsec bench` measures on your machine.",
    ]
    for (machine, series), path in newest(results).items():
        report = json.loads(path.read_text(encoding="utf-8"))
        kind = "Products" if "rows" in report else "Attention"
        date = _NAME.fullmatch(path.stem)[1]
        suffix = f" ({series.replace('-', ' ')})" if series not in ("", "attention") else ""
        parts.append(f"## {kind} on {report['device']}{suffix}, {date}")
        name = "-".join(filter(None, ("performance", machine, series)))
        parts.append(products(path, folder, name) if "rows" in report else attention(path))
    (folder / "performance.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
