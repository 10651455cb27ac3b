# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on torch CPU tensors, against FlexAttention in double precision."""

import dataclasses
import gc

import numpy as np
import pytest

import sparsec
from sparsec import patterns

torch = pytest.importorskip("torch")
pytest.importorskip("sympy", reason="flex_attention of torch needs sympy")
flex = pytest.importorskip("torch.nn.attention.flex_attention")
st = pytest.importorskip("sparsec.torch")
operator = pytest.importorskip("sparsec.torch.attention_operator")
module = pytest.importorskip("sparsec.torch.attention")
dynamo = pytest.importorskip("torch._dynamo.testing")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile"),
    # torch.compile makes one for its own use.
    pytest.mark.filterwarnings("ignore:.*Function'> should not be instantiated:DeprecationWarning"),
    # torch's forward mode does this.
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning"),
]

D = 64
UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
DOCUMENTS = torch.tensor([[0] * 90 + [1] * 110 + [2] * 100, [0] * 250 + [1] * 50], dtype=torch.int32)
WIDE_DOCUMENTS = DOCUMENTS.long()
TABLE = torch.rand(2, 300, 300, generator=torch.Generator().manual_seed(8)) < 0.5
SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
BIAS = torch.randn(4, 300, 300, generator=torch.Generator().manual_seed(9)).bfloat16()


