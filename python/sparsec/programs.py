# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels from Python: the text of a `sparsec.kernel` for a product of a block-sparse matrix with a dense one or with
another, a sampled product, or attention.

`sparsec.compile` takes a Program. Sizes that are None are known only at run time: one compiled kernel serves all.
dialect/SPEC.md defines what each op computes; the options here have its names.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparsec.errors import InvalidArgument
from sparsec.options import block_sides, integer, on_device, one_of
from sparsec.pattern_argument import BlockPattern
from sparsec.tracing.graph import Capture, Graph
from sparsec.tracing.region import Region, trace

__all__ = ["Extra", "Program", "attention", "full", "per_column", "per_row", "scalar", "sddmm", "spgemm", "spmm"]

_INPUT_TYPES = ("bf16", "f16")  # sddmm_c2, spgemm_c2, attention_c2
_F8_TYPES = ("f8E4M3FN", "f8E5M2")  # spmm_c1
_DEPTH_OF_X_SCALE = 128  # elements of k that share a scale of x
_RESULT_TYPES = ("bf16", "f16", "f32")  # spmm_c3, sddmm_c3, spgemm_c3, attention_c7
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")  # kernel_c4
_LARGEST_SIZE = 2147418111  # bsr_c3, kernel_c12
_MOST_EXTRAS = 16  # spmm_c21, sddmm_c21, spgemm_c21
_MOST_CAPTURES = 8  # attention_c21
_HEAD_DIMENSIONS = (64, 96, 128, 192, 256)  # attention_c4
_PAGE_ROWS = (16, 32, 64, 128, 256)  # attention_c26
_NO_LIMIT = -1
_DEFAULT_BLOCK = 128
_LONGEST_BASE = 56  # of a name that gets a number behind it

MASK_ARGUMENTS = tuple((each, "i32") for each in ("b", "h", "q_idx", "kv_idx"))
"""Names and types of the arguments of a mask_mod; those of a score_mod are behind the score."""


@dataclass(frozen=True)
class Program:
    """The text of one kernel, and the arrays that its functions captured.

    Attributes:
        name: of the kernel.
        source: what text() gives.
        captures: the captured array of every operand that the caller does not pass, by the operand's name. They are
            references: a launch reads their values of that time.
        mask, score: the regions of attention, as they were traced, if there are any.
    """

    name: str
    source: str
    captures: Mapping[str, Any] = field(default_factory=dict, compare=False)
    mask: Region | None = field(default=None, compare=False)
    score: Region | None = field(default=None, compare=False)

    def text(self) -> str:
        """The kernel in the sparsec dialect. It is the same for functions that differ only in the arrays they read."""
        return self.source

    def to(self, device: Any) -> Program:
        """Makes the program whose captured arrays are PyTorch's tensors on a device.

        Args:
            device: a device of PyTorch, such as "cuda". Tensors that are there stay references, others are copied.

        Raises:
            InvalidArgument: PyTorch is not installed.
        """
        captures = {name: on_device(array, device) for name, array in self.captures.items()}
        return dataclasses.replace(self, captures=captures)


@dataclass(frozen=True)
class Extra:
    """An extra operand of an epilogue. Made by per_row, per_column, full and scalar.

    Attributes:
        broadcast: how it spreads over the result: "per_row", "per_column", "full" or "scalar".
        dtype: "bf16", "f16" or "f32"; None: that of the result.
        by_value: whether a call passes the number itself, of a scalar f32.

    Raises:
        InvalidArgument: an attribute has another value.
    """

    broadcast: str
    dtype: str | None
    by_value: bool = False

    def __post_init__(self) -> None:
        one_of("broadcast", self.broadcast, ("per_row", "per_column", "full", "scalar"))
        if self.dtype is not None:
            one_of("dtype", self.dtype, _RESULT_TYPES)
        if self.by_value and (self.broadcast, self.dtype) != ("scalar", "f32"):  # spmm_c13, sddmm_c13, spgemm_c13
            raise InvalidArgument(f"by_value is True for {self.dtype} {self.broadcast}, but expects an f32 scalar")


def per_row(dtype: str = "f32") -> Extra:
    """One element for each row m of the block-sparse matrix: a tensor [M]. Raises InvalidArgument as Extra does."""
    return Extra("per_row", dtype)


