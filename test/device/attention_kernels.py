# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The attention kernels of generate_kernels.py.

A kernel's name says what it is, and the test program compares it with the launch info:
  attention_<dtype>_<head dimension>_<pattern>_<limits>_<scale>_<sinks>_<result dtype>_<results>_<region>
The head dimension is "192v128" where values have another.
The operands of the regions have names by which the test program fills them.
"""
import collections
import functools

from attention_text import attention_text
from covering import covering

Kernel = collections.namedtuple("Kernel",
                                "dtype dimension query_block key_block limits scale sinks result results region")

DTYPES = ["bf16", "f16"]
DIMENSIONS = ["64", "128"]
WIDE_DIMENSIONS = ["96", "192", "256", "192v128"]  # a table of their own, which has less
BLOCKS = [None, 64, 128]  # None: no pattern, then for queries and keys
LIMITS = {"all": "", "causal": " causal", "window": " window = [70, 30]"}
# Written in the same way, but not combined with everything.
RARE_LIMITS = {"causalwindow": " causal window = [70, -1]"}
SCALES = ["root", "scaled"]  # scaled: the scale is an argument; root: it is 1 / sqrt(D)
SINKS = ["no", "sink"]
RESULTS = ["bf16", "f16", "f32"]
OUTPUTS = ["lse", "o"]

# Operands (name, type) of both regions, and what is in a region of a kind.
Regions = collections.namedtuple("Regions", "operands bodies")
SOFTCAP = ["%cap = arith.constant 20.0 : f32",
           "%ratio = arith.divf %s, %cap : f32",
           "%tanh = math.tanh %ratio : f32",
           "%r = arith.mulf %tanh, %cap : f32"]
EXACTCAP = [line.replace("%tanh = math.tanh %ratio", "%tanh = math.tanh %ratio {sparsec.exact}") for line in SOFTCAP]
# A polynomial where no score is large, the hardware's tanh else.
FASTCAP = ["%cap = arith.constant 20.0 : f32",
           "%ratio = arith.divf %s, %cap : f32",
           "%tanh = math.tanh %ratio fastmath<afn> : f32",
           "%r = arith.mulf %tanh, %cap : f32"]
# Element (batch, position) is the document of the query, or of the key, at this index.


def same_document(score, element):
    """Regions whose mask is true within a document. `element`: the type of the documents' numbers."""
    tensor = f"tensor<?x?x{element}>"
    mask = [f"%mine = sparsec.element %documents_region[%b, %i] : {tensor}",
            f"%theirs = sparsec.element %documents_region[%b, %j] : {tensor}",
            "%r = arith.cmpi eq, %mine, %theirs : i32"]
    return Regions([("documents", tensor)], {"score": score, "mask": mask} if score else {"mask": mask})


