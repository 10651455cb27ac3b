# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with block patterns and functions of FlexAttention."""

from __future__ import annotations

import dataclasses
import functools
import math
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from sparsec import programs
from sparsec.attention_lists import DEFAULT_BLOCK, Function, MadeLists, lists_of, made_lists
from sparsec.attention_visits import Shape, limits_of
from sparsec.errors import InvalidArgument
from sparsec.jax.attention_gradient import attention_gradient, visits_of
from sparsec.jax.call import Blocks, as_varying, dtype_name, expect_array, launch
from sparsec.jax.mask_values import Mask, mask_of
from sparsec.jax.trees import LIST_ARRAYS
from sparsec.jax.vmap import folded, is_any, loop
from sparsec.options import block_sides, one_of
from sparsec.patterns.lists import BlockLists
from sparsec.patterns.pattern import Pattern
from sparsec.tracing.graph import Graph
from sparsec.tracing.region import trace

__all__ = ["attention"]

Operands = Mapping[str, Any]


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    pattern: Any = None,
    mask_mod: Function = None,
    score_mod: Function = None,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: float | None = None,
    sinks: Any = None,
    query_starts: Any = None,
    key_starts: Any = None,
    key_lengths: Any = None,
    page_table: Any = None,
    layout: Literal["bhsd", "bshd"] = "bhsd",
    return_lse: bool = False,
    block: int | tuple[int, int] = DEFAULT_BLOCK,
) -> Any:
    """softmax(scores of visible keys) v for every batch and head, in one kernel.

    The functions are traced whenever JAX traces this call. They may capture arrays of JAX, which the kernel reads when
    it runs.

    Args:
        q: [B, H, Sq, D], or [B, Sq, H, D] with layout="bshd"; bf16 or f16; D is 64, 96, 128, 192 or 256.
        k: [B, Hkv, Skv, D], or [B, Skv, Hkv, D]. H is a multiple of Hkv.
        v: the same with Dv, which is D, or both are multiples of 64.
        pattern: which blocks are visited: lists of sparsec.patterns, whose arrays may be traced, or a Pattern, whose
            lists for these sizes are made when the call is traced. Blocks have 64 or 128 queries and keys.
        mask_mod: a function (b, h, q_idx, kv_idx): whether a key is visible. Full blocks of a pattern do not ask it.
        score_mod: a function (score, b, h, q_idx, kv_idx): the score.
        causal: query q sees the keys up to q + Skv - Sq: it aligns at the bottom right.
        window: the numbers of keys that a query sees before and behind that position; -1: no limit.
        scale: the factor of q k, a number of Python; None: 1 / sqrt(D).
        sinks: [H], f32: logits that join the softmax of every query of their head, and have no value; None: none.
        query_starts: [B + 1], int32, ascending from 0: queries are packed. q is [1, H, T, D] or [1, T, H, D], where
            sequence b has the tokens query_starts[b] up to query_starts[b + 1]. Results behind the last are undefined.
        key_starts: [B + 1], int32: the same of k and v.
        key_lengths: [B], int32: the number of keys of each sequence: its first ones.
        page_table: [B, P], int32, with key_lengths and without key_starts: k and v are pages [pages, Hkv, R, D] or
            [pages, R, Hkv, D], and key j of sequence b is row j mod R of page page_table[b, j / R].
        return_lse: whether to return the logarithm of the sums of exponentials too.
        block: queries and keys of a block of the lists of a Pattern.

    Returns:
        o, of the type and layout of q, with Dv in place of D; with return_lse (o, lse), lse [B, H, Sq] in f32.

    There are gradients of q, k, v and sinks, also through lse, in reverse mode and of first order: products of
    block-sparse matrices of the visited blocks, whose elements take memory in the type of q. Without a pattern these
    are the blocks of 64 x 64 that causal and window leave. Their lists are constants of the computation. The gradients
    are the same in every run. Differentiation raises NotImplementedError with a score_mod, and with query_starts,
    key_starts, key_lengths or page_table; that of q, k and v also if the lists of the pattern are arrays of JAX or
    index arrays.

    Raises:
        InvalidArgument: an argument does not fit; the text names it.
        TracingError: a function does what a kernel cannot.
        InvalidPattern: a gradient is needed, and lists of NumPy break a rule.
    """
    is_bshd = one_of("layout", layout, ("bhsd", "bshd")) == "bshd"
    q, k, v = (expect_array(name, array) for name, array in (("q", q), ("k", k), ("v", v)))
    sequences = _sequences(
        query_starts=query_starts, key_starts=key_starts, key_lengths=key_lengths, page_table=page_table
    )
    sizes = _sizes(q, k, v, is_bshd, sequences)
    given_sinks = () if sinks is None else (_sinks(sinks, sizes.heads),)
    lists, mask_mod = _lists(pattern, block_sides(block, (64, 128)), mask_mod, sizes, sequences)
    make = functools.partial(
        programs.attention,
        sizes.head_dim,
        dtype=dtype_name(q),
        pattern=lists is not None,
        block=None if lists is None else lists.block,
        causal=causal,
        window=window,
        scale=scale is not None,
        sinks=sinks is not None,
        value_dim=v.shape[3],
        query_starts="query_starts" in sequences,
        key_starts="key_starts" in sequences,
        key_lengths="key_lengths" in sequences,
        page_rows=k.shape[1 if is_bshd else 2] if "page_table" in sequences else None,
        mask_mod=mask_mod,
        score_mod=score_mod,
    )
    program = make(lse=return_lse)
    call = _Call(
        program.text(),
        None if lists is None else _blocks(lists),
        1 / math.sqrt(sizes.head_dim) if scale is None else _number("scale", scale),
        is_bshd,
        return_lse,
        _use_batch(mask_mod, score_mod),
    )
    operands = {
        "q": q,
        "k": k,
        "v": v,
        "lists": () if lists is None else tuple(jnp.asarray(each) for each in _arrays(lists)),
        "sinks": given_sinks,
        "sequences": tuple(sequences.values()),
        "captures": tuple(jnp.asarray(each) for each in program.captures.values()),
    }
    operands = as_varying(operands)
    backward = None
    if any(isinstance(each, jax.core.Tracer) for each in jax.tree.leaves(operands)):
        missing = (*(["a score_mod"] if score_mod is not None else []), *sequences)
        kernel = call.kernel if return_lse else make(lse=True).text()
        backward = _Backward(kernel, lists, limits_of(causal, window), mask_of(program), missing)
    results = _apply(call, backward, operands)
    return tuple(results) if return_lse else results[0]


