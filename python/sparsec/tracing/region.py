# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces a function into a region: its ops as text of the dialect, and its meaning as NumPy."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparsec.tracing.capture import with_captures
from sparsec.tracing.errors import TracingError
from sparsec.tracing.evaluate import evaluate
from sparsec.tracing.graph import Capture, Graph, Node, reachable
from sparsec.tracing.value import Value, is_array, is_number, lift

_CONVERSIONS = {"arith.extf", "arith.truncf", "arith.sitofp", "arith.fptosi"}
_RESULTS = {"i1": "a boolean", "f32": "a number"}


@dataclass(frozen=True)
class Region:
    """What one traced function computes: arguments of the region and ops that give one value.

    arguments: name and type ("f32", "i32", "f16", "bf16") of every argument except captured arrays, in order.
    """

    arguments: tuple[tuple[str, str], ...]
    result: Node

    @cached_property
    def nodes(self) -> list[Node]:
        """The ops that the result needs, operands before their users."""
        return reachable(self.result)

    @property
    def captures(self) -> list[Capture]:
        """The arrays that the region reads, in the order of their first use."""
        captures = (node.attribute for node in self.nodes if isinstance(node.attribute, Capture))
        return list(dict.fromkeys(captures))

    def uses(self, argument: str) -> bool:
        """Whether the result depends on an argument."""
        return any(node.op == "argument" and node.attribute == argument for node in self.nodes)

    def evaluate(self, **arguments: Any) -> np.ndarray[Any, Any]:
        """The result for arrays of arguments, which broadcast: in f32 and i32, as a kernel computes it.

        Raises IndexError where a captured array is read outside.
        """
        return evaluate(self.nodes, arguments)

    def text(self, names: Mapping[Any, str], indent: str = "    ") -> str:
        """The ops, one a line, with sparsec.yield.

        names: of the region's arguments in the text: of a Capture, and of an argument that has another name there.
        """
        values: dict[Node, str] = {}
        lines: list[str] = []
        for node in self.nodes:
            if node.op == "argument":
                values[node] = f"%{names.get(node.attribute, node.attribute)}"
                continue
            operands = [values[operand] for operand in node.operands]
            values[node] = f"%{len(lines)}"
            lines.append(f"{values[node]} = {_op_text(node, operands, names)}")
        lines.append(f"sparsec.yield {values[self.result]} : {self.result.type}")
        return "".join(f"{indent}{line}\n" for line in lines)


def trace(
    function: Callable[..., Any],
    arguments: Sequence[tuple[str, str]],
    result_type: str,
    graph: Graph,
    option: str = "function",
) -> Region:
    """Calls a function with traced values, and gives the region that it computes.

    Args:
        function: what is traced.
        arguments: name and type ("f32", "i32", "f16", "bf16") of each of its arguments.
        result_type: "i1" for a mask, "f32" for a score or an epilogue.
        graph: of the kernel: regions of one kernel share captures.
        option: what errors call the function.

    Raises:
        TracingError: the function does what a region cannot. The text quotes the line of the function.
    """
    values = [_argument(graph, name, type) for name, type in arguments]
    result = inline(function, [name for name, _ in arguments], values, result_type, option, graph)
    return Region(tuple(arguments), result.node)


def inline(
    function: Callable[..., Any],
    names: Sequence[str],
    values: Sequence[Value],
    result_type: str,
    option: str,
    graph: Graph | None = None,
) -> Value:
    """Calls a function with traced values, inside another traced function; the arrays that it reads are captured.

    Args:
        function: what is called.
        names: what errors call the values.
        values: its arguments.
        result_type, option, graph: as of trace; None: the graph of the values.

    Raises:
        TracingError: as of trace.
    """
    graph = graph or values[0].graph
    _check_signature(function, names, option)
    returned = with_captures(function, graph)(*values)
    if not (isinstance(returned, Value) or is_number(returned) or is_array(returned)):
        raise TracingError(
            f"{_place(function)}{option} returns a {type(returned).__name__}, but expects {_RESULTS[result_type]}"
        )
    value = lift(graph, returned)
    if result_type == "i1" and value.node.type != "i1":
        what = {"i32": "an integer", "f32": "a float"}[value.node.type]
        raise TracingError(f"{_place(function)}{option} returns {what}, but expects {_RESULTS[result_type]}")
    return value.convert(result_type)


def _argument(graph: Graph, name: str, type: str) -> Value:
    value = Value(graph, graph.node("argument", type, attribute=name))
    return value if type in ("f32", "i32") else Value(graph, graph.node("arith.extf", "f32", value.node))


def _check_signature(function: Callable[..., Any], names: Sequence[str], option: str) -> None:
    if not callable(function):
        raise TracingError(f"{option} is a {type(function).__name__}, but expects a function of ({', '.join(names)})")
    try:
        signature = inspect.signature(function)
    except ValueError:  # functions in C have none
        return
    try:
        signature.bind(*names)
    except TypeError:
        raise TracingError(
            f"{_place(function)}{option} has the arguments {signature}, but expects ({', '.join(names)})"
        ) from None


def _place(function: Callable[..., Any]) -> str:
    code = getattr(function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}: " if code else ""


_PRECISION = {None: "", "approximate": " fastmath<afn>", "exact": " {sparsec.exact}"}


def _op_text(node: Node, operands: Sequence[str], names: Mapping[Any, str]) -> str:
    joined = ", ".join(operands)
    if node.op == "arith.constant":
        return f"arith.constant {_constant_text(node)}"
    if node.op == "sparsec.element":
        return f"sparsec.element %{names[node.attribute]}[{joined}] : {node.attribute.type}"
    if node.op in _CONVERSIONS:
        return f"{node.op} {joined} : {node.operands[0].type} to {node.type}"
    if node.op in ("arith.cmpf", "arith.cmpi"):
        return f"{node.op} {node.attribute}, {joined} : {node.operands[0].type}"
    return f"{node.op} {joined}{_PRECISION[node.attribute]} : {node.type}"


def _constant_text(node: Node) -> str:
    value = node.attribute
    if node.type == "i1":
        return "true" if value else "false"
    if node.type == "f32" and not math.isfinite(value):
        return f"0x{int(np.float32(value).view(np.uint32)):08X} : f32"
    # repr of the double that an f32 is: MLIR reads the same number.
    return f"{value!r} : {node.type}"
