# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans: which worker computes which tiles of a launch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from . import _native, devices
from .errors import InvalidArgument

_TILE_ORDERS = ("fixed", "lists", "counter")  # sparsec_tile_order_t

# The captures whose launches of a plan get memory of their own, and the most bytes of all of it.
_CAPTURES, _MOST_BYTES = 64, 64 << 20


@dataclass(frozen=True)
class PlanInfo:
    """What a plan holds for one variant of its kernel.

    Attributes:
        order: "fixed": workers take tiles in turn; "lists": each has a list; "counter": they take the next free tile.
        workers, tiles: their numbers; -1 if sizes are open.
        bytes: memory of the plan on the device.
        workspace_bytes: memory that a launch may bring; -1 if a size is open that it needs.
        balance: mean load / largest load of the workers, 1 is perfect.
        milliseconds: host time to make or load the plan for all variants.
        windows, columns: of a static pattern; 0: there are none.
        reason: why the variant has windows or none, and this order.
    """

    order: str
    workers: int
    tiles: int
    bytes: int
    workspace_bytes: int
    balance: float
    milliseconds: float
    windows: int
    columns: int
    reason: str


class _Named(Protocol):
    """A kernel, of which a plan knows no more than its name."""

    @property
    def name(self) -> str: ...


class Plan:
    """Which worker computes which tiles, for the launches of one kernel on one device.

    Made by Kernel.plan and Kernel.load_plan.
    """

    def __init__(self, native: _native.Plan, kernel: _Named, device: int) -> None:
        self.native, self.kernel, self.device = native, kernel, device
        self._workspaces: dict[int, _native.Memory | None] = {}
        self._spares: list[_native.Memory] = []  # for captures, which may not allocate
        self._captured: dict[tuple[int, int], _native.Memory] = {}  # by capture and stream: graphs write into these

    def info(self, variant: int = 0) -> PlanInfo:
        """What the plan holds for a variant. Raises InvalidArgument for a variant that the kernel does not have."""
        if variant < 0:
            raise InvalidArgument(f"variant: expects 0 or more, but got {variant}")
        fields = self.native.info(variant)
        return PlanInfo(**{**fields, "order": _TILE_ORDERS[fields["order"]]})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan to a file for Kernel.load_plan. A file that is there is replaced as a whole."""
        path = Path(path)
        aside = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            aside.write_bytes(self.native.save())
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)

    def new_workspace(self, arguments: _native.Arguments) -> _native.Memory | None:
        """Makes the memory that a launch with these arguments needs, all of it zero; None if it needs none."""
        size = self.native.workspace_bytes(arguments)
        if size == 0:
            return None
        memory = devices.device(self.device).allocate(size)
        memory.upload(bytes(size))
        return memory

    def workspace(self, arguments: _native.Arguments, stream: int, is_capturing: bool) -> _native.Memory | None:
        """The memory for launches on a stream, which share it because they run one after the other.

        Each capture gets memory of its own, because graphs may run side by side. It was made with that of the first
        call outside a capture. Without such a call, and after many captures, there is none: a launch then takes its
        tiles in a fixed order, and does not split keys.
        """
        if is_capturing:
            return self._workspace_of_capture(arguments, stream)
        memory = self._workspaces.get(stream)
        if memory is None or memory.bytes < self.native.workspace_bytes(arguments):
            memory = self.new_workspace(arguments)
            self._workspaces[stream] = memory
            if memory is not None:
                self._make_spares(arguments, memory.bytes)
        return memory

    def _make_spares(self, arguments: _native.Arguments, size: int) -> None:
        if self._spares and self._spares[-1].bytes >= size:
            return
        bytes_left = _MOST_BYTES - sum(memory.bytes for memory in self._captured.values())
        count = min(_CAPTURES - len(self._captured), bytes_left // size)
        made = (self.new_workspace(arguments) for _ in range(count))
        self._spares = [spare for spare in made if spare is not None]

    def _workspace_of_capture(self, arguments: _native.Arguments, stream: int) -> _native.Memory | None:
        capture = devices.device(self.device).capture(stream), stream
        needed = self.native.workspace_bytes(arguments)
        memory = self._captured.get(capture)
        if memory is None and self._spares and self._spares[-1].bytes >= needed:
            memory = self._captured[capture] = self._spares.pop()
        return memory if memory is not None and memory.bytes >= needed else None

    def __repr__(self) -> str:
        info = self.info()
        return f"<sparsec.Plan of {self.kernel.name}: {info.order} order, {info.workers} workers, {info.tiles} tiles>"
