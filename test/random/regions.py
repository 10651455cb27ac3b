# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random regions (epilogue, score, mask) from all ops of dialect/ElementwiseOps.def: their text, and what they give."""
import collections
import math
import struct

import numpy as np

import formats
import intervals

# Op -> operand types, result type. Ops on i1 and i32 alike are in both tables.
FLOAT_OPS = {
    **{name: (("f32",), "f32") for name in intervals.UNARY},
    **{name: (("f32", "f32"), "f32") for name in intervals.BINARY},
    **{name: (("i1", "i1"), "i1") for name in intervals.LOGIC},
    "math.fma": (("f32", "f32", "f32"), "f32"),
    "arith.cmpf": (("f32", "f32"), "i1"),
    "arith.select": (("i1", "f32", "f32"), "f32"),
    "arith.constant": ((), "f32"),
    "arith.truncf": (("f32",), "f32"),  # and arith.extf behind it
}
INTEGER_OPS = {
    **{name: (("i32", "i32"), "i32") for name in intervals.INTEGER},
    "arith.cmpi": (("i32", "i32"), "i1"),
    "arith.sitofp": (("i32",), "f32"),
    "arith.fptosi": (("f32",), "i32"),
}
FLOAT_PREDICATES = ["false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
                    "uno", "true"]
INTEGER_PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
# Keep values of a moderate size moderate: what a score or an epilogue of a real kernel does.
TAME = ["arith.addf", "arith.subf", "arith.negf", "math.absf", "arith.maximumf", "arith.minimumf", "arith.maxnumf",
        "arith.minnumf", "math.tanh", "math.erf", "math.sin", "math.cos", "math.floor", "arith.cmpf", "arith.select",
        "arith.constant", "arith.andi", "arith.truncf"]

# `what` is an op, "input", or "guard" for the constants that keep an op defined.
Node = collections.namedtuple("Node", "what type operands detail")
Loaded = collections.namedtuple("Loaded", "tensor dtype")  # an extra operand of attention, as a region's argument


class Region:
    def __init__(self, inputs):
        """`inputs`: (name, type) of every argument; the type of a tensor is that of MLIR."""
        self.inputs = inputs
        self.nodes = [Node("input", dtype, (), name) for name, dtype in inputs]
        self.result = None

    def add(self, what, dtype, operands=(), detail=None):
        self.nodes.append(Node(what, dtype, tuple(operands), detail))
        return len(self.nodes) - 1

    def constant(self, value, dtype="f32"):
        """A float is given by its bits, which say which NaN and which zero."""
        if dtype == "f32" and isinstance(value, float):
            value = struct.unpack("<I", struct.pack("<f", value))[0]
        return self.add("arith.constant", dtype, (), value)

    def load(self, number, indices):
        """sparsec.element, widened to f32 where it is narrow."""
        element = self.nodes[number].type.removeprefix("tensor<").removesuffix(">").split("x")[-1]
        loaded = self.add("sparsec.element", "i32" if element in formats.INTEGERS else element, (number, *indices))
        return loaded if self.nodes[loaded].type in ("f32", "i32") else self.add("arith.extf", "f32", (loaded,))

    # Text.

    def text(self, indent="      "):
        names = [f"%{node.detail}" if node.what == "input" else f"%v{number}"
                 for number, node in enumerate(self.nodes)]
        lines = [self.line(number, node, names) for number, node in enumerate(self.nodes) if node.what != "input"]
        lines.append(f"sparsec.yield {names[self.result]} : {self.nodes[self.result].type}")
        return "\n".join(indent + line for line in lines)

    def line(self, number, node, names):
        operands = ", ".join(names[operand] for operand in node.operands)
        source = self.nodes[node.operands[0]].type if node.operands else None
        start = f"{names[number]} = {node.what}"
        if node.what == "arith.constant":
            value = f"0x{node.detail:08X}" if node.type == "f32" else str(node.detail)
            return f"{start} {value} : {node.type}" if node.type != "i1" else f"{start} {value.lower()}"
        if node.what in ("arith.cmpf", "arith.cmpi"):
            return f"{start} {node.detail}, {operands} : {source}"
        if node.what == "arith.select":
            return f"{start} {operands} : {node.type}"
        if node.what in ("arith.extf", "arith.truncf", "arith.sitofp", "arith.fptosi"):
            return f"{start} {operands}{node.detail or ''} : {source} to {node.type}"
        if node.what == "sparsec.element":
            indices = ", ".join(names[operand] for operand in node.operands[1:])
            return f"{start} {names[node.operands[0]]}[{indices}] : {source}"
        return f"{start} {operands}{node.detail or ''} : {node.type}"

    def arguments_text(self):
        return ", ".join(f"%{name}: {dtype}" for name, dtype in self.inputs)

    # Meaning.

    def evaluate(self, inputs):
        """What the region may give for these inputs: intervals, and arrays for the tensors."""
        results = []
        for node in self.nodes:
            if node.what == "input":
                results.append(inputs[len(results)])
            else:
                results.append(apply(node, [results[operand] for operand in node.operands]))
        return results[self.result]


def apply(node, operands):
    if node.what == "arith.constant":
        if node.type == "i1":
            return intervals.Truth(np.bool_(node.detail), np.bool_(not node.detail))
        if node.type == "i32":
            return intervals.Integer(node.detail)
        return intervals.Float(np.float64(struct.unpack("<f", struct.pack("<I", node.detail))[0]))
    if node.what == "arith.cmpf":
        return intervals.compare(node.detail, *operands)
    if node.what == "arith.cmpi":
        return intervals.compare_integers(node.detail, *operands)
    if node.what == "sparsec.element":
        return load(operands[0], operands[1:], node.type)
    if node.what == "arith.truncf":
        return operands[0].rounded(node.type)
    if node.type == "i32" and node.what in intervals.INTEGER:
        return intervals.INTEGER[node.what](*operands)
    others = {"math.fma": intervals.fma, "arith.select": intervals.select, "arith.extf": lambda a: a,
              "arith.sitofp": intervals.to_float, "arith.fptosi": intervals.to_integer}
    return {**intervals.UNARY, **intervals.BINARY, **intervals.LOGIC, **others}[node.what](*operands)


