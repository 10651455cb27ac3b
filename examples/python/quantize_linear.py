# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prunes a linear layer to blocks, quantises it to fp8 with fine-grained scales, and compares it with bf16.

The weights have a scale for each block, and the tokens one for each 128 of K. A second kernel has one scale for all
tokens, to show what those of tokens are worth.
"""

import torch

import sparsec

BLOCK = 64

has_f8 = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 9)
device, targets = ("cuda", None) if has_f8 else ("cpu", "host")
torch.manual_seed(0)


def relative_error(y, exact):
    """The mean over tokens, so that small ones count as much as large ones."""
    return ((y.double() - exact).norm(dim=1) / exact.norm(dim=1)).mean().item()


# Weights of different rows differ by up to a thousand, which one scale for all of them would not represent well.
dense = torch.nn.Linear(512, 1024).requires_grad_(False)
dense.weight *= torch.logspace(-3, 0, 1024)[:, None]
keep = sparsec.prune.magnitude(dense.weight.numpy(), BLOCK, density=0.25, per_row=True)
w = sparsec.BSR.from_dense(dense.weight.numpy(), BLOCK, keep)
exact_weight = torch.from_numpy(w.to_dense()).double().to(device)
w = w.as_torch(device)
bias = dense.bias.to(device) / 1e6
# Tokens of very different sizes, one number of a thousand of which is large: one scale would not represent them well.
x = torch.randn(100, 512, device=device) * torch.logspace(-5, 0, 100, device=device)[:, None]
x = torch.where(torch.rand_like(x) < 1e-3, 30 * x, x)

# fp8: the scales of blocks and of tokens are operands of the op, the one scale of a tensor belongs to the epilogue. A
# kernel quantises its own operands, on its device.
options = {"x_layout": "nk", "y_layout": "nm"}
program = sparsec.spmm(
    BLOCK,
    "f8E4M3FN",
    scales=True,
    x_scale=True,
    epilogue=lambda acc, bias: acc + bias,
    extras={"bias": sparsec.per_row()},
    name="linear_f8",
    **options,
)
linear_f8 = sparsec.compile(program, targets)["linear_f8"]
w_f8, scales = linear_f8.quantize("w", w, "block")
x_f8, x_scale = linear_f8.quantize("x", x, "token")
y_f8 = linear_f8(w_f8, scales, x_f8, x_scale, bias)

program = sparsec.spmm(
    BLOCK,
    "f8E4M3FN",
    scales=True,
    epilogue=lambda acc, bias, scale: acc * scale + bias,
    extras={"bias": sparsec.per_row(), "scale": sparsec.scalar("f32")},
    name="linear_f8_of_tensor",
    **options,
)
linear_of_tensor = sparsec.compile(program, targets)["linear_f8_of_tensor"]
x_of_tensor, scale = linear_of_tensor.quantize("x", x, "tensor")
y_of_tensor = linear_of_tensor(w_f8, scales, x_of_tensor, bias, scale)

program = sparsec.spmm(
    BLOCK,
    "bf16",
    epilogue=lambda acc, bias: acc + bias,
    extras={"bias": sparsec.per_row()},
    name="linear_bf16",
    **options,
)
y_bf16 = sparsec.compile(program, targets)["linear_bf16"](w.astype("bf16"), x.bfloat16(), bias)

exact = x.double() @ exact_weight.T + bias.double()
errors = {name: relative_error(y, exact) for name, y in (("tokens", y_f8), ("tensor", y_of_tensor), ("bf16", y_bf16))}
size_f8 = w_f8.values.nbytes + scales.nbytes
print(f"{w_f8}: {size_f8} bytes in fp8 with scales, {2 * w.values.numel()} in bf16")
print(
    f"relative error against float64: {errors['tokens']:.1e} in fp8 with scales of tokens, "
    f"{errors['tensor']:.1e} with one for the tensor, {errors['bf16']:.1e} in bf16"
)
assert errors["bf16"] < 2**-8  # bf16 has 8 bits
assert errors["bf16"] < errors["tokens"] < errors["tensor"]
assert errors["tokens"] < 2**-4  # f8E4M3FN has 4
