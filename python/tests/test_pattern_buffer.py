# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists that change in place, of NumPy and of PyTorch, against masks that NumPy computes element by element."""

import gc
import sys

import numpy as np
import pytest
from test_patterns import states_of

import sparsec
from conftest import f64
from sparsec import _native, patterns
from sparsec.errors import InvalidArgument

BLOCK = 64
QUERIES, KEYS = 300, 200  # edges cut blocks
Q, K = np.arange(QUERIES)[:, None], np.arange(KEYS)[None, :]
ARRAYS = ("full_starts", "full_indices", "partial_starts", "partial_indices")
DEVICES = [None, pytest.param("cpu", marks=pytest.mark.torch)]


def assert_lists(lists, mask):
    """They are those of a mask [batches, heads, queries, keys]."""
    lists.check()
    np.testing.assert_array_equal(lists.states, states_of(mask, lists.block))


def on(device, array):
    return array if device is None else pytest.importorskip("torch").from_numpy(array)


def attention_of(mask, q, k, v):
    """softmax over visible keys, in float64; mask: [batches or 1, heads or 1, queries, keys]."""
    scores = np.where(mask, f64(q) @ f64(k).swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    weights = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e300))
    return weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300) @ f64(v)


@pytest.mark.parametrize("device", DEVICES)
def test_begins_as_the_lists_of_the_pattern(device):
    table = np.random.default_rng(0).random((3, QUERIES, KEYS)) < 0.01
    band = patterns.sliding_window(70, 9)
    for pattern, mask in (
        (band, (Q - K <= 70) & (K - Q <= 9)),
        (~band & patterns.causal(), (Q - K > 70) & (K <= Q)),
        (patterns.predicate(lambda b, h, q, k: (q + k) % 97 < 90), (Q + K) % 97 < 90),
        (patterns.from_mask(table), table),
    ):
        lists = pattern.buffer(QUERIES, KEYS, BLOCK, device=device).lists
        assert_lists(lists, mask.reshape((1, -1, *mask.shape[-2:])))
        assert lists.capacity == 4
        assert (lists.queries, lists.keys, lists.block, lists.padded) == (QUERIES, KEYS, (BLOCK, BLOCK), True)


@pytest.mark.parametrize("device", DEVICES)
def test_update_follows_arrays_in_place(device):
    ids = np.repeat(np.arange(3), 100).astype(np.int32)
    lengths = np.array([150, 10], np.int32)
    pattern = patterns.documents(on(device, ids)) | patterns.prefix(on(device, lengths))
    buffer = pattern.buffer(300, block=BLOCK, device=device)
    lists, arrays = buffer.lists, [getattr(buffer.lists, name) for name in ARRAYS]
    for seed in range(3):
        ids[:] = np.sort(np.random.default_rng(seed).integers(0, 4, 300))
        lengths[:] = 300 - 100 * seed, 17 * seed
        buffer.update()
        mask = (ids[:, None] == ids) | (np.arange(300) < lengths[:, None, None])
        assert_lists(lists, mask[:, None])
    assert buffer.lists is lists
    assert all(getattr(lists, name) is array for name, array in zip(ARRAYS, arrays, strict=True))


@pytest.mark.parametrize("device", DEVICES)
def test_update_from_masks(device):
    buffer = patterns.causal().buffer(QUERIES, KEYS, BLOCK, 3, batches=2, device=device)
    assert (buffer.lists.batches, buffer.lists.heads) == (2, 3)
    assert_lists(buffer.lists, np.broadcast_to(K <= Q, (2, 3, QUERIES, KEYS)))
    random = np.random.default_rng(1)
    for shape in ((5, 4), (3, 5, 4), (2, 1, 5, 4), (2, 3, 5, 4)):
        states = random.integers(0, 3, shape, np.uint8)
        for mask, expected in (
            (states, states),
            (states == 1, states == 1),
            (states[..., ::-1].copy(), states[..., ::-1]),
        ):
            buffer.update_from_mask(on(device, mask))
            buffer.lists.check()
            np.testing.assert_array_equal(buffer.lists.states, np.broadcast_to(expected, (2, 3, 5, 4)))
    buffer.update()
    assert_lists(buffer.lists, np.broadcast_to(K <= Q, (2, 3, QUERIES, KEYS)))


