# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of sequences with sizes of their own on torch CPU tensors, against torch in double, one by one."""

import pytest

import sparsec
from sparsec import patterns

torch = pytest.importorskip("torch")
st = pytest.importorskip("sparsec.torch")
operator = pytest.importorskip("sparsec.torch.attention_operator")
dynamo = pytest.importorskip("torch._dynamo.testing")
pytestmark = [
    pytest.mark.torch,
    # torch.compile makes one for its own use.
    pytest.mark.filterwarnings("ignore:.*Function'> should not be instantiated:DeprecationWarning"),
]

D, HEADS, KV_HEADS = 64, 4, 2
UNIT = 2.0**-11  # of f16
QUERIES, KEYS = [100, 0, 37, 200], [130, 20, 37, 70]


def i32(*numbers):
    return torch.tensor(numbers, dtype=torch.int32)


def starts_of(lengths):
    return torch.nn.functional.pad(torch.tensor(lengths).cumsum(0), (1, 0)).int()


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).half()


def one_by_one(queries, keys=KEYS, heads=HEADS, seed=0):
    """q [H, Sq, D], and k and v [Hkv, Skv, D] of each sequence, which have sizes of their own."""
    return [
        (normal(heads, n, D, seed=seed + 3 * b), *(normal(KV_HEADS, m, D, seed=seed + 3 * b + i) for i in (1, 2)))
        for b, (n, m) in enumerate(zip(queries, keys, strict=True))
    ]


