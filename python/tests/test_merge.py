# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Merges of partial results of attention, against logaddexp in double precision."""

import numpy as np
import pytest

import sparsec
from sparsec import InvalidArgument

NUMPY = {"f16": np.float16, "f32": np.float32}


def parts(dtypes=("f32", "f32"), shape=(2, 3, 20, 24)):
    generator = np.random.default_rng(3)
    arrays = []
    for dtype in dtypes:
        lse = 4 * generator.standard_normal(shape[:3]).astype(np.float32)
        lse[0, :, generator.integers(20)] = -np.inf
        lse[1, 2] = -np.inf  # of both parts
        arrays += [generator.standard_normal(shape).astype(NUMPY[dtype]), lse]
    return arrays


def exact(o1, lse1, o2, lse2):
    with np.errstate(invalid="ignore"):
        lse = np.logaddexp(lse1.astype(float), lse2)
        weights = [np.nan_to_num(np.exp(each - lse))[..., None] for each in (lse1, lse2)]
    return weights[0] * o1 + weights[1] * o2, lse


def kernel(*options, **named):
    return sparsec.compile(sparsec.merge(*options, **named), targets="host")["merge"]


@pytest.mark.parametrize("head_dim", [None, 24])
@pytest.mark.parametrize(("first", "second", "result"), [
    ("f32", None, None), ("f16", None, "f32"), ("f16", "f32", "f16"), ("f32", "f16", "f16"),
])  # fmt: skip
def test_types(head_dim, first, second, result):
    inputs = parts((first, second or first))
    merge = kernel(head_dim, dtype=first, second_dtype=second, result_dtype=result)
    o, lse = merge(*inputs)
    expected_o, expected_lse = exact(*inputs)
    assert o.dtype == NUMPY[result or first]
    np.testing.assert_allclose(o, expected_o, rtol=0, atol=2**-9 if o.dtype == np.float16 else 2**-20)
    np.testing.assert_allclose(lse, expected_lse, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(merge.reference(*inputs)[0], expected_o, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(merge.reference(*inputs, lse=True)[0], expected_lse, rtol=1e-12, atol=1e-12)


def test_results_may_be_a_part():
    inputs = parts()
    merge = kernel(24, dtype="f32")
    expected = merge(*inputs)
    for number in (0, 2):
        copies = [each.copy() for each in inputs]
        merge(*copies, out=(copies[number], copies[number + 1]))
        np.testing.assert_array_equal(copies[number], expected[0])
        np.testing.assert_array_equal(copies[number + 1], expected[1])
    memory = np.zeros((3, 3, 20, 24), np.float32)
    with pytest.raises(InvalidArgument, match="overlaps data of argument 0 'o1', but not element for element"):
        merge(memory[:2], *inputs[1:], out=(memory[1:], expected[1]))


@pytest.mark.parametrize(("options", "message"), [
    ({"head_dim": 0}, "head_dim is 0"),
    ({"dtype": "f8E5M2"}, "dtype is 'f8E5M2'"),
    ({"second_dtype": "f64"}, "second_dtype is 'f64'"),
    ({"result_dtype": "i32"}, "result_dtype is 'i32'"),
])  # fmt: skip
def test_bad_options(options, message):
    with pytest.raises(InvalidArgument, match=message):
        sparsec.merge(**options)
