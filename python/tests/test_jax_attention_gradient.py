# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of attention on arrays of JAX, against NumPy in double precision with all scores."""

from functools import partial

import numpy as np
import pytest

import sparsec
from sparsec import patterns

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
sj = pytest.importorskip("sparsec.jax")
module = pytest.importorskip("sparsec.jax.attention")
gradient_module = pytest.importorskip("sparsec.jax.attention_gradient")
pytestmark = pytest.mark.jax

UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
DOCUMENTS = np.array([[0] * 90 + [1] * 60, [0] * 30 + [1] * 120], np.int32)
SAME = (DOCUMENTS[:, :, None] == DOCUMENTS[:, None])[:, None]
CAUSAL = np.tri(150, dtype=bool)
SINKS = np.array([0.5, -1.0, 2.0, 0.0], np.float32)


def arrays(queries=150, keys=150, heads=4, kv_heads=2, batches=2, width=64, dtype="float16", lead=()):
    random = np.random.default_rng(queries + keys)
    shapes = (batches, heads, queries, 64), (batches, kv_heads, keys, 64), (batches, kv_heads, keys, width)
    return [jnp.asarray(random.standard_normal((*lead, *shape)).astype(jnp.dtype(dtype))) for shape in shapes]


def exact(visible, scale, of_o, of_lse, q, k, v, sinks=-np.inf):
    """The gradients of q, k, v and sinks, by the derivative of a softmax, for gradients of o and lse."""
    q, k, v, of_o, of_lse = (np.asarray(each, np.float64) for each in (q, k, v, of_o, of_lse))
    (batches, heads, queries, _), kv_heads = q.shape, k.shape[1]
    k, v = (np.repeat(each, heads // kv_heads, 1) for each in (k, v))
    s = np.where(visible, q @ k.swapaxes(2, 3) * scale, -np.inf)
    sink = np.broadcast_to(np.reshape(sinks, (-1, 1, 1)), (batches, heads, queries, 1))
    s = np.exp(np.concatenate([s, sink], 3))
    p = s / np.maximum(s.sum(3, keepdims=True), 1e-300)
    of_p = np.concatenate([of_o @ v.swapaxes(2, 3), np.zeros_like(sink)], 3)
    of_s = p * (of_p - (p * of_p).sum(3, keepdims=True) + of_lse[..., None])
    p, of_s, of_sinks = p[..., :-1], of_s[..., :-1], of_s[..., -1].sum((0, 2))
    of_k, of_v = of_s.swapaxes(2, 3) @ q * scale, p.swapaxes(2, 3) @ of_o
    of_k, of_v = (each.reshape(batches, kv_heads, -1, *each.shape[2:]).sum(2) for each in (of_k, of_v))
    return of_s @ k * scale, of_k, of_v, of_sinks


def assert_near(got, wanted, dtype="float16"):
    """Equal within rounding of P, dS and the results."""
    for mine, other in zip(got, wanted, strict=False):
        assert np.abs(np.asarray(mine, np.float64) - other).max() <= 4 * UNIT[dtype] * np.abs(other).max()


def assert_gradients(options, visible, inputs, layout="bhsd", transform=jax.jit):
    """Compares gradients for random gradients of o and lse."""
    given = [*inputs, *([jnp.asarray(options["sinks"])] if "sinks" in options else [])]
    flip = (lambda each: each.swapaxes(1, 2)) if layout == "bshd" else lambda each: each

    def attend(q, k, v, *sinks):
        changed = {**options, "sinks": sinks[0]} if sinks else options
        o, lse = sj.attention(*map(flip, (q, k, v)), **changed, layout=layout, return_lse=True)
        return flip(o), lse

    random = np.random.default_rng(3)
    shape = (*inputs[0].shape[:3], inputs[2].shape[3])
    of_o = random.standard_normal(shape).astype(inputs[0].dtype)
    of_lse = random.standard_normal(shape[:3]).astype(np.float32)
    got = transform(lambda given, *of_results: jax.vjp(attend, *given)[1](of_results))(given, of_o, of_lse)
    assert [(each.shape, each.dtype) for each in got] == [(each.shape, each.dtype) for each in given]
    assert_near(got, exact(visible, options.get("scale", 0.125), of_o, of_lse, *given), str(inputs[0].dtype))
    return got


def launches(function, *arguments):
    """How many launches are in a function, and whether it has a loop."""
    text = str(jax.make_jaxpr(function)(*arguments))
    return text.count("ffi_call["), "scan[" in text or "while[" in text


def distances(queries=150, keys=150):
    """From the position of a query to a key."""
    return np.arange(keys) - np.arange(queries)[:, None] - (keys - queries)


# ---- Options


@pytest.mark.parametrize(("options", "dtype", "queries", "keys", "is_visible"), [
    ({}, "bfloat16", 150, 150, lambda d: d < 1000),
    ({"causal": True}, "bfloat16", 70, 150, lambda d: d <= 0),
    ({"causal": True}, "float16", 150, 70, lambda d: d <= 0),
    ({"window": (30, 10)}, "float16", 150, 150, lambda d: (d >= -30) & (d <= 10)),
    ({"window": (70, -1), "causal": True}, "float16", 130, 300, lambda d: (d >= -70) & (d <= 0)),
])  # fmt: skip
def test_limits(options, dtype, queries, keys, is_visible):
    """More queries than keys: the first ones see none."""
    assert_gradients(options, is_visible(distances(queries, keys)), arrays(queries, keys, dtype=dtype))


def test_other_options():
    assert_gradients({"sinks": SINKS, "causal": True}, CAUSAL, arrays(width=128))
    window = (distances() >= -70) & CAUSAL
    assert_gradients({"scale": 0.3, "window": (70, 0)}, window, arrays(), layout="bshd")


def test_sinks_of_queries_without_keys():
    """Their sinks get nothing from o. One is no sink at all."""
    sinks = np.array([0.5, -1.0, 2.0, -np.inf], np.float32)
    assert_gradients({"sinks": sinks, "causal": True}, distances(150, 70) <= 0, arrays(150, 70))


def test_rows_without_keys_ignore_the_gradient_of_their_lse():
    """logaddexp of -inf and -inf has a gradient of NaN."""

    def total(*inputs):
        o, lse = sj.attention(*inputs, causal=True, return_lse=True)
        return o.astype(jnp.float32).sum() + jnp.where(jnp.isneginf(lse), 0, jnp.logaddexp(lse, lse)).sum()

    assert all(np.isfinite(each).all() for each in jax.jit(jax.grad(total, (0, 1, 2)))(*arrays(150, 70)))


def test_keys_behind_the_last_one():
    """Their exponentials would be infinite where all scores are far below 0, the score of what is padded."""
    q, k, v = arrays()
    assert_gradients({}, np.True_, [q + 2, k - 2, v])


def test_rows_whose_scores_are_all_infinite_are_rows_without_keys():
    q, k, v = arrays(dtype="bfloat16")
    q = jnp.zeros_like(q).at[:, :, 3].set(1e30)
    of_inputs = jax.jit(jax.grad(squares, (0, 1, 2)))(q, jnp.full_like(k, -1e30), v)
    assert all(np.isfinite(each).all() for each in of_inputs)
    assert (of_inputs[0][:, :, 3] == 0).all()


def squares(*inputs, **options):
    return jnp.square(sj.attention(*inputs, **options).astype(jnp.float32)).sum()


def test_results_of_one_array_and_of_lse_alone():
    """The results beside the gradient are those of the call without one."""
    inputs = arrays()

    @jax.jit
    def results(*inputs):
        o = sj.attention(*inputs)
        of_lse = jax.grad(lambda *inputs: sj.attention(*inputs, return_lse=True)[1].sum(), (0, 1))(*inputs)
        return o, squares(*inputs), jax.value_and_grad(squares, (0, 1, 2))(*inputs), of_lse

    o, total, (value, of_inputs), of_lse = results(*inputs)
    assert value == total
    assert_near(of_inputs, exact(True, 0.125, 2 * o, np.zeros(o.shape[:3]), *inputs))
    assert_near(of_lse, exact(True, 0.125, 0 * o, np.ones(o.shape[:3]), *inputs))


# ---- Masks and patterns


def test_mask_mod():
    """With a batch that is asked for, and a limit that counts beside it."""
    mask_mod = lambda b, h, q, k: DOCUMENTS[b, q] == DOCUMENTS[b, k]  # noqa: E731
    assert_gradients({"mask_mod": mask_mod, "causal": True}, SAME & CAUSAL, arrays())


def test_masks_capture_arrays_of_jax():
    """Also ones that the mask makes, in a computation that is differentiated after it was traced."""
    inputs = arrays()

    @jax.jit
    def attend(inputs, limit, ids):
        return squares(
            *inputs, mask_mod=lambda b, h, q, k: (q - k <= jnp.asarray(10) + limit) & (ids[b, q] == ids[b, k])
        )

    got = jax.jit(jax.grad(attend))(inputs, np.int32(20), DOCUMENTS)
    visible = SAME & (distances() >= -30)
    o = sj.attention(*inputs, mask_mod=lambda b, h, q, k: (q - k <= 30) & (DOCUMENTS[b, q] == DOCUMENTS[b, k]))
    assert_near(got, exact(visible, 0.125, 2 * o, np.zeros(o.shape[:3]), *inputs))


def test_captured_numbers_of_masks_have_no_gradient():
    """A mask is constant almost everywhere."""
    inputs = arrays()
    of_limit = jax.grad(lambda limit: squares(*inputs, mask_mod=lambda b, h, q, k: q - k <= limit))
    assert jax.jit(of_limit)(np.float32(3.5)) == 0


@pytest.mark.parametrize("block", [(64, 128), 128])
def test_patterns(block):
    pattern = patterns.documents(DOCUMENTS) & patterns.sliding_window(40, sinks=4) & patterns.causal()
    visible = SAME & CAUSAL & ((distances() >= -40) | (np.arange(150) < 4))
    assert_gradients({"pattern": pattern, "block": block}, visible, arrays())


def test_lists_of_each_batch():
    pattern = patterns.documents(DOCUMENTS)
    lists = pattern.lists(150, block=64, batches=2)
    assert_gradients({"pattern": lists, "mask_mod": pattern.mask_mod((64, 64))}, SAME, arrays())


def test_full_blocks_of_lists_ask_no_mask():
    """Lists of each head, with a mask that hides all; the limits count in full blocks too."""
    keep = np.random.default_rng(1).random((1, 4, 3, 3)) < 0.7
    lists = patterns.BlockLists.from_states(keep.astype(np.uint8), 150, 150, (64, 64))
    visible = np.kron(keep, np.ones((64, 64), bool))[:, :, :150, :150]
    assert_gradients({"pattern": lists, "mask_mod": lambda b, h, q, k: q < 0}, visible, arrays())
    one_kind = patterns.BlockLists(150, 150, (64, 64), lists.full_starts, lists.full_indices, None, None)
    assert_gradients({"pattern": one_kind, "causal": True}, visible & CAUSAL, arrays())


def test_no_blocks():
    empty = patterns.from_mask(np.zeros((150, 150), bool))
    gradient = jax.grad(partial(squares, pattern=empty, block=64), (0, 1, 2))
    assert all((each == 0).all() for each in jax.jit(gradient)(*arrays()))
    assert launches(gradient, *arrays()) == (1, False)


# ---- Transformations


OWN = np.array([[[[1, 0, 0], [1, 1, 0], [0, 1, 1]]], [[[1, 0, 0], [0, 1, 0], [1, 0, 1]]]], np.uint8)


@pytest.mark.parametrize(("options", "is_loop"), [
    ({"causal": True, "mask_mod": lambda b, h, q, k: q - k < 40}, False),
    ({"pattern": patterns.BlockLists.from_states(OWN, 150, 150, (64, 64))}, False),
    ({"mask_mod": lambda b, h, q, k: DOCUMENTS[b, q] == DOCUMENTS[b, k]}, True),
])  # fmt: skip
def test_vmap(options, is_loop):
    """A batch is folded into B, unless the mask asks for the number of the batch."""
    inputs = arrays(lead=(2,))
    attend = partial(squares, **options)
    gradient = jax.vmap(jax.grad(attend, (0, 1, 2)))

    @jax.jit
    def results(*inputs):
        of_sum = jax.grad(lambda *inputs: jax.vmap(attend)(*inputs).sum(), (0, 1, 2))(*inputs)
        alone = [jax.grad(attend, (0, 1, 2))(*(each[place] for each in inputs)) for place in range(2)]
        return gradient(*inputs), of_sum, jax.tree.map(lambda *each: jnp.stack(each), *alone)

    *batched, alone = results(*inputs)
    for got in batched:
        assert all((mine == other).all() for mine, other in zip(got, alone, strict=True))
    assert launches(gradient, *inputs) == (6, is_loop)


def test_vmap_of_some():
    """Queries of each example with keys that all have, twice over, and arrays that a mask captures."""
    q, k, v = arrays(lead=(2, 1))

    @jax.jit
    def results(q, k, v, limits):
        gradient = jax.grad(partial(squares, causal=True), (0, 1, 2))
        everything = jax.vmap(jax.vmap(gradient, (0, None, None)), (1, None, None))(q, k, v)

        def of_limit(limit):
            return jax.grad(lambda q: squares(q, k, v, mask_mod=lambda b, h, i, j: i - j < limit))(q[1, 0])

        return (everything, jax.vmap(of_limit)(limits)), (gradient(q[1, 0], k, v), of_limit(limits[1]))

    (got, got_of_limits), (alone, of_limit) = results(q, k[0, 0], v[0, 0], np.array([10, 50], np.int32))
    assert all((mine[0, 1] == other).all() for mine, other in zip(got, alone, strict=True))
    assert (got_of_limits[1] == of_limit).all()


def test_checkpoint_and_scan():
    """Layers whose results are computed again."""
    q, k, v = arrays(batches=1)

    def layer(x, v):
        return sj.attention(x, k, v, causal=True), None

    def scanned(x, stack, layer):
        return jnp.square(jax.lax.scan(layer, x, stack)[0].astype(jnp.float32)).sum()

    @jax.jit
    def results(x, stack):
        def unrolled(x, stack):
            return jnp.square(layer(layer(x, stack[0])[0], stack[1])[0].astype(jnp.float32)).sum()

        again = partial(scanned, layer=jax.checkpoint(layer))
        return [jax.grad(each, (0, 1))(x, stack) for each in (again, unrolled)]

    got, wanted = results(q, jnp.stack([v, -v]))
    assert all((mine == other).all() for mine, other in zip(got, wanted, strict=True))


@pytest.mark.parametrize("is_empty", [False, True])
def test_shard_map(is_empty):
    """Batches on 4 devices. The gradient of sinks that all devices have is the sum over them."""
    mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    split, everywhere = jax.sharding.PartitionSpec("d"), jax.sharding.PartitionSpec()
    inputs = arrays(batches=4)
    pattern = patterns.from_mask(np.zeros((150, 150), bool)) if is_empty else patterns.sliding_window(40)
    gradient = jax.grad(lambda *given: squares(*given[:3], sinks=given[3], pattern=pattern, block=64), (0, 1, 2, 3))
    specs = split, split, split, everywhere
    got = jax.jit(jax.shard_map(gradient, mesh=mesh, in_specs=specs, out_specs=specs))(*inputs, SINKS)
    wanted = jax.jit(gradient)(*inputs, SINKS)
    assert_near(got, [np.asarray(each, np.float64) for each in wanted])


def test_the_same_bits_in_every_run():
    first, second, alone = (
        assert_gradients({"causal": True}, CAUSAL, arrays(dtype="bfloat16"), transform=each)
        for each in (jax.jit, jax.jit, lambda function: function)
    )
    for other in (second, alone):
        assert all((a == b).all() for a, b in zip(first, other, strict=True))


def test_nothing_is_traced_again():
    """New closures over new arrays, outside of jit, make no new computation."""
    inputs, sizes = arrays(), []
    for limit in (10, 20, 30):
        allowed = jnp.asarray(limit, jnp.int32)
        gradient = jax.grad(
            lambda q, allowed=allowed: squares(q, *inputs[1:], mask_mod=lambda b, h, i, j: i - j < allowed)
        )
        gradient(inputs[0])
        sizes.append((module._launched._cache_size(), gradient_module.attention_gradient._cache_size()))
    assert sizes == sizes[:1] * 3


# ---- What there is not


def test_missing_gradients_are_refused_by_name():
    q, k, v = arrays()
    of_q = lambda **options: jax.grad(lambda q: squares(q, k, v, **options))  # noqa: E731
    for transform in (jax.jit, lambda function: function):
        with pytest.raises(NotImplementedError, match="^sparsec.jax.attention has no gradient with a score_mod\n"):
            transform(of_q(score_mod=lambda score, *_: 2 * score))(q)
    with pytest.raises(NotImplementedError, match="has no gradient with key_lengths\n"):
        of_q(key_lengths=np.array([7, 150], np.int32))(q)
    starts = np.array([0, 60, 150], np.int32)
    packed = [each[:1] for each in (q, k, v)]
    with pytest.raises(NotImplementedError, match="has no gradient with query_starts, key_starts\n"):
        jax.grad(partial(squares, query_starts=starts, key_starts=starts))(*packed)
    slopes = jnp.ones(4, jnp.float32)
    with pytest.raises(NotImplementedError, match="has no gradient with a score_mod\n"):
        jax.grad(lambda slopes: squares(q, k, v, score_mod=lambda s, b, h, i, j: s + slopes[h]))(slopes)
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(lambda q: sj.attention(q, k, v), (q,), (q,))
    with pytest.raises(ValueError, match="cannot be differentiated"):
        jax.grad(lambda q: of_q()(q).astype(jnp.float32).sum())(q)
    double = jax.grad(lambda factor: sj.attention(q, k, v, score_mod=lambda score, *_: 2 * score).sum() * factor)
    assert double(jnp.float16(1)) != 0


def test_lists_that_are_not_known_are_refused_by_name():
    """The gradient of sinks needs none of them."""
    q, k, v = arrays()
    lists = patterns.causal().lists(150, block=64)
    leaves = jax.tree.map(jnp.asarray, lists)
    with pytest.raises(
        NotImplementedError, match="has no gradient where the lists of the pattern are arrays of JAX: the"
    ):
        jax.grad(lambda v: squares(q, k, v, pattern=leaves))(v)
    with pytest.raises(NotImplementedError, match="are arrays of JAX"):
        jax.jit(jax.grad(lambda q, lists: squares(q, k, v, pattern=lists)))(q, lists)
    of_sinks = [jax.grad(lambda s, p=each: squares(q, k, v, pattern=p, sinks=s))(SINKS) for each in (leaves, lists)]
    assert (of_sinks[0] == of_sinks[1]).all()
    assert (of_sinks[0] != 0).all()
    starts, indices = np.arange(4, dtype=np.int32), np.zeros((1, 1, 1, 3), np.int32)
    index_arrays = patterns.BlockLists(150, 150, (64, 64), starts, indices, None, None, padded=False)
    with pytest.raises(NotImplementedError, match="lists of the pattern are index arrays: pass padded ones\n"):
        jax.grad(lambda q: squares(q, k, v, pattern=index_arrays))(q)


def test_wrong_lists_are_refused():
    q, k, v = arrays()
    lists = patterns.causal().lists(150, block=64)
    lists.partial_indices[...] += 7
    with pytest.raises(sparsec.InvalidPattern, match="block row 0 has 7 as a partial block, of 3 columns"):
        jax.jit(jax.grad(lambda q: squares(q, k, v, pattern=lists)))(q)
