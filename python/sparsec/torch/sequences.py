# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensors of attention as its kernels see them: sequences with sizes of their own, and groups of heads as rows."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import torch

from sparsec.errors import InvalidArgument

__all__ = ["Sequences", "are_groups_rows", "as_rows", "check", "from_rows", "heads_first", "like_queries"]


class Sequences(NamedTuple):
    """The tensors that give sequences sizes of their own, in the order of a kernel's inputs; None: it takes none."""

    query_starts: torch.Tensor | None
    key_starts: torch.Tensor | None
    key_lengths: torch.Tensor | None
    page_table: torch.Tensor | None

    def given(self) -> list[torch.Tensor]:
        """Those that are there."""
        return [each for each in self if each is not None]

    def options(self, k: torch.Tensor) -> tuple[bool, bool, bool, int | None]:
        """What a program says of them: whether there are starts and lengths, and the rows of a page of k, if any."""
        page_rows = None if self.page_table is None else operator.index(k.shape[2])
        return self.query_starts is not None, self.key_starts is not None, self.key_lengths is not None, page_rows

    def count(self, q: torch.Tensor) -> int:
        """B, the number of sequences."""
        count: int = q.shape[0] if self.query_starts is None else self.query_starts.shape[0] - 1
        return count

    def keys(self, k: torch.Tensor) -> int:
        """The most keys that a sequence can have."""
        keys: int = k.shape[2] if self.page_table is None else self.page_table.shape[1] * k.shape[2]
        return keys


def check(q: Any, k: Any, v: Any, sequences: Sequences) -> None:
    """Raises InvalidArgument if a tensor is none, has another rank, or gives sizes in another type than int32."""
    packed = {"q": sequences.query_starts, "k": sequences.key_starts, "v": sequences.key_starts}
    for (name, starts), tensor in zip(packed.items(), (q, k, v), strict=True):
        _expect_rank(name, tensor, (4,) if starts is None else (3, 4))
    for name, tensor in zip(Sequences._fields, sequences, strict=True):
        if tensor is None:
            continue
        _expect_rank(name, tensor, (2,) if name == "page_table" else (1,))
        if tensor.dtype != torch.int32:
            hint = "; pass its .int()" if tensor.dtype == torch.int64 else ""
            raise InvalidArgument(f"{name}: expects int32, but got {str(tensor.dtype).removeprefix('torch.')}{hint}")
    if sequences.page_table is not None and sequences.key_lengths is None:
        raise InvalidArgument("page_table is given without key_lengths")
    if sequences.page_table is not None and sequences.key_starts is not None:
        raise InvalidArgument("page_table and key_starts are given, but keys are paged or packed")


def _expect_rank(name: str, tensor: Any, ranks: tuple[int, ...]) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise InvalidArgument(f"{name}: expects a tensor, but got {type(tensor).__name__}")
    if tensor.dim() not in ranks:
        expected = " or ".join(map(str, ranks)) + (" dimension" if ranks == (1,) else " dimensions")
        raise InvalidArgument(f"{name}: expects {expected}, but got shape {tuple(tensor.shape)}")


def heads_first(tensor: torch.Tensor, is_transposed: bool) -> torch.Tensor:
    """A view with heads before tokens: of packed tokens [T, H, D], or of 4 dimensions, which may be transposed."""
    if tensor.dim() == 3:
        return tensor.unsqueeze(0).transpose(1, 2)
    return tensor.transpose(1, 2) if is_transposed else tensor


def like_queries(
    o: torch.Tensor, lse: torch.Tensor, rank: int, is_transposed: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Views of results [B, H, Sq, Dv] and [B, H, Sq] (or no lse) in the form of the q that the caller gave."""
    if rank == 3:
        return o.squeeze(0).transpose(0, 1), lse.squeeze(0)
    return o.transpose(1, 2) if is_transposed else o, lse


def are_groups_rows(q: torch.Tensor, k: torch.Tensor) -> bool:
    """Whether the query heads of a group may be the rows of one head: each sequence has one query, heads lie apart."""
    heads, kv_heads = q.shape[1], k.shape[1]
    are_apart: bool = q.stride(1) >= q.shape[3]
    return are_apart and q.shape[2] == 1 and 0 < kv_heads < heads and heads % kv_heads == 0


def as_rows(q: torch.Tensor, kv_heads: int) -> torch.Tensor:
    """A view [B, Hkv, H / Hkv, D] of q [B, H, 1, D]: a tile then has all query heads that read the same keys."""
    return q.squeeze(2).unflatten(1, (kv_heads, q.shape[1] // kv_heads))


def from_rows(o: torch.Tensor, lse: torch.Tensor, has_lse: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Views [B, H, 1, Dv] and [B, H, 1] of the results for what as_rows gives."""
    return o.flatten(1, 2).unsqueeze(2), lse.flatten(1, 2).unsqueeze(2) if has_lse else lse
