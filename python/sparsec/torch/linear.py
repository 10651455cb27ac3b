# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse linear layers as a function, with gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from sparsec import linear_programs
from sparsec.bsr import BSR
from sparsec.errors import InvalidArgument
from sparsec.linear_programs import Activation, known_activation
from sparsec.torch.library import dtype_name, operator_text
from sparsec.torch.operators import keep_linear, product, repeat_linear, sampled_product, transposed_product

__all__ = ["Activation", "apply_linear", "linear"]

# By name: the function of torch, which has a gradient.
_ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": torch.nn.functional.gelu,
    "relu": torch.nn.functional.relu,
    "silu": torch.nn.functional.silu,
}


def linear(
    x: torch.Tensor,
    w: BSR,
    bias: torch.Tensor | None = None,
    activation: Activation = None,
    residual: torch.Tensor | None = None,
    *,
    static: bool = False,
    pack: bool = False,
) -> torch.Tensor:
    """activation(x Wᵀ + bias) + residual: the linear layer of a block-sparse weight.

    It is one kernel, which is compiled at the first call with these types, block and activation, and serves all sizes.
    If a gradient is needed through a named activation, the kernel gives x Wᵀ + bias, rounded to the type of x, and
    torch does the rest.

    Args:
        x: [..., K], bf16 or f16, on the device of w.
        w: M x K, of tensors; its values have the type of x.
        bias: [M], f32, bf16 or f16.
        activation: "gelu" (with erf), "relu" or "silu", or a function of one value that sparsec.tracing can trace.
        residual: [..., M], f32, bf16 or f16.
        static: the lists of w change only by functions of torch, and seldom: the plan may put their blocks in another
            order, and each change makes a new plan.
        pack: lists and values change only by functions of torch, and seldom. On a GPU a copy of the values in larger
            blocks is kept and multiplied, if that is faster: small blocks must be close together. The first call makes
            it, and the first call after a change of the values makes it again. Calls that record a gradient of the
            values, and those with values of the inference mode, read the values. A CUDA graph makes the copy again
            whenever it runs. docs/python.md says what is kept.

    Returns:
        [..., M] of the type of x. Sums are f32, and the result is rounded once.

    There are gradients of x, of the values of w, bias and residual, and through named activations. Their sums are f32,
    and the same in every run. A backward pass through an activation that is a function raises NotImplementedError.

    Raises:
        InvalidArgument: an argument does not fit; the text names it.
        InvalidPattern: the lists of w break a rule.
        TracingError: the activation cannot be traced.
    """
    if not isinstance(w, BSR):
        raise InvalidArgument(f"w: expects a sparsec.BSR, but got {type(w).__name__}")
    row_ptr, col_idx, values, block, shape = w.parts
    y = repeat_linear(row_ptr, col_idx, values, shape, x, bias, activation, residual, static, pack)
    if y is None:
        y = apply_linear(row_ptr, col_idx, values, block, shape, x, bias, activation, residual, static, pack)
    return y


def apply_linear(
    row_ptr: torch.Tensor,
    col_idx: torch.Tensor,
    values: torch.Tensor,
    block: tuple[int, int],
    shape: tuple[int, int],
    x: torch.Tensor,
    bias: torch.Tensor | None,
    activation: Activation,
    residual: torch.Tensor | None,
    static: bool,
    pack: bool,
) -> torch.Tensor:
    """`linear` of a matrix in its parts, which repeats no earlier call."""
    # In forward mode any tensor may have a tangent, for which torch then asks the function below.
    has_tangents = forward_ad._current_level >= 0
    _check(x, shape, bias, residual)
    tensors = [] if bias is None else [bias]
    if residual is not None:
        tensors.append(residual)
    needs_gradient = has_tangents or (
        torch.is_grad_enabled()
        and (
            x.requires_grad
            or values.requires_grad
            or (bias is not None and bias.requires_grad)
            or (residual is not None and residual.requires_grad)
        )
    )
    if needs_gradient and isinstance(activation, str):
        s = apply_linear(row_ptr, col_idx, values, block, shape, x, bias, None, None, static, pack)
        y = _ACTIVATIONS[known_activation(activation)](s)
        return y if residual is None else (y + residual).to(x.dtype)
    types = x.dtype, None if bias is None else bias.dtype, None if residual is None else residual.dtype
    if callable(activation):
        text, captures = _traced(block, *types, activation)
        tensors += captures
    else:
        text = _text(block, *types, activation)
    result: torch.Tensor
    if needs_gradient:
        # The values that are trained change in every step: a copy would serve one call.
        constants = shape[0], static, pack and not values.requires_grad, text, callable(activation)
        result = _Linear.apply(row_ptr, col_idx, values, x, bias, residual, tensors, *constants)
    else:
        result = product(row_ptr, col_idx, values, x, tensors, shape[0], static, pack, text)
        if not callable(activation) and not torch.compiler.is_compiling():
            is_plain = bias is None, residual is None
            keep_linear(row_ptr, col_idx, values, shape, activation, is_plain, static, pack, text)
    return result


