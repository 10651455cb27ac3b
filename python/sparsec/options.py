# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options that several functions have. Errors are InvalidArgument; they name the option, its value, what it expects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import InvalidArgument


def is_integer(value: Any) -> bool:
    """Whether a value is an int of Python or NumPy. A bool is none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def integer(option: str, value: Any, least: int, most: int | None = None) -> int:
    """Returns an int that is at least `least`, and at most `most` if there is one."""
    if not is_integer(value) or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise InvalidArgument(f"{option} is {value!r}, but expects an int {limits}")
    return int(value)


def one_of(option: str, value: Any, choices: Sequence[str]) -> str:
    """Returns one of several texts."""
    if value not in choices:
        raise InvalidArgument(f"{option} is {value!r}, but expects {' or '.join(choices)}")
    return str(value)


def block_sides(block: Any, sides: Sequence[int] | None = None, option: str = "block") -> tuple[int, int]:
    """Returns the two sides of a block, which is given as both or as one for both. `sides`: those that are allowed."""
    pair = (block, block) if is_integer(block) else block
    is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2 and all(is_integer(side) for side in pair)
    if not is_pair or any(side < 1 if sides is None else side not in sides for side in pair):
        expected = "positive sides" if sides is None else f"of {', '.join(map(str, sides))}"
        raise InvalidArgument(f"{option} is {block!r}, but expects one or two {expected}")
    return int(pair[0]), int(pair[1])


def torch_for(device: Any) -> Any:
    """Imports torch for a device of it. The option is called `device`."""
    try:
        import torch
    except ImportError:
        raise InvalidArgument(f"device is {device!r}, but torch is not installed") from None
    return torch


def on_device(array: Any, device: Any) -> Any:
    """Returns an array as PyTorch's tensor on a device; None stays None. The option is called `device`."""
    torch = torch_for(device)
    return array if array is None else torch.as_tensor(array, device=device)
