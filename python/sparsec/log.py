# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines for the user, on standard error: always those of slow compiles, and all decisions with SPARSEC_LOG=1."""

from __future__ import annotations

import os
import sys


def is_on() -> bool:
    """Whether SPARSEC_LOG asks for the lines about decisions. "0" and "" are off."""
    return os.environ.get("SPARSEC_LOG", "0") not in ("", "0")


def say(text: str) -> None:
    """Prints a line for the user."""
    print(f"sparsec: {text}", file=sys.stderr)


def decision(text: str) -> None:
    """Prints what was decided and why, if SPARSEC_LOG asks for it."""
    if is_on():
        say(text)
