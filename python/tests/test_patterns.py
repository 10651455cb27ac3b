# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Patterns: the lists of blocks against a dense boolean mask that NumPy computes element by element."""

import dataclasses
import math
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sparsec import attention, patterns
from sparsec.errors import InvalidArgument, InvalidPattern
from sparsec.patterns.states import both, either, inverse

LENGTHS = st.integers(1, 90)
SIDES = st.sampled_from([1, 5, 8, 16, 64])
BLOCKS = st.tuples(SIDES, SIDES)


SHORT = np.zeros(64, np.int32)


def indices(queries, keys):
    return np.arange(queries)[:, None], np.arange(keys)[None, :]


def states_of(mask, block):
    """The state of every block of a mask, block by block: batches x heads x queries x keys."""
    rows, columns = (-(-size // side) for size, side in zip(mask.shape[-2:], block, strict=True))
    states = np.zeros((*mask.shape[:-2], rows, columns), np.uint8)
    for row in range(rows):
        for column in range(columns):
            part = mask[..., row * block[0] : (row + 1) * block[0], column * block[1] : (column + 1) * block[1]]
            is_full, is_visited = part.all((-1, -2)), part.any((-1, -2))
            states[..., row, column] = np.where(is_full, 1, np.where(is_visited, 2, 0))
    return states


def check(pattern, mask, block, **options):
    """The lists of a pattern are those of a mask [[batches, heads,] queries, keys]."""
    mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
    lists = pattern.lists(*mask.shape[-2:], block=block, **options)
    lists.check()
    np.testing.assert_array_equal(lists.states, states_of(mask, block))
    np.testing.assert_array_equal(pattern.dense(*mask.shape[-2:], **options), mask)
    return lists


# ---- Each kind against a mask


@given(LENGTHS, LENGTHS, BLOCKS, st.integers(-70, 70))
def test_causal(queries, keys, block, offset):
    q, k = indices(queries, keys)
    check(patterns.causal(offset), k <= q + offset, block)


@given(LENGTHS, LENGTHS, BLOCKS, st.integers(-1, 40), st.integers(-1, 40), st.integers(0, 20), st.integers(-70, 70))
@example(5, 7, (5, 5), -1, -1, 0, 0)
def test_sliding_window(queries, keys, block, left, right, sinks, offset):
    q, k = indices(queries, keys)
    mask = np.ones((queries, keys), np.bool_)
    if left >= 0:
        mask &= k >= q + offset - left
    if right >= 0:
        mask &= k <= q + offset + right
    check(patterns.sliding_window(left, right, sinks=sinks, offset=offset), mask | (k < sinks), block)


@given(LENGTHS, LENGTHS, BLOCKS, st.integers(0, 100))
def test_prefix(queries, keys, block, length):
    _, k = indices(queries, keys)
    check(patterns.prefix(length), np.broadcast_to(k < length, (queries, keys)), block)


@given(LENGTHS, LENGTHS, BLOCKS, st.lists(st.integers(0, 100), min_size=2, max_size=3))
def test_prefixes_of_batches(queries, keys, block, lengths):
    _, k = indices(queries, keys)
    mask = np.array([np.broadcast_to(k < length, (queries, keys)) for length in lengths])[:, None]
    check(patterns.prefix(np.array(lengths)), mask, block)


@given(st.data(), BLOCKS, st.booleans(), st.booleans())
def test_documents(data, block, has_batches, has_key_ids):
    def ids():
        shape = (2, data.draw(LENGTHS)) if has_batches else (data.draw(LENGTHS),)
        values = data.draw(arrays.arrays(np.int64, shape, elements=st.integers(-2, 3)))
        return np.sort(values, axis=-1) if data.draw(st.booleans()) else values

    of_queries = ids()
    of_keys = ids() if has_key_ids else of_queries
    mask = of_queries[..., :, None] == of_keys[..., None, :]
    pattern = patterns.documents(of_queries, key_ids=of_keys if has_key_ids else None)
    check(pattern, mask[:, None] if has_batches else mask, block)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=5).filter(any), BLOCKS)
def test_documents_by_lengths(lengths, block):
    ends = np.cumsum(lengths)
    number = [int(np.searchsorted(ends, token, side="right")) for token in range(sum(lengths))]
    mask = np.array([[mine == other for other in number] for mine in number])
    check(patterns.documents(lengths=lengths), mask, block)


