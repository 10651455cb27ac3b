# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Block-sparse layers and attention on torch tensors. Needs torch, which `import sparsec` does not import."""

from sparsec.torch.attention import Attention, attention
from sparsec.torch.layers import SparseLinear, Swap, SwapTable, sparsify_
from sparsec.torch.linear import linear
from sparsec.torch.merging import merge

__all__ = ["Attention", "SparseLinear", "Swap", "SwapTable", "attention", "linear", "merge", "sparsify_"]
