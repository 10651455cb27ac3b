#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the results of sparsec-bench --json: speed over density, one line a block, one panel a layout and target.

Without matplotlib it prints the same numbers as a table.
"""
import argparse
import collections
import json
import pathlib
import sys


def load(path, choice):
    """{(layouts, target): {block: [(density, TFLOP/s, ratio)]}}: the fastest correct kernel of every case of the first
    size with random masks."""
    report = json.loads(path.read_text())
    best = {}
    for row in report["rows"]:
        measurement = row[choice]
        if row.get("size", report["size"]) != report["size"] or row.get("mask", "random") != "random":
            continue
        if not measurement or measurement["error"]:
            continue
        key = (row["layouts"], row["target"], tuple(row["block"]), row["density"])
        if key not in best or measurement["tflops"] > best[key]["tflops"]:
            best[key] = measurement
    panels = collections.defaultdict(lambda: collections.defaultdict(list))
    for (layouts, target, block, density), measurement in sorted(best.items()):
        panels[layouts, target][block].append((density, measurement["tflops"], measurement["dense_ratio"]))
    return report, panels


def dense_rate(report):
    """TFLOP/s of the row-major dense product, or None."""
    rates = [rate for row in report["dense"]
             if row["layouts"] == "kn_mn" and row.get("size", report["size"]) == report["size"]
             for rate in (row["before_tflops"], row["after_tflops"])]
    return sum(rates) / len(rates) if rates else None


def print_table(panels):
    for (layouts, target), blocks in sorted(panels.items()):
        print(f"{target} {layouts}")
        for block, points in sorted(blocks.items(), reverse=True):
            cells = "  ".join(f"d={density:g}: {rate:.0f} ({ratio:.2f})" for density, rate, ratio in reversed(points))
            print(f"  {block[0]:>3}x{block[1]:<3}  {cells}")


def draw(report, panels, out):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(panels), figsize=(5.5 * len(panels), 4.5), squeeze=False, sharey=True)
    dense = dense_rate(report)
    for axis, ((layouts, target), blocks) in zip(axes[0], sorted(panels.items())):
        for block, points in sorted(blocks.items(), reverse=True):
            axis.plot([point[0] for point in points], [point[1] for point in points], marker="o",
                      label=f"{block[0]}x{block[1]}")
        if dense:
            axis.axhline(dense, color="gray", linestyle="--", label="cuBLAS dense")
        axis.set(title=f"{target}, {layouts}", xlabel="density (fraction of blocks)", xscale="log")
        axis.grid(True, alpha=0.3)
        axis.legend()
    axes[0][0].set(ylabel="useful TFLOP/s", ylim=(0, None))
    size = " x ".join(map(str, report["size"]))
    figure.suptitle(f"{report['device']}, {size} (M x K x N), bf16")
    figure.tight_layout()
    figure.savefig(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, help="file written by sparsec-bench --json")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("spmm.svg"), help="picture (svg, png, pdf)")
    parser.add_argument("--without-plans", action="store_true", help="draw the launches without a plan")
    options = parser.parse_args()
    report, panels = load(options.results, "unplanned" if options.without_plans else "planned")
    if not panels:
        sys.exit(f"{options.results}: no correct result")
    print_table(panels)
    try:
        draw(report, panels, options.out)
    except ImportError:
        print("no picture: matplotlib is not installed")


if __name__ == "__main__":
    main()