def tensors(queries=300, keys=300, heads=4, kv_heads=4, dtype=torch.float16, batches=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = (batches, heads, queries, D), (batches, kv_heads, keys, D), (batches, kv_heads, keys, D)
    return [torch.randn(*shape, generator=generator).to(dtype) for shape in shapes]


def assert_attention(results, expected, dtype=torch.float16):
    """Within rounding of o and of probabilities, whose sum is 1, times values of N(0, 1), and f32 sums of scores."""
    (o, lse), (exact, exact_lse) = results, expected
    visible = exact_lse > -1e30  # FlexAttention in double precision has another number for no keys
    assert (o.dtype, o.shape) == (dtype, exact.shape)
    assert ((o.double() - exact).abs() <= UNIT[dtype] * (2 * exact.abs() + 2)).all()
    assert torch.equal(visible, lse.isfinite())
    assert ((lse - exact_lse).abs() <= 2e-6 * (8 + exact_lse.abs()))[visible].all()


def flex_of(q, k, v, score_mod=None, block_mask=None, **options):
    o, others = flex.flex_attention(
        *(each.detach().double() for each in (q, k, v)), score_mod=score_mod, block_mask=block_mask,
        enable_gqa=q.shape[1] != k.shape[1], return_aux=flex.AuxRequest(lse=True), **options,
    )  # fmt: skip
    return o, others.lse


def window_and_sink(b, h, q_idx, kv_idx):
    return (q_idx >= kv_idx) & ((q_idx - kv_idx < 100) | (kv_idx < 4))


def documents(b, h, q_idx, kv_idx):
    return DOCUMENTS[b, q_idx] == DOCUMENTS[b, kv_idx]


def alibi(score, b, h, q_idx, kv_idx):
    return score + SLOPES[h] * (kv_idx - q_idx)


def softcap(score, b, h, q_idx, kv_idx):
    return 20 * torch.tanh(score / 20)


def biased(score, b, h, q_idx, kv_idx):
    return score + BIAS[h, q_idx, kv_idx]


def wide_documents(b, h, q_idx, kv_idx):
    return WIDE_DOCUMENTS[b, q_idx] == WIDE_DOCUMENTS[b, kv_idx]


def table(b, h, q_idx, kv_idx):
    return TABLE[b, q_idx, kv_idx] | (q_idx == kv_idx)


CASES = {
    "window and sink": (window_and_sink, None, {}),
    "documents with shared keys": (documents, None, {"kv_heads": 2}),
    "documents of int64": (wide_documents, None, {}),
    "table of booleans": (table, None, {}),
    "both": (flex.and_masks(window_and_sink, documents), alibi, {}),
    "soft cap": (window_and_sink, softcap, {"dtype": torch.bfloat16}),
    "bias": (lambda b, h, q_idx, kv_idx: (q_idx - kv_idx) % 3 != 1, biased, {"heads": 4, "kv_heads": 1}),
    "more keys": (lambda b, h, q_idx, kv_idx: q_idx + 100 >= kv_idx, alibi, {"queries": 200, "keys": 300}),
    "more queries": (window_and_sink, None, {"queries": 300, "keys": 200}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("block", [64, (64, 128), 128])
def test_block_masks(name, block):
    mask_mod, score_mod, sizes = CASES[name]
    q, k, v = tensors(**sizes)
    block_mask = flex.create_block_mask(mask_mod, 2, None, q.shape[2], k.shape[2], device="cpu", BLOCK_SIZE=block)
    expected = flex_of(q, k, v, score_mod, block_mask)
    for _ in range(2):
        results = st.attention(q, k, v, pattern=block_mask, score_mod=score_mod, return_lse=True)
        assert_attention(results, expected, q.dtype)


@pytest.mark.parametrize("score_mod", [None, alibi])
def test_functions_without_lists(score_mod):
    q, k, v = tensors()
    results = st.attention(q, k, v, mask_mod=documents, score_mod=score_mod, return_lse=True)
    block_mask = flex.create_block_mask(documents, 2, None, 300, 300, device="cpu")
    assert_attention(results, flex_of(q, k, v, score_mod, block_mask))
    assert_attention(st.attention(q, k, v, return_lse=True), flex_of(q, k, v))


def test_patterns():
    """Lists of a Pattern are made once for its sizes, and its mask is that of partial blocks."""
    q, k, v = tensors()
    pattern = patterns.documents(DOCUMENTS.numpy()) & patterns.causal()
    mask_mod = flex.and_masks(documents, lambda b, h, q_idx, kv_idx: q_idx >= kv_idx)
    expected = flex_of(q, k, v, alibi, flex.create_block_mask(mask_mod, 2, None, 300, 300, device="cpu"))
    for block in (128, 64, 64):
        results = st.attention(q, k, v, pattern=pattern, score_mod=alibi, return_lse=True, block=block)
        assert_attention(results, expected)
    assert len(module._kept[id(pattern)][1]) == 2
    lists = pattern.lists(300, block=64, batches=2, device="cpu")
    assert_attention(
        st.attention(q, k, v, pattern=lists, mask_mod=mask_mod, score_mod=alibi, return_lse=True), expected
    )
    key = id(pattern)
    del pattern
    gc.collect()
    assert key not in module._kept


def sunk(results, sinks):
    """What sinks make of attention without: o and lse."""
    o, lse = results
    joined = torch.logaddexp(lse, sinks.double()[:, None])
    return o * (lse - joined).exp()[..., None], joined


@pytest.mark.parametrize("is_compiled", [False, True])
def test_sinks(is_compiled):
    q, k, v = tensors(queries=300, keys=200, kv_heads=2)
    block_mask = flex.create_block_mask(window_and_sink, 2, None, 300, 200, device="cpu")
    attention = torch.compile(st.attention, backend="eager") if is_compiled else st.attention
    expected = flex_of(q, k, v, None, block_mask)
    for sinks in (torch.tensor([0.5, 3, -1, 20]), torch.zeros(4)):
        results = attention(q, k, v, pattern=block_mask, sinks=sinks, return_lse=True)
        assert_attention(results, sunk(expected, sinks))


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_rows_of_values_of_another_size(layout):
    q, k, v = tensors(kv_heads=2)
    v = torch.cat([v, -v, v.flip(-1)], -1)
    expected = flex_of(q, k, v)
    inputs = [each.transpose(1, 2).contiguous() if layout == "bshd" else each for each in (q, k, v)]
    o, lse = st.attention(*inputs, layout=layout, return_lse=True)
    assert o.is_contiguous()
    assert_attention((o.transpose(1, 2) if layout == "bshd" else o, lse), expected)


def test_layouts():
    """Tensors of tokens x heads, also those that are parts of one tensor. o has the order of q."""
    q, k, v = tensors()
    expected = st.attention(q, k, v, mask_mod=documents)
    swapped = [each.transpose(1, 2).contiguous() for each in (q, k, v)]
    for _ in range(2):
        o = st.attention(*swapped, mask_mod=documents, layout="bshd")
        assert torch.equal(o, expected.transpose(1, 2))
        assert o.is_contiguous()
    parts = torch.stack(swapped, 2).unbind(2)
    assert torch.equal(st.attention(*parts, mask_mod=documents, layout="bshd"), expected.transpose(1, 2))
    with pytest.raises(sparsec.InvalidArgument, match="layout is 'sbhd', but expects bhsd or bshd"):
        st.attention(q, k, v, layout="sbhd")


@pytest.mark.parametrize(("queries", "keys"), [(300, 300), (200, 300), (300, 200)])
def test_causal_and_window_align_at_the_bottom_right(queries, keys):
    q, k, v = tensors(queries, keys)
    position = torch.arange(queries)[:, None] + keys - queries
    distance = position - torch.arange(keys)
    for options, visible in (
        ({"causal": True}, distance >= 0),
        ({"window": (50, 20)}, (distance <= 50) & (distance >= -20)),
        ({"causal": True, "window": (50, -1)}, (distance >= 0) & (distance <= 50)),
    ):
        scores = (q.double() @ k.double().mT / 8).masked_fill(~visible, -torch.inf)
        exact = scores.softmax(-1).nan_to_num() @ v.double()
        results = st.attention(q, k, v, return_lse=True, **options)
        assert_attention(results, (exact, scores.logsumexp(-1)))


def test_scale():
    q, k, v = tensors()
    for scale in (0.5, 0.25, 1):
        results = st.attention(q, k, v, scale=scale, return_lse=True)
        assert_attention(results, flex_of(q, k, v, scale=scale))


def test_captured_arrays_are_those_of_the_time():
    """An Attention traces its functions once; `attention` in every call."""
    q, k, v = tensors()
    table = np.zeros(4, np.float32)
    traced = []

    def score_mod(score, b, h, q_idx, kv_idx):
        traced.append(table)
        return score + table[h] * (kv_idx - q_idx)

    options = st.Attention(score_mod=score_mod)
    for slope in (0.0, 0.5):
        table[:] = slope
        expected = flex_of(q, k, v, lambda score, b, h, q_idx, kv_idx, slope=slope: score + slope * (kv_idx - q_idx))
        assert_attention(options(q, k, v, return_lse=True), expected)
    assert len(traced) == 1
    table = np.full(4, -0.25, np.float32)
    expected = flex_of(q, k, v, lambda score, b, h, q_idx, kv_idx: score - 0.25 * (kv_idx - q_idx))
    assert_attention(st.attention(q, k, v, score_mod=score_mod, return_lse=True), expected)


def test_programs_without_functions_are_kept(monkeypatch):
    q, k, v = tensors(64, 64)
    lists = patterns.causal().lists(64, block=64, device="cpu")
    made = []
    make = module.programs.attention
    monkeypatch.setattr(
        module.programs, "attention", lambda *sizes, **options: made.append(sizes) or make(*sizes, **options)
    )
    for count in (2, 0):
        made.clear()
        st.attention(q, k, v, window=(37, 5), layout="bshd")
        st.attention(q, k, v, pattern=lists, window=[3, 7])
        assert len(made) == count


def test_an_attention_keeps_few_kernels():
    q, k, v = tensors(64, 64, batches=1)
    options = st.Attention()
    for _ in range(module._MOST_KERNELS + 3):
        block_mask = flex.create_block_mask(
            lambda b, h, q_idx, kv_idx: q_idx >= kv_idx, None, None, 64, 64, device="cpu"
        )
        options(q, k, v, block_mask)
    assert len(options._kernels) == module._MOST_KERNELS


def test_one_kernel_serves_fresh_closures_and_shapes():
    before = sparsec.torch.library.kernel_of.cache_info().misses
    for size in range(64, 264):  # 200 closures
        q, k, v = tensors(size, size, heads=1, kv_heads=1, batches=1)
        ids = torch.arange(size, dtype=torch.int32) // 50

        def mask_mod(b, h, q_idx, kv_idx, ids=ids):
            return ids[q_idx] == ids[kv_idx]

        scores = (q.double() @ k.double().mT / 8).masked_fill(ids[:, None] != ids, -torch.inf)
        results = st.attention(q, k, v, mask_mod=mask_mod, return_lse=True)
        assert_attention(results, (scores.softmax(-1) @ v.double(), scores.logsumexp(-1)))
    assert sparsec.torch.library.kernel_of.cache_info().misses == before + 1


# ---- The operator ----------------------------------------------------------------------------------------------------


def test_calls_are_repeated_and_lists_are_read_each_time(monkeypatch):
    q, k, v = tensors(256, 256)
    lists = patterns.causal().lists(256, block=64, device="cpu")
    options = st.Attention(mask_mod=lambda b, h, q_idx, kv_idx: q_idx >= kv_idx)
    expected = st.attention(q, k, v, causal=True)
    assert (options(q, k, v, lists) - expected).abs().max() < 5e-3
    launched = []
    monkeypatch.setattr(sparsec.Kernel, "call_for", lambda *arguments, **_: launched.append(arguments))
    q, k, v = tensors(256, 256, seed=1)
    assert (options(q, k, v, lists) - st.attention(q, k, v, causal=True)).abs().max() < 5e-3
    lists.full_starts.zero_()
    own = [part.unflatten(2, (4, 64)).flatten(1, 2) for part in (q, k, v)]  # each block of 64 sees itself
    expected = st.attention(*own, causal=True)
    assert len(launched) == 1  # of that shape
    launched.clear()
    visible = torch.eye(4).bool().kron(torch.ones(64, 64, dtype=torch.bool)).tril()
    scores = (q.double() @ k.double().mT / 8).masked_fill(~visible, -torch.inf)
    assert (options(q, k, v, lists) - scores.softmax(-1) @ v.double()).abs().max() < 5e-3
    assert not launched
    assert expected.shape == own[0].shape


def test_plans_are_static_where_lists_stay(monkeypatch):
    flags = []
    make = sparsec.Kernel._make_plan
    monkeypatch.setattr(
        sparsec.Kernel, "_make_plan", lambda *arguments: flags.append(arguments[-1]) or make(*arguments)
    )
    q, k, v = tensors(256, 256)
    lists = patterns.causal().lists(256, block=64, device="cpu")
    expected = st.attention(q, k, v, causal=True)
    for pattern, is_static in (
        (patterns.causal(), True),
        (lists, False),
        (dataclasses.replace(lists, static=True), True),
    ):
        flags.clear()
        assert (st.attention(q, k, v, pattern=pattern, causal=True, block=64) - expected).abs().max() < 5e-3
        assert flags == [sparsec.kernel._STATIC_PATTERN if is_static else 0]


def test_lists_are_forgotten():
    gc.collect()
    before = len(operator._patterns)
    q, k, v = tensors(256, 256)
    lists = patterns.causal().lists(256, block=64, device="cpu")
    st.attention(q, k, v, pattern=lists)
    assert len(operator._patterns) == before + 1
    del lists
    gc.collect()
    assert len(operator._patterns) == before


def test_opcheck():
    q, k, v = tensors(128, 128)
    mask = patterns.causal()
    wide = torch.cat([v, v], -1)
    sinks = torch.zeros(4)
    for pattern, scale, has_lse, values, logits, lengths in (
        (mask, None, True, v, None, None),
        (mask, 0.5, False, v, sinks, torch.tensor([128, 5], dtype=torch.int32)),
        (None, None, False, wide, None, None),
    ):
        sequences = module.Sequences(None, None, lengths, None)
        lists, form, mask_mod = module._lists(pattern, (64, 64), None, q, k, sequences)
        given = scale is not None, logits is not None, sequences.options(k), has_lse, q.device, False
        traced = module._trace(mask_mod, None, False, None, form[:2], q.dtype, D, values.shape[-1], *given)
        arguments = q.transpose(1, 2).contiguous().transpose(1, 2), k, values, lists, form, scale, logits
        torch.library.opcheck(operator.attention, (*arguments, sequences.given(), traced[1], has_lse, traced[0]))


def test_compile_without_graph_breaks():
    """Captured tensors stay references."""
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])
    q, k, v = tensors()
    block_mask = flex.create_block_mask(documents, 2, None, 300, 300, device="cpu", BLOCK_SIZE=64)

    def score_mod(score, b, h, q_idx, kv_idx):
        return score + slopes[h] * (kv_idx - q_idx)

    options = st.Attention(score_mod=score_mod)
    torch._dynamo.reset()
    counter = dynamo.CompileCounterWithBackend("aot_eager")
    functions = (
        lambda q, k, v: options(2 * q, k, v, block_mask, return_lse=True),
        lambda q, k, v: st.attention(2 * q, k, v, pattern=block_mask, score_mod=score_mod, return_lse=True),
    )
    for function in functions:
        compiled = torch.compile(function, fullgraph=True, backend=counter)
        for slope in (0.5, 0.0):
            slopes.fill_(slope)
            assert_attention(compiled(q, k, v), flex_of(2 * q, k, v, score_mod, block_mask))
    assert counter.frame_count == 2


def test_no_gradient_is_dropped():
    inputs = tensors(64, 64)
    with pytest.raises(NotImplementedError, match="jvp"), torch.autograd.forward_ad.dual_level():
        st.attention(torch.autograd.forward_ad.make_dual(inputs[0], inputs[0]), *inputs[1:])


@pytest.mark.parametrize(("change", "message"), [
    ({"q": np.zeros((2, 4, 300, 64))}, "q: expects a tensor, but got ndarray"),
    ({"k": torch.zeros(4, 300, 64)}, r"k: expects 4 dimensions, but got shape \(4, 300, 64\)"),
    ({"q": torch.zeros(2, 4, 300, 80).half()}, "head_dim is 80, but expects 64, 96, 128, 192 or 256"),
    ({"v": torch.zeros(2, 4, 300, 96).half()}, "head_dim and value_dim are 64 and 96, but expect equal ones or"),
    ({"sinks": torch.zeros(3)}, "argument 3 'sinks': expects size 0 to be 4 to agree .*, but got 3"),
    ({"sinks": torch.zeros(4).half()}, "argument 3 'sinks': expects elements of type f32, but got f16"),
    ({"q": torch.zeros(2, 4, 300, 64)}, "dtype is 'f32', but expects bf16 or f16"),
    ({"v": torch.zeros(2, 4, 299, 64).half()}, "argument 2 'v'"),
    ({"pattern": 3}, "pattern: expects a BlockMask, lists or a Pattern, but got int"),
    ({"pattern": patterns.causal(), "mask_mod": documents}, "mask_mod and a Pattern are given"),
    ({"pattern": patterns.causal().lists(300)}, "pattern: expects lists of tensors, as lists"),
    ({"pattern": patterns.causal().lists(200, device="cpu")},
     "pattern: expects lists of 300 queries and 300 keys, but got those of 200 and 200"),
    ({"pattern": patterns.causal().lists(300, block=32, device="cpu")}, "block is .32, 32., but expects .* of 64, 128"),
    ({"block": 32}, "block is 32, but expects one or two of 64, 128"),
    ({"mask_mod": lambda b, h, q_idx, kv_idx: q_idx >= kv_idx and h > 0}, "a traced value has no truth value"),
])  # fmt: skip
def test_refusals(change, message):
    q, k, v = tensors()
    with pytest.raises((sparsec.InvalidArgument, sparsec.TracingError), match=message):
        st.attention(**{**dict(zip("qkv", (q, k, v), strict=True)), **change})


def test_a_block_mask_has_its_own_function():
    q, k, v = tensors()
    block_mask = flex.create_block_mask(documents, 2, None, 300, 300, device="cpu")
    with pytest.raises(sparsec.InvalidArgument, match="mask_mod and a BlockMask are given"):
        st.attention(q, k, v, pattern=block_mask, mask_mod=documents)
