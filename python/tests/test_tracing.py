# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traced functions: what they compute in a kernel, what text they give, and what they refuse."""

import functools
import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsec
from sparsec import programs, tracing
from sparsec.tracing import Graph, TracingError, captured, trace

PLACES = [("b", "i32"), ("h", "i32"), ("q_idx", "i32"), ("kv_idx", "i32")]


def region_of(function, result="i1", integers=True):
    arguments = PLACES if result == "i1" else [("score", "f32"), *PLACES]
    return trace(function, arguments, result, Graph(integers), "mask_mod" if result == "i1" else "score_mod")


def text_of(function, result="f32"):
    region = region_of(function, result)
    return region.text({each: f"t{index}" for index, each in enumerate(region.captures)})


def in_epilogue(function, acc, b):
    """Elements of function(acc, b), from a product with the identity: acc is 16 x N of f16 values, b of f32 values."""
    program = programs.spmm(16, "f16", result_dtype="f32", epilogue=function, extras={"b": programs.full("f32")})
    identity = sparsec.BSR(
        np.array([0, 1], np.int32), np.array([0], np.int32), np.eye(16, dtype=np.float16)[None], (16, 16)
    )
    return sparsec.compile(program, targets="host")["spmm"](identity, acc.astype(np.float16), b.astype(np.float32))


def in_scores(function, queries, heads=1):
    """function(b, h, q_idx, kv_idx) for every head and query. With one key and a score, the LSE is the score."""
    program = programs.attention(64, dtype="f16", lse=True, score_mod=lambda score, *places: function(*places) + score)
    q = np.zeros((1, heads, queries, 64), np.float16)
    _, lse = sparsec.compile(program, targets="host")["attention"](q, q[:, :, :1], q[:, :, :1])
    return lse[0]


# ---- Values in kernels

ROUNDED = np.vectorize(math.erf)
FLOATS = {
    "add": (lambda a, b: a + b + 1, lambda a, b: a + b + 1),
    "radd": (lambda a, b: 2 + a, lambda a, b: 2 + a),
    "sub": (lambda a, b: a - b, lambda a, b: a - b),
    "rsub": (lambda a, b: 3 - a, lambda a, b: 3 - a),
    "mul": (lambda a, b: a * b * 0.5, lambda a, b: a * b * 0.5),
    "rmul": (lambda a, b: 0.1 * a, lambda a, b: 0.1 * a),
    "div": (lambda a, b: a / b, lambda a, b: a / b),
    "rdiv": (lambda a, b: 2 / b, lambda a, b: 2 / b),
    "neg": (lambda a, b: -a, lambda a, b: -a),
    "pos": (lambda a, b: +a, lambda a, b: a),
    "abs": (lambda a, b: abs(a), lambda a, b: np.abs(a)),
    "tracing.abs": (lambda a, b: tracing.abs(a), lambda a, b: np.abs(a)),
    "pow": (lambda a, b: a**3 + b**4 + b**1, lambda a, b: a**3 + b**4 + b),
    "maximum": (lambda a, b: tracing.maximum(a, b), np.maximum),
    "minimum": (lambda a, b: tracing.minimum(1.0, a), lambda a, b: np.minimum(1.0, a)),
    "fmax": (lambda a, b: tracing.fmax(a, b), np.fmax),
    "fmin": (lambda a, b: tracing.fmin(a, 0.5), lambda a, b: np.fmin(a, 0.5)),
    "fma": (lambda a, b: tracing.fma(a, b, 2), lambda a, b: a * b + 2),
    "tanh": (lambda a, b: tracing.tanh(a), lambda a, b: np.tanh(a)),
    "exp": (lambda a, b: tracing.exp(a), lambda a, b: np.exp(a)),
    "exp2": (lambda a, b: tracing.exp2(a), lambda a, b: np.exp2(a)),
    "expm1": (lambda a, b: tracing.expm1(a), lambda a, b: np.expm1(a)),
    "log": (lambda a, b: tracing.log(b), lambda a, b: np.log(b)),
    "log2": (lambda a, b: tracing.log2(b), lambda a, b: np.log2(b)),
    "log1p": (lambda a, b: tracing.log1p(b), lambda a, b: np.log1p(b)),
    "sqrt": (lambda a, b: tracing.sqrt(b), lambda a, b: np.sqrt(b)),
    "rsqrt": (lambda a, b: tracing.rsqrt(b), lambda a, b: 1 / np.sqrt(b)),
    "erf": (lambda a, b: tracing.erf(a), lambda a, b: ROUNDED(a)),
    "sin": (lambda a, b: tracing.sin(a), lambda a, b: np.sin(a)),
    "cos": (lambda a, b: tracing.cos(a), lambda a, b: np.cos(a)),
    "floor": (lambda a, b: tracing.floor(a), lambda a, b: np.floor(a)),
    "ceil": (lambda a, b: tracing.ceil(a), lambda a, b: np.ceil(a)),
    "sigmoid": (lambda a, b: tracing.sigmoid(a), lambda a, b: 1 / (1 + np.exp(-a))),
    "relu": (lambda a, b: tracing.relu(a), lambda a, b: np.maximum(a, 0)),
    "silu": (lambda a, b: tracing.silu(a), lambda a, b: a / (1 + np.exp(-a))),
    "gelu": (lambda a, b: tracing.gelu(a), lambda a, b: a / 2 * (1 + ROUNDED(a / math.sqrt(2)))),
    "gelu tanh": (
        lambda a, b: tracing.gelu(a, approximate="tanh"),
        lambda a, b: a / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3))),
    ),
    "where": (lambda a, b: tracing.where(a < b, a, -1), lambda a, b: np.where(a < b, a, -1)),
    "le gt": (
        lambda a, b: tracing.where((a <= 0.5) & (b > 1), b, a),
        lambda a, b: np.where((a <= 0.5) & (b > 1), b, a),
    ),
    "ge or": (
        lambda a, b: tracing.where((a >= 1) | (b < 0.5), 2, a),
        lambda a, b: np.where((a >= 1) | (b < 0.5), 2, a),
    ),
    "eq xor": (lambda a, b: tracing.where((a == 1) ^ (b < 1), 2, a), lambda a, b: np.where((a == 1) ^ (b < 1), 2, a)),
    "ne invert": (lambda a, b: tracing.where(~(a != 1), 2, a), lambda a, b: np.where(a == 1, 2, a)),
    "not": (lambda a, b: tracing.where(tracing.logical_not(a < 0), 2, a), lambda a, b: np.where(a < 0, a, 2)),
    "boolean in arithmetic": (lambda a, b: (a < 0) * b, lambda a, b: (a < 0) * b),
    "float of a boolean": (lambda a, b: (a < 0).astype("float32") + b, lambda a, b: (a < 0) + b),
    "boolean of a float": (lambda a, b: tracing.where(tracing.floor(a).astype(bool), a, 9), None),
    "float16": (lambda a, b: b.astype(np.float16), lambda a, b: b.astype(np.float32).astype(np.float16)),
    "bfloat16": (lambda a, b: b.astype("bfloat16"), None),
    "numpy": (
        lambda a, b: np.where(np.less(a, b), np.tanh(a) + np.maximum(a, b), np.multiply(2, a)),
        lambda a, b: np.where(a < b, np.tanh(a) + np.maximum(a, b), 2 * a),
    ),
    "methods of casts": (
        lambda a, b: (a < 0).float() + tracing.where(a.bool(), b, 1.0) + (a < 0).new_zeros(()).float(),
        lambda a, b: (a < 0) + np.where(a != 0, b, 1.0),
    ),
    "infinite constant": (lambda a, b: tracing.where(a < 0, -math.inf, b), lambda a, b: np.where(a < 0, -np.inf, b)),
    "constant": (lambda a, b: 0.1, lambda a, b: np.full_like(a, 0.1)),
}