# ---- Checks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sizes:
    batches: int
    heads: int
    queries: int
    keys: int
    head_dim: int


def _sequences(**arrays: Any) -> dict[str, Any]:
    """The arrays that give sequences sizes of their own, without those that are None."""
    sequences = {name: expect_array(name, array) for name, array in arrays.items() if array is not None}
    for name, array in sequences.items():
        rank = 2 if name == "page_table" else 1
        if (array.ndim, array.dtype) != (rank, jnp.int32):
            raise InvalidArgument(f"{name}: expects int32 of rank {rank}, but got {array.dtype} of rank {array.ndim}")
    return sequences


def _sizes(q: Any, k: Any, v: Any, is_bshd: bool, sequences: Operands) -> _Sizes:
    """B, H, the most queries and keys of a sequence, and D. The runtime checks the sizes of sequences."""
    for name, array in (("q", q), ("k", k), ("v", v)):
        if array.ndim != 4:
            raise InvalidArgument(f"{name}: expects 4 dimensions, but got shape {array.shape}")
        if array.dtype != q.dtype:
            raise InvalidArgument(f"{name}: expects {q.dtype}, the type of q, but got {array.dtype}")
    (batches, heads, queries, head_dim), (kv_batches, kv_heads, keys, kv_head_dim) = (
        (each[0], each[2], each[1], each[3]) if is_bshd else each for each in (q.shape, k.shape)
    )
    if v.shape[:3] != k.shape[:3]:
        raise InvalidArgument(f"v: expects sizes {k.shape[:3]} before Dv, those of k, but got shape {v.shape}")
    if "query_starts" in sequences:
        batches = sequences["query_starts"].shape[0] - 1
    if "page_table" in sequences:
        keys *= sequences["page_table"].shape[1]
    if "key_starts" in sequences or "page_table" in sequences:
        kv_batches = batches
    if (kv_batches, kv_head_dim) != (batches, head_dim):
        raise InvalidArgument(f"k: expects B {batches} and D {head_dim}, but got {kv_batches} and {kv_head_dim}")
    if kv_heads == 0 or heads % kv_heads:
        raise InvalidArgument(f"k: expects a number of heads that divides {heads}, but got {kv_heads}")
    return _Sizes(batches, heads, queries, keys, head_dim)


