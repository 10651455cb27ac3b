# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The proxy that stands for one element while a function is traced."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from sparsec.tracing.errors import tracing_error
from sparsec.tracing.graph import LOADABLE, MOST_DIMENSIONS, Capture, Graph, Node, conversion_hint, dtype_name

_RANKS = {"i1": 0, "i32": 1, "f32": 2}
_DTYPES = {"bool": "i1", "int32": "i32", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}
_NAMES = {"i1": "a boolean", "i32": "an integer", "f32": "a float"}
_PREDICATES = {"==": ("oeq", "eq"), "!=": ("une", "ne"), "<": ("olt", "slt"), "<=": ("ole", "sle"),
               ">": ("ogt", "sgt"), ">=": ("oge", "sge")}  # fmt: skip
_MOST_MULTIPLICATIONS = 16


def is_array(value: Any) -> bool:
    """Whether a value is an array of NumPy, PyTorch or JAX, and neither a NumPy scalar nor a class of arrays."""
    has_elements = all(hasattr(value, name) for name in ("dtype", "shape", "__getitem__"))
    return has_elements and not isinstance(value, (np.generic, Value, type))


def is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating))


def lift(graph: Graph, value: Any) -> Value:
    """A number as a constant, an array of no dimensions as a load of its element, a traced value as it is."""
    if isinstance(value, Value):
        return value
    if is_number(value):
        return _constant(graph, value)
    if isinstance(value, CapturedArray) and value.ndim == 0:
        return load(graph, graph.capture(value.array), ())
    if isinstance(value, WrappedArray) and len(value.array.shape) == 0:
        return load(graph, graph.capture(value.array, value.name), ())
    if is_array(value) and len(value.shape) == 0:
        return load(graph, graph.capture(value), ())
    if is_array(value):
        raise tracing_error(
            f"an array of shape {tuple(value.shape)} is used as a whole; a region computes one element: index the array"
        )
    raise tracing_error(f"a {type(value).__name__} is neither a number nor a traced value")


def _constant(graph: Graph, number: Any) -> Value:
    if isinstance(number, (bool, np.bool_)):
        return Value(graph, graph.node("arith.constant", "i1", attribute=bool(number)))
    if isinstance(number, (int, np.integer)) and graph.integers:
        if not -(2**31) <= int(number) < 2**31:
            raise tracing_error(f"the integer {int(number)} does not fit into 32 bits")
        return Value(graph, graph.node("arith.constant", "i32", attribute=int(number)))
    with np.errstate(over="ignore"):
        rounded = float(np.float32(number))
    if math.isinf(rounded) and not math.isinf(number):
        raise tracing_error(f"the number {number} does not fit into f32")
    return Value(graph, graph.node("arith.constant", "f32", attribute=rounded))


def load(graph: Graph, capture: Capture, indices: tuple[Any, ...]) -> Value:
    """Element `indices` of a captured array, as f32, i32 or i1. An epilogue gets its captured scalars as arguments."""
    array, name = capture.array, f"captured array '{capture.name}'" if capture.name else "a captured array"
    if dtype_name(array.dtype) not in LOADABLE:
        raise tracing_error(
            f"{name} has dtype {dtype_name(array.dtype)}, but regions load {', '.join(LOADABLE)}: "
            f"capture its {conversion_hint(array.dtype)}"
        )
    if len(array.shape) > MOST_DIMENSIONS:
        raise tracing_error(f"{name} has {len(array.shape)} dimensions, but at most {MOST_DIMENSIONS} can be read")
    if not graph.differentiable and getattr(array, "requires_grad", False):
        raise tracing_error(f"{name} requires a gradient, but captured arrays get none here: capture its .detach()")
    if not graph.integers and (len(array.shape) > 0 or capture.loaded == "i32"):
        raise tracing_error(
            f"{name} has shape {tuple(array.shape)} and dtype {dtype_name(array.dtype)}, but an epilogue captures "
            "floats of no dimensions: pass other arrays as extra operands"
        )
    nodes = [_index(graph, name, index) for index in indices]
    op = "sparsec.element" if graph.integers else "argument"
    element = Value(graph, graph.node(op, capture.loaded, *nodes, attribute=capture))
    if dtype_name(array.dtype) == "bool":
        return element != 0
    return element if capture.loaded in _RANKS else element._unary("arith.extf", "f32")


def _index(graph: Graph, name: str, index: Any) -> Node:
    if is_number(index) and not isinstance(index, (bool, np.bool_, float, np.floating)):
        if index < 0:
            raise tracing_error(f"{name} is indexed by {index}: sizes are known at run time, so count from the front")
        return _constant(graph, index).node
    value = index if isinstance(index, Value) else lift(graph, index) if is_array(index) else None
    if value is None or value.node.type != "i32":
        kind = type(index).__name__ if value is None else _NAMES[value.node.type]
        raise tracing_error(f"{name} is indexed by {kind}; an index is an integer")
    return value.node


