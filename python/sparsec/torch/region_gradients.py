# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradients of functions of attention kernels, by the chain rule from the last step to the first.

torch.autograd cannot do it: it records nothing inside of an operator that torch.compile calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import torch

from sparsec.region_steps import Step
from sparsec.torch.region_values import TracedFunction, place_of

__all__ = ["gradients"]

Rule: TypeAlias = "Callable[..., tuple[torch.Tensor | None, ...]]"


def _share(is_first: torch.Tensor, is_equal: torch.Tensor) -> torch.Tensor:
    """The part of a gradient that the first of two operands gets: all if it is the result, half if both are."""
    return is_first.float() + is_equal.float() / 2


def _larger(g: torch.Tensor, y: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    share = _share(a > b, a == b)
    return g * share, g * (1 - share)


def _smaller(g: torch.Tensor, y: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
    share = _share(a < b, a == b)
    return g * share, g * (1 - share)


# From the gradient g of a step, its value y and its operands: the gradients of its operands. The other steps have
# integers or truth values, or results that do not change with their operands.
_RULES: dict[str, Rule] = {
    "arith.addf": lambda g, y, a, b: (g, g),
    "arith.subf": lambda g, y, a, b: (g, -g),
    "arith.mulf": lambda g, y, a, b: (g * b, g * a),
    "arith.divf": lambda g, y, a, b: (g / b, -g * y / b),
    "arith.negf": lambda g, y, a: (-g,),
    "arith.maximumf": _larger,
    "arith.minimumf": _smaller,
    "arith.maxnumf": _larger,
    "arith.minnumf": _smaller,
    "arith.select": lambda g, y, c, a, b: (None, torch.where(c, g, 0), torch.where(c, 0, g)),
    "arith.extf": lambda g, y, a: (g,),
    "arith.truncf": lambda g, y, a: (g,),
    "math.absf": lambda g, y, a: (g * a.sign(),),
    "math.fma": lambda g, y, a, b, c: (g * b, g * a, g),
    "math.sqrt": lambda g, y, a: (g / (2 * y),),
    "math.rsqrt": lambda g, y, a: (g * y**3 / -2,),
    "math.exp": lambda g, y, a: (g * y,),
    "math.exp2": lambda g, y, a: (g * y * math.log(2),),
    "math.expm1": lambda g, y, a: (g * (y + 1),),
    "math.log": lambda g, y, a: (g / a,),
    "math.log2": lambda g, y, a: (g / (a * math.log(2)),),
    "math.log1p": lambda g, y, a: (g / (1 + a),),
    "math.tanh": lambda g, y, a: (g * (1 - y * y),),
    "math.sin": lambda g, y, a: (g * a.cos(),),
    "math.cos": lambda g, y, a: (-g * a.sin(),),
    "math.erf": lambda g, y, a: (g * torch.exp(-a * a) * (2 / math.sqrt(math.pi)),),
}


def gradients(
    function: TracedFunction,
    values: Sequence[torch.Tensor],
    gradient: torch.Tensor,
    of_arrays: Mapping[int, torch.Tensor],
) -> dict[str, torch.Tensor]:
    """The gradients of the arguments of floats on which the result depends, by their names.

    Where an array of `of_arrays` is read, the gradient of the element is added to it.

    Args:
        function: whose last step has the gradient.
        values: of all steps.
        gradient: of the last step: float32.
        of_arrays: the gradients of captured arrays, by the numbers of the arrays: float32, of their shapes.
    """
    found: list[torch.Tensor | None] = [None] * len(values)
    found[-1] = gradient
    of_arguments = {}
    for number in reversed(range(len(values))):
        step, g = function.steps[number], found[number]
        if g is None:
            continue
        if step.op == "argument":
            of_arguments[step.attribute] = g
        elif step.array is not None:
            if step.array in of_arrays:
                _add_element(of_arrays[step.array], [values[each] for each in step.operands], g)
        else:
            _add_operands(step, g, number, values, found)
    return of_arguments


def _add_operands(
    step: Step, g: torch.Tensor, number: int, values: Sequence[torch.Tensor], found: list[torch.Tensor | None]
) -> None:
    """Adds the gradients of the operands of a step to those that other steps gave them.

    Where the gradient of the step is 0, that of an operand is 0 too, even where the derivative is infinite or NaN:
    scores that no query sees, and padding, have any values.
    """
    rule = _RULES.get(step.op)
    if rule is None:
        return
    of_operands = rule(g, values[number], *(values[each] for each in step.operands))
    for operand, of_operand in zip(step.operands, of_operands, strict=True):
        if of_operand is not None:
            summed = of_operand.float().where(g != 0, 0).sum_to_size(values[operand].shape)
            known = found[operand]
            found[operand] = summed if known is None else known + summed


def _add_element(of_array: torch.Tensor, indices: Sequence[torch.Tensor], g: torch.Tensor) -> None:
    """Adds the gradients of elements of an array, those of the same element in a fixed order."""
    place = torch.zeros((), dtype=torch.long, device=g.device)
    for index, size in zip(place_of(indices, of_array), of_array.shape, strict=True):
        place = place * size + index
    flat, places, values = of_array.view(-1), place.expand(g.shape).reshape(-1), g.reshape(-1)
    if flat.is_cuda:
        flat.index_put_((places,), values, accumulate=True)  # sorts; index_add_ has no fixed order there
    else:
        flat.index_add_(0, places, values)  # one after the other; index_put_ has no fixed order here
