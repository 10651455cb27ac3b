# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with block patterns and functions of FlexAttention."""

from __future__ import annotations

import functools
import operator
import weakref
from typing import Any, Literal, NamedTuple

import torch

from sparsec import programs
from sparsec.attention_lists import DEFAULT_BLOCK, Function, MadeLists, lists_of, made_lists
from sparsec.attention_visits import limits_of
from sparsec.errors import InvalidArgument
from sparsec.options import block_sides, one_of
from sparsec.patterns.lists import BlockLists
from sparsec.patterns.pattern import Pattern, pattern_of
from sparsec.torch import attention_operator, region_values
from sparsec.torch.attention_gradient import attention_gradient
from sparsec.torch.library import dtype_name, forget, operator_text
from sparsec.torch.sequences import Sequences, are_groups_rows, as_rows, check, from_rows, heads_first, like_queries

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
    query_starts: torch.Tensor | None = None,
    key_starts: torch.Tensor | None = None,
    key_lengths: torch.Tensor | None = None,
    page_table: torch.Tensor | None = None,
    layout: Literal["bhsd", "bshd"] = "bhsd",
    return_lse: bool = False,
    block: int | tuple[int, int] = DEFAULT_BLOCK,
) -> Any:
    """softmax(scores of visible keys) v for every batch and head, in one kernel.

    The functions are those of FlexAttention, and are traced in every call, which takes some 0.1 ms of host time: they
    may capture other tensors each time. `Attention` traces them once.

    The B sequences may have sizes of their own, in int32 tensors on the device of q, which the kernel reads when it
    runs: one compiled kernel serves all of them. Numbers of queries and keys, also those of a pattern and of functions,
    then count within the sequence.

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
        query_starts: [B + 1], ascending from 0: queries are packed, and sequence b has the tokens query_starts[b] up to
            query_starts[b + 1] of q. q is then [T, H, D], or [1, H, T, D] or [1, T, H, D] as of the layout. Results for
            tokens behind the last sequence are undefined.
        key_starts: [B + 1]: the same of k and v: [Tk, Hkv, D], [1, Hkv, Tk, D] or [1, Tk, Hkv, D].
        key_lengths: [B]: the number of keys of each sequence: its first ones. The others have no influence, whatever
            they are.
        page_table: [B, P], with key_lengths and without key_starts: keys are paged. k and v are [pages, Hkv, R, D], or
            [pages, R, Hkv, D] with layout="bshd", and R is 16, 32, 64, 128 or 256. Key j of sequence b is row j mod R
            of page page_table[b, j / R]. Entries behind the last key of a sequence are not read.
        return_lse: whether to return the logarithm of the sums of exponentials too.
        block: queries and keys of a block of the lists of a Pattern.

    Returns:
        o, of the type and layout of q, with rows of v; with return_lse (o, lse), lse [B, H, Sq] in f32, or [H, T] for
        q [T, H, D]. A query that sees no key has o = 0, and lse = -inf or the sink of its head.

    With one query for each sequence and fewer heads of k than of q, the query heads that read the same keys share a
    tile, so that keys and values are read once for all of them. This needs q of 4 dimensions without query_starts, and
    no functions, pattern, window or sinks.

    A Pattern has lists for as many queries and keys as the tensors can hold: of packed tokens for all of them together.
    Lists for packed tokens may have any numbers of queries and keys, at least those of the longest sequence.

    There are gradients of q, k, v and sinks, also through lse: products of block-sparse matrices of the visited
    blocks, whose elements take memory: two numbers of the type of q, and with a score_mod two of f32 beside them.
    Without a pattern these are the blocks of 64 x 64 that causal and window leave. Tensors of floats that the score_mod
    captured have gradients too, outside of torch.compile, where they are constants. Gradients are the same in every
    run. Lists that may change are read in each backward pass, which waits for the GPU; those of a Pattern are read
    once. A backward pass with query_starts, key_starts, key_lengths or page_table raises NotImplementedError.

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
    return options(
        q,
        k,
        v,
        pattern,
        scale=scale,
        sinks=sinks,
        query_starts=query_starts,
        key_starts=key_starts,
        key_lengths=key_lengths,
        page_table=page_table,
        return_lse=return_lse,
    )


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
        query_starts: torch.Tensor | None = None,
        key_starts: torch.Tensor | None = None,
        key_lengths: torch.Tensor | None = None,
        page_table: torch.Tensor | None = None,
        return_lse: bool = False,
    ) -> Any:
        """`attention` with the options of this object."""
        sequences = Sequences(query_starts, key_starts, key_lengths, page_table)
        check(q, k, v, sequences)
        rank = q.dim()
        q, k, v = (heads_first(each, self.is_transposed) for each in (q, k, v))
        if self._shares_tiles(pattern, sinks, sequences) and are_groups_rows(q, k):
            rows = as_rows(q, k.shape[1])
            o, lse = from_rows(*self._call(rows, k, v, None, scale, None, sequences, return_lse, False), return_lse)
        else:
            o, lse = self._call(q, k, v, pattern, scale, sinks, sequences, return_lse, self.causal)
        o, lse = like_queries(o, lse, rank, self.is_transposed)
        return (o, lse) if return_lse else o

    def _shares_tiles(self, pattern: Any, sinks: torch.Tensor | None, sequences: Sequences) -> bool:
        """Whether nothing tells apart heads of a group. One query is the last one, from which `causal` hides no key."""
        is_plain = self.mask_mod is None and self.score_mod is None and self.window is None
        return is_plain and pattern is None and sinks is None and sequences.query_starts is None

    def _call(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        pattern: Any,
        scale: float | None,
        sinks: torch.Tensor | None,
        sequences: Sequences,
        has_lse: bool,
        causal: bool,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The results of a kernel for tensors with heads before tokens."""
        is_forward_mode = torch.autograd.forward_ad._current_level >= 0  # any tensor may have a tangent
        differentiable = [each for each in (q, k, v, sinks) if each is not None and each.requires_grad]
        # Not bool(): torch.compile of PyTorch 2.11 does not trace it for lists.
        needs_gradient = is_forward_mode or (torch.is_grad_enabled() and len(differentiable) > 0)
        lists, form, mask = _lists(pattern, self.block, self.mask_mod, q, k, sequences)
        is_compiling = torch.compiler.is_compiling()

        def traced(has_lse: bool) -> _Traced:
            trace = _trace if is_compiling else self._kernel
            return trace(
                id(mask) if is_compiling and isinstance(mask, Pattern) else mask,
                self.score_mod,
                causal,
                self.window,
                form[:2],
                q.dtype,
                operator.index(q.shape[-1]),  # constants, also where torch.compile has symbols
                operator.index(v.shape[-1]),
                scale is not None,
                sinks is not None,
                sequences.options(k),
                has_lse,
                q.device,
                not is_compiling,
            )

        text, captures = traced(has_lse or needs_gradient)
        # torch.compile traces no array that requires a gradient.
        if self.score_mod is not None and torch.is_grad_enabled() and not (needs_gradient or is_compiling):
            needs_gradient = len([each for each in captures if each.requires_grad]) > 0
            if needs_gradient and not has_lse:
                text, captures = traced(True)
        has_lse = has_lse or needs_gradient
        options = lists, form, scale, sinks, sequences.given()
        results: tuple[torch.Tensor, torch.Tensor]
        if needs_gradient:
            missing = tuple(name for name, each in sequences._asdict().items() if each is not None)
            limits, has_score = limits_of(causal, self.window), self.score_mod is not None
            backward = _Backward(limits, isinstance(pattern, Pattern), mask is not None, has_score, missing)
            results = _Attention.apply(q, k, v, *options, text, backward, *captures)
        else:
            results = attention_operator.attention(q, k, v, *options, captures, has_lse, text)
        return results

    def _kernel(self, *form: Any) -> _Traced:
        """What _trace gives for this form, kept."""
        if form not in self._kernels:
            if len(self._kernels) == _MOST_KERNELS:
                del self._kernels[next(iter(self._kernels))]
            self._kernels[form] = _trace(*form)
        return self._kernels[form]


