# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks that say which blocks of a dense matrix to keep, for BSR.from_dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from .bsr import block_pair, blocks_of
from .errors import InvalidArgument

__all__ = ["magnitude", "random", "top_k_per_row"]


def _kept(count: int, density: float) -> int:
    """How many of `count` blocks to keep: the nearest number, of two the larger one."""
    if not 0 <= density <= 1:
        raise InvalidArgument(f"density: expects 0 to 1, but got {density}")
    return int(np.floor(count * density + 0.5))


def _block_norms(a: np.ndarray[Any, Any], block: int | tuple[int, int]) -> np.ndarray[Any, Any]:
    """The Frobenius norm of each block, in float64: [block rows, block columns]."""
    blocks = blocks_of(a, block_pair(block)).astype(np.float64)
    norms: np.ndarray[Any, Any] = np.sqrt((blocks * blocks).sum(axis=(2, 3)))
    if np.isnan(norms).any():
        raise InvalidArgument("a: expects no NaN, because a norm of NaN has no order")
    return norms


def _largest(norms: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    """The mask of the `count` largest norms; of equal ones the first."""
    mask = np.zeros(norms.size, bool)
    mask[np.argsort(-norms.ravel(), kind="stable")[:count]] = True
    return mask.reshape(norms.shape)


def magnitude(
    a: np.ndarray[Any, Any], block: int | tuple[int, int], density: float, per_row: bool = False
) -> np.ndarray[Any, Any]:
    """Keeps the blocks of the largest Frobenius norm; of equal ones the first, row by row.

    Args:
        a: [M, K].
        block: (r, c), or r for r x r.
        density: the fraction of blocks to keep, 0 to 1; rounded to whole blocks.
        per_row: keep this fraction of every block row, so that all rows cost the same.

    Returns:
        bool [ceil(M / r), ceil(K / c)], true where a block is kept.

    Raises:
        InvalidArgument: a is no matrix or has NaN, or the density is out of range.
    """
    norms = _block_norms(a, block)
    if per_row:
        return _largest_per_row(norms, _kept(norms.shape[1], density))
    return _largest(norms, _kept(norms.size, density))


def top_k_per_row(a: np.ndarray[Any, Any], block: int | tuple[int, int], k: int) -> np.ndarray[Any, Any]:
    """Keeps the k blocks of the largest Frobenius norm in every block row; of equal ones the first.

    Returns:
        bool [ceil(M / r), ceil(K / c)], with min(k, ceil(K / c)) blocks in every row.

    Raises:
        InvalidArgument: a is no matrix or has NaN, or k is negative.
    """
    if k < 0:
        raise InvalidArgument(f"k: expects 0 or more, but got {k}")
    return _largest_per_row(_block_norms(a, block), k)


def _largest_per_row(norms: np.ndarray[Any, Any], count: int) -> np.ndarray[Any, Any]:
    if not norms.size:
        return np.zeros(norms.shape, bool)
    return np.stack([_largest(row, count) for row in norms])


def random(shape: tuple[int, int], block: int | tuple[int, int], density: float, seed: int = 0) -> np.ndarray[Any, Any]:
    """Keeps random blocks, all choices equally likely; the same ones for the same seed.

    Args:
        shape: (M, K).
        block: (r, c), or r for r x r.
        density: the fraction of blocks to keep, 0 to 1; rounded to whole blocks.
        seed: of the random numbers.

    Returns:
        bool [ceil(M / r), ceil(K / c)].

    Raises:
        InvalidArgument: the density is out of range.
    """
    r, c = block_pair(block)
    rows, columns = -(-shape[0] // r), -(-shape[1] // c)
    mask = np.zeros(rows * columns, bool)
    mask[: _kept(mask.size, density)] = True
    return np.random.default_rng(seed).permutation(mask).reshape(rows, columns)
