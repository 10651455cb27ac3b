# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The patterns that have names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsec.errors import InvalidArgument
from sparsec.options import block_sides, integer, is_integer
from sparsec.patterns.conditions import NO_LIMIT, Documents, Mask, Predicate, Prefix, Slash, Vertical, Video, Window
from sparsec.patterns.lists import BlockLists
from sparsec.patterns.pattern import MaskMod, Pattern, Sizes
from sparsec.patterns.states import PARTIAL, Array, best_blocks
from sparsec.tracing.graph import host_array


def causal(offset: int = 0) -> Pattern:
    """Key k is visible to query q if k <= q + offset.

    Args:
        offset: 0: this is FlexAttention's `q_idx >= kv_idx`. Skv - Sq: this is `causal` of an attention kernel, with
            the last query and the last key at the same position.

    Raises:
        InvalidArgument: offset is no int.
    """
    return Window(NO_LIMIT, 0, offset)


def sliding_window(left: int, right: int = 0, *, sinks: int = 0, offset: int = 0) -> Pattern:
    """Key k is visible to query q if q + offset - left <= k <= q + offset + right, or if k < sinks.

    Args:
        left, right: the numbers of keys before and behind the query's own; -1: no limit.
        sinks: the number of first keys that all queries see.
        offset: as of causal.

    Raises:
        InvalidArgument: an option is no int, or too small. The text names it.
    """
    window = Window(integer("left", left, NO_LIMIT), integer("right", right, NO_LIMIT), offset)
    return window | prefix(sinks) if integer("sinks", sinks, 0) else window


def prefix(length: int | Any) -> Pattern:
    """The first keys are visible. A prefix LM is causal() | prefix(n).

    Args:
        length: the number of keys; or [batches], integers: one number for each batch.

    Raises:
        InvalidArgument: length is neither an int nor an array of integers.
    """
    return Prefix(int(length) if is_integer(length) else _integers("length", length, (1,)))


def documents(ids: Any = None, *, lengths: Sequence[int] | None = None, key_ids: Any = None) -> Pattern:
    """Queries see the keys of their own document, in packed sequences.

    Args:
        ids: [tokens] or [batches, tokens], integers: the number of the document of every token. int32 is not copied.
        lengths: the number of tokens of each document, in the place of ids.
        key_ids: as ids, of the keys; None: the keys are the same tokens as the queries.

    Raises:
        InvalidArgument: neither or both of ids and lengths are given, or an array has another shape or type.
    """
    if (ids is None) == (lengths is None):
        raise InvalidArgument("documents expects ids or lengths")
    if lengths is not None:
        ids = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    of_queries = _integers("ids", ids, (1, 2))
    return Documents(of_queries, of_queries if key_ids is None else _integers("key_ids", key_ids, (1, 2)))


def vertical_slash(vertical: Any, slash: Any, *, offset: int = 0) -> Pattern:
    """All queries see the keys `vertical`; query q also sees key q + offset - d for every distance d in `slash`.

    MInference has the pattern causal() & vertical_slash(v, s).

    Args:
        vertical: [count] or [heads, count], integers: the keys; -1: none.
        slash: [count] or [heads, count], integers: the distances, from 0 on; -1: none.
        offset: as of causal.

    Raises:
        InvalidArgument: an array has another shape or type, or a number below -1.
    """
    return Vertical(_flags("vertical", vertical)) | Slash(_flags("slash", slash), offset)


