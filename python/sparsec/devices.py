# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The devices of this machine, and the targets that run on them."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Sequence

from . import _native, arrays, compiler
from .errors import DriverError


@functools.lru_cache
def device(ordinal: int) -> _native.Device:
    """Opens a CUDA device, or the host (sparsec.HOST), once."""
    return _native.Device(ordinal)


def target_of(capability: int, known: Sequence[str]) -> str | None:
    """The compiler's best target for a GPU; None if no target runs on it.

    Args:
        capability: 10 * major + minor.
        known: targets of the compiler. One with a letter ("sm_90a") runs on its own capability only. Others run on
            later ones of the same major number too.
    """
    best: tuple[int, str] | None = None
    for name in known:
        match = re.fullmatch(r"sm_(\d+)(a?)", name)
        if match is None:
            continue
        number, is_exact = int(match[1]), bool(match[2])
        runs = number == capability if is_exact else number // 10 == capability // 10 and number <= capability
        if runs and (best is None or number > best[0]):
            best = (number, name)
    return best[1] if best else None


def current_cuda_device() -> int:
    """torch's current device if torch uses CUDA in this process, else 0."""
    torch = sys.modules.get("torch")
    return int(torch.cuda.current_device()) if torch is not None and torch.cuda.is_initialized() else 0


def default_targets() -> tuple[str, ...]:
    """The target of this machine's GPU; the host if there is no GPU.

    Raises:
        DriverError: the compiler has no target for the GPU.
    """
    has_gpu = _native.cuda_device_count() > 0
    return (target_of_device(current_cuda_device() if has_gpu else arrays.HOST),)


@functools.lru_cache
def target_of_device(ordinal: int) -> str:
    """The target for a CUDA device, or for the host (sparsec.HOST).

    Raises:
        DriverError: there is no such device, or the compiler has no target for it.
    """
    if ordinal == arrays.HOST:
        return "host"
    known = known_targets(compiler.find_compiler())
    info = device(ordinal).info()
    target = target_of(info["compute_capability"], known)
    if target is None:
        raise DriverError(
            f"no target runs on '{info['name']}' of compute capability {info['compute_capability'] / 10}. "
            f"Pass targets: {', '.join(known)}"
        )
    return target


def known_targets(program: compiler.Program) -> tuple[str, ...]:
    """The targets that a compiler lists behind its version."""
    line = next(line for line in program.version.splitlines() if line.startswith("targets: "))
    return tuple(line.removeprefix("targets: ").split(", "))
