# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The conditions that the named patterns consist of, with what each one knows of whole blocks."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from sparsec.errors import InvalidArgument
from sparsec.options import is_integer
from sparsec.patterns.pattern import MaskMod, Pattern, Sizes
from sparsec.patterns.states import (
    EMPTY,
    FULL,
    PARTIAL,
    UNKNOWN,
    Array,
    Grid,
    any_between,
    count_between,
    extremes,
    state_of,
)
from sparsec.tracing.functions import maximum, minimum, where
from sparsec.tracing.graph import host_array
from sparsec.tracing.region import inline
from sparsec.tracing.value import WrappedArray, captured

NO_LIMIT = -1
_ARGUMENTS = ("b", "h", "q_idx", "kv_idx")


class Window(Pattern):
    """q + offset - left <= k <= q + offset + right."""

    def __init__(self, left: int, right: int, offset: int) -> None:
        self._left, self._right, self._offset = left, right, _checked_offset(offset)

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        position = q_idx + self._offset if self._offset else q_idx
        is_visible = kv_idx >= 0
        if self._right != NO_LIMIT:
            is_visible = (position + self._right if self._right else position) >= kv_idx
        if self._left != NO_LIMIT:
            is_near = position - kv_idx <= self._left
            is_visible = is_near if self._right == NO_LIMIT else is_visible & is_near
        return is_visible

    def classify(self, grid: Grid) -> Array:
        (first_query, last_query), (first_key, last_key) = grid.query_range, grid.key_range
        nearest, farthest = first_query + self._offset - last_key, last_query + self._offset - first_key
        is_full, is_visited = np.ones((2, 1, 1), np.bool_)
        if self._left != NO_LIMIT:
            is_full, is_visited = is_full & (farthest <= self._left), is_visited & (nearest <= self._left)
        if self._right != NO_LIMIT:
            is_full, is_visited = is_full & (nearest >= -self._right), is_visited & (farthest >= -self._right)
        return state_of(is_full, is_visited)


class Prefix(Pattern):
    """k < length, where length is a number or one for each batch."""

    def __init__(self, length: int | Any) -> None:
        self._length = length if isinstance(length, int) else captured(length, "prefix_lengths")
        if not isinstance(length, int):
            self.sizes = Sizes(batches=len(length))

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return kv_idx < (self._length if isinstance(self._length, int) else self._length[b])

    def classify(self, grid: Grid) -> Array:
        first, last = grid.key_range
        length = self._length if isinstance(self._length, int) else host_array(self._length.array)[:, None, None, None]
        return state_of(last < length, first < length)


class Documents(Pattern):
    """The query and the key have the same number."""

    def __init__(self, of_queries: Any, of_keys: Any) -> None:
        batches = {len(ids) for ids in (of_queries, of_keys) if ids.ndim == 2}
        if len(batches) > 1:
            raise InvalidArgument(f"ids and key_ids are of {' and '.join(map(str, sorted(batches)))} batches")
        self.sizes = Sizes(batches.pop() if batches else None, None, of_queries.shape[-1], of_keys.shape[-1])
        is_same = of_keys is of_queries
        self._of_queries = captured(of_queries, "document_ids" if is_same else "query_document_ids")
        self._of_keys = self._of_queries if is_same else captured(of_keys, "key_document_ids")

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        of_query, of_key = (
            ids[b, place] if ids.array.ndim == 2 else ids[place]
            for ids, place in ((self._of_queries, q_idx), (self._of_keys, kv_idx))
        )
        return of_query == of_key

    def classify(self, grid: Grid) -> Array:
        query_least, query_most = (
            each[:, None, :, None] for each in extremes(host_array(self._of_queries.array), grid.block[0])
        )
        key_least, key_most = (
            each[:, None, None, :] for each in extremes(host_array(self._of_keys.array), grid.block[1])
        )
        is_full = (query_least == query_most) & (key_least == key_most) & (query_least == key_least)
        is_apart = (query_most < key_least) | (key_most < query_least)
        return np.where(is_full, FULL, np.where(is_apart, EMPTY, UNKNOWN)).astype(np.uint8)


class Vertical(Pattern):
    """The table has a 1 at the key. Its last entry stands for all keys behind it."""

    def __init__(self, table: Array) -> None:
        self._table = captured(table, "vertical_keys")
        self._last = captured(np.array(table.shape[-1] - 1, np.int32), "vertical_last")
        self.sizes = Sizes(heads=len(table) if table.ndim == 2 else None)

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        index = minimum(kv_idx, self._last)
        return (self._table[h, index] if self._table.array.ndim == 2 else self._table[index]) != 0

    def classify(self, grid: Grid) -> Array:
        first, last = grid.key_range
        count = count_between(self._table.array, first, last)
        return state_of(count == last - first + 1, count > 0)


class Slash(Pattern):
    """The table has a 1 at the distance from the key to the query. Its last entry stands for all other distances."""

    def __init__(self, table: Array, offset: int) -> None:
        self._offset = _checked_offset(offset)
        self._table = captured(table, "slash_distances")
        self._last = captured(np.array(table.shape[-1] - 1, np.int32), "slash_last")
        self.sizes = Sizes(heads=len(table) if table.ndim == 2 else None)

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        distance = q_idx - kv_idx + self._offset if self._offset else q_idx - kv_idx
        index = where(distance < 0, self._last, minimum(distance, self._last))
        return (self._table[h, index] if self._table.array.ndim == 2 else self._table[index]) != 0

    def classify(self, grid: Grid) -> Array:
        # A block has every distance between its extremes.
        (first_query, last_query), (first_key, last_key) = grid.query_range, grid.key_range
        least, most = first_query + self._offset - last_key, last_query + self._offset - first_key
        count = count_between(self._table.array, least, most)
        return state_of(count == most - least + 1, count > 0)