NUMBERS = st.lists(st.integers(0, 99), max_size=30)


@given(LENGTHS, LENGTHS, BLOCKS, NUMBERS, NUMBERS, st.integers(-30, 30))
def test_vertical_slash(queries, keys, block, vertical, slash, offset):
    q, k = indices(queries, keys)
    mask = np.isin(k, vertical) | np.isin(q + offset - k, slash)
    check(patterns.vertical_slash(vertical, slash, offset=offset), mask, block)


@given(LENGTHS, LENGTHS, BLOCKS, st.data())
def test_vertical_slash_of_heads(queries, keys, block, data):
    q, k = indices(queries, keys)
    numbers = arrays.arrays(np.int32, (3, 6), elements=st.integers(-1, 60))
    vertical, slash = data.draw(numbers), data.draw(numbers)
    mask = np.array(
        [np.isin(k, vertical[h][vertical[h] >= 0]) | np.isin(q - k, slash[h][slash[h] >= 0]) for h in range(3)]
    )
    check(patterns.vertical_slash(vertical, slash), mask, block)


def test_vertical_slash_with_heads_on_one_side():
    q, k = indices(20, 30)
    by_head = np.array([[3, 7], [5, -1]])
    vertical = np.array([np.isin(k, row[row >= 0]) | (q - k == 4) for row in by_head])
    slash = np.array([np.isin(q - k, row[row >= 0]) | (k == 4) for row in by_head])
    assert check(patterns.vertical_slash(by_head, [4]), vertical, (8, 8)).heads == 2
    assert check(patterns.vertical_slash([4], by_head), slash, (8, 8)).heads == 2
    with pytest.raises(InvalidArgument, match="heads is 3, but the pattern was made for 2 heads"):
        patterns.vertical_slash([4], by_head).lists(20, heads=3)


TILES = st.tuples(*[st.integers(1, 4)] * 3)


@given(TILES, st.tuples(*[st.integers(1, 2)] * 3), st.tuples(*[st.sampled_from([1, 3, 5])] * 3), BLOCKS)
def test_video(tiles, tile, window, block):
    shape = tuple(count * side for count, side in zip(tiles, tile, strict=True))

    def sees(query, key):
        for mine, other, count, side in zip(query, key, tiles, window, strict=True):
            reach = side // 2
            center = min(max(mine, reach), count - 1 - reach)
            if side < count and abs(center - other) > reach:
                return False
        return True

    places = [(z, y, x) for z in range(tiles[0]) for y in range(tiles[1]) for x in range(tiles[2])]
    of_tiles = np.array([[sees(query, key) for key in places] for query in places])
    mask = np.kron(of_tiles, np.ones((math.prod(tile), math.prod(tile)), np.bool_))
    check(patterns.video(shape, tile, window), mask, block)


def test_a_window_of_video_has_the_same_number_of_keys_everywhere():
    mask = patterns.video((4, 6, 10), (1, 2, 2), (3, 1, 3)).dense(240)
    assert set(mask.sum(axis=-1).ravel()) == {3 * 1 * 3 * 4}


@given(st.data(), st.integers(0, 6), st.sampled_from([(2, 3), (8, 8)]), st.booleans())
def test_top_k(data, k, block, has_heads):
    shape = (*((2,) if has_heads else ()), data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5)))
    scores = data.draw(arrays.arrays(np.float32, shape, elements=st.sampled_from([-np.inf, -3, -1, 0, 1, 2, 3])))
    chosen = np.zeros(shape, np.bool_)
    for at in np.ndindex(shape[:-1]):
        candidates = np.flatnonzero(scores[at] > -np.inf)
        ranked = sorted(candidates, key=lambda column, at=at: (-scores[at][column], column))
        chosen[(*at, ranked[:k])] = True
    mask = np.kron(chosen, np.ones(block, np.bool_))
    pattern = patterns.top_k(scores, k, block)
    check(pattern, mask, block)
    check(pattern, mask, (5, 4))


@given(st.data(), BLOCKS, st.sampled_from([(), (3,), (2, 3), (2, 1)]))
def test_from_a_mask_of_elements(data, block, leading):
    shape = (*leading, data.draw(LENGTHS), data.draw(LENGTHS))
    probability = data.draw(st.sampled_from([0, 0.1, 0.9, 1]))
    mask = np.random.default_rng(data.draw(st.integers(0, 9))).random(shape) < probability
    check(patterns.from_mask(mask), mask, block)


