# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code of a FlexAttention user: the same functions and the same BlockMask, and one line that differs."""

import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import sparsec.torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

batches, heads, tokens, head_dim = 1, 4, 1024, 64
q, k, v = torch.randn(3, batches, heads, tokens, head_dim, dtype=torch.bfloat16, device=device)
documents = torch.arange(tokens, dtype=torch.int32, device=device) // 300
slopes = 2.0 ** -torch.arange(1, heads + 1, device=device)


def mask_mod(b, h, q_idx, kv_idx):
    return (q_idx >= kv_idx) & (documents[q_idx] == documents[kv_idx])


def score_mod(score, b, h, q_idx, kv_idx):
    return score + slopes[h] * (kv_idx - q_idx)


block_mask = create_block_mask(mask_mod, None, None, tokens, tokens, device=device)
o = sparsec.torch.attention(q, k, v, pattern=block_mask, score_mod=score_mod)

exact = flex_attention(q.double(), k.double(), v.double(), block_mask=block_mask, score_mod=score_mod)
error = (o.double() - exact).abs().max().item()
print(f"{block_mask.sparsity():.0f} % of the blocks are skipped, largest error {error:.1e}")
assert error < 0.03  # bf16 probabilities and values of N(0, 1)