def per_column(dtype: str = "f32") -> Extra:
    """One element for each column n of the product: a tensor [N]. Raises InvalidArgument as Extra does."""
    return Extra("per_column", dtype)


def full(dtype: str | None = None) -> Extra:
    """One element for each element of the result: a tensor of its shape; None: of its type. Raises as Extra does."""
    return Extra("full", dtype)


def scalar(dtype: str | None = None) -> Extra:
    """The same element everywhere; None: an f32 by value, else a tensor of rank 0. Raises as Extra does."""
    return Extra("scalar", "f32", by_value=True) if dtype is None else Extra("scalar", dtype)


def spmm(
    block: int | tuple[int, int],
    dtype: str = "bf16",
    *,
    x_dtype: str | None = None,
    scales: bool = False,
    x_scale: bool = False,
    accumulation: str = "two_level",
    transposed: bool = False,
    x_layout: str = "kn",
    y_layout: str = "mn",
    result_dtype: str | None = None,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    epilogue: Callable[..., Any] | None = None,
    extras: Mapping[str, Extra] | None = None,
    name: str = "spmm",
) -> Program:
    """Makes the kernel y = epilogue(w x): a block-sparse matrix times a dense one.

    The kernel takes w, the scales if it has them, x, the scales of x if it has them, and the extras in order, and
    gives y.

    Args:
        block: rows and columns of the blocks of w, or both in one number: multiples of 16, at most 512 x 256.
        dtype: of w: "bf16", "f16", or of fp8 "f8E4M3FN" or "f8E5M2". GPUs compute fp8 products of a w that
            is not transposed, with x_layout "nk".
        x_dtype: of x: dtype, or with fp8 the other fp8 type too; None: dtype.
        scales: whether the kernel takes an f32 for each stored block of w, by which it multiplies the block: a tensor
            [blocks] in their order. With fp8 and accumulation "two_level".
        x_scale: whether the kernel takes an f32 for each column n of the product and 128 of K of x: a tensor
            [N, ceil(K / 128)]. With fp8 and accumulation "two_level", and blocks whose columns divide 128 or are 256.
        accumulation: how GPUs add products of fp8. "two_level": sums over at most 128 of K are added in f32; "fast":
            the matrix instructions keep the whole sum, and long sums of positive products come out low.
        transposed: the product is wᵀ x: w is [K, M], and `block` is that of w. Its values are read where they are. A
            plan has the index of wᵀ, so that every call has one, and the lists of w stay as they are.
        x_layout: "kn": x is [K, N]; "nk": x is [N, K].
        y_layout: "mn": y is [M, N]; "nm": y is [N, M].
        result_dtype: of y: "bf16", "f16" or "f32"; None: dtype, or "bf16" with fp8.
        m, n, k: sizes; None: known at run time. w is [M, K] unless it is transposed.
        epilogue: a function of the f32 accumulator of an element and, by their names in extras, of the elements of
            extra operands that belong to it. It gives the element of y. Arrays of rank 0 that it reads become operands.
        extras: the extra operands by name, in the order of the call: per_row(), per_column(), full() or scalar().
        name: of the kernel.

    Raises:
        InvalidArgument: an option has a value that no kernel has. The text names the option.
        TracingError: the epilogue does what a kernel cannot. The text quotes the line.
    """
    one_of("dtype", dtype, (*_INPUT_TYPES, *_F8_TYPES))
    after = _accumulation_clause(dtype, accumulation, scales=scales, x_scale=x_scale)
    product = _Product(name, dtype, result_dtype or ("bf16" if dtype in _F8_TYPES else None), m, n, k)
    sides = product.matrix("w", "mk", block, transposed)
    if scales:
        product.kernel.operand("scales", _tensor("?", "f32"))
    x_types = _F8_TYPES if dtype in _F8_TYPES else (dtype,)
    product.dense("x", "x_layout", x_layout, ("kn", "nk"), one_of("x_dtype", x_dtype or dtype, x_types))
    if x_scale:
        product.x_scale(k, sides[0] if transposed else sides[1])
    sizes = product.sizes_of("y_layout", y_layout, ("mn", "nm"))
    operands, region = product.result("y", sizes, epilogue, extras or {})
    of_blocks, of_x = " scales(%scales)" if scales else "", " x_scale(%x_scale)" if x_scale else ""
    layouts = f"x_layout({x_layout}) y_layout({y_layout})"
    return product.kernel.program(f"sparsec.spmm %w{of_blocks}, %x{of_x}{operands} {layouts}{after}{region}")


