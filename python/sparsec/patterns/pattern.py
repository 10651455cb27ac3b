# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pattern: which keys a query sees. It combines with others, and makes the lists of blocks that kernels take."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np

from sparsec.errors import InvalidArgument
from sparsec.options import block_sides, integer
from sparsec.patterns.buffer import PatternBuffer
from sparsec.patterns.lists import BlockLists
from sparsec.patterns.states import UNKNOWN, Array, Grid, both, either, inverse, state_of
from sparsec.tracing.graph import Graph
from sparsec.tracing.region import Region, trace

MaskMod = Callable[[Any, Any, Any, Any], Any]

_MOST_ELEMENTS = 1 << 20  # that are evaluated at a time


@dataclass(frozen=True)
class Sizes:
    """The sizes for which a pattern was made; None where it serves all."""

    batches: int | None = None
    heads: int | None = None
    queries: int | None = None
    keys: int | None = None

    def merged(self, other: Sizes) -> Sizes:
        for name, mine in vars(self).items():
            theirs = getattr(other, name)
            if mine is not None and theirs is not None and mine != theirs:
                raise InvalidArgument(f"patterns for {mine} and for {theirs} {name} are combined")
        return Sizes(
            *(getattr(self, name) if getattr(other, name) is None else getattr(other, name) for name in vars(self))
        )


# By identity. torch.compile takes numbers as constants, and not in all versions objects.
_patterns: weakref.WeakValueDictionary[int, Pattern] = weakref.WeakValueDictionary()


def pattern_of(number: int) -> Pattern:
    """The pattern that lives and has this identity."""
    return _patterns[number]


