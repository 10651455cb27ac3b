# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chooses the key blocks of every query block anew in each step, by the means of queries and keys."""

import torch

import sparsec.torch
from sparsec import patterns

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

heads, tokens, head_dim, block, count = 4, 1024, 64, 64, 4
attend = sparsec.torch.Attention(block=block)

for step in range(3):
    q, k, v = torch.randn(3, 1, heads, tokens, head_dim, dtype=torch.bfloat16, device=device)
    means = (each.float().unflatten(2, (-1, block)).mean(3)[0] for each in (q, k))
    scores = torch.einsum("hqd,hkd->hqk", *means)
    pattern = patterns.top_k(scores.cpu().numpy(), count, block)
    o = attend(q, k, v, pattern.lists(tokens, block=block, device=device))

    chosen = torch.zeros_like(scores, dtype=torch.bool).scatter_(2, scores.topk(count).indices, True)
    visible = chosen.repeat_interleave(block, 1).repeat_interleave(block, 2)
    products = (q.double() @ k.double().mT / head_dim**0.5).masked_fill(~visible, -torch.inf)
    error = (o.double() - products.softmax(-1) @ v.double()).abs().max().item()
    print(f"step {step}: {count} of {tokens // block} blocks, largest error {error:.1e}")
    assert error < 0.03  # bf16 probabilities and values of N(0, 1)
