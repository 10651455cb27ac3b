# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error of a function that cannot be traced, with the line of the function where it happened."""

from __future__ import annotations

import linecache
import sys

from sparsec.errors import Error

# Frames of these packages stand between the user's line and the check that fails.
_LIBRARIES = {"sparsec", "numpy", "torch", "jax", "functools"}


class TracingError(Error, TypeError):
    """A traced function does something that has no meaning in a region of a kernel.

    The message begins with file and line of the traced function and quotes the line.
    """


def tracing_error(message: str) -> TracingError:
    """An error whose message names the innermost line of the user's code that is being executed."""
    return TracingError(f"{_user_line()}{message}")


def _user_line() -> str:
    frame = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in _LIBRARIES:
        frame = frame.f_back  # type: ignore[assignment]  # the outermost frame has none
    if frame is None:
        return ""
    name = frame.f_code.co_filename
    line = linecache.getline(name, frame.f_lineno, frame.f_globals).strip()
    quote = f"`{line}`: " if line else ""
    return f"{name}:{frame.f_lineno}: in {frame.f_code.co_name}: {quote}"
