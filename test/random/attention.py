# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attention: the kernel, its arguments as files, and what the results may be."""
import dataclasses

import numpy as np

import formats
import intervals
import regions

POSITIONS = ["b", "h", "i", "j"]  # batch, head, query, key: the region's arguments
EMPTY, FULL, PARTIAL = 0, 1, 2  # states of blocks, as sparsec-run reads them
# Relative error of f32 arithmetic, of a score and of what makes probabilities of it.
F32_ERROR = 1e-6
# A row with a score that may be off by more is not compared.
MOST_SCORE_ERROR = 0.5


@dataclasses.dataclass
class Extra:
    name: str
    dtype: str
    # The index of each dimension: a position, or "distance" for key - query, kept within some limit.
    indices: list

    def type(self):
        return f"tensor<{'?x' * len(self.indices)}{self.dtype}>"


@dataclasses.dataclass
class Kernel:
    name: str
    dtype: str
    dimension: int
    blocks: tuple  # of the pattern, or None
    causal: bool
    window: tuple  # or None
    scaled: bool  # the scale is an argument
    result: str
    lse: bool
    extras: list
    score: regions.Region = None
    mask: regions.Region = None
    schedule: str = ""
    # Sizes that the text says: B batches, H heads, G heads of keys, Q queries, K keys.
    static: dict = dataclasses.field(default_factory=dict)

    def tensor(self, letters, rest):
        return "tensor<" + "".join(f"{self.static.get(letter, '?')}x" for letter in letters) + f"{rest}>"

    def text(self):
        query, key = (self.tensor(letters, f"{self.dimension}x{self.dtype}") for letters in ("BHQ", "BGK"))
        arguments, clauses = [("q", query), ("k", key), ("v", key)], ""
        if self.blocks:
            arguments.append(("p", f"!sparsec.pattern<{self.blocks[0]}x{self.blocks[1]}>"))
            clauses += " pattern(%p)"
        if self.scaled:
            arguments.append(("scale", "f32"))
            clauses += " scale(%scale)"
        if self.extras:
            arguments += [(extra.name, extra.type()) for extra in self.extras]
            clauses += f" extras({', '.join('%' + extra.name for extra in self.extras)})"
        clauses += " causal" if self.causal else ""
        clauses += f" window = [{self.window[0]}, {self.window[1]}]" if self.window else ""
        for kind, region in (("score", self.score), ("mask", self.mask)):
            if region:
                clauses += f"\n      {kind} ({region.arguments_text()}) {{\n{region.text()}\n  }}"
        results = [("o", self.tensor("BHQ", f"{self.dimension}x{self.result}"))]
        results += [("lse", self.tensor("BHQ", "f32"))] if self.lse else []
        values, types = (", ".join(part) for part in zip(*((f"%{name}", dtype) for name, dtype in results)))
        attributes = f" attributes {{schedule = {self.schedule}}}" if self.schedule else ""
        return (f"sparsec.kernel @{self.name}({', '.join(f'%{name}: {dtype}' for name, dtype in arguments)})\n"
                f"    -> ({', '.join(f'{name}: {dtype}' for name, dtype in results)}){attributes} {{\n"
                f"  {values} = sparsec.attention %q, %k, %v{clauses}\n"
                f"    : ({', '.join(dtype for _, dtype in arguments)}) -> {f'({types})' if self.lse else types}\n"
                f"  sparsec.return {values} : {types}\n}}\n")


def region_inputs(kind, extras):
    inputs = [("s", "f32")] if kind == "score" else []
    return inputs + [(name, "i32") for name in POSITIONS] + [(f"{extra.name}_r", extra.type()) for extra in extras]


def random_extra(rng, name):
    indices = rng.sample(POSITIONS, rng.randrange(0, 3))
    if rng.random() < 0.3:
        indices = indices[:2] + ["distance"]
    return Extra(name, rng.choice(["f32", "f16", "bf16", *formats.INTEGERS]), indices)


DISTANCE_LIMIT = 20


