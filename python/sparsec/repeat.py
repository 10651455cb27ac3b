# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that repeat an earlier one with other memory: the extension module checks and prepares them once."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from typing import Any

from . import _native, arrays
from .launch_info import Argument, ArgumentKind, KernelInfo
from .plan import Plan


def _rank(argument: Argument) -> int:
    return -1 if argument.kind is ArgumentKind.SCALAR else len(argument.sizes)


def _is_capturing() -> bool:
    return arrays.is_capturing(0)


class Repeater:
    """Repeats calls of a kernel with one matrix or pattern, for tensors of libraries with DLPack's C interface.

    While torch captures a graph, calls that need a workspace are not repeated, because graphs need workspaces of their
    own; nor are those that read packed values, which a graph packs again.

    Attributes:
        native: the caller of the extension module.
        call: takes all inputs in the kernel's order. It launches and gives the results, or gives None if no call of
            this form was added.
        call_around: of an operator: the same, but takes the lists first, and gives None too if these are others or
            torch would see a call of the operator: a gradient, a tracer, a mode or a kind of tensor. Inputs that are
            None are left out.
    """

    def __init__(
        self,
        info: KernelInfo,
        blocks: Any,
        *,
        is_operator: bool = False,
        lists: tuple[weakref.ref[Any], ...] = (),
        versions: tuple[int, ...] | None = None,
        packed: tuple[int, int] | None = None,
    ) -> None:
        """
        Args:
            info: of the kernel.
            blocks: the native view of the matrix or the pattern; None: the kernel takes none.
            is_operator: whether calls are those of an operator of torch. Their input for a matrix is the tensor of its
                values. Tensors may have more dimensions than the kernel's, or one less: leading ones become one.
                Otherwise this input does not matter, and calls that would lose a gradient are not repeated.
            lists: the tensors of the operator's lists.
            versions: of the lists, whose contents then must not change; None: they may.
            packed: the address and the version of the values that launches read from a copy in packed blocks.
        """
        torch = sys.modules.get("torch")
        guard = None if torch is None else torch.is_grad_enabled
        pause = None if torch is None else _is_capturing
        place = -1 if info.blocks_place is None else info.blocks_place
        ranks = tuple(map(_rank, info.arguments))
        takes_values = is_operator and place >= 0 and info.arguments[place].kind is ArgumentKind.BSR
        options: dict[str, Any] = {}
        if is_operator and torch is not None:
            options["observers"] = torch._C._len_torch_dispatch_stack, torch._C._is_tracing
            options["types"] = torch.Tensor, torch.nn.Parameter
        options |= {"lists": lists} if lists else {}
        options |= {} if versions is None else {"versions": versions}
        options |= {} if packed is None else {"packed": packed}
        self.native = _native.Caller(
            ranks, info.result_count, place, blocks, takes_values, is_operator, guard, pause, **options
        )
        self.call, self.call_around = self.native.call, self.native.call_around

    def add(
        self,
        kernel: _native.Kernel,
        plan: Plan | None,
        workspace: _native.Memory | None,
        inputs: tuple[Any, ...],
        results: Sequence[Any],
    ) -> None:
        """Prepares calls of this form, which has been launched, if they can be repeated."""
        makers = tuple(filter(None, map(arrays.makers, results)))
        if len(makers) == len(results):
            self.native.add(kernel, plan.native if plan else None, workspace, makers, inputs)
