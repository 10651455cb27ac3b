# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that repeat an earlier one with other memory: the extension module checks and prepares them once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from . import _native, arrays
from .launch_info import Argument, ArgumentKind, KernelInfo
from .plan import Plan


def _rank(argument: Argument) -> int:
    return -1 if argument.kind is ArgumentKind.SCALAR else len(argument.sizes)


class Repeater:
    """Repeats calls of a kernel with one matrix or pattern, for tensors of libraries with DLPack's C interface.

    Attributes:
        call: takes all inputs in the kernel's order. It launches and gives the results, or gives None if no call of
            this form was added.
        call_around: of an operator: the same, but gives None too if torch would see a call of the operator: a gradient,
            a tracer, a mode or a kind of tensor. Inputs that are None are left out.
    """

    def __init__(self, info: KernelInfo, blocks: Any, *, is_operator: bool = False) -> None:
        """
        Args:
            info: of the kernel.
            blocks: the native view of the matrix or the pattern; None: the kernel takes none.
            is_operator: whether calls are those of an operator of torch. Their input for a matrix is the tensor of its
                values. Tensors may have more dimensions than the kernel's, or one less: leading ones become one.
                Otherwise this input does not matter, and calls that would lose a gradient are not repeated.
        """
        torch = sys.modules.get("torch")
        guard = None if torch is None else torch.is_grad_enabled
        place = -1 if info.blocks_place is None else info.blocks_place
        ranks = tuple(map(_rank, info.arguments))
        takes_values = is_operator and place >= 0 and info.arguments[place].kind is ArgumentKind.BSR
        form = (ranks, info.result_count, place, blocks, takes_values, is_operator, guard)
        if is_operator and torch is not None:
            observers = (torch._C._len_torch_dispatch_stack, torch._C._get_tracing_state)
            self._native = _native.Caller(*form, observers=observers, types=(torch.Tensor, torch.nn.Parameter))
        else:
            self._native = _native.Caller(*form)
        self.call, self.call_around = self._native.call, self._native.call_around
        self._has_workspace = False

    def is_paused(self) -> bool:
        """Whether torch captures a graph, whose launches need workspaces of their own: no call is repeated then."""
        return self._has_workspace and arrays.is_capturing(0)

    def add(
        self,
        kernel: _native.Kernel,
        plan: Plan | None,
        workspace: _native.Memory | None,
        inputs: tuple[Any, ...],
        results: Sequence[Any],
    ) -> None:
        """Prepares calls of this form, which has been launched, if they can be repeated."""
        makers = tuple(filter(None, map(arrays.maker, results)))
        self._has_workspace |= workspace is not None
        if len(makers) == len(results):
            self._native.add(kernel, plan.native if plan else None, workspace, makers, inputs)