def _accumulation_clause(dtype: str, accumulation: str, **scales: bool) -> str:
    """The clause of accumulation, or nothing for the default."""
    one_of("accumulation", accumulation, ("two_level", "fast"))
    if accumulation == "fast" and dtype not in _F8_TYPES:  # spmm_c22
        raise InvalidArgument(f"accumulation is 'fast', but expects two_level with dtype {dtype}")
    for name, is_there in scales.items():
        if is_there and dtype not in _F8_TYPES:  # spmm_c23, spmm_c24
            raise InvalidArgument(f"{name} is {is_there}, but expects False with dtype {dtype}")
        if is_there and accumulation == "fast":  # spmm_c23, spmm_c24
            raise InvalidArgument(f"{name} is {is_there}, but expects False with accumulation fast")
    return " accumulation(fast)" if accumulation == "fast" else ""


def sddmm(
    block: int | tuple[int, int],
    dtype: str = "bf16",
    *,
    a_layout: str = "mk",
    b_layout: str = "nk",
    result_dtype: str | None = None,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    epilogue: Callable[..., Any] | None = None,
    extras: Mapping[str, Extra] | None = None,
    name: str = "sddmm",
) -> Program:
    """Makes the kernel s = epilogue(a bᵀ) at the blocks of a pattern: a dense product that a matrix samples.

    The kernel takes p, a, b and the extras in order, and gives s. p is a block-sparse matrix, [M, N], whose values are
    not read; s is [blocks, block rows, block columns]: the values of its stored blocks.

    Args:
        block: rows and columns of the blocks of p, or both in one number: multiples of 16, at most 512 x 256.
        dtype: of a and b, and of the values of p: "bf16" or "f16".
        a_layout: "mk": a is [M, K]; "km": a is [K, M].
        b_layout: "nk": b is [N, K]; "kn": b is [K, N].
        result_dtype: of s: "bf16", "f16" or "f32"; None: dtype.
        m, n, k: sizes; None: known at run time.
        epilogue, extras: as of spmm. full() is another array of values of the same pattern.
        name: of the kernel.

    Raises:
        InvalidArgument: an option has a value that no kernel has. The text names the option.
        TracingError: the epilogue does what a kernel cannot. The text quotes the line.
    """
    product = _Product(name, one_of("dtype", dtype, _INPUT_TYPES), result_dtype, m, n, k)
    block = product.matrix("p", "mn", block)
    product.dense("a", "a_layout", a_layout, ("mk", "km"), dtype)
    product.dense("b", "b_layout", b_layout, ("nk", "kn"), dtype)
    operands, region = product.result("s", ["?", *map(str, block)], epilogue, extras or {})
    layouts = f"a_layout({a_layout}) b_layout({b_layout})"
    return product.kernel.program(f"sparsec.sddmm %p, %a, %b{operands} {layouts}{region}")


