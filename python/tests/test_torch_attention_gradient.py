# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of attention, against those of torch in double precision of a softmax over all scores."""

import gc

import numpy as np
import pytest

import sparsec
from sparsec import patterns

torch = pytest.importorskip("torch")
pytest.importorskip("sympy", reason="flex_attention of torch needs sympy")
flex = pytest.importorskip("torch.nn.attention.flex_attention")
st = pytest.importorskip("sparsec.torch")
blocks = pytest.importorskip("sparsec.torch.attention_blocks")
gradient = pytest.importorskip("sparsec.torch.attention_gradient")
region_values = pytest.importorskip("sparsec.torch.region_values")
dynamo = pytest.importorskip("torch._dynamo.testing")
pytestmark = [
    pytest.mark.torch,
    # torch.compile makes one for its own use.
    pytest.mark.filterwarnings("ignore:.*Function'> should not be instantiated:DeprecationWarning"),
]

UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
DOCUMENTS = torch.tensor([[0] * 90 + [1] * 110 + [2] * 100, [0] * 250 + [1] * 50], dtype=torch.int32)
LIMITS = {"causal": lambda p, k: k <= p, "left": lambda p, k: k >= p - 70, "right": lambda p, k: k <= p + 20}


def tensors(queries=300, keys=300, heads=4, kv_heads=2, width=64, dtype=torch.float16):
    generator = torch.Generator().manual_seed(queries + keys)
    shapes = (2, heads, queries, 64), (2, kv_heads, keys, 64), (2, kv_heads, keys, width)
    return [torch.randn(*shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


def exact(q, k, v, visible, scale=0.125, sinks=None):
    """o and lse of all scores."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    s = (q @ k.transpose(2, 3) * scale).masked_fill(~visible, -torch.inf)
    if sinks is not None:
        s = torch.cat([s, sinks[:, None, None].expand(*s.shape[:3], 1)], dim=3)
    lse = s.logsumexp(3)
    p = torch.exp(s - lse.masked_fill(lse.isneginf(), 0)[..., None])[..., : k.shape[2]]
    return p @ v, lse.masked_fill(lse.isneginf(), 0)


def assert_gradients(options, visible, inputs, layout="bhsd"):
    """Compares gradients of sums of o and lse with random factors: equal within rounding of P, dS and the results."""
    sinks = options.get("sinks")
    given = [*inputs, *([] if sinks is None else [sinks])]
    doubles = [each.detach().double().requires_grad_() for each in given]
    generator = torch.Generator().manual_seed(3)
    is_transposed = layout == "bshd"
    passed = [each.transpose(1, 2) if is_transposed else each for each in inputs]
    o, lse = st.attention(*passed, **options, layout=layout, return_lse=True)
    o = o.transpose(1, 2) if is_transposed else o
    exact_o, exact_lse = exact(*doubles[:3], visible, options.get("scale") or 0.125, *doubles[3:])
    factors = [torch.randn(each.shape, generator=generator).to(each.dtype) for each in (o, lse)]
    lse = lse.masked_fill(lse.isneginf(), 0)
    got = torch.autograd.grad((o, lse), given, factors)
    expected = torch.autograd.grad((exact_o, exact_lse), doubles, [each.double() for each in factors])
    for mine, other, of in zip(got, expected, given, strict=True):
        assert (mine.shape, mine.dtype) == (of.shape, of.dtype)
        error, largest = (mine.double() - other).abs().max(), other.abs().max()
        assert error <= 4 * UNIT[inputs[0].dtype] * largest
    return got


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize(("queries", "keys"), [(300, 300), (130, 300), (300, 130)])
@pytest.mark.parametrize(("options", "names"), [
    ({}, []),
    ({"causal": True}, ["causal"]),
    ({"window": (70, 20)}, ["left", "right"]),
    ({"window": (70, -1), "causal": True}, ["causal", "left"]),
])  # fmt: skip
def test_limits(options, names, queries, keys, dtype):
    position = torch.arange(queries)[:, None] + keys - queries
    visible = torch.ones(queries, keys, dtype=torch.bool)
    for name in names:
        visible &= LIMITS[name](position, torch.arange(keys))
    assert_gradients(options, visible, tensors(queries, keys, dtype=dtype))


def documents(b, h, q_idx, kv_idx):
    return DOCUMENTS[b, q_idx] == DOCUMENTS[b, kv_idx]


VISIBLE = DOCUMENTS[:, None, :, None] == DOCUMENTS[:, None, None]
CAUSAL = torch.ones(300, 300, dtype=torch.bool).tril()


def test_mask_mod(monkeypatch):
    """Blocks are looked at in parts."""
    monkeypatch.setattr(blocks, "_BLOCKS_OF_A_PART", 7)
    assert_gradients({"mask_mod": documents, "causal": True}, VISIBLE & CAUSAL, tensors())


def test_masks_may_make_their_arrays():
    """The backward pass evaluates the mask as it was traced for the kernel, with the arrays of that time."""
    assert_gradients({"mask_mod": lambda b, h, q, k: q - k < torch.tensor(5), "block": 64},
                     torch.arange(300)[:, None] - torch.arange(300) < 5, tensors())  # fmt: skip


def test_rows_without_keys_ignore_the_gradient_of_their_lse():
    """logaddexp of -inf and -inf has a gradient of NaN."""
    inputs = tensors(300, 130)
    o, lse = st.attention(*inputs, causal=True, return_lse=True)
    (o.float().sum() + torch.logaddexp(lse, lse).masked_fill(lse.isneginf(), 0).sum()).backward()
    assert all(each.grad.isfinite().all() for each in inputs)


@pytest.mark.parametrize("block", [64, (64, 128), (128, 64), 128])
def test_block_masks(block):
    block_mask = flex.create_block_mask(documents, 2, None, 300, 300, device="cpu", BLOCK_SIZE=block)
    for options in ({}, {"causal": True}):
        visible = VISIBLE & CAUSAL if options else VISIBLE
        assert_gradients({"pattern": block_mask, **options}, visible, tensors())


def test_patterns():
    pattern = patterns.documents(DOCUMENTS.numpy()) & patterns.sliding_window(70, sinks=4) & patterns.causal()
    q, k = torch.arange(300)[:, None], torch.arange(300)
    visible = VISIBLE & CAUSAL & ((k >= q - 70) | (k < 4))
    for block in (64, 128):
        assert_gradients({"pattern": pattern, "block": block}, visible, tensors())


def test_lists_of_one_kind_have_no_mask():
    keep = torch.rand(1, 4, 5, 5, generator=torch.Generator().manual_seed(1)) < 0.5
    lists = patterns.BlockLists.from_states(keep.numpy().astype(np.uint8), 300, 300, (64, 64)).to("cpu")
    lists = patterns.BlockLists(300, 300, (64, 64), lists.full_starts, lists.full_indices, None, None)
    visible = keep.repeat_interleave(64, 2).repeat_interleave(64, 3)[:, :, :300, :300]
    assert_gradients({"pattern": lists}, visible, tensors())


def test_other_options():
    sinks = torch.tensor([0.5, -1.0, 2.0, 0.0]).requires_grad_()
    assert_gradients({"sinks": sinks, "causal": True}, CAUSAL, tensors(width=128))
    assert_gradients({"scale": 0.3, "window": (70, 0)}, CAUSAL.triu(-70), tensors(), layout="bshd")


def test_sinks_of_queries_without_keys():
    """More queries than keys: the first ones see none, so that their sinks get nothing from o."""
    sinks = torch.zeros(4, requires_grad=True)
    visible = torch.arange(130) <= torch.arange(300)[:, None] - 170
    assert_gradients({"sinks": sinks, "causal": True}, visible, tensors(300, 130))


def test_no_blocks():
    q, k, v = tensors()
    empty = patterns.from_mask(np.zeros((300, 300), bool))
    st.attention(q, k, v, pattern=empty, block=64).sum().backward()
    assert all((each.grad == 0).all() and each.grad.shape == each.shape for each in (q, k, v))


def test_the_same_bits_in_every_run():
    first, second = (assert_gradients({"causal": True}, CAUSAL, tensors(dtype=torch.bfloat16)) for _ in range(2))
    assert all(map(torch.equal, first, second))


def test_one_query_of_grouped_heads():
    """The query heads of a group share a tile there."""
    position = torch.arange(300) <= 299
    assert_gradients({"causal": True}, position.expand(1, 300), tensors(1))


# ---- What is kept ----------------------------------------------------------------------------------------------------


@pytest.fixture
def made(monkeypatch):
    """The numbers of visited blocks of all that was made, and nothing is kept from before."""
    counts = []
    make = blocks._blocks
    monkeypatch.setattr(blocks, "_kept", {})
    monkeypatch.setattr(blocks, "_blocks", lambda *given: counts.append(len(given[3])) or make(*given))
    blocks.blocks_of_limits.cache_clear()
    return counts


def test_lists_are_read_once_unless_they_change(made):
    lists = patterns.causal().lists(300, block=64, device="cpu")
    for _ in range(2):
        assert_gradients({"pattern": lists, "mask_mod": lambda b, h, q, k: q >= k}, CAUSAL, tensors())
    assert len(made) == 1
    lists.full_starts[..., 1:] -= 1  # the last full block of each row but the first one
    i, j = torch.arange(300)[:, None] // 64, torch.arange(300) // 64
    visible = CAUSAL & (j != i - 1)
    assert_gradients({"pattern": lists, "mask_mod": lambda b, h, q, k: q >= k}, visible, tensors())
    assert len(made) == 2
    del lists
    gc.collect()
    assert not blocks._kept


def test_lists_of_a_pattern_are_not_compared(made, monkeypatch):
    monkeypatch.setattr(torch, "equal", lambda *_: pytest.fail("compared"))
    pattern = patterns.causal()
    for _ in range(2):
        q, k, v = tensors()
        st.attention(q, k, v, pattern=pattern, block=64).sum().backward()
    st.attention(*tensors(), causal=True).sum().backward()
    st.attention(*tensors(), causal=True).sum().backward()
    assert len(made) == 2


def test_few_forms_of_lists_are_kept(made, monkeypatch):
    monkeypatch.setattr(blocks, "_MOST_FORMS", 2)
    lists = patterns.causal().lists(300, block=64, device="cpu")
    for heads in (1, 2, 4, 1):
        st.attention(*tensors(heads=heads, kv_heads=1), pattern=lists).sum().backward()
    assert len(made) == 4


def test_captured_arrays_are_those_of_the_time():
    limit = torch.tensor(50, dtype=torch.int32)
    for value in (50, 20):
        limit.fill_(value)
        visible = CAUSAL.triu(-value)
        mask_mod = lambda b, h, q, k: (q >= k) & (q - k <= limit)  # noqa: E731
        assert_gradients({"mask_mod": mask_mod}, visible, tensors())


def test_a_graph_holds_no_lists_that_may_change(made, monkeypatch):
    lists = patterns.causal().lists(300, block=64, device="cpu")
    pattern, new = patterns.causal(), patterns.causal()
    st.attention(*tensors(), pattern=pattern, block=64).sum().backward()
    results = [st.attention(*tensors(), pattern=each, block=64) for each in (pattern, lists, new)]
    monkeypatch.setattr(blocks.arrays, "is_capturing", lambda device: True)
    results[0].sum().backward()
    for each in results[1:]:
        with pytest.raises(sparsec.InvalidArgument, match="pattern: a CUDA graph cannot hold a backward pass that"):
            each.sum().backward()


def test_operators_take_texts_of_one_line():
    texts = [
        st.Attention(causal=True)._kernel(None, None, True, None, (), torch.float16, 64, 64, False, False,
                                          (False, False, False, None), True, torch.device("cpu"), True)[0],
        gradient._probabilities_text((64, 64), "f16", 64, 0.125),
        gradient._scores_text((64, 64), "f16", 64, 0.125),
        gradient._scores_gradient_text((64, 64), "f16", 64, 0.125),
        gradient._probabilities_gradient_text((64, 64), "f16", 64),
        gradient._product_text((64, 64), "f16", 64, True),
    ]  # fmt: skip
    assert not any("\n" in text for text in texts)


def test_a_graph_holds_no_first_backward_pass(made, monkeypatch):
    st.attention(*tensors(), causal=True).sum().backward()
    known, new = st.attention(*tensors(), causal=True), st.attention(*tensors(), causal=True, window=(17, -1))
    monkeypatch.setattr(blocks.arrays, "is_capturing", lambda device: True)
    known.sum().backward()
    with pytest.raises(sparsec.InvalidArgument, match="a CUDA graph cannot hold the first backward pass of attention"):
        new.sum().backward()


# ---- torch.compile, and what there is not ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["limits", "pattern", "BlockMask"])
def test_compile_without_graph_breaks(made, name):
    block_mask = flex.create_block_mask(documents, 2, None, 300, 300, device="cpu", BLOCK_SIZE=64)
    options = {
        "limits": {"causal": True, "window": (70, -1)},
        "pattern": {"pattern": patterns.documents(DOCUMENTS.numpy()), "block": 64},
        "BlockMask": {"pattern": block_mask},
    }[name]
    counter = dynamo.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda q, k, v: st.attention(q, k, v, **options), fullgraph=True, backend=counter)
    for _ in range(3):
        first, second = tensors(), tensors()
        compiled(*first).square().sum().backward()
        st.attention(*second, **options).square().sum().backward()
        assert all(torch.equal(mine.grad, other.grad) for mine, other in zip(first, second, strict=True))
    assert counter.frame_count == 1
    assert len(made) == 1


def test_opcheck():
    q, k, v = (each.detach() for each in tensors(100, 100))
    o, lse = st.attention(q, k, v, causal=True, return_lse=True)
    difference = (o.float() ** 2).sum(-1)
    arguments = (q, k, v, o, lse, difference, [], [], None, [], [], [-1, 0], False, False, False, "")
    torch.library.opcheck(gradient.attention_gradient, arguments)


def test_missing_gradients_are_refused_by_name():
    q, k, v = tensors()
    with pytest.raises(NotImplementedError, match="sparsec.torch.attention has no gradient with key_lengths$"):
        st.attention(q, k, v, key_lengths=torch.tensor([7, 300]).int()).sum().backward()
    starts = torch.tensor([0, 300]).int()
    packed = [each[0].transpose(0, 1) for each in (q, k, v)]
    with pytest.raises(NotImplementedError, match="has no gradient with query_starts, key_starts$"):
        st.attention(*packed, query_starts=starts, key_starts=starts).sum().backward()
    of_q = torch.autograd.grad(st.attention(q, k, v).square().sum(), q, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        of_q.sum().backward()


def test_functions_of_another_process_are_refused(monkeypatch):
    monkeypatch.setattr(region_values, "_functions", {})
    given = {"mask_mod": documents}, {"score_mod": lambda score, *_: 2 * score}
    results = [st.attention(*tensors(), **each) for each in (*given, {})]
    region_values._functions.clear()
    for o in results[:2]:
        with pytest.raises(NotImplementedError, match="no gradient with functions that were traced in another process"):
            o.sum().backward()
    results[2].sum().backward()
