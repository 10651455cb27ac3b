# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a compiled file says about its kernels: arguments, operations and variants. Needs no device."""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _native, dtypes


class ArgumentKind(enum.IntEnum):
    """The kind of value that a kernel takes: sparsec_argument_kind_t."""

    BSR = 1
    DENSE = 2
    SCALAR = 3
    PATTERN = 4


class Operation(enum.IntEnum):
    """The function that a kernel computes: sparsec_operation_kind_t."""

    SPMM = 1
    ATTENTION = 2
    SDDMM = 3
    SPGEMM = 4
    SAMPLED_SPGEMM = 5
    MERGE = 6


class SpmmSlot(enum.IntEnum):
    MATRIX = 1
    DENSE = 2
    RESULT = 3


class SddmmSlot(enum.IntEnum):
    PATTERN = 1


class SpgemmSlot(enum.IntEnum):
    LEFT = 1
    RIGHT = 2
    PATTERN = 3
    RESULT = 4


class MergeSlot(enum.IntEnum):
    FIRST = 1


class AttentionSlot(enum.IntEnum):
    QUERY = 1
    VALUE = 3
    LSE = 5
    QUERY_STARTS = 10
    KEY_STARTS = 11
    KEY_LENGTHS = 12


_TRANSPOSED = 2  # sparsec_layout_t


@dataclass(frozen=True)
class Argument:
    """An argument of a kernel. Sizes of -1 are known only at run time."""

    name: str
    kind: ArgumentKind
    dtype: int
    sizes: tuple[int, ...]
    block: tuple[int, int]

    def __str__(self) -> str:
        sizes = "x".join("?" if size < 0 else str(size) for size in self.sizes)
        block = f"{self.block[0]}x{self.block[1]}"
        match self.kind:
            case ArgumentKind.BSR:
                return f"{self.name}: bsr<{sizes}x{dtypes.NAMES[self.dtype]}, block = {block}>"
            case ArgumentKind.PATTERN:
                return f"{self.name}: pattern<{block}>"
            case ArgumentKind.SCALAR:
                return f"{self.name}: {dtypes.NAMES[self.dtype]}"
        return f"{self.name}: tensor<{'x'.join(filter(None, (sizes, dtypes.NAMES[self.dtype])))}>"


@dataclass(frozen=True)
class Operand:
    """An argument in a slot of the operation."""

    slot: int
    argument: int
    layout: int
    broadcast: int


@dataclass(frozen=True)
class Requirement:
    """What a variant requires of an argument, in bytes."""

    argument: int
    alignment: int
    width_alignment: int


@dataclass(frozen=True)
class Stage:
    """A machine kernel. Registers, spills and static shared memory are 0 where no ptxas reported them."""

    symbol: str
    threads: int
    cluster: int
    registers: int
    spill_bytes: int
    static_shared_memory: int
    dynamic_shared_memory: int
    tile: tuple[int, int, int]


