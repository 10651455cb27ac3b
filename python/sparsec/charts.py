# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Charts of measurements as SVG: bars with their spread, lines over a logarithmic axis, and dots in columns.

Series differ in the shape of their markers as well as in their colour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Bar", "Dot", "Line", "bar_chart", "dot_chart", "line_chart"]

_FONT = "font-family=\"system-ui, 'DejaVu Sans', sans-serif\""
_TEXT, _GRID = "#333", "#dde1e6"
_COLORS = ("#1b4f8a", "#e08214", "#5b8c5a", "#a23b72", "#6b6f76", "#2f9fb3")
_MARKERS = (
    '<circle r="4"/>',
    '<path d="M-4 -4h8v8h-8z"/>',
    '<path d="M0 -5l5 9h-10z"/>',
    '<path d="M0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z"/>',
    '<path d="M0 5l5 -9h-10z"/>',
    '<path d="M-5 -1.5h10v3h-10z"/>',
    '<path d="M-1.5 -5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z"/>',
    '<path d="M-5 -4.5h10l-10 9h10z"/>',
)
# These colours show an order, from its first value to the last one.
_SHADES = ("#440154", "#443983", "#31688e", "#21918c", "#35b779", "#90d743", "#d8c01c")
_RINGS = ("#d4213d", "#111")
_CHARACTER = 7  # width of a character of 12 pixels, at most


@dataclass(frozen=True)
class Bar:
    """A measurement: its median and the range of its samples. Emphasis is another colour."""

    name: str
    median: float
    least: float
    most: float
    label: str
    is_emphasised: bool = False


@dataclass(frozen=True)
class Line:
    """A series of points (x, y), by ascending x."""

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Dot:
    """A measurement in a column: a colour tells its shade, a marker its shape. Each mark is a ring around it."""

    column: str
    y: float
    shade: str
    shape: str
    marks: Sequence[str] = ()


def ticks(most: float, count: int = 5) -> list[float]:
    """Round numbers from 0 up to at least `most`, about `count` of them: 1, 2 or 5 times a power of ten apart."""
    if not most > 0:
        return [0.0, 1.0]
    rough = most / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [index * step for index in range(math.ceil(most / step - 1e-9) + 1)]


def log_ticks(least: float, most: float) -> list[float]:
    """1, 2 and 5 times powers of ten: those between two positive numbers, and the next ones beyond them."""
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    steps = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
    below = max([step for step in steps if step <= least * (1 + 1e-9)], default=steps[0])
    above = min([step for step in steps if step >= most * (1 - 1e-9)], default=steps[-1])
    return [step for step in steps if below <= step <= above] if below < above else [below, 2 * below]


def _apart(positions: Sequence[float], place: Callable[[float], float]) -> list[float]:
    """Those positions whose numbers do not overlap, from the last one on."""
    kept: list[float] = []
    for position in reversed(positions):
        if not kept or place(kept[-1]) - place(position) >= _CHARACTER * (len(_number(position)) + 1):
            kept.append(position)
    return kept[::-1]


def _number(value: float) -> str:
    return f"{value:.6g}"


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, extra: str = "") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_FONT} font-size="{size}" fill="{_TEXT}"{extra}>'
        f"{escape(text)}</text>"
    )


def _document(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
    )
    background = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", background, *parts]) + "\n</svg>\n"