def add_load(region, extra):
    """Loads the element of an extra operand that belongs to the position."""
    number = {name: index for index, (name, _) in enumerate(region.inputs)}
    indices = []
    for each in extra.indices:
        if each != "distance":
            indices.append(number[each])
            continue
        distance = region.add("arith.subi", "i32", (number["j"], number["i"]))
        below = region.add("arith.minsi", "i32", (distance, region.constant(DISTANCE_LIMIT, "i32")))
        near = region.add("arith.maxsi", "i32", (below, region.constant(-DISTANCE_LIMIT, "i32")))
        indices.append(region.add("arith.addi", "i32", (near, region.constant(DISTANCE_LIMIT, "i32"))))
    return region.load(number[f"{extra.name}_r"], indices)


def random_region(rng, kind, extras, tame, last_op=None):
    region = regions.Region(region_inputs(kind, extras))
    generator = regions.Generator(rng, region, integers=True, tame=tame)
    for extra in extras:
        generator.unused.append(add_load(region, extra))
    return generator.fill(rng.randrange(1, 16), "f32" if kind == "score" else "i1", last_op)


def random_kernel(rng, name, tame=True, kinds=None, last_op=None):
    """`kinds`: which regions the kernel has, or any; `last_op` is in each."""
    if kinds is None:
        kinds = [kind for kind in ("score", "mask") if rng.random() < 0.4]
    extras = [random_extra(rng, f"e{number}") for number in range(rng.choice([0, 1, 2, 4]))] if kinds else []
    window = (rng.choice([-1, 0, 5, 70]), rng.choice([-1, 0, 3, 40])) if rng.random() < 0.4 else None
    kernel = Kernel(name, rng.choice(["bf16", "f16"]), rng.choice([64, 128]),
                    rng.choice([None, (64, 64), (64, 128), (128, 64), (128, 128)]), rng.random() < 0.4, window,
                    rng.random() < 0.4, rng.choice(["bf16", "f16", "f32"]), rng.random() < 0.6, extras)
    for kind in kinds:
        setattr(kernel, kind, random_region(rng, kind, extras, tame, last_op))
    return kernel


