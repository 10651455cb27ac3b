# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Merges the results of attention over parts of the keys, with the functions of any library of arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .errors import InvalidArgument
from .options import one_of

__all__ = ["check_parts", "merged"]


def check_parts(parts: Sequence[tuple[Any, Any]], layout: str) -> None:
    """Refuses parts whose shapes do not belong together.

    Raises:
        InvalidArgument: the text names the part.
    """
    one_of("layout", layout, ("bhsd", "bshd"))
    if not parts:
        raise InvalidArgument("expects at least one part (o, lse)")
    first = tuple(parts[0][0].shape)
    if len(first) not in (3, 4):
        raise InvalidArgument(f"part 0: expects o with 3 or 4 dimensions, but got shape {first}")
    is_transposed = len(first) == 3 or layout == "bshd"
    rows = (*first[:-3], first[-2], first[-3]) if is_transposed else first[:-1]
    for number, (o, lse) in enumerate(parts):
        if tuple(o.shape) != first:
            raise InvalidArgument(f"part {number}: expects o of shape {first}, as part 0, but got {tuple(o.shape)}")
        if tuple(lse.shape) != rows:
            raise InvalidArgument(f"part {number}: expects lse of shape {rows}, but got {tuple(lse.shape)}")


def merged(
    library: Any,
    constant: Callable[[Any], Any],
    outputs: Sequence[Any],
    logarithms: Sequence[Any],
    is_transposed: bool,
) -> tuple[Any, Any]:
    """o and lse of all keys, from those of parts of the keys.

    With l_p = exp(lse_p - m) for the largest lse m of a row, o = sum l_p o_p / sum l_p and lse = m + log sum l_p. No
    step overflows, and rows without keys have o = 0 and lse = -inf, with gradients of 0.

    Args:
        library: has exp, log, where, maximum and swapaxes: torch or jax.numpy.
        constant: gives an array without its gradient.
        outputs: o of each part, f32.
        logarithms: lse of each part, f32.
        is_transposed: whether o has tokens before heads, and lse heads before tokens.
    """
    largest = constant(functools.reduce(library.maximum, logarithms))
    is_empty = largest == -math.inf
    largest = library.where(is_empty, 0.0, largest)
    weights = [library.exp(each - largest) for each in logarithms]
    total = library.where(is_empty, 1.0, functools.reduce(lambda a, b: a + b, weights))
    lse = library.where(is_empty, -math.inf, largest + library.log(total))
    shares = [weight / total for weight in weights]
    if is_transposed:
        shares = [library.swapaxes(share, -1, -2) for share in shares]
    return functools.reduce(lambda a, b: a + b, [o * w[..., None] for o, w in zip(outputs, shares, strict=True)]), lse
