# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The blocks that attention visits, as tensors of the pattern of one block-sparse matrix (see attention_visits)."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch

from sparsec import arrays
from sparsec.attention_visits import (
    SIDE,
    Limits,
    Shape,
    arguments_of,
    block_count,
    is_checked,
    is_reached,
    is_visible,
    matrix_block,
    matrix_shape,
)
from sparsec.errors import InvalidArgument
from sparsec.torch.library import forget
from sparsec.torch.region_values import TracedFunction

__all__ = ["VisitedBlocks", "blocks_of_limits", "blocks_of_lists"]

_MOST_FORMS = 16  # that the lists of a pattern keep, and that are kept without lists
_BLOCKS_OF_A_PART = 1024  # whose masks are evaluated at once

Lists: TypeAlias = "Sequence[torch.Tensor | None]"  # starts and indices of full blocks, and of partial ones


@dataclass(frozen=True)
class VisitedBlocks:
    """The blocks in the order of the matrix: ascending in each row.

    Attributes:
        shape, limits: of the attention.
        sides: queries and keys of a block.
        row_ptr, col_idx: the pattern of the matrix, int32.
        places: [blocks, 4], int32: batch, head, and number of the first query and key of each block.
        is_partial: [blocks]: whether the mask counts in a block.
        checked: the numbers of the blocks whose elements are not all visible, for all that is known of them.
    """

    shape: Shape
    limits: Limits
    sides: tuple[int, int]
    row_ptr: torch.Tensor
    col_idx: torch.Tensor
    places: torch.Tensor
    is_partial: torch.Tensor
    checked: torch.Tensor

    @property
    def rows(self) -> int:
        """The number of rows of the matrix."""
        return matrix_shape(self.shape, self.sides)[0]

    @property
    def columns(self) -> int:
        """The number of columns of the matrix."""
        return matrix_shape(self.shape, self.sides)[1]

    def hide_(self, values: torch.Tensor, mask: TracedFunction | None, arrays: Sequence[torch.Tensor]) -> None:
        """Makes the elements of [blocks, r, c] that no query sees zero.

        Args:
            values: one element for each score of a block.
            mask: of the partial blocks; None: they have none.
            arrays: what the mask reads.
        """
        for part in self.checked.split(_BLOCKS_OF_A_PART):
            values[part] = values[part].masked_fill_(~self.visible(part, mask, arrays), 0)

    def visible(self, part: torch.Tensor, mask: TracedFunction | None, arrays: Sequence[torch.Tensor]) -> torch.Tensor:
        """Which elements of these blocks a query sees: bool, which broadcasts to [blocks, r, c]."""
        evaluate = None if mask is None else functools.partial(mask.evaluate, arrays=arrays)
        b, h, q, k = self._positions(part)
        return is_visible(self.shape, self.limits, b, h, q, k, evaluate, self.is_partial[part, None, None])

    def arguments(self, part: torch.Tensor) -> dict[str, torch.Tensor]:
        """What functions get of the elements of these blocks beside the score."""
        return arguments_of(self.shape, *self._positions(part))

    def _positions(self, part: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Batch, head, query and key of each element of these blocks: int32, which broadcast to [blocks, r, c]."""
        b, h, q, k = self.places[part][:, :, None, None].unbind(1)
        q = q + torch.arange(self.sides[0], dtype=torch.int32, device=q.device)[:, None]
        return b, h, q, k + torch.arange(self.sides[1], dtype=torch.int32, device=k.device)


def _blocks(
    shape: Shape, limits: Limits, sides: tuple[int, int], grid: torch.Tensor, is_partial: torch.Tensor, has_mask: bool
) -> VisitedBlocks:
    """The blocks of a list in any order.

    Args:
        shape, limits, sides: as of the attributes.
        grid: [blocks, 4], int64: batch, head, block row and block column of each block.
        is_partial: as of the attributes.
        has_mask: whether partial blocks have a mask.
    """
    b, h, i, j = grid.unbind(1)
    row, column = matrix_block(shape, sides, b, h, i, j)
    rows, columns = (size // side for size, side in zip(matrix_shape(shape, sides), sides, strict=True))
    order = torch.argsort(row * columns + column)
    counts = torch.bincount(row, minlength=rows)
    row_ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).int()
    is_masked = is_partial if has_mask else torch.zeros_like(is_partial)
    checked = is_checked(shape, limits, sides, i, j, is_masked)[order].nonzero().squeeze(1)
    places = torch.stack([b, h, i * sides[0], j * sides[1]], dim=1).int()
    return VisitedBlocks(shape, limits, sides, row_ptr, column[order].int(), places[order], is_partial[order], checked)


# ---- Without lists ---------------------------------------------------------------------------------------------------


@functools.lru_cache(_MOST_FORMS)
def blocks_of_limits(shape: Shape, limits: Limits, has_mask: bool, device: torch.device) -> VisitedBlocks:
    """The blocks in which a query sees a key, as far as the limits say.

    Raises:
        InvalidArgument: a CUDA graph is captured, and the shape is new to this function.
    """
    if arrays.is_capturing(-1 if device.index is None else device.index):
        raise InvalidArgument(
            "a CUDA graph cannot hold the first backward pass of attention for these sizes: call once before"
        )
    rows, columns = torch.arange(block_count(shape.queries, SIDE)), torch.arange(block_count(shape.keys, SIDE))
    is_visited = is_reached(shape, limits, (SIDE, SIDE), rows[:, None], columns)
    grid = is_visited.expand(shape.batches, shape.heads, -1, -1).nonzero().to(device)
    is_partial = torch.ones(len(grid), dtype=torch.bool, device=device)
    return _blocks(shape, limits, (SIDE, SIDE), grid, is_partial, has_mask)


# ---- With lists ------------------------------------------------------------------------------------------------------


class _Kept:
    """The blocks of lists, as long as one of their tensors lives, which are not kept."""

    def __init__(self, lists: Lists, key: int) -> None:
        drop = functools.partial(forget, _kept, key)
        self._tensors = [None if each is None else weakref.ref(each, drop) for each in lists]
        self._contents = [None if each is None else each.clone() for each in lists]
        self.blocks: dict[tuple[Shape, Limits, tuple[int, int], bool], VisitedBlocks] = {}

    def is_of(self, lists: Lists, static: bool) -> bool:
        """Whether these are its tensors and, if they are not static, have the contents that they had.

        The comparison waits for a GPU. A CUDA graph cannot hold it.
        """
        own = [None if each is None else each() for each in self._tensors]
        if any(mine is not each for mine, each in zip(own, lists, strict=True)):
            return False
        pairs = zip(self._contents, lists, strict=True)
        return static or all(old is None or new is None or torch.equal(old, new) for old, new in pairs)


_kept: dict[int, _Kept] = {}  # by the identity of the first tensor that is not None


def blocks_of_lists(
    lists: Lists, sides: tuple[int, int], shape: Shape, limits: Limits, has_mask: bool, static: bool
) -> VisitedBlocks:
    """The blocks of padded lists, kept as long as the lists have the same contents.

    Args:
        lists: starts and indices of full and of partial blocks, of batches and heads that may be 1.
        sides, shape, limits: as of VisitedBlocks.
        has_mask: whether partial blocks have a mask.
        static: the contents never change.

    Raises:
        InvalidArgument: a CUDA graph is captured, and the lists are new to this function or not static.
    """
    key = next(id(each) for each in lists if each is not None)
    found = _kept.get(key)
    form = shape, limits, sides, has_mask
    is_new = found is None or form not in found.blocks
    device = next(each for each in lists if each is not None).get_device()
    if (is_new or not static) and arrays.is_capturing(device):
        raise InvalidArgument(
            "pattern: a CUDA graph cannot hold a backward pass that reads lists anew: pass a Pattern, whose lists stay "
            "the same, and call once before"
        )
    if found is None or not found.is_of(lists, static):
        found = _kept[key] = _Kept(lists, key)
    if form not in found.blocks:
        if len(found.blocks) == _MOST_FORMS:
            del found.blocks[next(iter(found.blocks))]
        grid, is_partial = _grid_of(lists, shape)
        found.blocks[form] = _blocks(shape, limits, sides, grid, is_partial, has_mask)
    return found.blocks[form]


def _grid_of(lists: Lists, shape: Shape) -> tuple[torch.Tensor, torch.Tensor]:
    """Batch, head, block row and block column of each entry, and whether it is partial."""
    grids, kinds = [], []
    for is_partial, (starts, indices) in enumerate((lists[:2], lists[2:])):
        if starts is None or indices is None:
            continue
        starts = starts.expand(shape.batches, shape.heads, -1)
        indices = indices.expand(shape.batches, shape.heads, -1, -1)
        is_used = torch.arange(indices.shape[3], device=indices.device) < starts[..., None]
        places = is_used.nonzero()
        columns = indices[is_used].long()
        grids.append(torch.cat([places[:, :3], columns[:, None]], dim=1))
        kinds.append(torch.full_like(columns, is_partial, dtype=torch.bool))
    return torch.cat(grids), torch.cat(kinds)
