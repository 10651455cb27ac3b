# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Charts of measurements."""

import re
from xml.etree import ElementTree

import pytest

from sparsec.charts import Bar, Dot, Line, bar_chart, dot_chart, line_chart, log_ticks, ticks

SVG = "{http://www.w3.org/2000/svg}"


def texts(chart):
    return [element.text for element in ElementTree.fromstring(chart).iter(f"{SVG}text")]


@pytest.mark.parametrize(("most", "expected"), [
    (10, [0, 2, 4, 6, 8, 10]), (0.9, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (782, [0, 200, 400, 600, 800]), (0, [0, 1]),
])  # fmt: skip
def test_ticks_are_round(most, expected):
    assert ticks(most) == pytest.approx(expected)


@pytest.mark.parametrize(("least", "most", "expected"), [
    (0.3, 7, [0.2, 0.5, 1, 2, 5, 10]), (1, 2, [1, 2]), (5, 5, [5, 10]), (12, 90, [10, 20, 50, 100]),
])  # fmt: skip
def test_logarithmic_ticks(least, most, expected):
    assert log_ticks(least, most) == pytest.approx(expected)


def test_bars_have_lengths_of_their_values():
    chart = bar_chart("A <title>", "ms", [Bar("one", 2, 1, 4, "2 ms", True), Bar("two", 4, 4, 4, "4 ms")], ["a note"])
    assert [text for text in texts(chart) if not text[0].isdigit()] == ["A <title>", "ms", "one", "two", "a note"]
    root = ElementTree.fromstring(chart)
    bars = [element for element in root.iter(f"{SVG}rect") if element.get("height") == "16"]
    widths = [float(bar.get("width")) for bar in bars]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)
    assert bars[0].get("fill") != bars[1].get("fill")
    spread = next(path.get("d") for path in root.iter(f"{SVG}path") if "H" in path.get("d"))
    least, most = (float(number) for number in re.match(r"M([\d.]+) [\d.]+H([\d.]+)", spread).groups())
    assert most - least == pytest.approx(1.5 * widths[0], abs=0.2)
    assert not [path for path in root.iter(f"{SVG}path") if path.get("stroke-dasharray")]
    right = float(root.get("width"))
    assert all(float(bar.get("x")) + float(bar.get("width")) < right for bar in bars)


def test_reference_of_bars():
    chart = bar_chart("t", "ms", [Bar("one", 2, 2, 2, "2 ms")], (), ("dense", 4))
    assert "dense 4" in texts(chart)
    root = ElementTree.fromstring(chart)
    bar = next(element for element in root.iter(f"{SVG}rect") if element.get("height") == "16")
    left, width = float(bar.get("x")), float(bar.get("width"))
    dashed = next(path.get("d") for path in root.iter(f"{SVG}path") if path.get("stroke-dasharray"))
    assert float(re.match(r"M([\d.]+)", dashed)[1]) == pytest.approx(left + 2 * width, abs=0.1)
    # The label stands on a ground of its own.
    ground = next(element for element in root.iter(f"{SVG}rect") if element.get("height") == "18")
    label = next(text for text in root.iter(f"{SVG}text") if text.text == "2 ms")
    assert float(ground.get("x")) < float(label.get("x")) < float(ground.get("x")) + float(ground.get("width"))


def test_lines_are_at_their_values():
    lines = [Line("a", [(0.1, 100), (1, 400)]), Line("b", [(0.1, 0)])]
    chart = line_chart("t", "density", "speed", lines, ("dense", 200))
    assert {"t", "density", "speed", "a", "b", "dense", "0.1", "1", "400"} <= set(texts(chart))
    root = ElementTree.fromstring(chart)
    path = next(path.get("d") for path in root.iter(f"{SVG}path") if path.get("stroke-width") == "2")
    (x0, y0), (x1, y1) = (map(float, point.split()) for point in path[1:].split("L"))
    assert x0 < x1
    dashed = next(path.get("d") for path in root.iter(f"{SVG}path") if path.get("stroke-dasharray"))
    reference = float(re.match(r"M[\d.]+ ([\d.]+)", dashed)[1])
    assert (reference - y1) / (y0 - y1) == pytest.approx(2 / 3, abs=0.01)
    markers = {group[0].get("d") or group[0].tag for group in root.iter(f"{SVG}g")}
    assert len(markers) == 2
    assert "dense" not in texts(line_chart("t", "x", "y", [Line("a", [(2, 0)])]))


