# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operator of attention: a pattern is the four tensors of its padded lists."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from sparsec import devices
from sparsec.kernel import Kernel
from sparsec.pattern_argument import pattern_blocks
from sparsec.patterns.lists import BlockLists
from sparsec.repeat import Repeater
from sparsec.torch.library import LIBRARY, TAGS, forget, kernel_of

__all__ = ["attention"]

# o and lse of q [B, H, Sq, D], k [B, Hkv, Skv, D] and v [B, Hkv, Skv, Dv]; lse is empty without has_lse. lists: starts
# and indices of full and of partial blocks, of which a kind may be None; without a pattern there are none. form:
# queries and keys of a block, then those of the lists, and 1 if their contents never change, else 0. scale: None where
# the kernel has its own. sinks: None where it has none. sequences: what the kernel takes of starts, lengths and a page
# table, with which q, k and v have other shapes. captures: what the kernel takes behind these, in order.
LIBRARY.define(
    "attention(Tensor q, Tensor k, Tensor v, Tensor?[] lists, SymInt[] form, float? scale, Tensor? sinks, "
    "Tensor[] sequences, Tensor[] captures, bool has_lse, str kernel) -> (Tensor, Tensor)",
    tags=TAGS,
)
attention = torch.ops.sparsec.attention.default


class _Prepared:
    """A kernel with lists, or without."""

    def __init__(self, text: str, place: torch.Tensor, lists: BlockLists | None) -> None:
        self.kernel: Kernel = kernel_of(text, devices.target_of_device(place.get_device()))
        self.lists = lists
        self.repeater = Repeater(
            self.kernel.info, None if lists is None else pattern_blocks(lists, False), is_operator=True
        )


class _Lists:
    """The tensors of a pattern. It lives as long as one of them, which it does not keep.

    Attributes:
        prepared: by the text of a kernel and the form of the lists.
    """

    def __init__(self, lists: Sequence[torch.Tensor | None], forget: Callable[[Any], Any]) -> None:
        self._tensors = [None if each is None else weakref.ref(each, forget) for each in lists]
        self._memory = [None if each is None else each.detach() for each in lists]
        self.prepared: dict[tuple[str, tuple[int, ...]], _Prepared] = {}

    def is_of(self, lists: Sequence[torch.Tensor | None]) -> bool:
        """Whether these are its tensors."""
        return all(
            own is each if own is None or each is None else own() is each
            for own, each in zip(self._tensors, lists, strict=True)
        )

    def block_lists(self, form: Sequence[int]) -> BlockLists:
        """The lists, for kernels."""
        block_queries, block_keys, queries, keys, is_static = form
        full_starts, full_indices, partial_starts, partial_indices = self._memory
        block = block_queries, block_keys
        return BlockLists(
            queries, keys, block, full_starts, full_indices, partial_starts, partial_indices, static=bool(is_static)
        )


_patterns: dict[int, _Lists] = {}  # by the identity of the first tensor that is not None
_without_lists: dict[tuple[str, torch.device], _Prepared] = {}  # by the text of a kernel


def _prepare(q: torch.Tensor, lists: Sequence[torch.Tensor | None], form: Sequence[int], text: str) -> _Prepared:
    """What is prepared for these lists and sizes; it is made at the first call."""
    if not lists:
        place = text, q.device
        if place not in _without_lists:
            _without_lists[place] = _Prepared(text, q, None)
        return _without_lists[place]
    key = next(id(each) for each in lists if each is not None)
    pattern = _patterns.get(key)
    if pattern is None or not pattern.is_of(lists):
        pattern = _patterns[key] = _Lists(lists, functools.partial(forget, _patterns, key))
    use = text, tuple(form)
    prepared = pattern.prepared.get(use)
    if prepared is None:
        prepared = pattern.prepared[use] = _Prepared(text, q, pattern.block_lists(form))
    return prepared


def _attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    lists: list[torch.Tensor | None],
    form: list[int],
    scale: float | None,
    sinks: torch.Tensor | None,
    sequences: list[torch.Tensor],
    captures: list[torch.Tensor],
    has_lse: bool,
    kernel: str,
) -> tuple[torch.Tensor, torch.Tensor]:
    prepared = _prepare(q, lists, form, kernel)
    inputs = [q, k, v]
    if prepared.lists is not None:
        inputs.append(prepared.lists)
    if scale is not None:
        inputs.append(scale)
    if sinks is not None:
        inputs.append(sinks)
    inputs += [*sequences, *captures]
    results: Any = prepared.repeater.call(*inputs)
    if results is None:
        with torch.no_grad():
            o, lse = _attention_form(q, k, v, lists, form, scale, sinks, sequences, captures, has_lse, kernel)
            results = (o, lse) if has_lse else (o,)
            prepared.kernel.call_for(prepared.repeater, tuple(inputs), results, *inputs, out=results)
    elif not has_lse:
        results = (results,)
    return results[0], results[1] if has_lse else _no_lse(q)


def _no_lse(q: torch.Tensor) -> torch.Tensor:
    return q.new_empty(0, dtype=torch.float32)


def _attention_form(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    lists: list[torch.Tensor | None],
    form: list[int],
    scale: float | None,
    sinks: torch.Tensor | None,
    sequences: list[torch.Tensor],
    captures: list[torch.Tensor],
    has_lse: bool,
    kernel: str,
) -> tuple[torch.Tensor, torch.Tensor]:
    """o has the order of dimensions in memory that q has."""
    return _rows_like(q, v.shape[3]), q.new_empty(q.shape[:3], dtype=torch.float32) if has_lse else _no_lse(q)


def _rows_like(q: torch.Tensor, width: int) -> torch.Tensor:
    batches, heads, queries, dimension = q.shape
    if width == dimension:
        return torch.empty_like(q)
    if q.stride(1) < q.stride(2):
        return q.new_empty(batches, queries, heads, width).transpose(1, 2)
    return q.new_empty(batches, heads, queries, width)


for _place in ("CPU", "CUDA"):
    LIBRARY.impl("attention", _attention, _place)
torch.library.register_fake("sparsec::attention", _attention_form, lib=LIBRARY)
