# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block patterns of attention: which keys a query sees, and the lists of blocks that kernels take.

`&`, `|` and `~` combine patterns. A pattern serves two ends: `lists` makes the block lists of a call, and
`programs.attention(pattern=...)` makes the kernel whose mask decides inside partial blocks.
"""

from sparsec.patterns.buffer import PatternBuffer
from sparsec.patterns.kinds import (
    causal,
    documents,
    from_flex,
    from_mask,
    predicate,
    prefix,
    sliding_window,
    top_k,
    vertical_slash,
    video,
)
from sparsec.patterns.lists import BlockLists
from sparsec.patterns.pattern import Pattern

__all__ = [
    "BlockLists", "Pattern", "PatternBuffer", "causal", "documents", "from_flex", "from_mask", "predicate", "prefix",
    "sliding_window", "top_k", "vertical_slash", "video",
]  # fmt: skip
