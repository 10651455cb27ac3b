# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the arrays that a function reads: in its closure, its globals and its defaults."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from sparsec.tracing.graph import Graph
from sparsec.tracing.value import CapturedArray, WrappedArray, is_array, load

# Functions of these packages read no array of the user through their globals.
_LIBRARIES = {"sparsec", "numpy", "torch", "jax", "scipy"}


def with_captures(function: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """The function, which finds proxies in place of the arrays that it and the functions it uses read."""
    rebound: Callable[..., Any] = _Rebinder(graph).rebind(function, None)
    return rebound


class _Rebinder:
    """Replaces arrays in functions, and in the functions, lists, tuples and dicts that those use; all in copies."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._done: dict[int, Any] = {}  # by identity; a function that is being rebound stands for itself

    def rebind(self, value: Any, name: str | None) -> Any:
        if is_array(value) and not isinstance(value, (CapturedArray, WrappedArray)):
            capture = self._graph.capture(value, name)
            return CapturedArray(self._graph, capture) if len(value.shape) else load(self._graph, capture, ())
        if id(value) in self._done:
            return self._done[id(value)]
        if isinstance(value, types.FunctionType):
            self._done[id(value)] = value
            self._done[id(value)] = self._rebind_function(value)
            return self._done[id(value)]
        if isinstance(value, functools.partial):
            keywords = {key: self.rebind(each, key) for key, each in value.keywords.items()}
            return functools.partial(self.rebind(value.func, None), *self._all(value.args), **keywords)
        if type(value) in (list, tuple):
            return type(value)(self._all(value))
        if type(value) is dict:
            return {key: self.rebind(each, str(key)) for key, each in value.items()}
        return value

    def _all(self, values: Any) -> Iterator[Any]:
        return (self.rebind(value, None) for value in values)

    def _rebind_function(self, function: types.FunctionType) -> types.FunctionType:
        rebound = types.FunctionType(
            function.__code__,
            self._globals(function),
            function.__name__,
            None if function.__defaults__ is None else tuple(self._defaults(function)),
            tuple(self._cells(function)),
        )
        rebound.__kwdefaults__ = {key: self.rebind(each, key) for key, each in (function.__kwdefaults__ or {}).items()}
        return rebound

    def _globals(self, function: types.FunctionType) -> dict[str, Any]:
        if str(function.__module__).partition(".")[0] in _LIBRARIES:
            return function.__globals__
        read = [name for name in _names(function.__code__) if name in function.__globals__]
        changed = {name: self.rebind(function.__globals__[name], name) for name in dict.fromkeys(read)}
        return {**function.__globals__, **changed}

    def _defaults(self, function: types.FunctionType) -> Iterator[Any]:
        defaults = function.__defaults__ or ()
        names = function.__code__.co_varnames[: function.__code__.co_argcount][-len(defaults) :]
        return (self.rebind(value, name) for name, value in zip(names, defaults, strict=True))

    def _cells(self, function: types.FunctionType) -> Iterator[types.CellType]:
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                yield types.CellType(self.rebind(cell.cell_contents, name))
            except ValueError:  # a variable without a value yet
                yield cell


def _names(code: types.CodeType) -> Iterator[str]:
    """The global names that a function and the functions inside it read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)
