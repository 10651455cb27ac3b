# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over parts of the keys, merged, against a softmax over all keys in double precision."""

import numpy as np
import pytest

from sparsec import InvalidArgument

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
sj = pytest.importorskip("sparsec.jax")
pytestmark = pytest.mark.jax


def arrays():
    random = np.random.default_rng(7)
    return [random.normal(size=(2, 4, size, 64)).astype(np.float16) for size in (70, 150, 150)]


def exact(q, k, v):
    s = np.einsum("bhqd,bhkd->bhqk", *(each.astype(np.float64) for each in (q, k))) / 8
    lse = np.log(np.exp(s).sum(-1))
    return np.einsum("bhqk,bhkd->bhqd", np.exp(s - lse[..., None]), v.astype(np.float64)), lse


@pytest.mark.parametrize("layout", ["bhsd", "bshd"])
def test_parts_of_keys(layout):
    q, k, v = arrays()

    def ordered(array):
        return jnp.asarray(array) if layout == "bhsd" else jnp.asarray(array).swapaxes(1, 2)

    @jax.jit
    def whole(q, k, v):
        halves = ((each[:, :, :64], each[:, :, 64:]) for each in (k, v))
        parts = [
            sj.attention(ordered(q), ordered(keys), ordered(values), layout=layout, return_lse=True)
            for keys, values in zip(*halves, strict=True)
        ]
        return sj.merge(*parts, layout=layout)

    o, lse = whole(q, k, v)
    exact_o, exact_lse = exact(q, k, v)
    assert (o.dtype, lse.dtype) == (jnp.float16, jnp.float32)
    np.testing.assert_allclose(ordered(exact_o), np.asarray(o, np.float64), atol=2.0**-9)
    np.testing.assert_allclose(lse, exact_lse, atol=1e-5)


def test_rows_without_keys():
    """They have gradients of 0, whatever the gradient of their lse is."""
    o, empty = jnp.zeros((1, 1, 2, 64), jnp.float16), jnp.full((1, 1, 2), -jnp.inf)
    merged, lse = sj.merge((o, empty), (o + 3, empty.at[..., 1].set(1.0)))
    assert (merged[0, 0, 1] == 3).all()
    assert (merged[0, 0, 0] == 0).all()
    assert lse.tolist() == [[[-np.inf, 1.0]]]
    of_lse = jax.grad(lambda lse: sj.merge((o, empty), (o, lse))[1].sum())(empty)
    assert of_lse.tolist() == [[[0.0, 0.0]]]


def test_bad_parts_are_refused():
    with pytest.raises(InvalidArgument, match=r"part 1: expects lse of shape \(1, 2, 3\), but got \(1, 3, 2\)"):
        sj.merge(*((jnp.zeros((1, 2, 3, 64)), jnp.zeros(shape)) for shape in ((1, 2, 3), (1, 3, 2))))
