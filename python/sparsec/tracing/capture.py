# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the arrays that a function reads: in its closure, its globals and its defaults."""

from __future__ import annotations

import contextlib
import dis
import functools
import itertools
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sparsec.tracing.errors import TracingError
from sparsec.tracing.graph import Capture, Graph
from sparsec.tracing.value import CapturedArray, Value, WrappedArray, is_array, load

# Functions of these packages read no array of the user through their globals.
_LIBRARIES = {"sparsec", "numpy", "torch", "jax", "scipy"}


def with_captures(function: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """The function, which finds proxies in place of the arrays that it and the functions it uses read."""
    method = vars(type(function)).get("__call__")
    if isinstance(method, types.FunctionType):  # an object that its class makes callable
        function = types.MethodType(method, function)
    rebound: Callable[..., Any] = _Rebinder(graph).rebind(function, None)
    return rebound


class _Rebinder:
    """Replaces arrays in functions, and in the functions, lists, tuples and dicts that those use; all in copies.

    What holds no array stays the same object.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._done: dict[int, Any] = {}  # by identity; what is being rebound stands for itself

    def rebind(self, value: Any, name: str | None) -> Any:
        if is_array(value) and not isinstance(value, (CapturedArray, WrappedArray)):
            return self._proxy(self._graph.capture(value, name))
        if id(value) not in self._done:
            self._done[id(value)] = value
            self._done[id(value)] = self._rebind_parts(value)
        return self._done[id(value)]

    def _proxy(self, capture: Capture) -> Value | CapturedArray:
        if len(capture.array.shape) == 0:
            with contextlib.suppress(TracingError):  # it counts only where the function uses the array
                return load(self._graph, capture, ())
        return CapturedArray(self._graph, capture)

    def _rebind_parts(self, value: Any) -> Any:
        if isinstance(value, types.FunctionType):
            return self._rebind_function(value)
        if isinstance(value, types.MethodType):
            method = self.rebind(value.__func__, None)
            return value if method is value.__func__ else types.MethodType(method, value.__self__)
        if isinstance(value, functools.partial):
            function, *arguments = (self.rebind(each, None) for each in (value.func, *value.args))
            return functools.partial(function, *arguments, **self._named(value.keywords))
        if type(value) in (list, tuple):
            elements = [self.rebind(each, None) for each in value]
            return value if _are_same(elements, value) else type(value)(elements)
        if type(value) is dict:
            named = self._named(value)
            return value if _are_same(named.values(), value.values()) else named
        return value

    def _named(self, values: Mapping[Any, Any]) -> dict[Any, Any]:
        return {name: self.rebind(value, str(name)) for name, value in values.items()}

    def _rebind_function(self, function: types.FunctionType) -> types.FunctionType:
        variables = {**function.__globals__}
        cells = [types.CellType() for _ in function.__code__.co_freevars]
        rebound = types.FunctionType(function.__code__, variables, function.__name__, None, tuple(cells))
        self._done[id(function)] = rebound  # for a function that calls itself
        parts = (_globals_of(function), _cells_of(function), _defaults_of(function), function.__kwdefaults__ or {})
        rebound_parts = [self._named(part) for part in parts]
        if all(_are_same(new.values(), old.values()) for new, old in zip(rebound_parts, parts, strict=True)):
            return function
        read, contents, defaults, rebound.__kwdefaults__ = rebound_parts
        variables.update(read)
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            if name in contents:
                cell.cell_contents = contents[name]
        rebound.__defaults__ = tuple(defaults.values())
        return rebound


def _globals_of(function: types.FunctionType) -> dict[str, Any]:
    """The globals that a function and the functions inside it read."""
    if str(function.__module__).partition(".")[0] in _LIBRARIES:
        return {}
    names = _global_names(function.__code__)
    return {name: function.__globals__[name] for name in names if name in function.__globals__}


def _defaults_of(function: types.FunctionType) -> dict[str, Any]:
    defaults = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def _cells_of(function: types.FunctionType) -> dict[str, Any]:
    """The variables of the closure that have a value."""
    contents = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            contents[name] = cell.cell_contents
    return contents


def _are_same(left: Iterable[Any], right: Iterable[Any]) -> bool:
    return all(mine is other for mine, other in zip(left, right, strict=True))


@functools.lru_cache  # closures that are made again and again share their code
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    names = [each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"]
    inner = (_global_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return tuple(dict.fromkeys(itertools.chain(names, *inner)))
