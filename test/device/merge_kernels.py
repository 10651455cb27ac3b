# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The merge kernels that sparsec-device-tests runs. A kernel's name says what it is:
  merge_<dtype of O1>_<dtype of O2>_<result dtype>_<D, or any>
"""
import collections

from covering import covering

Kernel = collections.namedtuple("Kernel", "first second result dimension")

DTYPES = ["bf16", "f16", "f32"]
# Rows of a part of a vector, of no whole vectors, of one pass, of a cut pass, of several passes, and of a loop.
FACTORS = [DTYPES, DTYPES, DTYPES, ["1", "20", "64", "96", "128", "256", "576", "any"]]


def select(coverage):
    return [Kernel(*values) for values in covering({"pairs": 2, "triples": 3, "full": 3}[coverage], FACTORS)]


def name_of(kernel):
    return f"merge_{kernel.first}_{kernel.second}_{kernel.result}_{kernel.dimension}"


def text_of(kernel):
    width = "?" if kernel.dimension == "any" else kernel.dimension
    first, second, result = (f"tensor<?x?x?x{width}x{dtype}>" for dtype in kernel[:3])
    lse = "tensor<?x?x?xf32>"
    return (f"sparsec.kernel @{name_of(kernel)}(%o1: {first}, %lse1: {lse}, %o2: {second}, %lse2: {lse})\n"
            f"    -> (o: {result}, lse: {lse}) {{\n"
            f"  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2\n"
            f"    : ({first}, {lse}, {second}, {lse}) -> ({result}, {lse})\n"
            f"  sparsec.return %o, %lse : {result}, {lse}\n"
            "}\n")


def file_of(kernel):
    return f"merge_{kernel.dimension}.mlir"
