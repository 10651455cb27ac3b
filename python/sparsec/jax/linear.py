# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse linear layers as a function, with gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from sparsec import linear_programs
from sparsec.bsr import BSR
from sparsec.errors import InvalidArgument
from sparsec.jax.call import as_varying, dtype_name, expect_array
from sparsec.jax.products import Operands, Pattern, product, sampled_product, transposed_product
from sparsec.jax.trees import constant_lists
from sparsec.linear_programs import ACTIVATIONS, Activation, known_activation

__all__ = ["linear"]

# By name: the function of JAX, which has a gradient.
_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "gelu": functools.partial(jax.nn.gelu, approximate=False),
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
}


def linear(x: Any, w: BSR, bias: Any = None, activation: Activation = None, residual: Any = None) -> Any:
    """activation(x Wᵀ + bias) + residual: the linear layer of a block-sparse weight.

    It is one kernel, which is compiled for the first computation with these types, block and activation, and serves all
    sizes. If a gradient is needed through a named activation, the kernel gives x Wᵀ + bias, rounded to the type of x,
    and JAX does the rest.

    Args:
        x: [..., K], bf16 or f16.
        w: M x K, with values of the type of x. Lists of NumPy are constants of the computation, which has a plan for
            them. Lists of JAX may change from call to call.
        bias: [M], f32, bf16 or f16.
        activation: "gelu" (with erf), "relu" or "silu", or a function of one value that sparsec.tracing can trace.
        residual: [..., M], f32, bf16 or f16.

    Returns:
        [..., M] of the type of x. Sums are f32, and the result is rounded once.

    There are gradients of x, of the values of w, bias and residual, and through named activations, in reverse mode.
    Their sums are f32, and the same in every run. NotImplementedError is raised for those that there are not: of x with
    lists of JAX, because the product with the transpose needs a plan; and through an activation that is a function.

    Raises:
        InvalidArgument: an argument does not fit; the text names it.
        InvalidPattern: lists of NumPy break a rule. Those of JAX are checked by launches on the host alone.
        TracingError: the activation cannot be traced.
    """
    x, bias, residual = _checked(x, w, bias, residual)
    types = (
        dtype_name(x),
        None if bias is None else dtype_name(bias),
        None if residual is None else dtype_name(residual),
    )
    captures: tuple[Any, ...] = ()
    if callable(activation):
        program = linear_programs.program(w.block, *types, activation)
        captures = tuple(jnp.asarray(each) for each in program.captures.values())
        kernel, name = program.text(), None
    else:
        name = None if activation is None else known_activation(activation)
        kernel = linear_programs.text(w.block, *types, name)
    lists = constant_lists(w)
    layer = _Layer(Pattern(w.shape, w.block, lists), *types, kernel, name, callable(activation))
    operands = {
        "row_ptr": jnp.asarray(w.row_ptr if lists is None else lists.row_ptr),
        "col_idx": jnp.asarray(w.col_idx if lists is None else lists.col_idx),
        "values": jnp.asarray(w.values),
        "x": x.reshape(-1, x.shape[-1]),
        "bias": bias,
        "residual": None if residual is None else residual.reshape(-1, residual.shape[-1]),
        "captures": captures,
    }
    operands = as_varying(operands)
    # JAX traces a call outside of a transformation once. Inside one it fails to differentiate what it traced so
    # in several ways (with symbolic zeros, under jax.checkpoint).
    is_traced = any(isinstance(each, jax.core.Tracer) for each in jax.tree.leaves(operands))
    y = _apply(layer, operands) if is_traced else _apply_alone(layer, operands)
    return y.reshape(*x.shape[:-1], w.shape[0])


def _checked(x: Any, w: Any, bias: Any, residual: Any) -> tuple[Any, Any, Any]:
    """x, bias and residual as arrays of JAX, which fit w."""
    x = expect_array("x", x)
    if not isinstance(w, BSR):
        raise InvalidArgument(f"w: expects a sparsec.BSR, but got {type(w).__name__}")
    expect_array("w", w.values)
    if x.ndim == 0 or x.shape[-1] != w.shape[1]:
        raise InvalidArgument(f"x: expects {w.shape[1]} elements in the last dimension, but got shape {x.shape}")
    if w.values.dtype != x.dtype:
        raise InvalidArgument(f"w: expects values of {x.dtype}, the type of x, but got {w.values.dtype}")
    for name, array in (("row_ptr", w.row_ptr), ("col_idx", w.col_idx)):
        expect_array(name, array)  # which would round int64 to int32
        if array.dtype != jnp.int32:
            raise InvalidArgument(f"{name}: expects int32, but got {array.dtype}")
    shapes = {"bias": (bias, (w.shape[0],)), "residual": (residual, (*x.shape[:-1], w.shape[0]))}
    for name, (array, shape) in shapes.items():
        if array is not None and expect_array(name, array).shape != shape:
            raise InvalidArgument(f"{name}: expects shape {shape}, but got {array.shape}")
    return x, *(None if each is None else jnp.asarray(each) for each in (bias, residual))