def spgemm(
    block: int | tuple[int, int],
    dtype: str = "bf16",
    *,
    right_block: int | tuple[int, int] | None = None,
    pattern: bool = False,
    c_layout: str = "mn",
    result_dtype: str | None = None,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    epilogue: Callable[..., Any] | None = None,
    extras: Mapping[str, Extra] | None = None,
    name: str = "spgemm",
) -> Program:
    """Makes the kernel c = epilogue(a b): the product of two block-sparse matrices.

    The kernel takes a, b, with a pattern p, and the extras in order, and gives c. Without a pattern c is dense: [M, N].
    With one, p is a block-sparse matrix, [M, N], whose values are not read, and c is [blocks, block rows, block
    columns]: the values of its stored blocks. Other elements of the product are not computed.

    A plan holds the pairs of blocks that meet. Every call has one, and the lists of a, b and p stay as they are.

    Args:
        block: rows and columns of the blocks of a, or both in one number: multiples of 16, at most 512 x 256.
        dtype: of a and b, and of the values of p: "bf16" or "f16".
        right_block: of b: as many rows as blocks of a have columns; None: as many columns too. Blocks of p have the
            rows of the one and the columns of the other.
        pattern: whether the kernel takes p.
        c_layout: "mn": c is [M, N]; "nm": c is [N, M], without a pattern.
        result_dtype: of c: "bf16", "f16" or "f32"; None: dtype.
        m, n, k: sizes; None: known at run time.
        epilogue, extras: as of spmm, or with a pattern as of sddmm.
        name: of the kernel.

    Raises:
        InvalidArgument: an option has a value that no kernel has. The text names the option.
        TracingError: the epilogue does what a kernel cannot. The text quotes the line.
    """
    product = _Product(name, one_of("dtype", dtype, _INPUT_TYPES), result_dtype, m, n, k)
    rows, inner = product.matrix("a", "mk", block)
    right = inner if right_block is None else right_block
    right_rows, columns = product.matrix("b", "kn", right, option="right_block")
    if right_rows != inner:  # spgemm_c5
        raise InvalidArgument(f"right_block has {right_rows} rows, but expects {inner}, the columns of block")
    sizes = product.sizes_of("c_layout", c_layout, ("mn", "nm"))
    before, after = "", f" c_layout({c_layout})"
    if pattern:
        if c_layout != "mn":  # spgemm_c22
            raise InvalidArgument(f"c_layout is {c_layout!r}, but expects mn with a pattern")
        before, after = " pattern(%p)", ""
        sizes = ["?", *map(str, product.matrix("p", "mn", (rows, columns)))]
    operands, region = product.result("c", sizes, epilogue, extras or {})
    return product.kernel.program(f"sparsec.spgemm %a, %b{before}{operands}{after}{region}")