def _sinks(sinks: Any, heads: int) -> Any:
    sinks = expect_array("sinks", sinks)
    if (sinks.shape, sinks.dtype) != ((heads,), jnp.float32):
        raise InvalidArgument(f"sinks: expects float32 of shape ({heads},), but got {sinks.dtype} of {sinks.shape}")
    return sinks


def _number(name: str, value: Any) -> float:
    if isinstance(value, jax.Array):
        raise InvalidArgument(f"{name}: expects a number of Python, but got an array, whose value a kernel cannot have")
    return float(value)


# ---- Patterns --------------------------------------------------------------------------------------------------------

_made: weakref.WeakKeyDictionary[Pattern, dict[Any, MadeLists]] = weakref.WeakKeyDictionary()


def _lists(
    pattern: Any, block: tuple[int, int], mask_mod: Function, sizes: _Sizes, sequences: Operands
) -> tuple[BlockLists | None, Function]:
    """The lists of a pattern, None without one, and the function for its partial blocks."""
    form = (sizes.batches, sizes.heads, sizes.queries, sizes.keys)
    return lists_of(
        pattern,
        mask_mod,
        None if "query_starts" in sequences else sizes.queries,
        None if "key_starts" in sequences else sizes.keys,
        lambda pattern: made_lists(_made.setdefault(pattern, {}), pattern, block, form),
        "lists or a Pattern",
    )


def _arrays(lists: BlockLists) -> list[Any]:
    """Starts and indices of the kinds of lists that there are."""
    return [array for name in LIST_ARRAYS if (array := getattr(lists, name)) is not None]