class Value:
    """One element of a computation: a boolean, a 32-bit integer (which wraps) or an f32.

    Operators have Python's meaning; `//` and `%` are of integers and round down. Booleans combine with `& | ^ ~`. Where
    kinds differ, a boolean becomes an integer and an integer a float.
    """

    __slots__ = ("graph", "node")
    __hash__ = object.__hash__

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph, self.node = graph, node

    # ---- Building blocks

    def _unary(self, op: str, type: str, attribute: Any = None) -> Value:
        return Value(self.graph, self.graph.node(op, type, self.node, attribute=attribute))

    def _binary(self, op: str, other: Value, type: str | None = None, attribute: Any = None) -> Value:
        node = self.graph.node(op, type or self.node.type, self.node, other.node, attribute=attribute)
        return Value(self.graph, node)

    def convert(self, type: str) -> Value:
        """This value as an i1, i32 or f32."""
        have = self.node.type
        if have == type:
            return self
        if type == "i32" and not self.graph.integers:
            raise tracing_error("an epilogue has no integers: it computes in f32 and booleans; write 1.0 for 1")
        if have == "i1":
            one, zero = (_constant(self.graph, kind) for kind in ((1, 0) if type == "i32" else (1.0, 0.0)))
            return self.choose(one, zero)
        if type == "i1":
            return self != 0
        if self.node.op == "arith.constant" and type == "f32":
            return _constant(self.graph, float(self.node.attribute))
        return self._unary("arith.sitofp" if type == "f32" else "arith.fptosi", type)

    def choose(self, if_true: Value, if_false: Value) -> Value:
        if self.node.type != "i1":
            raise tracing_error(f"the condition of a choice is {_NAMES[self.node.type]}, but expects a boolean")
        if_true, if_false = if_true.alike(if_false)
        operands = (self.node, if_true.node, if_false.node)
        return Value(self.graph, self.graph.node("arith.select", if_true.node.type, *operands))

    def alike(self, other: Any, least: str = "i1") -> tuple[Value, Value]:
        """Both values in the kind that Python would compute in, at least of kind `least`."""
        other = lift(self.graph, other)
        if not self.graph.integers and least == "i32":
            least = "f32"
        kind = max(self.node.type, other.node.type, least, key=_RANKS.__getitem__)
        return self.convert(kind), other.convert(kind)

    def arithmetic(self, name: str, other: Any, swapped: bool = False) -> Value:
        """arith.<name>i or arith.<name>f."""
        left, right = self.alike(other, least="i32")
        if swapped:
            left, right = right, left
        return left._binary(f"arith.{name}{'f' if left.node.type == 'f32' else 'i'}", right)

    def extremum(self, name: str, other: Any) -> Value:
        """arith.maximumf or another of floats by name; of integers the one with the same beginning."""
        left, right = self.alike(other, least="i32")
        return left._binary(f"arith.{name}" if left.node.type == "f32" else f"arith.{name[:3]}si", right)

    def function(self, name: str, attribute: Any = None) -> Value:
        """math.<name> of this value as an f32."""
        return self.convert("f32")._unary(f"math.{name}", "f32", attribute)

    def _compare(self, other: Any, operator: str) -> Value:
        left, right = self.alike(other, least="i32")
        of_floats, of_integers = _PREDICATES[operator]
        if left.node.type == "f32":
            return left._binary("arith.cmpf", right, "i1", of_floats)
        return left._binary("arith.cmpi", right, "i1", of_integers)

    def _bitwise(self, name: str, other: Any) -> Value:
        left, right = self.alike(other)
        if left.node.type == "f32":
            raise tracing_error("& | ^ and ~ are of booleans and integers, but got a float")
        return left._binary(f"arith.{name}i", right)

    def _shift(self, op: str, other: Any, swapped: bool = False) -> Value:
        left, right = self.alike(other, least="i32")
        if left.node.type == "f32":
            raise tracing_error("<< and >> are of integers, but got a float")
        return right._binary(op, left) if swapped else left._binary(op, right)

    def _floor_division(self, other: Any, swapped: bool = False) -> tuple[Value, Value]:
        """Quotient and remainder of integers as in Python. arith.divsi and arith.remsi round towards zero."""
        left, right = self.alike(other, least="i32")
        if left.node.type == "f32":
            raise tracing_error("// and % are of integers; of floats write floor(x / y) and x - floor(x / y) * y")
        if swapped:
            left, right = right, left
        divisor = right.node.attribute if right.node.op == "arith.constant" else None
        if divisor == 0:
            raise tracing_error("the divisor is 0")
        if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
            return left >> (divisor.bit_length() - 1), left & (divisor - 1)
        quotient, remainder = left._binary("arith.divsi", right), left._binary("arith.remsi", right)
        if left.node.is_nonnegative() and divisor is not None and divisor > 0:
            return quotient, remainder
        if divisor is None:
            is_rounded_up = (remainder != 0) & ((remainder < 0) ^ (right < 0))
        else:
            is_rounded_up = remainder < 0 if divisor > 0 else remainder > 0
        return is_rounded_up.choose(quotient - 1, quotient), is_rounded_up.choose(remainder + right, remainder)

    # ---- Python's operators

    def __add__(self, other: Any) -> Value:
        return self.arithmetic("add", other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Value:
        return self.arithmetic("sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self.arithmetic("sub", other, swapped=True)

    def __mul__(self, other: Any) -> Value:
        return self.arithmetic("mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Value:
        return self.convert("f32").arithmetic("div", other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.convert("f32").arithmetic("div", other, swapped=True)

    def __floordiv__(self, other: Any) -> Value:
        return self._floor_division(other)[0]

    def __rfloordiv__(self, other: Any) -> Value:
        return self._floor_division(other, swapped=True)[0]

    def __mod__(self, other: Any) -> Value:
        return self._floor_division(other)[1]

    def __rmod__(self, other: Any) -> Value:
        return self._floor_division(other, swapped=True)[1]

    def __pow__(self, exponent: Any) -> Value:
        if not isinstance(exponent, int) or not 1 <= exponent <= _MOST_MULTIPLICATIONS:
            raise tracing_error(
                f"the exponent of ** is {exponent}, but expects an int from 1 to {_MOST_MULTIPLICATIONS}"
            )
        half = self ** (exponent // 2) if exponent > 1 else self
        return half if exponent == 1 else half * half if exponent % 2 == 0 else half * half * self

    def __neg__(self) -> Value:
        value = self.alike(self, least="i32")[0]
        return value._unary("arith.negf", "f32") if value.node.type == "f32" else 0 - value

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        value = self.alike(self, least="i32")[0]
        return value.function("absf") if value.node.type == "f32" else value.extremum("maximumf", -value)

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]  # a traced value, as of NumPy's arrays
        return self._compare(other, "==")

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return self._compare(other, "!=")

    def __lt__(self, other: Any) -> Value:
        return self._compare(other, "<")

    def __le__(self, other: Any) -> Value:
        return self._compare(other, "<=")

    def __gt__(self, other: Any) -> Value:
        return self._compare(other, ">")

    def __ge__(self, other: Any) -> Value:
        return self._compare(other, ">=")

    def __and__(self, other: Any) -> Value:
        return self._bitwise("and", other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Value:
        return self._bitwise("or", other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Value:
        return self._bitwise("xor", other)

    __rxor__ = __xor__

    def __invert__(self) -> Value:
        return self._bitwise("xor", True if self.node.type == "i1" else -1)

    def __lshift__(self, other: Any) -> Value:
        return self._shift("arith.shli", other)

    def __rlshift__(self, other: Any) -> Value:
        return self._shift("arith.shli", other, swapped=True)

    def __rshift__(self, other: Any) -> Value:
        return self._shift("arith.shrsi", other)

    def __rrshift__(self, other: Any) -> Value:
        return self._shift("arith.shrsi", other, swapped=True)

    # ---- Casts

    def astype(self, dtype: Any) -> Value:
        """The value as a bool, int32 or float32; float16 and bfloat16 round it, and it stays an f32."""
        name = "bool" if dtype is bool else dtype_name(dtype if hasattr(dtype, "name") else _numpy_name(dtype))
        if name not in _DTYPES:
            raise tracing_error(f"no region has values of {name}: cast to {', '.join(_DTYPES)}")
        kind = _DTYPES[name]
        if kind in _RANKS:
            return self.convert(kind)
        return self.convert("f32")._unary("arith.truncf", kind)._unary("arith.extf", "f32")

    to = astype

    def float(self) -> Value:
        return self.convert("f32")

    def int(self) -> Value:
        return self.convert("i32")

    def bool(self) -> Value:
        return self.convert("i1")

    def new_ones(self, *_sizes: Any, **_options: Any) -> Value:
        """PyTorch's and_masks begins with a true of no dimensions."""
        return _constant(self.graph, True)

    def new_zeros(self, *_sizes: Any, **_options: Any) -> Value:
        """PyTorch's or_masks begins with a false of no dimensions."""
        return _constant(self.graph, False)

    # ---- What a traced value cannot be

    def __bool__(self) -> NoReturn:
        raise tracing_error(
            "a traced value has no truth value: the function is traced once for all elements; "
            "write & | ~ for and, or, not, and where(condition, a, b) for if"
        )

    def __float__(self) -> NoReturn:
        raise tracing_error("a traced value is no Python float; for functions of math use those of sparsec.tracing")

    def __int__(self) -> NoReturn:
        raise tracing_error("a traced value is no Python int; write value.astype('int32')")

    def __index__(self) -> NoReturn:
        raise tracing_error("a traced value indexes captured arrays only, no Python list, range or slice")

    def __array__(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise tracing_error(
            "a traced value is used where NumPy expects an array. An array that the function reaches through an "
            "attribute or a container is captured by sparsec.tracing.captured(array)"
        )

    # ---- NumPy's and PyTorch's functions

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Value:
        if method != "__call__" or options:
            raise tracing_error(f"numpy.{ufunc.__name__} is called in a way that a region does not know")
        return _call(self.graph, "numpy", ufunc.__name__, inputs)

    def __array_function__(self, function: Any, _types: Any, args: Any, options: Any) -> Value:
        if options:
            raise tracing_error(f"numpy.{function.__name__} has options that a region does not know")
        return _call(self.graph, "numpy", function.__name__, args)

    @classmethod
    def __torch_function__(cls, function: Any, _types: Any, args: Any = (), options: Any = None) -> Value:
        graph = next(value.graph for value in _flat(args) if isinstance(value, Value))
        if function.__name__ == "__getitem__":
            indices = args[1] if isinstance(args[1], tuple) else (args[1],)
            return _load_all(graph, graph.capture(args[0]), indices)
        if options:
            raise tracing_error(f"torch.{function.__name__} has options that a region does not know")
        return _call(graph, "torch", function.__name__, args)


def _load_all(graph: Graph, capture: Capture, indices: tuple[Any, ...]) -> Value:
    if len(indices) != len(capture.array.shape):
        raise tracing_error(f"{len(indices)} indices for a captured array of {len(capture.array.shape)} dimensions")
    return load(graph, capture, indices)


def _numpy_name(dtype: Any) -> str:
    try:
        return str(np.dtype(dtype))
    except TypeError:
        return str(dtype)


def _flat(values: Any) -> Any:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _flat(value)
        else:
            yield value


class CapturedArray:
    """A captured array inside a traced function. Traced values and numbers index it, one or several at a time."""

    def __init__(self, graph: Graph, capture: Capture, indices: tuple[Any, ...] = ()) -> None:
        self._graph, self._capture, self._indices = graph, capture, indices

    def __getitem__(self, index: Any) -> Any:
        indices = (*self._indices, *(index if isinstance(index, tuple) else (index,)))
        rank = len(self._capture.array.shape)
        if len(indices) > rank:
            raise tracing_error(f"{len(indices)} indices for a captured array of {rank} dimensions")
        if len(indices) < rank:
            return CapturedArray(self._graph, self._capture, indices)
        return load(self._graph, self._capture, indices)

    @property
    def array(self) -> Any:
        return self._capture.array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._capture.array.shape[len(self._indices) :])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return self._capture.array.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def _refuse(self, *_operands: Any) -> NoReturn:
        name = f"captured array '{self._capture.name}'" if self._capture.name else "a captured array"
        raise tracing_error(
            f"{name} is used as a whole, of shape {self.shape}; a region computes one element: index all its dimensions"
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __bool__ = __iter__ = __array__ = __neg__ = __abs__ = _refuse
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _refuse
    __hash__ = object.__hash__


def captured(array: Any, name: str | None = None) -> WrappedArray:
    """Wraps an array that a traced function reaches through an attribute of an object.

    In a traced function an index with a traced value reads the array in the kernel, and an array of no dimensions takes
    part in expressions with traced values. Elsewhere the wrapper indexes the array itself.

    Args:
        array: of NumPy, PyTorch or JAX, of bool, int8, int32, int64, float32, float16 or bfloat16, of at most 4
            dimensions.
        name: of the operand of the kernel.
    """
    return WrappedArray(array, name)


class WrappedArray:
    """What captured() gives."""

    def __init__(self, array: Any, name: str | None = None) -> None:
        self.array, self.name = array, name

    def __getitem__(self, index: Any) -> Any:
        indices = index if isinstance(index, tuple) else (index,)
        for each in indices:
            if isinstance(each, Value):
                return CapturedArray(each.graph, each.graph.capture(self.array, self.name))[indices]
        return self.array[index]


# Filled by functions.py: what NumPy's and PyTorch's functions of these names do.
FUNCTIONS: dict[str, Callable[..., Value]] = {}


def _call(graph: Graph, library: str, name: str, args: Any) -> Value:
    if name not in FUNCTIONS:
        raise tracing_error(f"{library}.{name} has no counterpart in regions; sparsec.tracing lists the functions")
    # Every argument is lifted, so that a function finds a traced value whichever argument was one.
    return FUNCTIONS[name](*(lift(graph, value) for value in args))
