# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of blocks: text for a terminal, SVG for a notebook or a file.

Kinds of blocks differ in shape as well as in colour, and every picture has a legend of the kinds that it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sparsec.errors import InvalidArgument
from sparsec.options import integer

__all__ = ["EMPTY", "FULL", "PARTIAL", "HostLists", "Picture", "draw_matrix", "draw_states"]

Array = np.ndarray[Any, Any]

EMPTY, FULL, PARTIAL, MIXED = 0, 1, 2, 3  # as sparsec_block_state_t; MIXED: a cell for several columns of other kinds


@dataclass(frozen=True)
class Kind:
    """How a kind of block looks. `shape` is SVG in a cell of 1 x 1, "" for nothing."""

    name: str
    character: str
    shape: str


_KINDS = {
    FULL: Kind("full", "█", '<path d="M0 0h1v1h-1z" fill="#1b4f8a"/>'),
    PARTIAL: Kind("partial", "▒", '<path d="M0 0l1 1h-1z" fill="#e08214"/>'),
    EMPTY: Kind("empty", "·", '<path d="M.42 .42h.16v.16h-.16z" fill="#b8bec6"/>'),
    MIXED: Kind("several kinds", "▚", '<path d="M0 0h.5v1h.5v-.5h-1z" fill="#5b8c5a"/>'),
}
_CELL, _MARGIN, _LINE = 10, 12, 18  # of an SVG, in pixels
_ROWS_OF_LABEL = 2  # a label is higher than a row
_LABEL = 8  # width of a character, at most
_FONT = 'font-family="ui-monospace, \'DejaVu Sans Mono\', monospace" font-size="12" fill="#333"'


