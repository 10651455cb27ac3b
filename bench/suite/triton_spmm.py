# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A block-sparse product in Triton: a program for each block row and tile of columns, one product of blocks a step."""

from collections.abc import Callable, Iterator
from typing import Any

import triton
import triton.language as tl

# Columns of a tile, warps, stages of the pipeline. The fastest is taken.
CONFIGURATIONS = ((64, 4, 4), (64, 4, 7), (128, 2, 5), (128, 4, 4), (128, 4, 5), (128, 4, 7), (128, 8, 5), (256, 4, 4),
                  (256, 4, 5), (256, 8, 3), (256, 8, 4), (256, 8, 5), (512, 8, 3))  # fmt: skip


@triton.jit
def spmm(row_ptr, col_idx, values, x, y, width, BLOCK: tl.constexpr, TILE: tl.constexpr):
    row = tl.program_id(0)  # neighbours share columns of X
    n = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = n < width
    r = tl.arange(0, BLOCK)
    begin = tl.load(row_ptr + row)
    end = tl.load(row_ptr + row + 1)
    block = values + begin.to(tl.int64) * (BLOCK * BLOCK) + r[:, None] * BLOCK + r[None, :]
    sums = tl.zeros((BLOCK, TILE), tl.float32)
    for position in range(begin, end):
        depth = (tl.load(col_idx + position) * BLOCK + r).to(tl.int64)
        w = tl.load(block)
        columns = tl.load(x + depth[:, None] * width + n[None, :], mask=inside[None, :], other=0.0)
        sums = tl.dot(w, columns, sums)
        block += BLOCK * BLOCK
    rows = (row * BLOCK + r).to(tl.int64)
    tl.store(y + rows[:, None] * width + n[None, :], sums.to(y.dtype.element_ty), mask=inside[None, :])


def launches(problem: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The launches of all configurations, with their names. They write problem.y."""
    pattern = problem.pattern

    def launch(tile: int, warps: int, stages: int) -> Callable[[], Any]:
        grid = (pattern.rows, triton.cdiv(problem.width, tile))
        return lambda: spmm[grid](pattern.row_ptr, pattern.col_idx, problem.values, problem.x, problem.y, problem.width,
                                  BLOCK=problem.block, TILE=tile, num_warps=warps, num_stages=stages)  # fmt: skip

    for tile, warps, stages in CONFIGURATIONS:
        yield f"tile of {tile} columns, {warps} warps, {stages} stages", launch(tile, warps, stages)
