# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pictures that bench/plot_sweep.py makes of what sparsec-tune measured."""

import hashlib
from pathlib import Path
from xml.etree import ElementTree

import pictures
import plot_sweep

REPOSITORY = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["mma_sync cp_async 32x512x32 stages 3 consumers 1x4 group_m 128 ctas_per_sm 2",
         "mma_sync cp_async 32x256x32 stages 4 consumers 1x8 group_m 64"]  # fmt: skip


def picture(*predicted):
    points = [
        plot_sweep.point_of({"name": name, "teraflops": 100 - index, "predicted": predicted[index]})
        for index, name in enumerate(NAMES)
    ]
    return plot_sweep.picture_of(plot_sweep.Panel("spmm bf16 32x32\ndensity 0.25, a GPU", "spmm-0.25", points))


def test_the_best_and_the_choice_have_rings():
    for predicted, place_count in (((2, 1), 1), ((1, 2), 2)):
        root = ElementTree.fromstring(picture(*predicted))
        words = {element.text for element in root.iter(f"{SVG}text")}
        assert {"Schedules of spmm bf16 32x32", "density 0.25, a GPU; 2 schedules", f"the best: {NAMES[0]}",
                "32x512x32", "32x256x32", "3 stages", "4 stages", "1x4 consumers, 2 CTAs", "1x8 consumers",
                "the model's choice", "the best", "5 % below the best"} <= words  # fmt: skip
        rings = [ring for ring in root.iter(f"{SVG}circle") if ring.get("stroke") and ring.get("cy") != "0.0"]
        assert len(rings) == 2
        assert len({(ring.get("cx"), ring.get("cy")) for ring in rings}) == place_count


def test_the_pictures_are_those_of_the_results():
    panels = {}
    for file in sorted((REPOSITORY / "bench" / "results").glob("*/*-sweeps.jsonl")):
        panels.update({panel.name: panel for panel in plot_sweep.load(file)})
    folder = REPOSITORY / "docs" / "images" / "sweeps"
    drawn = {path.stem for path in folder.iterdir()}
    assert drawn
    assert {path.name for path in folder.iterdir()} == {f"{name}.{kind}" for name in drawn for kind in ("svg", "png")}
    page = (REPOSITORY / "docs" / "pipeline.md").read_text()
    for name in drawn:
        svg = plot_sweep.picture_of(panels[name])
        assert (folder / f"{name}.svg").read_text() == svg, "bench/plot_sweep.py draws another picture"
        digest = hashlib.sha256(svg.encode()).hexdigest()
        assert pictures.source_of_png((folder / f"{name}.png").read_bytes()) == digest
        assert f"(images/sweeps/{name}.svg)" in page
