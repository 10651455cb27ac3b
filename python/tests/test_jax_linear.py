# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse linear layers on arrays of JAX, against NumPy in double precision."""

import math
import threading
from functools import partial

import numpy as np
import pytest

import sparsec
from sparsec import tracing

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
test_util = pytest.importorskip("jax.test_util")
sj = pytest.importorskip("sparsec.jax")
linear_module = pytest.importorskip("sparsec.jax.linear")
pytestmark = pytest.mark.jax
# JAX raises the second where XLA runs the launch in the thread of the call.
FAILED_LAUNCH = (jax.errors.JaxRuntimeError, ValueError)

M, K = 40, 72  # which cut blocks of 16
UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}
erf = np.vectorize(math.erf)
normal = np.vectorize(lambda s: math.exp(-s * s / 2) / math.sqrt(2 * math.pi))
EXACT = {
    None: lambda s: s,
    "gelu": lambda s: s / 2 * (1 + erf(s / math.sqrt(2))),
    "relu": lambda s: np.maximum(s, 0),
    "silu": lambda s: s / (1 + np.exp(-s)),
}
DERIVATIVES = {
    None: np.ones_like,
    "gelu": lambda s: (1 + erf(s / math.sqrt(2))) / 2 + s * normal(s),
    "relu": lambda s: (s > 0).astype(float),
    "silu": lambda s: (1 + s * (1 - 1 / (1 + np.exp(-s)))) / (1 + np.exp(-s)),
}


def array(*shape, dtype="float16", seed=1):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def quarters(*shape, seed=1, dtype="float16"):
    """Multiples of 1/4, so that sums of a few dozen products are exact in f16."""
    return jnp.asarray(np.random.default_rng(seed).integers(-4, 5, shape) / 4, dtype)


def matrix(dtype="f16", block=16, seed=0, shape=(M, K), values=None):
    """Lists of NumPy, and values of JAX."""
    random = np.random.default_rng(seed)
    keep = sparsec.prune.random(shape, block, 0.5, seed)
    w = sparsec.BSR.from_dense(random.standard_normal(shape), block, keep, dtype)
    return w.with_values(jnp.asarray(w.values) if values is None else values(*w.values.shape))


def with_leaves(w):
    """The matrix with lists of JAX."""
    return sparsec.BSR(jnp.asarray(w.row_ptr), jnp.asarray(w.col_idx), jnp.asarray(w.values), w.shape)


def exact(a):
    return np.asarray(a, np.float64)


def dense_of(w):
    return exact(w.to_dense())


def expected(x, w, bias=None, activation=None, residual=None):
    """The result, and a bound on its error before it is rounded: that of f32 sums."""
    s = exact(x) @ dense_of(w).T + (0 if bias is None else exact(bias))
    magnitude = np.abs(exact(x)) @ np.abs(dense_of(w)).T + np.abs(s)
    y = EXACT[activation](s) + (0 if residual is None else exact(residual))
    return y, 4e-6 * (magnitude + np.abs(y))


def assert_near(result, exact_result, bound, dtype, roundings=1):
    assert result.dtype == dtype
    assert result.shape == exact_result.shape
    error = np.abs(exact(result) - exact_result)
    assert (error <= roundings * UNIT[str(jnp.dtype(dtype))] * np.abs(exact_result) + bound + 2.0**-24).all()


# ---- Results


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("activation", EXACT)
@pytest.mark.parametrize("transform", [jax.jit, lambda function: function])
def test_linear(dtype, activation, transform):
    w = matrix({"bfloat16": "bf16", "float16": "f16"}[dtype])
    x, bias, residual = array(2, 5, K, dtype=dtype), array(M, dtype="float32"), array(2, 5, M, dtype=dtype, seed=3)
    for operands in ((), (bias,), (None, residual), (bias, residual)):
        bias, residual = (*operands, None, None)[:2]
        y = transform(lambda x, w, b, r: sj.linear(x, w, b, activation, r))(x, w, bias, residual)
        assert_near(y, *expected(x, w, bias, activation, residual), dtype)