def chosen_states(scores, counts, states):
    """The states after the choice, one list at a time: a sort by score, then by block."""
    result = np.zeros_like(states)
    for at in np.ndindex(scores.shape[:-1]):
        row = scores[at]
        candidates = [i for i in range(len(row)) if row[i] > -np.inf and states[(*at, i)] != 0]
        best = sorted(candidates, key=lambda i, row=row: (-row[i], i))[: max(counts[at], 0)]
        result[(*at, best)] = states[(*at, best)]
    return result


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(5, 4), (3, 5, 4), (2, 1, 5, 4), (2, 3, 5, 4)])
def test_update_from_scores(device, shape):
    buffer = patterns.causal().buffer(QUERIES, KEYS, BLOCK, 3, batches=2, device=device)
    lists, whole = buffer.lists, (2, 3, 5, 4)
    random = np.random.default_rng(len(shape))
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -2.0], np.float32)
    for scores in (random.normal(size=shape).astype(np.float32), random.choice(special, shape)):
        counts = random.integers(-1, 6, shape[:-1], np.int32)
        states = random.integers(0, 3, shape, np.uint8)
        for k, own, mask in ((2, None, None), (9, None, None), (0, None, None), (3, counts, None), (2, counts, states)):
            options = {"counts": own, "mask": mask}
            given = {name: on(device, value) for name, value in options.items() if value is not None}
            buffer.update_from_scores(on(device, scores), k, **given)
            limits = np.broadcast_to(np.minimum(k, 9 if own is None else own), shape[:-1])
            allowed = np.ones(shape, np.uint8) if mask is None else mask
            lists.check()
            expected = np.broadcast_to(chosen_states(scores, limits, allowed), whole)
            np.testing.assert_array_equal(lists.states, expected)
    assert buffer.lists is lists


@pytest.mark.parametrize("device", DEVICES)
def test_update_from_scores_and_a_mask_of_booleans(device):
    buffer = patterns.causal().buffer(QUERIES, KEYS, BLOCK, device=device)
    scores = np.tile(np.arange(4, dtype=np.float32), (5, 1))
    mask = np.arange(4) != np.arange(5)[:, None]
    buffer.update_from_scores(on(device, scores), 2, mask=on(device, mask))
    expected = chosen_states(scores, np.full(5, 2), mask.astype(np.uint8))
    np.testing.assert_array_equal(buffer.lists.states[0, 0], expected)


