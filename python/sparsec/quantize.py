# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values in fp8 with the f32 scales that products of fp8 take: value = quantized value * scale.

A scale is the largest finite magnitude of its values, divided by the largest number of the fp8 type, so that no finite
value overflows. Where all values are zero it is 1. Values are divided in f32 and rounded to nearest even, as
`arith.truncf` does: NaN stays NaN, and an infinity stays one in f8E5M2 and is NaN in f8E4M3FN, which has none.

Values of blocks beyond the matrix do not count, and become 0.

Arrays are of NumPy (with ml_dtypes) or torch, of f32, f16, bf16 or f64, which is rounded to f32 first. Tensors of torch
stay on their device, and results are arrays of the same library.
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

import numpy as np

from . import arrays, dtypes
from .bsr import BSR
from .errors import InvalidArgument
from .options import one_of

__all__ = ["per_block", "per_row", "per_tensor", "per_token"]

_LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0}
_SMALLEST_SCALE = 2.0**-126  # of normal numbers: values may be divided by it
_DEPTH_OF_X_SCALE = 128  # spmm_c24
_GROUPS = ("tensor", "row", "block", "token")

Values = TypeVar("Values")


def per_tensor(values: Values, dtype: str = "f8E4M3FN") -> tuple[Values, Any]:
    """Quantises with one scale, which a product takes as a `scalar("f32")` of its epilogue.

    Args:
        values: an array of any rank, or a BSR.
        dtype: "f8E4M3FN" or "f8E5M2".

    Returns:
        The quantised array or BSR, and the scale: an f32 array of rank 0.

    Raises:
        InvalidArgument: the type is none of these, or values is no array of NumPy or torch.
    """
    numbers = _numbers_of(values, dtype)
    scale = _scale(_largest(numbers.reshape(1, -1)).reshape(()), dtype)
    return _rounded(values, numbers / scale, dtype), scale


def per_row(values: Values, dtype: str = "f8E4M3FN") -> tuple[Values, Any]:
    """Quantises with a scale for each row, which a product takes as `per_row()` of w, or as `per_column()` of an x
    [N, K].

    Args:
        values: an array [M, K], or a BSR of M rows.
        dtype: "f8E4M3FN" or "f8E5M2".

    Returns:
        The quantised array or BSR, and the scales: f32 [M].

    Raises:
        InvalidArgument: as per_tensor, or the rank is another one.
    """
    if isinstance(values, BSR):
        return _per_row_of_blocks(values, dtype)
    numbers = _of_rank(_numbers(values, dtype), 2, "[M, K]")
    scales = _scale(_largest(numbers), dtype)
    return _rounded(values, numbers / scales[:, None], dtype), scales


def per_block(w: BSR, dtype: str = "f8E4M3FN") -> tuple[BSR, Any]:
    """Quantises a block-sparse matrix with a scale for each stored block: the `scales` of a product.

    Args:
        w: the matrix.
        dtype: "f8E4M3FN" or "f8E5M2".

    Returns:
        The quantised matrix, and the scales: f32 [blocks].

    Raises:
        InvalidArgument: as per_tensor, or w is no BSR.
    """
    if not isinstance(w, BSR):
        raise InvalidArgument(f"w: expects a BSR, but got {type(w).__name__}")
    numbers = _numbers_of(w, dtype)
    blocks, rows, columns = numbers.shape
    scales = _scale(_largest(numbers.reshape(blocks, rows * columns)), dtype)
    return _rounded(w, numbers / scales[:, None, None], dtype), scales


def per_token(x: Values, dtype: str = "f8E4M3FN") -> tuple[Values, Any]:
    """Quantises with a scale for each row (token) and 128 of K: the `x_scale` of a product.

    Args:
        x: an array [N, K].
        dtype: "f8E4M3FN" or "f8E5M2".

    Returns:
        The quantised array, and the scales: f32 [N, ceil(K / 128)].

    Raises:
        InvalidArgument: as per_tensor, or the rank is another one.
    """
    numbers = _of_rank(_numbers(x, dtype), 2, "[N, K]")
    depth = numbers.shape[1]
    firsts = range(0, depth, _DEPTH_OF_X_SCALE)
    if not firsts:
        return _rounded(x, numbers, dtype), numbers[:, :0]
    parts = [numbers[:, first : first + _DEPTH_OF_X_SCALE] for first in firsts]
    library = _library(numbers)
    scales = _scale(library.stack([_largest(part) for part in parts], 1), dtype)
    divided = [part / scales[:, i : i + 1] for i, part in enumerate(parts)]
    return _rounded(x, library.concatenate(divided, 1), dtype), scales