@dataclass(frozen=True, eq=False)
class Picture:
    """Blocks as a picture: str() is text, a notebook shows SVG, save writes either.

    Attributes:
        title: the first line.
        cells: [rows, columns]: the kinds of the cells.
        row_numbers: the number of the block row, or of what else it is, that each row of cells shows.
        names: of the kinds, by kind.
        notes: what the picture leaves out, a sentence each.
    """

    title: str
    cells: Array
    row_numbers: Array
    names: dict[int, str]
    notes: Sequence[str]

    @property
    def kinds(self) -> list[int]:
        """The kinds of blocks in the picture."""
        return [kind for kind in _KINDS if (self.cells == kind).any()]

    def text(self) -> str:
        """The picture in Unicode characters, one for each cell."""
        width = len(str(max(self.row_numbers, default=0)))
        lines = [self.title]
        for number, row in zip(self.row_numbers, self.cells, strict=True):
            lines.append(f"{number:>{width}} " + "".join(_KINDS[int(kind)].character for kind in row))
        lines.append("  ".join(f"{_KINDS[kind].character} {self.names[kind]}" for kind in self.kinds))
        return "\n".join([*lines, *self.notes])

    __str__ = text
    __repr__ = text

    def svg(self) -> str:
        """The picture as an SVG document."""
        rows, columns = self.cells.shape
        left = _MARGIN + _LABEL * (len(str(max(self.row_numbers, default=0))) + 1)
        top = _MARGIN + _LINE
        footer = top + rows * _CELL + _LINE
        lines = [self.title, *self.notes]
        legend = sum(2 * _CELL + _LABEL * (len(self.names[kind]) + 2) for kind in self.kinds)
        width = max(left + columns * _CELL, left + legend, left + _LABEL * max(map(len, lines)) + _LABEL) + _MARGIN
        height = footer + _LINE * len(self.notes) + _MARGIN
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(self.title)}</title>",
            f'<rect width="{width}" height="{height}" fill="#fff"/>',
            "<defs>"
            + "".join(f'<g id="{_identifier(kind)}">{_KINDS[kind].shape}</g>' for kind in self.kinds)
            + "</defs>",
            _svg_text(left, _MARGIN + 8, self.title),
            *self._svg_rows(left, top),
            *self._svg_legend(left, footer),
            *(_svg_text(left, footer + _LINE * (index + 1), note) for index, note in enumerate(self.notes)),
        ]
        return "\n".join(parts) + "\n</svg>\n"

    _repr_svg_ = svg

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the picture to a file: SVG to .svg, text to .txt. Raises InvalidArgument for other endings."""
        suffix = Path(path).suffix
        if suffix not in (".svg", ".txt"):
            raise InvalidArgument(f"path is '{path}', but expects a name that ends with .svg or .txt")
        Path(path).write_text(self.svg() if suffix == ".svg" else f"{self.text()}\n", encoding="utf-8")

    def _svg_rows(self, left: int, top: int) -> list[str]:
        rows, columns = self.cells.shape
        parts = [
            f'<rect x="{left - 1}" y="{top - 1}" width="{columns * _CELL + 2}" height="{rows * _CELL + 2}" fill="none" '
            'stroke="#333"/>'
        ]
        for index, number in enumerate(self.row_numbers):
            if index % _ROWS_OF_LABEL == 0:
                parts.append(_svg_text(left - _LABEL, top + (index + 1) * _CELL, str(number), anchor="end"))
            uses = (
                _svg_use(int(kind), left + x * _CELL, top + index * _CELL) for x, kind in enumerate(self.cells[index])
            )
            parts.append("".join(uses))
        return parts

    def _svg_legend(self, left: int, y: int) -> list[str]:
        parts = []
        for kind in self.kinds:
            name = self.names[kind]
            parts.append(
                f'<rect x="{left}" y="{y - _CELL}" width="{_CELL}" height="{_CELL}" fill="none" stroke="#b8bec6"/>'
            )
            parts.append(_svg_use(kind, left, y - _CELL))
            parts.append(_svg_text(left + 2 * _CELL - 4, y, name))
            left += 2 * _CELL + _LABEL * (len(name) + 2)
        return parts


def draw_states(
    states: Any,
    title: str,
    *,
    rows: int = 64,
    columns: int = 96,
    names: dict[int, str] | None = None,
    numbers: Any = None,
    notes: Sequence[str] = (),
    row_name: str = "block rows",
) -> Picture:
    """A picture of states of blocks: 0 empty, 1 full, 2 partial.

    Args:
        states: [block rows, block columns].
        title: the first line.
        rows, columns: the most that the picture has. Of more rows some are shown, at equal distances. More columns are
            merged: a cell stands for several, and has their kind if they have one.
        names: other names of kinds, by state.
        numbers: of the rows, which the picture shows beside them; None: 0, 1, ...
        notes: sentences below the picture.
        row_name: what notes call rows.

    Raises:
        InvalidArgument: an option does not fit. The text names it.
    """
    values = np.asarray(states)
    integer("rows", rows, 1)
    integer("columns", columns, 1)
    if values.ndim != 2 or not np.isin(values, (EMPTY, FULL, PARTIAL)).all():
        raise InvalidArgument("states expects two dimensions of 0 (empty), 1 (full) and 2 (partial)")
    shown = _sampled(values.shape[0], rows)
    notes = list(notes)
    if len(shown) < values.shape[0]:
        notes.append(f"{len(shown)} of {values.shape[0]} {row_name} are shown.")
    width = -(-values.shape[1] // columns)
    if width > 1:
        notes.append(f"A cell stands for {width} block columns.")
    known = {kind: each.name for kind, each in _KINDS.items()} | (names or {})
    labels = shown if numbers is None else np.asarray(numbers)[shown]
    return Picture(title, _merged(values[shown], width), labels, known, notes)


@dataclass(frozen=True, eq=False)
class HostLists:
    """The lists of a block-sparse matrix in memory of the host, as sparsec.BSR has them."""

    row_ptr: Array
    col_idx: Array
    shape: tuple[int, int]
    block: tuple[int, int]

    @property
    def states(self) -> Array:
        """FULL for stored blocks, else EMPTY: [block rows, block columns]."""
        grid = tuple(-(-size // side) for size, side in zip(self.shape, self.block, strict=True))
        states = np.full(grid, EMPTY, np.uint8)
        states[np.repeat(np.arange(grid[0]), np.diff(self.row_ptr)), self.col_idx[: self.row_ptr[-1]]] = FULL
        return states

    @property
    def title(self) -> str:
        """The sizes."""
        shape, block = (f"{sides[0]} x {sides[1]}" for sides in (self.shape, self.block))
        return f"{shape} in blocks of {block}"


def draw_matrix(matrix: Any, *, rows: int = 64, columns: int = 96) -> Picture:
    """A picture of the stored blocks of a block-sparse matrix.

    Args:
        matrix: an object with row_ptr, col_idx, shape and block, as sparsec.BSR.
        rows, columns: as of draw_states.

    Raises:
        InvalidArgument: rows or columns is no int of at least 1.
    """
    lists = HostLists(np.asarray(matrix.row_ptr), np.asarray(matrix.col_idx), matrix.shape, matrix.block)
    states = lists.states
    density = np.count_nonzero(states) / states.size if states.size else 0.0
    title = f"{lists.title}, density {density:.3g}"
    return draw_states(states, title, rows=rows, columns=columns, names={FULL: "stored"})


def _sampled(count: int, limit: int) -> Array:
    """At most `limit` of `count` indices at equal distances, with the first and the last one."""
    if count <= limit:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, limit).round().astype(np.int64)) if limit > 1 else np.array([0])


def _merged(states: Array, width: int) -> Array:
    """Cells of `width` columns, the last one of those that are left."""
    if width == 1 or states.shape[1] == 0:
        return states
    starts = np.arange(0, states.shape[1], width)
    least, most = np.minimum.reduceat(states, starts, axis=1), np.maximum.reduceat(states, starts, axis=1)
    return np.where(least == most, least, MIXED)


def _identifier(kind: int) -> str:
    # Pictures of one notebook share a document, and a kind looks the same in all of them.
    return f"sparsec-{_KINDS[kind].name.replace(' ', '-')}"


def _svg_use(kind: int, x: int, y: int) -> str:
    return f'<use xlink:href="#{_identifier(kind)}" transform="translate({x} {y}) scale({_CELL})"/>'


def _svg_text(x: int, y: int, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" {_FONT}>{escape(text)}</text>'
