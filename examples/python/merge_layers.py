# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Merges two block-sparse linear layers into one by a product of their weights, at the blocks that it can have."""

import torch

import sparsec
import sparsec.torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

first = sparsec.torch.SparseLinear(512, 768, block=64, density=0.1, bias=False, dtype=torch.bfloat16, device=device)
second = sparsec.torch.SparseLinear(768, 1024, block=64, density=0.1, bias=False, dtype=torch.bfloat16, device=device)
a, b = second.matrix, first.matrix

# A block of the product is there if a block of its row in a meets a block of its column in b.
stored = [layer.to_dense().unflatten(1, (-1, 64)).unflatten(0, (-1, 64)).any(3).any(1) for layer in (second, first)]
keep = (stored[0].float() @ stored[1].float() > 0).cpu().numpy()
merged = sparsec.torch.SparseLinear(512, 1024, block=64, mask=keep, bias=False, dtype=torch.bfloat16, device=device)

multiply = sparsec.compile(sparsec.spgemm(64, pattern=True, name="merge"))["merge"]
with torch.no_grad():
    merged.values.copy_(multiply(a, b, merged.matrix))

x = torch.randn(100, 512, device=device).bfloat16()
with torch.no_grad():
    exact = x.double() @ first.to_dense().double().T @ second.to_dense().double().T
    error = ((merged(x).double() - exact).norm() / exact.norm()).item()
print(f"densities {a.density:.2f} and {b.density:.2f} make {merged.density:.2f}: relative error {error:.4f}")
assert error < 1e-2