def load(tensor, indices, dtype):
    """The element, or any element of the tensor where an index is not known."""
    known = np.bool_(True)
    for index in indices:
        known = known & index.is_point()
    places = tuple(np.where(known, index.lo, 0) for index in indices)
    element = tensor[places]
    if dtype == "i32":
        return intervals.Integer(np.where(known, element, tensor.min(initial=intervals.MOST)),
                                 np.where(known, element, tensor.max(initial=intervals.LEAST)))
    numbers = tensor[~np.isnan(tensor)]
    anything = intervals.Float(numbers.min(initial=np.inf), numbers.max(initial=-np.inf), np.isnan(tensor).any())
    return intervals.select(intervals.Truth(known, ~known), intervals.Float(element), anything)


class Generator:
    """Fills a region with random ops. `ops` are those to draw from; `integers`: the region has i32."""

    def __init__(self, rng, region, integers, tame):
        self.rng, self.region, self.tame = rng, region, tame
        table = {**FLOAT_OPS}
        self.choices = [(name, *table[name]) for name in (TAME if tame else FLOAT_OPS)]
        if integers:
            self.choices += [(name, *INTEGER_OPS[name]) for name in INTEGER_OPS
                             if not (tame and name in ("arith.muli", "arith.shli"))]
        self.unused = [number for number, node in enumerate(region.nodes) if not node.type.startswith("tensor")]

    def pick(self, dtype):
        """A value of the type: rather one that nothing uses yet, so that ops build on one another."""
        values = [number for number, node in enumerate(self.region.nodes) if node.type == dtype]
        fresh = [number for number in values if number in self.unused]
        if not values or self.rng.random() < 0.1:
            return self.constant(dtype)
        return self.rng.choice(fresh if fresh and self.rng.random() < 0.8 else values)

    def constant(self, dtype):
        if dtype == "i1":
            return self.region.constant(self.rng.random() < 0.5, "i1")
        if dtype == "i32":
            near = [0, 1, -1, self.rng.randrange(-20, 200)]
            return self.region.constant(self.rng.choice(near if self.tame else near + [2 ** 31 - 1, -2 ** 31]), "i32")
        if self.tame or self.rng.random() < 0.5:
            return self.region.constant(self.rng.choice([0.0, 0.5, 1.0, -1.5, 3.0, self.rng.gauss(0, 2), -math.inf]))
        if self.rng.random() < 0.7:
            return self.region.constant(float(self.rng.choice(formats.SPECIAL)))
        return self.region.add("arith.constant", "f32", (), self.rng.getrandbits(32) | 1 << 22)  # no signalling NaN

    def guarded(self, name, operands):
        """Operands with which the op is defined: divisors, shifts, and what an i32 can hold."""
        region = self.region
        if name in ("arith.divsi", "arith.remsi"):
            return [operands[0], region.add("arith.maxsi", "i32", (operands[1], region.constant(1, "i32")))]
        if name in ("arith.shli", "arith.shrsi"):
            return [operands[0], region.add("arith.andi", "i32", (operands[1], region.constant(31, "i32")))]
        if name == "arith.fptosi":
            below = region.add("arith.minnumf", "f32", (operands[0], region.constant(2.0 ** 30)))
            return [region.add("arith.maxnumf", "f32", (below, region.constant(-2.0 ** 30)))]
        return operands

    def step(self, name=None):
        name, types, result = self.rng.choice([each for each in self.choices if name in (None, each[0])])
        if name == "arith.constant":
            return self.constant(result)
        if name == "arith.select":
            result = self.rng.choice(["f32", "f32", "i1"] if not any(node.type == "i32" for node in self.region.nodes)
                                     else ["f32", "i1", "i32"])
            types = ("i1", result, result)
        operands = self.guarded(name, [self.pick(dtype) for dtype in types])
        detail = {"arith.cmpf": lambda: self.rng.choice(FLOAT_PREDICATES),
                  "arith.cmpi": lambda: self.rng.choice(INTEGER_PREDICATES),
                  "math.tanh": lambda: self.rng.choice(["", " fastmath<afn>", " {sparsec.exact}"])}
        detail = detail.get(name, lambda: None)()
        if name == "arith.truncf":
            narrow = self.region.add(name, self.rng.choice(["f16", "bf16"]), operands)
            name, operands = "arith.extf", [narrow]
        number = self.region.add(name, result, operands, detail)
        self.unused = [value for value in self.unused if value not in operands] + [number]
        return number

    def fill(self, count, result_type, last=None):
        """The result comes from the last op, which `last` names if it is not to be any."""
        for _ in range(count - 1):
            self.step()
        self.region.result = self.converted(self.step(last), result_type)
        return self.region

    def converted(self, number, wanted):
        region, dtype = self.region, self.region.nodes[number].type
        if dtype == wanted:
            return number
        if dtype == "i1":
            return region.add("arith.select", "f32", (number, self.pick("f32"), self.pick("f32")))
        if wanted == "i1":
            ordered = ("arith.cmpf", "olt") if dtype == "f32" else ("arith.cmpi", "slt")
            return region.add(ordered[0], "i1", (number, self.pick(dtype)), ordered[1])
        return region.add("arith.sitofp", "f32", (number,))