def attention(
    head_dim: int,
    *,
    dtype: str = "bf16",
    pattern: BlockPattern | bool = False,
    block: int | tuple[int, int] | None = None,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    scale: bool = False,
    sinks: bool = False,
    query_starts: bool = False,
    key_starts: bool = False,
    key_lengths: bool = False,
    page_rows: int | None = None,
    value_dim: int | None = None,
    mask_mod: Callable[..., Any] | None = None,
    score_mod: Callable[..., Any] | None = None,
    lse: bool = False,
    differentiable: bool = False,
    result_dtype: str | None = None,
    batches: int | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
    queries: int | None = None,
    keys: int | None = None,
    name: str = "attention",
) -> Program:
    """Makes the kernel o = softmax(scores of visible keys) v, for every batch and head.

    The kernel takes q [B, H, Sq, D], k [B, Hkv, Skv, D] and v [B, Hkv, Skv, Dv]; then p, the lists of blocks, if there
    is a pattern; then scale, an f32, and sinks, f32 [H], if they are there; then query_starts, key_starts, key_lengths
    and page_table, i32, if they are there; captured arrays are bound. It gives o [B, H, Sq, Dv] and, with lse,
    lse [B, H, Sq], f32: the logarithm of the sum of the exponentials. A query that sees no key has o = 0, and lse =
    -inf or the sink of its head.

    The B sequences may have sizes of their own, which the kernel reads when it runs: one compiled kernel and one plan
    serve all of them. Numbers of queries and keys, also those of a pattern and of functions, then count within the
    sequence.

    Args:
        head_dim: D: 64, 96, 128, 192 or 256.
        dtype: of q, k and v: "bf16" or "f16".
        pattern: True: the kernel takes lists of blocks. A Pattern: the same, and what it says is the mask of partial
            blocks. The lists of a call are then those that this pattern makes for this block.
        block: queries and keys of a block of the lists, or both in one number: 64 or 128; None: 128.
        causal: query q sees the keys up to q + Skv - Sq: the last query and the last key have the same position. If
            Sq = Skv, this is FlexAttention's `q_idx >= kv_idx`.
        window: the numbers of keys that a query sees before and behind that position; -1: no limit.
        scale: whether a call passes the factor of the scores; else it is 1 / sqrt(D).
        sinks: whether a call passes a logit for each head, whose exponential joins the sum of all its queries. It is
            not scaled, and score_mod does not see it.
        query_starts: whether a call passes query_starts [B + 1], ascending from 0. Sequences are then packed: q is
            [1, H, T, D], o [1, H, T, Dv] and lse [1, H, T], where sequence b has the rows query_starts[b] up to
            query_starts[b + 1]. Rows behind the last sequence are not written.
        key_starts: the same of k [1, Hkv, Tk, D] and v [1, Hkv, Tk, Dv].
        key_lengths: whether a call passes key_lengths [B], the number of keys of each sequence: its first ones. The
            others have no influence, whatever they are.
        page_rows: R, if keys are paged: 16, 32, 64, 128 or 256; None: they are not. It needs key_lengths. A call then
            passes page_table [B, P], where key j of sequence b is row j mod R of page page_table[b, j / R] of
            k [pages, Hkv, R, D] and v [pages, Hkv, R, Dv]. No entry behind the last key of a sequence is read.
        value_dim: Dv; None: D. If it is another, both are multiples of 64.
        mask_mod: a function (b, h, q_idx, kv_idx), as of FlexAttention: whether a key is visible. Full blocks of lists
            do not ask it.
        score_mod: a function (score, b, h, q_idx, kv_idx), as of FlexAttention: the score, from the scaled product.
        lse: whether the kernel gives lse.
        differentiable: whether captured tensors may require gradients. A call of the kernel refuses such tensors:
            whoever sets this launches it with their .detach(), and computes the gradients.
        result_dtype: of o: "bf16", "f16" or "f32"; None: dtype.
        batches, heads, kv_heads, queries, keys: B, H, Hkv, Sq and Skv; None: known at run time. H is a multiple of Hkv.
            Of packed sequences queries and keys are T and Tk; keys that are paged have none.
        name: of the kernel.

    Raises:
        InvalidArgument: an option has a value that no kernel has. The text names the option.
        TracingError: a function does what a kernel cannot. The text quotes the line.
    """
    one_of("dtype", dtype, _INPUT_TYPES)
    value_dim = _value_dimension(head_dim, value_dim)
    count = _size("batches", batches)
    _check_pages(page_rows, key_starts, key_lengths, keys)
    rows = ["1" if query_starts else count, _size("heads", heads), _size("queries", queries)]
    kv_rows = ["1" if key_starts else count, _size("kv_heads", kv_heads), _size("keys", keys)]
    if page_rows is not None:
        kv_rows = ["?", kv_rows[1], str(page_rows)]
    if heads is not None and kv_heads is not None and (kv_heads == 0 or heads % kv_heads):
        raise InvalidArgument(f"heads is {heads}, but expects a multiple of kv_heads, {kv_heads}")
    kernel = _Kernel(name)
    for each, shape, width in (("q", rows, head_dim), ("k", kv_rows, head_dim), ("v", kv_rows, value_dim)):
        kernel.operand(each, _tensor([*shape, str(width)], dtype))
    result_type = one_of("result_dtype", result_dtype or dtype, _RESULT_TYPES)
    kernel.result("o", _tensor([*rows, str(value_dim)], result_type))
    if lse:
        kernel.result("lse", _tensor(rows, "f32"))
    sides = _pattern_block(pattern, block)
    before, after = _attention_clauses(kernel, sides, causal, window, scale)
    if sinks:
        kernel.operand("sinks", _tensor([rows[1]], "f32"))
        before += " sinks(%sinks)"
    before += _sequence_clauses(kernel, batches, query_starts, key_starts, key_lengths, page_rows is not None)
    captures, text, regions = _attention_regions(kernel, _mask_of(pattern, sides, mask_mod), score_mod, differentiable)
    extras = f" extras({', '.join(f'%{each}' for each in captures)})" if captures else ""
    program = kernel.program(f"sparsec.attention %q, %k, %v{before}{extras}{after}{text}")
    return dataclasses.replace(program, mask=regions.get("mask"), score=regions.get("score"))


def _value_dimension(head_dim: int, value_dim: int | None) -> int:
    """Dv, for which and for D there are kernels."""
    value_dim = head_dim if value_dim is None else value_dim
    for option, size in (("head_dim", head_dim), ("value_dim", value_dim)):
        if size not in _HEAD_DIMENSIONS:
            raise InvalidArgument(f"{option} is {size}, but expects 64, 96, 128, 192 or 256")
    if head_dim != value_dim and (head_dim % 64 or value_dim % 64):  # attention_c22
        raise InvalidArgument(
            f"head_dim and value_dim are {head_dim} and {value_dim}, but expect equal ones or multiples of 64"
        )
    return value_dim