class _Backward(NamedTuple):
    """What the gradient of a call needs beside its tensors.

    Attributes:
        limits: the keys that a query may see before and behind its position; -1: all.
        static: whether the lists stay the same.
        has_mask: whether partial blocks have a mask.
        has_score: whether there is a score_mod.
        missing: the options of the call that have no gradient.
    """

    limits: tuple[int, int]
    static: bool
    has_mask: bool
    has_score: bool
    missing: tuple[str, ...]


_INPUTS_BEFORE_CAPTURES = 10


class _Attention(torch.autograd.Function):  # type: ignore[misc]
    """Launches the kernel, with lse. Without it torch would drop the gradient of the result without a word."""

    @staticmethod
    def forward(
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        lists: list[torch.Tensor | None],
        form: tuple[int, ...],
        scale: float | None,
        sinks: torch.Tensor | None,
        sequences: list[torch.Tensor],
        text: str,
        backward: _Backward,
        *captures: torch.Tensor,
    ) -> Any:
        return attention_operator.attention(q, k, v, lists, form, scale, sinks, sequences, list(captures), True, text)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        q, k, v, lists, ctx.form, ctx.scale, sinks, _, ctx.text, ctx.backward_options, *captures = inputs
        ctx.has_list, ctx.has_sinks = [each is not None for each in lists], sinks is not None
        given = [each for each in lists if each is not None]
        ctx.save_for_backward(q, k, v, *output, *([] if sinks is None else [sinks]), *given, *captures)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, of_o: torch.Tensor, of_lse: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        options = ctx.backward_options
        if options.missing:
            raise NotImplementedError(f"sparsec.torch.attention has no gradient with {', '.join(options.missing)}")
        q, k, v, o, lse, *rest = ctx.saved_tensors
        others = list(rest)  # torch.compile of PyTorch 2.11 unpacks a tuple
        sinks = others.pop(0) if ctx.has_sinks else None
        lists = [others.pop(0) if is_given else None for is_given in ctx.has_list]
        # A row without keys has no gradient, whatever that of its lse is: NaN after logaddexp(-inf, -inf).
        difference = ((o.float() * of_o.float()).sum(-1) - of_lse).masked_fill(lse.isneginf(), 0)
        of_sinks = None
        if sinks is not None and ctx.needs_input_grad[6]:
            share = torch.exp(sinks[:, None] - lse).where(~lse.isneginf(), 0)
            of_sinks = -(share * difference).sum((0, 2))
        needs = ctx.needs_input_grad[_INPUTS_BEFORE_CAPTURES:]
        wanted = [number for number, is_needed in enumerate(needs) if is_needed]
        of_q = of_k = of_v = None
        of_captures: list[torch.Tensor | None] = [None] * len(others)
        if any([*ctx.needs_input_grad[:3], *needs]):
            of_q, of_k, of_v, found = attention_gradient(
                q, k, v, of_o, lse, difference, lists, ctx.form, ctx.scale, others, wanted, options.limits,
                options.static, options.has_mask, options.has_score, ctx.text,
            )  # fmt: skip
            for number, each in zip(wanted, found, strict=True):
                of_captures[number] = each
        return of_q, of_k, of_v, None, None, None, of_sinks, None, None, None, *of_captures


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _trace(
    mask: Function | Pattern | int,
    score_mod: Function,
    causal: bool,
    window: tuple[int, int] | None,
    block: tuple[int, ...],
    dtype: torch.dtype,
    head_dim: int,
    value_dim: int,
    has_scale: bool,
    has_sinks: bool,
    sequences: tuple[bool, bool, bool, int | None],
    has_lse: bool,
    device: torch.device,
    differentiable: bool,
) -> _Traced:
    """The text of a kernel, and the arrays that its functions captured, of which those of NumPy are copied to a GPU.

    A Pattern, or its identity, stands for the mask of its partial blocks. differentiable: whether captured arrays may
    require gradients: for torch.compile they are constants.
    """
    query_starts, key_starts, key_lengths, page_rows = sequences
    if isinstance(mask, int):
        mask = pattern_of(mask)
    mask_mod = mask.mask_mod((block[0], block[1])) if isinstance(mask, Pattern) else mask
    program = programs.attention(
        head_dim,
        dtype=dtype_name(dtype),
        pattern=bool(block),
        block=(block[0], block[1]) if block else None,
        causal=causal,
        window=window,
        scale=has_scale,
        sinks=has_sinks,
        query_starts=query_starts,
        key_starts=key_starts,
        key_lengths=key_lengths,
        page_rows=page_rows,
        value_dim=value_dim,
        mask_mod=mask_mod,
        score_mod=score_mod,
        lse=has_lse,
        differentiable=differentiable,
    )
    text = operator_text(program.text())
    region_values.remember(text, program)
    return text, [
        each if isinstance(each, torch.Tensor) else torch.as_tensor(each, device=device)
        for each in program.captures.values()
    ]


