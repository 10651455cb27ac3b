# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of kernels as operations of XLA. The text of a kernel is an attribute of the call.

XLA asks for the kernel when it instantiates a computation: a computation that JAX kept on disk needs nothing else.
"""

from __future__ import annotations

import atexit
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from sparsec import _native, arrays, devices, dtypes, log, module
from sparsec.errors import Error, InvalidArgument
from sparsec.kernel import Kernel

__all__ = ["Blocks", "as_varying", "dtype_name", "expect_array", "launch"]

_TARGET = "sparsec"
_OLDEST = (0, 10)  # the first JAX whose interface (0.3) the handlers have


@dataclasses.dataclass(frozen=True)
class Blocks:
    """The numbers of a matrix or a pattern: the attribute `blocks` of a call.

    Attributes:
        rows, columns: elements; in attention queries and keys.
        block: rows and columns of a block.
        capacity: the number of blocks; of padded lists the entries of one.
        batches, heads: how many have lists of their own.
        is_padded: the encoding of lists.
        has_full, has_partial: the kinds of lists that are operands.
    """

    rows: int
    columns: int
    block: tuple[int, int]
    capacity: int
    batches: int = 1
    heads: int = 1
    is_padded: bool = False
    has_full: bool = True
    has_partial: bool = False

    def attribute(self) -> np.ndarray[Any, Any]:
        sizes = (self.rows, self.columns, *self.block, self.batches, self.heads, self.capacity)
        return np.array([*sizes, self.is_padded, self.has_full, self.has_partial], np.int64)


def dtype_name(array: Any) -> str:
    """The name of the element type of an array in kernels. Raises InvalidArgument if kernels have no such type."""
    return dtypes.NAMES[dtypes.number_of(str(array.dtype))]


def expect_array(name: str, array: Any) -> Any:
    """Returns an array of JAX. Raises InvalidArgument for what is none, and none of NumPy."""
    if not isinstance(array, (jax.Array, np.ndarray)):
        raise InvalidArgument(f"{name}: expects an array, but got {type(array).__name__}")
    return jax.numpy.asarray(array)


def as_varying(operands: Any) -> Any:
    """The arrays of a tree, all of which vary along the axes of jax.shard_map along which one of them does.

    Their gradients are then sums over these axes.
    """
    axes = _varying_axes(jax.tree.leaves(operands))
    return jax.tree.map(lambda each: _varying_along(axes, each), operands)


def _varying_axes(operands: Sequence[Any]) -> frozenset[str]:
    return frozenset().union(*(jax.typeof(each).mat.varying for each in operands))


def _varying_along(axes: frozenset[str], array: Any) -> Any:
    missing = tuple(sorted(axes - jax.typeof(array).mat.varying))
    return jax.lax.pcast(array, missing, to="varying") if missing else array


def _result_type(shape: tuple[int, ...], dtype: Any, axes: frozenset[str]) -> Any:
    """The type of a result that varies along these axes of jax.shard_map."""
    if not axes:
        return jax.ShapeDtypeStruct(shape, dtype)
    place = jax.sharding.NamedSharding(jax.sharding.get_abstract_mesh(), jax.sharding.PartitionSpec())
    kind = jax.sharding.ManualAxisType(varying=axes)
    return jax.ShapeDtypeStruct(shape, dtype, sharding=place, manual_axis_type=kind)


def launch(
    kernel: str,
    operands: Sequence[Any],
    results: Sequence[tuple[tuple[int, ...], Any]],
    *,
    blocks: Blocks | None = None,
    lists: Sequence[np.ndarray[Any, Any]] = (),
    scale: float = 0.0,
    is_bshd: bool = False,
) -> Any:
    """Adds a launch to the computation.

    Args:
        kernel: the text of one kernel.
        operands: of a matrix or a pattern its arrays, of others the array, in the order of the kernel's inputs.
        results: shapes and types.
        blocks: of the matrix or pattern.
        lists: row_ptr and col_idx of a matrix that are the same in all launches; they are operands too.
        scale: the value of the kernel's scalar.
        is_bshd: arrays of 4 dimensions have tokens before heads.

    Returns:
        A list of the results.
    """
    axes = _varying_axes(operands)
    call = jax.ffi.ffi_call(_TARGET, [_result_type(shape, dtype, axes) for shape, dtype in results])
    row_ptr, col_idx = lists or (np.empty(0, np.int32), np.empty(0, np.int32))
    return call(
        *(_varying_along(axes, each) for each in operands),
        kernel=kernel,
        blocks=np.empty(0, np.int64) if blocks is None else blocks.attribute(),
        row_ptr=row_ptr,
        col_idx=col_idx,
        scale=np.float64(scale),
        bshd=np.int32(is_bshd),
    )


def _register() -> None:
    """Tells XLA the handlers. Raises Error if JAX is too old."""
    if jax.__version_info__[:2] < _OLDEST:
        raise Error(f"sparsec.jax needs JAX {'.'.join(map(str, _OLDEST))} or later, but this is {jax.__version__}")
    handlers = _native.xla_handlers(_resolve)
    info = handlers.pop("type")
    for platform, (state, stages) in handlers.items():
        jax.ffi.register_ffi_type(_TARGET, {"type_id": state, "type_info": info}, platform)
        jax.ffi.register_ffi_target(_TARGET, stages, platform)
    atexit.register(_native.xla_close)


def _resolve(text: str, platform: str) -> Callable[[int], _native.Kernel]:
    """Compiles the text for a platform of XLA. Gives what loads its kernel on a device."""
    if platform == "cpu":
        targets = [devices.target_of_device(arrays.HOST)]
    else:
        targets = sorted({devices.target_of_device(each) for each in range(_native.cuda_device_count())})
    kernel = _kernel_of(text, ",".join(targets))
    log.decision(f"{kernel.name}: a computation of JAX on {platform} takes it, for {', '.join(targets)}")
    return lambda ordinal: kernel.file.native_kernel(kernel.name, ordinal)[0]


@functools.cache
def _kernel_of(text: str, targets: str) -> Kernel:
    """The one kernel of a text, compiled once."""
    loaded = module.compile(text, targets)
    return loaded[loaded.kernels[0]]


_register()
