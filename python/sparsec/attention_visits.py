# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which blocks of scores attention visits, and which of their elements count: for its gradients, of torch and JAX.

The blocks of all batches and heads are those of one block-sparse matrix. Its rows are the queries of all batches and
heads, padded to whole blocks. Its columns are the keys of all batches and key heads, so that the heads of a group share
columns.

The functions compute with operators alone: they take arrays of any one library, which broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = [
    "SIDE",
    "Limits",
    "Shape",
    "arguments_of",
    "block_count",
    "is_checked",
    "is_reached",
    "is_visible",
    "limits_of",
    "matrix_block",
    "matrix_shape",
]

SIDE = 64  # queries and keys of a block where there are no lists


class Shape(NamedTuple):
    """Sizes of attention."""

    batches: int
    heads: int
    key_heads: int
    queries: int
    keys: int


class Limits(NamedTuple):
    """The keys that a query may see before and behind its position, which is aligned at the bottom right; -1: all."""

    left: int
    right: int


def limits_of(causal: bool, window: tuple[int, int] | None) -> tuple[int, int]:
    """The limits of these options of attention."""
    left, right = (-1, -1) if window is None else window
    return left, 0 if causal else right


def block_count(size: int, side: int) -> int:
    """How many blocks hold so many elements."""
    return -(-size // side)


def matrix_shape(shape: Shape, sides: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of the matrix. sides: queries and keys of a block."""
    rows, columns = block_count(shape.queries, sides[0]), block_count(shape.keys, sides[1])
    return shape.batches * shape.heads * rows * sides[0], shape.batches * shape.key_heads * columns * sides[1]


def matrix_block(shape: Shape, sides: tuple[int, int], b: Any, h: Any, i: Any, j: Any) -> tuple[Any, Any]:
    """Block row and block column in the matrix.

    Args:
        shape: of the attention.
        sides: queries and keys of a block.
        b, h, i, j: batch, head, and block row and block column in them.
    """
    rows, columns = block_count(shape.queries, sides[0]), block_count(shape.keys, sides[1])
    group = shape.heads // shape.key_heads
    return (b * shape.heads + h) * rows + i, (b * shape.key_heads + h // group) * columns + j


def _edges(shape: Shape, sides: tuple[int, int], i: Any, j: Any) -> tuple[Any, Any, Any, Any]:
    """The first and the last position of a block, and its first and last key."""
    first, least = i * sides[0] + (shape.keys - shape.queries), j * sides[1]
    return first, first + sides[0] - 1, least, least + sides[1] - 1


def is_reached(shape: Shape, limits: Limits, sides: tuple[int, int], i: Any, j: Any) -> Any:
    """Whether a query of a block sees a key of it, as far as the limits say. i, j: block row and block column."""
    first, last, least, most = _edges(shape, sides, i, j)
    result = (i >= 0) & (j >= 0)  # of the shape to which both broadcast
    if limits.left >= 0:
        result = result & (most >= first - limits.left)
    if limits.right >= 0:
        result = result & (least <= last + limits.right)
    return result


def is_checked(shape: Shape, limits: Limits, sides: tuple[int, int], i: Any, j: Any, is_masked: Any) -> Any:
    """Whether not all elements of a block are visible, for all that is known of it.

    Args:
        shape, limits, sides, i, j: as of is_reached.
        is_masked: whether the block has a mask.
    """
    first, last, least, most = _edges(shape, sides, i, j)
    result = is_masked | (most >= shape.keys)
    if limits.left >= 0:
        result = result | (least < last - limits.left)
    if limits.right >= 0:
        result = result | (most > first + limits.right)
    return result


def is_visible(
    shape: Shape,
    limits: Limits,
    b: Any,
    h: Any,
    q: Any,
    k: Any,
    mask: Callable[[Mapping[str, Any]], Any] | None,
    is_partial: Any,
) -> Any:
    """Whether a query sees a key. Queries behind the last one may see any.

    Args:
        shape, limits: of the attention.
        b, h, q, k: batch, head, and number of the query and the key.
        mask: takes the arguments of a mask_mod by their names; None: there is none.
        is_partial: whether the mask counts.
    """
    position = q + (shape.keys - shape.queries)
    result = k < shape.keys
    if limits.left >= 0:
        result = result & (k >= position - limits.left)
    if limits.right >= 0:
        result = result & (k <= position + limits.right)
    if mask is not None:
        result = result & (mask(arguments_of(shape, b, h, q, k)) | ~is_partial)
    return result


def arguments_of(shape: Shape, b: Any, h: Any, q: Any, k: Any) -> dict[str, Any]:
    """What functions get by their names, for batch, head, query and key. Padding gets places inside."""
    return {"b": b, "h": h, "q_idx": q.clip(max=shape.queries - 1), "kv_idx": k.clip(max=shape.keys - 1)}