@dataclass(frozen=True)
class Variant:
    """A way to run a kernel. Launches with few tiles of attention split the keys into parts of part_keys or more."""

    schedule: str
    required_sections: int
    most_panels: int
    most_tiles_per_sm: int
    part_keys: int
    requirements: tuple[Requirement, ...]
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class KernelInfo:
    """A kernel of an image. Arguments are the inputs, then the results."""

    name: str
    operation: Operation
    result_count: int
    arguments: tuple[Argument, ...]
    operands: tuple[Operand, ...]
    variants: tuple[Variant, ...]

    @functools.cached_property
    def inputs(self) -> tuple[Argument, ...]:
        return self.arguments[: len(self.arguments) - self.result_count]

    @functools.cached_property
    def results(self) -> tuple[Argument, ...]:
        return self.arguments[len(self.arguments) - self.result_count :]

    @functools.cached_property
    def blocks_place(self) -> int | None:
        """The number of the first argument that is a block-sparse matrix or a pattern; None: there is none."""
        kinds = (ArgumentKind.BSR, ArgumentKind.PATTERN)
        return next((place for place, argument in enumerate(self.arguments) if argument.kind in kinds), None)

    @property
    def signature(self) -> str:
        """As "product(w: bsr<?x?xbf16, block = 16x16>, x: tensor<?x?xbf16>) -> (y: tensor<?x?xf32>)"."""
        inputs, results = (", ".join(map(str, group)) for group in (self.inputs, self.results))
        return f"{self.name}({inputs}) -> ({results})"

    def operand(self, slot: int) -> Operand:
        """The first operand of a slot."""
        return next(operand for operand in self.operands if operand.slot == slot)

    def result_shapes(self, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The shapes of the results.

        Args:
            shapes: of the inputs. That of a block-sparse matrix is (rows, columns, number of blocks).
        """
        match self.operation:
            case Operation.SPMM:
                rows = shapes[self.operand(SpmmSlot.MATRIX).argument][1 if self.takes_transpose else 0]
                dense = self.operand(SpmmSlot.DENSE)
                columns = shapes[dense.argument][0 if dense.layout == _TRANSPOSED else 1]
                return [(columns, rows) if self.is_result_transposed else (rows, columns)]
            case Operation.SPGEMM:
                rows = shapes[self.operand(SpgemmSlot.LEFT).argument][0]
                columns = shapes[self.operand(SpgemmSlot.RIGHT).argument][1]
                return [(columns, rows) if self.is_result_transposed else (rows, columns)]
            case Operation.SDDMM | Operation.SAMPLED_SPGEMM:
                slot = SddmmSlot.PATTERN if self.operation is Operation.SDDMM else SpgemmSlot.PATTERN
                pattern = self.operand(slot).argument
                return [(shapes[pattern][2], *self.arguments[pattern].block)]
            case Operation.MERGE:
                first = shapes[self.operand(MergeSlot.FIRST).argument]
                return [first, first[:3]]
        query = shapes[self.operand(AttentionSlot.QUERY).argument]
        width = shapes[self.operand(AttentionSlot.VALUE).argument][3]
        return [(*query[:3], width), query[:3]][: self.result_count]

    @property
    def takes_transpose(self) -> bool:
        """Whether the product is that of the transpose of the matrix."""
        return self.operation is Operation.SPMM and self.operand(SpmmSlot.MATRIX).layout == _TRANSPOSED

    @property
    def multiplies_blocks(self) -> bool:
        """Whether the product is that of two block-sparse matrices."""
        return self.operation in (Operation.SPGEMM, Operation.SAMPLED_SPGEMM)

    @property
    def has_lse(self) -> bool:
        """Whether the operation has the logarithm of the sum of exponentials as a second result."""
        return self.operation in (Operation.ATTENTION, Operation.MERGE)

    @property
    def has_sequences(self) -> bool:
        """Whether sequences of attention have sizes of their own, which memory tells when the kernel runs."""
        slots = (AttentionSlot.QUERY_STARTS, AttentionSlot.KEY_STARTS, AttentionSlot.KEY_LENGTHS)
        return self.operation is Operation.ATTENTION and any(operand.slot in slots for operand in self.operands)

    @property
    def is_result_transposed(self) -> bool:
        """Whether the reference gives the two dimensions of the result in the other order."""
        slots = {Operation.SPMM: SpmmSlot.RESULT, Operation.SPGEMM: SpgemmSlot.RESULT}
        return self.operation in slots and self.operand(slots[self.operation]).layout == _TRANSPOSED


@dataclass(frozen=True)
class ImageInfo:
    """An image of a compiled file."""

    target: str
    compiler: str
    version: tuple[int, int]
    is_ptx: bool
    kernels: tuple[KernelInfo, ...]

    @property
    def report(self) -> str:
        """A table of all variants: schedule, tile, registers, spills and shared memory."""
        lines = [f"{self.target}{' (PTX)' if self.is_ptx else ''}, {self.compiler}"]
        for kernel in self.kernels:
            lines += kernel_report(kernel)
        return "\n".join(lines)


def kernel_report(kernel: KernelInfo) -> list[str]:
    """The lines of a report for one kernel."""
    lines = [f"  {kernel.signature}"]
    for number, variant in enumerate(kernel.variants):
        lines.append(f"    variant {number}: {variant.schedule}{requirements_text(kernel, variant)}")
        for stage in variant.stages:
            tile = "x".join(map(str, stage.tile))
            line = f"      {stage.symbol}: tile {tile}"
            if stage.registers:
                shared = stage.static_shared_memory + stage.dynamic_shared_memory
                line += (
                    f", {stage.threads} threads, {stage.registers} registers, {stage.spill_bytes} B spilled, "
                    f"{shared} B of shared memory"
                )
            lines.append(line)
    return lines


def requirements_text(kernel: KernelInfo, variant: Variant) -> str:
    """What a call must meet for a variant, as ", needs 16-byte alignment of x, y and at most 16 columns"."""
    needs = []
    for alignment in sorted({requirement.alignment for requirement in variant.requirements}):
        names = [
            kernel.arguments[requirement.argument].name
            for requirement in variant.requirements
            if requirement.alignment == alignment
        ]
        needs.append(f"{alignment}-byte alignment of {', '.join(names)}")
    if variant.required_sections:
        needs.append("a plan of a static pattern")
    if variant.most_panels:
        columns = f"at most {variant.most_panels * variant.stages[0].tile[1]} columns"
        tiles = variant.most_tiles_per_sm
        plural = "" if tiles == 1 else "s"
        needs.append(f"{columns} or {tiles} tile{plural} for each multiprocessor" if tiles else columns)
    if variant.part_keys:
        needs.append(f"few tiles with more than {variant.part_keys} keys, and a plan")
    return f", needs {' and '.join(needs)}" if needs else ""


def _kernel(fields: dict[str, Any]) -> KernelInfo:
    arguments = tuple(
        Argument(
            argument["name"], ArgumentKind(argument["kind"]), argument["dtype"], argument["sizes"], argument["block"]
        )
        for argument in fields["arguments"]
    )
    variants = tuple(
        Variant(
            variant["schedule"],
            variant["required_sections"],
            variant["most_panels"],
            variant["most_tiles_per_sm"],
            variant["part_keys"],
            tuple(Requirement(**requirement) for requirement in variant["requirements"]),
            tuple(Stage(**stage) for stage in variant["stages"]),
        )
        for variant in fields["variants"]
    )
    return KernelInfo(
        fields["name"],
        Operation(fields["operation"]),
        fields["result_count"],
        arguments,
        tuple(Operand(**operand) for operand in fields["operands"]),
        variants,
    )


def read(data: bytes) -> tuple[ImageInfo, ...]:
    """Reads and checks the launch infos of a compiled file, in the order of its images.

    Raises:
        InvalidImage: the file is truncated, damaged, of another kind, or of an incompatible version.
    """
    images = []
    for index in range(_native.image_count(data)):
        fields = _native.launch_info(data, index)
        images.append(
            ImageInfo(
                fields["target"],
                fields["compiler"],
                fields["version"],
                fields["is_ptx"],
                tuple(map(_kernel, fields["kernels"])),
            )
        )
    return tuple(images)
