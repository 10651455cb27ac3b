# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of block-sparse linear layers and of their gradients, for torch and JAX. Types are names in kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sparsec import tracing
from sparsec.errors import InvalidArgument
from sparsec.options import one_of
from sparsec.programs import Extra, Program, full, per_row, sddmm, spmm

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "known_activation",
    "program",
    "text",
    "values_gradient_text",
    "x_gradient_text",
]

Activation = str | Callable[[Any], Any] | None

ACTIVATIONS: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {"gelu": tracing.gelu, "relu": tracing.relu, "silu": tracing.silu}
)
"""By name: the function in a kernel."""


def known_activation(activation: str) -> str:
    """Returns a name that ACTIVATIONS has. Raises InvalidArgument for others."""
    if activation not in ACTIVATIONS:
        raise InvalidArgument(f"activation: expects {', '.join(ACTIVATIONS)} or a function, but got {activation!r}")
    return activation


def program(
    block: tuple[int, int],
    dtype: str,
    bias: str | None,
    residual: str | None,
    activation: Callable[[Any], Any] | None,
) -> Program:
    """activation(x Wᵀ + bias) + residual, tokens by features.

    Args:
        block: of the matrix.
        dtype: of the matrix, x and the result.
        bias, residual: their types; None: there is none.
        activation: a function that sparsec.tracing traces.
    """
    extras: dict[str, Extra] = {}
    if bias is not None:
        extras["bias"] = per_row(bias)
    if residual is not None:
        extras["residual"] = full(residual)

    def epilogue(acc: Any, *values: Any) -> Any:
        operands = dict(zip(extras, values, strict=True))
        value = acc + operands["bias"] if bias is not None else acc
        value = activation(value) if activation is not None else value
        return value + operands["residual"] if residual is not None else value

    return spmm(
        block,
        one_of("dtype", dtype, ("bf16", "f16")),  # products of fp8 have another type of result
        x_layout="nk",
        y_layout="nm",
        epilogue=epilogue if extras or activation else None,
        extras=extras,
        name="linear",
    )


@functools.cache
def text(block: tuple[int, int], dtype: str, bias: str | None, residual: str | None, activation: str | None) -> str:
    """The text of `program` with an activation by name."""
    function = None if activation is None else ACTIVATIONS[known_activation(activation)]
    return program(block, dtype, bias, residual, function).text()


@functools.cache
def values_gradient_text(block: tuple[int, int], dtype: str) -> str:
    """The kernel of the gradient of the values, from those of the result and from x, tokens by features."""
    return sddmm(block, dtype, a_layout="km", b_layout="kn", name="linear_values_gradient").text()


@functools.cache
def x_gradient_text(block: tuple[int, int], dtype: str) -> str:
    """The kernel of the gradient of x, tokens by features, from that of the result."""
    return spmm(block, dtype, transposed=True, x_layout="nk", y_layout="nm", name="linear_x_gradient").text()
