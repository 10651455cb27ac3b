# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types: their names in kernels, their numbers in the runtime, and the types of NumPy and torch.

NumPy has no bf16 and no f8. The package ml_dtypes adds them, and is needed only for arrays of these types.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .errors import InvalidArgument

# By sparsec_dtype_t: the name in kernels, the name that NumPy (with ml_dtypes) and torch give it, and its bytes.
_ROWS: tuple[tuple[int, str, str, int], ...] = (
    (1, "f32", "float32", 4),
    (2, "f16", "float16", 2),
    (3, "bf16", "bfloat16", 2),
    (4, "f8E4M3FN", "float8_e4m3fn", 1),
    (5, "f8E5M2", "float8_e5m2", 1),
    (6, "i32", "int32", 4),
    (7, "i64", "int64", 8),
    (8, "i8", "int8", 1),
)
NAMES = {number: name for number, name, _, _ in _ROWS}
_NUMBERS = {name: number for number, name, _, _ in _ROWS} | {other: number for number, _, other, _ in _ROWS}
_NUMBERS["bool"] = 8  # kernels read booleans as i8
_ARRAY_NAMES = {number: name for number, _, name, _ in _ROWS}
BYTES = {number: size for number, _, _, size in _ROWS}
_NATIVE_TO_NUMPY = (1, 2, 6, 7, 8)


def number_of(name: str) -> int:
    """Returns the number of a type. Raises InvalidArgument for a name that is no type of a kernel."""
    try:
        return _NUMBERS[name]
    except KeyError:
        raise InvalidArgument(f"expects elements of {', '.join(NAMES.values())}, but got {name}") from None


def numpy_dtype(number: int) -> np.dtype[Any]:
    """Returns NumPy's type. Raises InvalidArgument if the type needs ml_dtypes, which is not installed."""
    name = _ARRAY_NAMES[number]
    if number in _NATIVE_TO_NUMPY:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise InvalidArgument(
            f"NumPy has no {NAMES[number]}: install ml_dtypes (pip install 'sparsec[ml_dtypes]')"
        ) from None
    extended: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return extended


def torch_dtype(number: int) -> Any:
    """Returns torch's type. torch must be imported already."""
    return getattr(sys.modules["torch"], _ARRAY_NAMES[number])


def bits_of(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], int]:
    """Returns an array as the buffer protocol can export it, and the number of its type, 0 for that of the buffer.

    Types of ml_dtypes have no buffer format, so that their bits are exported as integers.
    """
    if array.dtype.isbuiltin == 1:  # a type of NumPy itself; the name of a type takes microseconds
        return array, 0
    number = _NUMBERS.get(array.dtype.name, 0)
    if number == 0:
        return array, 0
    return array.view(np.uint16 if BYTES[number] == 2 else np.uint8), number


def is_in_numpy(number: int) -> bool:
    """Whether NumPy has the type without ml_dtypes."""
    return number in _NATIVE_TO_NUMPY
