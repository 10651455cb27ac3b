# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions that torch and JAX evaluate, against what NumPy and Python make of the functions."""

import functools

import numpy as np
import pytest
from test_tracing import DIVISORS, FLOATS, INTEGERS, NUMERATORS

from sparsec import programs, tracing
from sparsec.region_steps import steps_of
from sparsec.tracing import Graph, trace

PLACES = [(each, "i32") for each in ("b", "h", "q_idx", "kv_idx")]


@pytest.fixture(params=[pytest.param(each, marks=getattr(pytest.mark, each)) for each in ("torch", "jax")])
def evaluate(request):
    """Evaluates nodes of arrays of NumPy with a library."""
    module, function, name, convert = {
        "torch": ("sparsec.torch.region_values", "TracedFunction", "torch", "as_tensor"),
        "jax": ("sparsec.jax.mask_values", "Mask", "jax.numpy", "asarray"),
    }[request.param]
    function = getattr(pytest.importorskip(module), function)
    convert = getattr(pytest.importorskip(name), convert)

    def evaluate(nodes, traced, arrays, values):
        region = function(steps_of(nodes, traced))
        return np.asarray(
            region.evaluate({name: convert(each) for name, each in values.items()}, list(map(convert, arrays)))
        )

    return evaluate


@pytest.fixture
def evaluated(evaluate):
    return functools.partial(_evaluated, evaluate)


def _evaluated(evaluate, function, arguments, result_type, arrays=(), **values):
    region = trace(function, arguments, result_type, Graph(integers="q_idx" in values))
    return evaluate(region.nodes, arrays, arrays, values)


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name, evaluated):
    traced, oracle = FLOATS[name]
    random = np.random.default_rng(1)
    acc = random.normal(scale=2, size=(16, 40)).astype(np.float16).astype(np.float64)
    acc[0, :4] = [0, 1, -1, 0.5]
    b = random.uniform(0.1, 3, size=(16, 40))
    values = {"acc": acc.astype(np.float32), "b": b.astype(np.float32)}
    got = evaluated(traced, [("acc", "f32"), ("b", "f32")], "f32", **values)
    np.testing.assert_allclose(np.broadcast_to(got, acc.shape), oracle(acc, b), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name, evaluated):
    function = INTEGERS[name]
    places = np.arange(len(NUMERATORS), dtype=np.int32)
    expected = [function(int(n), int(d), int(q)) for q, n, d in zip(places, NUMERATORS, DIVISORS, strict=True)]
    zero = np.zeros((), np.int32)
    got = evaluated(
        lambda b, h, q_idx, kv_idx: function(NUMERATORS[q_idx], DIVISORS[q_idx], q_idx),
        PLACES, "f32", [NUMERATORS, DIVISORS], b=zero, h=zero, q_idx=places, kv_idx=zero,
    )  # fmt: skip
    np.testing.assert_array_equal(got, expected)


def test_division_by_zero_raises_nothing(evaluated):
    """A mask may divide by zero for an element that is not visible."""
    q = np.array([-7, 0, 7], np.int32)
    for function in (lambda b, h, q_idx, kv_idx: q_idx // kv_idx == 7, lambda b, h, q_idx, kv_idx: q_idx % kv_idx == 7):
        zeros = np.zeros(3, np.int32)
        assert not evaluated(function, PLACES, "i1", b=zeros, h=zeros, q_idx=q, kv_idx=zeros).any()


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int32, np.int64, np.float32, np.float16])
def test_arrays_of_all_types(dtype, evaluate):
    table = np.array([[0, 1, 3], [2, 0, 1]]).astype(dtype)
    other = table.copy()
    other[0, 0] = 1
    q, k = np.arange(2, dtype=np.int32)[:, None], np.arange(3, dtype=np.int32)

    def function(b, h, q_idx, kv_idx):
        value = table[q_idx, kv_idx]
        return value if dtype is np.bool_ else value > 0

    for array in (table, other):
        region = trace(function, PLACES, "i1", Graph(integers=True))
        places = {"b": np.int32(0), "h": np.int32(0), "q_idx": q, "kv_idx": k}
        np.testing.assert_array_equal(evaluate(region.nodes, [table], [array], places), array > 0)


def test_the_low_bits_of_wide_integers_count(evaluated):
    ids = np.array([5, 5 + 2**32, 6])
    zero, places = np.zeros((), np.int32), np.arange(3, dtype=np.int32)
    got = evaluated(
        lambda b, h, q_idx, kv_idx: ids[kv_idx] == 5, PLACES, "i1", [ids], b=zero, h=zero, q_idx=zero, kv_idx=places
    )
    np.testing.assert_array_equal(got, [True, True, False])


def test_indices_that_are_out_of_range_read_the_nearest_element(evaluated):
    """As in kernels on GPUs: torch would end the CUDA context, and takes -1 for the last element."""
    allowed = np.array([True, False, True])
    zero, keys = np.zeros((), np.int32), np.arange(5, dtype=np.int32)
    values = {"b": zero, "h": zero, "q_idx": zero, "kv_idx": keys}
    got = evaluated(lambda b, h, q_idx, kv_idx: allowed[kv_idx - 1], PLACES, "i1", [allowed], **values)
    np.testing.assert_array_equal(got, [True, True, False, True, True])


def test_fma_rounds_once(evaluated):
    a = np.float32(1 + 2**-12)
    got = evaluated(
        lambda a, b: tracing.fma(a, a, b), [("a", "f32"), ("b", "f32")], "f32", a=a, b=np.float32(-1 - 2**-11)
    )
    assert got == 2.0**-24


@pytest.mark.torch
def test_functions_are_kept_without_their_arrays():
    region_values = pytest.importorskip("sparsec.torch.region_values")
    table = np.ones(4, np.int32)
    program = programs.attention(64, mask_mod=lambda b, h, q_idx, kv_idx: table[kv_idx] == 1)
    region_values.remember("a text", program)
    kept = region_values.functions_of("a text")
    assert not any(step.attribute is table for step in kept.mask.steps)
    assert [step.op for step in kept.mask.steps].count("sparsec.element") == 1
    region_values.remember("a text", programs.attention(64, mask_mod=lambda b, h, q_idx, kv_idx: table[kv_idx] == 1))
    assert region_values.functions_of("a text") is kept
    assert kept.score is None
    region_values.remember("another text", programs.attention(64))
    assert region_values.functions_of("another text") == (None, None)