@pytest.mark.parametrize("block", [(16, 16), (32, 16), (16, 48)])
@pytest.mark.parametrize("shape", [(K,), (1, K), (0, K), (3, 1, 7, K)])
def test_shapes(block, shape):
    w = matrix(block=block)
    for each in (w, with_leaves(w)):
        assert_near(sj.linear(array(*shape), each), *expected(array(*shape), w), "float16")


def test_activation_that_is_a_function():
    x, w, factor = array(5, K), matrix(), jnp.float32(3)
    y = jax.jit(lambda f: sj.linear(x, w, None, lambda s: tracing.maximum(s, 0.0) * f))(factor)
    s, bound = expected(x, w)
    assert_near(y, 3 * np.maximum(s, 0), 3 * bound, "float16")


def test_numpy_arrays_are_taken():
    w = sparsec.BSR.from_dense(np.ones((M, K)), 16, None, "bf16")
    x = np.asarray(array(5, K, dtype="bfloat16"))
    assert_near(sj.linear(x, w, np.ones(M, np.float32)), *expected(x, w, np.ones(M)), "bfloat16")


# ---- Gradients


def loss(weights, activation, x, w, bias, residual):
    return (sj.linear(x, w, bias, activation, residual).astype(jnp.float32) * weights).sum()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("activation", EXACT)
def test_gradients(dtype, activation):
    w = matrix({"bfloat16": "bf16", "float16": "f16"}[dtype])
    x, bias, residual = array(6, K, dtype=dtype), array(M, dtype="float32"), array(6, M, dtype="bfloat16", seed=3)
    weights = quarters(6, M, seed=4, dtype="float32")
    gradient = jax.jit(jax.grad(partial(loss, weights, activation), (0, 1, 2, 3)))
    of_x, of_w, of_bias, of_residual = gradient(x, w, bias, residual)

    s = exact(x) @ dense_of(w).T + exact(bias)
    g = exact(weights) * DERIVATIVES[activation](s)
    # s is rounded before the derivative is taken, and so is its gradient; no second derivative is above 1.2.
    unit = UNIT[dtype]
    off = np.zeros_like(g) if activation is None else np.abs(weights) * unit * (1.2 * np.abs(s) + 2) + 1e-6
    off = np.where((activation == "relu") & (np.abs(s) < 1e-3), np.abs(weights), off)
    stored = w.with_values(jnp.ones_like(w.values)).to_dense() == 1
    assert_near(of_x, g @ dense_of(w), off @ np.abs(dense_of(w)) + 1e-4, dtype)
    dense = of_w.to_dense()
    assert_near(dense, np.where(stored, g.T @ exact(x), 0), off.T @ np.abs(exact(x)) + 1e-4, dtype)
    assert np.abs(exact(of_bias) - g.sum(0)).max() <= off.sum(0).max() + 1e-5
    assert (exact(of_residual) == exact(weights)).all()


@pytest.mark.parametrize("x", [(5, K), (2, 3, K)])
def test_check_grads(x):
    """All is exact in f16, and linear in each argument, so that differences of any step are the gradient."""
    w = matrix(values=partial(quarters, seed=2))
    arguments = quarters(*x), quarters(M, seed=3, dtype="float32"), quarters(*x[:-1], M, seed=4)

    def function(x, bias, residual, values):
        return sj.linear(x, w.with_values(values), bias, None, residual).astype(jnp.float32)

    for place, argument in enumerate((*arguments, w.values)):

        def of_one(argument, place=place):
            given = [*arguments, w.values]
            given[place] = argument
            return function(*given)

        test_util.check_grads(of_one, (argument,), 1, modes=["rev"], atol=0.05, rtol=0.05, eps=1.0)


