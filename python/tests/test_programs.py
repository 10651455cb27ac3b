# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels from Python: what they compute, against NumPy in float64, and what they refuse."""

import dataclasses
import itertools
import linecache
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import sparsec
from sparsec import patterns, programs, tracing
from sparsec.errors import InvalidArgument
from sparsec.tracing import TracingError

HALF = 2.0**-10  # a rounding to f16, with room for that of f32 sums


def compiled(program):
    return sparsec.compile(program, targets="host")[program.name]


def random_matrix(rows, columns, block, seed=1):
    """A BSR matrix of f16 with about half of its blocks, and the same as a dense one. Edge blocks are cut."""
    random = np.random.default_rng(seed)
    is_stored = random.random((-(-rows // block[0]), -(-columns // block[1]))) < 0.5
    row_ptr = np.concatenate([[0], np.cumsum(is_stored.sum(axis=1))]).astype(np.int32)
    col_idx = np.nonzero(is_stored)[1].astype(np.int32)
    values = random.normal(size=(len(col_idx), *block)).astype(np.float16)
    dense = np.zeros((is_stored.shape[0] * block[0], is_stored.shape[1] * block[1]))
    for index, (i, j) in enumerate(zip(*np.nonzero(is_stored), strict=True)):
        dense[i * block[0] : (i + 1) * block[0], j * block[1] : (j + 1) * block[1]] = values[index]
    return sparsec.BSR(row_ptr, col_idx, values, (rows, columns)), dense[:rows, :columns]


def normal(*shape, seed=2, dtype=np.float16):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


# ---- Products


@pytest.mark.parametrize(("x_layout", "y_layout"), list(itertools.product(("kn", "nk"), ("mn", "nm"))))
def test_spmm_layouts(x_layout, y_layout):
    w, dense = random_matrix(100, 70, (32, 16))
    x = normal(70, 9)
    program = programs.spmm((32, 16), "f16", x_layout=x_layout, y_layout=y_layout)
    y = compiled(program)(w, x if x_layout == "kn" else np.ascontiguousarray(x.T))
    expected = dense @ x.astype(np.float64)
    assert y.dtype == np.float16
    np.testing.assert_allclose(y if y_layout == "mn" else y.T, expected, atol=HALF * np.abs(expected).max())


@pytest.mark.parametrize(("x_layout", "y_layout"), list(itertools.product(("kn", "nk"), ("mn", "nm"))))
def test_spmm_of_the_transpose(x_layout, y_layout):
    w, dense = random_matrix(100, 70, (32, 16))
    x, row = normal(100, 9), normal(70, dtype=np.float32)
    program = programs.spmm(
        w.block,
        "f16",
        transposed=True,
        x_layout=x_layout,
        y_layout=y_layout,
        epilogue=lambda acc, row: acc + row,
        extras={"row": programs.per_row()},
    )
    assert "block = 16x32, transposed>" in program.text()
    y = compiled(program)(w, x if x_layout == "kn" else np.ascontiguousarray(x.T), row)
    expected = dense.T @ x.astype(np.float64) + row[:, None].astype(np.float64)
    np.testing.assert_allclose(y if y_layout == "mn" else y.T, expected, atol=HALF * np.abs(expected).max())


def test_the_plan_of_a_transpose_is_static():
    w, _ = random_matrix(100, 70, (32, 16))
    kernel = compiled(programs.spmm(w.block, "f16", transposed=True))
    x = normal(100, 9)
    with pytest.raises(InvalidArgument, match="takes the transpose of 'w': its plan needs the matrix"):
        kernel.plan(w, None)
    with pytest.raises(InvalidArgument, match="expects a plan that was made with the matrix"):
        kernel(w, x, plan=False)
    plan = kernel.plan(w, None, static=True)
    np.testing.assert_array_equal(kernel(w, x, plan=plan), kernel(w, x))
    expected, _ = kernel.reference(w, x)
    np.testing.assert_allclose(kernel(w, x), expected, atol=HALF * np.abs(expected).max())


def test_spmm_with_every_kind_of_extra():
    w, dense = random_matrix(100, 70, (16, 16))
    x, row, column = normal(70, 9), normal(100, dtype=np.float32), normal(9, seed=3)
    residual, beta = normal(100, 9, seed=4), np.array(0.75, np.float32)
    program = programs.spmm(
        16,
        "f16",
        result_dtype="f32",
        epilogue=lambda acc, row, column, residual, alpha, beta: (
            alpha * tracing.tanh(acc + row) * column + beta * residual
        ),
        extras={
            "row": programs.per_row(),
            "column": programs.per_column("f16"),
            "residual": programs.full("f16"),
            "alpha": programs.scalar(),
            "beta": programs.scalar("f32"),
        },
    )
    y = compiled(program)(w, x, row, column, residual, 2.0, beta)
    product = dense @ x.astype(np.float64)
    expected = 2 * np.tanh(product + row[:, None].astype(np.float64)) * column + 0.75 * residual.astype(np.float64)
    np.testing.assert_allclose(y, expected, atol=1e-5)


def test_a_full_extra_has_the_type_and_the_layout_of_the_result():
    w, dense = random_matrix(48, 32, (16, 16))
    x, residual = normal(9, 32), normal(9, 48, seed=3)
    program = programs.spmm(
        16, "f16", x_layout="nk", y_layout="nm", epilogue=lambda acc, r: acc + r, extras={"r": programs.full()}
    )
    expected = x.astype(np.float64) @ dense.T + residual
    y = compiled(program)(w, x, residual)
    np.testing.assert_allclose(y, expected, atol=HALF * np.abs(expected).max())


def test_a_captured_scalar_is_read_at_every_launch():
    w, dense = random_matrix(48, 32, (16, 16))
    x, scale, shift = normal(32, 5), np.array(2, np.float16), np.array(1, np.float32)
    program = programs.spmm(16, "f16", result_dtype="f32", epilogue=lambda acc: acc * scale + shift)
    assert list(program.captures) == ["scale", "shift"]
    kernel = compiled(program)
    product = dense @ x.astype(np.float64)
    np.testing.assert_allclose(kernel(w, x), product * 2 + 1, atol=1e-5)
    scale[()], shift[()] = 3, -1
    np.testing.assert_allclose(kernel(w, x), product * 3 - 1, atol=1e-4)


def test_an_epilogue_may_have_no_extras():
    w, dense = random_matrix(48, 32, (16, 16))
    x = normal(32, 5)
    y = compiled(programs.spmm(16, "f16", result_dtype="f32", epilogue=tracing.relu, name="relu"))(w, x)
    np.testing.assert_allclose(y, np.maximum(dense @ x.astype(np.float64), 0), atol=1e-5)


def test_bf16_products():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    w, dense = random_matrix(48, 32, (16, 16))
    exact = dense.astype(ml_dtypes.bfloat16)
    w = w.with_values(w.values.astype(ml_dtypes.bfloat16))
    x = normal(32, 5).astype(ml_dtypes.bfloat16)
    y = compiled(programs.spmm(16, "bf16", result_dtype="f32"))(w, x)
    np.testing.assert_allclose(y, exact.astype(np.float64) @ x.astype(np.float64), atol=1e-5)


@pytest.mark.parametrize(("a_layout", "b_layout"), list(itertools.product(("mk", "km"), ("nk", "kn"))))
def test_sddmm_layouts(a_layout, b_layout):
    p, _ = random_matrix(90, 70, (32, 16))
    a, b = normal(90, 40), normal(70, 40, seed=3)
    before = normal(p.block_count, 32, 16, seed=4, dtype=np.float32)
    program = programs.sddmm(
        (32, 16),
        "f16",
        a_layout=a_layout,
        b_layout=b_layout,
        result_dtype="f32",
        epilogue=lambda acc, before, beta: acc + beta * before,
        extras={"before": programs.full(), "beta": programs.scalar()},
    )
    layouts = (a if a_layout == "mk" else a.T, b if b_layout == "nk" else b.T)
    s = compiled(program)(p, *map(np.ascontiguousarray, layouts), before, 0.5)
    product = np.zeros((96, 80))
    product[:90, :70] = a.astype(np.float64) @ b.astype(np.float64).T
    rows = np.repeat(np.arange(3), np.diff(p.row_ptr))
    blocks = product.reshape(3, 32, 5, 16).swapaxes(1, 2)[rows, p.col_idx]
    np.testing.assert_allclose(s, blocks + 0.5 * before, atol=1e-4)


def test_sddmm_rows_and_columns():
    p, _ = random_matrix(48, 32, (16, 16))
    a, b, row, column = normal(48, 40), normal(32, 40, seed=3), normal(48, seed=4), normal(32, seed=5, dtype=np.float32)
    program = programs.sddmm(
        16,
        "f16",
        result_dtype="f32",
        epilogue=lambda acc, row, column: acc * row + column,
        extras={"row": programs.per_row("f16"), "column": programs.per_column()},
    )
    expected = (a.astype(np.float64) @ b.astype(np.float64).T) * row[:, None] + column
    rows = np.repeat(np.arange(3), np.diff(p.row_ptr))
    blocks = expected.reshape(3, 16, 2, 16).swapaxes(1, 2)[rows, p.col_idx]
    np.testing.assert_allclose(compiled(program)(p, a, b, row, column), blocks, atol=1e-4)


# ---- Attention


def softmax_attention(q, k, v, visible=True, score=lambda s, b, h, q_idx, kv_idx: s, scale=None, sinks=None):
    """Attention in float64: O with 0 and LSE with -inf where no key is visible and there is no sink."""
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(each, group, axis=1) for each in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = score(scores, *np.indices(scores.shape, sparse=True))
    scores = np.where(visible, scores, -np.inf)
    sinks = np.full(q.shape[1], -np.inf) if sinks is None else sinks.astype(np.float64)
    sinks = np.broadcast_to(sinks[:, None, None], (*scores.shape[:3], 1))
    most = np.maximum(scores.max(axis=-1, keepdims=True), sinks)
    shift = np.where(np.isfinite(most), most, 0)
    weights = np.exp(scores - shift)
    total = weights.sum(axis=-1, keepdims=True) + np.exp(sinks - shift)
    with np.errstate(divide="ignore"):
        lse = (np.log(total) + shift)[..., 0]
    values = weights @ v
    return np.divide(values, total, out=np.zeros_like(values), where=total > 0), lse


def check_attention(program, visible=True, sizes=(2, 4, 2, 100, 130), arguments=(), widths=(64, 64), **options):
    """Runs a program with `lse` and results in f32, of B, H, Hkv, Sq, Skv = sizes."""
    (batches, heads, kv_heads, queries, keys), (width, value_width) = sizes, widths
    q = normal(batches, heads, queries, width)
    k, v = normal(batches, kv_heads, keys, width, seed=3), normal(batches, kv_heads, keys, value_width, seed=4)
    o, lse = compiled(program)(q, k, v, *arguments)
    expected_o, expected_lse = softmax_attention(q, k, v, visible, **options)
    # Probabilities are rounded to f16 before they meet V.
    np.testing.assert_allclose(o, expected_o, atol=4 * HALF)
    np.testing.assert_allclose(lse, expected_lse, atol=1e-4)
    return o


def attention(head_dim=64, **options):
    return programs.attention(head_dim, **{"dtype": "f16", "result_dtype": "f32", "lse": True} | options)


def positions(queries, keys):
    return np.arange(queries)[:, None] + keys - queries, np.arange(keys)


def test_plain_attention():
    check_attention(attention())


def test_causal_is_aligned_at_the_end():
    position, key = positions(100, 130)
    check_attention(attention(causal=True), key <= position)


@pytest.mark.parametrize("window", [(10, 5), (-1, 3), (7, -1), (-1, -1), (0, 0)])
def test_windows(window):
    position, key = positions(100, 130)
    visible = np.ones((100, 130), bool)
    if window[0] >= 0:
        visible &= key >= position - window[0]
    if window[1] >= 0:
        visible &= key <= position + window[1]
    check_attention(attention(window=window), visible)


def test_a_scale_of_the_caller():
    check_attention(attention(scale=True), arguments=(0.25,), scale=0.25)


def test_sinks_join_the_sums():
    sinks = np.array([0.5, -np.inf, 20, -20], np.float32)
    position, key = positions(100, 130)
    program = attention(sinks=True, scale=True, window=(3, -1), mask_mod=lambda b, h, q_idx, kv_idx: q_idx > 3)
    visible = (key >= position - 3) & (np.arange(100)[:, None] > 3)
    o = check_attention(program, visible, arguments=(0.25, sinks), scale=0.25, sinks=sinks)
    assert (o[:, :, :4] == 0).all()


@pytest.mark.parametrize("widths", [(96, 96), (192, 192), (256, 256), (192, 128), (64, 256)])
def test_head_dimensions(widths):
    program = attention(widths[0], value_dim=widths[1], causal=True)
    position, key = positions(100, 130)
    check_attention(program, key <= position, widths=widths)


def test_mask_mod():
    q_idx, kv_idx = np.indices((100, 130))
    visible = (q_idx % 7 >= kv_idx // 20) & (q_idx > 3)  # queries that see nothing
    program = attention(mask_mod=lambda b, h, q_idx, kv_idx: (q_idx % 7 >= kv_idx // 20) & (q_idx > 3))
    o = check_attention(program, visible)
    assert (o[:, :, :4] == 0).all()


def test_score_mod_with_captures():
    slopes, bias = normal(4, dtype=np.float32), normal(2, 4, 100, 130, seed=9)

    def score_mod(score, b, h, q_idx, kv_idx):
        return 20 * np.tanh(score / 20) + slopes[h] * (kv_idx - q_idx) * 0.01 + bias[b, h, q_idx, kv_idx]

    program = attention(score_mod=score_mod)
    assert list(program.captures) == ["slopes", "bias"]
    check_attention(program, score=score_mod)
    slopes *= -1
    check_attention(program, score=score_mod)


def test_score_and_mask_share_captures():
    ids = np.array([0] * 50 + [1] * 60 + [2] * 20, np.int32)
    same = ids[:100, None] == ids[None, :]

    def score_mod(score, b, h, q_idx, kv_idx):
        return score + 0.125 * ids[kv_idx]

    program = attention(score_mod=score_mod, mask_mod=lambda b, h, q_idx, kv_idx: ids[q_idx] == ids[kv_idx])
    assert list(program.captures) == ["ids"]
    check_attention(program, same, score=score_mod)


@pytest.mark.parametrize("block", [(64, 64), (128, 64), (64, 128), 128])
def test_a_pattern_makes_lists_and_mask(block):
    lengths, rows = [70, 90, 140], np.repeat(np.arange(3), [70, 90, 140])
    pattern = patterns.documents(lengths=lengths) & patterns.causal()
    lists = pattern.lists(300, block=block)
    visible = (rows[:, None] == rows) & (np.arange(300)[:, None] >= np.arange(300))
    program = attention(pattern=pattern, block=block)
    check_attention(program, visible, (1, 2, 1, 300, 300), arguments=(lists,))


def kinds_of_patterns(queries, keys, batches, heads):
    """Every kind of pattern in a kernel, with its mask: batches x heads x queries x keys."""
    q_idx, kv_idx = np.arange(queries)[:, None], np.arange(keys)
    b, h = np.arange(batches)[:, None, None, None], np.arange(heads)[:, None, None]
    lengths, vertical, slash = np.array([30, 170]), np.array([[3, 99], [150, -1]]), np.array([[0, 1], [5, 140]])
    ids = np.sort(np.random.default_rng(6).integers(0, 5, (batches, keys)), axis=-1)
    random_mask = np.random.default_rng(7).random((heads, queries, keys)) < 0.3
    in_vertical = np.array([np.isin(kv_idx, row[row >= 0]) for row in vertical])[:, None]
    in_slash = np.array([np.isin(q_idx - kv_idx, row) for row in slash])
    yield "causal", patterns.causal(keys - queries), kv_idx <= q_idx + keys - queries
    yield (
        "sliding_window",
        patterns.sliding_window(20, 3, sinks=2, offset=5),
        ((q_idx - 15 <= kv_idx) & (kv_idx <= q_idx + 8)) | (kv_idx < 2),
    )
    yield "prefix", patterns.prefix(lengths) | patterns.causal(), (kv_idx < lengths[b]) | (kv_idx <= q_idx)
    yield (
        "documents",
        ~patterns.documents(ids[:, :queries], key_ids=ids),
        ids[:, None, :queries, None] != ids[:, None, None, :],
    )
    yield "vertical_slash", patterns.vertical_slash(vertical, slash), in_vertical | in_slash
    yield "from_mask", patterns.from_mask(random_mask), random_mask
    yield (
        "predicate",
        patterns.predicate(
            lambda b, h, q_idx, kv_idx: (q_idx + b) // 3 >= kv_idx % (h + 5), heads=heads, batches=batches
        ),
        (q_idx + b) // 3 >= kv_idx % (h + 5),
    )


@pytest.mark.parametrize(
    "name", ["causal", "sliding_window", "prefix", "documents", "vertical_slash", "from_mask", "predicate"]
)
def test_every_kind_of_pattern_in_a_kernel(name):
    sizes = (2, 2, 1, 150, 200)
    ((pattern, mask),) = [each[1:] for each in kinds_of_patterns(150, 200, 2, 2) if each[0] == name]
    program = attention(pattern=pattern, block=64)
    lists = pattern.lists(150, 200, 64)
    check_attention(program, np.broadcast_to(mask, (2, 2, 150, 200)), sizes, arguments=(lists,))


def test_video_in_a_kernel():
    pattern = patterns.video((2, 8, 12), (1, 4, 4), (1, 1, 3))
    # A tile has 16 tokens, in 2 frames x 2 rows x 3 columns of tiles; the window has all columns of a frame's row.
    tile = np.arange(192) // 16
    visible = tile[:, None] // 3 == tile // 3
    check_attention(
        attention(pattern=pattern, block=64), visible, (1, 2, 2, 192, 192), arguments=(pattern.lists(192, block=64),)
    )


def test_full_blocks_have_no_mask():
    states = np.array([[1, 0, 2], [0, 2, 1]], np.uint8)
    lists = patterns.BlockLists.from_states(states[None, None], 128, 192, (64, 64))
    visited = np.kron(states, np.ones((64, 64), int))
    q_idx, kv_idx = np.indices((128, 192))
    visible = (visited == 1) | ((visited == 2) & ((q_idx + kv_idx) % 3 == 0))
    program = attention(pattern=True, block=64, mask_mod=lambda b, h, q_idx, kv_idx: (q_idx + kv_idx) % 3 == 0)
    check_attention(program, visible, (1, 1, 1, 128, 192), arguments=(lists,))


def test_lists_without_blocks():
    pattern = ~patterns.causal() & patterns.causal()
    lists = pattern.lists(130, 300, 64)
    assert lists.capacity == 0
    o = check_attention(attention(pattern=pattern, block=64), False, (1, 2, 2, 130, 300), arguments=(lists,))
    assert (o == 0).all()


def test_lists_of_one_kind():
    states = np.array([[[[2, 0], [0, 2]]]], np.uint8)
    lists = patterns.BlockLists.from_states(states, 128, 128, (64, 64))
    lists = dataclasses.replace(lists, full_starts=None, full_indices=None)
    visible = np.kron(states[0, 0] == 2, np.ones((64, 64), bool)) & (np.arange(128) % 2 == 0)
    program = attention(pattern=True, block=64, mask_mod=lambda b, h, q_idx, kv_idx: kv_idx % 2 == 0)
    check_attention(program, visible, (2, 2, 1, 128, 128), arguments=(lists,))


def test_a_pattern_of_blocks_needs_no_mask():
    scores = normal(3, 5)
    pattern = patterns.top_k(scores, 2, 64)
    program = attention(pattern=pattern, block=64)
    assert "mask" not in program.text()
    assert not program.captures
    chosen = scores >= np.sort(scores, axis=-1)[:, -2:-1]
    visible = np.kron(chosen, np.ones((64, 64), bool))[:130, :300]
    check_attention(program, visible, (2, 2, 1, 130, 300), arguments=(pattern.lists(130, 300, 64),))
    both = attention(pattern=pattern & patterns.causal(), block=64)
    assert not both.captures
    visible = visible & (np.arange(130)[:, None] >= np.arange(300))
    lists = (pattern & patterns.causal()).lists(130, 300, 64)
    check_attention(both, visible, (2, 2, 1, 130, 300), arguments=(lists,))
    assert list(attention(pattern=pattern, block=(64, 128)).captures) == ["mask_states"]


def test_lists_of_batches_and_heads():
    scores = normal(2, 4, 3, 5)
    pattern = patterns.top_k(scores, 2, 64)
    chosen = scores >= np.sort(scores, axis=-1)[..., -2:-1]
    visible = np.kron(chosen, np.ones((64, 64), bool))[..., :130, :300]
    lists = pattern.lists(130, 300, 64)
    assert (lists.batches, lists.heads) == (2, 4)
    check_attention(attention(pattern=pattern, block=64), visible, (2, 4, 2, 130, 300), arguments=(lists,))


def test_captures_that_have_the_names_of_operands_get_others():
    q, k = np.zeros(300, np.int32), np.zeros(300, np.int32)
    score, wave = np.zeros(300, np.float32), {"π": np.zeros(300, np.float32)}
    program = attention(
        mask_mod=lambda b, h, q_idx, kv_idx: q[q_idx] == k[kv_idx],
        score_mod=lambda s, b, h, q_idx, kv_idx: s + score[q_idx] + wave["π"][kv_idx],
    )
    assert list(program.captures) == ["score_1", "captured", "q_1", "k_1"]
    check_attention(program)


def test_200_closures_have_one_text():
    def program(length):
        ids = np.zeros(length, np.int32)
        return attention(mask_mod=lambda b, h, q_idx, kv_idx: ids[q_idx] == ids[kv_idx])

    assert len({program(length).text() for length in range(1, 201)}) == 1


def test_static_sizes_are_in_the_types():
    text = attention(batches=2, heads=4, kv_heads=2, queries=100, keys=130).text()
    assert "%q: tensor<2x4x100x64xf16>, %k: tensor<2x2x130x64xf16>" in text
    assert "lse: tensor<2x4x100xf32>" in text
    check_attention(attention(batches=2, heads=4, kv_heads=2, queries=100, keys=130))
    text = programs.spmm(16, m=48, n=5, k=32, x_layout="nk").text()
    assert "%w: !sparsec.bsr<48x32xbf16, block = 16x16>, %x: tensor<5x32xbf16>" in text
    assert "y: tensor<48x5xbf16>" in text
    text = programs.sddmm(16, m=48, n=32, k=7, a_layout="km").text()
    assert "%p: !sparsec.bsr<48x32xbf16, block = 16x16>, %a: tensor<7x48xbf16>, %b: tensor<32x7xbf16>" in text


@pytest.mark.parametrize("program", [programs.spmm(16, m=48), programs.sddmm(16, n=3), programs.attention(128, keys=5)])
def test_the_default_dtype_is_bf16(program):
    assert "f16>" not in program.text().replace("bf16>", "")
    compiled(program)


def test_the_name_of_a_program():
    program = programs.spmm(16, name="linear")
    assert program.name == "linear"
    assert program.text().startswith("sparsec.kernel @linear(")


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_the_functions_of_flex_attention():
    """The same functions and the same BlockMask give flex_attention's result in double precision."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sympy", reason="flex_attention of torch needs sympy")
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    generator = torch.Generator().manual_seed(5)
    ids = (torch.arange(300) // 70).to(torch.int32)
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])

    def mask_mod(b, h, q_idx, kv_idx):
        return (ids[q_idx] == ids[kv_idx]) & ((q_idx >= kv_idx) | (kv_idx < 4))

    def score_mod(score, b, h, q_idx, kv_idx):
        return torch.tanh(score / 20) * 20 + slopes[h] * (kv_idx - q_idx)

    q = torch.randn(2, 4, 300, 64, generator=generator).half()
    k, v = torch.randn(2, 2, 2, 300, 64, generator=generator).half()
    block_mask = flex.create_block_mask(mask_mod, None, None, 300, 300, device="cpu", BLOCK_SIZE=64)
    expected = flex.flex_attention(
        q.double(), k.double(), v.double(), score_mod=score_mod, block_mask=block_mask, enable_gqa=True
    )
    program = programs.attention(
        64, dtype="f16", pattern=True, block=64, mask_mod=mask_mod, score_mod=score_mod, result_dtype="f32"
    )
    o = compiled(program)(q, k, v, patterns.BlockLists.from_flex(block_mask))
    np.testing.assert_allclose(o.numpy(), expected.numpy(), atol=4 * HALF)


@pytest.mark.torch
def test_captures_on_a_device():
    torch = pytest.importorskip("torch")
    ids, slopes = np.zeros(300, np.int32), torch.ones(4)
    program = attention(score_mod=lambda s, b, h, q_idx, kv_idx: s + slopes[h] * ids[q_idx])
    moved = program.to("cpu")
    assert moved.text() == program.text()
    assert moved.captures["slopes"] is slopes
    assert isinstance(moved.captures["ids"], torch.Tensor)
    assert program.to("meta").captures["ids"].device.type == "meta"
    check_attention(moved)


def test_a_device_needs_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    ids = np.zeros(300, np.int32)
    program = attention(score_mod=lambda s, b, h, q_idx, kv_idx: s + ids[q_idx])
    with pytest.raises(InvalidArgument, match="device is 'cuda', but torch is not installed"):
        program.to("cuda")


# ---- Refusals

EXTRAS = {f"e{index}": programs.per_row() for index in range(17)}
CAPTURES = [np.zeros(4, np.float32) for _ in range(9)]


def sum_of_captures(score, b, h, q_idx, kv_idx):
    return sum((each[q_idx] for each in CAPTURES), score)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: programs.spmm(17), "block is 17, but expects one or two of 16, 32, .*, 512"),
        (lambda: programs.spmm(512), "block is 512, but expects at most 256 columns"),
        (lambda: programs.spmm((272, 16), transposed=True), r"block is \(272, 16\), but expects at most 256 rows"),
        (lambda: programs.sddmm((16, 272)), r"block is \(16, 272\), but expects at most 256 columns"),
        (lambda: programs.spmm((16, 16, 16)), r"block is \(16, 16, 16\), but expects"),
        (lambda: programs.spmm(16, "f32"), "dtype is 'f32', but expects bf16 or f16 or f8E4M3FN or f8E5M2"),
        (lambda: programs.spmm(16, x_dtype="f16"), "x_dtype is 'f16', but expects bf16"),
        (lambda: programs.spmm(16, "f8E5M2", x_dtype="bf16"), "x_dtype is 'bf16', but expects f8E4M3FN or f8E5M2"),
        (
            lambda: programs.spmm(16, "f8E5M2", result_dtype="f8E5M2"),
            "result_dtype is 'f8E5M2', but expects bf16 or f16 or f32",
        ),
        (lambda: programs.spmm(16, accumulation="slow"), "accumulation is 'slow', but expects two_level or fast"),
        (
            lambda: programs.spmm(16, accumulation="fast"),
            "accumulation is 'fast', but expects two_level with dtype bf16",
        ),
        (lambda: programs.spmm(16, scales=True), "scales is True, but expects False with dtype bf16"),
        (
            lambda: programs.spmm(16, "f8E5M2", scales=True, accumulation="fast"),
            "scales is True, but expects False with accumulation fast",
        ),
        (
            lambda: programs.spmm(
                16, "f8E5M2", scales=True, epilogue=lambda acc, s: acc, extras={"scales": programs.full()}
            ),
            "extras has the name 'scales'",
        ),
        (lambda: programs.spmm(16, result_dtype="i32"), "result_dtype is 'i32', but expects bf16 or f16 or f32"),
        (lambda: programs.spmm(16, x_layout="mn"), "x_layout is 'mn', but expects kn or nk"),
        (lambda: programs.spmm(16, y_layout="nk"), "y_layout is 'nk', but expects mn or nm"),
        (lambda: programs.spmm(16, m=-1), "m is -1, but expects an int from 0 to 2147418111"),
        (lambda: programs.spmm(16, n=2**31), "n is 2147483648, but expects an int"),
        (lambda: programs.spmm(16, k=1.5), "k is 1.5, but expects an int"),
        (lambda: programs.spmm(16, name="a b"), "name has the name 'a b', but expects an identifier"),
        (lambda: programs.spmm(16, name="a" * 64), "name has the name 'a{64}', but expects an identifier"),
        (lambda: programs.spmm(16, extras={"b": programs.per_row()}), "extras are given without an epilogue"),
        (lambda: programs.spmm(16, epilogue=lambda acc, b: acc, extras={"b": "f32"}), "extras has 'f32' as 'b', but"),
        (
            lambda: programs.spmm(16, epilogue=lambda acc, x: acc, extras={"x": programs.full()}),
            "extras has the name 'x'",
        ),
        (
            lambda: programs.spmm(16, epilogue=lambda acc, y: acc, extras={"y": programs.full()}),
            "extras has the name 'y'",
        ),
        (
            lambda: programs.spmm(16, epilogue=lambda *a: a[0], extras={"acc": programs.full()}),
            "extras has the name 'acc'",
        ),
        (
            lambda: programs.spmm(16, epilogue=lambda *a: a[0], extras={"ä": programs.full()}),
            "extras has the name 'ä', but",
        ),
        (lambda: programs.spmm(16, epilogue=lambda *a: a[0], extras=EXTRAS), "are 17 operands, but expect at most 16"),
        (lambda: programs.per_row("i32"), "dtype is 'i32', but expects bf16 or f16 or f32"),
        (lambda: programs.per_column("i32"), "dtype is 'i32', but expects bf16 or f16 or f32"),
        (lambda: programs.full("i32"), "dtype is 'i32', but expects bf16 or f16 or f32"),
        (lambda: programs.scalar("i32"), "dtype is 'i32', but expects bf16 or f16 or f32"),
        (
            lambda: programs.Extra("rows", "f32"),
            "broadcast is 'rows', but expects per_row or per_column or full or scalar",
        ),
        (
            lambda: programs.Extra("full", "f32", by_value=True),
            "by_value is True for f32 full, but expects an f32 scalar",
        ),
        (lambda: programs.Extra("scalar", "f16", by_value=True), "by_value is True for f16 scalar, but expects an f32"),
        (lambda: programs.sddmm(8), "block is 8, but expects"),
        (lambda: programs.sddmm(16, "f8E5M2"), "dtype is 'f8E5M2', but expects bf16 or f16$"),
        (lambda: programs.sddmm(16, result_dtype="f8"), "result_dtype is 'f8', but expects bf16 or f16 or f32"),
        (lambda: programs.sddmm(16, a_layout="kn"), "a_layout is 'kn', but expects mk or km"),
        (lambda: programs.sddmm(16, b_layout="km"), "b_layout is 'km', but expects nk or kn"),
        (lambda: programs.sddmm(16, k=-1), "k is -1, but expects an int from 0 to 2147418111"),
        (lambda: programs.attention(80), "head_dim is 80, but expects 64, 96, 128, 192 or 256"),
        (lambda: programs.attention(64, value_dim=80), "value_dim is 80, but expects 64, 96, 128, 192 or 256"),
        (
            lambda: programs.attention(128, value_dim=96),
            "head_dim and value_dim are 128 and 96, but expect equal ones or multiples of 64",
        ),
        (lambda: programs.attention(64, dtype="f8E5M2"), "dtype is 'f8E5M2', but expects bf16 or f16$"),
        (lambda: programs.attention(64, result_dtype="i32"), "result_dtype is 'i32', but expects"),
        (lambda: programs.attention(64, pattern="dense"), "pattern is a str, but expects a Pattern, True or False"),
        (lambda: programs.attention(64, pattern=True, block=32), "block is 32, but expects one or two of 64, 128"),
        (lambda: programs.attention(64, block=64), "block is given without a pattern"),
        (lambda: programs.attention(64, window=5), r"window is 5, but expects \(left, right\)"),
        (lambda: programs.attention(64, window=(1, -2)), "window is -2, but expects an int from -1 to 2147483647"),
        (lambda: programs.attention(64, window=(2**31, 0)), "window is 2147483648, but expects an int from -1"),
        (lambda: programs.attention(64, heads=3, kv_heads=2), "heads is 3, but expects a multiple of kv_heads, 2"),
        (lambda: programs.attention(64, heads=3, kv_heads=0), "heads is 3, but expects a multiple of kv_heads, 0"),
        (lambda: programs.attention(64, queries=-1), "queries is -1, but expects an int"),
        (lambda: programs.attention(64, score_mod=sum_of_captures), "capture 9 arrays, but expect at most 8"),
        (
            lambda: programs.attention(64, pattern=patterns.causal(), mask_mod=lambda b, h, q, k: q > k),
            r"mask_mod and a Pattern are given; write pattern=the pattern & predicate\(mask_mod\)",
        ),
    ],
)
def test_refusals_name_the_option(make, message):
    with pytest.raises(InvalidArgument, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: programs.spmm(16, epilogue=lambda acc, b: acc),
            r"epilogue has the arguments \(acc, b\), but expects \(acc\)",
        ),
        (lambda: programs.sddmm(16, epilogue=lambda acc: None), "epilogue returns a NoneType, but expects a number"),
        (
            lambda: programs.attention(64, score_mod=lambda s: s),
            r"score_mod has the arguments \(s\), but expects \(score, b",
        ),
        (lambda: programs.attention(64, mask_mod=lambda b, h, q, k: q), "mask_mod returns an integer"),
    ],
)
def test_refusals_of_functions_name_the_option(make, message):
    with pytest.raises(TracingError, match=message):
        make()


# ---- The document


def test_the_code_of_the_document(capsys):
    """Runs the Python blocks in order. A block of text behind one is what it prints."""
    document = Path(__file__).parents[2] / "docs" / "python-programs.md"
    blocks = re.findall(
        r"^```(python|text)\n(.*?)^```$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert [kind for kind, _ in blocks].count("python") > 5
    namespace = {"__name__": "python_programs"}
    for kind, block in blocks:
        if kind == "python":
            # Errors quote the line of the user's file.
            linecache.cache["example.py"] = (len(block), None, block.splitlines(keepends=True), "example.py")
            exec(compile(block, "example.py", "exec"), namespace)
        else:
            assert capsys.readouterr().out == block
    assert capsys.readouterr().out == ""