# ---- Patterns --------------------------------------------------------------------------------------------------------


def _lists(
    pattern: Any, block: tuple[int, int], mask_mod: Function, q: torch.Tensor, k: torch.Tensor, sequences: Sequences
) -> tuple[list[torch.Tensor | None], tuple[int, ...], Function]:
    """The tensors of a pattern, its form (see attention_operator), and the function for partial blocks.

    Without a pattern there are no tensors and no form. The lists that are made for a Pattern never change.
    """
    is_pattern = isinstance(pattern, Pattern)
    if hasattr(pattern, "kv_num_blocks"):
        if mask_mod is not None:
            raise InvalidArgument("mask_mod and a BlockMask are given, which has a mask_mod of its own")
        pattern, mask_mod = BlockLists.from_flex(pattern), pattern.mask_mod
    sizes = (sequences.count(q), q.shape[1], q.shape[2], sequences.keys(k))
    lists, mask_mod = lists_of(
        pattern,
        mask_mod,
        None if sequences.query_starts is not None else sizes[2],
        None if sequences.key_starts is not None else sizes[3],
        lambda pattern: _made(pattern, block, sizes, q.device),
        "a BlockMask, lists or a Pattern",
    )
    if lists is None:
        return [], (), mask_mod
    tensors = [lists.full_starts, lists.full_indices, lists.partial_starts, lists.partial_indices]
    if any(each is not None and not isinstance(each, torch.Tensor) for each in tensors):
        raise InvalidArgument("pattern: expects lists of tensors, as lists(..., device=...) makes them")
    is_static = int(is_pattern or getattr(lists, "static", False))
    return tensors, (lists.block[0], lists.block[1], lists.queries, lists.keys, is_static), mask_mod


