# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of NumPy, torch and other libraries: views of their memory, new ones for results, and their streams."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import _native, dtypes
from .errors import InvalidArgument

HOST = -1
"""The device number of host memory; others are ordinals of CUDA devices."""
UNKNOWN = -2
"""The device number of memory that all devices may use, or whose owner does not say."""


def is_torch(array: Any) -> bool:
    """Whether an object is a torch tensor. Never imports torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def is_jax(array: Any) -> bool:
    """Whether an object is an array of JAX. Never imports JAX."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(array, jax.Array)


def dense(array: Any, stream: int = 0) -> _native.Dense:
    """Makes a view of an array's memory, without a copy.

    Args:
        array: a NumPy array (also of ml_dtypes), an object with the buffer protocol or __dlpack__, or a view.
        stream: the CUDA stream on which the array must be ready.

    Raises:
        InvalidArgument: the object is no array, or its type, rank or strides are none that a kernel takes.
    """
    if isinstance(array, _native.Dense):
        return array
    if isinstance(array, np.ndarray):
        bits, number = dtypes.bits_of(array)
        return _native.Dense(bits, number)
    if is_torch(array):
        _expect_strided(array)
        if not hasattr(type(array), "__dlpack_c_exchange_api__"):
            return torch_view(array)
    return _native.Dense(array, 0, stream)


def torch_view(tensor: Any) -> _native.Dense:
    """Makes a view of a strided tensor of torch before 2.10, whose __dlpack__ takes ten times as long.

    Raises:
        InvalidArgument: no kernel takes the tensor's type.
    """
    number = dtypes.number_of(str(tensor.dtype).removeprefix("torch."))
    return _native.Dense.from_pointer(
        tensor.data_ptr(), number, tuple(tensor.shape), tensor.stride(), tensor.get_device(), False, tensor
    )


def _expect_strided(tensor: Any) -> None:
    if tensor.layout is not sys.modules["torch"].strided:
        raise InvalidArgument(f"expects a strided tensor, but got {tensor.layout}")


def loses_gradient(array: Any) -> bool:
    """Whether an array is a tensor of torch whose gradient ends at a kernel, which torch would not say."""
    return is_torch(array) and array.requires_grad and sys.modules["torch"].is_grad_enabled()


def from_pointer(
    pointer: int,
    shape: Iterable[int],
    dtype: str,
    *,
    device: int = 0,
    strides: Iterable[int] | None = None,
    read_only: bool = False,
) -> _native.Dense:
    """Makes a view of raw memory, which the caller keeps alive.

    Args:
        pointer: address of the first element.
        shape: up to 5 sizes.
        dtype: "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2" or "i32".
        device: ordinal of the CUDA device; sparsec.HOST for the host.
        strides: in elements; None is row-major and contiguous.
        read_only: launches refuse the memory as a result.

    Raises:
        InvalidArgument: the type is none of these.
        ValueError: there are more than 5 sizes, or not as many strides as sizes.
    """
    steps = None if strides is None else tuple(strides)
    return _native.Dense.from_pointer(pointer, dtypes.number_of(dtype), tuple(shape), steps, device, read_only)


def empty(like: Any, shape: tuple[int, ...], number: int) -> Any:
    """Makes a contiguous array for a result: of the library and on the device of the array `like`.

    Raises:
        InvalidArgument: the library is neither NumPy nor torch. Its users pass `out`.
    """
    if is_torch(like):
        return sys.modules["torch"].empty(shape, dtype=dtypes.torch_dtype(number), device=like.device)
    if isinstance(like, np.ndarray):
        return np.empty(shape, dtypes.numpy_dtype(number))
    raise InvalidArgument(f"out: results are made for arrays of NumPy and torch. Pass out for {type(like).__name__}")


Maker = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function and its arguments."""


def makers(result: Any) -> tuple[Maker, ...] | None:
    """Ways to make a tensor like a tensor of torch, the fastest first; None for arrays of other libraries.

    That of code which torch.compile makes takes half the time, but gives memory of the current device only.
    """
    if not is_torch(result):
        return None
    torch = sys.modules["torch"]
    form = torch.empty_like(result)
    form.untyped_storage().resize_(0)  # it keeps no memory
    slow = torch.empty_like, (form,)
    fast = getattr(torch._C._dynamo.guards, f"_empty_strided_{result.device.type}", None)
    return (slow,) if fast is None else ((fast, (tuple(form.shape), form.stride(), form.dtype)), slow)


def is_capturing(device: int) -> bool:
    """Whether torch records a CUDA graph on its current stream of the device."""
    torch = sys.modules.get("torch")
    if device < 0 or torch is None or not torch.cuda.is_initialized():  # also a torch that was built without CUDA
        return False
    return bool(torch.cuda.is_current_stream_capturing())


def current_stream(arrays: Iterable[Any]) -> int:
    """The stream on which a launch runs by default: torch's current stream if an array is a CUDA tensor of torch."""
    for array in arrays:
        if is_torch(array) and array.is_cuda:
            return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream)
    return 0


def stream_number(stream: Any, values: Iterable[Any]) -> int:
    """The number of a stream that a user passes; None is that on which a launch with these arrays runs by default."""
    if stream is None:
        return current_stream(values)
    number = getattr(stream, "cuda_stream", stream)
    if not isinstance(number, int):
        raise InvalidArgument(f"stream: expects a number or a stream of torch, but got {type(stream).__name__}")
    return number


def placeholder(shape: tuple[int, ...], number: int) -> _native.Dense:
    """Makes a view for a result whose shape matters and whose memory is neither read nor written."""
    integer = {1: np.uint8, 2: np.uint16, 4: np.uint32}[dtypes.BYTES[number]]
    return _native.Dense(np.empty(shape, integer), number)
