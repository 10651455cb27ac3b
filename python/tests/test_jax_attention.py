# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on arrays of JAX, against NumPy in double precision."""

from functools import partial

import numpy as np
import pytest

import sparsec
from sparsec import patterns, tracing

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
sj = pytest.importorskip("sparsec.jax")
module = pytest.importorskip("sparsec.jax.attention")
pytestmark = pytest.mark.jax

D = 64
UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
DOCUMENTS = np.array([[0] * 90 + [1] * 60, [0] * 30 + [1] * 120], np.int32)
SLOPES = np.array([0.5, 0.25, 0.125, 0.0625], np.float32)
PATTERN = patterns.sliding_window(40, sinks=4) & patterns.causal()


def arrays(queries=150, keys=150, heads=4, kv_heads=4, batches=2, dtype="float16", lead=(), seed=0):
    random = np.random.default_rng(seed)
    shapes = (batches, heads, queries, D), (batches, kv_heads, keys, D), (batches, kv_heads, keys, D)
    return [jnp.asarray(random.standard_normal((*lead, *shape)), dtype) for shape in shapes]


def expected(q, k, v, mask=True, bias=0.0, scale=D**-0.5, sinks=-np.inf):
    """o and lse in double precision; mask and bias broadcast to [B, H, Sq, Skv], sinks to [B, H, Sq, 1]."""
    q, k, v = (np.asarray(each, np.float64) for each in (q, k, v))
    k, v = (np.repeat(each, q.shape[-3] // each.shape[-3], -3) for each in (k, v))
    scores = np.where(mask, q @ k.swapaxes(-1, -2) * scale + bias, -np.inf)
    largest = np.maximum(scores.max(-1, keepdims=True), sinks)
    exponentials = np.exp(scores - largest)
    total = exponentials.sum(-1, keepdims=True) + np.exp(sinks - largest)
    return exponentials / total @ v, (largest + np.log(total))[..., 0]


def assert_attention(results, exact, dtype="float16"):
    """Within rounding of o and of probabilities, whose sum is 1, times values of N(0, 1), and f32 sums of scores."""
    (o, lse), (exact_o, exact_lse) = results, exact
    assert (o.dtype, o.shape, lse.dtype, lse.shape) == (dtype, exact_o.shape, "float32", exact_lse.shape)
    assert (np.abs(np.asarray(o, np.float64) - exact_o) <= UNIT[dtype] * (2 * np.abs(exact_o) + 2)).all()
    assert (np.abs(lse - exact_lse) <= 2e-6 * (8 + np.abs(exact_lse))).all()


def documents(b, h, q_idx, kv_idx):
    return DOCUMENTS[b, q_idx] == DOCUMENTS[b, kv_idx]


def distances(queries=150, keys=150):
    return np.arange(keys) - np.arange(queries)[:, None]


ALIBI = SLOPES[:, None, None] * distances()
SAME = (DOCUMENTS[:, :, None] == DOCUMENTS[:, None])[:, None]


@pytest.mark.parametrize("transform", [jax.jit, lambda function: function])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_options(transform, dtype):
    q, k, v = arrays(dtype=dtype, kv_heads=2)
    causal, near = distances() <= 0, (distances() >= -20) & (distances() <= 5)
    for options, exact in (
        ({}, expected(q, k, v)),
        ({"causal": True}, expected(q, k, v, causal)),
        ({"window": (20, 5)}, expected(q, k, v, near)),
        ({"scale": 0.3}, expected(q, k, v, scale=0.3)),
    ):
        results = transform(partial(sj.attention, return_lse=True, **options))(q, k, v)
        assert_attention(results, exact, dtype)
        assert (transform(partial(sj.attention, **options))(q, k, v) == results[0]).all()


SINKS = np.array([0.5, -1.0, 4.0, -30.0], np.float32)


@pytest.mark.parametrize(
    ("options", "bias"), [({}, 0.0), ({"score_mod": lambda s, b, h, i, j: s + SLOPES[h] * (j - i)}, ALIBI)]
)
def test_sinks(options, bias):
    q, k, v = arrays(kv_heads=2)
    sinks = SINKS[:, None, None]
    causal = distances() <= 0
    results = jax.jit(partial(sj.attention, causal=True, return_lse=True, **options))(q, k, v, sinks=SINKS)
    assert_attention(results, expected(q, k, v, causal, bias, sinks=sinks))
    pattern = patterns.causal()
    results = sj.attention(q, k, v, pattern=pattern, sinks=SINKS, return_lse=True, **options)
    assert_attention(results, expected(q, k, v, causal, bias, sinks=sinks))


def test_vmap_of_sinks():
    q, k, v = arrays(lead=(3,))
    shared = jax.vmap(partial(sj.attention, sinks=SINKS, return_lse=True))(q, k, v)
    assert_attention(shared, expected(q, k, v, sinks=SINKS[:, None, None]))
    own = SINKS * np.array([[1.0], [0.5], [-1.0]], np.float32)
    results = jax.vmap(lambda q, k, v, s: sj.attention(q, k, v, sinks=s, return_lse=True))(q, k, v, own)
    assert_attention(results, expected(q, k, v, sinks=own[:, None, :, None, None]))


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_values_of_another_dimension(layout):
    q, k, v = arrays(queries=70, kv_heads=2)
    v = jnp.concatenate([v, v[..., ::-1, :]], -1)
    given = [each.swapaxes(1, 2) if layout == "bshd" else each for each in (q, k, v)]
    o, lse = sj.attention(*given, layout=layout, return_lse=True)
    o = o.swapaxes(1, 2) if layout == "bshd" else o
    assert_attention((o[..., :D], lse), expected(q, k, v[..., :D]))
    assert_attention((o[..., D:], lse), expected(q, k, v[..., D:]))


def test_layout():
    q, k, v = arrays(queries=70, kv_heads=2)
    given = [each.swapaxes(1, 2) for each in (q, k, v)]
    o, lse = sj.attention(*given, layout="bshd", causal=True, return_lse=True)
    assert o.shape == (2, 70, 4, D)
    assert_attention((o.swapaxes(1, 2), lse), expected(q, k, v, distances(70) <= 80))


STARTS, LENGTHS = np.array([0, 60, 150], np.int32), np.array([70, 93], np.int32)


def assert_sequences(results, sequences, mask):
    """Results [1, H, T, D] and [1, H, T] of packed queries are those of each sequence, with its mask(Sq, Skv)."""
    for sequence, first, last in zip(sequences, STARTS[:-1], STARTS[1:], strict=True):
        exact = expected(*sequence, mask(last - first, sequence[1].shape[2]))
        assert_attention([each[:, :, first:last] for each in results], exact)


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
@pytest.mark.parametrize("transform", [jax.jit, jax.vmap])
def test_sequences(transform, layout):
    """Packed queries with packed and with paged keys, aligned at the end of each sequence."""

    def attend(q, k, v, **options):
        given = [each.swapaxes(1, 2) if layout == "bshd" else each for each in (q, k, v)]
        attend = partial(sj.attention, layout=layout, causal=True, return_lse=True)
        if transform is jax.vmap:
            given, options = jax.tree.map(lambda each: each[None], (given, options))
        o, lse = transform(lambda given, options: attend(*given, query_starts=STARTS, **options))(given, options)
        o, lse = (o[0], lse[0]) if transform is jax.vmap else (o, lse)
        return o.swapaxes(1, 2) if layout == "bshd" else o, lse

    def causal(queries, keys):
        return distances(queries, keys) <= keys - queries

    q, k, v = arrays(keys=150, kv_heads=2, batches=1)
    own = [[each[:, :, STARTS[b] : STARTS[b + 1]] for each in (q, k, v)] for b in range(2)]
    assert_sequences(attend(q, k, v, key_starts=STARTS), own, causal)

    _, k, v = arrays(keys=32, kv_heads=2, batches=6)
    table = np.array([[4, 0, 2, -1], [5, 3, 1, -1]], np.int32)
    rows = [[np.concatenate(each[table[b, :3]], axis=1)[None, :, : LENGTHS[b]] for each in (k, v)] for b in range(2)]
    own = [[q[:, :, STARTS[b] : STARTS[b + 1]], *rows[b]] for b in range(2)]
    assert_sequences(attend(q, k, v, key_lengths=LENGTHS, page_table=table), own, causal)


def test_patterns_of_sequences():
    """A pattern counts within the sequence; lists for packed queries may be those of the longest sequence."""
    q, k, v = arrays(kv_heads=2, batches=1)
    own = [[each[:, :, STARTS[b] : STARTS[b + 1]] for each in (q, k, v)] for b in range(2)]
    causal = patterns.causal()
    for pattern, mask_mod in ((causal, None), (causal.lists(90, block=128), causal.mask_mod((128, 128)))):
        attend = partial(sj.attention, pattern=pattern, query_starts=STARTS, key_starts=STARTS, return_lse=True)
        assert_sequences(jax.jit(partial(attend, mask_mod=mask_mod))(q, k, v), own, lambda *n: distances(*n) <= 0)


@pytest.mark.parametrize("block", [64, (64, 128), 128])
def test_patterns(block):
    q, k, v = arrays()
    exact = expected(q, k, v, PATTERN.dense(150))
    assert_attention(jax.jit(partial(sj.attention, pattern=PATTERN, block=block, return_lse=True))(q, k, v), exact)
    lists = jax.tree.map(jnp.asarray, PATTERN.lists(150, block=block))
    attend = partial(sj.attention, mask_mod=PATTERN.mask_mod(lists.block), return_lse=True)
    assert_attention(jax.jit(lambda lists: attend(q, k, v, pattern=lists))(lists), exact)


def test_one_kind_of_lists_and_index_arrays():
    q, k, v = arrays()
    padded = patterns.causal().lists(150, block=64)
    starts = np.concatenate([[0], np.cumsum(padded.partial_starts.ravel())]).astype(np.int32)
    rows = zip(padded.partial_indices.reshape(3, -1), padded.partial_starts.ravel(), strict=True)
    indices = np.concatenate([row[:count] for row, count in rows])
    lists = patterns.lists.BlockLists(150, 150, (64, 64), None, None, starts, indices[None, None, None], padded=False)
    visited = np.repeat(np.repeat(padded.states[0, 0] == 2, 64, 0), 64, 1)[:150, :150]
    exact = expected(q, k, v, visited)
    attend = partial(sj.attention, pattern=lists, return_lse=True)
    assert_attention(attend(q, k, v), exact)
    stacked = [jnp.stack([each, each]) for each in (q, k, v)]
    o, lse = jax.vmap(attend)(*stacked)
    assert_attention((o[1], lse[1]), exact)


def test_functions_capture_arrays_of_jax():
    q, k, v = arrays()

    @jax.jit
    def attend(ids, slopes):
        return sj.attention(
            q, k, v, return_lse=True,
            mask_mod=lambda b, h, q_idx, kv_idx: ids[b, q_idx] == ids[b, kv_idx],
            score_mod=lambda score, b, h, q_idx, kv_idx: score + slopes[h] * (kv_idx - q_idx),
        )  # fmt: skip

    assert_attention(attend(jnp.asarray(DOCUMENTS), jnp.asarray(SLOPES)), expected(q, k, v, SAME, ALIBI))
    assert_attention(attend(jnp.zeros_like(DOCUMENTS), jnp.asarray(2 * SLOPES)), expected(q, k, v, True, 2 * ALIBI))


def test_functions_capture_booleans():
    q, k, v = arrays()
    table = np.random.default_rng(4).random((150, 150)) < 0.5
    np.fill_diagonal(table, True)
    attend = jax.jit(
        lambda table: sj.attention(q, k, v, return_lse=True, mask_mod=lambda b, h, q_idx, kv_idx: table[q_idx, kv_idx])
    )
    assert_attention(attend(jnp.asarray(table)), expected(q, k, v, table))


def test_soft_cap():
    q, k, v = arrays()
    o = sj.attention(q, k, v, score_mod=lambda score, *places: 2 * tracing.tanh(score / 2))
    scores = np.asarray(q, np.float64) @ np.asarray(k, np.float64).swapaxes(-1, -2) / 8
    exact = expected(q, k, v, bias=2 * np.tanh(scores / 2) - scores)[0]
    assert (np.abs(np.asarray(o, np.float64) - exact) <= UNIT["float16"] * (2 * np.abs(exact) + 2)).all()


# ---- Transformations


def launches(function, *arguments):
    """How many launches are in a function, and whether it has a loop."""
    text = str(jax.make_jaxpr(function)(*arguments))
    return text.count("ffi_call["), "scan[" in text or "while[" in text


@pytest.mark.parametrize(("options", "mask", "is_loop"), [
    ({}, True, False),
    ({"pattern": PATTERN}, PATTERN.dense(150), False),
    ({"pattern": patterns.documents(ids=DOCUMENTS)}, SAME, True),
    ({"mask_mod": lambda b, h, q_idx, kv_idx: q_idx >= kv_idx}, distances() <= 0, False),
    ({"mask_mod": documents}, SAME, True),
])  # fmt: skip
def test_vmap(options, mask, is_loop):
    """A batch is folded into B, unless a function asks for the number of the batch."""
    q, k, v = arrays(lead=(3,))
    attend = partial(sj.attention, return_lse=True, **options)
    everything = jax.vmap(attend)(q, k, v)
    queries = jax.vmap(lambda q: attend(q, k[0], v[0]))(q)
    for place in range(3):
        assert_attention([each[place] for each in everything], expected(q[place], k[place], v[place], mask))
        assert_attention([each[place] for each in queries], expected(q[place], k[0], v[0], mask))
    assert launches(jax.vmap(attend), q, k, v) == (1, is_loop)


def test_vmap_over_lists_and_captures():
    q, k, v = arrays()
    diagonal, triangle = np.eye(3, dtype=np.uint8), np.tri(3, dtype=np.uint8)
    states = [np.eye(3, dtype=np.uint8) + np.eye(3, k=-1, dtype=np.uint8), diagonal, triangle]
    made = [patterns.lists.BlockLists.from_states(each[None, None], 150, 150, (64, 64)) for each in states]

    def widened(array):
        missing = 3 - array.shape[-1] if array.ndim == 4 else 0
        return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, missing)])

    padded = [jax.tree.map(widened, each) for each in made]
    masks = [np.kron(each, np.ones((64, 64)))[:150, :150] > 0 for each in states]
    stacked = jax.tree.map(lambda *each: jnp.stack(each), *padded)
    attend = lambda lists: sj.attention(q, k, v, pattern=lists, return_lse=True)  # noqa: E731
    o, lse = jax.vmap(attend)(stacked)
    for place in range(3):
        assert_attention((o[place], lse[place]), expected(q, k, v, masks[place]))
    assert launches(jax.vmap(attend), stacked) == (1, False)

    def scaled(slopes):
        return sj.attention(q, k, v, score_mod=lambda s, b, h, i, j: s + slopes[h] * (j - i), return_lse=True)

    slopes = jnp.stack([jnp.asarray(SLOPES), jnp.asarray(2 * SLOPES)])
    o, lse = jax.vmap(scaled)(slopes)
    for place in range(2):
        assert_attention((o[place], lse[place]), expected(q, k, v, True, (place + 1) * ALIBI))
    assert launches(jax.vmap(scaled), slopes) == (1, True)


