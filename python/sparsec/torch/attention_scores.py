# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scores that a score_mod changes, with their gradients, for the elements of the visited blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from sparsec.torch.attention_blocks import VisitedBlocks
from sparsec.torch.region_gradients import gradients
from sparsec.torch.region_values import Functions, TracedFunction

__all__ = ["change_scores"]

_ELEMENTS_OF_A_PART = 2**22  # whose functions are evaluated at once


def change_scores(
    blocks: VisitedBlocks,
    functions: Functions,
    arrays: Sequence[torch.Tensor],
    scores: torch.Tensor,
    of_p: torch.Tensor,
    lse: torch.Tensor,
    scale: float,
    dtype: torch.dtype,
    of_arrays: Mapping[int, torch.Tensor],
) -> tuple[torch.Tensor, torch.Tensor]:
    """P, and the gradients of the scores before the score_mod, times the scale.

    Args:
        blocks: the visited ones.
        functions: of the kernel, which has a score_mod.
        arrays: what the functions read.
        scores: [blocks, r, c], float32: those that the score_mod gets.
        of_p: [blocks, r, c], float32: the gradients of P, less the difference of their row.
        lse: [rows], float32: of the rows of the matrix; inf where P is 0.
        scale: of the scores.
        dtype: of both results.
        of_arrays: the gradients of captured arrays by their numbers: float32. Those of the score_mod are added.
    """
    assert functions.score is not None
    rows, columns = blocks.sides
    block_rows = torch.arange(len(blocks.row_ptr) - 1, device=scores.device)
    lse = lse.view(-1, rows)[torch.repeat_interleave(block_rows, blocks.row_ptr.diff())]
    p, of_scores = torch.empty_like(scores, dtype=dtype), torch.empty_like(scores, dtype=dtype)
    numbers = torch.arange(len(scores), device=scores.device)
    for part in numbers.split(max(1, _ELEMENTS_OF_A_PART // (rows * columns))):
        arguments = {"score": scores[part], **blocks.arguments(part)}
        values = functions.score.values(arguments, arrays)
        # A function may give any number for padding, also NaN.
        counts = blocks.visible(part, functions.mask, arrays) & ~lse[part, :, None].isposinf()
        weights = torch.exp(values[-1] - lse[part, :, None]).where(counts, 0)
        p[part] = weights.to(dtype)
        of_scores[part] = (_of_score(functions.score, values, weights * of_p[part], of_arrays) * scale).to(dtype)
    return p, of_scores


def _of_score(
    function: TracedFunction,
    values: Sequence[torch.Tensor],
    gradient: torch.Tensor,
    of_arrays: Mapping[int, torch.Tensor],
) -> torch.Tensor:
    """The gradient of the score, from that of the function's result."""
    found = gradients(function, values, gradient.sum_to_size(values[-1].shape), of_arrays).get("score")
    return torch.zeros_like(gradient) if found is None else found.expand_as(gradient)
