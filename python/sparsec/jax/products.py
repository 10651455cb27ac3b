# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products as operations of JAX, under jax.vmap too. x and the results are tokens by features.

A batch of what has tokens is folded into the tokens: one launch. A batch of anything else, such as values, is a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from sparsec.jax.call import Blocks, launch
from sparsec.jax.trees import ConstantLists
from sparsec.jax.vmap import folded, is_any, loop

__all__ = ["Operands", "Pattern", "product", "sampled_product", "transposed_product"]

Operands = Mapping[str, Any]
"""Arrays by name; None: there is none."""


@dataclass(frozen=True)
class Pattern:
    """What is known of a matrix when a function is traced. Its lists are None if they are not."""

    shape: tuple[int, int]
    block: tuple[int, int]
    lists: ConstantLists | None

    def launch(self, kernel: str, operands: Sequence[Any], result: tuple[tuple[int, ...], Any]) -> Any:
        """Launches a kernel whose first operands are row_ptr and col_idx."""
        blocks = Blocks(*self.shape, self.block, operands[1].shape[0])
        lists = () if self.lists is None else (self.lists.row_ptr, self.lists.col_idx)
        return launch(kernel, operands, [result], blocks=blocks, lists=lists)[0]


def product(pattern: Pattern, kernel: str, operands: Operands) -> Any:
    """The product of a kernel with row_ptr, col_idx, values, x, bias, residual and `captures`, a tuple of operands."""

    def call(operands: Operands) -> Any:
        arrays = [operands[name] for name in ("row_ptr", "col_idx", "values", "x", "bias", "residual")]
        given = [each for each in (*arrays, *operands["captures"]) if each is not None]
        return pattern.launch(kernel, given, ((operands["x"].shape[0], pattern.shape[0]), operands["x"].dtype))

    return _folding(call, ("x", "residual"))(operands)


def transposed_product(pattern: Pattern, kernel: str, operands: Operands) -> Any:
    """x W, for the operands row_ptr, col_idx, values and x. The lists of the pattern are known."""

    def call(operands: Operands) -> Any:
        given = [operands[name] for name in ("row_ptr", "col_idx", "values", "x")]
        return pattern.launch(kernel, given, ((operands["x"].shape[0], pattern.shape[1]), operands["x"].dtype))

    return _folding(call, ("x",))(operands)


def sampled_product(pattern: Pattern, kernel: str, operands: Operands) -> Any:
    """Values of the stored blocks from aᵀ b, for the operands row_ptr, col_idx, a, b and `captures`, a tuple."""

    def call(operands: Operands) -> Any:
        given = [*(operands[name] for name in ("row_ptr", "col_idx", "a", "b")), *operands["captures"]]
        return pattern.launch(kernel, given, ((operands["col_idx"].shape[0], *pattern.block), operands["a"].dtype))

    return _folding(call, ())(operands)


def _folding(call: Callable[[Operands], Any], names: Sequence[str]) -> Callable[[Operands], Any]:
    """The function of operands with a rule for jax.vmap. names: the operands that have tokens, as the result has."""
    batched_call: Callable[[Operands], Any] = jax.custom_batching.custom_vmap(call)

    @batched_call.def_vmap  # type: ignore[attr-defined, untyped-decorator]
    def rule(size: int, are_batched: Sequence[Operands], operands: Operands) -> tuple[Any, bool]:
        (is_batched,) = are_batched
        others = {name: each for name, each in is_batched.items() if name not in names}
        if is_any(others):
            return loop(batched_call, is_batched, operands), True
        tokens = {name: folded(size, is_batched[name], operands[name]) for name in names}
        result = batched_call({**operands, **tokens})
        return result.reshape(size, -1, *result.shape[1:]), True

    return batched_call
