#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how long a merge of two partial results of attention takes on a GPU: by the kernel, by the functions of
torch that sparsec.torch.merge calls where a gradient is needed, and a copy of as many bytes. PYTHONPATH has the
package.

    bench/merge.py [--module FILE] [--write FILE] [--repeats R]

A row has median times with a cold L2, and the bytes that the kernel must move divided by its time. The file is that of
the programs below; without --module the compiler makes it. --write FILE writes their text.
"""

import argparse
import functools
import math
import pathlib

import torch
from torch_timer import Timer

import sparsec
from sparsec.merging import merged

# B, H, Sq, D, layout: rings of long sequences, decoding with parts, and many short rows.
SHAPES = [
    (1, 32, 8192, 128, "bhsd"),
    (1, 32, 8192, 128, "bshd"),
    (4, 32, 4096, 64, "bhsd"),
    (1, 16, 8192, 256, "bshd"),
    (64, 32, 1, 128, "bhsd"),
    (1, 32, 1024, 128, "bshd"),
]
TYPES = [("bf16", "bf16"), ("f32", "bf16"), ("f32", "f32")]  # of the parts and of the result
DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}


def name_of(width, part, result):
    return f"merge_{part}_{result}_{width}"


def source():
    texts = []
    for width in sorted({shape[3] for shape in SHAPES}):
        for part, result in TYPES:
            text = sparsec.merge(width, dtype=part, result_dtype=result).text()
            texts.append(text.replace("@merge(", f"@{name_of(width, part, result)}("))
    return "\n".join(texts)


def exact(o1, lse1, o2, lse2):
    """In double precision, by weights of another form than that of the kernel."""
    shares = torch.stack((lse1, lse2)).double().softmax(0)[..., None]
    return shares[0] * o1.double() + shares[1] * o2.double(), torch.logaddexp(lse1.double(), lse2.double())


def measure(timer, kernel, shape, part, result):
    batches, heads, queries, width, layout = shape

    def rows(dtype):
        if layout == "bhsd":
            return torch.randn(batches, heads, queries, width, device="cuda").to(dtype)
        return torch.randn(batches, queries, heads, width, device="cuda").to(dtype).transpose(1, 2)

    o1, o2, o = rows(DTYPES[part]), rows(DTYPES[part]), rows(DTYPES[result])
    lse1, lse2, lse = (torch.randn(batches, heads, queries, device="cuda") for _ in range(3))
    by_kernel = functools.partial(kernel, o1, lse1, o2, lse2, out=(o, lse))
    by_kernel()
    expected = exact(o1, lse1, o2, lse2)
    tolerance = 2**-8 if result == "bf16" else 2**-20
    torch.testing.assert_close(o.double(), expected[0], rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(lse.double(), expected[1], rtol=2**-20, atol=2**-20)

    def by_torch():
        merged_o, _ = merged(torch, torch.Tensor.detach, [o1.float(), o2.float()], [lse1, lse2], False)
        return merged_o.to(DTYPES[result])

    moved = sum(each.numel() * each.element_size() for each in (o1, lse1, o2, lse2, o, lse))
    source = torch.empty(math.ceil(moved / 2), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    times = timer.milliseconds(by_kernel, by_torch, functools.partial(target.copy_, source))
    own, theirs, copied = (1000 * each for each in times)
    print(
        f"{'x'.join(map(str, shape[:4])):16} {layout} {part:4} to {result:4} {moved / 1e6:7.1f} MB {own:8.1f} us "
        f"{moved / own / 1e3:6.0f} GB/s   copy {copied:8.1f} us   torch {theirs:8.1f} us"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", help="the compiled programs; default: compile them")
    parser.add_argument("--write", type=pathlib.Path, help="write the text of the programs here, and measure nothing")
    parser.add_argument("--repeats", type=int, default=11)
    options = parser.parse_args()
    if options.write:
        options.write.write_text(source())
        return
    module = sparsec.load(options.module) if options.module else sparsec.compile(source())
    print(torch.cuda.get_device_name())
    timer = Timer(torch, options.repeats)
    for shape in SHAPES:
        for part, result in TYPES:
            measure(timer, module[name_of(shape[3], part, result)], shape, part, result)


if __name__ == "__main__":
    main()
