# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of attention whose sequences have sizes of their own: their text, and results on the host."""

import numpy as np
import pytest

import sparsec
from conftest import dense, f64
from sparsec import patterns, programs

SINKS = np.array([0.5, -np.inf, 3, -20], np.float32)


def attention(**options):
    return programs.attention(64, **{"dtype": "f16", "result_dtype": "f32", "lse": True} | options)


def causal_attention(q, k, v, first):
    """O and LSE in float64 of one sequence with SINKS, whose keys before `first` are hidden. All see some key."""
    k, v = (np.repeat(f64(each), 2, axis=0) for each in (k, v))
    position = np.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
    key = np.arange(k.shape[1])
    weights = np.exp(f64(q) @ k.swapaxes(1, 2) / 8) * ((key <= position) & (key >= first))
    sums = weights.sum(axis=-1) + np.exp(f64(SINKS))[:, None]
    return weights @ v / sums[..., None], np.log(sums)


def test_the_text_of_sequences():
    program = attention(sinks=True, query_starts=True, key_starts=True, key_lengths=True, causal=True, lse=False)
    tensor = "tensor<1x?x?x64xf16>"
    types = f"{tensor}, {tensor}, {tensor}, tensor<?xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>"
    assert program.text() == (
        f"sparsec.kernel @attention(%q: {tensor}, %k: {tensor}, %v: {tensor}, %sinks: tensor<?xf32>, "
        "%query_starts: tensor<?xi32>, %key_starts: tensor<?xi32>, %key_lengths: tensor<?xi32>)\n"
        "    -> (o: tensor<1x?x?x64xf32>) {\n"
        "  %o = sparsec.attention %q, %k, %v sinks(%sinks) query_starts(%query_starts) key_starts(%key_starts) "
        f"key_lengths(%key_lengths) causal : ({types}) -> (tensor<1x?x?x64xf32>)\n"
        "  sparsec.return %o : tensor<1x?x?x64xf32>\n"
        "}\n"
    )


def test_static_sizes_are_in_the_types():
    text = attention(key_lengths=True, page_rows=32, value_dim=128, batches=3, heads=4, kv_heads=2).text()
    assert "%q: tensor<3x4x?x64xf16>, %k: tensor<?x2x32x64xf16>, %v: tensor<?x2x32x128xf16>" in text
    assert "%key_lengths: tensor<3xi32>, %page_table: tensor<3x?xi32>)\n    -> (o: tensor<3x4x?x128xf32>" in text
    text = attention(query_starts=True, batches=3, heads=4, queries=100, keys=130).text()
    assert "%q: tensor<1x4x100x64xf16>, %k: tensor<3x?x130x64xf16>" in text
    assert "%query_starts: tensor<4xi32>)\n    -> (o: tensor<1x4x100x64xf32>, lse: tensor<1x4x100xf32>)" in text


@pytest.mark.parametrize("sizes", [{}, {"batches": 2, "heads": 4, "kv_heads": 2, "queries": 31}])
def test_packed_queries_of_paged_keys(sizes):
    """Keys of the second sequence are rows of pages 2 and 0. A row behind the sequences is not written."""
    ids = np.array([0, 1], np.int32)
    program = attention(
        sinks=True,
        query_starts=True,
        key_lengths=True,
        page_rows=16,
        causal=True,
        mask_mod=lambda b, h, q_idx, kv_idx: kv_idx >= ids[b],
        **sizes,
    )
    kernel = sparsec.compile(program, "host")["attention"]
    q, (k, v) = dense((1, 4, 31, 64)), dense((2, 3, 2, 16, 64), seed=3)
    starts, lengths, table = (np.array(each, np.int32) for each in ([0, 10, 30], [16, 21], [[1, -1], [2, 0]]))
    o, lse = np.full((1, 4, 31, 64), 7, np.float32), np.full((1, 4, 31), 7, np.float32)
    kernel(q, k, v, SINKS, starts, lengths, table, out=(o, lse))
    assert (o[:, :, 30] == 7).all()
    assert (lse[:, :, 30] == 7).all()
    for b, pages in enumerate(([1], [2, 0])):
        rows = slice(starts[b], starts[b + 1])
        keys, values = (np.concatenate(each[pages], axis=1)[:, : lengths[b]] for each in (k, v))
        expected_o, expected_lse = causal_attention(q[0, :, rows], keys, values, b)
        np.testing.assert_allclose(o[0, :, rows], expected_o, atol=2.0**-9)  # probabilities are f16 before they meet V
        np.testing.assert_allclose(lse[0, :, rows], expected_lse, atol=1e-4)


def test_one_plan_serves_all_sizes():
    program = attention(query_starts=True, key_starts=True, pattern=True, block=64)
    kernel = sparsec.compile(program, "host")["attention"]
    lists = patterns.causal().lists(128, block=64)
    for tokens in (100, 130, 200):
        q, (k, v) = dense((1, 4, tokens, 64)), dense((2, 1, 2, tokens, 64))
        starts = np.array([0, 30, tokens], np.int32)
        kernel(q, k, v, lists, starts, starts)
    assert len(kernel._plans[lists]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key_lengths": True, "page_rows": 48}, "page_rows is 48, but expects 16, 32, 64, 128 or 256"),
        ({"page_rows": 16}, "page_rows is 16, but expects None without key_lengths"),
        ({"key_starts": True, "key_lengths": True, "page_rows": 16}, "page_rows is 16, but expects None with key_star"),
        ({"key_lengths": True, "page_rows": 16, "keys": 64}, "keys is 64, but expects None with page_rows"),
    ],
)
def test_refusals_name_the_option(options, message):
    with pytest.raises(sparsec.InvalidArgument, match=message):
        programs.attention(64, **options)
