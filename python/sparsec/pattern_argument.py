# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block patterns as kernels of attention take them: the condition when they are made, the lists in each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from . import _native
from .errors import InvalidArgument


@runtime_checkable
class BlockPattern(Protocol):
    """A condition on a batch, a head, a query and a key, as sparsec.patterns makes it."""

    def lists(self, queries: int) -> Any:
        """The key blocks that each query block visits."""

    def mask_mod(self, block: tuple[int, int]) -> Callable[[Any, Any, Any, Any], Any] | None:
        """Returns the condition for partial blocks of lists with blocks of this size, or None where there is none."""


@runtime_checkable
class BlockLists(Protocol):
    """The key blocks that each query block visits, in int32 arrays of NumPy, torch or another library.

    A list belongs to each batch, head and query block, in this order. The object is hashed by its identity and has weak
    references, because plans live as long as it does. Its attributes stay the same; the contents of arrays may change,
    unless it has an attribute `static` that is true.

    Attributes:
        queries, keys: numbers of queries and keys.
        block: queries and keys in a block.
        batches, heads: how many have lists of their own; 1: all have the same.
        padded: starts are counts, and list i is indices[i * capacity] up to indices[i * capacity + starts[i]], where
            indices has `capacity` entries for each list. Otherwise there is one more start than lists, and list i is
            indices[starts[i]] up to indices[starts[i + 1]].
        full_starts, full_indices: the blocks without the mask region; None: there are none.
        partial_starts, partial_indices: the blocks to which the mask region applies; None: there are none.
    """

    queries: int
    keys: int
    block: tuple[int, int]
    batches: int
    heads: int
    padded: bool
    full_starts: Any
    full_indices: Any
    partial_starts: Any
    partial_indices: Any


def _elements(array: Any) -> int:
    count = 1
    for size in array.shape:
        count *= size
    return count


def pattern_blocks(lists: Any, check: bool) -> _native.Blocks:
    """Makes the native view of lists.

    Raises:
        InvalidArgument: the object has no lists, or its arrays are too short or of another type.
    """
    if not isinstance(lists, BlockLists):
        raise InvalidArgument(f"expects lists of a pattern, but got {type(lists).__name__}")
    rows = lists.batches * lists.heads * -(-lists.queries // lists.block[0])
    capacities = [_elements(indices) for indices in (lists.full_indices, lists.partial_indices) if indices is not None]
    capacity = max(capacities, default=0)
    if lists.padded:
        capacity = min(capacities, default=0) // max(rows, 1)
    return _native.Blocks(
        lists.queries,
        lists.keys,
        lists.block,
        lists.full_starts,
        lists.full_indices,
        lists.partial_starts,
        lists.partial_indices,
        None,
        0,
        capacity,
        lists.padded,
        lists.batches,
        lists.heads,
        check,
    )
