# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lists of blocks of a call of attention, for torch and JAX, and the function for their partial blocks."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

from sparsec.errors import InvalidArgument
from sparsec.patterns.lists import BlockLists
from sparsec.patterns.pattern import MaskMod, Pattern

__all__ = ["DEFAULT_BLOCK", "Function", "MadeLists", "lists_of", "made_lists"]

Function = Callable[..., Any] | None
MadeLists = tuple[BlockLists, MaskMod | None]  # of a pattern, and what remains for its partial blocks
DEFAULT_BLOCK = 128  # queries and keys


def made_lists(
    made: MutableMapping[Any, MadeLists],
    pattern: Pattern,
    block: tuple[int, int],
    sizes: tuple[int, int, int, int],
    device: Any = None,
) -> MadeLists:
    """The lists of a pattern: those that were made for the same sizes, or new ones, which are kept.

    Args:
        made: what was made for the pattern.
        block: queries and keys of a block.
        sizes: B, H, Sq and Skv.
        device: of torch; None: arrays of NumPy.
    """
    form = sizes, block, device
    if form not in made:
        batches, heads, queries, keys = sizes
        lists = pattern.lists(queries, keys, block, heads, batches=batches, device=device)
        made[form] = lists, pattern.mask_mod(block)
    return made[form]


def lists_of(
    pattern: Any,
    mask_mod: Function,
    queries: int | None,
    keys: int | None,
    make: Callable[[Pattern], MadeLists],
    expected: str,
) -> tuple[BlockLists | None, Function]:
    """The lists of the argument `pattern`, None without one, and the function for their partial blocks.

    Args:
        pattern: lists, a Pattern, or None.
        mask_mod: the function of the call.
        queries, keys: of the call; None: any number, because sequences are packed.
        make: gives the lists of a Pattern.
        expected: the kinds of patterns that the caller takes, for the message.

    Raises:
        InvalidArgument: the pattern is of another kind or for other sizes, or there are two functions.
    """
    if pattern is None:
        return None, mask_mod
    if isinstance(pattern, Pattern):
        if mask_mod is not None:
            raise InvalidArgument("mask_mod and a Pattern are given; write pattern=the pattern & predicate(mask_mod)")
        lists, mask_mod = make(pattern)
    elif isinstance(pattern, BlockLists):
        lists = pattern
    else:
        raise InvalidArgument(f"pattern: expects {expected}, but got {type(pattern).__name__}")
    expected_sizes = lists.queries if queries is None else queries, lists.keys if keys is None else keys
    if (lists.queries, lists.keys) != expected_sizes:
        raise InvalidArgument(
            f"pattern: expects lists of {expected_sizes[0]} queries and {expected_sizes[1]} keys, but got those of "
            f"{lists.queries} and {lists.keys}"
        )
    return lists, mask_mod
