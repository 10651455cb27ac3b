# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks by magnitude and at random."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsec
from sparsec import prune


def norms_of(a, block):
    """Frobenius norms in float64, block by block."""
    rows, columns = (-(-size // side) for size, side in zip(a.shape, block, strict=True))
    (r, c), exact = block, a.astype(np.float64)
    return np.array([[np.linalg.norm(exact[i * r : (i + 1) * r, j * c : (j + 1) * c]) for j in range(columns)]
                     for i in range(rows)]).reshape(rows, columns)  # fmt: skip


@st.composite
def cases(draw):
    shape, block = (
        (draw(st.integers(1, 30)), draw(st.integers(1, 30))),
        (draw(st.integers(1, 7)), draw(st.integers(1, 7))),
    )
    return np.random.default_rng(draw(st.integers(0, 2**32))).standard_normal(shape), block, draw(st.floats(0, 1))


@given(cases())
def test_magnitude_keeps_the_largest(case):
    a, block, density = case
    norms = norms_of(a, block)
    mask = prune.magnitude(a, block, density)
    assert mask.dtype == np.bool_
    assert abs(mask.sum() - density * norms.size) <= 0.5
    assert norms[mask].min(initial=np.inf) >= norms[~mask].max(initial=0)


@given(cases())
def test_magnitude_per_row_keeps_the_largest_of_each_row(case):
    a, block, density = case
    norms = norms_of(a, block)
    mask = prune.magnitude(a, block, density, per_row=True)
    for row, kept in zip(norms, mask, strict=True):
        assert abs(kept.sum() - density * row.size) <= 0.5
        assert row[kept].min(initial=np.inf) >= row[~kept].max(initial=0)


@given(cases(), st.integers(0, 9))
def test_top_k_per_row(case, k):
    a, block, _ = case
    norms = norms_of(a, block)
    mask = prune.top_k_per_row(a, block, k)
    for row, kept in zip(norms, mask, strict=True):
        assert kept.sum() == min(k, row.size)
        assert row[kept].min(initial=np.inf) >= row[~kept].max(initial=0)


def test_equal_norms_keep_the_first():
    np.testing.assert_array_equal(prune.magnitude(np.ones((4, 6)), 2, 0.5), [[True, True, True], [False] * 3])
    np.testing.assert_array_equal(prune.top_k_per_row(np.ones((4, 6)), 2, 2), [[True, True, False]] * 2)


def test_low_precision_norms_do_not_overflow():
    a = np.zeros((4, 4), np.float16)
    a[:2, 2:], a[2:, :2] = 60000, 50000
    for each in (a, a.astype(ml_dtypes.bfloat16)):
        np.testing.assert_array_equal(prune.magnitude(each, 2, 0.25), [[False, True], [False, False]])


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 9), st.floats(0, 1), st.integers(0, 2**32))
def test_random_keeps_the_fraction(rows, columns, block, density, seed):
    mask = prune.random((rows, columns), block, density, seed)
    assert mask.shape == (-(-rows // block), -(-columns // block))
    assert abs(mask.sum() - density * mask.size) <= 0.5
    np.testing.assert_array_equal(mask, prune.random((rows, columns), block, density, seed))


def test_random_depends_on_the_seed_and_reaches_all_blocks():
    masks = np.stack([prune.random((8, 8), 2, 0.25, seed) for seed in range(200)])
    assert masks.any(axis=0).all()
    assert not masks.all(axis=0).any()


def test_shapes_without_blocks():
    assert prune.magnitude(np.zeros((0, 8)), 2, 0.5).shape == (0, 4)
    assert prune.magnitude(np.zeros((8, 0)), 2, 0.5, per_row=True).shape == (4, 0)
    assert prune.top_k_per_row(np.zeros((8, 0)), 2, 3).shape == (4, 0)


@pytest.mark.parametrize(("call", "message"), [
    (lambda: prune.magnitude(np.ones((4, 4)), 2, 1.1), "density: expects 0 to 1, but got 1.1"),
    (lambda: prune.magnitude(np.ones((4, 4)), 2, -0.1, per_row=True), "density: expects 0 to 1, but got -0.1"),
    (lambda: prune.random((4, 4), 2, float("nan")), "density: expects 0 to 1, but got nan"),
    (lambda: prune.top_k_per_row(np.ones((4, 4)), 2, -1), "k: expects 0 or more, but got -1"),
    (lambda: prune.magnitude(np.ones(4), 2, 0.5), "a: expects a matrix, but got rank 1"),
    (lambda: prune.magnitude(np.full((4, 4), np.nan), 2, 0.5), "a: expects no NaN"),
    (lambda: prune.random((4, 4), (2, -2), 0.5), "block: expects one or two positive numbers"),
])  # fmt: skip
def test_refusals(call, message):
    with pytest.raises(sparsec.InvalidArgument, match=message):
        call()
