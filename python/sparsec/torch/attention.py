# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with block patterns and functions of FlexAttention."""

from __future__ import annotations

import functools
import weakref
from typing import Any, Literal

import torch

from sparsec import programs
from sparsec.attention_lists import DEFAULT_BLOCK, Function, MadeLists, lists_of, made_lists
from sparsec.errors import InvalidArgument
from sparsec.options import block_sides, one_of
from sparsec.patterns.lists import BlockLists
from sparsec.patterns.pattern import Pattern
from sparsec.torch import attention_operator
from sparsec.torch.library import dtype_name, forget

__all__ = ["Attention", "attention"]

_Traced = tuple[str, list[torch.Tensor]]  # the text of a kernel, and the tensors that it captured
_MOST_KERNELS = 16  # that an Attention keeps; the oldest one goes first


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    pattern: Any = None,
    mask_mod: Function = None,
    score_mod: Function = None,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    sinks: torch.Tensor | None = None,
    layout: Literal["bhsd", "bshd"] = "bhsd",
    return_lse: bool = False,
    block: int | tuple[int, int] = DEFAULT_BLOCK,
) -> Any:
    """softmax(scores of visible keys) v for every batch and head, in one kernel.

    The functions are those of FlexAttention, and are traced in every call, which takes some 0.1 ms of host time: they
    may capture other tensors each time. `Attention` traces them once.

    Args:
        q: [B, H, Sq, D], or [B, Sq, H, D] with layout="bshd"; bf16 or f16; D is 64, 96, 128, 192 or
            256.
        k, v: [B, Hkv, Skv, D], or [B, Skv, Hkv, D]. H is a multiple of Hkv. The last size of v may be another, Dv, if
            it and D are multiples of 64.
        pattern: which blocks are visited: a BlockMask of FlexAttention, whose tensors are not copied and whose mask_mod
            is that of its partial blocks; lists of sparsec.patterns on the device of q; or a Pattern, whose lists for
            these sizes are made at the first call and kept. Blocks have 64 or 128 queries and keys.
        mask_mod: a function (b, h, q_idx, kv_idx): whether a key is visible. Full blocks of a pattern do not ask it.
        score_mod: a function (score, b, h, q_idx, kv_idx): the score.
        causal: query q sees the keys up to q + Skv - Sq: it aligns at the bottom right, where FlexAttention's
            `q_idx >= kv_idx` aligns at the top left. They are the same if Sq = Skv.
        window: the numbers of keys that a query sees before and behind that position; -1: no limit.
        scale: the factor of q k; None: 1 / sqrt(D).
        sinks: [H], f32: logits that join the softmax of every query of their head, and have no value; None: none.
        return_lse: whether to return the logarithm of the sums of exponentials too.
        block: queries and keys of a block of the lists of a Pattern.

    Returns:
        o, of the type and layout of q, with rows of v; with return_lse (o, lse), lse [B, H, Sq] in f32. A query that
        sees no key has o = 0, and lse = -inf or the sink of its head.

    There are no gradients yet: a backward pass raises NotImplementedError.

    Raises:
        InvalidArgument: an argument does not fit; the text names it.
        InvalidPattern: lists break a rule.
        TracingError: a function does what a kernel cannot.
    """
    has_functions = mask_mod is not None or score_mod is not None
    if torch.compiler.is_compiling() or has_functions or not (pattern is None or isinstance(pattern, BlockLists)):
        options = Attention(
            mask_mod=mask_mod, score_mod=score_mod, causal=causal, window=window, layout=layout, block=block
        )
    else:
        sides = block if isinstance(block, int) else tuple(block)
        options = _without_functions(causal, None if window is None else tuple(window), layout, sides)
    return options(q, k, v, pattern, scale=scale, sinks=sinks, return_lse=return_lse)


@functools.lru_cache
def _without_functions(
    causal: bool,
    window: tuple[int, int] | None,
    layout: Literal["bhsd", "bshd"],
    block: int | tuple[int, int],
) -> Attention:
    """The options of calls in which nothing is traced."""
    return Attention(causal=causal, window=window, layout=layout, block=block)


