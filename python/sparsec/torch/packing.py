# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies of values in packed blocks, which follow the values."""

from __future__ import annotations

import sys

import torch

from sparsec import arrays
from sparsec.bsr import BSR
from sparsec.plan import Plan
from sparsec.torch.library import version

__all__ = ["PackedValues", "reason_against"]

_ALIGNMENT = 16  # bytes, of values that kernels pack
_PLACES = ("cuda",)  # the types of devices that have kernels for packed values


def reason_against(values: torch.Tensor) -> str | None:
    """Why kernels must read the values and no copy of them; None: they may read a copy."""
    if values.device.type not in _PLACES:
        return f"{values.device.type} has no kernels for packed values"
    if values.data_ptr() % _ALIGNMENT != 0:
        return f"they are not at a multiple of {_ALIGNMENT} bytes"
    if values.is_inference():
        return "torch does not count changes of tensors of the inference mode"
    return "torch does not count how fully_shard changes values" if _are_modules_sharded() else None


def _are_modules_sharded() -> bool:
    """Whether fully_shard has parameters of any module: it gathers values under an unchanged version."""
    states = sys.modules.get("torch.distributed._composable_state")
    return bool(getattr(states, "_module_state_mapping", None))


class PackedValues:
    """The packed values of a plan, and what they are a copy of.

    A launch may read them only while the values are those that were copied: the same memory, which this object keeps so
    that no other tensor gets its address, with the same version.

    In a CUDA graph, the copy is made again in front of the launch whenever the graph runs.

    Attributes:
        is_there: whether the plan has packed values; False: its launches read the stored ones.
        is_captured: whether a graph refers to the plan.
    """

    def __init__(self, plan: Plan, values: torch.Tensor) -> None:
        self._plan, self._memory = plan, values.detach()
        self._version: int | None = None
        self._ready: tuple[torch.cuda.Stream, torch.cuda.Event] | None = None
        self.is_there, self.is_captured = True, False

    @property
    def source(self) -> tuple[int, int] | None:
        """The address and the version of the values that were copied; None: launches read the stored ones."""
        return (self._memory.data_ptr(), self._version) if self.is_there and self._version is not None else None

    def is_of(self, values: torch.Tensor) -> bool:
        """Whether the plan serves these values: those in the memory that is copied, or any if nothing is.

        Launches on other streams may still read a copy, so that it is never made of other memory.
        """
        return not self.is_there or bool(self._memory.data_ptr() == values.data_ptr())

    def prepare(self, w: BSR) -> bool:
        """Makes the copy right for the next launch on the current stream.

        Returns whether it was made, so that repeated calls must count on other values. In a graph nothing is made now.
        """
        if not self.is_there:
            return False
        if arrays.is_capturing(w.values.get_device()):
            self.is_captured = True
            self._plan.pack(w)
            return False
        self._wait()
        if self._version == version(w.values):
            return False
        self.is_there = self._plan.pack(w)
        self._version = version(w.values)
        self._mark(w.values)
        return True

    def _mark(self, values: torch.Tensor) -> None:
        """Remembers the work on the current stream that makes the copy."""
        if values.is_cuda:
            stream = torch.cuda.current_stream(values.device)
            self._ready = stream, stream.record_event()

    def _wait(self) -> None:
        """Lets the current stream wait for the copy, if another stream makes it."""
        if self._ready is not None:
            stream, event = self._ready
            current = torch.cuda.current_stream(stream.device)
            if current != stream:
                current.wait_event(event)