def _check_pages(page_rows: int | None, key_starts: bool, key_lengths: bool, keys: int | None) -> None:
    if page_rows is None:
        return
    if page_rows not in _PAGE_ROWS:
        raise InvalidArgument(f"page_rows is {page_rows}, but expects 16, 32, 64, 128 or 256")
    if not key_lengths:  # attention_c25
        raise InvalidArgument(f"page_rows is {page_rows}, but expects None without key_lengths")
    if key_starts:  # attention_c25
        raise InvalidArgument(f"page_rows is {page_rows}, but expects None with key_starts")
    if keys is not None:
        raise InvalidArgument(f"keys is {keys}, but expects None with page_rows")


def _pattern_block(pattern: BlockPattern | bool, block: int | tuple[int, int] | None) -> tuple[int, int] | None:
    """The sides of the pattern's blocks; None without a pattern."""
    if not isinstance(pattern, (BlockPattern, bool)):
        raise InvalidArgument(f"pattern is a {type(pattern).__name__}, but expects a Pattern, True or False")
    if pattern is not False:
        return block_sides(_DEFAULT_BLOCK if block is None else block, (64, 128))  # pattern_c1
    if block is not None:
        raise InvalidArgument("block is given without a pattern")
    return None


def _attention_clauses(
    kernel: _Kernel, block: tuple[int, int] | None, causal: bool, window: tuple[int, int] | None, scale: bool
) -> tuple[str, str]:
    """What stands before and behind the clause of captured operands."""
    before = after = ""
    if block is not None:
        kernel.operand("p", f"!sparsec.pattern<{block[0]}x{block[1]}>")
        before += " pattern(%p)"
    if scale:
        kernel.operand("scale", "f32")
        before += " scale(%scale)"
    if causal:
        after += " causal"
    if window is not None:
        after += f" window = [{', '.join(map(str, _window(window)))}]"
    return before, after


def _sequence_clauses(
    kernel: _Kernel, batches: int | None, query_starts: bool, key_starts: bool, key_lengths: bool, has_pages: bool
) -> str:
    """Adds the operands that give sequences sizes of their own, and gives their clauses."""
    count, bounds = ("?", "?") if batches is None else (str(batches), str(batches + 1))
    operands = {
        "query_starts": (query_starts, [bounds]),
        "key_starts": (key_starts, [bounds]),
        "key_lengths": (key_lengths, [count]),
        "page_table": (has_pages, [count, "?"]),
    }
    clauses = ""
    for name, (is_given, sizes) in operands.items():
        if is_given:
            kernel.operand(name, _tensor(sizes, "i32"))
            clauses += f" {name}(%{name})"
    return clauses


def _window(window: tuple[int, int]) -> tuple[int, int]:
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise InvalidArgument(f"window is {window!r}, but expects (left, right)")
    return integer("window", window[0], _NO_LIMIT, 2**31 - 1), integer("window", window[1], _NO_LIMIT, 2**31 - 1)


def _mask_of(
    pattern: BlockPattern | bool, block: tuple[int, int] | None, mask_mod: Callable[..., Any] | None
) -> Callable[..., Any] | None:
    if isinstance(pattern, bool) or block is None:
        return mask_mod
    if mask_mod is not None:
        raise InvalidArgument("mask_mod and a Pattern are given; write pattern=the pattern & predicate(mask_mod)")
    return pattern.mask_mod(block)


