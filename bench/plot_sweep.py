#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the sweep that sparsec-tune has measured: the speed of every schedule, a picture for each problem and pattern.

A picture has the tiles side by side, the best one first. Colours are stages, markers are clusters, consumers
(warpgroups with wgmma, warps with mma_sync) and CTAs on a multiprocessor. One ring is around the best schedule, one
around the choice that the cost model made when the sweep was measured. PYTHONPATH has the package sparsec, and PNG
pictures need cairosvg.
"""
import argparse
import dataclasses
import json
import pathlib
import re
import sys

import pictures

NAME = re.compile(r"\w+ \w+ (?P<tile>\d+x\d+x\d+) stages (?P<stages>\d+) consumers (?P<consumers>\d+x\d+)"
                  r"(?: cluster (?P<cluster>\d+))?(?:.* ctas_per_sm (?P<ctas>\d+))?")


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
    name: str  # of its files
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
    """The panels of a file, by problem and rising density. Schedules with a wrong result are left out."""
    panels = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if row.get("error"):
            continue
        key = (row["problem"], row["density"], row["pattern"], row["columns"], row["device"])
        title = (f"{row['problem']}\ndensity {row['density']:.3g}, {row['rows']} x {row['depth']} x {row['columns']}, "
                 f"{row['device']}")
        name = re.sub(r"[^a-z0-9.]+", "-", f"{row['problem']} {row['pattern']}")
        panels.setdefault(key, Panel(title, name, [])).points.append(point_of(row))
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


def picture_of(panel):
    """The picture of a panel as SVG."""
    from sparsec.charts import Dot, dot_chart
    problem, setting = panel.title.splitlines()
    stages = sorted({point.stages for point in panel.points})
    dots = []
    for point in sorted(panel.points, key=lambda each: panel.tiles.index(each.tile)):
        marks = ["the model's choice"] if point == panel.choice else []
        marks += ["the best"] if point == panel.best else []
        dots.append(Dot(point.tile, point.teraflops, f"{point.stages} stages", point.roles, marks))
    notes = [f"{setting}; {len(panel.points)} schedules", f"the best: {panel.best.name}"]
    return dot_chart(f"Schedules of {problem}", "tile: M x N x K", "useful TFLOP/s", dots,
                     [f"{count} stages" for count in stages], ("5 % below the best", panel.best.teraflops * 0.95),
                     notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", type=pathlib.Path, help="measurements.jsonl of the work folder of sparsec-tune")
    parser.add_argument("--only", default="", help="only the pictures whose names match this regular expression")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(), help="folder for the pictures")
    parser.add_argument("--png", action="store_true", help="draws the pictures as PNG, too")
    options = parser.parse_args()
    panels = [panel for panel in load(options.measurements) if re.search(options.only, panel.name)]
    if not panels:
        sys.exit(f"{options.measurements}: no correct result")
    print_table(panels)
    try:
        import sparsec.charts  # noqa: F401
    except ImportError as error:
        sys.exit(f"no picture: {error}")
    options.out.mkdir(parents=True, exist_ok=True)
    for panel in panels:
        pictures.write(options.out, panel.name, picture_of(panel), draw_png=options.png)


if __name__ == "__main__":
    main()
