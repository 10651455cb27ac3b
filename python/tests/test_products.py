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