def _attention_regions(
    kernel: _Kernel,
    mask_mod: Callable[..., Any] | None,
    score_mod: Callable[..., Any] | None,
    differentiable: bool,
) -> tuple[list[str], str, dict[str, Region]]:
    """The operands of captured arrays, the text of the regions, which share them, and the regions by their keyword."""
    graph = Graph(integers=True, differentiable=differentiable)
    regions: list[tuple[str, Region]] = []
    if score_mod is not None:
        regions.append(("score", trace(score_mod, [("score", "f32"), *MASK_ARGUMENTS], "f32", graph, "score_mod")))
    if mask_mod is not None:
        regions.append(("mask", trace(mask_mod, MASK_ARGUMENTS, "i1", graph, "mask_mod")))
    captures = list(dict.fromkeys(each for _, region in regions for each in region.captures))
    if len(captures) > _MOST_CAPTURES:
        raise InvalidArgument(
            f"score_mod and mask_mod capture {len(captures)} arrays, but expect at most {_MOST_CAPTURES}"
        )
    taken = {name for _, region in regions for name, _ in region.arguments}
    operands = [kernel.capture(each, taken) for each in captures]
    names = {each: f"{operand}.arg" for each, operand in zip(captures, operands, strict=True)}
    types = {each: each.type for each in captures}
    text = "".join(_region_text(keyword, region, names, types) for keyword, region in regions)
    return operands, text, dict(regions)


def _region_text(keyword: str, region: Region, names: Mapping[Any, str], captures: Mapping[Capture, str]) -> str:
    """The region behind its keyword. captures: the types of its arguments for captured arrays, in order."""
    arguments = [*region.arguments, *captures.items()]
    signature = ", ".join(f"%{names.get(each, each)}: {type}" for each, type in arguments)
    return f"\n      {keyword} ({signature}) {{\n{region.text(names)}  }}"


def _epilogue(
    kernel: _Kernel,
    epilogue: Callable[..., Any] | None,
    extras: Mapping[str, Extra],
    shapes: Mapping[str, Sequence[str]],
    result_dtype: str,
) -> tuple[str, str]:
    """Adds the extra operands to the kernel. Gives ", %b per_row" for each of them, and the text of the region."""
    if epilogue is None:
        if extras:
            raise InvalidArgument("extras are given without an epilogue")
        return "", ""
    arguments = [("acc", "f32")]
    operands = ""
    for name, extra in extras.items():
        if not isinstance(extra, Extra):
            raise InvalidArgument(
                f"extras has {extra!r} as '{name}', but expects per_row(), per_column(), full() or scalar()"
            )
        dtype = extra.dtype or result_dtype
        kernel.operand(name, dtype if extra.by_value else _tensor(shapes[extra.broadcast], dtype))
        arguments.append((name, dtype))
        operands += f", %{name} {extra.broadcast}"
    region = trace(epilogue, arguments, "f32", Graph(integers=False), "epilogue")
    scalars = [kernel.capture(each, {"acc"}) for each in region.captures]
    if len(extras) + len(scalars) > _MOST_EXTRAS:
        raise InvalidArgument(
            f"extras and captured scalars are {len(extras) + len(scalars)} operands, but expect at most {_MOST_EXTRAS}"
        )
    operands += "".join(f", %{name} scalar" for name in scalars)
    # An argument of the region may not have the name of an operand of the kernel.
    names = {
        each: f"{name}.arg"
        for each, name in (*zip(extras, extras, strict=True), *zip(region.captures, scalars, strict=True))
    }
    return operands, _region_text("epilogue", region, names, {each: each.element for each in region.captures})


class _Kernel:
    """Collects operands, results and captured arrays of one kernel, and writes its text."""

    def __init__(self, name: str) -> None:
        self._name = _identifier("name", name)
        self._operands: dict[str, str] = {}
        self._results: dict[str, str] = {}
        self._captures: dict[str, Any] = {}

    def operand(self, name: str, type: str) -> None:
        if name in self._operands or name in self._results or name == "acc":  # kernel_c6
            raise InvalidArgument(f"extras has the name '{name}', which another operand or a result of the kernel has")
        self._operands[_identifier("extras", name)] = type

    def result(self, name: str, type: str) -> None:
        self._results[name] = type

    def capture(self, capture: Capture, taken: set[str]) -> str:
        """Adds a captured array under the name of its variable, or one like it that is free."""
        taken = taken | self._operands.keys() | self._results.keys()
        base = capture.name if capture.name and _IDENTIFIER.fullmatch(capture.name) else "captured"
        candidates = (base if count == 0 else f"{base[:_LONGEST_BASE]}_{count}" for count in itertools.count())
        name = next(candidate for candidate in candidates if candidate not in taken)
        self._operands[name] = capture.type
        self._captures[name] = capture.array
        return name

    def program(self, op: str) -> Program:
        """The kernel whose body is `op`, the text of an anchor op up to its types."""
        results, types = ", ".join(f"%{name}" for name in self._results), ", ".join(self._results.values())
        source = (
            f"sparsec.kernel @{self._name}({', '.join(f'%{name}: {type}' for name, type in self._operands.items())})\n"
            f"    -> ({', '.join(f'{name}: {type}' for name, type in self._results.items())}) {{\n"
            f"  {results} = {op} : ({', '.join(self._operands.values())}) -> ({types})\n"
            f"  sparsec.return {results} : {types}\n"
            "}\n"
        )
        return Program(self._name, source, self._captures)