def test_gradients_that_there_are_not():
    x, w = array(5, K), matrix()
    total = lambda y: y.astype(jnp.float32).sum()  # noqa: E731
    with pytest.raises(NotImplementedError, match="through an activation that is a function: gelu, relu, silu have"):
        jax.grad(lambda x: total(sj.linear(x, w, None, lambda s: s * 2)))(x)
    with pytest.raises(NotImplementedError, match="no gradient of x where the lists of w are arrays of JAX"):
        jax.jit(jax.grad(lambda x, w: total(sj.linear(x, w))))(x, with_leaves(w))
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(lambda x: sj.linear(x, w), (x,), (x,))


def test_gradient_of_values_with_lists_of_jax():
    x, w = array(5, K), matrix()
    total = lambda w: sj.linear(x, w).astype(jnp.float32).sum()  # noqa: E731
    leaves = jax.jit(jax.grad(total, allow_int=True))(with_leaves(w))
    assert (leaves.values == jax.grad(total)(w).values).all()
    assert leaves.row_ptr.dtype == jax.dtypes.float0


def test_gradients_are_deterministic():
    x, w = array(64, K), matrix()
    gradient = jax.jit(jax.grad(partial(loss, 1.0, "gelu"), (0, 1)))
    first = gradient(x, w, None, None)
    for _ in range(5):
        again = gradient(x, w, None, None)
        assert all((a == b).all() for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(again), strict=True))


def test_rematerialized_layers_in_a_scan():
    """Layers of one pattern, whose values are stacked."""
    w = matrix(shape=(K, K))
    stack = jax.tree.map(lambda values: jnp.stack([values, -values, values]), w)
    x = array(5, K)

    def model(stack, x):
        layer = jax.checkpoint(lambda x, w: (sj.linear(x, w, None, "silu"), None))
        return jax.lax.scan(layer, x, stack)[0].astype(jnp.float32).sum()

    def unrolled(stack, x):
        for place in range(3):
            x = sj.linear(x, w.with_values(stack.values[place]), None, "silu")
        return x.astype(jnp.float32).sum()

    got, wanted = (jax.jit(jax.grad(function))(stack, x).values for function in (model, unrolled))
    assert (got == wanted).all()


# ---- Transformations


def launches(function, *arguments):
    """How many launches are in a function, and whether it has a loop."""
    text = str(jax.make_jaxpr(function)(*arguments))
    return text.count("ffi_call["), "scan[" in text or "while[" in text


def test_vmap_folds_tokens():
    w, x, residual, bias = matrix(), array(3, 5, K), array(3, 5, M), array(M, dtype="float32")
    cases = [
        (lambda x, r: sj.linear(x, w, bias, "relu"), (0, None), expected(x, w, bias, "relu")),
        (lambda x, r: sj.linear(x, w, None, None, r), (0, 0), expected(x, w, None, None, residual)),
        (lambda x, r: sj.linear(x, w, None, None, r), (0, None), expected(x, w, None, None, residual[0])),
        (lambda x, r: sj.linear(x, w, None, None, r), (None, 0), expected(x[0], w, None, None, residual)),
    ]
    for function, axes, (y, bound) in cases:
        given = [each if axis == 0 else each[0] for each, axis in zip((x, residual), axes, strict=True)]
        batched = jax.vmap(function, axes)
        assert_near(batched(*given), np.broadcast_to(y, (3, 5, M)), bound, "float16")
        assert launches(batched, *given) == (1, False)
    twice = jax.vmap(jax.vmap(lambda x: sj.linear(x, w)), 1, 1)
    assert_near(twice(x), *expected(x, w), "float16")
    assert launches(twice, x) == (1, False)


