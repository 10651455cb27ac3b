# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse layers on torch tensors. Needs torch, which `import sparsec` does not import."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from . import devices, dtypes, module, programs, tracing
from .bsr import BSR
from .errors import InvalidArgument
from .kernel import Kernel

__all__ = ["linear"]

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"gelu": tracing.gelu, "relu": tracing.relu, "silu": tracing.silu}


def linear(
    x: torch.Tensor,
    w: BSR,
    bias: torch.Tensor | None = None,
    activation: str | Callable[[Any], Any] | None = None,
    residual: torch.Tensor | None = None,
) -> torch.Tensor:
    """activation(x Wᵀ + bias) + residual, in one kernel: the linear layer of a block-sparse weight.

    The kernel is compiled at the first call with these types, block and activation, and serves all sizes.

    Args:
        x: [..., K], bf16 or f16, on the device of w.
        w: M x K, of tensors; its values have the type of x.
        bias: [M], f32, bf16 or f16.
        activation: "gelu" (with erf), "relu" or "silu", or a function of one value that sparsec.tracing can trace.
        residual: [..., M], f32, bf16 or f16.

    Returns:
        [..., M] of the type of x. Sums are f32, and the result is rounded once.

    Gradients are missing: a backward pass through the result raises NotImplementedError.

    Raises:
        InvalidArgument: an argument does not fit; the text names it.
        InvalidPattern: the lists of w break a rule.
        TracingError: the activation cannot be traced.
    """
    for name, tensor in (("x", x), ("bias", bias), ("residual", residual)):
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise InvalidArgument(f"{name}: expects a tensor, but got {type(tensor).__name__}")
    if not isinstance(w, BSR):
        raise InvalidArgument(f"w: expects a sparsec.BSR, but got {type(w).__name__}")
    if x.dim() == 0 or x.shape[-1] != w.shape[1]:
        raise InvalidArgument(f"x: expects {w.shape[1]} elements in the last dimension, but got shape {tuple(x.shape)}")
    shape = (*x.shape[:-1], w.shape[0])
    if residual is not None and residual.shape != shape:
        raise InvalidArgument(f"residual: expects shape {shape}, but got {tuple(residual.shape)}")
    program = _program(w.block, _name(x), activation, _name(bias), _name(residual))
    kernel = _kernel(program.text(), devices.target_of_device(x.get_device()))
    result: torch.Tensor = _Forward.apply(kernel, program, w, x, bias, residual)
    return result


def _name(tensor: torch.Tensor | None) -> str | None:
    """The name of a tensor's element type in kernels."""
    if tensor is None:
        return None
    return dtypes.NAMES[dtypes.number_of(str(tensor.dtype).removeprefix("torch."))]


def _program(
    block: tuple[int, int],
    dtype: str | None,
    activation: str | Callable[[Any], Any] | None,
    bias: str | None,
    residual: str | None,
) -> programs.Program:
    """The program for these types. A function is traced in every call, because it may capture other arrays."""
    if callable(activation):
        return _traced(block, dtype, activation, bias, residual)
    if activation is not None and activation not in _ACTIVATIONS:
        raise InvalidArgument(f"activation: expects {', '.join(_ACTIVATIONS)} or a function, but got {activation!r}")
    return _named(block, dtype, activation, bias, residual)


@functools.lru_cache
def _named(
    block: tuple[int, int], dtype: str | None, activation: str | None, bias: str | None, residual: str | None
) -> programs.Program:
    return _traced(block, dtype, _ACTIVATIONS[activation] if activation else None, bias, residual)


def _traced(
    block: tuple[int, int],
    dtype: str | None,
    activation: Callable[[Any], Any] | None,
    bias: str | None,
    residual: str | None,
) -> programs.Program:
    extras: dict[str, programs.Extra] = {}
    if bias is not None:
        extras["bias"] = programs.per_row(bias)
    if residual is not None:
        extras["residual"] = programs.full(residual)

    def epilogue(acc: Any, *values: Any) -> Any:
        operands = dict(zip(extras, values, strict=True))
        value = acc + operands["bias"] if bias is not None else acc
        value = activation(value) if activation is not None else value
        return value + operands["residual"] if residual is not None else value

    return programs.spmm(
        block,
        dtype or "",
        x_layout="nk",
        y_layout="nm",
        epilogue=epilogue if extras or activation else None,
        extras=extras,
        name="linear",
    )


@functools.cache
def _kernel(text: str, target: str) -> Kernel:
    """The kernel of a text, loaded once."""
    return module.compile(text, target)["linear"]


class _Forward(torch.autograd.Function):  # type: ignore[misc]
    """Launches the kernel. Without it torch would drop the gradient of the result without a word."""

    @staticmethod
    def forward(
        ctx: Any,
        kernel: Kernel,
        program: programs.Program,
        w: BSR,
        x: torch.Tensor,
        bias: torch.Tensor | None,
        residual: torch.Tensor | None,
    ) -> torch.Tensor:
        rows, columns = w.shape
        named: dict[str, Any] = {**program.captures, "w": w, "x": x.detach().reshape(-1, columns)}
        if bias is not None:
            named["bias"] = bias.detach()
        if residual is not None:
            named["residual"] = residual.detach().reshape(-1, rows)
        y: torch.Tensor = kernel(*(named[argument.name] for argument in kernel.info.inputs))
        return y.reshape(*x.shape[:-1], rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(
            "sparsec.torch.linear has no gradient yet: it needs the transposed product for x and sddmm for the values"
        )
