# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Merges the results of attention over parts of the keys."""

from __future__ import annotations

from typing import Any, Literal

import jax
import jax.numpy as jnp

from sparsec.merging import check_parts, merged

__all__ = ["merge"]


def merge(*parts: tuple[Any, Any], layout: Literal["bhsd", "bshd"] = "bhsd") -> tuple[Any, Any]:
    """o and lse over all keys, from those that `attention` gives for parts of the keys with return_lse.

    In ring and context parallelism each device has a part of the keys. All sums are f32. The result has gradients, also
    through lse. Functions of JAX compute it, so that XLA may fuse them.

    Args:
        parts: o and lse of each part: o [B, H, Sq, D], or [B, Sq, H, D] with layout="bshd", and lse [B, H, Sq]. A row
            without keys has o = 0 and lse = -inf. Give sinks to one part only.
        layout: of o.

    Returns:
        o, of the type of the first one, and lse, f32.

    Raises:
        InvalidArgument: the shapes of a part do not belong to those of the first one; the text names it.
    """
    check_parts(parts, layout)
    outputs, logarithms = [o.astype(jnp.float32) for o, _ in parts], [lse.astype(jnp.float32) for _, lse in parts]
    is_transposed = layout == "bshd" or parts[0][0].ndim == 3
    o, lse = merged(jnp, jax.lax.stop_gradient, outputs, logarithms, is_transposed)
    return o.astype(parts[0][0].dtype), lse
