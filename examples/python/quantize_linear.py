# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prunes a linear layer to blocks, quantises it to fp8 with a scale for each block, and compares it with bf16."""

import torch

import sparsec

LARGEST = 448.0  # of f8E4M3FN
BLOCK = 64

has_f8 = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 9)
device, targets = ("cuda", None) if has_f8 else ("cpu", "host")
torch.manual_seed(0)


def quantize(values, scale):
    return (values / scale).to(torch.float8_e4m3fn)


def scale_of(amax):
    return amax.clamp(min=1e-30) / LARGEST  # zeros have a scale too


def relative_error(y, exact):
    return ((y.double() - exact).norm() / exact.norm()).item()


# Weights of different rows differ by up to a thousand, which one scale for all of them would not represent well.
dense = torch.nn.Linear(512, 1024).requires_grad_(False)
dense.weight *= torch.logspace(-3, 0, 1024)[:, None]
keep = sparsec.prune.magnitude(dense.weight.numpy(), BLOCK, density=0.25, per_row=True)
w = sparsec.BSR.from_dense(dense.weight.numpy(), BLOCK, keep)
exact_weight = torch.from_numpy(w.to_dense()).double().to(device)
w = w.as_torch(device)
bias = dense.bias.to(device) / 100
x = torch.randn(100, 512, device=device)

# fp8: a scale for each block of w is an operand of the op, the one scale of x belongs to the epilogue.
scales = scale_of(w.values.abs().amax(dim=(1, 2)))
w_f8 = w.with_values(quantize(w.values, scales[:, None, None]))
x_scale = scale_of(x.abs().amax())
x_f8 = quantize(x, x_scale)
options = {"x_layout": "nk", "y_layout": "nm"}
program = sparsec.spmm(
    BLOCK,
    "f8E4M3FN",
    scales=True,
    epilogue=lambda acc, bias, x_scale: acc * x_scale + bias,
    extras={"bias": sparsec.per_row(), "x_scale": sparsec.scalar("f32")},
    name="linear_f8",
    **options,
)
y_f8 = sparsec.compile(program, targets)["linear_f8"](w_f8, scales, x_f8, bias, x_scale)

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
error_f8, error_bf16 = relative_error(y_f8, exact), relative_error(y_bf16, exact)
size_f8 = w_f8.values.nbytes + scales.nbytes
print(f"{w_f8}: {size_f8} bytes in fp8 with scales, {2 * w.values.numel()} in bf16")
print(f"relative error against float64: {error_f8:.1e} in fp8, {error_bf16:.1e} in bf16")
assert error_bf16 < 2**-8  # bf16 has 8 bits
assert error_bf16 < error_f8 < 2**-4  # f8E4M3FN has 4
