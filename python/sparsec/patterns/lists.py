# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lists of key blocks that every block of queries visits."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from sparsec.errors import InvalidArgument, InvalidPattern
from sparsec.options import integer, on_device
from sparsec.patterns.states import EMPTY, FULL, PARTIAL, Array, Grid
from sparsec.pictures import Picture, draw_states
from sparsec.tracing.graph import host_array


@dataclass(frozen=True, eq=False)
class BlockLists:
    """Padded lists of key blocks: the pattern argument of an attention kernel. Batches or heads that are 1 are shared.

    The mask of a kernel applies in partial blocks only. The arrays are of NumPy, PyTorch or another library, on one
    device. The lists of one kind may be None: there are none.

    Attributes:
        queries, keys: Sq and Skv.
        block: queries and keys of a block.
        full_starts, partial_starts: [batches, heads, block rows], int32: how many blocks each list has.
        full_indices, partial_indices: [batches, heads, block rows, capacity], int32: each list begins with that many
            block columns.
        padded: the encoding: every list has room for `capacity` entries.
        static: the contents stay the same as long as the object lives, so that the plans that calls make may hold them
            in another order. Other contents then give wrong results on a GPU; the host refuses them.
    """

    queries: int
    keys: int
    block: tuple[int, int]
    full_starts: Any
    full_indices: Any
    partial_starts: Any
    partial_indices: Any
    padded: bool = True
    static: bool = False

    @classmethod
    def from_states(cls, states: Array, queries: int, keys: int, block: tuple[int, int]) -> BlockLists:
        """Makes ascending lists.

        Args:
            states: [batches, heads, block rows, block columns]: 0 empty, 1 full, 2 partial.
            queries, keys, block: as of the attributes.
        """
        kinds = [states == FULL, states == PARTIAL]
        capacity = max(int(kind.sum(axis=-1).max(initial=0)) for kind in kinds)
        (full_starts, full_indices), (partial_starts, partial_indices) = (_padded(kind, capacity) for kind in kinds)
        return cls(queries, keys, block, full_starts, full_indices, partial_starts, partial_indices)

    @classmethod
    def from_flex(cls, block_mask: Any) -> BlockLists:
        """The lists of a BlockMask of FlexAttention: its own tensors, on its device."""
        queries, keys = block_mask.seq_lengths
        return cls(
            int(queries),
            int(keys),
            (int(block_mask.BLOCK_SIZE[0]), int(block_mask.BLOCK_SIZE[1])),
            block_mask.full_kv_num_blocks,
            block_mask.full_kv_indices,
            block_mask.kv_num_blocks,
            block_mask.kv_indices,
        )

    def to(self, device: Any) -> BlockLists:
        """The lists as PyTorch's tensors on a device, such as "cuda". Raises InvalidArgument without PyTorch."""
        names = ("full_starts", "full_indices", "partial_starts", "partial_indices")
        return dataclasses.replace(self, **{name: on_device(getattr(self, name), device) for name in names})

    @property
    def batches(self) -> int:
        """How many batches have lists of their own."""
        return int(self._shape[0])

    @property
    def heads(self) -> int:
        """How many heads have lists of their own."""
        return int(self._shape[1])

    @property
    def capacity(self) -> int:
        """The entries that every list has room for."""
        return int(self._shape[3])

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(self.full_indices.shape if self.partial_indices is None else self.partial_indices.shape)

    @property
    def _kinds(self) -> list[tuple[str, int, Array, Array]]:
        """Name, state, starts and indices of the kinds that there are, in memory of the host."""
        kinds = (
            ("full", FULL, self.full_starts, self.full_indices),
            ("partial", PARTIAL, self.partial_starts, self.partial_indices),
        )
        return [(*kind[:2], host_array(kind[2]), host_array(kind[3])) for kind in kinds if kind[2] is not None]

    @cached_property
    def _grid(self) -> Grid:
        return Grid(self.queries, self.keys, self.block, self.batches, self.heads)

    @property
    def states(self) -> Array:
        """The state of every block: batches x heads x block rows x block columns, uint8. 0 empty, 1 full, 2 partial."""
        states = np.full(self._grid.shape, EMPTY, np.uint8)
        for _, state, starts, indices in self._kinds:
            places = np.nonzero(np.arange(self.capacity) < starts[..., None])
            states[(*places[:3], indices[places])] = state
        return states

    @property
    def density(self) -> float:
        """Visited blocks, full and partial, divided by all blocks; 0 if there are no blocks."""
        blocks = int(np.prod(self._grid.shape))
        return float(sum(starts.sum() for _, _, starts, _ in self._kinds)) / blocks if blocks else 0.0

    def flops(self, head_dim: int, *, batches: int | None = None, heads: int | None = None) -> int:
        """The useful flops of attention: 4 * D for each query and key of a visited block.

        Args:
            head_dim: D.
            batches, heads: how many there are, if they share lists; None: as many as have lists of their own.

        Raises:
            InvalidArgument: another number than that of the lists, if they do not share them.
        """
        rows, columns = (last - first + 1 for first, last in (self._grid.query_range, self._grid.key_range))
        pairs = int(((self.states != EMPTY) * (rows * columns)).sum())
        for option, given, own in (("batches", batches, self.batches), ("heads", heads, self.heads)):
            if given is not None and integer(option, given, 0) != own and own != 1:
                raise InvalidArgument(f"{option} is {given}, but the lists are those of {own} {option}")
            pairs *= given if given is not None and own == 1 else 1
        return 4 * head_dim * pairs

    def check(self) -> None:
        """Raises InvalidPattern if a count is above the capacity, or a block is out of range, or in a row twice."""
        visits = np.zeros(self._grid.shape, np.int64)
        expected, columns = visits.shape[:-1], visits.shape[-1]
        for kind, _, starts, indices in self._kinds:
            if starts.shape != expected or indices.shape != (*expected, self.capacity):
                raise InvalidPattern(
                    f"{kind} lists have starts of shape {starts.shape} and indices of shape {indices.shape}, "
                    f"but expect {expected} and {(*expected, self.capacity)}"
                )
            _refuse((starts < 0) | (starts > self.capacity), f"{kind} blocks, of {self.capacity}", starts)
            is_used = np.arange(self.capacity) < starts[..., None]
            is_outside = is_used & ((indices < 0) | (indices >= columns))
            _refuse(is_outside, f"as a {kind} block, of {columns} columns", indices)
            places = np.nonzero(is_used)
            np.add.at(visits, (*places[:3], indices[places]), 1)
        _refuse(visits > 1, "twice", np.broadcast_to(np.arange(columns), visits.shape))

    def draw(self, *, batch: int = 0, head: int = 0, rows: int = 64, columns: int = 96) -> Picture:
        """A picture of the blocks of one batch and head: text in a terminal, SVG in a notebook.

        Args:
            batch, head: which lists, of those that have their own.
            rows, columns: the most that the picture has. Of more rows it has a sample, and it merges columns.

        Raises:
            InvalidArgument: there is no such batch or head, or no room for a row or a column.
        """
        integer("batch", batch, 0, self.batches - 1)
        integer("head", head, 0, self.heads - 1)
        title = f"{self.queries} queries x {self.keys} keys in blocks of {self.block[0]} x {self.block[1]}"
        if self.batches > 1 or self.heads > 1:
            title += f", batch {batch}, head {head}"
        states = self.states[batch, head]
        return draw_states(states, f"{title}, density {self.density:.3g}", rows=rows, columns=columns)

    def _repr_svg_(self) -> str:
        return self.draw().svg()

    def save(self, path: str | PathLike[str], **options: Any) -> None:
        """Writes the picture of `draw(**options)` to an .svg or .txt file."""
        self.draw(**options).save(path)


def _padded(selected: Array, capacity: int) -> tuple[Array, Array]:
    """Counts, and ascending indices of what is selected along the last axis; 0 behind them."""
    counts = selected.sum(axis=-1, dtype=np.int32)
    order = np.argsort(~selected, axis=-1, kind="stable")[..., :capacity]
    is_used = np.arange(order.shape[-1]) < counts[..., None]
    return counts, np.where(is_used, order, 0).astype(np.int32)


def _refuse(is_wrong: Array, what: str, values: Array) -> None:
    """Raises InvalidPattern with the first wrong value and its place."""
    places = np.argwhere(is_wrong)
    if len(places):
        batch, head, row = places[0][:3]
        raise InvalidPattern(f"batch {batch}, head {head}, block row {row} has {values[tuple(places[0])]} {what}")
