# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of traced values. NumPy's and PyTorch's functions of the same names do the same in a traced function."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from sparsec.tracing.errors import tracing_error
from sparsec.tracing.value import FUNCTIONS, Value, lift


def _first(*values: Any) -> Value:
    """The first traced value, which knows the graph."""
    for value in values:
        if isinstance(value, Value):
            return value
    raise tracing_error("none of the arguments is a traced value")


def where(condition: Any, if_true: Any, if_false: Any) -> Value:
    """`if_true` where the condition holds, else `if_false`. Both are evaluated."""
    graph = _first(condition, if_true, if_false).graph
    return lift(graph, condition).choose(lift(graph, if_true), lift(graph, if_false))


def maximum(left: Any, right: Any) -> Value:
    """The larger one; NaN if one is NaN."""
    return lift(_first(left, right).graph, left).extremum("maximumf", right)


def minimum(left: Any, right: Any) -> Value:
    """The smaller one; NaN if one is NaN."""
    return lift(_first(left, right).graph, left).extremum("minimumf", right)


def fmax(left: Any, right: Any) -> Value:
    """The larger one; the other one if one is NaN."""
    return lift(_first(left, right).graph, left).extremum("maxnumf", right)


def fmin(left: Any, right: Any) -> Value:
    """The smaller one; the other one if one is NaN."""
    return lift(_first(left, right).graph, left).extremum("minnumf", right)


def fma(left: Any, right: Any, addend: Any) -> Value:
    """left * right + addend as an f32, rounded once."""
    graph = _first(left, right, addend).graph
    values = [lift(graph, value).convert("f32") for value in (left, right, addend)]
    return Value(graph, graph.node("math.fma", "f32", *(value.node for value in values)))


def abs(value: Any) -> Value:
    """The magnitude of an integer or a float."""
    return _first(value).__abs__()


def tanh(value: Any, *, approximate: bool = False, exact: bool = False) -> Value:
    """The hyperbolic tangent. `approximate` takes one instruction of the GPU. A soft cap of attention has an
    error of at most 2^-10 of a score, and `exact` asks for the last bits (SPEC.md has the errors)."""
    if approximate and exact:
        raise tracing_error("tanh: expects approximate or exact, but got both")
    return _first(value).function("tanh", "approximate" if approximate else "exact" if exact else None)


def exp(value: Any) -> Value:
    """e to the power of the value."""
    return _first(value).function("exp")


def exp2(value: Any) -> Value:
    """2 to the power of the value."""
    return _first(value).function("exp2")


def expm1(value: Any) -> Value:
    """exp(value) - 1, exact near 0."""
    return _first(value).function("expm1")


def log(value: Any) -> Value:
    """The natural logarithm."""
    return _first(value).function("log")


def log2(value: Any) -> Value:
    """The logarithm to base 2."""
    return _first(value).function("log2")


def log1p(value: Any) -> Value:
    """log(1 + value), exact near 0."""
    return _first(value).function("log1p")


def sqrt(value: Any) -> Value:
    """The square root."""
    return _first(value).function("sqrt")


def rsqrt(value: Any) -> Value:
    """1 / sqrt(value)."""
    return _first(value).function("rsqrt")


def erf(value: Any) -> Value:
    """The error function."""
    return _first(value).function("erf")


def sin(value: Any) -> Value:
    """The sine of radians."""
    return _first(value).function("sin")


def cos(value: Any) -> Value:
    """The cosine of radians."""
    return _first(value).function("cos")


def floor(value: Any) -> Value:
    """The largest whole number that is not above the value, as an f32."""
    return _first(value).function("floor")


def ceil(value: Any) -> Value:
    """The smallest whole number that is not below the value, as an f32."""
    return _first(value).function("ceil")


def logical_not(value: Any) -> Value:
    """Whether a boolean is false."""
    return ~_first(value).convert("i1")


def sigmoid(value: Any) -> Value:
    """1 / (1 + exp(-value))."""
    return 1.0 / (1.0 + exp(-_first(value)))


def relu(value: Any) -> Value:
    """The value, or 0 where it is negative."""
    return maximum(value, 0.0)


def silu(value: Any) -> Value:
    """value * sigmoid(value)."""
    return _first(value) / (1.0 + exp(-_first(value)))


def gelu(value: Any, approximate: str = "none") -> Value:
    """value / 2 * (1 + erf(value / sqrt(2))); approximate="tanh" is the approximation that PyTorch calls so."""
    x = _first(value)
    if approximate == "none":
        return 0.5 * x * (1.0 + erf(x * math.sqrt(0.5)))
    if approximate == "tanh":
        return 0.5 * x * (1.0 + tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    raise tracing_error(f"gelu: approximate is '{approximate}', but expects 'none' or 'tanh'")


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: function(right, left)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "lshift": operator.lshift, "rshift": operator.rshift,
}  # fmt: skip

# NumPy's and PyTorch's names of operators.
_OTHER_NAMES: dict[str, Callable[..., Any]] = {
    "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv, "div": operator.truediv,
    "true_divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "negative": operator.neg, "neg": operator.neg, "absolute": abs, "invert": operator.invert,
    "bitwise_not": operator.invert, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor, "bitwise_invert": operator.invert, "left_shift": operator.lshift,
    "right_shift": operator.rshift, "rsub": _swapped(operator.sub),
    "equal": operator.eq, "eq": operator.eq, "not_equal": operator.ne, "ne": operator.ne,
    "less": operator.lt, "lt": operator.lt, "less_equal": operator.le, "le": operator.le,
    "greater": operator.gt, "gt": operator.gt, "greater_equal": operator.ge, "ge": operator.ge,
}  # fmt: skip

_HERE = (where, maximum, minimum, fmax, fmin, abs, tanh, exp, exp2, expm1, log, log2, log1p, sqrt, rsqrt, erf, sin, cos,
         floor, ceil, logical_not, sigmoid, relu, silu, gelu)  # fmt: skip


def _logical(combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: combine(left.convert("i1"), right.convert("i1"))


FUNCTIONS.update({function.__name__: function for function in _HERE})
FUNCTIONS.update(_OTHER_NAMES)
for _name, _function in _OPERATORS.items():
    FUNCTIONS.update({_name: _function, f"__{_name}__": _function, f"__r{_name}__": _swapped(_function)})
for _name in ("and", "or", "xor"):
    FUNCTIONS[f"logical_{_name}"] = _logical(_OPERATORS[_name])
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    FUNCTIONS[f"__{_name}__"] = FUNCTIONS[_name]
