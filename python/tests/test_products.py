# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of random shapes, patterns, layouts and strides, against NumPy in double precision."""

import functools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsec

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


@functools.lru_cache
def kernel_of(block, dtype, x_layout, y_layout):
    program = sparsec.spmm(block, dtype, x_layout=x_layout, y_layout=y_layout, result_dtype="f32", name="product")
    return sparsec.compile(program, "host")["product"]


@functools.lru_cache
def sampled_of(block, dtype):
    program = sparsec.sddmm(block, dtype, result_dtype="f32", name="sampled")
    return sparsec.compile(program, "host")["sampled"]


def strided(array, gap):
    """A copy with `gap` unused elements behind each row, which are NaN."""
    wide = np.full((array.shape[0], array.shape[1] + gap), np.nan, array.dtype)
    wide[:, : array.shape[1]] = array
    return wide[:, : array.shape[1]]


@st.composite
def cases(draw):
    """A matrix whose edges may cut blocks, a seed, and the elements between the rows of the other operands."""
    block = draw(st.sampled_from([(16, 16), (32, 16), (16, 48)]))
    dtype = draw(st.sampled_from(sorted(DTYPES)))
    sizes = draw(st.integers(1, 100)), draw(st.integers(1, 100)), draw(st.integers(0, 70))
    seed, density = draw(st.integers(0, 2**32)), draw(st.sampled_from([0.0, 0.2, 0.7, 1.0]))
    rows, depth, _ = sizes
    a = np.random.default_rng(seed).standard_normal((rows, depth))
    w = sparsec.BSR.from_dense(a, block, sparsec.prune.random((rows, depth), block, density, seed), dtype)
    return w, dtype, sizes, seed, draw(st.integers(0, 5))


@pytest.mark.parametrize("x_layout", ["kn", "nk"])
@pytest.mark.parametrize("y_layout", ["mn", "nm"])
@given(case=cases())
def test_product(x_layout, y_layout, case):
    w, dtype, (_, depth, columns), seed, gap = case
    x = np.random.default_rng(seed + 1).standard_normal((depth, columns)).astype(DTYPES[dtype])
    y = kernel_of(w.block, dtype, x_layout, y_layout)(w, strided(x if x_layout == "kn" else x.T, gap))
    y = y if y_layout == "mn" else y.T
    exact_w, exact_x = w.to_dense().astype(np.float64), x.astype(np.float64)
    assert y.shape == (w.shape[0], columns)
    assert (np.abs(y - exact_w @ exact_x) <= 1e-6 * (np.abs(exact_w) @ np.abs(exact_x))).all()


@given(case=cases())
def test_sampled_product(case):
    p, dtype, (rows, columns, depth), seed, gap = case
    generator = np.random.default_rng(seed + 1)
    a = generator.standard_normal((rows, depth)).astype(DTYPES[dtype])
    b = generator.standard_normal((columns, depth)).astype(DTYPES[dtype])
    s = sampled_of(p.block, dtype)(p, strided(a, gap), strided(b, gap))
    exact_a, exact_b = a.astype(np.float64), b.astype(np.float64).T
    stored = p.with_values(np.ones_like(p.values)).to_dense() == 1
    exact, magnitude = (
        np.where(stored, product, 0) for product in (exact_a @ exact_b, np.abs(exact_a) @ np.abs(exact_b))
    )
    assert (np.abs(p.with_values(s).to_dense() - exact) <= 1e-6 * magnitude).all()


# ---- Of two block-sparse matrices


@functools.lru_cache
def block_product_of(block, right_block, dtype, c_layout, pattern):
    program = sparsec.spgemm(
        block, dtype, right_block=right_block, pattern=pattern, c_layout=c_layout, result_dtype="f32", name="product"
    )
    return sparsec.compile(program, "host")["product"]


def random_matrix(shape, block, dtype, density, seed):
    a = np.random.default_rng(seed).standard_normal(shape)
    return sparsec.BSR.from_dense(a, block, sparsec.prune.random(shape, block, density, seed), dtype)


def exact_product(a, b):
    """The product in float64, and the sums of magnitudes."""
    exact_a, exact_b = a.to_dense().astype(np.float64), b.to_dense().astype(np.float64)
    return exact_a @ exact_b, np.abs(exact_a) @ np.abs(exact_b)


def stored(p):
    """Whether the elements of p are in stored blocks."""
    return p.with_values(np.ones_like(p.values)).to_dense() == 1


DENSITIES = st.sampled_from([0.0, 0.2, 0.7, 1.0])
LENGTHS = st.integers(1, 100)


@given(
    st.sampled_from([(16, 16, 16), (32, 16, 48), (272, 16, 16)]),
    st.tuples(LENGTHS, LENGTHS, LENGTHS),
    st.tuples(DENSITIES, DENSITIES, DENSITIES),
    st.sampled_from(sorted(DTYPES)),
    st.integers(0, 2**30),
)
def test_product_of_blocks(sides, sizes, densities, dtype, seed):
    (r, s, t), (m, n, k) = sides, sizes
    a = random_matrix((m, k), (r, s), dtype, densities[0], seed)
    b = random_matrix((k, n), (s, t), dtype, densities[1], seed + 1)
    p = random_matrix((m, n), (r, t), dtype, densities[2], seed + 2)
    exact, magnitude = exact_product(a, b)
    for layout in ("mn", "nm"):
        c = block_product_of((r, s), (s, t), dtype, layout, False)(a, b)
        c = c if layout == "mn" else c.T
        assert c.shape == (m, n)
        assert (np.abs(c - exact) <= 1e-6 * magnitude).all()
    values = block_product_of((r, s), (s, t), dtype, "mn", True)(a, b, p)
    sampled = np.where(stored(p), exact, 0)
    assert (np.abs(p.with_values(values).to_dense() - sampled) <= 1e-6 * magnitude).all()


