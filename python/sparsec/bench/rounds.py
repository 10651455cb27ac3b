# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times functions in rounds that alternate between them, so that a machine that slows down slows all of them down."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Function = Callable[[], Any]


@dataclass(frozen=True)
class Times:
    """The samples of a function in milliseconds, in the order of the rounds."""

    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def least(self) -> float:
        return min(self.samples)

    @property
    def most(self) -> float:
        return max(self.samples)


def host_clock(function: Function) -> float:
    """The milliseconds of a call on the host."""
    begin = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - begin)


class GpuClock:
    """The milliseconds that a call takes on torch's current GPU, with a cold L2 cache.

    The host enqueues the call while the GPU still clears the cache, so that the time of the host does not count unless
    it is the longer one.
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        size = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
        self._flush = torch.empty(max(4 * size, 1 << 28), dtype=torch.uint8, device="cuda")

    def __call__(self, function: Function) -> float:
        begin, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._flush.zero_()
        begin.record()
        function()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end))


def measure(
    functions: Mapping[str, Function],
    rounds: int,
    clock: Callable[[Function], float],
    report: Callable[[int], None] = lambda _: None,
) -> dict[str, Times]:
    """Times functions: each of them once in every round, in an order that moves on by one from round to round.

    Args:
        functions: by name. Two calls of each are not counted.
        rounds: at least 1.
        clock: gives the milliseconds of a call.
        report: gets the number of rounds that are done.
    """
    names = list(functions)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for name in names * 2:
        clock(functions[name])
    for number in range(rounds):
        first = number % len(names) if names else 0
        for name in names[first:] + names[:first]:
            samples[name].append(clock(functions[name]))
        report(number + 1)
    return {name: Times(tuple(each)) for name, each in samples.items()}
