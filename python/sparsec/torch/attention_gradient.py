# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradients of attention, from the products of block-sparse matrices that attention_programs describes."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from sparsec import attention_programs
from sparsec.attention_visits import Limits, Shape
from sparsec.torch.attention_blocks import VisitedBlocks, blocks_of_limits, blocks_of_lists
from sparsec.torch.library import LIBRARY, TAGS, dtype_name, operator_text
from sparsec.torch.mask_values import Mask, mask_of
from sparsec.torch.operators import product, sampled_product, transposed_product

__all__ = ["attention_gradient"]

# Gradients of q, k and v. gradient: that of o. lse, difference: [B, H, Sq], f32: lse, and the sum over each row of o
# times its gradient, less that of lse. lists, form, scale, captures, kernel: as of the operator of attention. limits:
# the keys that a query may see before and behind its position; -1: all. static: the contents of the lists stay.
LIBRARY.define(
    "attention_gradient(Tensor q, Tensor k, Tensor v, Tensor gradient, Tensor lse, Tensor difference, Tensor?[] lists, "
    "SymInt[] form, float? scale, Tensor[] captures, int[] limits, bool static, bool has_mask, str kernel) "
    "-> (Tensor, Tensor, Tensor)",
    tags=TAGS,
)
attention_gradient = torch.ops.sparsec.attention_gradient.default


@functools.cache
def _probabilities_text(block: tuple[int, int], dtype: str, width: int, scale: float) -> str:
    return operator_text(attention_programs.probabilities_text(block, dtype, width, scale))


@functools.cache
def _scores_text(block: tuple[int, int], dtype: str, width: int, scale: float) -> str:
    return operator_text(attention_programs.scores_gradient_text(block, dtype, width, scale))


@functools.cache
def _product_text(block: tuple[int, int], dtype: str, width: int, transposed: bool) -> str:
    return operator_text(attention_programs.product_text(block, dtype, width, transposed))


def _visited(
    q: torch.Tensor,
    k: torch.Tensor,
    lists: list[torch.Tensor | None],
    form: list[int],
    limits: list[int],
    static: bool,
    has_mask: bool,
) -> VisitedBlocks:
    shape = Shape(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2])
    if not lists:
        return blocks_of_limits(shape, Limits(*limits), has_mask, q.device)
    return blocks_of_lists(lists, (form[0], form[1]), shape, Limits(*limits), has_mask, static)


def _padded(rows: torch.Tensor, side: int, value: float = 0.0) -> torch.Tensor:
    """[B, H, S, ...] in one dimension for B, H and S, where S is padded to a multiple of the side."""
    widths = [0, 0] * (rows.dim() - 3) + [0, -rows.shape[2] % side]
    return torch.nn.functional.pad(rows, widths, value=value).flatten(0, 2)


def _columns(rows: torch.Tensor, side: int) -> torch.Tensor:
    """[B, H, S, D] as [D, all padded rows], contiguous, as products take it."""
    return _padded(rows, side).t().contiguous()


def _rows_like(columns: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """What _columns gives, back in the shape and the order in memory of `rows`."""
    batches, heads, count, _ = rows.shape
    padded = columns.t().unflatten(0, (batches, heads, -1))
    return torch.empty_like(rows).copy_(padded[:, :, :count])


def _gradient(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    gradient: torch.Tensor,
    lse: torch.Tensor,
    difference: torch.Tensor,
    lists: list[torch.Tensor | None],
    form: list[int],
    scale: float | None,
    captures: list[torch.Tensor],
    limits: list[int],
    static: bool,
    has_mask: bool,
    kernel: str,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    mask = mask_of(kernel)
    if has_mask and mask is None:
        raise NotImplementedError(
            "sparsec.torch.attention has no gradient through a mask_mod that was traced in another process"
        )
    with torch.no_grad():
        blocks = _visited(q, k, lists, form, limits, static, has_mask)
        if len(blocks.col_idx) == 0:
            return torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        factor = 1 / math.sqrt(q.shape[3]) if scale is None else scale
        return _products(blocks, q, k, v, gradient, lse, difference, factor, mask, captures)


def _products(
    blocks: VisitedBlocks,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    gradient: torch.Tensor,
    lse: torch.Tensor,
    difference: torch.Tensor,
    scale: float,
    mask: Mask | None,
    captures: list[torch.Tensor],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    sides, dtype = blocks.sides, dtype_name(q.dtype)
    pattern = blocks.row_ptr, blocks.col_idx
    q_columns, of_o = _columns(q, sides[0]), _columns(gradient, sides[0])
    k_columns, v_columns = _columns(k, sides[1]), _columns(v, sides[1])
    # Rows without keys, and rows behind the last one, have probabilities of zero.
    sums = _padded(torch.where(lse.isneginf(), math.inf, lse), sides[0], math.inf)
    width, value_width = q.shape[3], v.shape[3]
    p = q.new_empty(len(blocks.col_idx), *sides)
    p = sampled_product(*pattern, p, q_columns, k_columns, [sums], _probabilities_text(sides, dtype, width, scale))
    blocks.hide_(p, mask, captures)
    operands = [p, _padded(difference, sides[0])]
    text = _scores_text(sides, dtype, value_width, scale)
    of_s = sampled_product(*pattern, p, of_o, v_columns, operands, text)
    columns = blocks.columns
    of_v = transposed_product(*pattern, p, of_o, columns, _product_text(sides, dtype, value_width, True))
    of_k = transposed_product(*pattern, of_s, q_columns, columns, _product_text(sides, dtype, width, True))
    of_q = product(*pattern, of_s, k_columns, [], blocks.rows, True, _product_text(sides, dtype, width, False))
    return _rows_like(of_q, q), _rows_like(of_k, k), _rows_like(of_v, v)


def _form(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *_: Any) -> tuple[torch.Tensor, ...]:
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


for _place in ("CPU", "CUDA"):
    LIBRARY.impl("attention_gradient", _gradient, _place)
torch.library.register_fake("sparsec::attention_gradient", _form, lib=LIBRARY)