def test_shard_map():
    mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    split = jax.sharding.PartitionSpec("d")
    q, k, v = arrays(batches=4)
    attend = partial(sj.attention, pattern=PATTERN, return_lse=True)
    sharded = jax.jit(jax.shard_map(attend, mesh=mesh, in_specs=split, out_specs=split))
    assert_attention(sharded(q, k, v), expected(q, k, v, PATTERN.dense(150)))


def test_nothing_is_traced_again():
    """New closures over new arrays make no new computation."""
    q, k, v = arrays()
    sizes = []
    for seed in range(5):
        slopes = jnp.asarray(np.random.default_rng(seed).random(4), jnp.float32)
        o, lse = sj.attention(
            q, k, v, return_lse=True, score_mod=lambda s, b, h, i, j, slopes=slopes: s + slopes[h] * (j - i)
        )
        bias = np.asarray(slopes)[:, None, None] * distances()
        assert_attention((o, lse), expected(q, k, v, True, bias))
        sizes.append(module._launched._cache_size())
    assert sizes == sizes[:1] * 5


def test_lists_are_made_once(monkeypatch):
    q, k, v = arrays()
    pattern, made = patterns.causal(), []
    make = pattern.lists
    monkeypatch.setattr(pattern, "lists", lambda *sizes, **options: made.append(sizes) or make(*sizes, **options))
    for _ in range(3):
        sj.attention(q, k, v, pattern=pattern)
    assert len(made) == 1