class Pattern:
    """A condition on a batch, a head, a query and a key. `&`, `|` and `~` combine patterns.

    Query i and key i have the same position, as in FlexAttention, unless a pattern has an `offset`.
    """

    sizes = Sizes()

    def __new__(cls, *_: Any, **__: Any) -> Self:
        self = super().__new__(cls)
        _patterns[id(self)] = self
        return self

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        """The condition, for traced values: a mask_mod of FlexAttention."""
        raise NotImplementedError

    def classify(self, grid: Grid) -> Array:
        """What is known of every block: states that broadcast to the shape of the grid."""
        return np.full((1, 1, 1, 1), UNKNOWN, np.uint8)

    def mask_mod(self, block: tuple[int, int]) -> MaskMod | None:
        """Returns the condition for partial blocks of lists with blocks of this size, or None where there is none."""
        return self.visible

    def lists(
        self,
        queries: int,
        keys: int | None = None,
        block: int | tuple[int, int] = 128,
        heads: int | None = None,
        *,
        batches: int | None = None,
        device: Any = None,
    ) -> BlockLists:
        """The full and the partial blocks of every block of queries.

        A block is full if all of its elements are visible, and it is in no list if none is. Blocks that the kind of the
        pattern does not decide are evaluated element by element; those of a predicate all are.

        Args:
            queries, keys: Sq and Skv; None: as many keys as queries.
            block: queries and keys of a block, or both in one number.
            heads, batches: how many there are, if the condition depends on them and no array of the pattern says it.
                Lists are shared if it does not depend on them.
            device: a device of PyTorch, such as "cuda", for lists as tensors; None: lists as NumPy's arrays.

        Raises:
            InvalidArgument: an option does not fit the pattern. The text names it.
        """
        grid = self._grid(queries, queries if keys is None else keys, block, heads, batches)
        lists = BlockLists.from_states(self._block_states(grid), grid.queries, grid.keys, grid.block)
        return lists if device is None else lists.to(device)

    def buffer(
        self,
        queries: int,
        keys: int | None = None,
        block: int | tuple[int, int] = 128,
        heads: int | None = None,
        *,
        batches: int | None = None,
        device: Any = None,
    ) -> PatternBuffer:
        """Lists that change in place: from the arrays that this pattern reads, or from masks or scores of blocks.

        They have room for every block, 8 bytes for each, and begin as those of `lists`. A CUDA graph can hold an update
        together with the attention that it is for.

        Args:
            queries, keys: as of lists.
            block: as of lists; with a device 64 or 128.
            heads, batches: how many have lists of their own; None: as many as the condition needs.
            device: a device of PyTorch, for lists as tensors. On a GPU updates then run there, by a kernel that is
                compiled now. Arrays that the pattern captured are read there: tensors of the device by reference, and
                copies of all others, whose changes are not seen. None: lists as NumPy's arrays, which NumPy updates.

        Raises:
            InvalidArgument: an option does not fit the pattern. The text names it.
        """
        needed = self._grid(queries, queries if keys is None else keys, block, heads, batches)
        own = (needed.batches if batches is None else batches, needed.heads if heads is None else heads)
        grid = Grid(needed.queries, needed.keys, needed.block, *own)
        return PatternBuffer(grid, self.visible, lambda: self._block_states(grid), device)

    def dense(
        self, queries: int, keys: int | None = None, *, heads: int | None = None, batches: int | None = None
    ) -> Array:
        """The condition of every element.

        Args:
            queries, keys, heads, batches: as of lists.

        Returns:
            booleans [batches, heads, queries, keys]; a size is 1 where the condition does not depend on it.

        Raises:
            InvalidArgument: an option does not fit the pattern. The text names it.
        """
        grid = self._grid(queries, queries if keys is None else keys, 1, heads, batches)
        b, h = grid.places
        places = {"b": b, "h": h, "q_idx": grid.query_range[0], "kv_idx": grid.key_range[0]}
        return np.broadcast_to(self._region.evaluate(**places), grid.shape)

    @cached_property
    def _region(self) -> Region:
        arguments = [(name, "i32") for name in ("b", "h", "q_idx", "kv_idx")]
        return trace(self.visible, arguments, "i1", Graph(integers=True), "the condition of a pattern")

    def _grid(self, queries: int, keys: int, block: Any, heads: int | None, batches: int | None) -> Grid:
        given = {"batches": batches, "heads": heads, "queries": queries, "keys": keys}
        for name, size in given.items():
            mine = getattr(self.sizes, name)
            if size is not None and integer(name, size, 0) != mine and mine is not None:
                raise InvalidArgument(f"{name} is {size}, but the pattern was made for {mine} {name}")
        own = (self._own("batches", "b", batches), self._own("heads", "h", heads))
        return Grid(int(queries), int(keys), block_sides(block), *own)

    def _own(self, name: str, argument: str, given: int | None) -> int:
        """How many batches or heads have lists of their own."""
        if not self._region.uses(argument):
            return 1
        size = given if given is not None else getattr(self.sizes, name)
        if size is None:
            raise InvalidArgument(f"{name} is not given, but the condition of the pattern depends on '{argument}'")
        return int(size)

    def _block_states(self, grid: Grid) -> Array:
        """The state of every block."""
        return self._decided(np.broadcast_to(self.classify(grid), grid.shape).copy(), grid)

    def _decided(self, states: Array, grid: Grid) -> Array:
        """The states, of which those that are unknown are found element by element."""
        unknown = np.argwhere(states == UNKNOWN)
        count = max(1, _MOST_ELEMENTS // (grid.block[0] * grid.block[1]))
        for start in range(0, len(unknown), count):
            b, h, row, column = unknown[start : start + count].T[:, :, None, None]
            # Places beyond the end stand for the last one: they change neither "all" nor "any".
            q_idx = np.minimum(row * grid.block[0] + np.arange(grid.block[0])[:, None], grid.queries - 1)
            kv_idx = np.minimum(column * grid.block[1] + np.arange(grid.block[1]), grid.keys - 1)
            visible = self._region.evaluate(b=b, h=h, q_idx=q_idx, kv_idx=kv_idx)
            visible = np.broadcast_to(visible, (len(row), *grid.block))
            states[tuple(unknown[start : start + count].T)] = state_of(visible.all((1, 2)), visible.any((1, 2)))
        return states

    def __and__(self, other: Any) -> Pattern:
        return _And(self, other) if isinstance(other, Pattern) else NotImplemented

    def __or__(self, other: Any) -> Pattern:
        return _Or(self, other) if isinstance(other, Pattern) else NotImplemented

    def __invert__(self) -> Pattern:
        return _Not(self)

    def __bool__(self) -> NoReturn:
        raise TypeError("a pattern has no truth value: write & | ~ for and, or, not")


class _And(Pattern):
    def __init__(self, left: Pattern, right: Pattern) -> None:
        self._left, self._right, self.sizes = left, right, left.sizes.merged(right.sizes)

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return self._left.visible(b, h, q_idx, kv_idx) & self._right.visible(b, h, q_idx, kv_idx)

    def classify(self, grid: Grid) -> Array:
        return both(self._left.classify(grid), self._right.classify(grid))

    def mask_mod(self, block: tuple[int, int]) -> MaskMod | None:
        left, right = self._left.mask_mod(block), self._right.mask_mod(block)
        if left is None or right is None:
            return left or right
        return lambda b, h, q_idx, kv_idx: left(b, h, q_idx, kv_idx) & right(b, h, q_idx, kv_idx)


class _Or(Pattern):
    def __init__(self, left: Pattern, right: Pattern) -> None:
        self._left, self._right, self.sizes = left, right, left.sizes.merged(right.sizes)

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return self._left.visible(b, h, q_idx, kv_idx) | self._right.visible(b, h, q_idx, kv_idx)

    def classify(self, grid: Grid) -> Array:
        return either(self._left.classify(grid), self._right.classify(grid))


class _Not(Pattern):
    def __init__(self, operand: Pattern) -> None:
        self._operand, self.sizes = operand, operand.sizes

    def visible(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return ~self._operand.visible(b, h, q_idx, kv_idx)

    def classify(self, grid: Grid) -> Array:
        return inverse(self._operand.classify(grid))
