# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Merges the results of attention over parts of the keys."""

from __future__ import annotations

from typing import Literal

import torch

from sparsec.merging import check_parts, merged

__all__ = ["merge"]


def merge(
    *parts: tuple[torch.Tensor, torch.Tensor], layout: Literal["bhsd", "bshd"] = "bhsd"
) -> tuple[torch.Tensor, torch.Tensor]:
    """o and lse over all keys, from those that `attention` gives for parts of the keys with return_lse.

    In ring and context parallelism each device has a part of the keys. A prefix that many sequences share is a part
    too, beside the keys of each sequence. All sums are f32. The result has gradients, also through lse. Functions of
    torch compute it, so that torch.compile may fuse them.

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
    outputs, logarithms = [o.float() for o, _ in parts], [lse.float() for _, lse in parts]
    o, lse = merged(torch, torch.Tensor.detach, outputs, logarithms, is_transposed)
    return o.to(parts[0][0].dtype), lse
