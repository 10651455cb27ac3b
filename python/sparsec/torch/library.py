# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of torch that launch kernels, torch.ops.sparsec: what they have in common.

They take lists, and the text of the kernel, so that torch.compile and torch.export see nothing but tensors and
constants. They have no gradients: the functions of this package have.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from sparsec import dtypes, module
from sparsec.kernel import Kernel

__all__ = ["LIBRARY", "TAGS", "dtype_name", "forget", "kernel_of", "operator_text", "version"]

LIBRARY = torch.library.Library("sparsec", "DEF")
TAGS = (torch.Tag.needs_exact_strides, torch.Tag.pt2_compliant_tag)


@functools.cache
def dtype_name(dtype: torch.dtype) -> str:
    """The name of an element type in kernels. Raises InvalidArgument if kernels have no such type."""
    return dtypes.NAMES[dtypes.number_of(str(dtype).removeprefix("torch."))]


def operator_text(text: str) -> str:
    """The text of a generated kernel as operators take it: in one line.

    PyTorch 2.11 writes the arguments of operators into comments of the code that it makes, which end at a line break.
    """
    return text.replace("\n", " ")


@functools.cache
def kernel_of(text: str, target: str) -> Kernel:
    """The one kernel of a text, compiled and loaded once."""
    loaded = module.compile(text, target)
    return loaded[loaded.kernels[0]]


def version(tensor: torch.Tensor) -> int:
    """A number that changes with the contents. Tensors of the inference mode have none."""
    return -1 if tensor.is_inference() else tensor._version


def forget(entries: dict[int, Any], key: int, _reference: Any) -> None:
    """Removes an entry, as the last call of a weak reference. The dict is bound, because globals go before."""
    entries.pop(key, None)
