# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantising to fp8 against a conversion in float64 that knows the numbers of the types by their definition."""

import itertools

import numpy as np
import pytest

import sparsec
from sparsec import quantize

ml_dtypes = pytest.importorskip("ml_dtypes")
RNG = np.random.default_rng(5)

# Mantissa bits, the exponents of the smallest and the largest normal number, the largest number.
FORMATS = {"f8E4M3FN": (3, -6, 8, 448.0), "f8E5M2": (2, -14, 15, 57344.0)}
ARRAY_TYPES = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}


def numbers_of(dtype):
    """All finite numbers of a type that are not negative, in ascending order: the last bit of each is its parity."""
    mantissa, least, most, largest = FORMATS[dtype]
    subnormal = [np.ldexp(m, least - mantissa) for m in range(2**mantissa)]
    exponents = range(least - mantissa, most - mantissa + 1)
    normal = [np.ldexp(2**mantissa + m, exponent) for exponent in exponents for m in range(2**mantissa)]
    return np.array([number for number in subnormal + normal if number <= largest])


def nearest(values, dtype):
    """The nearest number of the type, of two the one with an even last bit; nothing here is beyond the largest one."""
    numbers = numbers_of(dtype)
    distance = np.abs(np.abs(values)[..., None] - numbers)
    candidates = distance == distance.min(axis=-1, keepdims=True)
    even = candidates & (np.arange(len(numbers)) % 2 == 0)
    choice = np.where(even.any(axis=-1), even.argmax(axis=-1), candidates.argmax(axis=-1))
    return np.copysign(numbers[choice], values)


def expected_scale(largest, dtype):
    return np.where(largest == 0, 1.0, np.float32(largest) / np.float32(FORMATS[dtype][3])).astype(np.float32)


def check(quantized, scales, values, scale_of_each, dtype):
    """scale_of_each: the expected scales at the shape of the values."""
    assert str(scales.dtype).endswith("float32")
    assert str(quantized.dtype).endswith(ARRAY_TYPES[dtype].__name__)
    divided = np.asarray(values, np.float32) / np.broadcast_to(scale_of_each, values.shape).astype(np.float32)
    np.testing.assert_array_equal(as_numpy(quantized), nearest(divided.astype(np.float64), dtype))


def as_numpy(array):
    return array.astype(np.float64) if isinstance(array, np.ndarray) else array.double().numpy()


def library(name):
    """A function that makes an array of NumPy one of the library."""
    return np.asarray if name == "numpy" else pytest.importorskip("torch").as_tensor


def data(*shape):
    """Numbers of very different sizes; some are zero."""
    values = RNG.standard_normal(shape) * np.exp2(RNG.integers(-6, 7, shape))
    values[RNG.random(shape) < 0.1] = 0
    return values.astype(np.float32)


CASES = list(itertools.product(["numpy", "torch"], FORMATS))


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_per_tensor(name, dtype):
    values = data(5, 7, 3)
    quantized, scale = quantize.per_tensor(library(name)(values), dtype)
    expected = expected_scale(np.abs(values).max(), dtype)
    assert tuple(scale.shape) == ()
    np.testing.assert_array_equal(np.asarray(scale), expected)
    check(quantized, scale, values, expected, dtype)
    assert np.abs(as_numpy(quantized)).max() == FORMATS[dtype][3]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_per_row(name, dtype):
    values = data(6, 33)
    values[2] = 0
    quantized, scales = quantize.per_row(library(name)(values), dtype)
    expected = expected_scale(np.abs(values).max(axis=1), dtype)
    np.testing.assert_array_equal(np.asarray(scales), expected)
    assert scales[2] == 1
    check(quantized, scales, values, expected[:, None], dtype)


@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize("k", [1, 128, 129, 300])
def test_per_token(name, dtype, k):
    values = data(5, k)
    quantized, scales = quantize.per_token(library(name)(values), dtype)
    parts = [values[:, first : first + 128] for first in range(0, k, 128)]
    expected = np.stack([expected_scale(np.abs(part).max(axis=1), dtype) for part in parts], axis=1)
    np.testing.assert_array_equal(np.asarray(scales), expected)
    check(quantized, scales, values, np.repeat(expected, 128, axis=1)[:, :k], dtype)