def _per_row_of_blocks(w: BSR, dtype: str) -> tuple[Any, Any]:
    """A row has elements in all blocks of its block row."""
    numbers = _numbers_of(w, dtype)
    blocks, rows, columns = numbers.shape
    largest = _largest(numbers.reshape(blocks * rows, columns)).reshape(blocks, rows)
    grid = -(-w.shape[0] // rows)
    row_of_block = _row_of_block(w, numbers)
    if arrays.is_torch(numbers):
        places = row_of_block[:, None].expand(blocks, rows)
        of_rows = numbers.new_zeros(grid, rows).scatter_reduce_(0, places, largest, "amax")
    else:
        of_rows = np.zeros((grid, rows), np.float32)
        np.maximum.at(of_rows, row_of_block, largest)
    scales = _scale(of_rows, dtype)
    divided = numbers / scales[row_of_block][:, :, None]
    return _rounded(w, divided, dtype), scales.reshape(-1)[: w.shape[0]]


def _row_of_block(w: BSR, numbers: Any) -> Any:
    """The block row of each stored block, on the device of the numbers."""
    grid = -(-w.shape[0] // w.block[0])
    if not arrays.is_torch(numbers):
        return np.repeat(np.arange(grid), np.diff(np.asarray(w.row_ptr)))
    torch = sys.modules["torch"]
    return torch.arange(grid, device=numbers.device).repeat_interleave(w.row_ptr.diff().to(numbers.device))


def _numbers_of(values: Any, dtype: str) -> Any:
    """The values in f32; those of blocks beyond the matrix are 0."""
    numbers = _numbers(values_of(values), dtype)
    if not isinstance(values, BSR) or all(
        size % side == 0 for size, side in zip(values.shape, values.block, strict=True)
    ):
        return numbers
    library = _library(numbers)
    sides = (library.arange(side) for side in values.block)
    if arrays.is_torch(numbers):
        sides = (side.to(numbers.device) for side in sides)
    indices = _row_of_block(values, numbers), values.col_idx
    rows, columns = (
        index[:, None] * len(side) + side < size for index, side, size in zip(indices, sides, values.shape, strict=True)
    )
    return library.where(rows[:, :, None] & columns[:, None, :], numbers, library.zeros_like(numbers))


def values_of(values: Any) -> Any:
    return values.values if isinstance(values, BSR) else values


def group_number(group: str) -> int:
    """sparsec_scale_group_t."""
    return 1 + _GROUPS.index(one_of("group", group, _GROUPS))


def empty_like(values: Any, number: int, group: str) -> tuple[Any, Any]:
    """Makes memory for quantised values of a type and for their scales."""
    one_of("group", group, _GROUPS)
    array, is_matrix = values_of(values), isinstance(values, BSR)
    if is_matrix != (group == "block") and group in ("block", "token"):
        raise InvalidArgument(f"group: {group!r} is for {'x' if is_matrix else 'a BSR'}")
    if group == "token":
        _of_rank(array, 2, "[N, K]")
    target = arrays.empty(array, tuple(array.shape), number)
    shapes = {
        "tensor": (),
        "row": tuple(values.shape[:1]),
        "block": tuple(array.shape[:1]),
        "token": (array.shape[0], -(-array.shape[-1] // _DEPTH_OF_X_SCALE)),
    }
    scales = arrays.empty(array, shapes[group], dtypes.number_of("f32"))
    return values.with_values(target) if is_matrix else target, scales


def _library(array: Any) -> Any:
    return sys.modules["torch"] if arrays.is_torch(array) else np


def _numbers(array: Any, dtype: str) -> Any:
    """The array in f32."""
    one_of("dtype", dtype, tuple(_LARGEST))
    if arrays.is_torch(array):
        if not array.is_floating_point():
            raise InvalidArgument(f"values: expects floating point, but got {array.dtype}")
        return array.detach().float()
    if not isinstance(array, np.ndarray):
        raise InvalidArgument(f"values: expects an array of NumPy or torch, but got {type(array).__name__}")
    if array.dtype.kind in "iubcSUO":
        raise InvalidArgument(f"values: expects floating point, but got {array.dtype}")
    return array.astype(np.float32)


def _of_rank(array: Any, rank: int, shape: str) -> Any:
    if array.ndim != rank:
        raise InvalidArgument(f"values: expects rank {rank}, {shape}, but got {array.ndim}")
    return array


def _largest(numbers: Any) -> Any:
    """The largest finite magnitude of each row; 0 where there is none."""
    library = _library(numbers)
    finite = library.where(library.isfinite(numbers), abs(numbers), library.zeros_like(numbers))
    if numbers.shape[1] == 0:
        return finite.sum(1)
    return finite.amax(1) if arrays.is_torch(numbers) else finite.max(1)


def _scale(largest: Any, dtype: str) -> Any:
    library = _library(largest)
    # torch multiplies by the reciprocal of a number on a GPU, which rounds otherwise; it divides by a tensor.
    scale = (largest / library.full_like(largest, _LARGEST[dtype])).clip(_SMALLEST_SCALE)
    return library.where(largest == 0, library.ones_like(scale), scale)


def _rounded(values: Any, numbers: Any, dtype: str) -> Any:
    """The numbers in fp8: an array, or a BSR as values is one."""
    number, library = dtypes.number_of(dtype), _library(numbers)
    if dtype == "f8E4M3FN":  # it has no infinity, and versions of torch disagree about what becomes of one
        numbers = library.where(library.isinf(numbers), library.full_like(numbers, float("nan")), numbers)
    if arrays.is_torch(numbers):
        rounded = numbers.to(dtypes.torch_dtype(number))
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = numbers.astype(dtypes.numpy_dtype(number))
    return values.with_values(rounded) if isinstance(values, BSR) else rounded
