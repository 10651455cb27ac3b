# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random block-sparse products: the kernel, its arguments as files, and what the result may be."""
import dataclasses

import numpy as np

import formats
import intervals
import regions

BLOCKS = [(16, 16), (16, 32), (32, 16), (32, 32), (48, 16), (64, 64), (64, 32), (80, 96), (128, 128), (128, 112)]
EXTREME_BLOCKS = [(256, 16), (16, 256)]
BROADCASTS = ["per_row", "per_column", "scalar", "full"]
# sparsec_reference_run's promise: sums in f32 are off by this much of the sum of magnitudes.
SUM_ERROR = 1e-6


@dataclasses.dataclass
class Extra:
    name: str
    broadcast: str
    dtype: str
    by_value: bool  # an f32 instead of a tensor

    def type(self, kernel):
        if self.by_value:
            return "f32"
        result = {"mn": "MN", "nm": "NM"}[kernel.y_layout]
        sizes = {"per_row": "M", "per_column": "N", "scalar": "", "full": result}[self.broadcast]
        return f"tensor<{kernel.shape_text(sizes)}{self.dtype}>"


@dataclasses.dataclass
class Kernel:
    name: str
    dtype: str
    block: tuple
    x_layout: str
    y_layout: str
    result: str
    extras: list
    region: regions.Region = None
    static: dict = dataclasses.field(default_factory=dict)  # sizes that the text says: M, K or N
    schedule: str = ""

    def shape_text(self, letters):
        return "".join(f"{self.static.get(letter, '?')}x" for letter in letters)

    def text(self):
        block = "x".join(map(str, self.block))
        w = f"!sparsec.bsr<{self.shape_text('MK')}{self.dtype}, block = {block}>"
        x = f"tensor<{self.shape_text({'kn': 'KN', 'nk': 'NK'}[self.x_layout])}{self.dtype}>"
        y = f"tensor<{self.shape_text({'mn': 'MN', 'nm': 'NM'}[self.y_layout])}{self.result}>"
        types = [w, x] + [extra.type(self) for extra in self.extras]
        names = ["w", "x"] + [extra.name for extra in self.extras]
        arguments = ", ".join(f"%{name}: {dtype}" for name, dtype in zip(names, types))
        extras = "".join(f", %{extra.name} {extra.broadcast}" for extra in self.extras)
        attributes = f" attributes {{schedule = {self.schedule}}}" if self.schedule else ""
        region = ""
        if self.region:
            region = f" epilogue ({self.region.arguments_text()}) {{\n{self.region.text()}\n    }}"
        return (f"sparsec.kernel @{self.name}({arguments}) -> (y: {y}){attributes} {{\n"
                f"  %y = sparsec.spmm %w, %x{extras} x_layout({self.x_layout}) y_layout({self.y_layout}){region}\n"
                f"    : ({', '.join(types)}) -> {y}\n"
                f"  sparsec.return %y : {y}\n}}\n")


def region_inputs(extras):
    return [("acc", "f32")] + [(f"{extra.name}_e", "f32" if extra.by_value else extra.dtype) for extra in extras]


def random_kernel(rng, name, tame, last_op=None, region_share=0.8, extremes=False):
    """`extremes`: now and then with the longest blocks, or as many extra operands as there may be."""
    extras = []
    for number in range(rng.choice([0, 1, 1, 2, 3, 6] + [16] * extremes)):
        broadcast = rng.choice(BROADCASTS)
        by_value = broadcast == "scalar" and rng.random() < 0.5
        dtype = "f32" if by_value else rng.choice(["f32", "f16", "bf16"])
        extras.append(Extra(f"e{number}", broadcast, dtype, by_value))
    blocks = BLOCKS + EXTREME_BLOCKS * extremes
    kernel = Kernel(name, rng.choice(["bf16", "f16"]), rng.choice(blocks), rng.choice(["kn", "nk"]),
                    rng.choice(["mn", "nm"]), rng.choice(["bf16", "f16", "f32"]), extras)
    if extras or last_op or rng.random() < region_share:
        kernel.region = regions.Region(region_inputs(extras))
        generator = regions.Generator(rng, kernel.region, integers=False, tame=tame)
        for number, (_, dtype) in enumerate(kernel.region.inputs):
            if dtype != "f32":
                generator.unused.append(kernel.region.add("arith.extf", "f32", (number,)))
        generator.fill(rng.randrange(1, 21), "f32", last_op)
    return kernel