def test_vmap_over_values_and_bias_is_a_loop():
    w, x = matrix(), array(5, K)
    values, biases = jnp.stack([w.values, 2 * w.values]), array(2, M, dtype="float32")
    function = jax.vmap(lambda values, bias: sj.linear(x, w.with_values(values), bias))
    y = function(values, biases)
    for place in range(2):
        assert_near(y[place], *expected(x, w.with_values(values[place]), biases[place]), "float16")
    assert launches(function, values, biases) == (1, True)


def test_gradients_of_each_example():
    w, x = matrix(), array(4, 5, K)
    gradient = jax.vmap(jax.grad(partial(loss, 1.0, None), (0, 1)), (0, None, None, None))
    of_x, of_w = gradient(x, w, None, None)
    for place in range(4):
        one_x, one_w = jax.grad(partial(loss, 1.0, None), (0, 1))(x[place], w, None, None)
        assert (of_x[place] == one_x).all()
        assert (of_w.values[place] == one_w.values).all()


@pytest.mark.parametrize("check_vma", [True, False])
def test_shard_map(check_vma):
    """Tokens on 4 devices. The gradient of what all devices have is the sum over them."""
    mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    everywhere, split = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec("d")
    x, w, bias = quarters(8, 5, K), matrix(values=quarters), quarters(M, seed=3, dtype="float32")
    shards = partial(jax.shard_map, mesh=mesh, check_vma=check_vma)
    y = jax.jit(shards(sj.linear, in_specs=(split, everywhere, everywhere), out_specs=split))(x, w, bias)
    assert (y == sj.linear(x, w, bias)).all()
    if check_vma:
        gradient = jax.grad(lambda x, w, bias: loss(0.25, None, x, w, bias, None), (0, 1, 2))
        specs = split, everywhere, everywhere
        of_shards = jax.jit(shards(gradient, in_specs=specs, out_specs=specs))(x, w, bias)
        of_one = gradient(x, w, bias)
        assert all((a == b).all() for a, b in zip(jax.tree.leaves(of_shards), jax.tree.leaves(of_one), strict=True))


def test_threads():
    w, x = matrix(), array(64, K)
    gradient = jax.jit(jax.value_and_grad(partial(loss, 1.0, "gelu"), (0, 1)))
    wanted = gradient(x, w, None, None)
    different = []

    def work():
        for _ in range(50):
            for a, b in zip(jax.tree.leaves(gradient(x, w, None, None)), jax.tree.leaves(wanted), strict=True):
                if not (a == b).all():
                    different.append(a)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert different == []


# ---- Trees


def test_trees():
    w = matrix()
    leaves, tree = jax.tree.flatten(w)
    assert leaves == [w.values]
    assert [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(w)] == [".values"]
    again = jax.tree.unflatten(tree, leaves)
    assert (again.shape, again.block, again.values) == (w.shape, w.block, w.values)
    assert (again.row_ptr == w.row_ptr).all()
    assert (again.col_idx == w.col_idx).all()
    moved = jax.tree.map(lambda value, gradient: value - gradient, w, jax.tree.map(jnp.ones_like, w))
    assert (moved.values == w.values - 1).all()
    assert len(jax.tree.leaves(with_leaves(w))) == 3
    assert jax.tree.structure(with_leaves(w)) == jax.tree.structure(with_leaves(matrix()))
    names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(with_leaves(w))]
    assert names == [".row_ptr", ".col_idx", ".values"]


def test_patterns_are_compared_by_contents():
    w, same, other = matrix(), matrix(), matrix(seed=5)
    assert jax.tree.structure(w) == jax.tree.structure(same)
    assert hash(jax.tree.structure(w)) == hash(jax.tree.structure(same))
    assert jax.tree.structure(w) != jax.tree.structure(other)
    assert jax.tree.structure(w) != jax.tree.structure(with_leaves(w))


def test_constants_are_copies():
    """A change of the lists after the first use changes nothing: they are read once."""
    w = matrix()
    structure = jax.tree.structure(w)
    before = w.col_idx.copy()
    w.col_idx[:] = 0
    assert jax.tree.structure(w) == structure
    assert (jax.tree.map(lambda each: each, w).col_idx == before).all()