def block_matrix(name):
    """Block rows of 2, 0 and 1 blocks of 16 x 32, and their values in the matrix, which cuts the last two blocks.

    The values of w beyond the matrix are large: they must not count.
    """
    make = library(name)
    values = data(3, 16, 32)
    values[1, :, 16:] = values[2, 8:] = 0
    stored = values.copy()
    stored[1, :, 16:] = stored[2, 8:] = 2.0**15
    w = sparsec.BSR(make(np.array([0, 2, 2, 3], np.int32)), make(np.array([0, 2, 1], np.int32)), make(stored), (40, 80))
    return w, values


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_per_block(name, dtype):
    w, values = block_matrix(name)
    quantized, scales = quantize.per_block(w, dtype)
    expected = expected_scale(np.abs(values).max(axis=(1, 2)), dtype)
    np.testing.assert_array_equal(np.asarray(scales), expected)
    assert quantized.shape == w.shape
    check(quantized.values, scales, values, expected[:, None, None], dtype)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_rows_and_the_tensor_of_a_block_matrix(name, dtype):
    w, values = block_matrix(name)
    largest = np.abs(values).max(axis=2)  # of a row of each block
    of_rows = np.stack([np.maximum(largest[0], largest[1]), np.zeros(16), largest[2]])
    expected = expected_scale(of_rows, dtype)
    quantized, scales = quantize.per_row(w, dtype)
    np.testing.assert_array_equal(np.asarray(scales), expected.reshape(-1)[:40])
    check(quantized.values, scales, values, expected[[0, 0, 2]][:, :, None], dtype)
    quantized, scale = quantize.per_tensor(w, dtype)
    expected = expected_scale(np.abs(values).max(), dtype)
    np.testing.assert_array_equal(np.asarray(scale), expected)
    check(quantized.values, scale, values, expected, dtype)


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_nan_and_infinity_leave_the_scale_to_the_others(name):
    values = np.array([[1, np.nan, -2, np.inf], [np.nan, np.nan, np.inf, -np.inf]], np.float32)
    quantized, scales = quantize.per_row(library(name)(values), "f8E5M2")
    np.testing.assert_array_equal(np.asarray(scales), np.array([2 / 57344, 1], np.float32))
    expected = [[28672, np.nan, -57344, np.inf], [np.nan, np.nan, np.inf, -np.inf]]
    np.testing.assert_array_equal(as_numpy(quantized), expected)
    quantized, _ = quantize.per_row(library(name)(values), "f8E4M3FN")
    expected = [[224, np.nan, -448, np.nan], [np.nan] * 4]
    np.testing.assert_array_equal(as_numpy(quantized), expected)


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_tiny_values_have_a_scale_to_divide_by(name):
    quantized, scale = quantize.per_tensor(library(name)(np.full(3, 2.0**-140, np.float32)))
    assert scale == np.float32(2.0**-126)
    np.testing.assert_array_equal(as_numpy(quantized), nearest(np.full(3, 2.0**-14), "f8E4M3FN"))


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_empty_arrays(name):
    make = library(name)
    quantized, scales = quantize.per_token(make(np.zeros((4, 0), np.float32)))
    assert tuple(quantized.shape) == (4, 0)
    assert tuple(scales.shape) == (4, 0)
    quantized, scales = quantize.per_token(make(np.zeros((0, 200), np.float32)))
    assert tuple(scales.shape) == (0, 2)
    assert tuple(quantized.shape) == (0, 200)
    _, scale = quantize.per_tensor(make(np.zeros((0, 4), np.float32)))
    assert scale == 1


def test_other_types_are_rounded_to_f32_first():
    values = data(3, 40).astype(np.float64)
    expected, _ = quantize.per_row(values.astype(np.float32))
    quantized, _ = quantize.per_row(values)
    np.testing.assert_array_equal(quantized.view(np.uint8), expected.view(np.uint8))
    half, _ = quantize.per_row(values.astype(ml_dtypes.bfloat16))
    in_f32, _ = quantize.per_row(values.astype(ml_dtypes.bfloat16).astype(np.float32))
    np.testing.assert_array_equal(half.view(np.uint8), in_f32.view(np.uint8))


def test_what_is_refused():
    values = np.ones((2, 3), np.float32)
    with pytest.raises(sparsec.InvalidArgument, match="dtype is 'bf16', but expects f8E4M3FN or f8E5M2"):
        quantize.per_tensor(values, "bf16")
    with pytest.raises(sparsec.InvalidArgument, match="values: expects an array of NumPy or torch, but got list"):
        quantize.per_tensor([1.0])
    with pytest.raises(sparsec.InvalidArgument, match="values: expects floating point, but got int64"):
        quantize.per_tensor(np.ones(3, np.int64))
    with pytest.raises(sparsec.InvalidArgument, match=r"values: expects rank 2, \[M, K\], but got 1"):
        quantize.per_row(values[0])
    with pytest.raises(sparsec.InvalidArgument, match=r"values: expects rank 2, \[N, K\], but got 3"):
        quantize.per_token(values[None])
    with pytest.raises(sparsec.InvalidArgument, match="w: expects a BSR, but got ndarray"):
        quantize.per_block(values)


