# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a traced function computes, without the arrays that it read. Each library evaluates it on arrays of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sparsec.tracing.graph import Capture, Node

__all__ = ["RegionSteps", "Step", "steps_of"]


@dataclass(frozen=True)
class Step:
    """A node of a region without its arrays: the numbers of its operands, and of the array that it reads, if any."""

    op: str
    type: str
    operands: tuple[int, ...]
    attribute: Any
    array: int | None


def steps_of(nodes: Sequence[Node], arrays: Sequence[Any]) -> list[Step]:
    """The nodes of a region, in order, which refer to `arrays` by number."""
    numbers = {id(node): number for number, node in enumerate(nodes)}
    places = {id(array): place for place, array in enumerate(arrays)}
    return [
        Step(
            node.op,
            node.type,
            tuple(numbers[id(operand)] for operand in node.operands),
            None if isinstance(node.attribute, Capture) else node.attribute,
            places[id(node.attribute.array)] if isinstance(node.attribute, Capture) else None,
        )
        for node in nodes
    ]


@dataclass(frozen=True)
class RegionSteps(ABC):
    """What a function computes, for any arrays in the places of those that it captured. A library derives from it."""

    steps: Sequence[Step]

    dtypes: ClassVar[Mapping[str, Any]]
    """The types of the library by their names in regions."""
    compute: ClassVar[Mapping[str, Callable[..., Any]]]
    """Functions by the names of ops, but for comparisons. Their results are converted to the type of the op."""
    compare: ClassVar[Mapping[str, Callable[..., Any]]]
    """Comparisons by the last two letters of their predicates."""

    @abstractmethod
    def constant(self, value: Any, dtype: Any, like: Any) -> Any:
        """An array of rank 0, where `like` is."""

    @abstractmethod
    def convert(self, value: Any, dtype: Any) -> Any:
        """The array in a type; integers keep their low bits."""

    @abstractmethod
    def element(self, array: Any, indices: Sequence[Any]) -> Any:
        """The elements at indices; those outside become the nearest."""

    def evaluate(self, arguments: Mapping[str, Any], arrays: Sequence[Any]) -> Any:
        """The value of the last step: see values."""
        return self.values(arguments, arrays)[-1]

    def values(self, arguments: Mapping[str, Any], arrays: Sequence[Any]) -> list[Any]:
        """The values of all steps, for arguments of int32 or float32 that broadcast.

        Indices below 0 read the first element, and those beyond the end the last one, as in kernels on GPUs.

        Args:
            arguments: by the names of the function's arguments.
            arrays: those that the kernel takes, in order, on the device of the arguments.
        """
        like = next(iter(arguments.values()))
        values: list[Any] = []
        for step in self.steps:
            operands = [values[number] for number in step.operands]
            dtype = self.dtypes[step.type]
            if step.array is not None:
                value = self.element(arrays[step.array], operands)
            elif step.op == "argument":
                value = arguments[step.attribute]
            elif step.op == "arith.constant":
                value = self.constant(step.attribute, dtype, like)
            elif step.op in ("arith.cmpf", "arith.cmpi"):
                value = self.compare[step.attribute[-2:]](*operands)
            else:
                value = self.compute[step.op](*operands)
            values.append(self.convert(value, dtype))
        return values
