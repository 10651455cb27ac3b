# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions of the package. Every refusal is one of them, with the text of the compiler or the runtime."""

from __future__ import annotations

__all__ = [
    "Cancelled",
    "CompileError",
    "DriverError",
    "Error",
    "InvalidArgument",
    "InvalidImage",
    "InvalidPattern",
    "InvalidPlan",
    "OutOfMemory",
    "UnknownKernel",
]


class Error(Exception):
    """The base of all exceptions of this package. Raised itself only for an internal error of the runtime."""


class CompileError(Error):
    """The compiler refused a program, or could not write the result.

    Attributes:
        file: the file that the first error is in, "<stdin>" for text; None if the error has no place.
        line, column: its place, counted from 1; None if it has none.
        diagnostics: all that the compiler wrote.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        diagnostics: str = "",
    ) -> None:
        super().__init__(message)
        self.file, self.line, self.column = file, line, column
        self.diagnostics = diagnostics


class InvalidArgument(Error, ValueError):
    """A value that does not fit: its kind, type, shape, strides, alignment or place. The text names it."""


class InvalidPattern(Error, ValueError):
    """The index arrays of a block-sparse matrix or of a pattern break a rule. The text says where."""


class InvalidImage(Error, ValueError):
    """A compiled file is truncated, damaged, of another kind, or of an incompatible version."""


class InvalidPlan(Error, ValueError):
    """A saved plan is damaged, or for another version, kernel, GPU or pattern. The plan must be made again."""


class Cancelled(Error):
    """A callback of the caller has cancelled the work."""


class DriverError(Error, RuntimeError):
    """There is no driver or device, no image of the file runs on it, its limits are too low, or the driver refused."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory on the host or on the device."""


class UnknownKernel(Error, KeyError):
    """The compiled file has no kernel of this name."""

    __str__ = Exception.__str__  # that of KeyError shows the repr of the text


# By sparsec_status_code_t.
_ERROR_OF_STATUS: dict[int, type[Error]] = {
    1: InvalidArgument,
    2: InvalidPattern,
    3: InvalidImage,
    4: InvalidImage,
    5: DriverError,
    6: DriverError,
    7: DriverError,
    8: OutOfMemory,
    9: UnknownKernel,
    10: DriverError,
    11: Error,
    12: Cancelled,
    13: InvalidPlan,
}


def error_of_status(code: int, message: str) -> Error:
    """Returns the exception for a status of the runtime. The extension module raises it."""
    return _ERROR_OF_STATUS[code](message)