def video(shape: Sequence[int], tile: Sequence[int], window: Sequence[int]) -> Pattern:
    """Sliding tile attention: tokens of frames x rows x columns, in tiles, see the tiles of a window around their own.

    The tokens of a tile are contiguous, and tiles are in row-major order. At the border the window moves inside, so
    that every token sees as many keys.

    Args:
        shape: frames, rows and columns, in tokens: multiples of tile.
        tile: sides of a tile, in tokens.
        window: sides of the window, in tiles: odd. A side that is not below that of the video has no limit.

    Raises:
        InvalidArgument: a side does not fit. The text names the option.
    """
    sides = {"shape": shape, "tile": tile, "window": window}
    for name, values in sides.items():
        if len(values) != 3 or any(not is_integer(value) or value < 1 for value in values):
            raise InvalidArgument(f"{name} is {values!r}, but expects 3 positive ints")
    if any(size % side for size, side in zip(shape, tile, strict=True)):
        raise InvalidArgument(f"shape is {tuple(shape)}, but expects multiples of tile, {tuple(tile)}")
    if any(side % 2 == 0 for side in window):
        raise InvalidArgument(f"window is {tuple(window)}, but expects odd numbers of tiles")
    return Video(tuple(size // side for size, side in zip(shape, tile, strict=True)), math.prod(tile), tuple(window))


def top_k(scores: Any, k: int, block: int | tuple[int, int]) -> Pattern:
    """Every block of queries sees the k blocks of keys with the highest scores; of equal scores the first ones.

    It never sees a block with the score -inf. PatternBuffer.update_from_scores makes such lists anew on a GPU.

    Args:
        scores: rows x columns of blocks, with heads or batches x heads before them; numbers without NaN.
        k: the number of blocks; all, if there are fewer.
        block: queries and keys of a block, or both in one number.

    Raises:
        InvalidArgument: an option does not fit. The text names it.
    """
    values = host_array(scores)
    integer("k", k, 0)
    if not 2 <= values.ndim <= 4 or np.isnan(values).any():
        raise InvalidArgument(f"scores has shape {values.shape}, but expects 2 to 4 dimensions and no NaN")
    return from_mask(best_blocks(values.astype(np.float64), np.full(values.shape[:-1], k)), block)


def from_mask(mask: Any, block: int | tuple[int, int] | None = None, *, mask_mod: MaskMod | None = None) -> Pattern:
    """Keys are visible where an array says so.

    Kernels read the array as int32, except where the blocks of the lists are those of the array.

    Args:
        mask: booleans of queries x keys; with block: booleans or states (uint8: 0 empty, 1 full, 2 partial) of rows x
            columns of blocks. Heads, or batches x heads, come before them if lists are to differ.
        block: queries and keys of a block, or both in one number; None: mask has elements.
        mask_mod: what is visible in partial blocks, as predicate takes it.

    Raises:
        InvalidArgument: mask has another shape or type, or partial blocks without a mask_mod.
    """
    values = host_array(mask)
    if not 2 <= values.ndim <= 4:
        raise InvalidArgument(f"mask has shape {values.shape}, but expects 2 to 4 dimensions")
    is_states = block is not None and values.dtype == np.uint8
    if values.dtype != np.bool_ and not is_states:
        kinds = "bool" if block is None else "bool or uint8"
        raise InvalidArgument(f"mask has dtype {values.dtype}, but expects {kinds}")
    if (values > PARTIAL).any():
        raise InvalidArgument(f"mask has the state {values.max()}, but expects 0 (empty), 1 (full) or 2 (partial)")
    if (values == PARTIAL).any() != (mask_mod is not None):
        raise InvalidArgument("mask has partial blocks (2) without a mask_mod, or a mask_mod without partial blocks")
    return Mask(values, (1, 1) if block is None else block_sides(block), mask_mod)


def from_flex(block_mask: Any) -> Pattern:
    """The pattern of a BlockMask of FlexAttention, to combine it or to make lists of other blocks.

    BlockLists.from_flex gives its lists as they are.

    Args:
        block_mask: a BlockMask. Its lists are copied to the host if they are on a GPU.
    """
    lists = BlockLists.from_flex(block_mask)
    states = lists.states
    mask_mod = block_mask.mask_mod if (states == PARTIAL).any() else None
    return Mask(states, lists.block, mask_mod, Sizes(queries=lists.queries, keys=lists.keys))


def predicate(mask_mod: MaskMod, *, heads: int | None = None, batches: int | None = None) -> Pattern:
    """What a function says. Lists need its value of every element, or fewer in a combination with another kind.

    Args:
        mask_mod: a function (b, h, q_idx, kv_idx), as of FlexAttention: whether the key is visible to the query.
        heads, batches: how many there are, if the function depends on them; else lists() says it.
    """
    return Predicate(mask_mod, Sizes(batches=batches, heads=heads))


def _integers(name: str, values: Any, ranks: tuple[int, ...]) -> Any:
    """An int32 array of one of these ranks: the caller's own, of any library, if it has int32 already."""
    array = values if hasattr(values, "dtype") else np.asarray(values)
    host = host_array(array)
    if host.ndim not in ranks or not np.issubdtype(host.dtype, np.integer):
        expected = " or ".join(map(str, ranks))
        raise InvalidArgument(
            f"{name} has shape {host.shape} and dtype {host.dtype}, but expects integers of {expected} dimensions"
        )
    limits = np.iinfo(np.int32)
    if host.size and not limits.min <= host.min() <= host.max() <= limits.max:
        raise InvalidArgument(f"{name} has a value that does not fit into 32 bits")
    return array if host.dtype == np.int32 else host.astype(np.int32)


def _flags(name: str, numbers: Any) -> Array:
    """A table of int32: 1 at the numbers, for one or several heads. The last entry, for all that are larger, is 0."""
    is_empty = not hasattr(numbers, "dtype") and np.size(numbers) == 0  # an empty list has no integers
    values = host_array(_integers(name, np.asarray(numbers, np.int64) if is_empty else numbers, (1, 2)))
    if (values < -1).any():
        raise InvalidArgument(f"{name} has the number {values.min()}, but expects at least 0, or -1 for none")
    last = int(values.max(initial=-1)) + 1
    table = np.zeros((*values.shape[:-1], last + 2), np.int32)
    np.put_along_axis(table, values + 1, 1, axis=-1)
    return table[..., 1:].copy()  # entry 0 took the -1