def _check(x: torch.Tensor, shape: tuple[int, int], bias: torch.Tensor | None, residual: torch.Tensor | None) -> None:
    _expect_tensor("x", x)
    given = x.shape
    if len(given) == 0 or given[-1] != shape[1]:
        raise InvalidArgument(f"x: expects {shape[1]} elements in the last dimension, but got shape {tuple(given)}")
    if bias is not None:
        _expect_tensor("bias", bias)
    if residual is not None:
        _expect_tensor("residual", residual)
        if residual.shape != (*given[:-1], shape[0]):
            raise InvalidArgument(f"residual: expects shape {(*given[:-1], shape[0])}, but got {tuple(residual.shape)}")


def _expect_tensor(name: str, tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise InvalidArgument(f"{name}: expects a tensor, but got {type(tensor).__name__}")


# ---- Programs --------------------------------------------------------------------------------------------------------


# torch.compile takes their results as constants. It would look into functions with a cache of their own.


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _text(
    block: tuple[int, int],
    dtype: torch.dtype,
    bias: torch.dtype | None,
    residual: torch.dtype | None,
    activation: str | None,
) -> str:
    """The kernel for these types."""
    return _cached_text(block, dtype, bias, residual, activation)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _traced(
    block: tuple[int, int],
    dtype: torch.dtype,
    bias: torch.dtype | None,
    residual: torch.dtype | None,
    activation: Callable[[Any], Any],
) -> tuple[str, list[torch.Tensor]]:
    """The kernel with a function, which is traced in every call, and the arrays that it captured."""
    program = linear_programs.program(block, dtype_name(dtype), _name(bias), _name(residual), activation)
    return operator_text(program.text()), [torch.as_tensor(each) for each in program.captures.values()]


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _values_gradient_text(block: tuple[int, int], dtype: torch.dtype) -> str:
    """The kernel of the gradient of the values, from those of the result and from x, tokens by features."""
    return operator_text(linear_programs.values_gradient_text(block, dtype_name(dtype)))


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _x_gradient_text(block: tuple[int, int], dtype: torch.dtype) -> str:
    """The kernel of the gradient of x, tokens by features, from that of the result."""
    return operator_text(linear_programs.x_gradient_text(block, dtype_name(dtype)))


@functools.cache
def _cached_text(
    block: tuple[int, int],
    dtype: torch.dtype,
    bias: torch.dtype | None,
    residual: torch.dtype | None,
    activation: str | None,
) -> str:
    text = linear_programs.text(block, dtype_name(dtype), _name(bias), _name(residual), activation)
    return operator_text(text)


def _name(dtype: torch.dtype | None) -> str | None:
    return None if dtype is None else dtype_name(dtype)


# ---- Gradients -------------------------------------------------------------------------------------------------------


class _Linear(torch.autograd.Function):  # type: ignore[misc]
    """A product with its gradients. Without it torch would drop them without a word."""

    @staticmethod
    def forward(
        row_ptr: torch.Tensor,
        col_idx: torch.Tensor,
        values: torch.Tensor,
        x: torch.Tensor,
        bias: torch.Tensor | None,
        residual: torch.Tensor | None,
        operands: Sequence[torch.Tensor],
        rows: int,
        static: bool,
        packed: bool,
        text: str,
        has_function: bool,
    ) -> torch.Tensor:
        result: torch.Tensor = product(row_ptr, col_idx, values, x, list(operands), rows, static, packed, text)
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        row_ptr, col_idx, values, x, bias, residual, *_, ctx.has_function = inputs
        ctx.save_for_backward(row_ptr, col_idx, values, x)
        ctx.bias_dtype = None if bias is None else bias.dtype
        ctx.residual_dtype = None if residual is None else residual.dtype

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        if ctx.has_function:
            raise NotImplementedError(
                "sparsec.torch.linear has no gradient through an activation that is a function: "
                f"{', '.join(_ACTIVATIONS)} have one"
            )
        row_ptr, col_idx, values, x = ctx.saved_tensors
        _, _, needs_values, needs_x, needs_bias, needs_residual, *_ = ctx.needs_input_grad
        gradient = gradient.contiguous()
        of_values = of_x = of_bias = of_residual = None
        if needs_values:
            text = _values_gradient_text((values.shape[1], values.shape[2]), x.dtype)
            of_values = sampled_product(row_ptr, col_idx, values, gradient, x, [], None, text)
        if needs_x:
            text = _x_gradient_text((values.shape[1], values.shape[2]), x.dtype)
            of_x = transposed_product(row_ptr, col_idx, values, gradient, x.shape[-1], text)
        if needs_bias:
            of_bias = gradient.reshape(-1, gradient.shape[-1]).sum(0, dtype=torch.float32).to(ctx.bias_dtype)
        if needs_residual:
            of_residual = gradient.to(ctx.residual_dtype)
        return None, None, of_values, of_x, of_bias, of_residual, None, None, None, None, None, None
