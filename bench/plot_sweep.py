#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the sweep that sparsec-tune has measured: the speed of every schedule, one panel a pattern.

A panel has the tiles side by side, the best one first. Colours are stages, markers are clusters, consumers (warpgroups
with wgmma, warps with mma_sync) and CTAs on a multiprocessor. A ring is around the choice of the cost model. Without
matplotlib the best schedule of each tile is printed alone.
"""
import argparse
import dataclasses
import json
import pathlib
import re
import sys

NAME = re.compile(r"\w+ \w+ (?P<tile>\d+x\d+x\d+) stages (?P<stages>\d+) consumers (?P<consumers>\d+x\d+)"
                  r"(?: cluster (?P<cluster>\d+))?(?:.* ctas_per_sm (?P<ctas>\d+))?")
MARKERS = "os^Dv<>PX*hp"


@dataclasses.dataclass(frozen=True)
class Point:
    """A schedule with its speed."""

    name: str
    tile: str
    stages: int
    roles: str  # the consumers, the cluster and the CTAs on a multiprocessor
    teraflops: float
    predicted: float


@dataclasses.dataclass
class Panel:
    """The points of one pattern, the fastest first."""

    title: str
    points: list[Point]

    @property
    def best(self):
        return self.points[0]

    @property
    def choice(self):
        """That of the cost model; of several that it predicts to be as fast, the one with the most stages."""
        return max(self.points, key=lambda point: (point.predicted, point.stages))

    @property
    def tiles(self):
        return list(dict.fromkeys(point.tile for point in self.points))


def point_of(row):
    match = NAME.match(row["name"])
    if not match:
        raise ValueError(f"expects the description of a schedule, but got '{row['name']}'")
    roles = f"{match['consumers']} consumers"
    if match["cluster"]:
        roles += f", cluster {match['cluster']}"
    if match["ctas"]:
        roles += f", {match['ctas']} CTAs"
    return Point(row["name"], match["tile"], int(match["stages"]), roles, row["teraflops"], row["predicted"])


def load(path):
    """The panels of a file, by rising density. Schedules with a wrong result are left out."""
    panels = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row["error"]:
            continue
        key = (row["problem"], row["density"], row["pattern"], row["columns"], row["device"])
        title = (f"{row['problem']}\ndensity {row['density']:.3g}, {row['rows']} x {row['depth']} x {row['columns']}, "
                 f"{row['device']}")
        panels.setdefault(key, Panel(title, [])).points.append(point_of(row))
    for panel in panels.values():
        panel.points.sort(key=lambda point: -point.teraflops)
    return [panels[key] for key in sorted(panels)]


def print_table(panels):
    for panel in panels:
        print(panel.title)
        for tile in panel.tiles:
            best = next(point for point in panel.points if point.tile == tile)
            print(f"  {best.teraflops:8.1f} TFLOP/s ({best.teraflops / panel.best.teraflops:.3f})  {best.name}")
        print(f"  the model's choice: {panel.choice.teraflops / panel.best.teraflops:.3f} of the best speed")


def draw(panels, outputs):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.lines import Line2D
    stages = sorted({point.stages for panel in panels for point in panel.points})
    roles = sorted({point.roles for panel in panels for point in panel.points})
    colors = {count: pyplot.get_cmap("viridis")(index / max(len(stages) - 1, 1)) for index, count in enumerate(stages)}
    markers = {role: MARKERS[index % len(MARKERS)] for index, role in enumerate(roles)}
    widest = max(len(panel.tiles) for panel in panels)
    figure, axes = pyplot.subplots(len(panels), 1, figsize=(4.2 + 0.8 * widest, 3.4 * len(panels)), squeeze=False)
    for axis, panel in zip(axes[:, 0], panels):
        places = {tile: index for index, tile in enumerate(panel.tiles)}
        for point in panel.points:
            # Side by side within their tile, so that equal speeds are seen.
            place = places[point.tile] + (stages.index(point.stages) / max(len(stages) - 1, 1) - 0.5) * 0.6
            axis.scatter(place, point.teraflops, s=28, color=colors[point.stages], marker=markers[point.roles])
            if point == panel.choice:
                axis.scatter(place, point.teraflops, s=160, facecolors="none", edgecolors="crimson", linewidths=1.5)
        axis.axhline(panel.best.teraflops * 0.95, color="gray", linestyle=":", linewidth=1)
        axis.set_xticks(range(len(panel.tiles)), panel.tiles, rotation=20)
        axis.set_title(panel.title, fontsize=9)
        axis.set(ylabel="useful TFLOP/s", ylim=(0, None))
        axis.grid(True, axis="y", alpha=0.3)
    shapes = [Line2D([], [], linestyle="", marker=markers[role], color="black", label=role) for role in roles]
    shades = [Line2D([], [], linestyle="", marker="o", color=colors[count], label=f"{count} stages")
              for count in stages]
    rest = [Line2D([], [], linestyle="", marker="o", markersize=11, markerfacecolor="none", markeredgecolor="crimson",
                   label="the model's choice"),
            Line2D([], [], linestyle=":", color="gray", label="5 % below the best")]
    figure.legend(handles=shapes + shades + rest, loc="center right", fontsize=8)
    figure.tight_layout(rect=(0, 0, 1 - 2.6 / (4.2 + 0.8 * widest), 1))
    for output in outputs:
        figure.savefig(output)
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=pathlib.Path, help="measurements.jsonl of the work folder of sparsec-tune")
    parser.add_argument("--out", type=pathlib.Path, nargs="+", default=[pathlib.Path("sweep.svg"),
                        pathlib.Path("sweep.png")], help="pictures (svg, png, pdf; default sweep.svg sweep.png)")
    options = parser.parse_args()
    panels = load(options.measurements)
    if not panels:
        sys.exit(f"{options.measurements}: no correct result")
    print_table(panels)
    try:
        draw(panels, options.out)
    except ImportError:
        print("no picture: matplotlib is not installed")


if __name__ == "__main__":
    main()
