# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse products and attention on NVIDIA GPUs and on the processor.

    w = sparsec.BSR.from_dense(a, 64, sparsec.prune.magnitude(a, 64, density=0.1), "bf16")
    linear = sparsec.compile(sparsec.spmm(64, x_layout="nk", y_layout="nm"))["spmm"]
    y = linear(w, x)

docs/python.md of the project is the tour. Importing the package needs NumPy, but no torch, driver or CUDA toolkit.
"""

from . import _native, errors, patterns, prune, quantize, tracing
from .arrays import HOST, from_pointer
from .bsr import BSR
from .errors import (
    Cancelled,
    CompileError,
    DriverError,
    Error,
    InvalidArgument,
    InvalidImage,
    InvalidPattern,
    InvalidPlan,
    OutOfMemory,
    UnknownKernel,
)
from .kernel import Kernel, Launcher
from .merge_programs import merge
from .module import Module, compile, load
from .plan import Plan
from .plan_info import PlanInfo
from .programs import attention, full, per_column, per_row, scalar, sddmm, spgemm, spmm
from .tracing import TracingError

__version__ = _native.version()

__all__ = [
    "BSR",
    "HOST",
    "Cancelled",
    "CompileError",
    "DriverError",
    "Error",
    "InvalidArgument",
    "InvalidImage",
    "InvalidPattern",
    "InvalidPlan",
    "Kernel",
    "Launcher",
    "Module",
    "OutOfMemory",
    "Plan",
    "PlanInfo",
    "TracingError",
    "UnknownKernel",
    "__version__",
    "attention",
    "compile",
    "errors",
    "from_pointer",
    "full",
    "load",
    "merge",
    "patterns",
    "per_column",
    "per_row",
    "prune",
    "quantize",
    "scalar",
    "sddmm",
    "spgemm",
    "spmm",
    "tracing",
]
