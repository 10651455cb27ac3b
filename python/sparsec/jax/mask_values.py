# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates the masks of attention kernels on arrays of JAX, for the gradients of attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from sparsec.programs import Program
from sparsec.region_steps import RegionSteps, steps_of

__all__ = ["Mask", "mask_of"]

_DTYPES = {"i1": jnp.bool_, "i32": jnp.int32, "f32": jnp.float32, "f16": jnp.float16, "bf16": jnp.bfloat16}


def _divide(left: Any, right: Any) -> Any:
    """Towards zero, as arith.divsi; x / 0 is 0."""
    is_zero = right == 0
    return jnp.where(is_zero, 0, jax.lax.div(*jnp.broadcast_arrays(left, jnp.where(is_zero, 1, right))))


def _remainder(left: Any, right: Any) -> Any:
    """Has the sign of `left`, as arith.remsi; x % 0 is 0."""
    is_zero = right == 0
    return jnp.where(is_zero, 0, jax.lax.rem(*jnp.broadcast_arrays(left, jnp.where(is_zero, 1, right))))


def _fma(a: Any, b: Any, c: Any) -> Any:
    with jax.enable_x64(True):
        wide = [each.astype(jnp.float64) for each in (a, b, c)]
        return (wide[0] * wide[1] + wide[2]).astype(jnp.float32)


def _same(value: Any) -> Any:
    return value


_COMPUTE: dict[str, Callable[..., Any]] = {
    "arith.addf": jnp.add, "arith.subf": jnp.subtract, "arith.mulf": jnp.multiply, "arith.divf": jnp.divide,
    "arith.negf": jnp.negative, "arith.maximumf": jnp.maximum, "arith.minimumf": jnp.minimum,
    "arith.maxnumf": jnp.fmax, "arith.minnumf": jnp.fmin, "arith.addi": jnp.add, "arith.subi": jnp.subtract,
    "arith.muli": jnp.multiply, "arith.divsi": _divide, "arith.remsi": _remainder, "arith.minsi": jnp.minimum,
    "arith.maxsi": jnp.maximum, "arith.shli": jnp.left_shift, "arith.shrsi": jnp.right_shift,
    "arith.andi": jnp.bitwise_and, "arith.ori": jnp.bitwise_or, "arith.xori": jnp.bitwise_xor,
    "arith.select": jnp.where, "arith.sitofp": _same, "arith.fptosi": jnp.trunc, "arith.extf": _same,
    "arith.truncf": _same, "math.absf": jnp.abs, "math.fma": _fma, "math.floor": jnp.floor, "math.ceil": jnp.ceil,
    "math.sqrt": jnp.sqrt, "math.rsqrt": jax.lax.rsqrt, "math.exp": jnp.exp, "math.exp2": jnp.exp2,
    "math.expm1": jnp.expm1, "math.log": jnp.log, "math.log2": jnp.log2, "math.log1p": jnp.log1p,
    "math.tanh": jnp.tanh, "math.sin": jnp.sin, "math.cos": jnp.cos, "math.erf": jax.lax.erf,
}  # fmt: skip

_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": jnp.equal, "ne": jnp.not_equal, "lt": jnp.less, "le": jnp.less_equal, "gt": jnp.greater,
    "ge": jnp.greater_equal,
}  # fmt: skip


class Mask(RegionSteps):
    """What a mask_mod computes, on arrays of JAX."""

    dtypes, compute, compare = _DTYPES, _COMPUTE, _COMPARE

    def constant(self, value: Any, dtype: Any, like: Any) -> Any:
        return jnp.asarray(value, dtype)

    def convert(self, value: Any, dtype: Any) -> Any:
        return value.astype(dtype)

    def element(self, array: Any, indices: Sequence[Any]) -> Any:
        places = zip(indices, array.shape, strict=True)
        return array[tuple(each.clip(0, size - 1) for each, size in places)]


def mask_of(program: Program) -> Mask | None:
    """The mask of a program, which reads its captured arrays; None: it has none."""
    if program.mask is None:
        return None
    return Mask(steps_of(program.mask.nodes, list(program.captures.values())))