class Attention(torch.nn.Module):  # type: ignore[misc]
    """Attention with functions that are traced once: at the first call for a type, a D and a BlockMask's mask_mod.

    Arrays that the functions capture are references: a call reads their values of that time. It has no parameters.
    """

    def __init__(
        self,
        *,
        mask_mod: Function = None,
        score_mod: Function = None,
        causal: bool = False,
        window: tuple[int, int] | None = None,
        layout: Literal["bhsd", "bshd"] = "bhsd",
        block: int | tuple[int, int] = DEFAULT_BLOCK,
    ) -> None:
        """The options of `attention`. Raises InvalidArgument for a layout or block that there is not."""
        super().__init__()
        self.is_transposed = one_of("layout", layout, ("bhsd", "bshd")) == "bshd"
        self.block = block_sides(block, (64, 128))
        self.mask_mod, self.score_mod, self.causal, self.window = mask_mod, score_mod, causal, window
        self._kernels: dict[Any, _Traced] = {}

    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        pattern: Any = None,
        *,
        scale: float | None = None,
        sinks: torch.Tensor | None = None,
        return_lse: bool = False,
    ) -> Any:
        """`attention` with the options of this object."""
        _check(q, k, v)
        if self.is_transposed:
            q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        tensors, block, mask = _lists(pattern, self.block, self.mask_mod, q, k)
        form = (
            mask,
            self.score_mod,
            self.causal,
            self.window,
            block,
            q.dtype,
            q.shape[-1],
            v.shape[-1],
            scale is not None,
            sinks is not None,
            return_lse,
        )
        trace = _trace if torch.compiler.is_compiling() else self._kernel
        text, captures = trace(*form, q.device)
        options = tensors, () if block is None else block, scale, sinks, captures, return_lse, text
        o: torch.Tensor
        is_forward_mode = torch.autograd.forward_ad._current_level >= 0  # any tensor may have a tangent
        differentiable = [each for each in (q, k, v, sinks) if each is not None and each.requires_grad]
        if is_forward_mode or (torch.is_grad_enabled() and differentiable):
            o, lse = _Attention.apply(q, k, v, *options)
        else:
            o, lse = attention_operator.attention(q, k, v, *options)
        if self.is_transposed:
            o = o.transpose(1, 2)
        return (o, lse) if return_lse else o

    def _kernel(self, *form: Any) -> _Traced:
        """What _trace gives for this form, kept."""
        if form not in self._kernels:
            if len(self._kernels) == _MOST_KERNELS:
                del self._kernels[next(iter(self._kernels))]
            self._kernels[form] = _trace(*form)
        return self._kernels[form]


class _Attention(torch.autograd.Function):  # type: ignore[misc]
    """Launches the kernel. Without it torch would drop the gradient of the result without a word."""

    @staticmethod
    def forward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *options: Any) -> Any:
        return attention_operator.attention(q, k, v, *options)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keeps nothing."""

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError(
            "sparsec.torch.attention has no gradient yet: it needs the kernels of its backward pass"
        )


def _check(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if not isinstance(tensor, torch.Tensor):
            raise InvalidArgument(f"{name}: expects a tensor, but got {type(tensor).__name__}")
        if tensor.dim() != 4:
            raise InvalidArgument(f"{name}: expects 4 dimensions, but got shape {tuple(tensor.shape)}")


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _trace(
    mask_mod: Function,
    score_mod: Function,
    causal: bool,
    window: tuple[int, int] | None,
    block: tuple[int, int] | None,
    dtype: torch.dtype,
    head_dim: int,
    value_dim: int,
    has_scale: bool,
    has_sinks: bool,
    has_lse: bool,
    device: torch.device,
) -> _Traced:
    """The text of a kernel, and the arrays that its functions captured, of which those of NumPy are copied to a GPU."""
    program = programs.attention(
        head_dim,
        dtype=dtype_name(dtype),
        pattern=block is not None,
        block=block,
        causal=causal,
        window=window,
        scale=has_scale,
        sinks=has_sinks,
        value_dim=value_dim,
        mask_mod=mask_mod,
        score_mod=score_mod,
        lse=has_lse,
    )
    return program.text(), [
        each if isinstance(each, torch.Tensor) else torch.as_tensor(each, device=device)
        for each in program.captures.values()
    ]


# ---- Patterns --------------------------------------------------------------------------------------------------------


def _lists(
    pattern: Any, block: tuple[int, int], mask_mod: Function, q: torch.Tensor, k: torch.Tensor
) -> tuple[list[torch.Tensor | None], tuple[int, int] | None, Function]:
    """The tensors of a pattern, none without one; its block; and the function for its partial blocks."""
    if hasattr(pattern, "kv_num_blocks"):
        if mask_mod is not None:
            raise InvalidArgument("mask_mod and a BlockMask are given, which has a mask_mod of its own")
        pattern, mask_mod = BlockLists.from_flex(pattern), pattern.mask_mod
    sizes = (q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    lists, mask_mod = lists_of(
        pattern,
        mask_mod,
        *sizes[2:],
        lambda pattern: made_lists(_made_for(pattern), pattern, block, sizes, q.device),
        "a BlockMask, lists or a Pattern",
    )
    if lists is None:
        return [], None, mask_mod
    tensors = [lists.full_starts, lists.full_indices, lists.partial_starts, lists.partial_indices]
    if any(each is not None and not isinstance(each, torch.Tensor) for each in tensors):
        raise InvalidArgument("pattern: expects lists of tensors, as lists(..., device=...) makes them")
    return tensors, (lists.block[0], lists.block[1]), mask_mod


# By the identity of a pattern: a weak reference to it, and the lists that were made for it.
_made: dict[int, tuple[weakref.ref[Pattern], dict[Any, MadeLists]]] = {}


def _made_for(pattern: Pattern) -> dict[Any, MadeLists]:
    key = id(pattern)
    found = _made.get(key)
    if found is None or found[0]() is not pattern:
        found = _made[key] = weakref.ref(pattern, functools.partial(forget, _made, key)), {}
    return found[1]