class Problem:
    """Arguments of a kernel. `elements` draws the elements of a tensor: (shape, dtype) -> array."""

    def __init__(self, kernel, sizes, pattern, rng, elements, edge=0.0):
        self.kernel, self.pattern = kernel, pattern
        self.m, self.k, self.n = sizes
        rows, columns = kernel.block
        self.block_rows, self.block_columns = -(-self.m // rows), -(-self.k // columns)
        # Columns in any order within a row.
        self.columns_of = [rng.permutation(np.flatnonzero(row)) for row in pattern]
        count = int(sum(map(len, self.columns_of)))
        self.blocks = elements((count, rows, columns), kernel.dtype)
        self.poison(edge)
        x = elements((self.k, self.n), kernel.dtype)
        self.x = x if kernel.x_layout == "kn" else np.ascontiguousarray(x.T)
        self.extras = [elements(self.extra_shape(extra), extra.dtype) for extra in kernel.extras]

    def extra_shape(self, extra):
        result = (self.m, self.n) if self.kernel.y_layout == "mn" else (self.n, self.m)
        return {"per_row": (self.m,), "per_column": (self.n,), "scalar": (), "full": result}[extra.broadcast]

    def places(self):
        """(block row, block column) of every block, in the order of the blocks."""
        return [(row, column) for row, columns in enumerate(self.columns_of) for column in columns]

    def poison(self, value):
        """Elements of blocks beyond M or K do not count: whatever they are."""
        rows, columns = self.kernel.block
        for block, (row, column) in zip(self.blocks, self.places()):
            block[max(self.m - row * rows, 0):] = value
            block[:, max(self.k - column * columns, 0):] = value

    def results(self):
        return ["y"]

    def save(self, root, folder):
        """Writes the arguments to files in a folder of the case; returns what sparsec-run is to be told."""
        starts = np.cumsum([0] + [len(columns) for columns in self.columns_of])
        indices = np.concatenate([np.zeros(0, np.int32), *self.columns_of])
        np.savez(root / folder / "w.npz", format=np.array(b"bsr"), shape=np.array([self.m, self.k], np.int64),
                 indptr=starts.astype(np.int32), indices=indices.astype(np.int32),
                 data=formats.encode(self.blocks, self.kernel.dtype))
        np.save(root / folder / "x.npy", formats.encode(self.x, self.kernel.dtype))
        arguments = [f"w={folder}/w.npz", f"x={folder}/x.npy"]
        for extra, value in zip(self.kernel.extras, self.extras):
            if extra.by_value:
                arguments.append(f"{extra.name}={float(value)!r}")
            else:
                np.save(root / folder / f"{extra.name}.npy", formats.encode(value, extra.dtype))
                arguments.append(f"{extra.name}={folder}/{extra.name}.npy")
        return arguments

    def dense(self):
        rows, columns = self.kernel.block
        dense = np.zeros((self.block_rows * rows, self.block_columns * columns))
        for block, (row, column) in zip(self.blocks, self.places()):
            dense[row * rows:(row + 1) * rows, column * columns:(column + 1) * columns] = block
        return dense[:self.m, :self.k]

    def accumulators(self):
        dense = self.dense()
        x = self.x if self.kernel.x_layout == "kn" else self.x.T
        return intervals.Float(dense @ x).widened(SUM_ERROR * (np.abs(dense) @ np.abs(x)))

    def expected(self):
        """What the result may be, in its layout."""
        result = self.accumulators()
        if self.kernel.region:
            result = self.kernel.region.evaluate([result] + [self.element(*pair)
                                                             for pair in zip(self.kernel.extras, self.extras)])
        result = intervals.Float(*np.broadcast_arrays(result.lo, result.hi, result.nan, np.zeros((self.m, self.n)))[:3])
        result = result.rounded(self.kernel.result)
        if self.kernel.y_layout == "nm":
            result = intervals.Float(result.lo.T, result.hi.T, result.nan.T)
        return {"y": result}

    def element(self, extra, value):
        if extra.broadcast == "per_row":
            value = value[:, None]
        elif extra.broadcast == "full" and self.kernel.y_layout == "nm":
            value = value.T
        return intervals.Float(value)


def general_problem(rng, kernel, numbers):
    """Odd sizes, some of them in the text of the kernel, empty rows, NaN beyond the edges; sometimes nothing at all."""
    rows, columns = kernel.block
    m, k = (rng.choice([rng.randrange(1, 3 * side + 2), side, 2 * side, side + 1]) for side in (rows, columns))
    n = rng.choice([1, 2, 3, 7, 8, 16, 31, 64, rng.randrange(1, 150)])
    if rng.random() < 0.05:
        m, k, n = rng.choice([(0, k, n), (m, 0, n), (m, k, 0)])
    pattern = numbers.random((-(-m // rows), -(-k // columns))) < rng.choice([0.0, 0.3, 0.6, 1.0])
    if len(pattern) and rng.random() < 0.3:
        pattern[rng.randrange(len(pattern))] = False
    kernel.static = {letter: size for letter, size in zip("MKN", (m, k, n)) if rng.random() < 0.2}
    edge = rng.choice([np.nan, np.inf, formats.round_to(6e4, kernel.dtype)])
    return Problem(kernel, (m, k, n), pattern, numbers,
                   lambda shape, dtype: formats.values(numbers, shape, dtype, wild=False), edge)


class IdentityProblem(Problem):
    """The accumulator is exactly X, so that a region can be followed bit by bit. Operands hold everything that there
    is; X has no infinities and no NaN, which zeros of W would spread."""

    def __init__(self, rng, kernel, numbers):
        size = min(kernel.block)
        super().__init__(kernel, (size, size, rng.randrange(8, 80)), np.ones((1, 1), bool), numbers,
                         lambda shape, dtype: formats.values(numbers, shape, dtype, wild=True))
        self.blocks = np.eye(*kernel.block)[None]
        self.poison(np.nan)
        self.x = np.where(np.isfinite(self.x), self.x, 0.25)

    def accumulators(self):
        return intervals.Float(self.x if self.kernel.x_layout == "kn" else self.x.T)
