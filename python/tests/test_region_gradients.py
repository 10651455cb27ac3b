# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of traced functions, against central differences of NumPy functions in double precision."""

import numpy as np
import pytest
from test_tracing import FLOATS

from sparsec import tracing
from sparsec.region_steps import steps_of
from sparsec.tracing import Graph, maximum, trace, where

torch = pytest.importorskip("torch")
region_values = pytest.importorskip("sparsec.torch.region_values")
region_gradients = pytest.importorskip("sparsec.torch.region_gradients")
pytestmark = pytest.mark.torch

STEP = 1e-4
# Results that are rounded have the gradient of the number that is rounded. The others have random integers as operands.
SMOOTH = [name for name in FLOATS if name not in ("bfloat16", "float16", "infinite constant")]


def gradients(function, arguments, arrays=(), types=None, of_result=None, **values):
    region = trace(function, [(name, "f32") for name in arguments] if types is None else types, "f32",
                   Graph(integers=types is not None))  # fmt: skip
    traced = region_values.TracedFunction(steps_of(region.nodes, arrays))
    found = traced.values({name: torch.as_tensor(value) for name, value in values.items()}, arrays)
    of_arrays = {number: torch.zeros(array.shape) for number, array in enumerate(arrays)}
    of_result = torch.ones_like(found[-1]) if of_result is None else of_result
    return region_gradients.gradients(traced, found, of_result, of_arrays), of_arrays


@pytest.mark.parametrize("name", SMOOTH)
def test_operations(name):
    traced, oracle = FLOATS[name]
    random = np.random.default_rng(1)
    acc = random.normal(scale=2, size=(16, 40))
    b = random.uniform(0.1, 3, size=(16, 40))
    found, _ = gradients(traced, ["acc", "b"], acc=np.float32(acc), b=np.float32(b))
    for argument, more in (("acc", (STEP, 0)), ("b", (0, STEP))):
        slope = (oracle(acc + more[0], b + more[1]) - oracle(acc - more[0], b - more[1])) / (2 * STEP)
        got = found.get(argument, torch.zeros(()))
        np.testing.assert_allclose(np.broadcast_to(got.numpy(), acc.shape), slope, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_rounding_hands_gradients_on(name):
    b = np.float32(np.random.default_rng(2).uniform(1, 2, 50))
    found, _ = gradients(FLOATS[name][0], ["acc", "b"], acc=b, b=b)
    assert sum(each.sum() for each in found.values()) == 50


def test_equal_operands_share_a_gradient():
    one = np.ones(3, np.float32)
    found, _ = gradients(lambda a, b: maximum(a, b), ["a", "b"], a=one, b=one)
    assert (found["a"] == 0.5).all()
    assert (found["b"] == 0.5).all()


PLACES = [("score", "f32"), *((each, "i32") for each in ("b", "h", "q_idx", "kv_idx"))]


def test_elements_of_arrays():
    """An element that is read several times gets the sum; one whose index is out of range stands for the nearest."""
    table, factors = torch.arange(6.0).view(2, 3), torch.tensor([3.0, 5.0], dtype=torch.float16)
    keys = torch.arange(4, dtype=torch.int32)
    zero = torch.zeros((), dtype=torch.int32)
    score = torch.tensor([1.0, 2.0, 3.0, 4.0])
    arguments = {"b": zero, "h": torch.ones_like(zero), "q_idx": zero, "kv_idx": keys, "score": score}
    score_mod = lambda s, b, h, q, k: s * factors[h] + table[h, k - 1]  # noqa: E731
    found, of_arrays = gradients(score_mod, [], [table, factors], PLACES, **arguments)
    of_table, of_factors = of_arrays[0], of_arrays[1]
    assert (found["score"] == 5).all()
    assert of_table.tolist() == [[0, 0, 0], [2, 1, 1]]
    assert of_factors.tolist() == [0, 10]


def test_what_does_not_depend_on_the_score():
    table = torch.ones(4)
    zero = torch.zeros((), dtype=torch.int32)
    places = dict.fromkeys(("b", "h", "q_idx"), zero)
    keys = torch.arange(4, dtype=torch.int32)
    found, of_arrays = gradients(lambda s, b, h, q, k: where(s > 0, table[k], 0), [], [table], PLACES,
                                 score=torch.tensor([1.0, -1.0, 1.0, -1.0]), kv_idx=keys, **places)  # fmt: skip
    assert found == {}
    assert of_arrays[0].tolist() == [1, 0, 1, 0]


def test_a_gradient_of_zero_stays_zero():
    """The square root has an infinite derivative at 0, and its logarithm has no finite value there."""
    a = torch.tensor([0.0, 4.0])
    found, _ = gradients(lambda a, b: b * tracing.log(tracing.sqrt(a)), ["a", "b"], of_result=a / 4, a=a, b=a)
    assert found["a"].tolist() == [0, 0.5]
    assert found["b"].tolist() == [0, pytest.approx(np.log(2))]
