# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over parts of the keys, merged, against a softmax over all keys in double precision."""

import pytest

from sparsec import InvalidArgument

torch = pytest.importorskip("torch")
st = pytest.importorskip("sparsec.torch")
merge_operator = pytest.importorskip("sparsec.torch.merge_operator")
pytestmark = pytest.mark.torch

UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}


def tensors(dtype=torch.float16, queries=70, keys=150):
    generator = torch.Generator().manual_seed(7)
    shapes = (2, 4, queries, 64), (2, 2, keys, 64), (2, 2, keys, 64)
    return [torch.randn(*shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


def exact(q, k, v, visible=None):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    s = q @ k.transpose(2, 3) / 8
    s = s if visible is None else s.masked_fill(~visible, -torch.inf)
    return s.softmax(3).nan_to_num() @ v, s.logsumexp(3)


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("dtype", UNIT)
def test_parts_of_keys(dtype, layout):
    """Three parts, with gradients of sums of o and lse with random factors."""
    given = tensors(dtype)
    doubles = [each.detach().double().requires_grad_() for each in given]
    q, k, v = given if layout == "bhsd" else [each.transpose(1, 2) for each in given]
    dimension = 2 if layout == "bhsd" else 1
    parts = [
        st.attention(q, k.narrow(dimension, first, count), v.narrow(dimension, first, count), layout=layout,
                     return_lse=True)
        for first, count in ((0, 64), (64, 1), (65, 85))
    ]  # fmt: skip
    o, lse = st.merge(*parts, layout=layout)
    assert (o.dtype, lse.dtype) == (dtype, torch.float32)
    o = o if layout == "bhsd" else o.transpose(1, 2)
    exact_o, exact_lse = exact(*doubles)
    assert (o.double() - exact_o).abs().max() <= 2 * UNIT[dtype] * exact_o.abs().max()
    assert (lse - exact_lse).abs().max() <= 1e-5
    generator = torch.Generator().manual_seed(8)
    factors = [torch.randn(each.shape, generator=generator).to(each.dtype) for each in (o, lse)]
    got = torch.autograd.grad((o, lse), given, factors)
    expected = torch.autograd.grad((exact_o, exact_lse), doubles, [each.double() for each in factors])
    for mine, other in zip(got, expected, strict=True):
        assert (mine.double() - other).abs().max() <= 4 * UNIT[dtype] * other.abs().max()


def test_rows_without_keys():
    """A causal part whose first queries see no key, and one in which no query sees any."""
    q, k, v = tensors(queries=150, keys=70)
    some, none = (
        st.attention(q, k, v, causal=True, return_lse=True),
        (torch.zeros_like(q), torch.full((2, 4, 150), -torch.inf)),
    )
    o, lse = st.merge(some, none)
    visible = torch.arange(70) <= torch.arange(150)[:, None] - 80
    exact_o, exact_lse = exact(*(each.detach().double() for each in (q, k, v)), visible)
    assert (o.double() - exact_o).abs().max() <= 2.0**-9
    assert (o[:, :, :80] == 0).all()
    assert lse[:, :, :80].isneginf().all()
    assert (lse[:, :, 80:] - exact_lse[:, :, 80:]).abs().max() <= 1e-5
    (o.float().sum() + lse.masked_fill(lse.isneginf(), 0).sum()).backward()
    assert all(each.grad.isfinite().all() for each in (q, k, v))


def test_large_scores_do_not_overflow():
    o, lse = torch.ones(1, 1, 2, 64), torch.tensor([[[500.0, -500.0]]])
    o, lse = st.merge((o, lse), (3 * o, lse))
    assert (o == 2).all()
    assert lse.tolist() == [[[pytest.approx(500.6931), pytest.approx(-499.3069)]]]


def test_packed_queries():
    q, k, v = (each.detach()[0].transpose(0, 1) for each in tensors())
    starts = torch.tensor([0, 40, 70], dtype=torch.int32)
    ends = torch.tensor([0, 100, 150], dtype=torch.int32)
    whole = st.attention(q, k, v, query_starts=starts, key_starts=ends, return_lse=True)
    halves = []
    for first, last in ((0, 30), (30, 50)):
        picked = torch.cat([torch.arange(first, last), torch.arange(100 + first, 100 + last)])
        part = torch.tensor([0, last - first, 2 * (last - first)], dtype=torch.int32)
        halves.append(st.attention(q, k[picked], v[picked], query_starts=starts, key_starts=part, return_lse=True))
    rest = torch.tensor([0, 50, 50], dtype=torch.int32)
    halves.append(st.attention(q, k[50:100], v[50:100], query_starts=starts, key_starts=rest, return_lse=True))
    o, lse = st.merge(*halves)
    assert (o.float() - whole[0].float()).abs().max() <= 2.0**-9
    assert (lse - whole[1]).abs().max() <= 1e-5


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_kernels_give_what_functions_give(dtype, layout, count, monkeypatch):
    """Without gradients kernels merge; with them functions of torch do. The results have the same order in memory."""
    generator = torch.Generator().manual_seed(5)
    parts = []
    for number in range(count):
        o = torch.randn(2, 3, 20, 24, generator=generator).to(dtype)
        lse = 3 * torch.randn(2, 3, 20, generator=generator)
        lse[0, :, number] = -torch.inf
        lse[1, 2] = -torch.inf  # of all parts
        o[lse.isneginf()] = 0
        parts.append((o.transpose(1, 2).contiguous() if layout == "bshd" else o, lse))
    calls = []
    kernel = merge_operator.merge
    monkeypatch.setattr(merge_operator, "merge", lambda *inputs: calls.append(inputs) or kernel(*inputs))
    o, lse = st.merge(*parts, layout=layout)
    assert len(calls) == count - 1
    with_gradient = [(o.clone().requires_grad_(), lse) for o, lse in parts]
    expected_o, expected_lse = st.merge(*with_gradient, layout=layout)
    assert len(calls) == count - 1
    assert (o.dtype, o.stride(), lse.dtype) == (dtype, expected_o.stride(), torch.float32)
    unit = UNIT.get(dtype, 2.0**-22)
    assert (o.double() - expected_o.double()).abs().max() <= 2 * unit * expected_o.abs().max()
    assert torch.equal(lse.isneginf(), expected_lse.isneginf())
    assert (lse - expected_lse).nan_to_num().abs().max() <= 1e-5


def test_parts_that_kernels_do_not_take():
    """Numbers of other types, rows whose elements are apart, one part, and rows without elements."""
    o, lse = torch.randn(1, 2, 3, 8, dtype=torch.float64), torch.zeros(1, 2, 3)
    merged_o, merged_lse = st.merge((o, lse), (o, lse))
    assert merged_o.dtype == torch.float64
    assert torch.allclose(merged_o, o)
    strided = torch.randn(1, 2, 3, 16)[..., ::2]
    merged_o, merged_lse = st.merge((strided, lse), (strided, lse.double()))
    assert torch.equal(merged_o, strided)
    assert torch.allclose(merged_lse, torch.full((1, 2, 3), 2.0).log())
    repeated = torch.randn(1, 2, 1, 8).expand(1, 2, 3, 8)
    assert torch.equal(st.merge((repeated, lse), (repeated, lse))[0], repeated)
    assert torch.equal(st.merge((strided, lse))[0], strided)
    assert st.merge((o[..., :0], lse), (o[..., :0], lse))[0].shape == (1, 2, 3, 0)


def test_compile_without_graph_breaks():
    parts = [st.attention(*(each.detach() for each in tensors()), window=window, return_lse=True)
             for window in ((5, 0), (0, 70))]  # fmt: skip
    compiled = torch.compile(lambda *parts: st.merge(*parts), fullgraph=True, backend="aot_eager")
    assert all(map(torch.equal, compiled(*parts), st.merge(*parts)))


@pytest.mark.parametrize(("shapes", "layout", "message"), [
    ([], "bhsd", "expects at least one part"),
    ([((2, 64), (2,))], "bhsd", r"part 0: expects o with 3 or 4 dimensions, but got shape \(2, 64\)"),
    ([((1, 2, 3, 64), (1, 3, 2))], "bhsd", r"part 0: expects lse of shape \(1, 2, 3\), but got \(1, 3, 2\)"),
    ([((1, 2, 3, 64), (1, 2, 3))], "bshd", r"part 0: expects lse of shape \(1, 3, 2\), but got \(1, 2, 3\)"),
    ([((5, 2, 64), (5, 2))], "bhsd", r"part 0: expects lse of shape \(2, 5\)"),
    ([((1, 2, 3, 64), (1, 2, 3)), ((1, 2, 4, 64), (1, 2, 4))], "bhsd",
     r"part 1: expects o of shape \(1, 2, 3, 64\), as part 0, but got \(1, 2, 4, 64\)"),
    ([((1, 2, 3, 64), (1, 2, 3))], "sbhd", "layout is 'sbhd'"),
])  # fmt: skip
def test_bad_parts_are_refused(shapes, layout, message):
    parts = [(torch.zeros(o), torch.zeros(lse)) for o, lse in shapes]
    with pytest.raises(InvalidArgument, match=message):
        st.merge(*parts, layout=layout)