def test_logarithmic_lines():
    chart = line_chart("t", "density", "speed-up", [Line("a", [(0.1, 10), (1, 1)])], ("dense", 1), log_y=True)
    root = ElementTree.fromstring(chart)
    path = next(path.get("d") for path in root.iter(f"{SVG}path") if path.get("stroke-width") == "2")
    (_, top), (_, bottom) = (map(float, point.split()) for point in path[1:].split("L"))
    heights = {
        text.text: float(text.get("y")) - 4 for text in root.iter(f"{SVG}text") if text.get("text-anchor") == "end"
    }
    assert set(heights) == {"1", "2", "5", "10"}
    assert (heights["1"], heights["10"]) == pytest.approx((bottom, top), abs=0.1)
    assert heights["1"] - heights["2"] == pytest.approx(heights["5"] - heights["10"], abs=0.2)


def test_numbers_below_the_axis_do_not_overlap():
    points = [(x, 1) for x in (0.1, 0.7, 0.72, 0.9, 0.98, 1)]
    below = texts(line_chart("t", "density", "speed", [Line("a", points)]))
    assert {"0.1", "0.72", "1"} <= set(below)
    assert not {"0.7", "0.98"} & set(below)


def test_lines_have_notes_and_room_for_the_title():
    chart = line_chart("title " * 40, "x", "y", [Line("a", [(1, 1)])], notes=["first", "second"])
    assert texts(chart)[-2:] == ["first", "second"]
    root = ElementTree.fromstring(chart)
    notes = [float(text.get("y")) for text in root.iter(f"{SVG}text") if text.text in ("first", "second")]
    assert max(notes) < float(root.get("height"))
    assert float(root.get("width")) > 7 * len("title " * 40)


def test_dots_are_in_their_columns_and_at_their_values():
    dots = [Dot("one", 100, "2", "square", ["best"]), Dot("two", 50, "3", "round"), Dot("two", 25, "2", "round")]
    chart = dot_chart("t", "tile", "speed", dots, ["2", "3"], ("less", 80), ["a note"])
    words = {"t", "tile", "speed", "one", "two", "2", "3", "square", "round", "best", "less", "a note"}
    assert words <= set(texts(chart))
    root = ElementTree.fromstring(chart)
    groups = [(group.get("transform"), group) for group in root.iter(f"{SVG}g") if group.get("fill")]
    places = [tuple(map(float, re.findall(r"[\d.]+", place))) for place, _ in groups[:3]]
    grid = sorted(float(path.get("d")[1:].split()[0]) for path in root.iter(f"{SVG}path") if "V" in path.get("d"))
    assert grid[0] < places[0][0] < grid[1] < places[2][0] < places[1][0], "shades from left to right"
    zero = 2 * places[1][1] - places[0][1]
    assert places[2][1] == pytest.approx((zero + places[1][1]) / 2, abs=0.2)
    assert groups[0][1].get("fill") == groups[2][1].get("fill") != groups[1][1].get("fill")
    assert groups[1][1][0].get("d") == groups[2][1][0].get("d") != groups[0][1][0].get("d")
    rings = [ring for ring in root.iter(f"{SVG}circle") if ring.get("stroke")]
    assert len(rings) == 2, "around the best one, and in the legend"
    assert (float(rings[0].get("cx")), float(rings[0].get("cy"))) == places[0]
    dashed = next(path.get("d") for path in root.iter(f"{SVG}path") if path.get("stroke-dasharray"))
    assert (zero - float(dashed.split()[1].split("h")[0])) / (zero - places[0][1]) == pytest.approx(0.8, abs=0.01)