@pytest.mark.parametrize("device", DEVICES)
def test_lists_without_blocks(device):
    for queries, keys in ((0, 70), (70, 0)):
        buffer = patterns.causal().buffer(queries, keys, BLOCK, device=device)
        blocks = (-(-queries // BLOCK), -(-keys // BLOCK))
        buffer.update_from_mask(on(device, np.zeros(blocks, np.bool_)))
        buffer.update_from_scores(on(device, np.zeros(blocks, np.float32)), 1)
        assert buffer.lists.states.shape == (1, 1, -(-queries // BLOCK), -(-keys // BLOCK))
        assert buffer.lists.density == 0


@pytest.mark.parametrize("device", DEVICES)
def test_a_launcher_sees_each_update(device):
    ids = np.repeat(np.arange(2), 100).astype(np.int32)
    pattern = patterns.documents(on(device, ids)) & patterns.causal()
    program = sparsec.attention(64, dtype="f16", pattern=pattern, block=BLOCK, result_dtype="f32")
    kernel = sparsec.compile(program, "host")["attention"]
    buffer = pattern.buffer(200, block=BLOCK, device=device)
    q, k, v = np.random.default_rng(2).standard_normal((3, 1, 2, 200, 64)).astype(np.float16)
    launcher = kernel.launcher(q, k, v, buffer.lists)
    for border in (100, 30, 190):
        ids[:] = np.arange(200) >= border
        buffer.update()
        mask = (ids[:, None] == ids) & (np.arange(200) <= np.arange(200)[:, None])
        o = launcher.run()
        np.testing.assert_allclose(o, attention_of(mask, q, k, v), atol=2e-3)
        np.testing.assert_array_equal(o, kernel(q, k, v, pattern.lists(200, block=BLOCK)))


@pytest.mark.torch
def test_torch_attention_sees_each_update():
    torch = pytest.importorskip("torch")
    import sparsec.torch

    buffer = patterns.causal().buffer(256, block=BLOCK, heads=2, device="cpu")
    q, k, v = torch.randn(3, 1, 2, 256, 64, generator=torch.Generator().manual_seed(0)).half()
    for seed in range(3):
        mask = np.random.default_rng(seed).random((2, 4, 4)) < 0.6
        buffer.update_from_mask(torch.from_numpy(mask))
        o = sparsec.torch.attention(q, k, v, pattern=buffer.lists)
        elements = mask.repeat(BLOCK, axis=1).repeat(BLOCK, axis=2)[None]
        np.testing.assert_allclose(f64(o), attention_of(elements, q, k, v), atol=4e-3)


@pytest.mark.torch
def test_tensors_keep_their_memory():
    pytest.importorskip("torch")
    lists = patterns.causal().buffer(QUERIES, KEYS, BLOCK, device="cpu").lists
    indices = lists.full_indices
    expected = indices.numpy().copy()
    del lists
    gc.collect()
    others = [patterns.predicate(lambda b, h, q, k: q < 0).buffer(QUERIES, KEYS, BLOCK, device="cpu") for _ in range(8)]
    np.testing.assert_array_equal(indices.numpy(), expected)
    assert len(others) == 8


def test_patterns_of_programs_are_those_with_lists():
    class Mask:
        mask_mod = staticmethod(lambda b, h, q_idx, kv_idx: q_idx >= kv_idx)

    with pytest.raises(InvalidArgument, match="pattern is a Mask, but expects a Pattern, True or False"):
        sparsec.attention(64, pattern=Mask())


# ---- Refusals


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("mask", "text"),
    [
        (np.zeros((5, 3), np.bool_), r"mask has shape \(5, 3\), but the lists are those of \(1, 2, 5, 4\)"),
        (np.zeros((3, 5, 4), np.bool_), r"mask has shape \(3, 5, 4\), but the lists are those of \(1, 2, 5, 4\)"),
        (np.zeros((1, 1, 1, 5, 4), np.bool_), r"mask has shape \(1, 1, 1, 5, 4\), but the lists"),
        (np.zeros(4, np.bool_), r"mask has shape \(4,\), but the lists are those of \(1, 2, 5, 4\)"),
        (np.zeros((5, 4), np.int32), "mask has dtype int32, but expects bool or uint8"),
        (np.full((5, 4), 3, np.uint8), "is 3|has the state 3, but expects 0"),
    ],
)
def test_refused_masks(device, mask, text):
    buffer = patterns.causal().buffer(QUERIES, KEYS, BLOCK, 2, device=device)
    with pytest.raises(InvalidArgument, match=text):
        buffer.update_from_mask(on(device, mask))
    assert_lists(buffer.lists, np.broadcast_to(K <= Q, (1, 2, QUERIES, KEYS)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"scores": np.zeros((5, 3), np.float32)}, r"scores has shape \(5, 3\), but .* \(1, 2, 5, 4\)"),
        ({"scores": np.zeros((5, 4))}, "scores has dtype float64, but expects float32"),
        ({"k": -1}, "k is -1, but expects an int of at least 0"),
        ({"k": 1.5}, "k is 1.5, but expects an int"),
        ({"counts": np.zeros(4, np.int32)}, r"counts has shape \(4,\), but the lists are those of \(1, 2, 5\)"),
        ({"counts": np.zeros((3, 5), np.int32)}, r"counts has shape \(3, 5\), but the lists are those of \(1, 2, 5\)"),
        ({"counts": np.zeros(5, np.int64)}, "counts has dtype int64, but expects int32"),
        ({"mask": np.zeros((5, 3), np.bool_)}, r"mask has shape \(5, 3\), but the lists are those of"),
        ({"mask": np.full((5, 4), 3, np.uint8)}, "is 3|has the state 3, but expects 0"),
    ],
)
def test_refused_scores(device, changes, text):
    buffer = patterns.causal().buffer(QUERIES, KEYS, BLOCK, 2, device=device)
    options = {"scores": np.zeros((5, 4), np.float32), "k": 1} | changes
    given = {name: on(device, value) if isinstance(value, np.ndarray) else value for name, value in options.items()}
    with pytest.raises(InvalidArgument, match=text):
        buffer.update_from_scores(**given)
    assert_lists(buffer.lists, np.broadcast_to(K <= Q, (1, 2, QUERIES, KEYS)))


@pytest.mark.torch
def test_refused_devices():
    torch = pytest.importorskip("torch")
    with pytest.raises(InvalidArgument, match="device is 'meta', but expects one of type cpu or cuda"):
        patterns.causal().buffer(128, block=BLOCK, device="meta")
    with pytest.raises(InvalidArgument, match="block is 32, but expects one or two of 64, 128|block is .32, 32."):
        patterns.causal().buffer(128, block=32, device="cpu")
    buffer = patterns.causal().buffer(128, block=BLOCK, device="cpu")
    with pytest.raises(InvalidArgument, match="mask: expects a tensor on cpu, but got ndarray"):
        buffer.update_from_mask(np.zeros((2, 2), np.bool_))
    with pytest.raises(InvalidArgument, match="mask: expects a tensor on cpu, but got meta"):
        buffer.update_from_mask(torch.zeros(2, 2, dtype=torch.bool, device="meta"))
    scores = torch.zeros(2, 2)
    with pytest.raises(InvalidArgument, match="scores: expects a tensor on cpu, but got meta"):
        buffer.update_from_scores(scores.to("meta"), 1)
    with pytest.raises(InvalidArgument, match="counts: expects a tensor on cpu, but got ndarray"):
        buffer.update_from_scores(scores, 1, counts=np.zeros(2, np.int32))


def test_a_device_needs_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidArgument, match="device is 'cuda', but torch is not installed"):
        patterns.causal().buffer(128, block=BLOCK, device="cuda")


