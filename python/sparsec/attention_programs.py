# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of the gradients of attention, for torch and JAX.

The probabilities P of the visited blocks are the values of one block-sparse matrix (see attention_visits). With S the
scaled scores, O = P V and d = the sum over each row of O dO:

    P = exp(S - lse), a sampled product        dV = Pᵀ dO, a transposed product
    dS = P (dO Vᵀ - d), a sampled product      dQ = dS K, a product      dK = dSᵀ Q, a transposed product

With a score_mod f, P = exp(f(S) - lse) and dS = f'(S) P (dO Vᵀ - d). Two sampled products give S and dO Vᵀ - d in f32.
torch.attention_scores computes the rest element by element.

P and dS have the type of q. All sums are f32, and all results are the same in every run. The rows of q, k and v are a
size of the kernels, so that tiles fit them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from sparsec import tracing
from sparsec.programs import Extra, full, per_row, sddmm, spmm

__all__ = [
    "probabilities_gradient_text",
    "probabilities_text",
    "product_text",
    "scores_gradient_text",
    "scores_text",
]


def _sampled_text(
    name: str,
    block: tuple[int, int],
    dtype: str,
    width: int,
    epilogue: Callable[..., Any],
    extras: Mapping[str, Extra],
    result_dtype: str | None = None,
) -> str:
    """The product of columns of this height at the blocks of the matrix."""
    program = sddmm(
        block,
        dtype,
        a_layout="km",
        b_layout="kn",
        result_dtype=result_dtype,
        k=width,
        epilogue=epilogue,
        extras=extras,
        name=name,
    )
    return program.text()


@functools.cache
def probabilities_text(block: tuple[int, int], dtype: str, width: int, scale: float) -> str:
    """P from qᵀ, kᵀ and lse."""

    def epilogue(acc: Any, lse: Any) -> Any:
        return tracing.exp(acc * scale - lse)

    return _sampled_text("attention_probabilities", block, dtype, width, epilogue, {"lse": per_row()})


@functools.cache
def scores_gradient_text(block: tuple[int, int], dtype: str, width: int, scale: float) -> str:
    """dS, times the scale, from dOᵀ, vᵀ, P and the differences d."""

    def epilogue(acc: Any, probability: Any, difference: Any) -> Any:
        return (acc - difference) * probability * scale

    extras = {"probability": full(), "difference": per_row()}
    return _sampled_text("attention_scores_gradient", block, dtype, width, epilogue, extras)


@functools.cache
def scores_text(block: tuple[int, int], dtype: str, width: int, scale: float) -> str:
    """S, in f32, from qᵀ and kᵀ."""
    return _sampled_text("attention_scores", block, dtype, width, lambda acc: acc * scale, {}, "f32")


@functools.cache
def probabilities_gradient_text(block: tuple[int, int], dtype: str, width: int) -> str:
    """dO Vᵀ - d, in f32, from dOᵀ, vᵀ and the differences d."""

    def epilogue(acc: Any, difference: Any) -> Any:
        return acc - difference

    extras = {"difference": per_row()}
    return _sampled_text("attention_probabilities_gradient", block, dtype, width, epilogue, extras, "f32")


@functools.cache
def product_text(block: tuple[int, int], dtype: str, width: int, transposed: bool) -> str:
    """The product of a matrix, or of its transpose, and rows of this width."""
    name = "attention_keys_gradient" if transposed else "attention_queries_gradient"
    return spmm(block, dtype, transposed=transposed, x_layout="nk", y_layout="nm", n=width, name=name).text()