def test_nothing_is_traced_again():
    """New closures, and equal patterns in other objects, are no new computation. Another pattern is one."""
    x, sizes = array(5, K), []
    for seed in (0, 0, 0, 5):
        y = sj.linear(x, matrix(seed=seed), None, lambda s: tracing.maximum(s, 0.0) + 1.25)
        assert y.shape == (5, M)
        sizes.append(linear_module._apply_alone._cache_size())
    assert [after - sizes[0] for after in sizes] == [0, 0, 0, 1]


def test_lists_of_jax_are_no_constants():
    """One computation serves all patterns with as many blocks."""
    function = jax.jit(sj.linear)
    first = matrix()
    columns = np.array(first.col_idx)
    for row in range(3):
        entries = slice(first.row_ptr[row], first.row_ptr[row + 1])
        columns[entries] = np.sort((columns[entries] + 1) % 5)
    other = sparsec.BSR(first.row_ptr, columns, first.values, first.shape)
    for w in (first, other):
        assert_near(function(array(5, K), with_leaves(w)), *expected(array(5, K), w), "float16")
    assert function._cache_size() == 1


# ---- Refusals


@pytest.mark.parametrize(("change", "message"), [
    ({"x": "text"}, "x: expects an array, but got str"),
    ({"x": array(5, K - 1)}, rf"x: expects {K} elements in the last dimension, but got shape \(5, {K - 1}\)"),
    ({"x": jnp.float16(1)}, rf"x: expects {K} elements in the last dimension, but got shape \(\)"),
    ({"w": np.ones((M, K))}, "w: expects a sparsec.BSR, but got ndarray"),
    ({"x": array(5, K, dtype="bfloat16")}, "w: expects values of bfloat16, the type of x, but got float16"),
    ({"bias": array(K)}, rf"bias: expects shape \({M},\), but got \({K},\)"),
    ({"bias": 3}, "bias: expects an array, but got int"),
    ({"residual": array(5, K)}, rf"residual: expects shape \(5, {M}\), but got \(5, {K}\)"),
    ({"activation": "tanh"}, "activation: expects gelu, relu, silu or a function, but got 'tanh'"),
])  # fmt: skip
def test_refusals(change, message):
    arguments = {"x": array(5, K), "w": matrix(), **change}
    with pytest.raises(sparsec.InvalidArgument, match=message):
        sj.linear(**arguments)


def test_other_types_are_refused():
    w = matrix(dtype="f32")
    with pytest.raises(sparsec.InvalidArgument, match="dtype is 'f32', but expects bf16 or f16"):
        sj.linear(array(5, K, dtype="float32"), w)
    wide = sparsec.BSR.of_leaves(w.row_ptr.astype(np.int64), w.col_idx, matrix().values, w.shape, w.block)
    with pytest.raises(sparsec.InvalidArgument, match="row_ptr: expects int32, but got int64"):
        sj.linear(array(5, K), wide)


def test_wrong_lists_are_refused():
    w = matrix()
    wrong = sparsec.BSR(w.row_ptr, w.col_idx + 3, w.values, w.shape)
    with pytest.raises(sparsec.InvalidPattern, match=r"full.indices\[\d+\] \(block row"):
        sj.linear(array(5, K), wrong)
    with pytest.raises(FAILED_LAUNCH, match=r"sparsec: blocks: expects full.indices\[\d+\] \(block row"):
        jax.jit(sj.linear)(array(5, K), with_leaves(wrong)).block_until_ready()
    with pytest.raises(sparsec.InvalidArgument, match=r"row_ptr: expects shape \(4,\), but got \(3,\)"):
        jax.jit(lambda starts: sparsec.BSR(starts, w.col_idx, jnp.asarray(w.values), w.shape))(w.row_ptr[:3])
