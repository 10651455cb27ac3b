# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a plan says about itself."""

from __future__ import annotations

from dataclasses import dataclass


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
        packed_bytes: memory of the packed values that the variant reads; 0: it reads the stored ones.
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
    packed_bytes: int = 0
