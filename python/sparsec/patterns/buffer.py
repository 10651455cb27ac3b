# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists of a fixed capacity that are written again and again: arrays of NumPy by NumPy, PyTorch's by the runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from sparsec import arrays, devices, module, programs
from sparsec.errors import InvalidArgument
from sparsec.options import integer, torch_for
from sparsec.patterns.lists import BlockLists
from sparsec.patterns.states import EMPTY, FULL, PARTIAL, Array, Grid, best_blocks
from sparsec.tracing.graph import host_array

# Types, and dimensions with batches and heads, of the arrays that updates take.
_ARRAYS = {"mask": (("bool", "uint8"), 4), "scores": (("float32",), 4), "counts": (("int32",), 3)}
_HEAD_DIMENSION = 64  # of the kernel whose mask region is the condition: any would do, its attention never runs


class PatternBuffer:
    """Lists with room for every block, whose contents change in place. Made by Pattern.buffer.

    Attributes:
        lists: the lists that calls of kernels take. It stays the same object with the same arrays, so that plans,
            launchers and captured CUDA graphs stay valid.
    """

    def __init__(self, grid: Grid, mask_mod: Callable[..., Any], states: Callable[[], Array], device: Any) -> None:
        """Makes the lists, and fills them from the pattern.

        Args:
            grid: the blocks.
            mask_mod: the condition of the pattern.
            states: evaluates the condition with NumPy and returns the state of every block.
            device: as of Pattern.buffer.
        """
        self._writer = _NumpyWriter(grid, states) if device is None else _TorchWriter(grid, mask_mod, device)
        self.lists: BlockLists = self._writer.lists
        self.update()

    def update(self) -> None:
        """Writes the lists of the pattern, from the present contents of the arrays that it reads.

        With lists on a GPU this is one kernel on torch's current stream, which evaluates every element. It waits for
        nothing, and a CUDA graph can capture it.
        """
        self._writer.update()

    def update_from_mask(self, mask: Any) -> None:
        """Writes other lists: those of a mask of blocks. The mask of an attention kernel still applies in partial ones.

        With lists on a GPU this is one kernel on torch's current stream. It waits for nothing, and a CUDA graph can
        capture it.

        Args:
            mask: block rows x block columns, on the device of the lists: booleans, of which the true ones are full
                blocks, or uint8: 0 empty, 1 full, 2 partial. On a GPU other numbers are empty blocks. Heads, or batches
                x heads, come before the rows; 1 stands for all.

        Raises:
            InvalidArgument: the mask has another shape, type or device, or, on the host, another number.
        """
        self._writer.update_from_mask(mask)

    def update_from_scores(self, scores: Any, k: int, *, counts: Any = None, mask: Any = None) -> None:
        """Writes other lists: every block of queries visits the k blocks of keys with the highest scores.

        Of equal scores it visits the first ones. A block with the score NaN or -inf is never visited, so that a list
        may have fewer. With lists on a GPU this is one kernel on torch's current stream. It waits for nothing, and a
        CUDA graph can capture it.

        Args:
            scores: block rows x block columns, float32, on the device of the lists. Heads, or batches x heads, come
                before the rows; 1 stands for all.
            k: the most blocks of a list; all, if there are fewer.
            counts: [block rows], int32, with heads or batches x heads before them: the most blocks of each list, if
                lists are to differ. k is the most of all. None: k.
            mask: as of update_from_mask: the blocks that may be visited, and whether they are full or partial. None:
                all may be, as full blocks. The states of other lists are such a mask.

        Raises:
            InvalidArgument: k is no int or below 0, or an array has another shape, type or device.
        """
        self._writer.update_from_scores(scores, min(integer("k", k, 0), self.lists.capacity), counts, mask)


class _NumpyWriter:
    def __init__(self, grid: Grid, states: Callable[[], Array]) -> None:
        self._shape, self._states = grid.shape, states
        starts, indices = (np.zeros((2, *shape), np.int32) for shape in (grid.shape[:3], grid.shape))
        self.lists = BlockLists(grid.queries, grid.keys, grid.block, starts[0], indices[0], starts[1], indices[1])

    def update(self) -> None:
        self._write(self._states())

    def update_from_mask(self, mask: Any) -> None:
        self._write(self._states_of(mask))

    def update_from_scores(self, scores: Any, k: int, counts: Any, mask: Any) -> None:
        states = np.uint8(FULL) if mask is None else self._states_of(mask)
        limits = np.int32(k) if counts is None else np.minimum(self._array("counts", counts), k)
        values = np.where(states == EMPTY, -np.inf, self._array("scores", scores))
        chosen = best_blocks(values, np.broadcast_to(limits, self._shape[:3]))
        self._write(np.where(chosen, states, EMPTY).astype(np.uint8))

    def _states_of(self, mask: Any) -> Array:
        states = self._array("mask", mask)
        if (states > PARTIAL).any():
            raise InvalidArgument(f"mask has the state {states.max()}, but expects 0 (empty), 1 (full) or 2 (partial)")
        return states

    def _array(self, name: str, value: Any) -> Array:
        """The array in the shape of the lists."""
        array = host_array(value)
        expected = _check(name, array.shape, str(array.dtype), self._shape)
        return np.broadcast_to(array, expected)

    def _write(self, states: Array) -> None:
        made = BlockLists.from_states(states, self.lists.queries, self.lists.keys, self.lists.block)
        self.lists.full_starts[:], self.lists.partial_starts[:] = made.full_starts, made.partial_starts
        self.lists.full_indices[..., : made.capacity] = made.full_indices
        self.lists.partial_indices[..., : made.capacity] = made.partial_indices