@given(st.data(), st.sampled_from([(4, 6), (3, 3)]), BLOCKS)
def test_from_states_of_blocks(data, side, block):
    queries, keys = data.draw(LENGTHS), data.draw(LENGTHS)
    shape = (2, -(-queries // side[0]), -(-keys // side[1]))
    states = data.draw(arrays.arrays(np.uint8, shape, elements=st.integers(0, 2)))
    q, k = indices(queries, keys)
    of_elements = np.kron(states, np.ones(side, np.uint8))[:, :queries, :keys]
    mask = (of_elements == 1) | ((of_elements == 2) & ((q + k) % 3 > 0))
    mask_mod = (lambda b, h, q_idx, kv_idx: (q_idx + kv_idx) % 3 > 0) if (states == 2).any() else None
    pattern = patterns.from_mask(states, side, mask_mod=mask_mod)
    check(pattern, mask, side)
    check(pattern, mask, block)


@given(LENGTHS, LENGTHS, BLOCKS)
def test_predicate(queries, keys, block):
    table = np.arange(90, dtype=np.int32) * 7 % 11
    q, k = indices(queries, keys)
    pattern = patterns.predicate(lambda b, h, q_idx, kv_idx: (table[q_idx] >= kv_idx % 5) & (kv_idx != q_idx))
    check(pattern, (table[:queries, None] >= k % 5) & (k != q), block)


def test_a_predicate_of_heads_and_batches():
    q, k = indices(20, 30)
    mask = np.array([[k * (h + 1) <= q * (b + 1) for h in range(3)] for b in range(2)])
    pattern = patterns.predicate(lambda b, h, q_idx, kv_idx: kv_idx * (h + 1) <= q_idx * (b + 1))
    lists = check(pattern, mask, (8, 8), heads=3, batches=2)
    assert (lists.batches, lists.heads) == (2, 3)
    given_once = patterns.predicate(lambda b, h, q_idx, kv_idx: kv_idx * (h + 1) <= q_idx, heads=3)
    check(given_once, mask[0], (8, 8))
    assert given_once.lists(20, 30, 8, 3).heads == 3


def test_a_predicate_in_many_parts():
    # More blocks than are evaluated at a time.
    q, k = indices(300, 1100)
    pattern = patterns.predicate(lambda b, h, q_idx, kv_idx: (q_idx * kv_idx) % 37 < 36)
    check(pattern, (q * k) % 37 < 36, (3, 7))
    check(patterns.predicate(lambda b, h, q_idx, kv_idx: (q_idx * kv_idx) % 37 < 36), (q * k) % 37 < 36, (2000, 2000))


def test_integers_of_numpy_are_integers():
    eight = np.int64(8)
    for pattern in (patterns.prefix(eight), patterns.causal(eight), patterns.sliding_window(eight, eight, sinks=eight)):
        q, k = indices(40, 30)
        mask = {"Prefix": k < 8 + 0 * q, "Window": k <= q + 8}.get(type(pattern).__name__, (abs(q - k) <= 8) | (k < 8))
        check(pattern, mask, (np.int32(8), 5))
    with pytest.raises(InvalidArgument, match="sinks is True, but expects an int"):
        patterns.sliding_window(3, sinks=True)


def test_lists_are_shared_where_nothing_depends_on_heads():
    lists = patterns.causal().lists(256, 256, 64, 8, batches=2)
    assert (lists.batches, lists.heads) == (1, 1)


# ---- Combinations


@st.composite
def combined(draw, queries, keys):
    """A pattern and its mask."""
    q, k = indices(queries, keys)
    leaves = [
        (patterns.causal(keys - queries), k <= q + keys - queries),
        (patterns.sliding_window(9, 4), (k >= q - 9) & (k <= q + 4)),
        (patterns.prefix(17), np.broadcast_to(k < 17, (queries, keys))),
        (patterns.documents(q.ravel() // 23, key_ids=k.ravel() // 23), q // 23 == k // 23),
        (patterns.vertical_slash([3, 40, 41], [0, 11]), np.isin(k, [3, 40, 41]) | np.isin(q - k, [0, 11])),
        (patterns.predicate(lambda b, h, q_idx, kv_idx: (q_idx ^ kv_idx) % 4 > 0), (q ^ k) % 4 > 0),
        (patterns.predicate(lambda b, h, q_idx, kv_idx: True), np.ones((queries, keys), np.bool_)),
        (patterns.from_mask((q + k) % 5 > 1), (q + k) % 5 > 1),
    ]
    pattern, mask = draw(st.sampled_from(leaves))
    for _ in range(draw(st.integers(1, 3))):
        other, other_mask = draw(st.sampled_from(leaves))
        match draw(st.sampled_from("&|~")):
            case "&":
                pattern, mask = pattern & other, mask & other_mask
            case "|":
                pattern, mask = other | pattern, mask | other_mask
            case "~":
                pattern, mask = ~pattern, ~mask
    return pattern, mask


@given(st.data(), LENGTHS, LENGTHS, BLOCKS)
@settings(max_examples=200)
def test_combinations(data, queries, keys, block):
    pattern, mask = data.draw(combined(queries, keys))
    check(pattern, mask, block)


@pytest.mark.parametrize(
    "pattern",
    [
        patterns.prefix(64) & patterns.predicate(lambda b, h, q_idx, kv_idx: SHORT[kv_idx] == 0),
        patterns.predicate(lambda b, h, q_idx, kv_idx: SHORT[kv_idx] == 0) & patterns.prefix(64),
        ~patterns.prefix(64) | patterns.predicate(lambda b, h, q_idx, kv_idx: SHORT[kv_idx] == 0),
        patterns.documents([0] * 256, key_ids=[0] * 64 + [5] * 192)
        & patterns.predicate(lambda b, h, q_idx, kv_idx: SHORT[kv_idx] == 0),
        patterns.documents([0] * 256, key_ids=[0] * 64 + [-5] * 192)
        & patterns.predicate(lambda b, h, q_idx, kv_idx: SHORT[kv_idx] == 0),
    ],
)
def test_blocks_that_are_decided_are_not_evaluated(pattern):
    # Keys beyond 63 are outside the array that the predicate reads.
    lists = pattern.lists(256, block=64)
    assert (lists.states[..., 0] == 1).any()


@pytest.mark.parametrize("left", range(4))
@pytest.mark.parametrize("right", range(4))
def test_states_combine_as_elements_do(left, right):
    """Every pair of blocks of two elements: what is certain is right, and full and empty blocks decide."""
    blocks = {0: [(0, 0)], 1: [(1, 1)], 2: [(0, 1), (1, 0)], 3: [(0, 0), (0, 1), (1, 0), (1, 1)]}
    for combine, of_elements in ((both, min), (either, max)):
        combined = {
            sum(map(of_elements, a, b)) for a in blocks[left] for b in blocks[right]
        }  # the visible elements of two
        exact = {0: 0, 1: 2, 2: 1}[combined.pop()] if len(combined) == 1 else 3
        assert combine(np.uint8(left), np.uint8(right)) == exact
    assert inverse(np.uint8(left)) == {0: 1, 1: 0}.get(left, left)


def test_the_largest_and_the_smallest_ids():
    limits = np.array([-(2**31), 2**31 - 1])
    check(patterns.documents(limits), np.eye(2, dtype=np.bool_), (1, 2))


def test_sizes_of_combined_patterns():
    documents, table = patterns.documents(np.zeros((2, 8), np.int32)), np.zeros((3, 4), np.int32)
    both = documents | patterns.vertical_slash(table, table)
    lists = both.lists(8, block=4)
    assert (lists.batches, lists.heads) == (2, 3)
    with pytest.raises(InvalidArgument, match="patterns for 2 and for 3 batches are combined"):
        both & patterns.prefix([1, 2, 3])


def test_a_pattern_is_no_boolean():
    with pytest.raises(TypeError, match="no truth value: write & | ~"):
        patterns.causal() and patterns.prefix(3)
    with pytest.raises(TypeError, match="unsupported operand"):
        patterns.causal() & 3
    with pytest.raises(TypeError, match="unsupported operand"):
        patterns.causal() | 3


# ---- Masks of kernels


@given(st.data(), LENGTHS, LENGTHS, st.sampled_from([(8, 8), (16, 5)]))
def test_the_mask_that_remains_decides_partial_blocks(data, queries, keys, block):
    """With the full blocks of the lists, the mask of a kernel gives the pattern."""
    states = data.draw(arrays.arrays(np.uint8, (-(-queries // 8), -(-keys // 8)), elements=st.integers(0, 1)))
    pattern, mask = data.draw(combined(queries, keys))
    if data.draw(st.booleans()):
        pattern = patterns.from_mask(states, 8) & pattern
        mask = mask & (np.kron(states, np.ones((8, 8), np.uint8))[:queries, :keys] == 1)
    remaining = pattern.mask_mod(block)
    visited = np.kron(states_of(mask, block), np.ones(block, np.uint8))[:queries, :keys]
    is_true = patterns.predicate(remaining).dense(queries, keys)[0, 0] if remaining else True
    np.testing.assert_array_equal((visited == 1) | ((visited == 2) & is_true), mask)


# ---- FlexAttention


class BlockMask:
    """What of FlexAttention's BlockMask is read."""

    def __init__(self, states, lengths, block, mask_mod):
        lists = patterns.BlockLists.from_states(states, *lengths, block)
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = lengths, block, mask_mod
        self.kv_num_blocks, self.kv_indices = lists.partial_starts, lists.partial_indices
        self.full_kv_num_blocks, self.full_kv_indices = lists.full_starts, lists.full_indices


def test_from_flex():
    q, k = indices(40, 50)
    mask = (q % 9 >= k % 7) & (k < 44) | (k < 8)
    block_mask = BlockMask(
        states_of(mask[None, None], (8, 8)),
        (40, 50),
        (8, 8),
        lambda b, h, q_idx, kv_idx: (q_idx % 9 >= kv_idx % 7) & (kv_idx < 44) | (kv_idx < 8),
    )
    pattern = patterns.from_flex(block_mask)
    assert {1, 2} <= set(check(pattern, mask, (8, 8)).states.ravel())
    check(pattern & patterns.causal(), mask & (k <= q), (16, 5))
    with pytest.raises(InvalidArgument, match="queries is 41, but the pattern was made for 40 queries"):
        pattern.lists(41, 50, 8)


def test_from_flex_without_full_or_partial_blocks():
    states = np.array([[[[1, 0], [0, 1]]]], np.uint8)
    block_mask = BlockMask(states, (16, 16), (8, 8), None)
    expected = np.kron(states, np.ones((8, 8))) == 1
    check(patterns.from_flex(block_mask), expected, (8, 8))
    block_mask.mask_mod = lambda b, h, q_idx, kv_idx: kv_idx < 0
    assert patterns.from_flex(block_mask).mask_mod((8, 8)) is None
    one = BlockMask(np.array([[[[2]]]], np.uint8), (8, 8), (8, 8), lambda b, h, q_idx, kv_idx: kv_idx < 3)
    check(patterns.from_flex(one), np.broadcast_to(np.arange(8) < 3, (8, 8)), (8, 8))
    block_mask = BlockMask(states * 2, (16, 16), (8, 8), lambda b, h, q_idx, kv_idx: kv_idx >= 0)
    block_mask.full_kv_num_blocks = block_mask.full_kv_indices = None
    check(patterns.from_flex(block_mask), expected, (8, 8))


@pytest.mark.torch
def test_from_flex_of_torch():
    torch = pytest.importorskip("torch")
    pytest.importorskip("sympy", reason="create_block_mask of torch needs sympy")
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    ids = torch.arange(300, dtype=torch.int32) // 70

    def mask_mod(b, h, q_idx, kv_idx):
        return (ids[q_idx] == ids[kv_idx]) & (q_idx >= kv_idx)

    block_mask = flex.create_block_mask(mask_mod, None, None, 300, 300, device="cpu", BLOCK_SIZE=64)
    q, k = indices(300, 300)
    mask = (q // 70 == k // 70) & (k <= q)
    check(patterns.from_flex(block_mask), mask, (64, 64))
    lists = patterns.BlockLists.from_flex(block_mask)
    lists.check()
    assert lists.partial_indices is block_mask.kv_indices
    np.testing.assert_array_equal(lists.states, states_of(mask[None, None], (64, 64)))


class OnDevice:
    """An array in memory that NumPy cannot read, with PyTorch's way to the host."""

    def __init__(self, array):
        self._array = array
        self.dtype, self.shape, self.ndim = array.dtype, array.shape, array.ndim

    def __len__(self):
        return len(self._array)

    def __getitem__(self, index):
        raise AssertionError("an element is read on the host")

    def __array__(self, *_arguments, **_options):
        raise AssertionError("the array is read without a copy to the host")

    def cpu(self):
        return self._array


def test_arrays_of_a_device_are_references():
    random = np.random.default_rng(8)
    ids, lengths = random.integers(0, 3, (2, 40)).astype(np.int32), np.array([7, 30], np.int32)
    mask, scores = random.random((40, 40)) < 0.5, random.random((5, 5))
    for make, array, name in (
        (patterns.documents, ids, "document_ids"),
        (patterns.prefix, lengths, "prefix_lengths"),
    ):
        there = OnDevice(array)
        here = make(array)
        expected = here.lists(40, block=8)
        np.testing.assert_array_equal(make(there).lists(40, block=8).states, expected.states)
        np.testing.assert_array_equal((make(there) & ~make(there)).dense(40), False)
        captures = attention(64, pattern=make(there)).captures
        assert list(captures) == [name]
        assert captures[name] is there
    wide = patterns.documents(OnDevice(ids.astype(np.int64)))
    check(wide, ids[:, None, :, None] == ids[:, None, None, :], (8, 8))
    check(patterns.from_mask(OnDevice(mask)), mask, (8, 5))
    check(patterns.vertical_slash(OnDevice(np.array([3])), []), np.arange(40) == np.full((40, 1), 3), (8, 5))
    np.testing.assert_array_equal(
        patterns.top_k(OnDevice(scores), 2, 8).dense(40), patterns.top_k(scores, 2, 8).dense(40)
    )


@pytest.mark.torch
def test_lists_on_a_device():
    torch = pytest.importorskip("torch")
    lists = patterns.causal().lists(100, block=16)
    tensors = patterns.causal().lists(100, block=16, device="cpu")
    for name in ("full_starts", "full_indices", "partial_starts", "partial_indices"):
        tensor = getattr(tensors, name)
        assert tensor.dtype == torch.int32
        np.testing.assert_array_equal(tensor.numpy(), getattr(lists, name))
    assert (tensors.density, tensors.flops(64), str(tensors.draw())) == (
        lists.density,
        lists.flops(64),
        str(lists.draw()),
    )
    tensors.check()
    assert lists.to("meta").full_starts.device.type == "meta"


def test_a_device_needs_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidArgument, match="device is 'cuda', but torch is not installed"):
        patterns.causal().lists(100, block=16, device="cuda")


def test_lists_of_one_kind():
    states = np.array([[[[2, 0], [0, 2]]]], np.uint8)
    lists = patterns.BlockLists.from_states(states, 32, 32, (16, 16))
    lists = dataclasses.replace(lists, full_starts=None, full_indices=None)
    lists.check()
    np.testing.assert_array_equal(lists.states, states)
    assert lists.density == 0.5
    full = patterns.BlockLists.from_states(states // 2, 32, 32, (16, 16))
    full = dataclasses.replace(full, partial_starts=None, partial_indices=None)
    assert (full.batches, full.heads, full.capacity) == (1, 1, 1)
    np.testing.assert_array_equal(full.states, states // 2)


# ---- Numbers and checks of lists


def test_lists_are_int32_and_ascend():
    lists = patterns.causal().lists(100, 130, (16, 32))
    for starts, entries in ((lists.full_starts, lists.full_indices), (lists.partial_starts, lists.partial_indices)):
        assert (starts.dtype, entries.dtype) == (np.int32, np.int32)
        assert starts.shape == (1, 1, 7)
        assert entries.shape == (1, 1, 7, lists.capacity)
    assert lists.padded
    # Row 6 has the queries 96 to 99: blocks 0 to 2 are before them, block 3 begins with key 96.
    assert lists.full_indices[0, 0, 6, : lists.full_starts[0, 0, 6]].tolist() == [0, 1, 2]
    assert lists.partial_indices[0, 0, 6, : lists.partial_starts[0, 0, 6]].tolist() == [3]
    assert lists.capacity == 3
    is_padding = np.arange(3) >= lists.full_starts[..., None]
    assert (lists.full_indices[is_padding] == 0).all()


def test_density_and_flops():
    lists = patterns.causal().lists(100, 130, (64, 64))
    # Rows visit blocks {0} and {0, 1} of 3; they have 64 and 36 queries, and blocks 64 keys.
    assert lists.density == 3 / 6
    pairs = 64 * 64 + 36 * 128
    assert lists.flops(128) == 4 * 128 * pairs
    assert lists.flops(64, batches=2, heads=8) == 4 * 64 * pairs * 16
    states = np.ones((2, 3, 2, 3), np.uint8)
    own = patterns.BlockLists.from_states(states, 100, 130, (64, 64))
    assert own.flops(64) == own.flops(64, batches=2, heads=3) == 4 * 64 * 6 * 100 * 130
    assert own.density == 1
    assert lists.flops(64, batches=0) == 0
    with pytest.raises(InvalidArgument, match="heads is 8, but the lists are those of 3 heads"):
        own.flops(64, heads=8)
    with pytest.raises(InvalidArgument, match="batches is 1, but the lists are those of 2 batches"):
        own.flops(64, batches=1)


def test_empty_patterns():
    for queries, keys in ((0, 5), (5, 0), (0, 0)):
        for pattern in (
            patterns.causal(),
            patterns.documents(np.zeros(queries, np.int32), key_ids=np.zeros(keys, np.int32)),
            patterns.vertical_slash([], []),
            patterns.from_mask(np.zeros((queries, keys), np.bool_)),
            patterns.predicate(lambda b, h, q_idx, kv_idx: q_idx > kv_idx),
        ):
            lists = pattern.lists(queries, keys, 8)
            lists.check()
            assert lists.density == 0
            assert lists.capacity == 0
            assert lists.flops(64) == 0


def damaged(name, at, value):
    lists = patterns.causal().lists(64, 64, 16)
    getattr(lists, name)[at] = value
    return lists


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        (damaged("full_starts", (0, 0, 2), 4), "batch 0, head 0, block row 2 has 4 full blocks, of 3"),
        (damaged("partial_starts", (0, 0, 1), -1), "batch 0, head 0, block row 1 has -1 partial blocks, of 3"),
        (damaged("full_indices", (0, 0, 3, 1), 4), "block row 3 has 4 as a full block, of 4 columns"),
        (damaged("partial_indices", (0, 0, 0, 0), -1), "block row 0 has -1 as a partial block, of 4 columns"),
        (damaged("full_indices", (0, 0, 3, 1), 0), "block row 3 has 0 twice"),
        (damaged("partial_indices", (0, 0, 3, 0), 2), "block row 3 has 2 twice"),
    ],
)
def test_damaged_lists(lists, message):
    with pytest.raises(InvalidPattern, match=message):
        lists.check()


def test_lists_of_the_wrong_shape():
    lists = patterns.causal().lists(64, 64, 16)
    other = patterns.BlockLists(65, 64, (16, 16), *list(vars(lists).values())[3:7])
    with pytest.raises(InvalidPattern, match=r"full lists have starts of shape \(1, 1, 4\).* but expect \(1, 1, 5\)"):
        other.check()
    other = dataclasses.replace(lists, partial_indices=lists.partial_indices[..., :2])
    with pytest.raises(
        InvalidPattern, match=r"full lists .* indices of shape \(1, 1, 4, 3\), but expect .*\(1, 1, 4, 2\)"
    ):
        other.check()


# ---- Refusals

IDS = np.zeros(8, np.int32)
MASK = np.zeros((8, 8), np.bool_)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: patterns.causal(1.5), "offset is 1.5, but expects an int"),
        (lambda: patterns.vertical_slash([1], [1], offset="1"), "offset is '1', but expects an int"),
        (lambda: patterns.sliding_window(-2), "left is -2, but expects an int of at least -1"),
        (lambda: patterns.from_mask(MASK, (8, 0)), r"block is \(8, 0\), but expects one or two positive sides"),
        (lambda: patterns.top_k(MASK, 1, (8, 8, 8)), r"block is \(8, 8, 8\), but expects one or two positive sides"),
        (lambda: patterns.sliding_window(2, 1.5), "right is 1.5, but expects an int of at least -1"),
        (lambda: patterns.sliding_window(2, sinks=-1), "sinks is -1, but expects an int of at least 0"),
        (lambda: patterns.prefix([1.5]), r"length has shape \(1,\) and dtype float64, but expects integers of 1 dim"),
        (lambda: patterns.documents(), "documents expects ids or lengths"),
        (lambda: patterns.documents(IDS, lengths=[8]), "documents expects ids or lengths"),
        (
            lambda: patterns.documents(IDS * 0.5),
            r"ids has shape \(8,\) and dtype float64, but expects integers of 1 or 2",
        ),
        (lambda: patterns.documents([2**31]), "ids has a value that does not fit into 32 bits"),
        (
            lambda: patterns.documents(np.zeros((2, 8), int), key_ids=np.zeros((3, 8), int)),
            "ids and key_ids are of 2 and 3 batches",
        ),
        (
            lambda: patterns.vertical_slash([-2], []),
            "vertical has the number -2, but expects at least 0, or -1 for none",
        ),
        (lambda: patterns.vertical_slash([], [[[1]]]), r"slash has shape \(1, 1, 1\)"),
        (lambda: patterns.video((4, 4), (2, 2, 2), (1, 1, 1)), r"shape is \(4, 4\), but expects 3 positive ints"),
        (lambda: patterns.video((4, 4, 4), (2, 0, 2), (1, 1, 1)), r"tile is \(2, 0, 2\), but expects 3 positive ints"),
        (
            lambda: patterns.video((4, 5, 4), (2, 2, 2), (1, 1, 1)),
            r"shape is \(4, 5, 4\), but expects multiples of tile",
        ),
        (lambda: patterns.video((4, 4, 4), (2, 2, 2), (1, 2, 1)), r"window is \(1, 2, 1\), but expects odd numbers"),
        (lambda: patterns.top_k(MASK, -1, 8), "k is -1, but expects an int of at least 0"),
        (lambda: patterns.top_k(np.full((2, 2), np.nan), 1, 8), r"scores has shape \(2, 2\), but expects .* no NaN"),
        (lambda: patterns.top_k(IDS, 1, 8), r"scores has shape \(8,\), but expects 2 to 4 dimensions"),
        (lambda: patterns.from_mask(MASK[0]), r"mask has shape \(8,\), but expects 2 to 4 dimensions"),
        (lambda: patterns.from_mask(MASK * 1.0), "mask has dtype float64, but expects bool"),
        (lambda: patterns.from_mask(MASK * 1.0, 8), "mask has dtype float64, but expects bool or uint8"),
        (lambda: patterns.from_mask(MASK.astype(np.uint8)), "mask has dtype uint8, but expects bool"),
        (lambda: patterns.from_mask(np.full((2, 2), 3, np.uint8), 8), "mask has the state 3, but expects 0"),
        (
            lambda: patterns.from_mask(np.full((2, 2), 2, np.uint8), 8),
            r"mask has partial blocks \(2\) without a mask_mod",
        ),
        (
            lambda: patterns.from_mask(MASK, 8, mask_mod=lambda b, h, q, k: q > k),
            "or a mask_mod without partial blocks",
        ),
        (lambda: patterns.causal().lists(-1), "queries is -1, but expects an int of at least 0"),
        (lambda: patterns.causal().lists(8, 2.5), "keys is 2.5, but expects an int of at least 0"),
        (lambda: patterns.causal().lists(8, block=0), "block is 0, but expects one or two positive sides"),
        (lambda: patterns.causal().lists(8, block=(8, 8, 8)), r"block is \(8, 8, 8\), but expects"),
        (lambda: patterns.documents(IDS).lists(9), "queries is 9, but the pattern was made for 8 queries"),
        (lambda: patterns.from_mask(MASK).lists(8, 9), "keys is 9, but the pattern was made for 8 keys"),
        (
            lambda: patterns.from_mask(MASK, 8).lists(65),
            "mask has 8 x 8 entries, but 65 queries x 65 keys have 9 x 9 blocks",
        ),
        (lambda: patterns.prefix([1, 2]).lists(8, batches=3), "batches is 3, but the pattern was made for 2 batches"),
        (
            lambda: patterns.predicate(lambda b, h, q, k: q > h).lists(8),
            "heads is not given, but the condition of the pattern depends on 'h'",
        ),
        (
            lambda: patterns.predicate(lambda b, h, q, k: q > b).lists(8),
            "batches is not given, but the condition of the pattern depends on 'b'",
        ),
    ],
)
def test_refusals_name_the_option(make, message):
    with pytest.raises(InvalidArgument, match=message):
        make()