# ---- Refusals


@pytest.mark.parametrize(("change", "message"), [
    ({"q": "text"}, "q: expects an array, but got str"),
    ({"k": np.ones((2, 150, D), np.float16)}, r"k: expects 4 dimensions, but got shape \(2, 150, 64\)"),
    ({"v": np.ones((2, 4, 150, D), np.float32)}, "v: expects float16, the type of q, but got float32"),
    ({"v": np.ones((2, 4, 140, D), np.float16)}, r"v: expects sizes \(2, 4, 150\) before Dv, those of k, but got"),
    ({"q": np.ones((1, 4, 150, D), np.float16)}, "k: expects B 1 and D 64, but got 2 and 64"),
    ({"q": np.ones((2, 6, 150, D), np.float16)}, "k: expects a number of heads that divides 6, but got 4"),
    ({"layout": "sbhd"}, "layout is 'sbhd', but expects bhsd or bshd"),
    ({"block": 32}, "block is 32, but expects one or two of 64, 128"),
    ({"key_lengths": 3}, "key_lengths: expects an array, but got int"),
    ({"key_lengths": np.ones(2, np.float32)}, "key_lengths: expects int32 of rank 1, but got float32 of rank 1"),
    ({"key_starts": np.ones((1, 3), np.int32)}, "key_starts: expects int32 of rank 1, but got int32 of rank 2"),
    ({"page_table": np.ones((2, 3), np.int32)}, "page_rows is 150, but expects 16, 32, 64, 128 or 256"),
    ({"sinks": np.ones(3, np.float32)}, r"sinks: expects float32 of shape \(4,\), but got float32 of \(3,\)"),
    ({"scale": jnp.float32(1)}, "scale: expects a number of Python, but got an array"),
    ({"pattern": np.ones((2, 2))}, "pattern: expects lists or a Pattern, but got ndarray"),
    ({"pattern": patterns.causal().lists(128)}, "expects lists of 150 queries and 150 keys, but got those of 128"),
    ({"pattern": patterns.causal(), "mask_mod": documents}, "mask_mod and a Pattern are given; write pattern="),
    ({"pattern": jax.tree.map(np.int64, patterns.causal().lists(150))}, "expects full lists of int32, but got int64"),
    ({"pattern": patterns.lists.BlockLists(150, 150, (128, 128), np.zeros((1, 1, 1), np.int32),
                                           np.zeros((1, 1, 2, 2), np.int32), None, None)},
     r"pattern: expects 2 full starts, but got shape \(1, 1, 1\)"),
])  # fmt: skip
def test_refusals(change, message):
    q, k, v = arrays()
    arguments = {"q": q, "k": k, "v": v, **change}
    with pytest.raises(sparsec.InvalidArgument, match=message):
        sj.attention(arguments.pop("q"), arguments.pop("k"), arguments.pop("v"), **arguments)


def test_wrong_sizes_of_sequences_are_refused():
    """Those that the runtime sees."""
    q, k, v = arrays()
    for change, message in (
        ({"key_lengths": LENGTHS + 100}, "'key_lengths': expects lengths of 0 to 150, but element 0 is 170"),
        ({"key_lengths": LENGTHS[:1]}, "'key_lengths': expects size 0 to be 2"),
        ({"query_starts": STARTS}, "'q': expects size 0 to be 1"),
        ({"key_starts": STARTS}, "'k': expects size 0 to be 1"),
    ):
        with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match=message):
            sj.attention(q, k, v, **change).block_until_ready()


def test_wrong_lists_are_refused():
    q, k, v = arrays()
    lists = jax.tree.map(lambda each: each + 7, patterns.causal().lists(150))
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="INVALID_ARGUMENT: sparsec: "):
        sj.attention(q, k, v, pattern=lists).block_until_ready()