def bf16(values):
    """To nearest even, by hand: bf16 has 8 significant bits."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.rint(mantissa * 256), exponent - 8)


FLOATS["bfloat16"] = (FLOATS["bfloat16"][0], lambda a, b: bf16(b.astype(np.float32).astype(np.float64)))
FLOATS["boolean of a float"] = (FLOATS["boolean of a float"][0], lambda a, b: np.where(np.floor(a) != 0, a, 9))


@pytest.mark.parametrize("name", FLOATS)
def test_float_functions_in_an_epilogue(name):
    traced, oracle = FLOATS[name]
    random = np.random.default_rng(1)
    acc = random.normal(scale=2, size=(16, 40)).astype(np.float16).astype(np.float64)
    acc[0, :4] = [0, 1, -1, 0.5]
    b = random.uniform(0.1, 3, size=(16, 40))
    expected = oracle(acc, b)
    np.testing.assert_allclose(in_epilogue(traced, acc, b), expected, rtol=2e-5, atol=1e-6)
    region = trace(traced, [("acc", "f32"), ("b", "f32")], "f32", Graph(integers=False))
    evaluated = np.broadcast_to(region.evaluate(acc=acc, b=b), acc.shape)
    np.testing.assert_allclose(evaluated, expected, rtol=2e-5, atol=1e-6)


def test_an_approximate_or_exact_tanh_says_so():
    assert "math.tanh %score {sparsec.exact} : f32" in text_of(lambda s, *places: tracing.tanh(s, exact=True))
    assert "math.tanh %score fastmath<afn> : f32" in text_of(lambda s, *places: tracing.tanh(s, approximate=True))
    acc = np.linspace(-4, 4, 16 * 8).reshape(16, 8).astype(np.float16).astype(np.float64)
    got = in_epilogue(lambda a, b: tracing.tanh(a, approximate=True), acc, acc)
    np.testing.assert_allclose(got, np.tanh(acc), atol=2**-10)


def test_maximum_and_fmax_differ_in_nan():
    acc = np.zeros((16, 2))
    b = np.full((16, 2), np.nan)
    assert np.isnan(in_epilogue(lambda a, b: tracing.maximum(a, b), acc, b)).all()
    assert (in_epilogue(lambda a, b: tracing.fmax(a, b), acc, b) == 0).all()
    assert np.isnan(in_epilogue(lambda a, b: np.minimum(a, b), acc, b)).all()
    assert (in_epilogue(lambda a, b: np.fmin(a, b), acc, b) == 0).all()


NUMERATORS = np.array([-17, -16, -9, -8, -7, -1, 0, 1, 6, 7, 8, 9, 15, 16, 17, 1000, -1000], np.int32)
DIVISORS = np.array([3, -3, 7, -7, 8, -8, 1, -1, 16, 5, -5, 2, 4, -4, 9, 37, 37], np.int32)
INTEGERS = {
    "floordiv": lambda n, d, q: n // d,
    "mod": lambda n, d, q: n % d,
    "floordiv 7": lambda n, d, q: n // 7,
    "mod 7": lambda n, d, q: n % 7,
    "floordiv -7": lambda n, d, q: n // -7,
    "mod -7": lambda n, d, q: n % -7,
    "floordiv 8": lambda n, d, q: n // 8,
    "mod 8": lambda n, d, q: n % 8,
    "rfloordiv": lambda n, d, q: 100 // d,
    "rmod": lambda n, d, q: 100 % d,
    "place floordiv": lambda n, d, q: q // 3,
    "place mod": lambda n, d, q: q % 3 + (q & 6) % 5,
    "arithmetic": lambda n, d, q: 5 + n * 2 - (1 - d) + (-n) + abs(d) + n**2,
    "bits": lambda n, d, q: (n & 12) + (n | 3) + (n ^ d) + ~n + (6 & d) + (6 | d) + (6 ^ d),
    "shifts": lambda n, d, q: (n << 3) + (n >> 2) + (1 << (q & 7)) + (1024 >> (q & 7)),
    "comparisons": lambda n, d, q: (n < d) + 2 * (n <= d) + 4 * (n > d) + 8 * (n >= d) + 16 * (n == d) + 32 * (n != d),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_have_the_meaning_of_python(name):
    function = INTEGERS[name]
    got = in_scores(lambda b, h, q, k: function(NUMERATORS[q], DIVISORS[q], q), len(NUMERATORS))[0]
    expected = [function(int(n), int(d), q) for q, (n, d) in enumerate(zip(NUMERATORS, DIVISORS, strict=True))]
    np.testing.assert_array_equal(np.rint(got), expected)


def test_the_largest_and_the_smallest_integer():
    got = in_scores(lambda b, h, q, k: tracing.where(q > 0, -(2**31), 2**31 - 1) // 2**20, 2)
    np.testing.assert_array_equal(np.rint(got), [[2047, -2048]])


def test_other_functions_of_integers():
    def function(b, h, q, k):
        n = NUMERATORS[q]
        smaller = tracing.minimum(n, 3) + 2 * np.maximum(n, -2)
        return smaller + tracing.where(q > 4, n, 7) + (n / 2).int() + (h == 1) * n.astype(bool)

    expected = [
        [min(n, 3) + 2 * max(n, -2) + (n if q > 4 else 7) + int(n / 2) + (h == 1) * (n != 0)
         for q, n in enumerate(NUMERATORS.tolist())]
        for h in range(2)
    ]  # fmt: skip
    np.testing.assert_array_equal(np.rint(in_scores(function, len(NUMERATORS), heads=2)), expected)


@given(st.integers(-(2**20), 2**20), st.integers(-(2**20), 2**20).filter(bool), st.booleans())
def test_evaluated_division_is_python_s(numerator, divisor, is_constant):
    table = np.array([numerator, divisor], np.int32)

    def quotient(score, b, h, q_idx, kv_idx):
        below = divisor if is_constant else table[kv_idx]
        return (table[q_idx] // below) * 2.0**-12 + table[q_idx] % below

    region = region_of(quotient, "f32")
    got = region.evaluate(score=0, b=0, h=0, q_idx=0, kv_idx=1)
    expected = np.float32(np.float32(numerator // divisor) * np.float32(2**-12)) + np.float32(numerator % divisor)
    assert got == expected


def combined(inner):
    """Expressions of integers that stay within 32 bits, and do not divide by zero."""
    comparison = st.builds("({} {} {})".format, inner, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), inner)
    condition = comparison | st.builds("({} {} {})".format, comparison, st.sampled_from("&|^"), comparison)
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-&|^"), inner),
        st.builds("(({} % 97) * ({} % 89))".format, inner, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["//", "%"]), st.sampled_from(["5", "-6", "8", "d"])),
        st.builds("({} {} ({} | 1))".format, inner, st.sampled_from(["//", "%"]), inner),
        st.builds("(({} % 1000) << ({} % 8))".format, inner, inner),
        st.builds("({} >> ({} & 15))".format, inner, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["minimum", "maximum"]), inner, inner),
        st.builds("{}{}".format, st.sampled_from(["abs", "-", "~"]), inner.map("({})".format)),
        st.builds("where({}, {}, {})".format, condition, inner, inner),
        st.builds("({} + 3 * {})".format, inner, condition),
    )


EXPRESSIONS = st.recursive(st.sampled_from(["q", "n", "d", "(zero + 7)", "(zero - 3)"]), combined, max_leaves=8)


@given(EXPRESSIONS)
@settings(max_examples=25)
def test_random_expressions_have_the_meaning_of_python(expression):
    code = compile(f"({expression}) % 1009", "expression", "eval")
    numbers = {"where": lambda c, a, b: a if c else b, "minimum": min, "maximum": max}
    expected = [
        eval(code, {**numbers, "q": q, "n": int(n), "d": int(d), "zero": 0})
        for q, (n, d) in enumerate(zip(NUMERATORS, DIVISORS, strict=True))
    ]
    traced = {"where": tracing.where, "minimum": tracing.minimum, "maximum": tracing.maximum}

    def function(b, h, q, k):
        return eval(code, {**traced, "q": q, "n": NUMERATORS[q], "d": DIVISORS[q], "zero": q * 0})

    np.testing.assert_array_equal(np.rint(in_scores(function, len(NUMERATORS))[0]), expected)
    region = region_of(lambda score, *places: function(*places), "f32")
    evaluated = region.evaluate(score=0, b=0, h=0, q_idx=np.arange(len(NUMERATORS)), kv_idx=0)
    np.testing.assert_array_equal(np.broadcast_to(evaluated, len(expected)), expected)


@given(st.floats(width=32, allow_nan=False))
def test_constants_keep_their_value(number):
    text = text_of(lambda score, *places: score * number)
    literal = text.split("arith.constant ")[1].split(" : ")[0]
    value = np.uint32(int(literal, 16)).view(np.float32) if literal.startswith("0x") else np.float32(float(literal))
    assert value == np.float32(number)


# ---- Captures

GLOBAL = np.arange(8, dtype=np.int32)


FLOAT = np.float32


def helper(index):
    return GLOBAL[index] + 1


class Holder:
    def __init__(self, array):
        self.array = array


def value_at(function, q_idx=3, kv_idx=5):
    region = region_of(function, "f32")
    return region.evaluate(score=0, b=0, h=1, q_idx=q_idx, kv_idx=kv_idx), region


def test_arrays_are_found_where_functions_read_them():
    table = np.arange(12, dtype=np.float32).reshape(3, 4)

    def with_default(score, b, h, q_idx, kv_idx, table=table, *, other=GLOBAL):
        return table[h, q_idx] + other[kv_idx]

    inner = lambda index: table[1, index]  # noqa: E731
    cases = {
        "closure": (lambda s, b, h, q, k: table[h, q], 7),
        "global": (lambda s, b, h, q, k: GLOBAL[k], 5),
        "class": (lambda s, b, h, q, k: k.astype(FLOAT) + (0 if isinstance(k, np.ndarray) else FLOAT(1)), 6),
        "helper": (lambda s, b, h, q, k: helper(k), 6),
        "default": (with_default, 12),
        "nested": (lambda s, b, h, q, k: (lambda i: inner(i) + GLOBAL[i])(q), 10),
        "partial": (functools.partial(lambda t, s, b, h, q, k: t[h][q], table), 7),
        "tuple": (lambda s, b, h, q, k, each=(GLOBAL, [table]): each[0][k] + each[1][0][0, q], 8),
        "dict": (lambda s, b, h, q, k, each={"t": table}: each["t"][0, q], 3),
        "constant index": (lambda s, b, h, q, k: table[2, 1] + table[np.int64(0)][q], 12),
    }
    for name, (function, expected) in cases.items():
        assert value_at(function)[0] == expected, name


def test_integers_and_booleans_of_all_widths():
    wide, small, flags = np.array([7, 2**40 + 3, -5]), np.array([-128, 127, 1], np.int8), np.array([False, True, True])
    assert value_at(lambda s, b, h, q, k: wide[b] + small[b])[0] == 7 - 128
    assert value_at(lambda s, b, h, q, k: wide[b + 1])[0] == 3, "the low 32 bits"
    value, region = value_at(lambda s, b, h, q, k: tracing.where(flags[b + 1] & ~flags[b], 4, 5))
    assert value == 4
    assert [capture.type for capture in region.captures] == ["tensor<?xi8>"]
    text = text_of(lambda b, h, q, k: wide[q] == small[k], "i1")
    assert ": tensor<?xi64>" in text
    assert ": tensor<?xi8>" in text


class Callable:
    def __call__(self, score, b, h, q_idx, kv_idx):
        return self.method(kv_idx) + GLOBAL[q_idx]

    def method(self, index):
        return helper(index)

    def score_mod(self, score, b, h, q_idx, kv_idx):
        return GLOBAL[q_idx]


def test_methods_read_globals():
    assert value_at(Callable().score_mod)[0] == 3
    with pytest.raises(TracingError, match="captured by sparsec.tracing.captured"):
        value_at(Callable())  # self.method is reached through an attribute
    directly = Callable()
    directly.method = lambda index: index
    assert value_at(directly)[0] == 8


def test_functions_that_call_themselves():
    cycle = [GLOBAL]
    cycle.append(cycle)

    def total(index, count):
        return GLOBAL[index] + cycle[0][index] + (total(index + 1, count - 1) if count > 1 else 0)

    assert value_at(lambda s, b, h, q, k: total(q, 3))[0] == 2 * (3 + 4 + 5)


def test_an_attribute_with_the_name_of_a_global_is_no_global():
    wrapped = Holder(captured(np.zeros(4, np.int32), "array"))
    wrapped.GLOBAL = wrapped.array
    region = region_of(lambda b, h, q, k: wrapped.GLOBAL[q] == 0)
    assert [capture.name for capture in region.captures] == ["array"]


def test_numpy_scalars_and_arrays_of_no_dimensions_on_the_left():
    zero_d = {"x": Holder(np.array(3, np.float32))}
    value, region = value_at(lambda s, b, h, q, k: np.float32(2) * q + np.int64(1) + zero_d["x"].array * k)
    assert value == 2 * 3 + 1 + 3 * 5
    assert [capture.type for capture in region.captures] == ["tensor<f32>"]


def test_a_wrapped_array_is_found_in_an_attribute():
    holder, bare = Holder(captured(GLOBAL, "ids")), Holder(GLOBAL)
    value, region = value_at(lambda s, b, h, q, k: holder.array[k] + captured(np.array(2, np.int32)))
    assert value == 7
    assert [capture.name for capture in region.captures] == ["ids", None]
    assert holder.array[2] == 2
    with pytest.raises(TracingError, match=r"`region_of\(.*captured by sparsec.tracing.captured\(array\)"):
        region_of(lambda s, b, h, q, k: bare.array[k], "f32")


def test_captures_are_references_with_their_names():
    slopes, cap, unused = np.ones(8, np.float16), np.array(3, np.float32), np.ones(3, np.float32)
    function = lambda s, b, h, q, k: s * cap + slopes[h] + 0 * s + (unused[h], 0)[1]  # noqa: E731
    region = region_of(function, "f32")
    assert [capture.name for capture in region.captures] == ["cap", "slopes"]
    assert region.captures[0].array is cap
    assert region.captures[1].array is slopes
    assert [capture.type for capture in region.captures] == ["tensor<f32>", "tensor<?xf16>"]
    cap[()] = 5
    assert region.evaluate(score=2, b=0, h=0, q_idx=0, kv_idx=0) == 11


def test_a_scalar_that_cannot_be_loaded_counts_where_it_is_used():
    wide, narrow = np.array(2.0), np.array(3, np.float32)
    region = region_of(lambda s, b, h, q, k: s * (narrow if wide.ndim == 0 else wide), "f32")
    assert [capture.name for capture in region.captures] == ["narrow"]
    with pytest.raises(TracingError, match=r"`region_of\(.*'wide' has dtype float64"):
        region_of(lambda s, b, h, q, k: s * wide, "f32")
    with pytest.raises(TracingError, match=r"'wide' is used as a whole, of shape \(\)"):
        region_of(lambda s, b, h, q, k: wide * 2 * s, "f32")
    value, _ = value_at(lambda s, b, h, q, k: narrow * 2 * q)
    assert value == 18


def test_an_array_with_two_names_is_one_operand():
    first = second = np.arange(4, dtype=np.int32)
    region = region_of(lambda b, h, q, k: first[q] == second[k])
    assert len(region.captures) == 1


def test_the_function_itself_stays_as_it_is():
    table = np.arange(4, dtype=np.int32)

    def function(s, b, h, q, k):
        return table[q] + helper(k)

    region_of(function, "f32")
    assert function(0, 0, 0, 3, 1) == 5


def test_captures_know_their_shape():
    table = np.zeros((3, 4), np.float32)
    region_of(lambda s, b, h, q, k: table[h, q % table.shape[1]] * len(table) * table.ndim, "f32")
    text = text_of(lambda s, b, h, q, k: table[h][q] * len(table[h]) + (table.dtype == np.float32))
    assert "arith.constant 4.0 : f32" in text


def test_bfloat16_arrays_are_loaded():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    table = np.array([1.5, -3], ml_dtypes.bfloat16)
    value, region = value_at(lambda s, b, h, q, k: table[h])
    assert value == -3
    assert region.captures[0].type == "tensor<?xbf16>"


def test_captured_integers_are_exact():
    large = np.array([2**24, 2**24 + 1, 2**24], np.int32)
    region = region_of(lambda b, h, q, k: large[q] == large[k])
    assert region.evaluate(b=0, h=0, q_idx=0, kv_idx=np.arange(3)).tolist() == [True, False, True]


def test_evaluation_refuses_an_index_outside():
    region = region_of(lambda b, h, q, k: GLOBAL[k - 6] < 3)
    with pytest.raises(IndexError, match="'GLOBAL': an index of dimension 0 is outside 0 to 7"):
        region.evaluate(b=0, h=0, q_idx=0, kv_idx=np.arange(8))


# ---- Text


def test_text_is_deterministic_and_free_of_sizes():
    def make(length, scale):
        ids, slopes = np.zeros(length, np.int32), np.zeros((2, length), np.float32)
        return lambda s, b, h, q, k: tracing.where(ids[q] == ids[k], s + slopes[b, h] * scale, -math.inf)

    assert text_of(make(5, 2.0)) == text_of(make(9, 2.0))
    assert text_of(make(5, 2.0)) != text_of(make(5, 3.0))


def test_common_expressions_are_written_once():
    text = text_of(lambda s, b, h, q, k: (q - k) * 2 + (q - k) * 2 + (s * 0.5) * (s * 0.5))
    assert text.count("arith.subi") == 1
    assert text.count("arith.muli") == 1
    assert text.count("arith.constant 2 ") == 1
    assert text.count("arith.mulf") == 2


def test_zeros_of_both_signs_are_two_constants():
    text = text_of(lambda s, b, h, q, k: tracing.where(q > 0, tracing.maximum(s, 0.0), tracing.maximum(s, -0.0)))
    assert "arith.constant 0.0 : f32" in text
    assert "arith.constant -0.0 : f32" in text


def test_what_is_not_used_is_not_written():
    table = np.zeros(3, np.int64)
    text = text_of(lambda s, b, h, q, k: (q // 3, tracing.exp(s), s + 1)[2])
    assert text.splitlines()[0].strip() == "%0 = arith.constant 1.0 : f32"
    assert len(text.splitlines()) == 3
    assert len(table) == 3


def test_places_are_divided_in_one_op_where_that_is_exact():
    text = text_of(lambda s, b, h, q, k: s + q // 3 + k // 64 + k % 64 + b % 5)
    assert text.count("arith.divsi") == 1
    assert text.count("arith.remsi") == 1
    assert "arith.shrsi" in text
    assert "arith.select" not in text


def test_a_magnitude_is_one_op_of_floats_and_none_of_floats_for_integers():
    text = text_of(lambda s, b, h, q, k: abs(s))
    assert len(text.splitlines()) == 2
    assert "math.absf %score : f32" in text
    assert "absf" not in text_of(lambda s, b, h, q, k: abs(q - k))


def test_a_constant_becomes_a_float_without_a_conversion():
    assert "sitofp" not in text_of(lambda s, b, h, q, k: s + 1)


# ---- What a function cannot do

UINT8, INT16, DOUBLE = np.zeros(4, np.uint8), np.zeros(4, np.int16), np.zeros(4)
WIDE = np.zeros((1,) * 5, np.int32)
TABLE = np.zeros((4, 4), np.int32)
REFUSED = {
    "if": (lambda b, h, q, k: q if q > k else k, "no truth value.*write & | ~ for and, or, not"),
    "and": (lambda b, h, q, k: q > k and k > 2, "no truth value"),
    "not": (lambda b, h, q, k: not q > k, "no truth value"),
    "chain": (lambda b, h, q, k: 1 < q < k, "no truth value"),
    "max": (lambda b, h, q, k: max(q, k) > 2, "no truth value"),
    "math": (lambda b, h, q, k: math.exp(q) > 2, "no Python float; for functions of math use those of sparsec.tracing"),
    "int": (lambda b, h, q, k: int(q) > 2, "no Python int; write value.astype"),
    "index": (lambda b, h, q, k: [True, False][q], "indexes captured arrays only"),
    "range": (lambda b, h, q, k: range(q), "indexes captured arrays only"),
    "uint8": (lambda b, h, q, k: UINT8[q] == 1, r"'UINT8' has dtype uint8.*capture its .astype\(int32\)"),
    "int16": (lambda b, h, q, k: INT16[q] == 1, r"'INT16' has dtype int16.*capture its .astype\(int32\)"),
    "float64": (lambda b, h, q, k: DOUBLE[q] > 0, r"'DOUBLE' has dtype float64.*capture its .astype\(float32\)"),
    "rank 5": (lambda b, h, q, k: WIDE[b, b, b, b, b] > 0, "'WIDE' has 5 dimensions, but at most 4"),
    "few indices": (
        lambda b, h, q, k: TABLE[q] == 1,
        r"'TABLE' is used as a whole, of shape \(4,\); .*: index all its",
    ),
    "array in arithmetic": (lambda b, h, q, k: TABLE + q > 1, r"'TABLE' is used as a whole, of shape \(4, 4\)"),
    "array in numpy": (lambda b, h, q, k: np.sum(TABLE) > q, r"'TABLE' is used as a whole"),
    "loop over an array": (lambda b, h, q, k: sum(each for each in TABLE) > q, r"'TABLE' is used as a whole"),
    "many indices": (lambda b, h, q, k: TABLE[q, k, b] == 1, "3 indices for a captured array of 2 dimensions"),
    "negative index": (lambda b, h, q, k: TABLE[q, -1] == 1, "'TABLE' is indexed by -1.*count from the front"),
    "float index": (lambda b, h, q, k: TABLE[q, k * 0.5] == 1, "'TABLE' is indexed by a float"),
    "boolean index": (lambda b, h, q, k: TABLE[q, k > 1] == 1, "'TABLE' is indexed by a boolean"),
    "slice": (lambda b, h, q, k: TABLE[q, 1:] == 1, "'TABLE' is indexed by slice"),
    "whole array": (lambda b, h, q, k: q + TABLE > 1, r"an array of shape \(4, 4\) is used as a whole"),
    "whole array in numpy": (lambda b, h, q, k: np.add(q, TABLE) > 1, r"an array of shape \(4, 4\) is used as a whole"),
    "string": (lambda b, h, q, k: q + "1", "a str is neither a number nor a traced value"),
    "large integer": (lambda b, h, q, k: q < 2**31, "the integer 2147483648 does not fit into 32 bits"),
    "large float": (lambda b, h, q, k: q < 1e300, r"the number 1e\+300 does not fit into f32"),
    "bits of a float": (lambda b, h, q, k: (q * 0.5) & 1, "& | ^ and ~ are of booleans and integers"),
    "shift of a float": (lambda b, h, q, k: (q * 0.5) << 1, "<< and >> are of integers"),
    "floor of a float": (lambda b, h, q, k: (q * 0.5) // 2, r"of floats write floor\(x / y\)"),
    "remainder of a float": (lambda b, h, q, k: (q * 0.5) % 2, r"of floats write floor\(x / y\)"),
    "division by 0": (lambda b, h, q, k: q // 0 == 1, "the divisor is 0"),
    "power 17": (lambda b, h, q, k: q**17 > 1, "the exponent of .* is 17, but expects an int from 1 to 16"),
    "power 0": (lambda b, h, q, k: q**0 > 1, "the exponent of .* is 0, but expects an int from 1 to 16"),
    "power": (lambda b, h, q, k: q**0.5, "the exponent of .* is 0.5, but expects an int from 1 to 16"),
    "condition": (lambda b, h, q, k: tracing.where(q, 1, 2), "the condition of a choice is an integer"),
    "cast": (lambda b, h, q, k: q.astype(np.int64) > 1, "no region has values of int64: cast to bool, int32"),
    "cast to text": (lambda b, h, q, k: q.astype("text") > 1, "no region has values of text"),
    "numpy function": (lambda b, h, q, k: np.arctan(q) > 1, "numpy.arctan has no counterpart"),
    "numpy option": (lambda b, h, q, k: np.add(q, k, dtype=np.int64) > 1, "numpy.add is called in a way"),
    "numpy method": (lambda b, h, q, k: np.add.reduce(q) > 1, "numpy.add is called in a way"),
    "tanh": (lambda b, h, q, k: tracing.tanh(q, approximate=True, exact=True) > 0, "expects approximate or exact"),
    "gelu": (lambda b, h, q, k: tracing.gelu(q, approximate="erf") > 1, "approximate is 'erf', but expects"),
    "no traced value": (lambda b, h, q, k: tracing.where(True, 1, 2), "none of the arguments is a traced value"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_line(name):
    function, message = REFUSED[name]
    with pytest.raises(TracingError, match=message) as refusal:
        region_of(function)
    line = function.__code__.co_firstlineno
    assert f"{__file__}:{line}: in <lambda>: `" in str(refusal.value)


def test_the_line_of_an_if_is_quoted():
    def mask_mod(b, h, q_idx, kv_idx):
        near = q_idx - kv_idx < 4
        if near:
            return near
        return kv_idx < 2

    line = inspect.getsourcelines(mask_mod)[1] + 2
    with pytest.raises(TracingError, match="no truth value") as refusal:
        region_of(mask_mod)
    assert str(refusal.value).startswith(f"{__file__}:{line}: in mask_mod: `if near:`: a traced value")


def test_the_line_of_a_helper_is_quoted():
    def is_far(distance):
        return bool(distance > 4)

    with pytest.raises(TracingError, match=r"in is_far: `return bool\(distance > 4\)`: a traced value"):
        region_of(lambda b, h, q, k: is_far(q - k))


def test_epilogues_have_no_integers_and_no_arrays():
    arguments = [("acc", "f32")]
    for function, message in {
        (lambda acc: (acc > 0) + (acc > 1)): None,
        (lambda acc: acc.astype("int32")): "an epilogue has no integers",
        (lambda acc: acc + TABLE[0, 0]): r"'TABLE' has shape \(4, 4\) and dtype int32, but an epilogue captures",
        (lambda acc: acc + np.array(1, np.int32)): "dtype int32, but an epilogue captures floats of no dimensions",
    }.items():
        if message is None:
            region = trace(function, arguments, "f32", Graph(integers=False))
            assert region.evaluate(acc=np.array([-1, 1, 2])).tolist() == [0, 1, 2]
        else:
            with pytest.raises(TracingError, match=message):
                trace(function, arguments, "f32", Graph(integers=False))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda q, k: q >= k, r"test_tracing.py:\d+: mask_mod has the arguments \(q, k\), but expects \(b, h, q_idx"),
        (lambda b, h, q, k: None, "mask_mod returns a NoneType, but expects a boolean"),
        (lambda b, h, q, k: q, "mask_mod returns an integer, but expects a boolean"),
        (lambda b, h, q, k: q * 0.5, "mask_mod returns a float, but expects a boolean"),
        (lambda b, h, q, k: (q, k), "mask_mod returns a tuple, but expects a boolean"),
        (7, r"mask_mod is a int, but expects a function of \(b, h, q_idx, kv_idx\)"),
    ],
)
def test_signatures_and_results(function, message):
    with pytest.raises(TracingError, match=message):
        region_of(function)


def test_numbers_and_arrays_are_results():
    assert text_of(lambda b, h, q, k: True, "i1").splitlines()[0].strip() == "%0 = arith.constant true"
    assert text_of(lambda b, h, q, k: np.bool_(False), "i1").splitlines()[0].strip() == "%0 = arith.constant false"
    assert "tensor<f32>" in text_of(lambda s, b, h, q, k: np.array(3, np.float32))
    assert "arith.sitofp %q_idx" in text_of(lambda s, b, h, q, k: q)


# ---- PyTorch's functions and tensors


@pytest.mark.torch
def test_functions_of_torch():
    torch = pytest.importorskip("torch")
    ids = torch.tensor([0, 0, 1, 1, 2], dtype=torch.int32)
    bias, cap = torch.linspace(0, 1, 5, dtype=torch.bfloat16), torch.tensor(3.0)

    def score_mod(score, b, h, q_idx, kv_idx):
        capped = cap * torch.tanh(score / cap) + bias[q_idx].float()
        far = torch.logical_and(torch.abs(q_idx - kv_idx) > 2, ~(ids[q_idx] == ids[kv_idx]))
        return torch.where(far, -float("inf"), torch.maximum(capped, torch.sub(1, score)) + torch.erf(score))

    region = region_of(score_mod, "f32")
    assert {capture.name for capture in region.captures} == {"ids", "bias", "cap"}
    q_idx, kv_idx = np.indices((5, 5))
    score = np.linspace(-4, 4, 25).reshape(5, 5)
    got = region.evaluate(score=score, b=0, h=0, q_idx=q_idx, kv_idx=kv_idx)
    document = ids.numpy()
    far = (np.abs(q_idx - kv_idx) > 2) & (document[q_idx] != document[kv_idx])
    capped = 3 * np.tanh(score / 3) + bias.double().numpy()[q_idx]
    expected = np.where(far, -np.inf, np.maximum(capped, 1 - score) + ROUNDED(score))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.torch
def test_combined_masks_of_flex_attention():
    torch = pytest.importorskip("torch")
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    ids = torch.tensor([0, 0, 1, 1], dtype=torch.int32)
    same = lambda b, h, q, k: ids[q] == ids[k]  # noqa: E731
    causal = lambda b, h, q, k: q >= k  # noqa: E731
    q_idx, kv_idx = np.indices((4, 4))
    is_same = ids.numpy()[q_idx] == ids.numpy()[kv_idx]
    for combine, expected in (
        (flex.and_masks, is_same & (q_idx >= kv_idx)),
        (flex.or_masks, is_same | (q_idx >= kv_idx)),
    ):
        region = region_of(combine(same, causal))
        np.testing.assert_array_equal(region.evaluate(b=0, h=0, q_idx=q_idx, kv_idx=kv_idx), expected)


@pytest.mark.torch
def test_refusals_of_torch():
    torch = pytest.importorskip("torch")
    ids, learned, table = torch.zeros(4, dtype=torch.int16), torch.zeros(4, requires_grad=True), torch.zeros(2, 2)
    holder = Holder(table)
    for function, message in (
        (lambda b, h, q, k: ids[q] == 0, r"'ids' has dtype int16.*capture its .to\(torch.int32\)"),
        (lambda b, h, q, k: learned[q] > 0, r"'learned' requires a gradient.*capture its .detach\(\)"),
        (lambda b, h, q, k: holder.array[q] > 0, "1 indices for a captured array of 2 dimensions"),
        (lambda b, h, q, k: torch.atan(q) > 0, "torch.atan has no counterpart"),
        (lambda b, h, q, k: torch.add(q, k, alpha=2) > 0, "torch.add has options"),
    ):
        with pytest.raises(TracingError, match=message):
            region_of(function)
    region = region_of(lambda b, h, q, k: holder.array[q, k] > 0)
    assert region.captures[0].array is table


# ---- Arrays of JAX


@pytest.mark.jax
def test_arrays_of_jax():
    jnp = pytest.importorskip("jax.numpy")
    ids, bias, two = jnp.arange(8) // 3, jnp.linspace(0, 1, 8, dtype=jnp.bfloat16), jnp.float32(2)
    value, region = value_at(lambda s, b, h, q, k: ids[q] + bias[k] * two, q_idx=3, kv_idx=7)
    assert value == 1 + 1 * 2
    assert [capture.type for capture in region.captures] == ["tensor<?xi32>", "tensor<?xbf16>", "tensor<f32>"]