def _blocks(lists: BlockLists) -> Blocks:
    """The numbers of lists, whose arrays have the room that they need."""
    count = lists.batches * lists.heads * -(-lists.queries // lists.block[0])
    kinds = {
        "full": (lists.full_starts, lists.full_indices),
        "partial": (lists.partial_starts, lists.partial_indices),
    }
    rooms = [math.prod(indices.shape) for _, indices in kinds.values() if indices is not None]
    capacity = min(rooms, default=0) // max(count, 1) if lists.padded else min(rooms, default=0)
    for kind, (starts, indices) in kinds.items():
        for array in (starts, indices):
            if array is not None and array.dtype != jnp.int32:
                raise InvalidArgument(f"pattern: expects {kind} lists of int32, but got {array.dtype}")
        needed = count if lists.padded else count + 1
        if starts is not None and math.prod(starts.shape) != needed:
            raise InvalidArgument(f"pattern: expects {needed} {kind} starts, but got shape {starts.shape}")
    return Blocks(
        lists.queries,
        lists.keys,
        lists.block,
        capacity,
        lists.batches,
        lists.heads,
        lists.padded,
        lists.full_starts is not None,
        lists.partial_starts is not None,
    )


def _use_batch(mask_mod: Function, score_mod: Function) -> bool:
    """Whether a function asks for the number of the batch."""
    places = [(name, "i32") for name in ("b", "h", "q_idx", "kv_idx")]
    regions = [
        trace(function, arguments, result, Graph(integers=True), "a function")
        for function, arguments, result in ((mask_mod, places, "i1"), (score_mod, [("score", "f32"), *places], "f32"))
        if function is not None
    ]
    return any(region.uses("b") for region in regions)


# ---- The call --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Call:
    """What is known of a call when it is traced. scale: the factor of q k, which only some kernels take."""

    kernel: str
    blocks: Blocks | None
    scale: float
    is_bshd: bool
    has_lse: bool
    uses_batch: bool


# jit, so that calls outside of one are traced once.
@functools.partial(jax.jit, static_argnums=0)
def _launched(call: _Call, operands: Operands) -> list[Any]:
    return _batched(call)(operands)


def _batched(call: _Call) -> Callable[[Operands], list[Any]]:
    """The launch as a function of operands, with a rule for jax.vmap: a batch is folded into B."""
    function: Callable[[Operands], list[Any]] = jax.custom_batching.custom_vmap(functools.partial(_launch, call))

    @function.def_vmap  # type: ignore[attr-defined, untyped-decorator]
    def rule(size: int, are_batched: Any, operands: Operands) -> tuple[list[Any], list[bool]]:
        (is_batched,) = are_batched
        has_index_arrays = call.blocks is not None and not call.blocks.is_padded
        are_of_batch = is_any(is_batched["captures"]) or is_any(is_batched["sinks"])
        if call.uses_batch or has_index_arrays or are_of_batch or operands["sequences"]:
            results = loop(function, is_batched, operands)
        else:
            results = _fold(call, size, is_batched, operands)
        return results, [True] * len(results)

    return function


def _launch(call: _Call, operands: Operands) -> list[Any]:
    q = operands["q"]
    results = [((*q.shape[:3], operands["v"].shape[3]), q.dtype)]
    if call.has_lse:
        results.append((((q.shape[0], q.shape[2], q.shape[1]) if call.is_bshd else q.shape[:3]), jnp.float32))
    arrays = [q, operands["k"], operands["v"]]
    for name in ("lists", "sinks", "sequences", "captures"):
        arrays.extend(operands[name])
    given: list[Any] = launch(call.kernel, arrays, results, blocks=call.blocks, scale=call.scale, is_bshd=call.is_bshd)
    return given


def _fold(call: _Call, size: int, is_batched: Operands, operands: Operands) -> list[Any]:
    """One launch for `size` times as many batches."""

    def folded_lists(array: Any, is_batched: bool, batches: int) -> Any:
        """The lists of all batches. batches: of one batch of jax.vmap."""
        rows = folded(size, is_batched, array).reshape(size, batches, -1)
        return jnp.broadcast_to(rows, (size, operands["q"].shape[-4], rows.shape[2])).reshape(-1)

    rows = {name: folded(size, is_batched[name], operands[name]) for name in ("q", "k", "v")}
    blocks, lists = call.blocks, operands["lists"]
    if blocks is not None and (blocks.batches > 1 or is_any(is_batched["lists"])):
        lists = tuple(
            folded_lists(array, each, blocks.batches) for array, each in zip(lists, is_batched["lists"], strict=True)
        )
        blocks = dataclasses.replace(blocks, batches=rows["q"].shape[0])
    folded_call = dataclasses.replace(call, blocks=blocks)
    results = _batched(folded_call)({**operands, **rows, "lists": lists})
    return [each.reshape(size, -1, *each.shape[1:]) for each in results]


# ---- Gradients -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Backward:
    """What the gradients of a call need beside its arrays.

    Attributes:
        kernel: the text of the kernel that gives lse too.
        lists: of the pattern; None: there is none.
        limits: the keys that a query may see before and behind its position; -1: all.
        mask: of partial blocks; None: they have none.
        missing: the options of the call that have no gradient.
    """

    kernel: str
    lists: BlockLists | None
    limits: tuple[int, int]
    mask: Mask | None
    missing: tuple[str, ...]

    def check_lists(self) -> None:
        """Raises NotImplementedError if the visited blocks are not known when JAX traces."""
        if self.lists is None:
            return
        if not all(isinstance(each, np.ndarray) for each in _arrays(self.lists)):
            raise NotImplementedError(
                "sparsec.jax.attention has no gradient where the lists of the pattern are arrays of JAX: the products "
                "of its backward pass need a plan of lists that are arrays of NumPy"
            )
        if not self.lists.padded:
            raise NotImplementedError(
                "sparsec.jax.attention has no gradient where the lists of the pattern are index arrays: pass padded "
                "ones"
            )


# backward is None where no operand is traced, so that there is nothing to differentiate.
@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _apply(call: _Call, backward: _Backward | None, operands: Operands) -> list[Any]:
    results: list[Any] = _launched(call, operands)
    return results


def _differentiated(call: _Call, backward: _Backward, operands: Any) -> tuple[list[Any], Operands]:
    """The results, and what their gradients need. operands: with each array whether a gradient of it is needed."""
    if backward.missing:
        raise NotImplementedError(f"sparsec.jax.attention has no gradient with {', '.join(backward.missing)}")
    is_needed = any(operands[name].perturbed for name in ("q", "k", "v"))
    if is_needed:
        backward.check_lists()
    arrays = jax.tree.map(lambda each: each.value, operands, is_leaf=lambda each: hasattr(each, "perturbed"))
    o, lse = _launched(dataclasses.replace(call, kernel=backward.kernel, has_lse=True), arrays)
    saved = {"o": o, "lse": lse, "sinks": arrays["sinks"], "rows": None}
    if is_needed:
        saved["rows"] = {name: arrays[name] for name in ("q", "k", "v", "captures")}
    return [o, lse] if call.has_lse else [o], saved


def _gradients(call: _Call, backward: _Backward, saved: Operands, of_results: list[Any]) -> tuple[Operands]:
    """The gradients of operands; None of those that have none."""
    of_o, of_lse = (
        None if isinstance(each, jax.custom_derivatives.SymbolicZero) else each for each in (*of_results, None)[:2]
    )
    o, lse = _heads_first(call, saved["o"]), saved["lse"]
    of_o = jnp.zeros_like(o) if of_o is None else _heads_first(call, of_o)
    difference = (o.astype(jnp.float32) * of_o.astype(jnp.float32)).sum(-1) - (0 if of_lse is None else of_lse)
    # A row without keys has no gradient, whatever that of its lse is: NaN after logaddexp(-inf, -inf).
    difference = jnp.where(jnp.isneginf(lse), 0, difference)
    gradients: dict[str, Any] = dict.fromkeys(("q", "k", "v", "lists", "sequences", "captures"))
    gradients["sinks"] = tuple(
        -(jnp.where(jnp.isneginf(lse), 0, jnp.exp(each[:, None] - lse)) * difference).sum((0, 2))
        for each in saved["sinks"]
    )
    if saved["rows"] is not None:
        q, k, v = (_heads_first(call, saved["rows"][name]) for name in ("q", "k", "v"))
        shape = Shape(q.shape[0], q.shape[1], k.shape[1], q.shape[2], k.shape[2])
        visits = visits_of(backward.lists, shape, backward.limits, backward.kernel, backward.mask)
        operands = {"q": q, "k": k, "v": v, "of_o": of_o, "lse": lse, "difference": difference}
        operands["captures"] = saved["rows"]["captures"]
        of_rows = attention_gradient(visits, call.scale, call.uses_batch, operands)
        gradients |= {name: _heads_first(call, each) for name, each in zip(("q", "k", "v"), of_rows, strict=True)}
    return (gradients,)


def _heads_first(call: _Call, rows: Any) -> Any:
    """Rows of a call with heads before tokens, and back."""
    return rows.swapaxes(1, 2) if call.is_bshd else rows


_apply.defvjp(_differentiated, _gradients, symbolic_zeros=True)