# ---- Gradients -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Layer:
    """What is known of a layer when a function is traced: types by their names in kernels, and the kernel."""

    pattern: Pattern
    dtype: str
    bias: str | None
    residual: str | None
    kernel: str
    activation: str | None
    has_function: bool


def _activated(layer: _Layer, s: Any) -> Any:
    """The activation of x Wᵀ + bias, in f32 as in the kernel."""
    if layer.activation is None:
        return s
    return _ACTIVATIONS[layer.activation](s.astype(jnp.float32)).astype(s.dtype)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _apply(layer: _Layer, operands: Operands) -> Any:
    return product(layer.pattern, layer.kernel, operands)


def _forward(layer: _Layer, operands: Any) -> tuple[Any, Operands]:
    """The result, and what its gradients need. operands: with each array whether a gradient of it is needed."""
    is_needed = {name: operands[name].perturbed for name in ("x", "values")}
    arrays = jax.tree.map(lambda each: each.value, operands, is_leaf=lambda each: hasattr(each, "perturbed"))
    if layer.has_function:
        raise NotImplementedError(
            "sparsec.jax.linear has no gradient through an activation that is a function: "
            f"{', '.join(ACTIVATIONS)} have one"
        )
    if is_needed["x"] and layer.pattern.lists is None:
        raise NotImplementedError(
            "sparsec.jax.linear has no gradient of x where the lists of w are arrays of JAX: the product with the "
            "transpose needs a plan of lists that are arrays of NumPy"
        )
    saved = {
        "row_ptr": arrays["row_ptr"],
        "col_idx": arrays["col_idx"],
        "values": arrays["values"] if is_needed["x"] else None,
        "x": arrays["x"] if is_needed["values"] else None,
        "s": None,
    }
    if layer.activation is None:
        return product(layer.pattern, layer.kernel, arrays), saved
    affine = linear_programs.text(layer.pattern.block, layer.dtype, layer.bias, None, None)
    s = saved["s"] = product(layer.pattern, affine, {**arrays, "residual": None})
    y = _activated(layer, s)
    if layer.residual is not None:
        y = (y.astype(jnp.float32) + arrays["residual"].astype(jnp.float32)).astype(s.dtype)
    return y, saved


def _backward(layer: _Layer, saved: Operands, gradient: Any) -> tuple[Operands]:
    block, lists = layer.pattern.block, {name: saved[name] for name in ("row_ptr", "col_idx")}
    gradients: dict[str, Any] = dict.fromkeys(("row_ptr", "col_idx", "values", "x", "bias", "residual"))
    gradients["captures"] = ()
    if isinstance(gradient, jax.custom_derivatives.SymbolicZero):
        return (gradients,)
    if layer.residual is not None:
        gradients["residual"] = gradient.astype(_dtype(layer.residual))
    if saved["s"] is not None:
        (gradient,) = jax.vjp(functools.partial(_activated, layer), saved["s"])[1](gradient)
    if layer.bias is not None:
        gradients["bias"] = gradient.sum(0, dtype=jnp.float32).astype(_dtype(layer.bias))
    if saved["x"] is not None:
        text = linear_programs.values_gradient_text(block, layer.dtype)
        operands = {**lists, "a": gradient, "b": saved["x"], "captures": ()}
        gradients["values"] = sampled_product(layer.pattern, text, operands)
    if saved["values"] is not None:
        text = linear_programs.x_gradient_text(block, layer.dtype)
        operands = {**lists, "values": saved["values"], "x": gradient}
        gradients["x"] = transposed_product(layer.pattern, text, operands)
    return (gradients,)


def _dtype(name: str) -> Any:
    return {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16}[name]


_apply.defvjp(_forward, _backward, symbolic_zeros=True)
_apply_alone = jax.jit(_apply, static_argnums=0)
