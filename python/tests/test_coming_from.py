# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code of the pages for users of other libraries computes what those pages say, against torch in double."""

import math

import pytest

import conftest

torch = pytest.importorskip("torch")
pytest.importorskip("sympy", reason="flex_attention of torch needs sympy")
pytestmark = pytest.mark.torch

ROUNDING = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


def attention(q, k, v, visible, score=lambda s: s):
    """Attention and LSE in double, of tensors [tokens, heads, D]."""
    q, k, v = (t.double().transpose(0, 1) for t in (q, k, v))
    k, v = (t.repeat_interleave(q.shape[0] // t.shape[0], 0) for t in (k, v))
    scores = score(q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~visible, -torch.inf)
    return (scores.softmax(-1) @ v).transpose(0, 1), scores.logsumexp(-1)


def assert_close(o, exact, dtype):
    """Probabilities are rounded to the type, and values are those of N(0, 1)."""
    assert o.dtype == dtype
    assert o.shape == exact.shape
    assert ((o.double() - exact).abs() <= 8 * ROUNDING[dtype]).all()


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_attention():
    page = conftest.run_blocks("from-flexattention.md", "py")[-1]
    position = torch.arange(700)
    visible = (position[:, None] >= position) & (position[:, None] // 300 == position // 300)
    bias = page["slopes"].double()[:, None, None] * (position - position[:, None])
    q, k, v = (page[name][0].transpose(0, 1) for name in "qkv")
    exact = attention(q, k, v, visible, lambda s: s + bias)[0].transpose(0, 1)[None]
    assert (page["exact"] - exact).abs().max() < 1e-9
    for name in ("o", "compiled", "named"):
        assert_close(page[name], exact, torch.bfloat16)
    assert "700 queries x 700 keys" in str(page["picture"])
    assert "captured array 'ids' has dtype int16" in page["message"]


@pytest.mark.filterwarnings("ignore:Sparse BSR tensor support", "ignore:Sparse CSR tensor support")
def test_torch_bsr():
    page = conftest.run_blocks("from-torch-bsr.md", "py")[-1]
    weight, x = page["weight"].double(), page["x"].double()
    assert page["w"].values.data_ptr() == page["theirs"].values().data_ptr()
    assert (page["back"].to_dense() == page["weight"]).all()
    exact = x @ weight.T + page["bias"].double()
    for y, expected in (
        (page["y"], exact),
        (page["activated"], torch.nn.functional.gelu(exact)),
        (page["columns"], weight @ x.T),
    ):
        assert ((y.double() - expected).abs() <= ROUNDING[torch.bfloat16] * expected.abs() + 1e-4).all()
    assert page["gradient"].shape == page["layer"].values.shape
    assert page["gradient"].abs().sum() > 0
    assert page["message"] == "expects a torch.sparse_bsr tensor, but got torch.sparse_csr"


def test_flashinfer():
    request, sparse, ragged, decode = conftest.run_blocks("from-flashinfer.md", "py")

    position = torch.arange(100)[:, None] + 200
    visible = (torch.arange(300) <= position) & (torch.arange(300) >= position - 127)
    o, lse = attention(*(request[name] for name in "qkv"), visible, lambda s: 30 * torch.tanh(s / 30))
    assert_close(request["o"][0], o, torch.float16)
    assert (request["lse"][0] - lse).abs().max() < 1e-3

    visible = torch.from_numpy(sparse["blocks"]).repeat_interleave(64, 0).repeat_interleave(64, 1)
    assert_close(sparse["sparse"][0], attention(*(sparse[name] for name in "qkv"), visible)[0], torch.float16)

    for b in range(3):
        queries, keys = (slice(*ragged[name][b : b + 2].tolist()) for name in ("q_indptr", "kv_indptr"))
        q, k, v = ragged["q"][queries], ragged["k"][keys], ragged["v"][keys]
        visible = torch.arange(len(k)) <= torch.arange(len(q))[:, None] + len(k) - len(q)
        o, lse = attention(q, k, v, visible)
        assert_close(ragged["ragged"][queries], o, torch.float16)
        assert (ragged["ragged_lse"][:, queries] - lse).abs().max() < 1e-3

    for b, (count, last) in enumerate(zip(decode["counts"], decode["last"], strict=True)):
        pages = decode["indices"][decode["indptr"][b] :][:count].long()
        k, v = (each[pages].flatten(0, 1)[: (count - 1) * 16 + last] for each in decode["cache"])
        o, _ = attention(decode["q"][b, None], k, v, torch.ones(1, len(k)).bool())
        assert_close(decode["decoded"][b, None], o, torch.float16)
