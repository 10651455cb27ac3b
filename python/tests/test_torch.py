# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse layers on torch CPU tensors."""

import numpy as np
import pytest

import conftest
import sparsec
from sparsec import tracing

torch = pytest.importorskip("torch")
layers = pytest.importorskip("sparsec.torch")
library = pytest.importorskip("sparsec.torch.library")
pytestmark = pytest.mark.torch

M, K = 80, 64
ULP = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
EXACT = {
    None: lambda s: s,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
}


def weight(dtype, density=0.5, seed=0):
    """A block-sparse weight of tensors, and the dense one in double."""
    a = np.random.default_rng(seed).standard_normal((M, K))
    host = sparsec.BSR.from_dense(a, 16, sparsec.prune.random((M, K), 16, density, seed), "f32")
    parts = [torch.from_numpy(array) for array in (host.row_ptr, host.col_idx, host.values)]
    w = sparsec.BSR(parts[0], parts[1], parts[2].to(dtype), (M, K))
    return w, torch.from_numpy(sparsec.BSR(*parts[:2], w.values.float(), (M, K)).to_dense().astype(np.float64))


def tensor(*shape, dtype=torch.float32, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def assert_close(y, exact, dtype):
    """Within rounding to the type, and f32 sums of K products of N(0, 1)."""
    assert y.dtype == dtype
    assert y.shape == exact.shape
    assert ((y.double() - exact).abs() <= ULP[dtype] * exact.abs() + 1e-4).all()


@pytest.mark.parametrize("dtype", ULP)
@pytest.mark.parametrize("activation", EXACT)
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("has_residual", [False, True])
def test_linear(dtype, activation, has_bias, has_residual):
    w, dense = weight(dtype)
    x, bias, residual = tensor(5, K, dtype=dtype), tensor(M), tensor(5, M, dtype=dtype, seed=2)
    exact = EXACT[activation](x.double() @ dense.T + (bias.double() if has_bias else 0))
    exact = exact + residual.double() if has_residual else exact
    y = layers.linear(x, w, bias if has_bias else None, activation, residual if has_residual else None)
    assert_close(y, exact, dtype)


@pytest.mark.parametrize("shape", [(K,), (1, K), (2, 3, K), (2, 0, K), (2, 1, 3, K)])
def test_leading_shapes(shape):
    w, dense = weight(torch.float16)
    x, residual = tensor(*shape, dtype=torch.float16), tensor(*shape[:-1], M, seed=2)
    y = layers.linear(x, w, residual=residual)
    assert_close(y, x.double() @ dense.T + residual.double(), torch.float16)


def test_strided_inputs():
    w, dense = weight(torch.bfloat16)
    x = tensor(2, 3, 2 * K, dtype=torch.bfloat16)[..., K:]
    assert_close(layers.linear(x, w), x.double() @ dense.T, torch.bfloat16)
    transposed = tensor(3, K, 2, dtype=torch.bfloat16).transpose(1, 2)
    assert_close(layers.linear(transposed, w), transposed.double() @ dense.T, torch.bfloat16)


def test_functions_are_activations_and_share_a_kernel():
    w, dense = weight(torch.float16)
    x, bias = tensor(5, K, dtype=torch.float16), tensor(M, dtype=torch.float16)
    before = library.kernel_of.cache_info().misses
    for value in (2.0, -3.0):
        slope = np.array(value, np.float32)
        y = layers.linear(x, w, bias, lambda s, slope=slope: tracing.maximum(s, slope * s))
        s = x.double() @ dense.T + bias.double()
        assert_close(y, torch.maximum(s, value * s), torch.float16)
    assert library.kernel_of.cache_info().misses == before + 1


def test_one_kernel_serves_all_sizes():
    w, _ = weight(torch.float16)
    layers.linear(tensor(1, K, dtype=torch.float16), w)
    before = library.kernel_of.cache_info().misses
    for tokens in range(2, 9):
        layers.linear(tensor(tokens, K, dtype=torch.float16), w)
    assert library.kernel_of.cache_info().misses == before


@pytest.mark.parametrize(("change", "message"), [
    ({"x": np.zeros((5, K), np.float16)}, "x: expects a tensor, but got ndarray"),
    ({"w": torch.eye(4)}, "w: expects a sparsec.BSR, but got Tensor"),
    ({"bias": 3}, "bias: expects a tensor, but got int"),
    ({"x": tensor(5, K - 1, dtype=torch.float16)}, r"x: expects 64 elements in the last dimension, .*\(5, 63\)"),
    ({"x": torch.tensor(1.0)}, r"x: expects 64 elements in the last dimension, but got shape \(\)"),
    ({"x": tensor(5, K)}, "dtype"),
    ({"x": tensor(5, K, dtype=torch.bfloat16)}, "argument 0 'w'"),
    ({"bias": tensor(M - 1)}, "argument 2 'bias'"),
    ({"bias": tensor(M).double()}, "expects elements of f32, .* but got float64"),
    ({"residual": tensor(4, M)}, r"residual: expects shape \(5, 80\), but got \(4, 80\)"),
    ({"activation": "swish"}, "activation: expects gelu, relu, silu or a function, but got 'swish'"),
])  # fmt: skip
def test_refusals(change, message):
    arguments = {"x": tensor(5, K, dtype=torch.float16), "w": weight(torch.float16)[0], "bias": tensor(M)}
    with pytest.raises(sparsec.InvalidArgument, match=message):
        layers.linear(**{**arguments, **change})


def test_tour(capsys):
    """The blocks of code for torch in the tour, in order, which print nothing."""
    namespace = conftest.run_blocks("python.md", "py")[-1]
    exact = namespace["x"].double() @ torch.from_numpy(namespace["w"].to_dense().astype(np.float64)).T
    exact = torch.nn.functional.gelu(exact + namespace["bias"].double())
    assert_close(namespace["y"], exact, torch.bfloat16)
    assert namespace["losses"][-1] < 0.9 * namespace["losses"][0]
    assert [swap.name for swap in namespace["table"]] == ["0", "2"]
    q, k, v = (namespace[name].double() for name in "qkv")
    distance = torch.arange(300)[:, None] - torch.arange(300)
    visible = (distance >= 0) & ((distance <= 100) | (torch.arange(300) < 4))
    scores = q @ k.mT / 8 - namespace["slopes"][:, None, None] * distance
    assert (namespace["o"] - scores.masked_fill(~visible, -torch.inf).softmax(-1) @ v).abs().max() < 5e-3
    assert (namespace["lse"] - scores.masked_fill(~visible, -torch.inf).logsumexp(-1)).abs().max() < 1e-4
    assert (namespace["whole"] - (q @ k.mT / 8).softmax(-1) @ v).abs().max() < 5e-3
    assert namespace["packed"].shape == (400, 8, 64)
    keys, values = (each[namespace["page_table"][3].long()].flatten(0, 1)[:77].double() for each in namespace["pages"])
    scores = torch.einsum("qhgd,khd->qhgk", namespace["query"][3].double().unflatten(1, (2, 4)), keys) / 8
    exact = torch.einsum("qhgk,khd->qhgd", scores.softmax(-1), values).flatten(1, 2)
    assert (namespace["paged"][3] - exact).abs().max() < 5e-3