@pytest.mark.torch
def test_integers_of_torch_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(sparsec.InvalidArgument, match=r"values: expects floating point, but got torch.int32"):
        quantize.per_tensor(torch.ones(3, dtype=torch.int32))


# ---- By a kernel -------------------------------------------------------------------------------------------------


def kernel_of(w_dtype="f8E4M3FN", x_dtype=None):
    program = sparsec.spmm((16, 32), w_dtype, x_dtype=x_dtype, x_layout="nk", y_layout="nm", name="product")
    return sparsec.compile(program, "host")["product"]


def source(values, name, dtype):
    """Values of an array library, rounded to a type; some are no finite numbers."""
    values = values.copy()
    values.reshape(-1)[5:8] = np.nan, np.inf, -np.inf
    if name == "torch":
        torch = pytest.importorskip("torch")
        return torch.as_tensor(values).to(
            getattr(torch, {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}[dtype])
        )
    return values.astype({"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}[dtype])


def expect_same(got, expected):
    """The same scales, and the same numbers; a NaN may have other bits."""
    np.testing.assert_array_equal(np.asarray(got[1]), np.asarray(expected[1]))
    np.testing.assert_array_equal(as_numpy(quantize.values_of(got[0])), as_numpy(quantize.values_of(expected[0])))


@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize("source_dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("group", ["tensor", "row", "token"])
def test_x_by_kernel(name, dtype, source_dtype, group):
    x = source(data(5, 300), name, source_dtype)
    expect_same(kernel_of(dtype).quantize("x", x, group), getattr(quantize, f"per_{group}")(x, dtype))


@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize("group", ["tensor", "row", "block"])
def test_w_by_kernel(name, dtype, group):
    w, _ = block_matrix(name)
    w = w.with_values(source(np.asarray(w.values), name, "bf16"))
    got, scales = kernel_of(dtype).quantize("w", w, group)
    expect_same((got, scales), getattr(quantize, f"per_{group}")(w, dtype))
    assert got.shape == w.shape
    assert got.row_ptr is w.row_ptr


def test_product_of_operands_quantised_by_its_kernel():
    w, _ = block_matrix("numpy")
    x = data(7, 80)
    program = sparsec.spmm(
        (16, 32), "f8E4M3FN", scales=True, x_scale=True, x_layout="nk", y_layout="nm", name="product"
    )
    kernel = sparsec.compile(program, "host")["product"]
    (w_f8, scales), (x_f8, x_scale) = kernel.quantize("w", w, "block"), kernel.quantize("x", x, "token")
    y = kernel(w_f8, scales, x_f8, x_scale)
    exact = x.astype(np.float64) @ w.to_dense().astype(np.float64).T
    assert np.linalg.norm(y.astype(np.float64) - exact) < 2**-4 * np.linalg.norm(exact)


def test_by_kernel_refuses_what_does_not_fit():
    w, _ = block_matrix("numpy")
    x = data(5, 96)
    kernel = kernel_of()
    cases = [
        (("z", x), "name is 'z', but product has the inputs w, x"),
        (("x", x, "column"), "group is 'column', but expects tensor or row or block or token"),
        (("x", x, "block"), "group: 'block' is for a BSR"),
        (("w", w, "token"), "group: 'token' is for x"),
        (("x", x[0]), "argument 1 'x': expects rank 2, but got 1"),
        (("x", x[0], "token"), "values: expects rank 2, \\[N, K\\], but got 1"),
        (("x", x.astype(np.float64)), "expects elements of"),
        (("x", x.astype(np.int32)), "source: expects elements of type f32, f16 or bf16, but got i32"),
        (("w", x), "argument 0 'w': expects a block-sparse matrix, but got a dense tensor"),
        (("x", w), "argument 1 'x': expects a dense tensor, but got a block-sparse matrix"),
    ]
    for arguments, message in cases:
        with pytest.raises(sparsec.InvalidArgument, match=message):
            kernel.quantize(*arguments)
    bf16 = sparsec.compile(sparsec.spmm(16, "bf16", name="bf16"), "host")["bf16"]
    with pytest.raises(
        sparsec.InvalidArgument, match="argument 1 'x': expects an operand W or X of f8E4M3FN or f8E5M2"
    ):
        bf16.quantize("x", x)
