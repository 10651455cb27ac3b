# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is known of blocks before their elements are looked at, and how it combines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# EMPTY, FULL and PARTIAL are sparsec_block_state_t. A block that is PARTIAL is neither empty nor full. If a block is
# UNKNOWN, its elements must be looked at.
EMPTY, FULL, PARTIAL, UNKNOWN = 0, 1, 2, 3


@dataclass(frozen=True)
class Grid:
    """The blocks of a pattern: of `queries` x `keys` elements in blocks of `block`, for `batches` and `heads`."""

    queries: int
    keys: int
    block: tuple[int, int]
    batches: int = 1
    heads: int = 1

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Batches, heads, block rows, block columns."""
        return self.batches, self.heads, -(-self.queries // self.block[0]), -(-self.keys // self.block[1])

    @cached_property
    def query_range(self) -> tuple[Array, Array]:
        """The first and the last query of every block row, as columns."""
        first = np.arange(0, self.queries, self.block[0])[:, None]
        return first, np.minimum(first + self.block[0], self.queries) - 1

    @cached_property
    def key_range(self) -> tuple[Array, Array]:
        """The first and the last key of every block column, as rows."""
        first = np.arange(0, self.keys, self.block[1])[None, :]
        return first, np.minimum(first + self.block[1], self.keys) - 1

    @property
    def places(self) -> tuple[Array, Array]:
        """The batches and the heads, in the first two of four dimensions."""
        return np.arange(self.batches)[:, None, None, None], np.arange(self.heads)[None, :, None, None]


def state_of(is_full: Any, is_visited: Any) -> Array:
    """The exact state of blocks of which all, or any, elements are visible."""
    return np.where(is_full, FULL, np.where(is_visited, PARTIAL, EMPTY)).astype(np.uint8)


def both(left: Array, right: Array) -> Array:
    """The state of left & right. Two partial blocks may have no element in common."""
    result = np.where((left == EMPTY) | (right == EMPTY), EMPTY, UNKNOWN)
    result = np.where(left == FULL, right, result)
    return np.where(right == FULL, left, result).astype(np.uint8)


def inverse(state: Array) -> Array:
    """The state of ~pattern."""
    return np.array([FULL, EMPTY, PARTIAL, UNKNOWN], np.uint8)[state]


def either(left: Array, right: Array) -> Array:
    """The state of left | right."""
    return inverse(both(inverse(left), inverse(right)))


def best_blocks(scores: Array, counts: Array) -> Array:
    """Which blocks of a row are among those with the highest scores; of equal scores the first ones, never NaN or -inf.

    scores: [..., columns]; counts: [...], the most blocks of each row. Result: as scores.
    """
    comparable = np.where(scores > -np.inf, scores, -np.inf)
    ranked = np.argsort(-comparable, axis=-1, kind="stable")
    is_best = np.empty(scores.shape, np.bool_)
    np.put_along_axis(is_best, ranked, np.arange(scores.shape[-1]) < counts[..., None], axis=-1)
    found: Array = is_best & (comparable > -np.inf)
    return found


def count_between(flags: Array, first: Array, last: Array) -> Array:
    """How many flags are set between two indices, both included, along the last axis. Flags end where the array ends.

    flags: [..., n]; first, last: integers of any one shape. Result: [..., *shape].
    """
    sums = np.concatenate([np.zeros((*flags.shape[:-1], 1), np.int64), np.cumsum(flags, axis=-1)], axis=-1)
    size = flags.shape[-1]
    counts: Array = sums[..., np.clip(last + 1, 0, size)] - sums[..., np.clip(first, 0, size)]
    return counts


def any_between(flags: Array, first: Array, last: Array) -> Array:
    """Whether a flag is set between two indices, both included and inside, along the last axis.

    flags: [..., n]; first, last: [m], first <= last. Result: [..., m].
    """
    if len(first) == 0:
        return np.zeros((*flags.shape[:-1], 0), np.bool_)
    padded = np.concatenate([flags, np.zeros((*flags.shape[:-1], 1), np.bool_)], axis=-1)
    bounds = np.stack([first, last + 1], axis=-1).ravel()
    found: Array = np.logical_or.reduceat(padded, bounds, axis=-1)[..., ::2]
    return found


def extremes(values: Array, block: int) -> tuple[Array, Array]:
    """The least and the largest value of every block along the last axis: [batches or 1, blocks]."""
    rows = np.atleast_2d(values)
    starts = np.arange(0, rows.shape[-1], block)
    if len(starts) == 0:
        return rows, rows
    return np.minimum.reduceat(rows, starts, axis=-1), np.maximum.reduceat(rows, starts, axis=-1)
