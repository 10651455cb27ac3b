# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The values of a region: a graph of ops in which equal expressions are one node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

# The element types that sparsec.element loads, by the names that NumPy, PyTorch and JAX give them.
LOADABLE = {
    "bool": "i8", "int8": "i8", "int32": "i32", "int64": "i64",
    "float32": "f32", "float16": "f16", "bfloat16": "bf16",
}  # fmt: skip

# The type to which a user should convert a captured array of another type.
_CONVERSIONS = {"float64": "float32"}

MOST_DIMENSIONS = 4  # attention_c12


def dtype_name(dtype: Any) -> str:
    """The name of a dtype of NumPy, PyTorch or JAX: "int32"."""
    return str(getattr(dtype, "name", dtype)).removeprefix("torch.")


def host_array(array: Any) -> np.ndarray[Any, Any]:
    """An array of any library, or a list, as an array of NumPy on the host. bf16 becomes float32: NumPy has none."""
    if dtype_name(getattr(array, "dtype", None)) == "bfloat16":
        array = array.float() if str(array.dtype).startswith("torch.") else array.astype(np.float32)
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array)


def conversion_hint(dtype: Any) -> str:
    """The call that converts an array of a type that cannot be loaded: ".astype(int32)", or PyTorch's spelling."""
    target = _CONVERSIONS.get(dtype_name(dtype), "int32")
    return f".to(torch.{target})" if str(dtype).startswith("torch.") else f".astype({target})"


@dataclass(eq=False)
class Capture:
    """An array that a traced function reads. It is an operand of the kernel: by reference, with sizes of run time."""

    array: Any
    name: str | None  # of the variable that holds it, if that is known

    @property
    def element(self) -> str:
        return LOADABLE[dtype_name(self.array.dtype)]

    @property
    def loaded(self) -> str:
        """The type of an element in a region: integers are i32 there, the low 32 bits of int64."""
        return "i32" if self.element in ("i64", "i8") else self.element

    @property
    def type(self) -> str:
        return f"tensor<{'?x' * len(self.array.shape)}{self.element}>"


@dataclass(frozen=True, eq=False)
class Node:
    """One op with one result. `op` is the op's name in MLIR, or "argument" for an argument of the region.

    attribute: the name of an argument, the value of a constant, the predicate of a comparison, the Capture of a
    sparsec.element, the fastmath flags of a function; else None.
    """

    op: str
    type: str
    operands: tuple[Node, ...] = ()
    attribute: Any = None

    def is_nonnegative(self) -> bool:
        """Whether this i32 is known to be at least zero: places in the tensors are."""
        if self.op == "arith.constant":
            return bool(self.attribute >= 0)
        if self.op == "arith.andi":
            return any(operand.is_nonnegative() for operand in self.operands)
        return self.op == "argument" or (
            self.op in ("arith.divsi", "arith.remsi", "arith.shrsi", "arith.minsi")
            and all(operand.is_nonnegative() for operand in self.operands)
        )


@dataclass
class Graph:
    """Makes the nodes of one or more regions of a kernel.

    `integers` says whether the regions have i32: those of attention have, epilogues compute in f32 and i1.
    `differentiable` says whether captured arrays may require gradients: whoever launches the kernel computes them.
    """

    integers: bool
    differentiable: bool = False
    _nodes: dict[tuple[Any, ...], Node] = field(default_factory=dict)
    _captures: dict[int, Capture] = field(default_factory=dict)

    def node(self, op: str, type: str, *operands: Node, attribute: Any = None) -> Node:
        # repr tells 0.0 from -0.0 and 1 from 1.0, which compare equal.
        same = id(attribute) if isinstance(attribute, Capture) else repr(attribute)
        key = (op, type, same, *map(id, operands))
        return self._nodes.setdefault(key, Node(op, type, operands, attribute))

    def capture(self, array: Any, name: str | None = None) -> Capture:
        """The capture of an array; the same array is one capture, which keeps the first name."""
        return self._captures.setdefault(id(array), Capture(array, name))


def reachable(result: Node) -> list[Node]:
    """The nodes that a result needs, each once, operands before their users."""
    order: dict[int, Node] = {}
    stack = [(result, False)]
    while stack:
        node, operands_done = stack.pop()
        if id(node) in order:
            continue
        if operands_done:
            order[id(node)] = node
        else:
            stack.append((node, True))
            stack.extend((operand, False) for operand in reversed(node.operands))
    return list(order.values())
