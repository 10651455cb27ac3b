# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operator that merges two partial results of attention by a kernel."""

from __future__ import annotations

import functools
from typing import Any

import torch

from sparsec import devices, merge_programs
from sparsec.kernel import Kernel
from sparsec.repeat import Repeater
from sparsec.torch.library import LIBRARY, TAGS, dtype_name, kernel_of, operator_text

__all__ = ["kernel_text", "merge"]

# o and lse of two parts o [B, H, Sq, D] and lse [B, H, Sq]; o has the type of the kernel's result.
LIBRARY.define(
    "merge(Tensor o1, Tensor lse1, Tensor o2, Tensor lse2, ScalarType dtype, str kernel) -> (Tensor, Tensor)",
    tags=TAGS,
)
merge = torch.ops.sparsec.merge.default


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def kernel_text(width: int, first: torch.dtype, second: torch.dtype, result: torch.dtype) -> str:
    """The kernel for rows of this width and these element types."""
    return _kernel_text(width, first, second, result)


@functools.cache
def _kernel_text(width: int, first: torch.dtype, second: torch.dtype, result: torch.dtype) -> str:
    program = merge_programs.merge(
        width, dtype=dtype_name(first), second_dtype=dtype_name(second), result_dtype=dtype_name(result)
    )
    return operator_text(program.text())


@functools.cache
def _prepared(text: str, ordinal: int) -> tuple[Kernel, Repeater]:
    kernel = kernel_of(text, devices.target_of_device(ordinal))
    return kernel, Repeater(kernel.info, None, is_operator=True)


def _merge(
    o1: torch.Tensor, lse1: torch.Tensor, o2: torch.Tensor, lse2: torch.Tensor, dtype: torch.dtype, kernel: str
) -> tuple[torch.Tensor, torch.Tensor]:
    prepared, repeater = _prepared(kernel, o1.get_device())
    inputs = o1, lse1, o2, lse2
    results: Any = repeater.call(*inputs)
    if results is None:
        with torch.no_grad():
            results = _merge_form(*inputs, dtype, kernel)
            prepared.call_for(repeater, inputs, results, *inputs, out=results)
    return results[0], results[1]


def _merge_form(
    o1: torch.Tensor, lse1: torch.Tensor, o2: torch.Tensor, lse2: torch.Tensor, dtype: torch.dtype, kernel: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """o has the order of dimensions in memory that o1 has."""
    return torch.empty_like(o1, dtype=dtype), torch.empty_like(lse1)


for _place in ("CPU", "CUDA"):
    LIBRARY.impl("merge", _merge, _place)
torch.library.register_fake("sparsec::merge", _merge_form, lib=LIBRARY)
