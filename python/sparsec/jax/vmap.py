# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rules for jax.vmap have in common. Operands are a tree, and which of them have batches is a tree like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

__all__ = ["folded", "is_any", "loop"]


def is_any(is_batched: Any) -> bool:
    """Whether any array of a tree has batches."""
    return any(jax.tree.leaves(is_batched))


def folded(size: int, is_batched: bool | None, array: Any) -> Any:
    """The array of all batches, which follow each other in the first dimension; of None None."""
    if array is None:
        return None
    batches = array if is_batched else jnp.broadcast_to(array, (size, *array.shape))
    return batches.reshape(-1, *batches.shape[2:])


def loop(call: Callable[[Any], Any], is_batched: Any, operands: Any) -> Any:
    """Calls for one batch after the other."""
    leaves, tree = jax.tree.flatten(operands)
    places = [place for place, each in enumerate(jax.tree.leaves(is_batched)) if each]

    def step(batch: list[Any]) -> Any:
        arrays = list(leaves)
        for place, array in zip(places, batch, strict=True):
            arrays[place] = array
        return call(jax.tree.unflatten(tree, arrays))

    return jax.lax.map(step, [leaves[place] for place in places])
