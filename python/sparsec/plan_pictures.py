# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of plans: the windows into which they put block rows, and the tiles of each worker."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from sparsec.errors import InvalidArgument
from sparsec.options import integer
from sparsec.pictures import EMPTY, FULL, PARTIAL, HostLists, Picture, draw_states
from sparsec.plan_info import PlanInfo
from sparsec.saved_plan import VariantSections, Windows

Array = np.ndarray[Any, Any]


def draw_blocks(w: HostLists, windows: Windows | None, info: PlanInfo, rows: int, columns: int) -> Picture:
    """The block rows in the order of the plan, with what their windows load. Without windows in their own order."""
    states, order = w.states, np.arange(-(-w.shape[0] // w.block[0]))
    if windows is None:
        title = f"{w.title}: no windows"
    else:
        _expect_rows(windows, len(order))
        title = f"{w.title}: {info.windows} windows of {windows.rows.shape[1]} block rows"
        order = windows.rows[windows.rows >= 0]
        for own, loaded in zip(windows.rows, windows.columns, strict=True):
            cells = np.ix_(own[own >= 0], loaded)
            states[cells] = np.where(states[cells] == EMPTY, PARTIAL, states[cells])
        stored = np.count_nonzero(states == FULL)
        if info.columns:
            title += f", {stored / info.columns:.3g} blocks per column"
    names = {FULL: "stored", PARTIAL: "loaded for another row of the window"}
    notes = [f"{info.reason}."] if info.reason else []
    return draw_states(states[order], title, rows=rows, columns=columns, names=names, numbers=order, notes=notes)


def _expect_rows(windows: Windows, count: int) -> None:
    if sorted(windows.rows[windows.rows >= 0]) != list(range(count)):
        raise InvalidArgument(f"w has {count} block rows, but expects those of the matrix that the plan is for")


def draw_workers(
    w: HostLists | None, tile_rows: int, sections: VariantSections, info: PlanInfo, rows: int, columns: int
) -> Picture:
    """The tiles of each worker, from left to right, as wide as the work of each is."""
    lists = sections.tiles()
    if lists is None:
        raise InvalidArgument(f"plan: expects lists of tiles, but has {info.order} order: {info.reason}")
    integer("columns", columns, 1)
    costs = None if w is None else _costs(w, tile_rows, sections.windows())
    work = [np.ones(len(tiles)) if costs is None else _costs_of(costs, tiles) for tiles in lists]
    most = max((float(each.sum()) for each in work), default=0.0)
    cells = np.full((len(work), columns), EMPTY, np.uint8)
    for row, each in zip(cells, work, strict=True):
        ends = np.round(np.cumsum(each) * (columns / most if most else 0)).astype(int)
        for number, (begin, end) in enumerate(itertools.pairwise([0, *ends])):
            row[begin:end] = PARTIAL if number % 2 else FULL
    tiles = "tiles of any number of columns" if info.tiles < 0 else f"{info.tiles} tiles"
    title = f"{info.workers} workers, {tiles}, balance {info.balance:.3f}"
    names = {FULL: "a tile", PARTIAL: "the next tile", EMPTY: "idle"}
    unit = "tiles" if w is None else "blocks"
    notes = [f"The width is {most:.0f} {unit}.", *([f"{info.reason}."] if info.reason else [])]
    return draw_states(cells, title, rows=rows, columns=columns, names=names, notes=notes, row_name="workers")


def _costs(w: HostLists, tile_rows: int, windows: Windows | None) -> Array:
    """The stored blocks of each tile row: of a window, or of the block rows that its elements are in."""
    counts = np.diff(w.row_ptr)
    if windows is not None:
        _expect_rows(windows, len(counts))
        return np.array([counts[rows[rows >= 0]].sum() for rows in windows.rows])
    starts = np.arange(0, w.shape[0], tile_rows)
    ends = np.minimum(starts + tile_rows, w.shape[0])
    return np.array([
        counts[start // w.block[0] : -(-end // w.block[0])].sum() for start, end in zip(starts, ends, strict=True)
    ])  # fmt: skip


def _costs_of(costs: Array, tiles: Array) -> Array:
    if len(tiles) and tiles.max() >= len(costs):
        raise InvalidArgument(f"w has {len(costs)} rows of tiles, but the plan has {tiles.max() + 1} or more")
    return costs[tiles]
