# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates the nodes of a region with NumPy, in the types of the region."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sparsec.tracing.graph import Capture, Node, host_array

Array = np.ndarray[Any, Any]

_DTYPES: dict[str, Any] = {"i1": np.bool_, "i32": np.int32, "f32": np.float32, "f16": np.float16}


def _divide(left: Array, right: Array) -> Array:
    """Towards zero, as arith.divsi; x / 0 is 0."""
    quotient: Array = (left - np.fmod(left, right)) // right
    return quotient


_erf = np.frompyfunc(math.erf, 1, 1)

_COMPUTE: dict[str, Callable[..., Any]] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.negf": np.negative, "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin, "arith.addi": np.add, "arith.subi": np.subtract,
    "arith.muli": np.multiply, "arith.divsi": _divide, "arith.remsi": np.fmod, "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum, "arith.shli": np.left_shift, "arith.shrsi": np.right_shift,
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
    "arith.select": np.where, "arith.sitofp": np.positive, "arith.fptosi": np.trunc,
    "math.absf": np.abs, "math.fma": lambda a, b, c: np.float64(a) * np.float64(b) + np.float64(c),
    "math.floor": np.floor, "math.ceil": np.ceil, "math.sqrt": np.sqrt, "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.exp": np.exp, "math.exp2": np.exp2, "math.expm1": np.expm1, "math.log": np.log, "math.log2": np.log2,
    "math.log1p": np.log1p, "math.tanh": np.tanh, "math.sin": np.sin, "math.cos": np.cos, "math.erf": _erf,
}  # fmt: skip

_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def evaluate(nodes: Sequence[Node], arguments: Mapping[str, Any]) -> Array:
    """The value of the last node. The nodes are in order; `arguments` has an array for every argument that is there."""
    values: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for node in nodes:
            values[id(node)] = _value(node, [values[id(operand)] for operand in node.operands], arguments)
    return values[id(nodes[-1])]


def _value(node: Node, operands: list[Array], arguments: Mapping[str, Any]) -> Array:
    if isinstance(node.attribute, Capture):
        return _element(node.attribute, operands)
    if node.op == "argument":
        return _of_type(arguments[node.attribute], node.type)
    if node.op == "arith.constant":
        return _of_type(node.attribute, node.type)
    if node.op in ("arith.cmpf", "arith.cmpi"):
        return _of_type(_COMPARE[node.attribute[-2:]](*operands), "i1")
    if node.op in ("arith.extf", "arith.truncf"):
        return _of_type(operands[0], node.type)
    return _of_type(_COMPUTE[node.op](*operands), node.type)


def _of_type(value: Any, type: str) -> Array:
    if type == "bf16":
        return _rounded_to_bf16(np.asarray(value, np.float32))
    return np.asarray(value).astype(_DTYPES[type])


def _rounded_to_bf16(value: Array) -> Array:
    """To nearest even, kept as f32: NumPy has no bf16."""
    bits = value.view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(value), value, rounded)


def _element(capture: Capture, indices: list[Array]) -> Array:
    values = host_array(capture.array)
    for dimension, index in enumerate(indices):
        size = values.shape[dimension]
        if np.any((index < 0) | (index >= size)):
            name = f"'{capture.name}'" if capture.name else "a captured array"
            raise IndexError(f"{name}: an index of dimension {dimension} is outside 0 to {size - 1}")
    return _of_type(values[tuple(indices)], capture.loaded)