REGIONS = {
    "none": Regions([], {}),
    "cap": Regions([], {"score": SOFTCAP}),
    "capexact": Regions([], {"score": EXACTCAP}),
    "alibi": Regions([("slopes", "tensor<?xf32>")],
                     {"score": ["%slope = sparsec.element %slopes_region[%h] : tensor<?xf32>",
                                "%distance = arith.subi %j, %i : i32",
                                "%d = arith.sitofp %distance : i32 to f32",
                                "%r = math.fma %slope, %d, %s : f32"]}),
    "slopes": Regions([("slopes", "tensor<?xf32>")],
                      {"score": ["%slope = sparsec.element %slopes_region[%h] : tensor<?xf32>",
                                 "%five = arith.constant 5 : i32",
                                 "%distance = arith.subi %i, %j : i32",
                                 "%further = arith.addi %distance, %five : i32",
                                 "%d = arith.sitofp %further : i32 to f32",
                                 "%p = arith.mulf %d, %slope : f32",
                                 "%r = arith.subf %s, %p : f32"]}),
    "fast": Regions([], {"score": FASTCAP}),
    # Element (head, distance + 32) is added; what is further away has the last one.
    "bias": Regions([("bias", "tensor<?x?xf16>")],
                    {"score": ["%limit = arith.constant 32 : i32",
                               "%minus = arith.constant -32 : i32",
                               "%distance = arith.subi %j, %i : i32",
                               "%below = arith.minsi %distance, %limit : i32",
                               "%near = arith.maxsi %below, %minus : i32",
                               "%index = arith.addi %near, %limit : i32",
                               "%narrow = sparsec.element %bias_region[%h, %index] : tensor<?x?xf16>",
                               "%wide = arith.extf %narrow : f16 to f32",
                               "%r = arith.addf %s, %wide : f32"]}),
    # The distance counts, and it differs between heads: two of three keys are visible.
    "thirds": Regions([], {"mask": ["%three = arith.constant 3 : i32",
                                      "%one = arith.constant 1 : i32",
                                      "%distance = arith.subi %i, %j : i32",
                                      "%shifted = arith.addi %distance, %h : i32",
                                      "%remainder = arith.remsi %shifted, %three : i32",
                                      "%r = arith.cmpi ne, %remainder, %one : i32"]}),
    # So long that they are in a loop over the scores of a thread. No difference of positions has a sine of zero but 0.
    "long": Regions([], {"score": ["%distance = arith.subi %j, %i : i32",
                                   "%angle = arith.sitofp %distance : i32 to f32",
                                   "%sine = math.sin %angle : f32",
                                   "%r = arith.addf %s, %sine : f32"],
                         "mask": ["%distance = arith.subi %i, %j : i32",
                                  "%angle = arith.sitofp %distance : i32 to f32",
                                  "%sine = math.sin %angle : f32",
                                  "%zero = arith.constant 0.0 : f32",
                                  "%r = arith.cmpf ole, %sine, %zero : f32"]}),
    # Loads by the query alone, by the key alone (i32, f32 and i1), and by both.
    "terms": Regions([("documents", "tensor<?x?xi32>"), ("weights", "tensor<?x?xf32>")],
                     {"score": ["%mine = sparsec.element %weights_region[%b, %i] : tensor<?x?xf32>",
                                "%theirs = sparsec.element %weights_region[%b, %j] : tensor<?x?xf32>",
                                "%distance = arith.subi %i, %j : i32",
                                "%zero = arith.constant 0 : i32",
                                "%behind = arith.maxsi %distance, %zero : i32",
                                "%between = sparsec.element %weights_region[%b, %behind] : tensor<?x?xf32>",
                                "%scaled = math.fma %s, %between, %theirs : f32",
                                "%r = math.fma %mine, %theirs, %scaled : f32"],
                      "mask": ["%mine = sparsec.element %documents_region[%b, %i] : tensor<?x?xi32>",
                               "%theirs = sparsec.element %documents_region[%b, %j] : tensor<?x?xi32>",
                               "%same = arith.cmpi eq, %mine, %theirs : i32",
                               "%one = arith.constant 1 : i32",
                               "%shared = arith.cmpi eq, %theirs, %one : i32",
                               "%r = arith.ori %same, %shared : i1"]}),
    # A mask of words alone: of intervals in both directions, with a loaded limit and without, of queries, of keys, of
    # equal terms, with all logic between them.
    "words": Regions([("documents", "tensor<?x?xi32>")],
                     {"mask": ["%mine = sparsec.element %documents_region[%b, %i] : tensor<?x?xi32>",
                               "%theirs = sparsec.element %documents_region[%b, %j] : tensor<?x?xi32>",
                               "%same = arith.cmpi eq, %mine, %theirs : i32",
                               "%one = arith.constant 1 : i32",
                               "%two = arith.constant 2 : i32",
                               "%forty = arith.constant 40 : i32",
                               "%many = arith.constant 150 : i32",
                               "%zero = arith.constant 0 : i32",
                               "%distance = arith.subi %i, %j : i32",
                               "%near = arith.cmpi slt, %distance, %forty : i32",
                               "%hole = arith.cmpi ne, %distance, %two : i32",
                               "%sum = arith.addi %i, %j : i32",
                               "%far = arith.cmpi sge, %sum, %many : i32",
                               "%limit = arith.muli %mine, %forty : i32",
                               "%next = arith.addi %j, %two : i32",
                               "%before = arith.cmpi sle, %next, %limit : i32",
                               "%low = arith.andi %i, %one : i32",
                               "%odd = arith.cmpi ne, %low, %zero : i32",
                               "%pair = arith.andi %j, %two : i32",
                               "%second = arith.cmpi ne, %pair, %zero : i32",
                               "%own = arith.andi %same, %hole : i1",
                               "%other = arith.xori %near, %second : i1",
                               "%both = arith.andi %other, %far : i1",
                               "%chosen = arith.select %odd, %own, %both : i1",
                               "%r = arith.ori %chosen, %before : i1"]}),
    # Words, and a remainder that is computed for each score.
    "mixwords": Regions([("documents", "tensor<?x?xi32>")],
                         {"mask": ["%mine = sparsec.element %documents_region[%b, %i] : tensor<?x?xi32>",
                                   "%theirs = sparsec.element %documents_region[%b, %j] : tensor<?x?xi32>",
                                   "%other = arith.cmpi ne, %mine, %theirs : i32",
                                   "%three = arith.constant 3 : i32",
                                   "%thirty = arith.constant 30 : i32",
                                   "%distance = arith.subi %i, %j : i32",
                                   "%remainder = arith.remsi %distance, %three : i32",
                                   "%one = arith.constant 1 : i32",
                                   "%third = arith.cmpi eq, %remainder, %one : i32",
                                   "%rest = arith.cmpi sgt, %remainder, %one : i32",
                                   "%later = arith.cmpi sgt, %j, %thirty : i32",
                                   "%some = arith.ori %other, %rest : i1",
                                   "%few = arith.xori %some, %third : i1",
                                   "%r = arith.xori %few, %later : i1"]}),
    "docs": same_document(None, "i32"),
    "capdoc": same_document(SOFTCAP, "i64"),
    "capfast": same_document(FASTCAP, "i8"),
}

