# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates the functions of attention kernels on torch tensors, for the gradients of attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from sparsec.programs import Program
from sparsec.region_steps import RegionSteps, steps_of

__all__ = ["Functions", "TracedFunction", "functions_of", "place_of", "remember"]

_DTYPES = {"i1": torch.bool, "i32": torch.int32, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def _divide(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Towards zero, as arith.divsi; x / 0 is 0, where torch raises on the processor."""
    is_zero = right == 0
    quotient = torch.div(left, torch.where(is_zero, 1, right), rounding_mode="trunc")
    return torch.where(is_zero, 0, quotient)


def _remainder(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Has the sign of `left`, as arith.remsi; x % 0 is 0."""
    is_zero = right == 0
    return torch.where(is_zero, 0, torch.fmod(left, torch.where(is_zero, 1, right)))


def _fma(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    return a.double() * b.double() + c.double()


_COMPUTE: dict[str, Callable[..., torch.Tensor]] = {
    "arith.addf": torch.add, "arith.subf": torch.sub, "arith.mulf": torch.mul, "arith.divf": torch.div,
    "arith.negf": torch.neg, "arith.maximumf": torch.maximum, "arith.minimumf": torch.minimum,
    "arith.maxnumf": torch.fmax, "arith.minnumf": torch.fmin, "arith.addi": torch.add, "arith.subi": torch.sub,
    "arith.muli": torch.mul, "arith.divsi": _divide, "arith.remsi": _remainder, "arith.minsi": torch.minimum,
    "arith.maxsi": torch.maximum, "arith.shli": torch.bitwise_left_shift, "arith.shrsi": torch.bitwise_right_shift,
    "arith.andi": torch.bitwise_and, "arith.ori": torch.bitwise_or, "arith.xori": torch.bitwise_xor,
    "arith.select": torch.where, "arith.sitofp": torch.clone, "arith.fptosi": torch.trunc, "arith.extf": torch.clone,
    "arith.truncf": torch.clone, "math.absf": torch.abs, "math.fma": _fma, "math.floor": torch.floor,
    "math.ceil": torch.ceil, "math.sqrt": torch.sqrt, "math.rsqrt": torch.rsqrt, "math.exp": torch.exp,
    "math.exp2": torch.exp2, "math.expm1": torch.expm1, "math.log": torch.log, "math.log2": torch.log2,
    "math.log1p": torch.log1p, "math.tanh": torch.tanh, "math.sin": torch.sin, "math.cos": torch.cos,
    "math.erf": torch.erf,
}  # fmt: skip

_COMPARE: dict[str, Callable[..., torch.Tensor]] = {
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
}  # fmt: skip


class TracedFunction(RegionSteps):
    """What a mask_mod or a score_mod computes, on tensors."""

    dtypes, compute, compare = _DTYPES, _COMPUTE, _COMPARE

    def constant(self, value: Any, dtype: torch.dtype, like: torch.Tensor) -> torch.Tensor:
        return torch.full((), value, dtype=dtype, device=like.device)

    def convert(self, value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return value.to(dtype)

    def element(self, array: torch.Tensor, indices: Sequence[torch.Tensor]) -> torch.Tensor:
        return array[place_of(indices, array)]


def place_of(indices: Sequence[torch.Tensor], array: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The element at these indices: those below 0 read the first one and those beyond the end the last one, as in
    kernels on GPUs."""
    return tuple(each.long().clamp(0, size - 1) for each, size in zip(indices, array.shape, strict=True))


class Functions(NamedTuple):
    """The functions of a kernel; None: it has none."""

    mask: TracedFunction | None
    score: TracedFunction | None


# By the text of a kernel, which says what its functions compute. They hold no arrays.
_functions: dict[str, Functions] = {}


def remember(text: str, program: Program) -> None:
    """Keeps the functions of a kernel, which operators know by this text."""
    arrays = list(program.captures.values())
    regions = program.mask, program.score
    traced = (None if each is None else TracedFunction(steps_of(each.nodes, arrays)) for each in regions)
    _functions.setdefault(text, Functions(*traced))


def functions_of(text: str) -> Functions | None:
    """The functions of a kernel that this process has made; None: another process made it."""
    return _functions.get(text)
