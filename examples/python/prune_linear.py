# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a dense linear layer block-sparse, and compares it with the dense layer of the same blocks."""

import torch

import sparsec.torch

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)

dense = torch.nn.Linear(512, 1024, dtype=torch.bfloat16, device=device).requires_grad_(False)
layer = sparsec.torch.SparseLinear.from_linear(dense, block=64, density=0.25, activation="gelu").requires_grad_(False)
print(layer)
print(layer.matrix.draw())

x = torch.randn(8, 100, 512, dtype=torch.bfloat16, device=device)
y = layer(x)

exact = torch.nn.functional.linear(x.double(), layer.to_dense().double(), layer.bias.double())
exact = torch.nn.functional.gelu(exact)
error = ((y.double() - exact).abs() / (exact.abs() + 0.01)).max().item()
print(f"{tuple(x.shape)} -> {tuple(y.shape)}: largest relative error {error:.1e}")
assert error < 2**-7  # bf16 has 8 bits
