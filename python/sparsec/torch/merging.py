# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Merges the results of attention over parts of the keys."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Literal

import torch

from sparsec.merging import check_parts, merged
from sparsec.torch import merge_operator

__all__ = ["merge"]

_KERNEL_TYPES = (torch.bfloat16, torch.float16, torch.float32)


def merge(
    *parts: tuple[torch.Tensor, torch.Tensor], layout: Literal["bhsd", "bshd"] = "bhsd"
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and lse over all keys, from those that `attention` gives for parts of the keys with return_lse.

    In ring and context parallelism each device has a part of the keys. A prefix that many sequences share is a part
    too, beside the keys of each sequence. All sums are f32.

    Where no gradient is needed, a kernel merges two parts at a time, and reads and writes each element once. The result
    has gradients, also through lse. Functions of torch then compute it, so that torch.compile may fuse them.

    Args:
        parts: o and lse of each part: o [B, H, Sq, D], or [B, Sq, H, D] with layout="bshd", and lse [B, H, Sq]; or of
            packed queries o [T, H, D] and lse [H, T]. A row without keys has o = 0 and lse = -inf. Give sinks to
            one part only.
        layout: of o.

    Returns:
        o, of the type of the first one, and lse, f32.

    Raises:
        InvalidArgument: the shapes of a part do not belong to those of the first one; the text names it.
    """
    check_parts(parts, layout)
    is_transposed = layout == "bshd" or parts[0][0].dim() == 3
    if _have_kernel(parts):
        return _merge_by_kernels(parts, is_transposed)
    outputs, logarithms = [o.float() for o, _ in parts], [lse.float() for _, lse in parts]
    o, lse = merged(torch, torch.Tensor.detach, outputs, logarithms, is_transposed)
    return o.to(parts[0][0].dtype), lse


def _have_kernel(parts: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> bool:
    """Whether kernels merge these parts: there are several, a device of kernels has them, and none needs a gradient."""
    tensors = [each for part in parts for each in part]
    is_forward_mode = torch.autograd.forward_ad._current_level >= 0  # any tensor may have a tangent
    needs_gradient = torch.is_grad_enabled() and len([each for each in tensors if each.requires_grad]) > 0
    return (
        len(parts) > 1
        and not (is_forward_mode or needs_gradient)
        and all(o.dtype in _KERNEL_TYPES for o, _ in parts)
        and all(each.device.type in ("cpu", "cuda") for each in tensors)
        and parts[0][0].shape[-1] > 0
    )


def _merge_by_kernels(
    parts: Sequence[tuple[torch.Tensor, torch.Tensor]], is_transposed: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The parts one after the other; what is merged so far is in f32."""
    is_packed = parts[0][0].dim() == 3
    width = operator.index(parts[0][0].shape[-1])  # a constant, also where torch.compile has symbols
    merged_o, merged_lse = _rows(*parts[0], is_transposed)
    for number, part in enumerate(parts[1:], 2):
        o, lse = _rows(*part, is_transposed)
        dtype = parts[0][0].dtype if number == len(parts) else torch.float32
        text = merge_operator.kernel_text(width, merged_o.dtype, o.dtype, dtype)
        merged_o, merged_lse = merge_operator.merge(merged_o, merged_lse, o, lse, dtype, text)
    if is_transposed:
        merged_o = merged_o.transpose(1, 2)
    return (merged_o[0], merged_lse[0]) if is_packed else (merged_o, merged_lse)


def _rows(o: torch.Tensor, lse: torch.Tensor, is_transposed: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """o [B, H, Sq, D] and lse [B, H, Sq], f32, with rows that kernels can follow."""
    if o.dim() == 3:
        o, lse = o[None], lse[None]
    if is_transposed:
        o = o.transpose(1, 2)
    if o.stride(3) != 1 or o.stride(2) < o.shape[3]:
        o = o.contiguous()
    lse = lse.float()
    return o, lse if lse.stride(2) == 1 else lse.contiguous()
