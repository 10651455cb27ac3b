# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradients of attention, from the products of block-sparse matrices that attention_programs describes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sparsec import attention_programs
from sparsec.attention_visits import (
    SIDE,
    Limits,
    Shape,
    block_count,
    is_checked,
    is_reached,
    is_visible,
    matrix_block,
    matrix_shape,
)
from sparsec.bsr import BSR
from sparsec.jax.call import dtype_name
from sparsec.jax.mask_values import Mask
from sparsec.jax.products import Pattern, product, sampled_product, transposed_product
from sparsec.jax.trees import ConstantLists
from sparsec.jax.vmap import folded, is_any, loop
from sparsec.patterns.lists import BlockLists
from sparsec.patterns.states import EMPTY, PARTIAL

__all__ = ["Visits", "attention_gradient", "visits_of"]

Operands = Mapping[str, Any]
_Array = np.ndarray[Any, Any]


# ---- Visited blocks --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Visits:
    """The blocks that attention visits, and which of their elements are visible. It is known when JAX traces.

    Attributes:
        grid: batches and heads that have blocks of their own, which repeat for the others; block rows; block columns.
        states: EMPTY, FULL or PARTIAL: one byte for each block of the grid.
        sides: queries and keys of a block.
        limits: of the attention.
        kernel: the text of the kernel of attention, which says what the mask computes.
        mask: of the partial blocks; None: they have none.
    """

    grid: tuple[int, int, int, int]
    states: bytes
    sides: tuple[int, int]
    limits: Limits
    kernel: str
    mask: Mask | None = field(compare=False)

    def blocks(self, shape: Shape) -> _Blocks:
        """The blocks of a call of these sizes. Its batches are a multiple of those of the grid."""
        states = np.frombuffer(self.states, np.uint8).reshape(self.grid)
        states = np.tile(states, (shape.batches // self.grid[0], shape.heads // self.grid[1], 1, 1))
        b, h, i, j = np.nonzero(states != EMPTY)  # in the order of the matrix
        row, column = matrix_block(shape, self.sides, b, h, i, j)
        counts = np.bincount(row, minlength=matrix_shape(shape, self.sides)[0] // self.sides[0])
        is_partial = states[b, h, i, j] == PARTIAL
        is_masked = is_partial & (self.mask is not None)
        checked = np.flatnonzero(is_checked(shape, self.limits, self.sides, i, j, is_masked))
        places = np.stack([b, h, i * self.sides[0], j * self.sides[1]])[:, checked]
        row_ptr = np.concatenate([[0], np.cumsum(counts)])
        return _Blocks(
            row_ptr.astype(np.int32),
            column.astype(np.int32),
            checked.astype(np.int32),
            places.astype(np.int32),
            is_partial[checked],
        )


@dataclass(frozen=True)
class _Blocks:
    """The visited blocks of all batches and heads.

    Attributes:
        row_ptr, col_idx: the pattern of the matrix.
        checked: the numbers of the blocks whose elements are not all visible, for all that is known of them.
        places: [4, checked blocks]: batch, head, and number of the first query and key.
        is_partial: [checked blocks]: whether the mask counts.
    """

    row_ptr: _Array
    col_idx: _Array
    checked: _Array
    places: _Array
    is_partial: _Array

    def lists(self, shape: tuple[int, int], sides: tuple[int, int]) -> ConstantLists:
        """The lists as constants of a matrix of this shape."""
        values = np.broadcast_to(np.float16(0), (len(self.col_idx), *sides))
        return ConstantLists(BSR.of_leaves(self.row_ptr, self.col_idx, values, shape, sides))


def visits_of(
    lists: BlockLists | None, shape: Shape, limits: tuple[int, int], kernel: str, mask: Mask | None
) -> Visits:
    """The visits of lists of NumPy, or without lists those that the limits leave.

    Raises:
        InvalidPattern: the lists break a rule.
    """
    if lists is None:
        sides = SIDE, SIDE
        rows, columns = (np.arange(block_count(size, SIDE)) for size in (shape.queries, shape.keys))
        is_visited = is_reached(shape, Limits(*limits), sides, rows[:, None], columns)
        states = np.where(is_visited, PARTIAL, EMPTY).astype(np.uint8)[None, None]
    else:
        lists.check()
        sides, states = lists.block, lists.states
    return Visits(states.shape, states.tobytes(), sides, Limits(*limits), kernel, mask)


# ---- Gradients -------------------------------------------------------------------------------------------------------


# jit, so that calls outside of one are traced once.
@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def attention_gradient(visits: Visits, scale: float, uses_batch: bool, operands: Operands) -> tuple[Any, Any, Any]:
    """The gradients of q, k and v, which are the same in every run.

    Args:
        visits: of the attention.
        scale: the factor of q k.
        uses_batch: whether the mask asks for the number of the batch.
        operands: q [B, H, Sq, D], k [B, Hkv, Skv, D], v [B, Hkv, Skv, Dv]; of_o [B, H, Sq, Dv], the gradient of o;
            lse and difference [B, H, Sq], f32: the sum over each row of o times its gradient, less the gradient of lse;
            and captures, a tuple of the arrays that the mask reads.
    """
    return _batched(visits, scale, uses_batch)(operands)


def _batched(visits: Visits, scale: float, uses_batch: bool) -> Callable[[Operands], tuple[Any, Any, Any]]:
    """The gradients as a function of operands, with a rule for jax.vmap: a batch is folded into B."""
    function: Callable[[Operands], tuple[Any, Any, Any]] = jax.custom_batching.custom_vmap(
        functools.partial(_products, visits, scale)
    )

    @function.def_vmap  # type: ignore[attr-defined, untyped-decorator]
    def rule(size: int, are_batched: Any, operands: Operands) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
        (is_batched,) = are_batched
        if uses_batch or is_any(is_batched["captures"]):
            results = loop(function, is_batched, operands)
        else:
            rows = {name: folded(size, is_batched[name], operands[name]) for name in operands if name != "captures"}
            results = function({**operands, **rows})
            results = tuple(each.reshape(size, -1, *each.shape[1:]) for each in results)
        return results, (True, True, True)

    return function


def _products(visits: Visits, scale: float, operands: Operands) -> tuple[Any, Any, Any]:
    q, k, v = operands["q"], operands["k"], operands["v"]
    shape = Shape(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2])
    blocks = visits.blocks(shape)
    if len(blocks.col_idx) == 0:
        return jnp.zeros_like(q), jnp.zeros_like(k), jnp.zeros_like(v)
    sides, dtype, width, value_width = visits.sides, dtype_name(q), q.shape[3], v.shape[3]
    matrix = matrix_shape(shape, sides)
    constant = blocks.lists(matrix, sides)
    pattern = Pattern(matrix, sides, constant)
    lists = {"row_ptr": jnp.asarray(constant.row_ptr), "col_idx": jnp.asarray(constant.col_idx)}
    q_columns, of_o = _columns(q, sides[0]), _columns(operands["of_o"], sides[0])
    k_columns, v_columns = _columns(k, sides[1]), _columns(v, sides[1])
    # Rows without keys, and rows behind the last one, have probabilities of zero.
    sums = _padded(jnp.where(jnp.isneginf(operands["lse"]), jnp.inf, operands["lse"]), sides[0], jnp.inf)
    text = attention_programs.probabilities_text(sides, dtype, width, scale)
    p = sampled_product(pattern, text, {**lists, "a": q_columns, "b": k_columns, "captures": (sums,)})
    p = _without_hidden(visits, shape, blocks, p, operands["captures"])
    text = attention_programs.scores_gradient_text(sides, dtype, value_width, scale)
    captures = p, _padded(operands["difference"], sides[0])
    of_s = sampled_product(pattern, text, {**lists, "a": of_o, "b": v_columns, "captures": captures})
    text = attention_programs.product_text(sides, dtype, value_width, True)
    of_v = transposed_product(pattern, text, {**lists, "values": p, "x": of_o})
    text = attention_programs.product_text(sides, dtype, width, True)
    of_k = transposed_product(pattern, text, {**lists, "values": of_s, "x": q_columns})
    text = attention_programs.product_text(sides, dtype, width, False)
    others = {"bias": None, "residual": None, "captures": ()}
    of_q = product(pattern, text, {**lists, "values": of_s, "x": k_columns, **others})
    return _rows_like(of_q, q), _rows_like(of_k, k), _rows_like(of_v, v)


def _without_hidden(visits: Visits, shape: Shape, blocks: _Blocks, values: Any, captures: tuple[Any, ...]) -> Any:
    """The values [blocks, r, c], where elements that no query sees are zero."""
    if len(blocks.checked) == 0:
        return values
    b, h, q, k = (jnp.asarray(each)[:, None, None] for each in blocks.places)
    q = q + jnp.arange(visits.sides[0], dtype=jnp.int32)[:, None]
    k = k + jnp.arange(visits.sides[1], dtype=jnp.int32)
    mask = None if visits.mask is None else functools.partial(visits.mask.evaluate, arrays=captures)
    visible = is_visible(shape, visits.limits, b, h, q, k, mask, blocks.is_partial[:, None, None])
    if len(blocks.checked) == len(blocks.col_idx):
        return jnp.where(visible, values, 0)
    checked = values.at[blocks.checked].get(mode="promise_in_bounds", unique_indices=True, indices_are_sorted=True)
    return values.at[blocks.checked].set(
        jnp.where(visible, checked, 0), mode="promise_in_bounds", unique_indices=True, indices_are_sorted=True
    )


def _padded(rows: Any, side: int, value: float = 0.0) -> Any:
    """[B, H, S, ...] in one dimension for B, H and S, where S is padded to a multiple of the side."""
    widths = [(0, 0), (0, 0), (0, -rows.shape[2] % side)] + [(0, 0)] * (rows.ndim - 3)
    return jnp.pad(rows, widths, constant_values=value).reshape(-1, *rows.shape[3:])


def _columns(rows: Any, side: int) -> Any:
    """[B, H, S, D] as [D, all padded rows], as products take it."""
    return _padded(rows, side).T


def _rows_like(columns: Any, rows: Any) -> Any:
    """What _columns gives, back in the shape of `rows`."""
    batches, heads, count, width = rows.shape
    return columns.T.reshape(batches, heads, -1, width)[:, :, :count]