def test_product_of_blocks_has_a_plan_for_each_combination_of_matrices():
    kernel = block_product_of(16, None, "f16", "mn", True)
    matrices = [random_matrix((50, 50), (16, 16), "f16", density, seed) for seed, density in enumerate((0.2, 0.6, 1.0))]
    for a in matrices:
        for b in matrices:
            for p in matrices:
                exact, magnitude = exact_product(a, b)
                error = np.abs(p.with_values(kernel(a, b, p)).to_dense() - np.where(stored(p), exact, 0))
                assert (error <= 1e-6 * magnitude).all()


def test_product_of_blocks_with_an_epilogue():
    a, b = (random_matrix((48, 48), (16, 16), "f16", 0.5, seed) for seed in (0, 1))
    scale = np.random.default_rng(2).standard_normal(48).astype(np.float32)
    bias = np.random.default_rng(3).standard_normal(48).astype(np.float16)
    exact, magnitude = exact_product(a, b)
    for pattern in (False, True):
        program = sparsec.spgemm(
            16, "f16", pattern=pattern, result_dtype="f32", name="scaled",
            epilogue=lambda acc, scale, bias: acc * scale + bias,
            extras={"scale": sparsec.per_row(), "bias": sparsec.per_column("f16")},
        )  # fmt: skip
        kernel = sparsec.compile(program, "host")["scaled"]
        inputs = (a, b, a, scale, bias) if pattern else (a, b, scale, bias)
        c = a.with_values(kernel(*inputs)).to_dense() if pattern else kernel(*inputs)
        expected = exact * scale[:, None] + bias
        limit = 1e-6 * (magnitude * np.abs(scale[:, None]) + np.abs(bias))
        assert (np.abs(c - (np.where(stored(a), expected, 0) if pattern else expected)) <= limit).all()


def test_reference_of_a_product_of_blocks():
    a, b = random_matrix((40, 70), (32, 16), "f16", 0.5, 0), random_matrix((70, 90), (16, 48), "f16", 0.5, 1)
    p = random_matrix((40, 90), (32, 48), "f16", 0.5, 2)
    exact, magnitude = exact_product(a, b)
    for layout in ("mn", "nm"):
        values, sums = block_product_of((32, 16), (16, 48), "f16", layout, False).reference(a, b)
        values, sums = (values, sums) if layout == "mn" else (values.T, sums.T)
        np.testing.assert_allclose(values, exact, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(sums, magnitude, rtol=1e-12, atol=1e-12)
    values, _ = block_product_of((32, 16), (16, 48), "f16", "mn", True).reference(a, b, p)
    dense = p.with_values(values.astype(np.float32)).to_dense()
    np.testing.assert_allclose(dense, np.where(stored(p), exact, 0), rtol=1e-6, atol=1e-12)


def test_product_of_blocks_of_torch():
    torch = pytest.importorskip("torch")
    a, b = (random_matrix((48, 48), (16, 16), "bf16", 0.5, seed) for seed in (0, 1))
    kernel = block_product_of((16, 16), (16, 16), "bf16", "mn", False)
    c = kernel(a.as_torch(), b.as_torch())
    assert isinstance(c, torch.Tensor)
    np.testing.assert_array_equal(c.numpy(), kernel(a, b))


def test_product_of_blocks_needs_its_plan():
    a = random_matrix((48, 48), (16, 16), "f16", 0.5, 0)
    kernel = block_product_of(16, None, "f16", "mn", False)
    with pytest.raises(sparsec.InvalidArgument, match="plan"):
        kernel(a, a, plan=False)
    np.testing.assert_array_equal(kernel(a, a, plan=kernel.plan(a, a, static=True)), kernel(a, a))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sparsec.spgemm(8), "block is 8, but expects"),
        (lambda: sparsec.spgemm(16, right_block=8), "right_block is 8, but expects"),
        (lambda: sparsec.spgemm((16, 32), right_block=16), "right_block has 16 rows, but expects 32, the columns of"),
        (lambda: sparsec.spgemm(16, "f8E4M3FN"), "dtype is 'f8E4M3FN', but expects bf16 or f16$"),
        (lambda: sparsec.spgemm(16, result_dtype="f8"), "result_dtype is 'f8', but expects bf16 or f16 or f32"),
        (lambda: sparsec.spgemm(16, c_layout="kn"), "c_layout is 'kn', but expects mn or nm"),
        (lambda: sparsec.spgemm(16, pattern=True, c_layout="nm"), "c_layout is 'nm', but expects mn with a pattern"),
        (lambda: sparsec.spgemm(16, m=-1), "m is -1, but expects an int from 0 to 2147418111"),
        (lambda: sparsec.spgemm(16, extras={"a": sparsec.per_row()}), "extras are given without an epilogue"),
    ],
)
def test_refused_products_of_blocks(make, message):
    with pytest.raises(sparsec.InvalidArgument, match=message):
        make()
