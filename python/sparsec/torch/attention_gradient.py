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
from sparsec.torch.attention_scores import change_scores
from sparsec.torch.library import LIBRARY, TAGS, dtype_name, operator_text
from sparsec.torch.operators import product, sampled_product, transposed_product
from sparsec.torch.region_values import Functions, TracedFunction, functions_of

__all__ = ["attention_gradient"]

# Gradients of q, k and v, and of the captures with the numbers `wanted`. gradient: that of o. lse, difference:
# [B, H, Sq], f32: lse, and the sum over each row of o times its gradient, less that of lse. lists, form, scale,
# captures, kernel: as of the operator of attention. limits: the keys that a query may see before and behind its
# position; -1: all. static: the contents of the lists stay.
LIBRARY.define(
    "attention_gradient(Tensor q, Tensor k, Tensor v, Tensor gradient, Tensor lse, Tensor difference, Tensor?[] lists, "
    "SymInt[] form, float? scale, Tensor[] captures, int[] wanted, int[] limits, bool static, bool has_mask, "
    "bool has_score, str kernel) -> (Tensor, Tensor, Tensor, Tensor[])",
    tags=TAGS,
)
attention_gradient = torch.ops.sparsec.attention_gradient.default


@functools.cache
def _probabilities_text(block: tuple[int, int], dtype: str, width: int, scale: float) -> str:
    return operator_text(attention_programs.probabilities_text(block, dtype, width, scale))


@functools.cache
def _scores_gradient_text(block: tuple[int, int], dtype: str, width: int, scale: float) -> str:
    return operator_text(attention_programs.scores_gradient_text(block, dtype, width, scale))


@functools.cache
def _scores_text(block: tuple[int, int], dtype: str, width: int, scale: float) -> str:
    return operator_text(attention_programs.scores_text(block, dtype, width, scale))


@functools.cache
def _probabilities_gradient_text(block: tuple[int, int], dtype: str, width: int) -> str:
    return operator_text(attention_programs.probabilities_gradient_text(block, dtype, width))


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
    wanted: list[int],
    limits: list[int],
    static: bool,
    has_mask: bool,
    has_score: bool,
    kernel: str,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[torch.Tensor]]:
    functions = functions_of(kernel) if has_mask or has_score else Functions(None, None)
    if functions is None:
        raise NotImplementedError(
            "sparsec.torch.attention has no gradient with functions that were traced in another process"
        )
    with torch.no_grad():
        of_arrays = {each: torch.zeros_like(captures[each], dtype=torch.float32) for each in wanted}
        blocks = _visited(q, k, lists, form, limits, static, has_mask)
        if len(blocks.col_idx) == 0:
            of_inputs = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        else:
            factor = 1 / math.sqrt(q.shape[3]) if scale is None else scale
            products = _Products(blocks, q, k, v, gradient, lse, difference, factor)
            if functions.score is None:
                p, of_s = products.scores(functions.mask, captures)
            else:
                p, of_s = products.changed_scores(functions, captures, of_arrays)
            of_inputs = products.of_inputs(p, of_s)
        return *of_inputs, [of_arrays[each].to(captures[each].dtype) for each in wanted]


class _Products:
    """The products of one backward pass."""

    def __init__(
        self,
        blocks: VisitedBlocks,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        gradient: torch.Tensor,
        lse: torch.Tensor,
        difference: torch.Tensor,
        scale: float,
    ) -> None:
        sides = blocks.sides
        self.blocks, self.scale, self.inputs = blocks, scale, (q, k, v)
        self.pattern, self.dtype = (blocks.row_ptr, blocks.col_idx), dtype_name(q.dtype)
        self.q, self.of_o = _columns(q, sides[0]), _columns(gradient, sides[0])
        self.k, self.v = _columns(k, sides[1]), _columns(v, sides[1])
        # Rows without keys, and rows behind the last one, have probabilities of zero.
        self.lse = _padded(torch.where(lse.isneginf(), math.inf, lse), sides[0], math.inf)
        self.difference = _padded(difference, sides[0])
        self.width, self.value_width = q.shape[3], v.shape[3]

    def scores(self, mask: TracedFunction | None, arrays: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """P, and dS times the scale."""
        sides = self.blocks.sides
        text = _probabilities_text(sides, self.dtype, self.width, self.scale)
        p = self._sampled(self.q, self.k, [self.lse], None, text)
        self.blocks.hide_(p, mask, arrays)
        text = _scores_gradient_text(sides, self.dtype, self.value_width, self.scale)
        return p, self._sampled(self.of_o, self.v, [p, self.difference], None, text)

    def changed_scores(
        self, functions: Functions, arrays: list[torch.Tensor], of_arrays: dict[int, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """P, and dS times the scale, with a score_mod. Adds the gradients of the arrays that it reads."""
        sides, f32 = self.blocks.sides, torch.float32
        scores = self._sampled(self.q, self.k, [], f32, _scores_text(sides, self.dtype, self.width, self.scale))
        text = _probabilities_gradient_text(sides, self.dtype, self.value_width)
        of_p = self._sampled(self.of_o, self.v, [self.difference], f32, text)
        return change_scores(
            self.blocks, functions, arrays, scores, of_p, self.lse, self.scale, self.q.dtype, of_arrays
        )

    def of_inputs(self, p: torch.Tensor, of_s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The gradients of q, k and v, from P and from dS times the scale."""
        sides, columns = self.blocks.sides, self.blocks.columns
        text = _product_text(sides, self.dtype, self.value_width, True)
        of_v = transposed_product(*self.pattern, p, self.of_o, columns, text)
        text = _product_text(sides, self.dtype, self.width, True)
        of_k = transposed_product(*self.pattern, of_s, self.q, columns, text)
        text = _product_text(sides, self.dtype, self.width, False)
        of_q = product(*self.pattern, of_s, self.k, [], self.blocks.rows, True, False, text)
        q, k, v = self.inputs
        return _rows_like(of_q, q), _rows_like(of_k, k), _rows_like(of_v, v)

    def _sampled(
        self, a: torch.Tensor, b: torch.Tensor, operands: list[torch.Tensor], dtype: torch.dtype | None, text: str
    ) -> torch.Tensor:
        """aᵀ b at the visited blocks, in this type, or in that of q."""
        template = self.inputs[0].new_empty(len(self.blocks.col_idx), *self.blocks.sides)
        return sampled_product(*self.pattern, template, a, b, operands, dtype, text)


def _form(
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
    wanted: list[int],
    *_: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[torch.Tensor]]:
    of_captures = [torch.empty_like(captures[each]) for each in wanted]
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), of_captures


for _place in ("CPU", "CUDA"):
    LIBRARY.impl("attention_gradient", _gradient, _place)
torch.library.register_fake("sparsec::attention_gradient", _form, lib=LIBRARY)