def test_heads_that_a_pattern_needs():
    by_head = patterns.predicate(lambda b, h, q, k: q >= k + h)
    with pytest.raises(InvalidArgument, match="heads is not given"):
        by_head.buffer(128, block=BLOCK)
    assert_lists(
        by_head.buffer(128, block=BLOCK, heads=2).lists, (Q[:128] >= K[:, :128] + np.arange(2)[:, None, None])[None]
    )


def test_the_native_buffer():
    program = sparsec.attention(64, dtype="f16", pattern=True, block=128)
    native, _ = sparsec.compile(program, "host")["attention"].file.native_kernel("attention", sparsec.HOST)
    buffer = native.pattern_buffer(256, 256, (128, 128), 1, 1)
    with pytest.raises(InvalidArgument, match="kernel 'attention' has no mask region"):
        buffer.update_from_predicate((None,) * 5)
    with pytest.raises(InvalidArgument, match="mask is NULL"):
        buffer.update_from_mask(0)
    with pytest.raises(InvalidArgument, match="scores: data is NULL"):
        buffer.update_from_scores(0, 1)
    with pytest.raises(InvalidArgument, match="k: expects 0 to 2, the number of key blocks, but got 3"):
        buffer.update_from_scores(np.zeros((2, 2), np.float32).ctypes.data, 3)
    other = native.pattern_buffer(256, 256, (64, 64), 1, 1)
    states = np.zeros((4, 4), np.uint8)
    with pytest.raises(InvalidArgument, match="expects blocks of 128 queries x 128 keys"):
        other.update_from_mask(states.ctypes.data)
    with pytest.raises(InvalidArgument, match="shape"):
        native.pattern_buffer(-1, 256, (128, 128), 1, 1)
    with pytest.raises(TypeError):
        _native.PatternBuffer()


# ---- On a GPU


@pytest.mark.torch
def test_updates_in_a_cuda_graph():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    import sparsec.torch

    ids = torch.zeros(1024, dtype=torch.int32, device="cuda")
    mask = torch.ones(1, 2, 16, 16, dtype=torch.bool, device="cuda")
    pattern = patterns.documents(ids) & patterns.causal()
    documents = pattern.buffer(1024, block=BLOCK, device="cuda")
    scores = torch.zeros(1, 2, 16, 16, device="cuda")
    blocks, best = (pattern.buffer(1024, block=BLOCK, heads=2, device="cuda") for _ in range(2))
    q, k, v = torch.randn(3, 1, 2, 1024, 64, device="cuda").half()
    attend = sparsec.torch.Attention(mask_mod=pattern.mask_mod((BLOCK, BLOCK)))

    def step():
        documents.update()
        blocks.update_from_mask(mask)
        best.update_from_scores(scores, 3, mask=mask)
        return attend(q, k, v, documents.lists), sparsec.torch.attention(q, k, v, pattern=blocks.lists)

    step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = step()
    for seed in range(3):
        random = np.random.default_rng(seed)
        ids.copy_(torch.from_numpy(np.sort(random.integers(0, 5, 1024)).astype(np.int32)))
        mask.copy_(torch.from_numpy(random.random((1, 2, 16, 16)) < 0.5))
        scores.copy_(torch.from_numpy(random.integers(0, 9, (1, 2, 16, 16))))
        graph.replay()
        host_ids, host_mask = ids.cpu().numpy(), mask.cpu().numpy()
        elements = (host_ids[:, None] == host_ids) & (np.arange(1024) <= np.arange(1024)[:, None])
        assert_lists(documents.lists, elements[None, None])
        np.testing.assert_array_equal(blocks.lists.states, host_mask)
        expected = chosen_states(scores.cpu().numpy(), np.full((1, 2, 16), 3), host_mask.astype(np.uint8))
        np.testing.assert_array_equal(best.lists.states, expected)
        arrays = [each.cpu() for each in (q, k, v)]
        of_blocks = host_mask.repeat(BLOCK, axis=2).repeat(BLOCK, axis=3)
        for o, visible in zip(results, (elements, of_blocks), strict=True):
            np.testing.assert_allclose(f64(o.cpu()), attention_of(visible, *arrays), atol=4e-3)