class Problem:
    def __init__(self, kernel, batches, heads, key_heads, queries, keys, elements):
        self.kernel, self.queries, self.keys = kernel, queries, keys
        self.batches, self.heads, self.key_heads = batches, heads, key_heads
        self.q = elements((batches, heads, queries, kernel.dimension), kernel.dtype)
        self.k, self.v = (elements((batches, key_heads, keys, kernel.dimension), kernel.dtype) for _ in range(2))
        self.scale = 1 / np.sqrt(kernel.dimension)
        self.states, self.encoding = None, ""
        sizes = {"b": batches, "h": heads, "i": queries, "j": keys, "distance": 2 * DISTANCE_LIMIT + 1}
        self.extras = [elements(tuple(sizes[index] for index in extra.indices), extra.dtype)
                       for extra in kernel.extras]

    def results(self):
        return ["o", "lse"] if self.kernel.lse else ["o"]

    def save(self, root, folder):
        arguments = []
        tensors = [("q", self.q, self.kernel.dtype), ("k", self.k, self.kernel.dtype), ("v", self.v, self.kernel.dtype)]
        tensors += [(extra.name, value, extra.dtype) for extra, value in zip(self.kernel.extras, self.extras)]
        for name, value, dtype in tensors:
            np.save(root / folder / f"{name}.npy", formats.encode(value, dtype))
            arguments.append(f"{name}={folder}/{name}.npy")
        if self.kernel.blocks:
            np.save(root / folder / "p.npy", self.states)
            arguments.append(f"p={self.encoding}{folder}/p.npy")
        if self.kernel.scaled:
            arguments.append(f"scale={self.scale!r}")
        return arguments

    # The oracle, one batch and head at a time: rows x keys.

    def visible(self, batch, head):
        """Keys that the pattern, causal and the window leave, and those of full blocks."""
        kernel = self.kernel
        query = np.arange(self.queries)[:, None] + self.keys - self.queries
        key = np.arange(self.keys)[None, :]
        visible = np.ones((self.queries, self.keys), bool)
        if kernel.causal:
            visible &= key <= query
        if kernel.window and kernel.window[0] >= 0:
            visible &= key >= query - kernel.window[0]
        if kernel.window and kernel.window[1] >= 0:
            visible &= key <= query + kernel.window[1]
        if not kernel.blocks:
            return visible, np.zeros_like(visible)
        states = self.states.reshape(*[1] * (4 - self.states.ndim), *self.states.shape)
        states = states[batch if states.shape[0] > 1 else 0, head if states.shape[1] > 1 else 0]
        states = np.kron(states, np.ones(kernel.blocks, np.uint8))[:self.queries, :self.keys]
        return visible & (states != EMPTY), states == FULL

    def apply_regions(self, place, score, visible, full):
        """What the regions make of scores at (batch, head, query, key), arrays that broadcast to one another: -inf
        where a key is not visible, from -inf on where it may not be."""
        values = [intervals.Integer(position) for position in place] + self.extras
        if self.kernel.score:
            score = self.kernel.score.evaluate([score] + values)
        shown = intervals.Truth(visible, ~visible)
        if self.kernel.mask:
            says = self.kernel.mask.evaluate(values)
            shown = intervals.Truth(visible & (full | says.true), ~visible | (~full & says.false))
        hidden = intervals.Float(np.full(visible.shape, -np.inf))
        return intervals.select(shown, score, hidden)

    def scores(self, batch, head):
        q, k = self.q[batch, head], self.k[batch, head // (self.heads // self.key_heads)]
        scale = float(np.float32(self.scale)) if self.kernel.scaled else self.scale
        score = intervals.Float(scale * (q @ k.T)).widened(F32_ERROR * abs(scale) * (np.abs(q) @ np.abs(k.T)))
        place = batch, head, np.arange(self.queries)[:, None], np.arange(self.keys)[None, :]
        return self.apply_regions(place, score, *self.visible(batch, head))

    def expected(self):
        """Intervals of O and LSE. Rows whose scores are not known well enough may be anything: see `compared`."""
        shape = (self.batches, self.heads, self.queries)
        o, o_error = np.zeros((*shape, self.kernel.dimension)), np.zeros((*shape, self.kernel.dimension))
        lse, lse_error = np.zeros(shape), np.zeros(shape)
        self.compared = np.zeros(shape, bool)
        for batch in range(self.batches):
            for head in range(self.heads):
                place = batch, head
                v = self.v[batch, head // (self.heads // self.key_heads)]
                (o[place], o_error[place], lse[place], lse_error[place],
                 self.compared[place]) = softmax(self.scores(*place), v)
        unknown = ~self.compared
        results = {"o": bounded(o, o_error, unknown[..., None]).rounded(self.kernel.result)}
        if self.kernel.lse:
            results["lse"] = bounded(lse, lse_error, unknown)
        return results


def bounded(value, error, unknown):
    with np.errstate(invalid="ignore"):  # inf - inf, where nothing is known
        lo, hi = value - error, value + error
    exact = np.where(error == 0, value, 0)
    return intervals.Float(np.where(unknown, -np.inf, np.where(error == 0, exact, lo)),
                           np.where(unknown, np.inf, np.where(error == 0, exact, hi)),
                           unknown & np.ones(value.shape, bool)).widened(0.0)


def softmax(score, v):
    """O, its error, LSE, its error, and for which rows they are known, from intervals of scores."""
    finite = np.isfinite(score.lo) & np.isfinite(score.hi) & ~score.nan
    hidden = (score.lo == -np.inf) & (score.hi == -np.inf) & ~score.nan
    middle = np.where(finite, score.lo / 2 + np.where(finite, score.hi, 0) / 2, -np.inf)
    largest = np.max(middle, axis=1, initial=-np.inf)
    empty = largest == -np.inf
    base = np.where(empty, 0, largest)[:, None]
    rounding = F32_ERROR * (np.abs(middle) + np.abs(base) + 1)
    off = np.where(finite, np.where(finite, score.hi, 0) - middle + rounding, 0)
    compared = (finite | hidden).all(axis=1) & (off.max(axis=1, initial=0) <= MOST_SCORE_ERROR)
    p = np.where(finite, np.exp(np.where(finite, middle - base, 0)), 0)
    error = p * np.expm1(np.minimum(off, 1))
    total = np.where(empty, 1, p.sum(axis=1))[:, None]
    spread = error.sum(axis=1)[:, None] / total  # relative error of the sum
    o = (p / total) @ v
    o_error = ((error / total) @ np.abs(v) + spread * np.abs(o)) / np.maximum(1 - spread, 0.1)
    o_error += F32_ERROR * ((p / total) @ np.abs(v))
    lse = np.where(empty, -np.inf, base[:, 0] + np.log(total[:, 0]))
    lse_error = np.where(empty, 0, spread[:, 0] / np.maximum(1 - spread[:, 0], 0.1)
                         + F32_ERROR * (np.abs(np.where(empty, 0, lse)) + 1))
    return o, o_error, lse, lse_error, compared


def general_problem(rng, kernel, numbers):
    """Odd lengths, some sizes in the text of the kernel, shared heads of keys, lists of their own for batches and heads
    or the same for all."""
    key_heads = rng.choice([1, 2])
    batches, heads = rng.choice([1, 2]), key_heads * rng.choice([1, 1, 2, 3])
    queries, keys = (rng.choice([1, 63, 64, 65, 128, rng.randrange(1, 200)]) for _ in range(2))
    if rng.random() < 0.04:
        batches, queries, keys = rng.choice([(batches, 0, keys), (batches, queries, 0), (0, queries, keys)])
    sizes = {"B": batches, "H": heads, "G": key_heads, "Q": queries, "K": keys}
    kernel.static = {letter: size for letter, size in sizes.items() if rng.random() < 0.2}

    def elements(shape, dtype):
        if dtype in formats.INTEGERS:
            return numbers.integers(-3, 4, shape)
        return formats.values(numbers, shape, dtype, wild=False)
    problem = Problem(kernel, batches, heads, key_heads, queries, keys, elements)
    if kernel.blocks:
        own = rng.choice([(), (heads,), (1, heads), (batches, heads), (batches, 1)])
        count = [-(-size // side) for size, side in zip((queries, keys), kernel.blocks)]
        states = [EMPTY, FULL, PARTIAL] if kernel.mask else [EMPTY, FULL]
        problem.states = numbers.choice(np.array(states, np.uint8), (*own, *count))
        problem.encoding = rng.choice(["", "padded:"])
    if kernel.scaled:
        problem.scale = float(np.float32(rng.choice([0.1, 0.25, 1.0, -0.3, 0.0])))
    return problem


class DiagonalProblem(Problem):
    """Every query sees one key, whose score is exactly the first element of the query: LSE is what the regions make of
    it, and O the value or, where the key is hidden, 0. Operands hold everything that there is."""

    def __init__(self, rng, kernel, numbers):
        kernel.causal, kernel.window, kernel.scaled, kernel.lse, kernel.blocks = False, (0, 0), True, True, None

        def elements(shape, dtype):
            if dtype in formats.INTEGERS:
                extremes = [127, -128] if dtype == "i8" else [1000, 2 ** 31 - 1, -2 ** 31]
                return numbers.choice(np.array([0, 1, -1, 5, *extremes]), shape)
            return formats.values(numbers, shape, dtype, wild=True)
        self.distance = rng.randrange(0, 40)
        queries = rng.randrange(20, 100)
        super().__init__(kernel, 2, 2, 1, queries, queries + self.distance, elements)
        self.q, self.v = (np.where(np.isfinite(each), each, 0.75) for each in (self.q, self.v))
        self.q[..., 1:] = 0
        self.k = np.zeros_like(self.k)
        self.k[..., 0] = 1
        self.scale = 1.0

    def expected(self):
        query = np.arange(self.queries)[None, None, :]
        place = np.arange(2)[:, None, None], np.arange(2)[None, :, None], query, query + self.distance
        everywhere = np.ones(self.q.shape[:3], bool)
        score = self.apply_regions(place, intervals.Float(self.q[..., 0]), everywhere, ~everywhere)
        # Neither the softmax of NaN nor that of inf has a meaning.
        self.compared = ~(score.nan | (score.hi == np.inf))
        hidden, shown = score.may_be(-np.inf), score.hi > -np.inf
        anything = ~self.compared
        lse = score.widened(2 * F32_ERROR * np.where(np.isfinite(score.lo), np.maximum(np.abs(score.lo), 1), 0))
        lse = intervals.Float(np.where(anything, -np.inf, lse.lo), np.where(anything, np.inf, lse.hi), anything)
        v = np.broadcast_to(self.v[:, :, self.distance:], self.q.shape)
        o = intervals.select(intervals.Truth(shown[..., None], hidden[..., None]), intervals.Float(v),
                             intervals.Float(np.zeros_like(v)))
        anything = anything[..., None]
        o = intervals.Float(np.where(anything, -np.inf, o.lo), np.where(anything, np.inf, o.hi), anything & (v == v))
        return {"o": o.rounded(self.kernel.result), "lse": lse}