def exact(q, k, v, visible=None, score=None, sinks=None):
    """O and LSE of one sequence in double; visible(query, key) and score(scores, head, query, key) of positions."""
    q, k, v = (each.double() for each in (q, k, v))
    k, v = (each.repeat_interleave(q.shape[0] // k.shape[0], 0) for each in (k, v))
    query, key = torch.arange(q.shape[1])[:, None], torch.arange(k.shape[1])
    scores = q @ k.mT / D**0.5
    if score is not None:
        scores = score(scores, torch.arange(q.shape[0])[:, None, None], query, key)
    if visible is not None:
        scores = scores.masked_fill(~visible(query, key), -torch.inf)
    lse = scores.logsumexp(-1)
    if sinks is not None:
        lse = torch.logaddexp(lse, sinks.double()[:, None])
    return (scores - lse[..., None]).exp().nan_to_num() @ v, lse


def causal_of(sequence):
    """The last query and the last key have the same position."""
    offset = sequence[1].shape[1] - sequence[0].shape[1]
    return lambda query, key: key <= query + offset


def assert_sequence(o, lse, expected):
    (exact_o, exact_lse), visible = expected, expected[1].isfinite()
    assert o.shape == exact_o.shape
    assert ((o.double() - exact_o).abs() <= UNIT * (2 * exact_o.abs() + 2)).all()
    assert torch.equal(visible, lse.isfinite())
    assert ((lse - exact_lse).abs() <= 2e-6 * (8 + exact_lse.abs()))[visible].all()


def packed(sequences, place, room=0):
    """[T, heads, D] of all sequences, with `room` rows of NaN behind them."""
    parts = [each[place].transpose(0, 1) for each in sequences]
    return torch.cat([*parts, torch.full((room, *parts[0].shape[1:]), torch.nan, dtype=torch.half)])


def assert_packed(results, sequences, starts, **options):
    """Results [T, H, D] and [H, T] are those of each sequence. Each of `options` may be a function of the sequence."""
    o, lse = results
    for sequence, first, last in zip(sequences, starts[:-1], starts[1:], strict=True):
        own = {name: each(sequence) if name == "visible" else each for name, each in options.items()}
        assert_sequence(o[first:last].transpose(0, 1), lse[:, first:last], exact(*sequence, **own))


def paged(sequences, rows, layout, seed=0):
    """Pages of k and v in a shuffled order, with NaN where no key is; the lengths; and the table, -1 behind them."""
    lengths = [each[1].shape[1] for each in sequences]
    counts = [-(-length // rows) for length in lengths]
    numbers = torch.randperm(sum(counts) + 2, generator=torch.Generator().manual_seed(seed)).tolist()
    table = torch.full((len(lengths), max(counts) + 1), -1, dtype=torch.int32)
    k, v = torch.full((2, len(numbers), KV_HEADS, rows, D), torch.nan, dtype=torch.half)
    for b, (sequence, length) in enumerate(zip(sequences, lengths, strict=True)):
        for place, first in enumerate(range(0, length, rows)):
            table[b, place] = page = numbers.pop()
            for pages, own in ((k, sequence[1]), (v, sequence[2])):
                part = own[:, first : first + rows]
                pages[page, :, : part.shape[1]] = part
    if layout == "bshd":
        k, v = k.transpose(1, 2).contiguous(), v.transpose(1, 2).contiguous()
    return k, v, i32(*lengths), table


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("form", ["thd", "bhsd", "bshd"])
def test_packed_documents(form, causal):
    sequences = one_by_one(QUERIES, QUERIES)
    starts = starts_of(QUERIES)
    q, k, v = (packed(sequences, place) for place in range(3))
    layout = "bshd" if form == "bshd" else "bhsd"
    if form != "thd":
        q, k, v = (each[None] if form == "bshd" else each.transpose(0, 1)[None] for each in (q, k, v))
    o, lse = st.attention(
        q, k, v, query_starts=starts, key_starts=starts, causal=causal, layout=layout, return_lse=True
    )
    assert (o.shape, o.stride()[1:]) == (q.shape, q.stride()[1:])
    if form != "thd":
        o, lse = o[0] if form == "bshd" else o[0].transpose(0, 1), lse[0]
    for (qs, ks, vs), first, last in zip(sequences, starts[:-1], starts[1:], strict=True):
        expected = torch.nn.functional.scaled_dot_product_attention(
            *(each.double() for each in (qs, ks, vs)), is_causal=causal, enable_gqa=True
        )
        visible = (lambda query, key: key <= query) if causal else None
        assert_sequence(o[first:last].transpose(0, 1), lse[:, first:last], (expected, exact(qs, ks, vs, visible)[1]))


def test_queries_and_keys_have_starts_of_their_own():
    """There is room behind the last sequence of each, also in results, and the operands may be in two forms."""
    sequences = one_by_one(QUERIES)
    q, k, v = packed(sequences, 0, 5), packed(sequences, 1, 9), packed(sequences, 2, 9)[None].transpose(1, 2)
    starts = {"query_starts": starts_of(QUERIES), "key_starts": starts_of(KEYS)}
    for length in (None, 30):
        lengths = None if length is None else i32(*KEYS).clamp(max=length)
        results = st.attention(q, k, v, **starts, key_lengths=lengths, causal=True, return_lse=True)
        own = [(qs, ks[:, :length], vs[:, :length]) for qs, ks, vs in sequences]
        assert_packed(results, own, starts["query_starts"], visible=causal_of)


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_lengths_of_a_padded_cache(layout):
    """Lengths are read in each call, and what is behind them is not, whatever it is."""
    sequences = one_by_one([20] * 4)
    q = torch.stack([each[0] for each in sequences])
    k, v = torch.full((2, 4, KV_HEADS, 140, D), torch.nan, dtype=torch.half)
    for b, (_, ks, vs) in enumerate(sequences):
        k[b, :, : ks.shape[1]], v[b, :, : vs.shape[1]] = ks, vs
    if layout == "bshd":
        q, k, v = (each.transpose(1, 2).contiguous() for each in (q, k, v))
    lengths = i32(*KEYS)
    for _ in range(2):
        o, lse = st.attention(q, k, v, key_lengths=lengths, causal=True, layout=layout, return_lse=True)
        for b, (qs, ks, vs) in enumerate(sequences):
            own = qs, ks[:, : lengths[b]], vs[:, : lengths[b]]
            assert_sequence(o[b].transpose(0, 1) if layout == "bshd" else o[b], lse[b], exact(*own, causal_of(own)))
        lengths.copy_(i32(0, 20, 1, 70))


@pytest.mark.parametrize("rows", [16, 64, 256])
@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("causal", [False, True])
def test_paged_keys(rows, layout, causal):
    sequences = one_by_one([15] * 4)
    k, v, lengths, table = paged(sequences, rows, layout)
    q = torch.stack([each[0].transpose(0, 1) if layout == "bshd" else each[0] for each in sequences])
    o, lse = st.attention(q, k, v, key_lengths=lengths, page_table=table, causal=causal, layout=layout, return_lse=True)
    for b, own in enumerate(sequences):
        part = o[b].transpose(0, 1) if layout == "bshd" else o[b]
        assert_sequence(part, lse[b], exact(*own, causal_of(own) if causal else None))


def test_packed_queries_and_paged_keys():
    sequences = one_by_one(QUERIES)
    k, v, lengths, table = paged(sequences, 32, "bshd")
    starts = starts_of(QUERIES)
    results = st.attention(
        packed(sequences, 0), k, v, query_starts=starts, key_lengths=lengths, page_table=table, causal=True,
        layout="bshd", return_lse=True,
    )  # fmt: skip
    assert_packed(results, sequences, starts, visible=causal_of)


def near(b, h, q_idx, kv_idx):
    return (q_idx >= kv_idx) & (q_idx - kv_idx < 90)


def far(b, h, q_idx, kv_idx):
    return (q_idx + kv_idx) % 3 != 1


SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])


def alibi(score, b, h, q_idx, kv_idx):
    return score + SLOPES[h] * (kv_idx - q_idx)


@pytest.mark.parametrize("has_lists", [False, True])
@pytest.mark.parametrize("is_paged", [False, True])
def test_functions_patterns_and_sinks_count_within_the_sequence(has_lists, is_paged):
    sequences, starts, sinks = one_by_one(QUERIES), starts_of(QUERIES), torch.tensor([0.5, 3, -1, 20])
    if is_paged:
        k, v, lengths, table = paged(sequences, 64, "bhsd")
        keys, most = {"key_lengths": lengths, "page_table": table}, table.shape[1] * 64
    else:
        k, v = packed(sequences, 1), packed(sequences, 2)
        keys, most = {"key_starts": starts_of(KEYS)}, 130
    q = packed(sequences, 0)
    options = {"query_starts": starts, **keys, "score_mod": alibi, "sinks": sinks, "return_lse": True}
    expected = {
        "visible": lambda own: lambda query, key: near(0, 0, query, key) & far(0, 0, query, key),
        "score": lambda scores, head, query, key: scores + SLOPES[head] * (key - query),
        "sinks": sinks,
    }
    if not has_lists:
        results = st.attention(q, k, v, mask_mod=lambda *place: near(*place) & far(*place), **options)
        assert_packed(results, sequences, starts, **expected)
        return
    pattern = patterns.sliding_window(89) & patterns.predicate(far)
    assert_packed(st.attention(q, k, v, pattern=pattern, block=64, **options), sequences, starts, **expected)
    # Lists of the longest sequence are enough, where sequences are packed.
    lists = pattern.lists(200, most, block=64, device="cpu")
    results = st.attention(q, k, v, pattern=lists, mask_mod=pattern.mask_mod((64, 64)), **options)
    assert_packed(results, sequences, starts, **expected)


# ---- One query for each sequence -------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("kind", ["whole", "lengths", "pages"])
def test_query_heads_of_a_group_share_a_tile(kind, layout, monkeypatch):
    shapes = []
    call = operator._prepare
    monkeypatch.setattr(operator, "_prepare", lambda q, *others: shapes.append(tuple(q.shape)) or call(q, *others))
    sequences = one_by_one([1] * 4, [70] * 4 if kind == "whole" else [130, 1, 37, 70], heads=8)
    lengths, table = None, None
    if kind == "pages":
        k, v, lengths, table = paged(sequences, 16, layout)
    else:
        k, v = torch.full((2, 4, KV_HEADS, 70 if kind == "whole" else 140, D), torch.nan, dtype=torch.half)
        for b, (_, ks, vs) in enumerate(sequences):
            k[b, :, : ks.shape[1]], v[b, :, : vs.shape[1]] = ks, vs
        k, v = (each.transpose(1, 2) if layout == "bshd" else each for each in (k, v))
        lengths = None if kind == "whole" else i32(130, 1, 37, 70)
    # A part of a larger tensor, as that of a fused projection.
    q = torch.stack([torch.cat([each[0], each[0]]) for each in sequences])[:, :8]
    q = q.transpose(1, 2) if layout == "bshd" else q
    options = {"key_lengths": lengths, "page_table": table, "layout": layout, "return_lse": True}
    shared = [st.attention(q, k, v, causal=causal, **options) for causal in (False, True)]
    apart = st.attention(q, k, v, window=(-1, 0), **options)
    assert shapes == [(4, KV_HEADS, 4, D)] * 2 + [(4, 8, 1, D)]
    for o, lse in shared:
        assert (o.shape, lse.shape) == (apart[0].shape, apart[1].shape)
        assert o.is_contiguous()
        assert (o - apart[0]).abs().max() <= 4 * UNIT
        assert (lse - apart[1]).abs().max() <= 2e-5
        for b, own in enumerate(sequences):
            assert_sequence(o[b].transpose(0, 1) if layout == "bshd" else o[b], lse[b], exact(*own))


@pytest.mark.parametrize("change", [
    {"score_mod": alibi}, {"mask_mod": far}, {"pattern": patterns.prefix(9)}, {"sinks": SLOPES}, {"window": (3, -1)},
])  # fmt: skip
def test_heads_that_differ_are_apart(change, monkeypatch):
    shapes = []
    call = operator._prepare
    monkeypatch.setattr(operator, "_prepare", lambda q, *others: shapes.append(tuple(q.shape)) or call(q, *others))
    q, (k, v) = normal(2, HEADS, 1, D), normal(2, 2, KV_HEADS, 70, D)
    st.attention(q, k, v, **change)
    st.attention(q[:, :1].expand(2, HEADS, 1, D), k, v)  # whose heads are the same memory
    st.attention(q.squeeze(2), k[0].transpose(0, 1), v[0].transpose(0, 1), query_starts=i32(0, 1, 2),
                 key_starts=i32(0, 30, 70))  # fmt: skip
    assert shapes == [(2, HEADS, 1, D), (2, HEADS, 1, D), (1, HEADS, 2, D)]


# ---- Calls -----------------------------------------------------------------------------------------------------------


def test_one_kernel_serves_all_sizes():
    lists = patterns.causal().lists(256, block=64, device="cpu")
    before = sparsec.torch.library.kernel_of.cache_info().misses
    for size in (100, 130, 256):
        q, k, v = normal(size, HEADS, D), normal(size, KV_HEADS, D, seed=1), normal(size, KV_HEADS, D, seed=2)
        starts = i32(0, size // 3, size)
        o = st.attention(q, k, v, query_starts=starts, key_starts=starts, pattern=lists, block=64)
        assert o.isfinite().all()
    assert sparsec.torch.library.kernel_of.cache_info().misses == before + 1
    assert len(operator._patterns[id(lists.full_starts)].prepared) == 1


def test_compile_serves_all_numbers_of_tokens():
    torch._dynamo.reset()
    counter = dynamo.CompileCounterWithBackend("aot_eager")

    @torch.compile(fullgraph=True, backend=counter, dynamic=True)
    def attend(q, k, v, starts, lengths, table):
        o, lse = st.attention(2 * q, k, v, query_starts=starts, key_lengths=lengths, page_table=table, causal=True,
                              layout="bshd", return_lse=True)  # fmt: skip
        return o + 0, lse + 0

    for seed, queries in enumerate((QUERIES, [3, 30, 37, 4], [130, 20, 38, 2])):
        sequences, starts = one_by_one(queries, seed=seed), starts_of(queries)
        k, v, lengths, table = paged(sequences, 16, "bshd")
        results = attend(packed(sequences, 0), k, v, starts, lengths, table)
        assert_packed(results, [(2 * q, k, v) for q, k, v in sequences], starts, visible=causal_of)
    assert counter.frame_count == 1


def test_fake_tensors():
    with torch._subclasses.FakeTensorMode():
        q, k, v = torch.empty(7, 4, D).half(), *torch.empty(2, 9, 2, 16, 128).half()
        k = torch.empty(9, 2, 16, D).half()
        numbers = {"key_lengths": torch.empty(3).int(), "page_table": torch.empty(3, 5).int()}
        o, lse = st.attention(q, k, v, query_starts=torch.empty(4).int(), **numbers, return_lse=True)
        assert (o.shape, o.dtype, lse.shape, lse.dtype) == ((7, 4, 128), torch.half, (4, 7), torch.float32)
        o, lse = st.attention(torch.empty(3, 4, 1, D).half(), k, v, **numbers, return_lse=True)
        assert (o.shape, lse.shape) == ((3, 4, 1, 128), (3, 4, 1))


def test_a_gradient_is_refused_and_not_dropped():
    q, (k, v) = normal(3, HEADS, 1, D), normal(2, 3, KV_HEADS, 70, D)
    o = st.attention(q.requires_grad_(), k, v, key_lengths=i32(70, 7, 0))
    with pytest.raises(NotImplementedError, match="attention has no gradient with key_lengths$"):
        o.sum().backward()


PAGES = normal(9, KV_HEADS, 16, D)
TABLE = torch.zeros(2, 5, dtype=torch.int32)


@pytest.mark.parametrize(("change", "message"), [
    ({"key_lengths": [70, 70]}, "key_lengths: expects a tensor, but got list"),
    ({"key_lengths": torch.tensor([70, 70])}, r"key_lengths: expects int32, but got int64; pass its .int\(\)$"),
    ({"key_lengths": torch.tensor([70.0, 70])}, "key_lengths: expects int32, but got float32$"),
    ({"key_lengths": i32(70, 70)[None]}, r"key_lengths: expects 1 dimension, but got shape \(1, 2\)"),
    ({"key_lengths": i32(70, 70, 70)}, "argument 3 'key_lengths': expects size 0 to be 2 .*, but got 3"),
    ({"key_lengths": i32(70, 71)}, "'key_lengths': expects lengths of 0 to 70, but element 1 is 71"),
    ({"query_starts": i32(0, 30)}, r"argument 0 'q': expects size 0 to be 1.*, but got 2"),
    ({"key_starts": i32(0, 30, 70)}, r"argument 1 'k': expects size 0 to be 1.*, but got 2"),
    ({"q": normal(60, 4, D)}, r"q: expects 4 dimensions, but got shape \(60, 4, 64\)"),
    ({"k": normal(60, 2, D), "query_starts": i32(0, 30)}, r"k: expects 4 dimensions, but got shape \(60, 2, 64\)"),
    ({"v": normal(60, D), "key_starts": i32(0, 60)}, r"v: expects 3 or 4 dimensions, but got shape \(60, 64\)"),
    ({"q": normal(60, 4, D), "query_starts": i32(0, 20, 61)},
     "'query_starts': expects starts of 20 to 60 from element 2 on, but it is 61"),
    ({"q": normal(60, 4, D), "query_starts": i32(0, 60)}, "'k': expects size 0 to be 1"),
    ({"k": PAGES, "v": PAGES, "page_table": TABLE}, "page_table is given without key_lengths"),
    ({"k": PAGES, "v": PAGES, "page_table": TABLE, "key_lengths": i32(9, 9), "key_starts": i32(0, 9, 18)},
     "page_table and key_starts are given, but keys are paged or packed"),
    ({"k": PAGES, "v": PAGES, "page_table": TABLE[0], "key_lengths": i32(9, 9)},
     r"page_table: expects 2 dimensions, but got shape \(5,\)"),
    ({"k": PAGES, "v": PAGES, "page_table": TABLE, "key_lengths": i32(9, 9), "layout": "bshd"},
     "page_rows is 2, but expects 16, 32, 64, 128 or 256"),
    ({"k": PAGES, "v": normal(9, 2, 32, D), "page_table": TABLE, "key_lengths": i32(9, 9)},
     "'v': expects size 2 to be 16, but got 32"),
    ({"k": PAGES, "v": PAGES, "page_table": TABLE - 1, "key_lengths": i32(9, 9)},
     r"'page_table': expects page numbers of 0 to 8, but element \(0, 0\) is -1"),
    ({"pattern": patterns.causal().lists(30, 60, block=64, device="cpu"), "key_lengths": i32(9, 9)},
     "pattern: expects lists of 30 queries and 70 keys, but got those of 30 and 60"),
])  # fmt: skip
def test_refusals(change, message):
    tensors = {"q": normal(2, HEADS, 30, D), "k": normal(2, KV_HEADS, 70, D), "v": normal(2, KV_HEADS, 70, D)}
    with pytest.raises(sparsec.InvalidArgument, match=message):
        st.attention(**tensors | change)
