# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the gradients of attention, for torch and JAX. Types are names in kernels.

The probabilities P of the visited blocks are the values of one block-sparse matrix (see attention_visits). With S the
scaled scores, O = P V and d = the sum over each row of O dO:

    P = exp(S - lse), a sampled product        dV = Pᵀ dO, a transposed product
    dS = P (dO Vᵀ - d), a sampled product      dQ = dS K, a product      dK = dSᵀ Q, a transposed product

With a score_mod f, P = exp(f(S) - lse), and dS is times the derivative of f: S and dO Vᵀ - d are sampled products in
f32, and the rest is computed for each element (see torch.attention_scores).

P and dS have the type of q. All sums are f32, and all results are the same in every run. The rows of q, k and v are a
size of the kernels, so that tiles fit them.
"""

from __future__ import annotations

import functools

from sparsec import tracing
from sparsec.programs import full, per_row, sddmm, spmm

__all__ = ["probabilities_text", "product_text", "sampled_text", "scores_gradient_text"]


@functools.cache
def probabilities_text(block: tuple[int, int], dtype: str, width: int, scale: float) -> str:
    """P from qᵀ, kᵀ and lse."""
    return sddmm(
        block,
        dtype,
        a_layout="km",
        b_layout="kn",
        k=width,
        epilogue=lambda acc, lse: tracing.exp(acc * scale - lse),
        extras={"lse": per_row()},
        name="attention_probabilities",
    ).text()


@functools.cache
def scores_gradient_text(block: tuple[int, int], dtype: str, width: int, scale: float) -> str:
    """dS, times the scale, from dOᵀ, vᵀ, P and the differences d."""
    return sddmm(
        block,
        dtype,
        a_layout="km",
        b_layout="kn",
        k=width,
        epilogue=lambda acc, probability, difference: (acc - difference) * probability * scale,
        extras={"probability": full(), "difference": per_row()},
        name="attention_scores_gradient",
    ).text()


@functools.cache
def sampled_text(block: tuple[int, int], dtype: str, width: int, scale: float | None) -> str:
    """The product of rows, in f32: times the scale, or less a number of each row where there is none."""
    return sddmm(
        block,
        dtype,
        a_layout="km",
        b_layout="kn",
        result_dtype="f32",
        k=width,
        epilogue=(lambda acc, difference: acc - difference) if scale is None else (lambda acc: acc * scale),
        extras={"difference": per_row()} if scale is None else {},
        name="attention_probabilities_gradient" if scale is None else "attention_scores",
    ).text()


@functools.cache
def product_text(block: tuple[int, int], dtype: str, width: int, transposed: bool) -> str:
    """The product of a matrix, or of its transpose, and rows of this width."""
    name = "attention_keys_gradient" if transposed else "attention_queries_gradient"
    return spmm(block, dtype, transposed=transposed, x_layout="nk", y_layout="nm", n=width, name=name).text()
