# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trains a model with two block-sparse layers, with f32 master weights, and moves blocks of one once on the way."""

import torch

import sparsec.torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

layer = sparsec.torch.SparseLinear(256, 512, block=32, density=0.25, device=device)
hidden = sparsec.torch.SparseLinear(512, 512, block=32, density=0.25, device=device)
head = torch.nn.Linear(512, 10, device=device)
model = torch.nn.Sequential(layer, torch.nn.ReLU(), hidden, torch.nn.ReLU(), head)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

teacher = torch.randn(10, 256, device=device)
first = None
for step in range(120):
    x = torch.randn(256, 256, device=device)
    labels = (x @ teacher.T).argmax(-1)
    with torch.autocast(device, torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(model(x).float(), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 60:
        # The weakest block of each row moves to a place that is free.
        norms = layer.to_dense().unflatten(1, (-1, 32)).unflatten(0, (-1, 32)).square().sum((1, 3))
        mask = norms > 0
        rows = torch.nonzero(mask.any(1) & ~mask.all(1))[:, 0]
        weakest = norms.masked_fill(~mask, torch.inf).argmin(1)[rows]
        free = torch.rand_like(norms).masked_fill(mask, -1).argmax(1)[rows]
        mask[rows, weakest], mask[rows, free] = False, True
        layer.set_pattern(mask)
    first = loss.item() if first is None else first
    if step % 20 == 0:
        print(f"step {step:3}: loss {loss.item():.3f}")

print(f"loss {first:.3f} -> {loss.item():.3f}")
assert loss.item() < 0.7 * first