class Video(Pattern):
    """The key's tile is in the window around the query's tile; the window moves inside at the border."""

    def __init__(self, tiles: tuple[int, ...], tokens: int, window: tuple[int, ...]) -> None:
        self._tiles, self._tokens, self._window = tiles, tokens, window
        length = math.prod(tiles) * tokens
        self.sizes = Sizes(queries=length, keys=length)

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        query, key = q_idx // self._tokens, kv_idx // self._tokens
        is_visible = kv_idx >= 0
        for axis in (2, 1, 0):
            size, reach = self._tiles[axis], self._window[axis] // 2
            if self._window[axis] < size:
                center = minimum(maximum(query % size if axis else query, reach), size - 1 - reach)
                is_visible = (abs(center - (key % size if axis else key)) <= reach) & is_visible
            query, key = query // size, key // size
        return is_visible

    @cached_property
    def _visible_tiles(self) -> Array:
        """Whether tiles of queries (rows) see tiles of keys (columns)."""
        tiles = np.stack(np.unravel_index(np.arange(math.prod(self._tiles)), self._tiles))
        visible = np.ones((tiles.shape[1], tiles.shape[1]), np.bool_)
        for place, size, side in zip(tiles, self._tiles, self._window, strict=True):
            if side < size:
                center = np.clip(place, side // 2, size - 1 - side // 2)
                visible &= np.abs(center[:, None] - place) <= side // 2
        return visible

    def classify(self, grid: Grid) -> Array:
        # Every tile between the first and the last one of a block has a token in it.
        (first_row, last_row), (first_column, last_column) = (
            (first.ravel() // self._tokens, last.ravel() // self._tokens)
            for first, last in (grid.query_range, grid.key_range)
        )
        in_columns = count_between(self._visible_tiles, first_column, last_column)
        count = count_between(in_columns.T, first_row, last_row).T
        area = (last_row - first_row + 1)[:, None] * (last_column - first_column + 1)
        return state_of(count == area, count > 0)


class Mask(Pattern):
    """The state of an array at the place: [[batches,] heads,] rows x columns, of `block` elements each."""

    def __init__(
        self, states: Array, block: tuple[int, int], mask_mod: MaskMod | None, sizes: Sizes | None = None
    ) -> None:
        batches, heads = ((None,) * 2 + states.shape[:-2])[-2:]
        own = Sizes(batches if batches != 1 else None, heads if heads != 1 else None)
        if block == (1, 1):
            own = Sizes(own.batches, own.heads, *states.shape[-2:])
        self._states, self._block, self._mask_mod = states, block, mask_mod
        self.sizes = own if sizes is None else own.merged(sizes)

    @cached_property
    def _table(self) -> WrappedArray:
        return captured(self._states.astype(np.int32), "mask_states")

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        leading = (0, 0, *self._states.shape[:-2])
        batch, head = (place if size > 1 else 0 for place, size in zip((b, h), leading[-2:], strict=True))
        indices = (batch, head, q_idx // self._block[0], kv_idx // self._block[1])
        state = self._table[indices[-self._states.ndim :]]
        if self._mask_mod is None:
            return state != EMPTY
        return (state == FULL) | ((state == PARTIAL) & self._in_partial(b, h, q_idx, kv_idx))

    def _in_partial(self, *places: Any) -> Any:
        assert self._mask_mod is not None
        return inline(self._mask_mod, _ARGUMENTS, places, "i1", "mask_mod")

    def mask_mod(self, block: tuple[int, int]) -> MaskMod | None:
        if block != self._block:
            return self.visible
        return self._mask_mod and self._in_partial

    def classify(self, grid: Grid) -> Array:
        expected = tuple(-(-size // side) for size, side in zip((grid.queries, grid.keys), self._block, strict=True))
        if self._states.shape[-2:] != expected:
            raise InvalidArgument(
                f"mask has {self._states.shape[-2]} x {self._states.shape[-1]} entries, but {grid.queries} queries x "
                f"{grid.keys} keys have {expected[0]} x {expected[1]} blocks of {self._block[0]} x {self._block[1]}"
            )
        has_empty, has_full, has_partial = (self._has(state, grid) for state in (EMPTY, FULL, PARTIAL))
        exact = state_of(~has_empty, has_full)
        return np.where(has_partial, UNKNOWN, exact).astype(np.uint8)

    def _has(self, state: int, grid: Grid) -> Array:
        """Whether any entry that a block of the grid touches has a state."""
        (first_row, last_row), (first_column, last_column) = (
            (first.ravel() // side, last.ravel() // side)
            for (first, last), side in zip((grid.query_range, grid.key_range), self._block, strict=True)
        )
        in_columns = any_between(self._states == state, first_column, last_column)
        return any_between(in_columns.swapaxes(-1, -2), first_row, last_row).swapaxes(-1, -2)


class Predicate(Pattern):
    """What a function says."""

    def __init__(self, mask_mod: MaskMod, sizes: Sizes) -> None:
        self._mask_mod, self.sizes = mask_mod, sizes

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return inline(self._mask_mod, _ARGUMENTS, (b, h, q_idx, kv_idx), "i1", "mask_mod")


def _checked_offset(offset: Any) -> int:
    if not is_integer(offset):
        raise InvalidArgument(f"offset is {offset!r}, but expects an int")
    return int(offset)
