# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is timed: a product or attention, its operands in f32, and its exact result in double precision."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsec.bsr import BSR
from sparsec.patterns.lists import BlockLists

Array = np.ndarray[Any, Any]
_SAMPLES = 16  # block rows of a product, queries of attention


def relative_error(result: Array, exact: Array) -> float:
    """The root-mean-square error over the root-mean-square of the exact result; infinite where one is not finite."""
    if not np.isfinite(result).all():
        return math.inf
    scale = float(np.sqrt(np.square(exact).mean())) if exact.size else 0.0
    error = float(np.sqrt(np.square(result - exact).mean())) if exact.size else 0.0
    return error / scale if scale else error


def _sampled(count: int) -> Array:
    """At most _SAMPLES of `count` indices, at equal distances."""
    return np.unique(np.linspace(0, count - 1, min(count, _SAMPLES)).round().astype(np.int64))


@dataclass(frozen=True, eq=False)
class Product:
    """y = x Wᵀ: x [tokens, K], W M x K block-sparse, in NumPy's arrays of f32."""

    weight: BSR
    x: Array

    operation = "product"

    @classmethod
    def of(cls, weight: BSR, tokens: int, generator: np.random.Generator) -> Product:
        """The product of a matrix and random values of N(0, 1)."""
        return cls(weight, generator.standard_normal((tokens, weight.shape[1]), np.float32))

    @property
    def density(self) -> float:
        return self.weight.density

    @property
    def flops(self) -> int:
        """The useful ones: those of stored blocks."""
        return 2 * self.weight.block_count * self.weight.block[0] * self.weight.block[1] * len(self.x)

    @property
    def sizes(self) -> dict[str, Any]:
        rows, columns = self.weight.shape
        return {"rows": rows, "columns": columns, "block": list(self.weight.block), "tokens": len(self.x)}

    @property
    def title(self) -> str:
        (rows, columns), (r, c) = self.weight.shape, self.weight.block
        weight = f"W {rows} x {columns} in blocks of {r} x {c}"
        return f"y = x Wᵀ, {weight}, {len(self.x)} tokens, density {self.density:.3g}"

    def error(self, y: Array, values: Array, x: Array) -> float:
        """The relative error of a result, in some block rows.

        Args:
            y: [tokens, M].
            values, x: the rounded operands that it was computed from, in float64.
        """
        weight = self.weight
        r, c = weight.block
        row_ptr, col_idx = weight.row_ptr, weight.col_idx
        padded = np.zeros((len(x), weight.block_grid[1] * c))
        padded[:, : x.shape[1]] = x
        parts, exacts = [], []
        for row in _sampled(weight.block_grid[0]):
            exact = np.zeros((len(x), r))
            for block in range(row_ptr[row], row_ptr[row + 1]):
                first = col_idx[block] * c
                exact += padded[:, first : first + c] @ values[block].T
            height = min(r, weight.shape[0] - row * r)
            parts.append(y[:, row * r : row * r + height])
            exacts.append(exact[:, :height])
        return relative_error(np.concatenate(parts, axis=1), np.concatenate(exacts, axis=1))


@dataclass(frozen=True, eq=False)
class Attention:
    """softmax(q kᵀ / sqrt(D)) v over the full blocks of a mask, for batches and heads that share it."""

    states: Array
    block: tuple[int, int]
    q: Array
    k: Array
    v: Array

    operation = "attention"

    @classmethod
    def of(
        cls,
        states: Array,
        block: tuple[int, int],
        shape: tuple[int, int, int],
        sizes: tuple[int, int],
        generator: np.random.Generator,
    ) -> Attention:
        """Attention of random values of N(0, 1).

        Args:
            states: [block rows, block columns], 0 empty or 1 full.
            block: queries and keys of a block.
            shape: batches, heads, D.
            sizes: numbers of queries and keys.
            generator: of the values.
        """
        batches, heads, depth = shape
        q, k, v = (
            generator.standard_normal((batches, heads, count, depth), np.float32)
            for count in (sizes[0], sizes[1], sizes[1])
        )
        return cls(states, block, q, k, v)

    @property
    def lists(self) -> BlockLists:
        """The lists of the mask, in NumPy's arrays."""
        return BlockLists.from_states(self.states[None, None], self.q.shape[2], self.k.shape[2], self.block)

    @property
    def density(self) -> float:
        return self.lists.density

    @property
    def flops(self) -> int:
        """The useful ones: those of visited blocks."""
        batches, heads, _, depth = self.q.shape
        return self.lists.flops(depth, batches=batches, heads=heads)

    @property
    def sizes(self) -> dict[str, Any]:
        batches, heads, queries, depth = self.q.shape
        return {
            "batches": batches,
            "heads": heads,
            "queries": queries,
            "keys": self.k.shape[2],
            "head_dim": depth,
            "block": list(self.block),
        }

    @property
    def title(self) -> str:
        batches, heads, queries, depth = self.q.shape
        return (
            f"attention, {batches} x {heads} heads, {queries} queries, {self.k.shape[2]} keys, D {depth}, blocks of "
            f"{self.block[0]} x {self.block[1]}, density {self.density:.3g}"
        )

    def visible(self, query: int) -> Array:
        """Whether each key is visible to a query."""
        return np.repeat(self.states[query // self.block[0]] != 0, self.block[1])[: self.k.shape[2]]

    def error(self, o: Array, q: Array, k: Array, v: Array, *, is_masked: bool) -> float:
        """The relative error of a result, in some queries that see a key.

        Args:
            o: [batches, heads, queries, D].
            q, k, v: the rounded operands that it was computed from, in float64.
            is_masked: whether the mask applies; otherwise all keys are visible.
        """
        parts, exacts = [], []
        for query in _sampled(q.shape[2]):
            visible = self.visible(int(query)) if is_masked else np.ones(k.shape[2], bool)
            if visible.any():
                scores = np.einsum("bhd,bhkd->bhk", q[:, :, query], k[:, :, visible]) / math.sqrt(q.shape[3])
                weights = np.exp(scores - scores.max(-1, keepdims=True))
                weights /= weights.sum(-1, keepdims=True)
                exacts.append(np.einsum("bhk,bhkd->bhd", weights, v[:, :, visible]))
                parts.append(o[:, :, query])
        return relative_error(np.stack(parts), np.stack(exacts)) if parts else 0.0