def bar_chart(
    title: str,
    unit: str,
    bars: Sequence[Bar],
    notes: Sequence[str] = (),
    reference: tuple[str, float] | None = None,
) -> str:
    """A chart of horizontal bars, one below the other, as an SVG document.

    Args:
        title: the first line.
        unit: of the numbers, below the axis.
        bars: at least one.
        notes: lines below the chart.
        reference: the name and the value of a dashed line across the bars.
    """
    row, bar, top, plot = 30, 16, 62 if reference else 44, 420
    left = 24 + _CHARACTER * max(len(each.name) for each in bars)
    right = 24 + _CHARACTER * max(len(each.label) for each in bars)
    steps = ticks(max([each.most for each in bars] + ([reference[1]] if reference else [])))
    scale = plot / steps[-1]
    bottom = top + row * len(bars)
    above = f"{reference[0]} {_number(round(reference[1]))}" if reference else ""
    right = max(right, 16 + _CHARACTER * len(above) // 2)
    width = max(left + plot + right, *(32 + _CHARACTER * len(line) for line in (title, *notes)))
    parts = [_text(16, 24, title, size=14, extra=' font-weight="600"')]
    for value in steps:
        x = left + value * scale
        parts.append(f'<path d="M{x:.1f} {top}V{bottom}" stroke="{_GRID}"/>')
        parts.append(_text(x, bottom + 16, _number(value), anchor="middle"))
    parts.append(_text(left + plot / 2, bottom + 34, unit, anchor="middle"))
    labels: list[str] = []
    for index, each in enumerate(bars):
        middle = top + row * index + row / 2
        color = _COLORS[0] if each.is_emphasised else "#9aa5b1"
        parts.append(_text(left - 8, middle + 4, each.name, anchor="end"))
        parts.append(
            f'<rect x="{left}" y="{middle - bar / 2:.1f}" width="{each.median * scale:.1f}" height="{bar}" '
            f'fill="{color}"/>'
        )
        least, most = left + each.least * scale, left + each.most * scale
        parts.append(
            f'<path d="M{least:.1f} {middle:.1f}H{most:.1f}M{least:.1f} {middle - 4:.1f}v8'
            f'M{most:.1f} {middle - 4:.1f}v8" stroke="{_TEXT}" fill="none"/>'
        )
        x = max(most, left + each.median * scale) + 8
        # No line of the grid crosses a label.
        ground = f'<rect x="{x - 2:.1f}" y="{middle - 9:.1f}" width="{_CHARACTER * len(each.label) + 4}" height="18"'
        labels += [f'{ground} fill="#fff"/>', _text(x, middle + 4, each.label)]
    if reference:
        x = left + reference[1] * scale
        parts.append(f'<path d="M{x:.1f} {top - 6}V{bottom}" stroke="{_COLORS[4]}" stroke-dasharray="6 4"/>')
        parts.append(_text(x, top - 10, above, anchor="middle"))
    parts += labels
    parts += [_text(16, bottom + 58 + 18 * index, note) for index, note in enumerate(notes)]
    return _document(width, bottom + 50 + 18 * len(notes), title, parts)


def line_chart(
    title: str,
    x_name: str,
    y_name: str,
    lines: Sequence[Line],
    reference: tuple[str, float] | None = None,
    notes: Sequence[str] = (),
    *,
    log_y: bool = False,
) -> str:
    """A chart of lines over a logarithmic x axis, as an SVG document. The y axis begins at 0 or is logarithmic, too.

    Args:
        title: the first line.
        x_name, y_name: of the axes.
        lines: at least one, with at least one point; x is positive.
        reference: the name and the value of a dashed line.
        notes: lines below the chart.
        log_y: whether the y axis is logarithmic; y is then positive.
    """
    left, top, plot_width, plot_height = 64, 44, 440, 260
    positions = sorted({x for line in lines for x, _ in line.points})
    names = [line.name for line in lines] + ([reference[0]] if reference else [])
    heights = [y for line in lines for _, y in line.points] + ([reference[1]] if reference else [])
    steps = log_ticks(min(heights), max(heights)) if log_y else ticks(max(heights))
    low, high = math.log(positions[0]), math.log(positions[-1])
    width = max(left + plot_width + 56 + _CHARACTER * max(map(len, names)),
                *(32 + _CHARACTER * len(line) for line in (title, *notes)))  # fmt: skip
    bottom = top + plot_height

    def place(x: float, y: float) -> tuple[float, float]:
        share = (math.log(x) - low) / (high - low) if high > low else 0.5
        height = math.log(y / steps[0]) / math.log(steps[-1] / steps[0]) if log_y else y / steps[-1]
        return left + 12 + share * (plot_width - 24), bottom - height * plot_height

    parts = [_text(16, 24, title, size=14, extra=' font-weight="600"')]
    for value in steps:
        y = place(positions[0], value)[1]
        parts.append(f'<path d="M{left} {y:.1f}h{plot_width}" stroke="{_GRID}"/>')
        parts.append(_text(left - 8, y + 4, _number(value), anchor="end"))
    for x in _apart(positions, lambda x: place(x, steps[-1])[0]):
        parts.append(_text(place(x, steps[-1])[0], bottom + 18, _number(x), anchor="middle"))
    parts.append(_text(left + plot_width / 2, bottom + 38, x_name, anchor="middle"))
    middle = top + plot_height / 2
    parts.append(_text(16, middle, y_name, anchor="middle", extra=f' transform="rotate(-90 16 {middle:.0f})"'))
    legend = left + plot_width + 16
    for index, line in enumerate(lines):
        color, marker = _COLORS[index % len(_COLORS)], _MARKERS[index % len(_MARKERS)]
        points = [place(x, y) for x, y in line.points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(f'<path d="M{path}" stroke="{color}" stroke-width="2" fill="none"/>')
        points.append((legend + 6, top + 12 + 22 * index))
        parts += [f'<g transform="translate({x:.1f} {y:.1f})" fill="{color}">{marker}</g>' for x, y in points]
        parts.append(_text(legend + 20, points[-1][1] + 4, line.name))
    if reference:
        y, row = place(positions[0], reference[1])[1], top + 12 + 22 * len(lines)
        dashes = f'stroke="{_COLORS[4]}" stroke-dasharray="6 4"'
        parts.append(f'<path d="M{left} {y:.1f}h{plot_width}M{legend - 2} {row}h16" {dashes}/>')
        parts.append(_text(legend + 20, row + 4, reference[0]))
    end = max(bottom + 54, top + 22 * len(names) + 16)
    parts += [_text(16, end + 8 + 18 * index, note) for index, note in enumerate(notes)]
    return _document(width, end + 18 * len(notes), title, parts)


def _dot(x: float, y: float, shape: int, color: str) -> str:
    return f'<g transform="translate({x:.1f} {y:.1f})" fill="{color}">{_MARKERS[shape % len(_MARKERS)]}</g>'


def _ring(x: float, y: float, mark: int) -> str:
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{8 + 3 * mark}" fill="none" stroke="{_RINGS[mark % len(_RINGS)]}" '
        'stroke-width="1.8"/>'
    )


def dot_chart(
    title: str,
    x_name: str,
    y_name: str,
    dots: Sequence[Dot],
    shades: Sequence[str],
    reference: tuple[str, float] | None = None,
    notes: Sequence[str] = (),
) -> str:
    """A chart of dots in columns, as an SVG document. The y axis begins at 0.

    Args:
        title: the first line.
        x_name, y_name: of the axes.
        dots: at least one; columns, shapes and marks stand in the order of their first dots.
        shades: in their order, from left to right within a column.
        reference: the name and the value of a dashed line.
        notes: lines below the chart.
    """
    columns = list(dict.fromkeys(dot.column for dot in dots))
    shapes = list(dict.fromkeys(dot.shape for dot in dots))
    marks = list(dict.fromkeys(mark for dot in dots for mark in dot.marks))
    left, top, plot_height, row = 64, 44, 330, 20
    pitch = max(96, 16 + _CHARACTER * max(map(len, columns)))
    plot_width, bottom, legend = pitch * len(columns), top + plot_height, left + pitch * len(columns) + 16
    names = [*shapes, *shades, *marks, *([reference[0]] if reference else [])]
    width = max(legend + 24 + _CHARACTER * max(map(len, names)),
                *(32 + _CHARACTER * len(line) for line in (title, *notes)))  # fmt: skip
    steps = ticks(max(dot.y for dot in dots))
    last = max(len(shades) - 1, 1)
    colors = {shade: _SHADES[index * (len(_SHADES) - 1) // last] for index, shade in enumerate(shades)}

    def height(value: float) -> float:
        return bottom - value / steps[-1] * plot_height

    parts = [_text(16, 24, title, size=14, extra=' font-weight="600"')]
    for value in steps:
        parts.append(f'<path d="M{left} {height(value):.1f}h{plot_width}" stroke="{_GRID}"/>')
        parts.append(_text(left - 8, height(value) + 4, _number(value), anchor="end"))
    for index, column in enumerate(columns):
        parts.append(f'<path d="M{left + pitch * index} {top}V{bottom}" stroke="{_GRID}"/>')
        parts.append(_text(left + pitch * (index + 0.5), bottom + 18, column, anchor="middle"))
    parts.append(_text(left + plot_width / 2, bottom + 38, x_name, anchor="middle"))
    middle = top + plot_height / 2
    parts.append(_text(16, middle, y_name, anchor="middle", extra=f' transform="rotate(-90 16 {middle:.0f})"'))
    for dot in dots:
        share = (shades.index(dot.shade) + 0.5) / len(shades)
        x, y = left + pitch * (columns.index(dot.column) + 0.1 + 0.8 * share), height(dot.y)
        parts.append(_dot(x, y, shapes.index(dot.shape), colors[dot.shade]))
        parts += [_ring(x, y, marks.index(mark)) for mark in dot.marks]
    signs = [_dot(legend + 6, 0, index, _TEXT) for index in range(len(shapes))]
    signs += [_dot(legend + 6, 0, 1, colors[shade]) for shade in shades]
    signs += [_ring(legend + 6, 0, index) for index in range(len(marks))]
    if reference:
        dashes = f'stroke="{_COLORS[4]}" stroke-dasharray="6 4"'
        parts.append(f'<path d="M{left} {height(reference[1]):.1f}h{plot_width}" {dashes}/>')
        signs.append(f'<path d="M{legend - 2} 0h16" {dashes}/>')
    for index, (sign, name) in enumerate(zip(signs, names, strict=True)):
        # Rings need more room than the other signs.
        y = top + 8 + row * index + 6 * max(0, index - len(shapes) - len(shades))
        parts += [f'<g transform="translate(0 {y})">{sign}</g>', _text(legend + 24, y + 4, name)]
    end = max(bottom + 54, top + row * len(names) + 6 * (len(marks) + 1) + 16)
    parts += [_text(16, end + 8 + 18 * index, note) for index, note in enumerate(notes)]
    return _document(width, end + 18 * len(notes), title, parts)
