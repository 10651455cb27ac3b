# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates the masks of attention kernels on torch tensors, for the gradients of attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from sparsec.programs import Program
from sparsec.region_steps import RegionSteps, steps_of

__all__ = ["Mask", "mask_of", "remember"]

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


class Mask(RegionSteps):
    """What a mask_mod computes, on tensors."""

    dtypes, compute, compare = _DTYPES, _COMPUTE, _COMPARE

    def constant(self, value: Any, dtype: torch.dtype, like: torch.Tensor) -> torch.Tensor:
        return torch.full((), value, dtype=dtype, device=like.device)

    def convert(self, value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return value.to(dtype)

    def element(self, array: torch.Tensor, indices: Sequence[torch.Tensor]) -> torch.Tensor:
        places = zip(indices, array.shape, strict=True)
        return array[tuple(each.long().clamp(0, size - 1) for each, size in places)]


# By the text of a kernel, which says what its mask computes. It holds no array.
_masks: dict[str, Mask] = {}


def remember(text: str, program: Program) -> None:
    """Keeps the mask of a kernel, which operators know by this text."""
    if program.mask is not None:
        _masks.setdefault(text, Mask(steps_of(program.mask.nodes, list(program.captures.values()))))


def mask_of(text: str) -> Mask | None:
    """The mask of a kernel that this process has made; None: it has none."""
    return _masks.get(text)