class _Product:
    """The kernel of a product: its sizes are M, N and K, its operands a matrix of blocks, dense ones and extras."""

    def __init__(
        self, name: str, dtype: str, result_dtype: str | None, m: int | None, n: int | None, k: int | None
    ) -> None:
        self._dtype = dtype
        self._result_dtype = one_of("result_dtype", result_dtype or dtype, _RESULT_TYPES)
        self._sizes = {"m": _size("m", m), "n": _size("n", n), "k": _size("k", k)}
        self.kernel = _Kernel(name)

    def matrix(
        self,
        name: str,
        letters: str,
        block: int | tuple[int, int],
        transposed: bool = False,
        option: str = "block",
    ) -> tuple[int, int]:
        """Adds a matrix of blocks, whose sides it returns. letters: its sizes, as "mk"; option: that gives the block.

        The type of a transposed matrix has the sizes and the block of its transpose.
        """
        rows, columns = block_sides(block, range(16, 513, 16), option)
        if (rows if transposed else columns) > 256:  # bsr_c2
            side = "rows" if transposed else "columns"
            raise InvalidArgument(f"{option} is {block!r}, but expects at most 256 {side}")
        sizes = "x".join(self._sizes[letter] for letter in letters)
        form = f"{columns}x{rows}, transposed" if transposed else f"{rows}x{columns}"
        self.kernel.operand(name, f"!sparsec.bsr<{sizes}x{self._dtype}, block = {form}>")
        return rows, columns

    def sizes_of(self, option: str, layout: str, layouts: Sequence[str]) -> list[str]:
        """The sizes of a tensor whose layout is an option, one of several."""
        return [self._sizes[letter] for letter in one_of(option, layout, layouts)]

    def dense(self, name: str, option: str, layout: str, layouts: Sequence[str], dtype: str) -> None:
        """Adds a dense operand."""
        self.kernel.operand(name, _tensor(self.sizes_of(option, layout, layouts), dtype))

    def x_scale(self, k: int | None, columns: int) -> None:
        """Adds the scales of x; columns: of a block of the M x K matrix."""
        if _DEPTH_OF_X_SCALE % columns != 0 and columns % _DEPTH_OF_X_SCALE != 0:  # spmm_c25
            raise InvalidArgument(
                f"x_scale is True, but expects blocks whose columns divide {_DEPTH_OF_X_SCALE} or are a multiple of "
                f"it, and got {columns}"
            )
        parts = "?" if k is None else str(-(-k // _DEPTH_OF_X_SCALE))
        self.kernel.operand("x_scale", _tensor([self._sizes["n"], parts], "f32"))

    def result(
        self, name: str, sizes: Sequence[str], epilogue: Callable[..., Any] | None, extras: Mapping[str, Extra]
    ) -> tuple[str, str]:
        """Adds the result and the operands of the epilogue. Gives ", %b per_row" for each, and the region's text."""
        self.kernel.result(name, _tensor(sizes, self._result_dtype))
        shapes = {"per_row": [self._sizes["m"]], "per_column": [self._sizes["n"]], "scalar": [], "full": sizes}
        return _epilogue(self.kernel, epilogue, extras, shapes, self._result_dtype)


def _tensor(sizes: Sequence[str], dtype: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in sizes)}{dtype}>"


def _identifier(option: str, name: Any) -> str:
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise InvalidArgument(
            f"{option} has the name {name!r}, but expects an identifier of at most 63 ASCII characters"
        )
    return name


def _size(option: str, size: int | None) -> str:
    return "?" if size is None else str(integer(option, size, 0, _LARGEST_SIZE))
