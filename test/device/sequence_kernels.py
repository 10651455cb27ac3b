# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attention kernels of generate_kernels.py whose sequences have sizes of their own.

A kernel's name says what it is, and the test program compares it with the launch info:
  sequence_<dtype>_<head dimension>_<pattern>_<sizes>_<limits>_<sinks>_<result dtype>_<results>_<region>
"""
import collections
import functools

from attention_text import attention_text
from covering import covering

Kernel = collections.namedtuple("Kernel",
                                "dtype dimension query_block key_block sizes limits sinks result results region")

DTYPES = ["bf16", "f16"]
DIMENSIONS = ["64", "128"]
BLOCKS = [None, 64, 128]  # None: no pattern, then for queries and keys
# The operands that give sizes, and the rows of a page.
SIZES = {
    "lengths": ["key_lengths"],
    "keys": ["key_starts"],
    "packed": ["query_starts", "key_starts"],
    "packedlengths": ["query_starts", "key_starts", "key_lengths"],
    "queries": ["query_starts", "key_lengths"],
    "page16": ["key_lengths", "page_table"],
    "page64": ["key_lengths", "page_table"],
    "page256": ["query_starts", "key_lengths", "page_table"],
}
TYPES = {"query_starts": "tensor<?xi32>", "key_starts": "tensor<?xi32>", "key_lengths": "tensor<?xi32>",
         "page_table": "tensor<?x?xi32>"}
LIMITS = {"all": "", "causal": " causal", "window": " window = [70, 30]"}
SINKS = ["no", "sink"]
RESULTS = ["bf16", "f32"]
OUTPUTS = ["lse", "o"]
REGIONS = {
    "none": "",
    # Every number of a position counts.
    "positions": """ score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %c3 = arith.constant 3 : i32
    %c2 = arith.constant 2 : i32
    %step = arith.constant 0.015625 : f32
    %b3 = arith.muli %b, %c3 : i32
    %j2 = arith.muli %j, %c2 : i32
    %bh = arith.addi %b3, %h : i32
    %bhi = arith.addi %bh, %i : i32
    %sum = arith.subi %bhi, %j2 : i32
    %f = arith.sitofp %sum : i32 to f32
    %r = math.fma %f, %step, %s : f32
    sparsec.yield %r : f32
  }""",
    "thirds": """ mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %three = arith.constant 3 : i32
    %one = arith.constant 1 : i32
    %distance = arith.subi %i, %j : i32
    %ofhead = arith.addi %distance, %h : i32
    %shifted = arith.addi %ofhead, %b : i32
    %remainder = arith.remsi %shifted, %three : i32
    %r = arith.cmpi ne, %remainder, %one : i32
    sparsec.yield %r : i1
  }""",
}

FACTORS = [DTYPES, DIMENSIONS, BLOCKS, BLOCKS, list(SIZES), list(LIMITS), SINKS, RESULTS, OUTPUTS, list(REGIONS)]


def is_allowed(*values):
    kernel = Kernel(*values)
    return (kernel.query_block is None) == (kernel.key_block is None)


@functools.cache
def select(coverage):
    """Kernels in which any two (pairs) or three (triples) features meet; there are too many for all combinations."""
    wide = [Kernel("bf16", "256", 128, 64, "packed", "causal", "no", "bf16", "lse", "none"),
            Kernel("bf16", "192v128", None, None, "page16", "causal", "no", "bf16", "lse", "none")]
    table = covering({"pairs": 2, "triples": 3, "full": 3}[coverage], FACTORS, is_allowed)
    return [Kernel(*values) for values in table] + wide


def pattern_of(kernel):
    return f"{kernel.query_block}x{kernel.key_block}" if kernel.query_block else "dense"


def name_of(kernel):
    return (f"sequence_{kernel.dtype}_{kernel.dimension}_{pattern_of(kernel)}_{kernel.sizes}_{kernel.limits}_"
            f"{kernel.sinks}_{kernel.result}_{kernel.results}_{kernel.region}")


def text_of(kernel):
    width, _, value_width = kernel.dimension.partition("v")
    value_width = value_width or width
    rows = kernel.sizes.removeprefix("page") if kernel.sizes.startswith("page") else "?"
    arguments = [("q", f"tensor<?x?x?x{width}x{kernel.dtype}>"), ("k", f"tensor<?x?x{rows}x{width}x{kernel.dtype}>"),
                 ("v", f"tensor<?x?x{rows}x{value_width}x{kernel.dtype}>")]
    clauses = ""
    if kernel.query_block:
        arguments.append(("pattern", f"!sparsec.pattern<{pattern_of(kernel)}>"))
        clauses += " pattern(%pattern)"
    if kernel.sinks == "sink":
        arguments.append(("sinks", "tensor<?xf32>"))
        clauses += " sinks(%sinks)"
    for name in SIZES[kernel.sizes]:
        arguments.append((name, TYPES[name]))
        clauses += f" {name}(%{name})"
    clauses += LIMITS[kernel.limits] + REGIONS[kernel.region]
    output = ("o", f"tensor<?x?x?x{value_width}x{kernel.result}>")
    return attention_text(name_of(kernel), arguments, clauses, output, kernel.results == "lse")


def file_of(kernel):
    return f"sequence_{kernel.dtype}_{kernel.dimension}.mlir"
