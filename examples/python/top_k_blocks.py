# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chooses the key blocks of every query block anew in each step, by the means of queries and keys, on the device."""

import torch

import sparsec.torch
from sparsec import patterns

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

heads, tokens, head_dim, block, count = 4, 1024, 64, 64, 4
pattern = patterns.causal()
attend = sparsec.torch.Attention(mask_mod=pattern.mask_mod((block, block)))
# The lists of all steps. They begin with all blocks that a query sees, of which those at the diagonal are partial.
buffer = pattern.buffer(tokens, block=block, heads=heads, device=device)
visible_blocks = torch.from_numpy(buffer.lists.states).to(device)


def step(q, k, v):
    """Nothing of it runs on the host, so that a CUDA graph can hold it."""
    means = (each.float().unflatten(2, (-1, block)).mean(3) for each in (q, k))
    scores = torch.einsum("bhqd,bhkd->bhqk", *means)
    buffer.update_from_scores(scores, count, mask=visible_blocks)
    return scores, attend(q, k, v, buffer.lists)


for number in range(3):
    q, k, v = torch.randn(3, 1, heads, tokens, head_dim, dtype=torch.bfloat16, device=device)
    scores, o = step(q, k, v)

    best = scores.masked_fill(visible_blocks == 0, -torch.inf).topk(count).indices
    chosen = torch.zeros_like(scores, dtype=torch.bool).scatter_(3, best, True)
    visible = chosen.repeat_interleave(block, 2).repeat_interleave(block, 3).tril()
    products = (q.double() @ k.double().mT / head_dim**0.5).masked_fill(~visible, -torch.inf)
    error = (o.double() - products.softmax(-1) @ v.double()).abs().max().item()
    print(f"step {number}: {count} of {tokens // block} blocks, largest error {error:.1e}")
    assert error < 0.05  # bf16 probabilities and values of N(0, 1); the first queries see few of them
