# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernel that merges partial results of attention, from Python."""

from __future__ import annotations

from sparsec.options import integer, one_of
from sparsec.programs import Program

__all__ = ["merge"]

_TYPES = ("bf16", "f16", "f32")  # merge_c2
_LARGEST_SIZE = 2147418111  # kernel_c12


def merge(
    head_dim: int | None = None,
    *,
    dtype: str = "bf16",
    second_dtype: str | None = None,
    result_dtype: str | None = None,
) -> Program:
    """Makes the kernel that merges attention over two parts of the keys.

    The kernel takes o1 [B, H, Sq, D], lse1 [B, H, Sq], o2 and lse2, and gives o and lse: those over all keys. All lse
    are of f32, and so are all sums. A row with lse = -inf is empty: its elements have no influence. Where both parts
    are empty, o is 0 and lse -inf. A launch may give the arrays of a part as those of the results.

    Args:
        head_dim: D; None: any.
        dtype: of o1: "bf16", "f16" or "f32".
        second_dtype: of o2; None: dtype.
        result_dtype: of o; None: dtype.
    """
    width = "?" if head_dim is None else str(integer("head_dim", head_dim, 1, _LARGEST_SIZE))
    types = [
        f"tensor<?x?x?x{width}x{one_of(option, value, _TYPES)}>"
        for option, value in (
            ("dtype", dtype),
            ("second_dtype", second_dtype or dtype),
            ("result_dtype", result_dtype or dtype),
        )
    ]
    first, second, result = types
    lse = "tensor<?x?x?xf32>"
    source = (
        f"sparsec.kernel @merge(%o1: {first}, %lse1: {lse}, %o2: {second}, %lse2: {lse})\n"
        f"    -> (o: {result}, lse: {lse}) {{\n"
        f"  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : ({first}, {lse}, {second}, {lse}) -> ({result}, {lse})\n"
        f"  sparsec.return %o, %lse : {result}, {lse}\n"
        "}\n"
    )
    return Program("merge", source)