def _made(
    pattern: Pattern, block: tuple[int, int], sizes: tuple[int, int, int, int], device: torch.device
) -> tuple[BlockLists, Any]:
    """The lists of a pattern for these sizes, and the pattern itself in the place of its mask, if it has one."""
    batches, heads, queries, keys = map(operator.index, sizes)  # constants, also where torch.compile has symbols
    lists, has_mask = _kept_lists(id(pattern), block, (batches, heads, queries, keys), device)
    return lists, pattern if has_mask else None


# torch.compile takes its arguments and its result as constants. The result may be no function.
@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _kept_lists(
    number: int, block: tuple[int, int], sizes: tuple[int, int, int, int], device: torch.device
) -> tuple[BlockLists, bool]:
    """The lists of the pattern with this identity, and whether it has a mask."""
    pattern = pattern_of(number)
    lists, mask_mod = made_lists(_made_for(pattern), pattern, block, sizes, device)
    return lists, mask_mod is not None


# By the identity of a pattern: a weak reference to it, and the lists that were made for it.
_kept: dict[int, tuple[weakref.ref[Pattern], dict[Any, MadeLists]]] = {}


def _made_for(pattern: Pattern) -> dict[Any, MadeLists]:
    key = id(pattern)
    found = _kept.get(key)
    if found is None or found[0]() is not pattern:
        found = _kept[key] = weakref.ref(pattern, functools.partial(forget, _kept, key)), {}
    return found[1]
