# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The oracle for regions: what every op may give, as intervals in double.

An f32 is a set of values: the numbers from lo to hi, and NaN or not. Ops that f32 arithmetic rounds correctly keep a
point a point; functions give an interval as wide as their documented error. A result outside its interval is wrong,
whatever the order of evaluation. The sign of a zero is not followed. Nothing here is taken from the compiler or the
runtime.
"""
import math
import operator

import numpy as np

import formats

# Largest error of a function, in units in the last place of f32.
FUNCTION_ERROR = 4
LEAST, MOST = -2 ** 31, 2 ** 31 - 1


def to_f32(value):
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(value, np.float64).astype(np.float32).astype(np.float64)


class Float:
    """Arrays of lo and hi (inf and -inf where no number is possible) and of whether NaN is possible."""

    def __init__(self, lo, hi=None, nan=False):
        lo = np.asarray(lo, np.float64)
        hi = lo if hi is None else np.asarray(hi, np.float64)
        self.nan = np.isnan(lo) | np.isnan(hi) | nan
        self.lo = np.where(np.isnan(lo) | np.isnan(hi), np.inf, lo)
        self.hi = np.where(np.isnan(lo) | np.isnan(hi), -np.inf, hi)

    @property
    def number(self):
        return self.lo <= self.hi

    def may_be(self, value):
        return (self.lo <= value) & (value <= self.hi)

    def contains(self, got):
        return np.where(np.isnan(got), self.nan, self.may_be(got))

    def rounded(self, dtype):
        return Float(formats.round_to(self.lo, dtype), formats.round_to(self.hi, dtype), self.nan)

    def widened(self, error):
        """By an absolute error, to values of f32."""
        with np.errstate(invalid="ignore"):
            lo, hi = np.where(self.number, self.lo - error, np.inf), np.where(self.number, self.hi + error, -np.inf)
        below, above = to_f32(lo), to_f32(hi)
        below = np.where(below > lo, np.nextafter(below.astype(np.float32), np.float32(-np.inf)), below)
        above = np.where(above < hi, np.nextafter(above.astype(np.float32), np.float32(np.inf)), above)
        return Float(below, above, self.nan)

    def is_point(self):
        return np.where(self.nan, ~self.number, self.lo == self.hi)


class Truth:
    """An i1 that may be true, may be false, or both."""

    def __init__(self, may_be_true, may_be_false):
        self.true, self.false = np.asarray(may_be_true), np.asarray(may_be_false)

    def negated(self):
        return Truth(self.false, self.true)


class Integer:
    """An i32 from lo to hi."""

    def __init__(self, lo, hi=None):
        self.lo = np.asarray(lo, np.int64)
        self.hi = self.lo if hi is None else np.asarray(hi, np.int64)

    def is_point(self):
        return self.lo == self.hi


def hull(a, b):
    if isinstance(a, Integer):
        return Integer(np.minimum(a.lo, b.lo), np.maximum(a.hi, b.hi))
    return Float(np.minimum(a.lo, b.lo), np.maximum(a.hi, b.hi), a.nan | b.nan)


def only_where(condition, value):
    """The value where the condition holds, else nothing."""
    return Float(np.where(condition, value.lo, np.inf), np.where(condition, value.hi, -np.inf), condition & value.nan)


# Arithmetic that f32 rounds correctly. Corners that are NaN say so in the flag and are no bounds.

def from_corners(corners, nan, possible):
    with np.errstate(invalid="ignore"):
        lo, hi = np.fmin.reduce(corners), np.fmax.reduce(corners)
    lo, hi = to_f32(np.where(np.isnan(lo), np.inf, lo)), to_f32(np.where(np.isnan(hi), -np.inf, hi))
    return Float(np.where(possible, lo, np.inf), np.where(possible, hi, -np.inf), nan)


def binary(function, is_invalid):
    def apply(a, b):
        possible = a.number & b.number
        corners = corners_of(function, a, b)
        return from_corners(corners, a.nan | b.nan | (possible & is_invalid(a, b)), possible)
    return apply


def corners_of(function, a, b):
    """0 * inf and inf / inf at a corner of an area are 0 beside it."""
    with np.errstate(all="ignore"):
        corners = [function(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    is_area = (a.lo < a.hi) | (b.lo < b.hi)
    if function in (np.multiply, np.divide):
        corners = [np.where(np.isnan(corner) & is_area, 0.0, corner) for corner in corners]
    return corners


def is_infinite(a):
    return a.may_be(np.inf) | a.may_be(-np.inf)


def add_is_invalid(a, b):
    return (a.may_be(np.inf) & b.may_be(-np.inf)) | (a.may_be(-np.inf) & b.may_be(np.inf))


def multiply_is_invalid(a, b):
    return (a.may_be(0) & is_infinite(b)) | (b.may_be(0) & is_infinite(a))


def negate(a):
    return Float(-a.hi, -a.lo, a.nan)


add = binary(np.add, add_is_invalid)
multiply = binary(np.multiply, multiply_is_invalid)


def subtract(a, b):
    return add(a, negate(b))


def divide(a, b):
    invalid = (a.may_be(0) & b.may_be(0)) | (is_infinite(a) & is_infinite(b))
    quotient = binary(np.divide, lambda a, b: invalid)(a, b)
    by_zero = a.number & b.may_be(0)  # of either sign
    return Float(np.where(by_zero, -np.inf, quotient.lo), np.where(by_zero, np.inf, quotient.hi), quotient.nan)


def fma(a, b, c):
    products = corners_of(np.multiply, a, b)  # exact: 48 bits
    with np.errstate(all="ignore"):
        sums = [product + z for product in products for z in (c.lo, c.hi)]
        # A sum that double has rounded to the middle of two f32 may be on either side of it.
        corners = [np.nextafter(each, end) for each in sums for end in (-np.inf, np.inf)]
        product = Float(np.fmin.reduce(products), np.fmax.reduce(products))
    possible = a.number & b.number & c.number
    nan = possible & (multiply_is_invalid(a, b) | add_is_invalid(product, c))
    return from_corners(corners, a.nan | b.nan | c.nan | nan, possible)


def monotonic(function, error=FUNCTION_ERROR, low=-np.inf, flipped=False):
    """A function that grows (flipped: falls) on its domain, from `low` on; NaN below."""
    def apply(a):
        lo, hi = np.maximum(a.lo, low), a.hi
        with np.errstate(all="ignore"):
            ends = function(lo), function(hi)
        possible = a.number & (hi >= low)
        nan = a.nan | (a.number & (a.lo < low))
        ends = ends[::-1] if flipped else ends
        result = Float(np.where(possible, ends[0], np.inf), np.where(possible, ends[1], -np.inf), nan)
        if error == 0:
            return result.rounded("f32")
        with np.errstate(invalid="ignore"):
            largest = np.maximum(np.abs(np.where(np.isfinite(result.lo), result.lo, 0)),
                                 np.abs(np.where(np.isfinite(result.hi), result.hi, 0)))
        return result.widened(error * formats.unit(largest, "f32"))
    return apply


def rsqrt(a):
    result = monotonic(lambda x: 1 / np.sqrt(x), low=0, flipped=True)(a)
    zero = a.may_be(0)  # of either sign
    return Float(np.where(zero, -np.inf, result.lo), np.where(zero, np.inf, result.hi), result.nan)


def wave(function):
    def apply(a):
        infinite = is_infinite(a)
        finite = a.number & ~((a.lo == a.hi) & infinite)
        known = finite & ~infinite
        width = np.where(known, a.hi - np.where(known, a.lo, 0), np.inf)
        with np.errstate(all="ignore"):
            middle = function(np.where(known, a.lo, 0.0))
        error = np.minimum(width, 2) + FUNCTION_ERROR * formats.unit(middle, "f32")
        lo, hi = np.maximum(middle - error, -1), np.minimum(middle + error, 1)
        return Float(np.where(finite, lo, np.inf), np.where(finite, hi, -np.inf), a.nan | infinite)
    return apply


def absolute(a):
    straddles = (a.lo < 0) & (a.hi > 0)
    ends = np.abs(a.lo), np.abs(a.hi)
    lo, hi = np.where(straddles, 0.0, np.minimum(*ends)), np.maximum(*ends)
    return Float(np.where(a.number, lo, np.inf), np.where(a.number, hi, -np.inf), a.nan)


# Minimum, maximum and choice.

def both(function):
    """maximumf and minimumf: NaN if either is NaN."""
    def apply(a, b):
        possible = a.number & b.number
        result = Float(function(a.lo, b.lo), function(a.hi, b.hi), False)
        return Float(np.where(possible, result.lo, np.inf), np.where(possible, result.hi, -np.inf), a.nan | b.nan)
    return apply


def either(function):
    """maxnumf and minnumf: the other one if one is NaN."""
    def apply(a, b):
        result = both(function)(a, b)
        numbers = Float(result.lo, result.hi, a.nan & b.nan)
        return hull(hull(numbers, only_where(b.nan, Float(a.lo, a.hi))), only_where(a.nan, Float(b.lo, b.hi)))
    return apply


def compare(predicate, a, b):
    possible = a.number & b.number
    if predicate in ("true", "false"):
        everywhere = np.full(np.broadcast(a.lo, b.lo).shape, predicate == "true")
        return Truth(everywhere, ~everywhere)
    unordered = a.nan | b.nan
    ordered_truth = {"gt": possible & (a.hi > b.lo), "ge": possible & (a.hi >= b.lo), "lt": possible & (a.lo < b.hi),
                     "le": possible & (a.lo <= b.hi), "eq": possible & (a.lo <= b.hi) & (b.lo <= a.hi),
                     "ne": possible & ~((a.lo == a.hi) & (b.lo == b.hi) & (a.lo == b.lo)), "rd": possible,
                     "no": np.zeros_like(possible)}
    opposite = {"gt": "le", "ge": "lt", "lt": "ge", "le": "gt", "eq": "ne", "ne": "eq", "rd": "no", "no": "rd"}
    kind = predicate[1:]
    may_be_true, may_be_false = ordered_truth[kind], ordered_truth[opposite[kind]]
    if predicate[0] == "u":  # ueq, ..., uno
        return Truth(may_be_true | unordered, may_be_false)
    return Truth(may_be_true, may_be_false | unordered)


def select(condition, a, b):
    if isinstance(a, Truth):
        return Truth((condition.true & a.true) | (condition.false & b.true),
                     (condition.true & a.false) | (condition.false & b.false))
    merged = hull(a, b)
    take = {name: np.where(~condition.false, getattr(a, name), np.where(~condition.true, getattr(b, name),
                                                                         getattr(merged, name)))
            for name in ("lo", "hi")}
    if isinstance(a, Integer):
        return Integer(take["lo"], take["hi"])
    return Float(take["lo"], take["hi"], (condition.true & a.nan) | (condition.false & b.nan))


def logic(function):
    def apply(a, b):
        results = [(function(x, y), getattr(a, x_name) & getattr(b, y_name))
                   for x, x_name in ((True, "true"), (False, "false")) for y, y_name in ((True, "true"),
                                                                                         (False, "false"))]
        def any_of(wanted):
            return np.logical_or.reduce([possible for result, possible in results if result == wanted]
                                        or [np.zeros_like(a.true)])
        return Truth(any_of(True), any_of(False))
    return apply


# Integers: exact for points, else anything, but for minimum and maximum.

def wrap(value):
    return (value - LEAST) % 2 ** 32 + LEAST


def exact(function):
    def apply(a, b):
        known = a.is_point() & b.is_point()
        with np.errstate(all="ignore"):
            value = wrap(function(a.lo, b.lo))
        return Integer(np.where(known, value, LEAST), np.where(known, value, MOST))
    return apply


def monotonic_integer(function):
    return lambda a, b: Integer(function(a.lo, b.lo), function(a.hi, b.hi))


def quotient(a, b):
    size = np.abs(a) // np.maximum(np.abs(b), 1)
    return np.where((a < 0) != (b < 0), -size, size)


def compare_integers(predicate, a, b):
    known = a.is_point() & b.is_point()
    x, y = a.lo, b.lo
    if predicate.startswith("u"):
        x, y = x % 2 ** 32, y % 2 ** 32
    comparison = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
                  "ge": operator.ge}[predicate[-2:]]
    result = comparison(x, y)
    return Truth(~known | result, ~known | ~result)


def to_float(a):
    return Float(to_f32(a.lo), to_f32(a.hi))


def to_integer(a):
    """Of a number that an i32 holds; regions that convert others have no meaning."""
    return Integer(np.trunc(np.clip(a.lo, LEAST, MOST)), np.trunc(np.clip(a.hi, LEAST, MOST)))


UNARY = {
    "arith.negf": negate, "math.absf": absolute, "math.floor": monotonic(np.floor, 0),
    "math.ceil": monotonic(np.ceil, 0), "math.sqrt": monotonic(np.sqrt, 0, low=0), "math.rsqrt": rsqrt,
    "math.exp": monotonic(np.exp), "math.exp2": monotonic(np.exp2), "math.expm1": monotonic(np.expm1),
    "math.log": monotonic(np.log, low=0), "math.log2": monotonic(np.log2, low=0),
    "math.log1p": monotonic(np.log1p, low=-1), "math.tanh": monotonic(np.tanh), "math.sin": wave(np.sin),
    "math.cos": wave(np.cos), "math.erf": monotonic(np.vectorize(math.erf, otypes=[np.float64])),
}
BINARY = {
    "arith.addf": add, "arith.subf": subtract, "arith.mulf": multiply, "arith.divf": divide,
    "arith.maximumf": both(np.maximum), "arith.minimumf": both(np.minimum), "arith.maxnumf": either(np.maximum),
    "arith.minnumf": either(np.minimum),
}
LOGIC = {"arith.andi": logic(operator.and_), "arith.ori": logic(operator.or_), "arith.xori": logic(operator.xor)}
INTEGER = {
    "arith.addi": exact(np.add), "arith.subi": exact(np.subtract), "arith.muli": exact(np.multiply),
    "arith.divsi": exact(quotient), "arith.remsi": exact(lambda a, b: a - quotient(a, b) * b),
    "arith.minsi": monotonic_integer(np.minimum), "arith.maxsi": monotonic_integer(np.maximum),
    "arith.andi": exact(np.bitwise_and), "arith.ori": exact(np.bitwise_or), "arith.xori": exact(np.bitwise_xor),
    "arith.shli": exact(lambda a, b: a << np.clip(b, 0, 31)), "arith.shrsi": exact(lambda a, b: a >> np.clip(b, 0, 31)),
}
