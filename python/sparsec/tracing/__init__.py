# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces Python functions into regions of kernels: epilogues, masks and scores.

A traced function is called once, with values that stand for one element. It may use Python's operators, the functions
of this package, and NumPy's and PyTorch's functions of the same names. Numbers that it reads become constants. Arrays
that it indexes become operands of the kernel, by reference: the kernel reads them when it runs.
"""

from sparsec.tracing.errors import TracingError
from sparsec.tracing.functions import (
    abs,
    ceil,
    cos,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    fma,
    fmax,
    fmin,
    gelu,
    log,
    log1p,
    log2,
    logical_not,
    maximum,
    minimum,
    relu,
    rsqrt,
    sigmoid,
    silu,
    sin,
    sqrt,
    tanh,
    where,
)
from sparsec.tracing.graph import Capture, Graph, host_array
from sparsec.tracing.region import Region, inline, trace
from sparsec.tracing.value import Value, WrappedArray, captured

__all__ = [
    "Capture", "Graph", "Region", "TracingError", "Value", "WrappedArray", "abs", "captured", "ceil", "cos", "erf",
    "exp", "exp2", "expm1", "floor", "fma", "fmax", "fmin", "gelu", "host_array", "inline", "log", "log1p", "log2",
    "logical_not", "maximum", "minimum", "relu", "rsqrt", "sigmoid", "silu", "sin", "sqrt", "tanh", "trace",
    "where",
]  # fmt: skip