FACTORS = [DTYPES, DIMENSIONS, BLOCKS, BLOCKS, list(LIMITS), SCALES, SINKS, RESULTS, OUTPUTS, list(REGIONS)]

# Regions that take registers, and one of each kind.
WIDE_FACTORS = [DTYPES, WIDE_DIMENSIONS, BLOCKS, BLOCKS, list(LIMITS), ["root"], SINKS, ["bf16", "f32"], OUTPUTS,
                ["none", "cap", "fast", "alibi", "long", "capdoc"]]


def is_allowed(*values):
    kernel = Kernel(*values)
    return (kernel.query_block is None) == (kernel.key_block is None)


@functools.cache
def select(coverage):
    """Kernels in which any two (pairs) or three (triples) features meet; there are too many for all combinations."""
    strength = {"pairs": 2, "triples": 3, "full": 3}[coverage]
    rare = [Kernel("bf16", "64", 64, 128, "causalwindow", "root", "no", "bf16", "lse", "none"),
            Kernel("bf16", "64v256", 128, 64, "causal", "root", "sink", "bf16", "lse", "none")]
    # Plans may cut tiles: one with two groups, two and three side by side, and blocks that take several steps.
    rare += [Kernel("bf16", "128", 128, 128, "all", "root", "no", "bf16", "lse", "none"),
             Kernel("f16", "128", 64, 64, "all", "scaled", "sink", "f16", "lse", "none"),
             Kernel("bf16", "128", 64, 128, "all", "root", "no", "f32", "o", "none"),
             Kernel("f16", "64", 64, 64, "all", "root", "sink", "f32", "lse", "none"),
             Kernel("bf16", "64", 128, 128, "all", "root", "no", "bf16", "lse", "none"),
             Kernel("f16", "96", 64, 64, "all", "root", "no", "f16", "lse", "none"),
             Kernel("bf16", "192v128", 128, 128, "all", "root", "no", "bf16", "lse", "none"),
             Kernel("f16", "256", 64, 64, "all", "scaled", "sink", "f16", "lse", "none")]
    tables = [covering(strength, factors, is_allowed) for factors in (FACTORS, WIDE_FACTORS)]
    return [Kernel(*values) for values in sum(tables, [])] + rare


def pattern_of(kernel):
    return f"{kernel.query_block}x{kernel.key_block}" if kernel.query_block else "dense"


def name_of(kernel):
    return (f"attention_{kernel.dtype}_{kernel.dimension}_{pattern_of(kernel)}_{kernel.limits}_{kernel.scale}_"
            f"{kernel.sinks}_{kernel.result}_{kernel.results}_{kernel.region}")


def region_text(regions, kind):
    arguments = ["%s: f32"] if kind == "score" else []
    arguments += [f"%{name}: i32" for name in "bhij"]
    arguments += [f"%{name}_region: {operand}" for name, operand in regions.operands]
    lines = "\n".join(f"    {line}" for line in regions.bodies[kind])
    yielded = "f32" if kind == "score" else "i1"
    return f" {kind} ({', '.join(arguments)}) {{\n{lines}\n    sparsec.yield %r : {yielded}\n  }}"


def widths_of(kernel):
    """Of queries and keys, and of values."""
    width, _, value_width = kernel.dimension.partition("v")
    return width, value_width or width


def text_of(kernel):
    width, value_width = widths_of(kernel)
    tensor = f"tensor<?x?x?x{width}x{kernel.dtype}>"
    regions = REGIONS[kernel.region]
    arguments = [("q", tensor), ("k", tensor), ("v", f"tensor<?x?x?x{value_width}x{kernel.dtype}>")]
    clauses = ""
    if kernel.query_block:
        arguments.append(("pattern", f"!sparsec.pattern<{pattern_of(kernel)}>"))
        clauses += " pattern(%pattern)"
    if kernel.scale == "scaled":
        arguments.append(("scale", "f32"))
        clauses += " scale(%scale)"
    if kernel.sinks == "sink":
        arguments.append(("sinks", "tensor<?xf32>"))
        clauses += " sinks(%sinks)"
    if regions.operands:
        arguments += regions.operands
        clauses += f" extras({', '.join('%' + name for name, _ in regions.operands)})"
    clauses += {**LIMITS, **RARE_LIMITS}[kernel.limits] + "".join(region_text(regions, kind) for kind in regions.bodies)
    output = ("o", f"tensor<?x?x?x{value_width}x{kernel.result}>")
    return attention_text(name_of(kernel), arguments, clauses, output, kernel.results == "lse")


def file_of(kernel):
    return f"attention_{kernel.dtype}_{kernel.dimension}.mlir"