class _TorchWriter:
    """Tensors whose memory the runtime owns and writes, by the kernels that every kernel with a pattern has."""

    def __init__(self, grid: Grid, mask_mod: Callable[..., Any], device: Any) -> None:
        self._torch, self._shape = torch_for(device), grid.shape
        self._place = self._torch.empty(0, device=device)
        if self._place.device.type not in ("cpu", "cuda"):
            raise InvalidArgument(f"device is {device!r}, but expects one of type cpu or cuda")
        program = programs.attention(
            _HEAD_DIMENSION, pattern=True, block=grid.block, mask_mod=mask_mod, name="pattern_builder"
        ).to(self._place.device)
        ordinal = int(self._place.get_device())
        compiled = module.compile(program, devices.target_of_device(ordinal))[program.name]
        kernel, _ = compiled.file.native_kernel(compiled.name, ordinal)
        # The region loads from what it captured, and from no other argument.
        self._arguments = [program.captures.get(argument.name) for argument in compiled.info.arguments]
        self._native = kernel.pattern_buffer(grid.queries, grid.keys, grid.block, grid.batches, grid.heads)
        shapes = (grid.shape[:3], grid.shape) * 2
        self.lists = BlockLists(grid.queries, grid.keys, grid.block, *map(self._tensor, self._native.pointers, shapes))

    def update(self) -> None:
        stream = arrays.current_stream([self._place])
        views = tuple(None if each is None else arrays.dense(each, stream) for each in self._arguments)
        self._native.update_from_predicate(views, stream)

    def update_from_mask(self, mask: Any) -> None:
        states = self._contiguous("mask", mask)
        self._native.update_from_mask(states.data_ptr(), arrays.current_stream([self._place]))

    def update_from_scores(self, scores: Any, k: int, counts: Any, mask: Any) -> None:
        values = self._contiguous("scores", scores)
        limits = None if counts is None else self._contiguous("counts", counts)
        states = None if mask is None else self._contiguous("mask", mask)
        stream = arrays.current_stream([self._place])
        self._native.update_from_scores(values.data_ptr(), k, _pointer(limits), _pointer(states), stream)

    def _contiguous(self, name: str, value: Any) -> Any:
        """The tensor in the shape of the lists, contiguous."""
        if not isinstance(value, self._torch.Tensor) or value.device != self._place.device:
            place = value.device if isinstance(value, self._torch.Tensor) else type(value).__name__
            raise InvalidArgument(f"{name}: expects a tensor on {self._place.device}, but got {place}")
        shape = _check(name, tuple(value.shape), str(value.dtype).removeprefix("torch."), self._shape)
        return value.detach().expand(shape).contiguous()

    def _tensor(self, pointer: int, shape: Sequence[int]) -> Any:
        """A tensor of memory of the native buffer, which it keeps alive."""
        if 0 in shape:
            return self._torch.zeros(shape, dtype=self._torch.int32, device=self._place.device)
        interface = {"shape": tuple(shape), "typestr": "<i4", "data": (pointer, False), "version": 3}
        if self._place.is_cuda:
            holder = SimpleNamespace(__cuda_array_interface__=interface, owner=self._native)
            return self._torch.as_tensor(holder, device=self._place.device)
        return self._torch.from_numpy(np.asarray(SimpleNamespace(__array_interface__=interface, owner=self._native)))


def _pointer(tensor: Any) -> int:
    """The address of its elements; 0 for None."""
    return 0 if tensor is None else int(tensor.data_ptr())


def _check(name: str, shape: tuple[int, ...], dtype: str, lists: tuple[int, ...]) -> tuple[int, ...]:
    """Refuses an array that does not fit lists of this shape; returns the shape that it is to be expanded to."""
    dtypes, dimensions = _ARRAYS[name]
    if dtype not in dtypes:
        raise InvalidArgument(f"{name} has dtype {dtype}, but expects {' or '.join(dtypes)}")
    expected = lists[:dimensions]
    full = (1,) * (dimensions - len(shape)) + shape
    fits = len(shape) >= dimensions - 2 and full[2:] == expected[2:]
    if not fits or any(mine not in (1, size) for mine, size in zip(full[:2], expected, strict=False)):
        raise InvalidArgument(f"{name} has shape {shape}, but the lists are those of {expected}")
    return expected
