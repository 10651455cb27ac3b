# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types: bits, exact widening to double, and rounding to nearest even."""
import numpy as np

# Stored bits of the mantissa, and the exponents of the smallest and the largest normal number.
FORMATS = {"f32": (23, -126, 127), "f16": (10, -14, 15), "bf16": (7, -126, 127)}


def unit(value, dtype):
    """The unit in the last place of finite values."""
    mantissa, least, most = FORMATS[dtype]
    _, exponent = np.frexp(np.asarray(value, np.float64))
    return np.ldexp(1.0, np.clip(exponent - 1, least, most) - mantissa)


def round_to(value, dtype):
    """To the nearest value of the type, ties to even; beyond the largest one to infinity. NaN stays NaN."""
    value = np.asarray(value, np.float64)
    mantissa, _, most = FORMATS[dtype]
    with np.errstate(invalid="ignore", over="ignore"):
        finite = np.where(np.isfinite(value), value, 0.0)
        step = unit(finite, dtype)
        rounded = np.rint(finite / step) * step
        largest = np.ldexp(2.0 - np.ldexp(1.0, -mantissa), most)
        rounded = np.where(np.abs(rounded) > largest, np.copysign(np.inf, finite), rounded)
    return np.where(np.isfinite(value), rounded, value)


INTEGERS = {"i64": np.int64, "i32": np.int32, "i8": np.int8}


def encode(value, dtype):
    """The array as sparsec-run reads it from a .npy file: bf16 as its bits."""
    value = np.asarray(value) if dtype in INTEGERS else round_to(value, dtype)
    if dtype == "bf16":
        return (value.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return value.astype({"f32": np.float32, "f16": np.float16, **INTEGERS}[dtype])


def random_bits(rng, shape, dtype):
    """Values from all bit patterns of the type, so from all exponents, with infinities and NaN."""
    count = int(np.prod(shape))
    if dtype == "f32":
        values = rng.integers(0, 1 << 32, count, dtype=np.uint32).view(np.float32)
    elif dtype == "bf16":
        values = (rng.integers(0, 1 << 16, count, dtype=np.uint32) << 16).view(np.float32)
    else:
        values = rng.integers(0, 1 << 16, count, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):  # signalling NaN
        return values.astype(np.float64).reshape(shape)


# Values in f32 that arithmetic treats as cases of their own.
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, np.inf, -np.inf, np.nan, 2.0 ** -149, -2.0 ** -149, 2.0 ** -126,
                    -(2.0 ** -126 - 2.0 ** -149), (2 - 2.0 ** -23) * 2.0 ** 127, -(2 - 2.0 ** -23) * 2.0 ** 127,
                    65504.0, 65520.0, 2.0 ** -24, 2.0 ** 31, -2.0 ** 31, 88.8, -103.9, 3.1415927410125732])


def values(rng, shape, dtype, wild):
    """Random elements: normally distributed ones, and where `wild` some special ones and some of any bits."""
    drawn = rng.standard_normal(shape) * 2.0 ** rng.integers(-2, 3)
    if wild:
        kind = rng.random(shape)
        drawn = np.where(kind < 0.15, rng.choice(SPECIAL, shape), drawn)
        drawn = np.where(kind > 0.85, random_bits(rng, shape, dtype), drawn)
    return round_to(drawn, dtype)
