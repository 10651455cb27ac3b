#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times attention of sequences with sizes of their own next to the same work without them, in one process.

Packed documents are compared with documents of equal length, pages and lengths with keys that follow one another. The
cases of decoding have one query for each sequence: the query heads that share a head of keys are the rows of a tile.
Each case is timed in turns with what it is compared with, and sampled rows are checked against double precision.

The kernels: test/device/build_kernels.sh --sources bench/sequences --arch sm_90a --out DIR. The runtime as a shared
library: cmake -DBUILD_SHARED_LIBS=ON
"""
import argparse
import math
import pathlib
import sys

from groups import parser_of
from runtime import Runtime, dense

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1]))

from torch_timer import Timer

DIMENSION = 128


class Bench:
    def __init__(self, torch, runtime, kernels, timer):
        self.torch, self.runtime, self.kernels, self.timer = torch, runtime, kernels, timer
        self.generator = torch.Generator("cuda").manual_seed(1)

    def normal(self, *sizes):
        return self.torch.randn(*sizes, device="cuda", generator=self.generator).to(self.torch.bfloat16)

    def numbers(self, values):
        return self.torch.tensor(values, dtype=self.torch.int32, device="cuda")

    def call(self, name, *tensors):
        """A launch of a kernel; the last tensor is the result."""
        kernel = self.runtime.load(self.kernels / f"{name}.cubin")
        views = [dense(tensor) for tensor in tensors]
        plan = self.runtime.plan(kernel, views, with_lists=False)
        workspace = self.torch.zeros(max(self.runtime.workspace_bytes(plan), 16), dtype=self.torch.int8, device="cuda")
        stream = self.torch.cuda.current_stream().cuda_stream
        launch = self.runtime.launcher(kernel, plan, views, stream, workspace)
        return lambda kept=tensors: launch()

    def compare(self, name, amount, unit, base_amount, run, base):
        own, other = self.timer.milliseconds(run, base)
        speed, base_speed = amount / own * 1e-9, base_amount / other * 1e-9
        print(f"{name:58} {own:8.4f} ms {speed:8.2f} {unit}   compared {other:8.4f} ms {base_speed:8.2f} {unit}"
              f"   ratio {speed / base_speed:5.3f}", flush=True)


def causal_flops(lengths, heads):
    """Of both products, for the pairs that are visible."""
    return sum(4 * DIMENSION * heads * (length * (length + 1) // 2) for length in lengths)


def uneven(total, count):
    """Lengths from short to long whose sum is `total`."""
    weights = [1 + 3 * (index * 7 % count) / count for index in range(count)]
    lengths = [int(total * weight / sum(weights)) for weight in weights]
    lengths[-1] += total - sum(lengths)
    return lengths


def starts_of(lengths):
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length)
    return starts


def check(torch, result, q, k, v, what):
    """One head: result and q are rows x D, k and v keys x D, causal at the bottom right."""
    scores = q.double() @ k.double().T / math.sqrt(DIMENSION)
    rows, keys = torch.arange(len(q), device="cuda"), torch.arange(len(k), device="cuda")
    scores.masked_fill_(keys > rows[:, None] + len(k) - len(q), -math.inf)
    error = (result.double() - scores.softmax(-1) @ v.double()).abs().max().item()
    assert error < 2e-2, f"{what}: the largest error is {error}"


def documents(bench, heads=16, total=32768):
    torch = bench.torch
    for count in (8, 16, 32, 64):
        lengths = uneven(total, count)
        starts = bench.numbers(starts_of(lengths))
        q, k, v = (bench.normal(1, heads, total, DIMENSION) for _ in range(3))
        output = torch.zeros_like(q)
        run = bench.call("packed_causal", q, k, v, starts, starts, output)
        equal = [tensor.view(heads, count, total // count, DIMENSION).transpose(0, 1) for tensor in (q, k, v)]
        equal_output = torch.zeros_like(q).view(heads, count, total // count, DIMENSION).transpose(0, 1)
        base = bench.call("equal_causal", *equal, equal_output)
        bench.compare(f"{count} documents, {min(lengths)} to {max(lengths)} of {total} tokens, causal",
                      causal_flops(lengths, heads), "TFLOP/s", causal_flops([total // count] * count, heads), run, base)
        at = starts.tolist()
        for number in (0, count // 2, count - 1):
            rows = slice(at[number], at[number + 1])
            check(torch, output[0, 1, rows], q[0, 1, rows], k[0, 1, rows], v[0, 1, rows], "documents")


def paged(bench, tensor, rows):
    """Keys or values of (B, Hkv, S, D) in pages in a random order, and their table."""
    torch = bench.torch
    batches, heads, keys, _ = tensor.shape
    order = torch.randperm(batches * keys // rows, device="cuda", generator=bench.generator)
    pages = torch.empty(batches * keys // rows, heads, rows, DIMENSION, dtype=tensor.dtype, device="cuda")
    pages[order] = tensor.view(batches, heads, keys // rows, rows, DIMENSION).transpose(1, 2).flatten(0, 1)
    return pages, order.view(batches, keys // rows).to(torch.int32)


def pages_of(bench, k, v, rows):
    state = bench.generator.get_state()
    key_pages, table = paged(bench, k, rows)
    bench.generator.set_state(state)
    return key_pages, paged(bench, v, rows)[0], table


def prefill(bench, batches=4, heads=32, key_heads=8, queries=2048, keys=8192):
    torch = bench.torch
    q = bench.normal(batches, heads, queries, DIMENSION)
    k, v = (bench.normal(batches, key_heads, keys, DIMENSION) for _ in range(2))
    outputs = [torch.zeros_like(q) for _ in range(2)]
    flops = 4 * DIMENSION * heads * batches * queries * (keys - queries / 2)
    base = bench.call("equal_causal", q, k, v, outputs[0])
    lengths = bench.numbers([keys] * batches)
    run = bench.call("lengths_causal", q, k, v, lengths, outputs[1])
    bench.compare(f"{queries} queries, {keys} keys: lengths", flops, "TFLOP/s", flops, run, base)
    for rows in (128, 64, 16):
        key_pages, value_pages, table = pages_of(bench, k, v, rows)
        run = bench.call(f"page{rows}_causal", q, key_pages, value_pages, lengths, table, outputs[1])
        bench.compare(f"{queries} queries, {keys} keys: pages of {rows}", flops, "TFLOP/s", flops, run, base)
        assert torch.equal(outputs[0], outputs[1]), "pages change no bit"


def decode(bench, batches, heads, key_heads, lengths, rows=None):
    """The bytes are those of the keys and values that are there. Compared: a copy of as many bytes."""
    torch = bench.torch
    keys = (max(lengths) + 255) // 256 * 256
    q = bench.normal(batches, key_heads, heads // key_heads, DIMENSION)
    k, v = (bench.normal(batches, key_heads, keys, DIMENSION) for _ in range(2))
    output = torch.zeros_like(q)
    size = bench.numbers(lengths)
    data = 2 * 2 * DIMENSION * key_heads * sum(lengths)
    what = f"decode B{batches} Hq{heads} Hkv{key_heads}, {min(lengths)} to {max(lengths)} keys"
    if rows:
        key_pages, value_pages, table = pages_of(bench, k, v, rows)
        run = bench.call(f"page{rows}_all", q, key_pages, value_pages, size, table, output)
    else:
        run = bench.call("lengths_all", q, k, v, size, output)
    source = torch.empty(data // 2, dtype=torch.int8, device="cuda")
    copy = torch.empty_like(source)
    bench.compare(what + (f", pages of {rows}" if rows else ""), data, "TB/s", data, run,
                  lambda: copy.copy_(source))
    if rows is None:
        length = lengths[-1]
        scores = q[-1, -1].double() @ k[-1, -1, :length].double().T / math.sqrt(DIMENSION)
        exact = scores.softmax(-1) @ v[-1, -1, :length].double()
        assert (output[-1, -1].double() - exact).abs().max().item() < 2e-2, "decode"


def decoding(bench):
    decode(bench, 64, 32, 8, [8192] * 64)
    decode(bench, 64, 32, 8, [8192] * 64, rows=64)
    decode(bench, 64, 32, 8, [8192] * 64, rows=16)
    decode(bench, 64, 32, 8, [1 + index * 32767 // 63 for index in range(64)])
    decode(bench, 16, 64, 1, [8192] * 16)
    decode(bench, 16, 64, 1, [1 + index * 32767 // 15 for index in range(16)])
    decode(bench, 4, 32, 8, [8192] * 4)
    decode(bench, 1, 32, 8, [65536])
    decode(bench, 1, 32, 8, [65536], rows=64)
    decode(bench, 1, 32, 8, [4096])


GROUPS = {"documents": documents, "prefill": prefill, "decoding": decoding}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=pathlib.Path, required=True, help="folder of the compiled kernels")
    parser.add_argument("--runtime", type=pathlib.Path, required=True, help="libsparsec_runtime.so")
    parser.add_argument("--cases", type=parser_of(GROUPS), default=list(GROUPS),
                        help=f"groups of cases, separated by commas (default: {','.join(GROUPS)})")
    parser.add_argument("--repeats", type=int, default=11)
    options = parser.parse_args()
    import torch
    bench = Bench(torch, Runtime(options.runtime), options.kernels, Timer(torch, options.repeats))
    print(torch.cuda.get_device_name())
    for group in options.cases:
        GROUPS[group](bench)


if __name__ == "__main__":
    main()
