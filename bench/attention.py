#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times attention kernels next to cuDNN (torch's scaled_dot_product_attention) in one process.

S = 8192, heads x D = 2048, batch 2, bf16, random lists of key blocks of every density. Useful TFLOP/s count the visited
blocks (causal: half of all); the ratio is to cuDNN dense, or to cuDNN causal, timed before and after each case.

The kernels: the target bench-kernels, or test/device/build_kernels.sh --sources bench/attention --arch sm_90a --out DIR
(then DIR/sm_90a).
The runtime as a shared library: cmake -DBUILD_SHARED_LIBS=ON
"""
import argparse
import ctypes
import json
import pathlib
import statistics
import sys

SEQUENCE, WIDTH, BATCHES = 8192, 2048, 2
DENSITIES = [1.0, 0.5, 0.25, 0.1]
BF16, KIND_DENSE, KIND_PATTERN, INDEX_ARRAYS = 3, 2, 4, 1  # launch_info.h


# The structures of runtime.h.
class Dense(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 5), ("strides", ctypes.c_int64 * 5)]


class BlockLists(ctypes.Structure):
    _fields_ = [("starts", ctypes.c_void_p), ("indices", ctypes.c_void_p)]


class Pattern(ctypes.Structure):
    _fields_ = [("encoding", ctypes.c_int), ("query_block", ctypes.c_int32), ("key_block", ctypes.c_int32),
                ("batches", ctypes.c_int64), ("heads", ctypes.c_int64), ("rows", ctypes.c_int64),
                ("columns", ctypes.c_int64), ("capacity", ctypes.c_int64), ("partial", BlockLists),
                ("full", BlockLists), ("flags", ctypes.c_uint32)]


class Value(ctypes.Union):  # a BSR matrix, which no kernel here takes, is smaller than a dense tensor
    _fields_ = [("dense", Dense), ("scalar", ctypes.c_float), ("pattern", Pattern)]


class Argument(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("value", Value)]


class Runtime:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.sparsec_status_message.restype = ctypes.c_char_p
        self.device = ctypes.c_void_p()
        self.call("sparsec_device_open_cuda", 0, ctypes.byref(self.device))

    def call(self, name, *arguments):
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p
        if status := function(*arguments):
            sys.exit(f"{name}: {self.library.sparsec_status_message(ctypes.c_void_p(status)).decode()}")

    def load(self, path):
        data = path.read_bytes()
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("sparsec_module_load", self.device, data, ctypes.c_size_t(len(data)), ctypes.byref(module))
        self.call("sparsec_module_kernel", module, None, ctypes.byref(kernel))
        return kernel

    def launcher(self, kernel, arguments, stream):
        array = (Argument * len(arguments))(*arguments)
        return lambda: self.call("sparsec_launch", kernel, None, array, ctypes.c_size_t(len(arguments)),
                                 ctypes.c_void_p(stream))


def dense(tensor):
    sizes, strides = (ctypes.c_int64 * 5)(*tensor.shape), (ctypes.c_int64 * 5)(*tensor.stride())
    return Argument(KIND_DENSE, Value(dense=Dense(tensor.data_ptr(), BF16, tensor.dim(), sizes, strides)))


def random_lists(torch, block, density):
    """Offsets and indices of lists in which every block is with this probability, and how many there are."""
    side = SEQUENCE // block
    mask = torch.rand(side, side, generator=torch.Generator().manual_seed(1)) < density
    starts = torch.zeros(side + 1, dtype=torch.int32)
    starts[1:] = mask.sum(1).cumsum(0)
    return starts.cuda(), mask.nonzero()[:, 1].int().cuda(), int(mask.sum())


def pattern(starts, indices, block):
    side = SEQUENCE // block
    full = BlockLists(starts.data_ptr(), indices.data_ptr())
    return Argument(KIND_PATTERN, Value(pattern=Pattern(INDEX_ARRAYS, block, block, 1, 1, side, side, indices.numel(),
                                                        BlockLists(), full)))


class Timer:
    def __init__(self, torch, repeats):
        self.torch, self.repeats = torch, repeats
        self.flushed = torch.empty(256 << 20, dtype=torch.int8, device="cuda")

    def milliseconds(self, run):
        """Median time with a cold L2, after two runs that are not counted."""
        times = []
        for _ in range(self.repeats + 2):
            self.flushed.zero_()
            start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end))
        return statistics.median(times[2:])


class Bench:
    def __init__(self, torch, runtime, options):
        self.torch, self.runtime, self.kernels = torch, runtime, options.kernels
        self.timer = Timer(torch, options.repeats)
        self.cases = []

    def prepare(self, dimension):
        self.dimension, self.heads = dimension, WIDTH // dimension
        shape = (BATCHES, self.heads, SEQUENCE, dimension)
        self.torch.manual_seed(1)
        self.tensors = [self.torch.randn(shape, device="cuda").bfloat16() for _ in range(3)]
        self.output = self.torch.empty(shape, device="cuda", dtype=self.torch.bfloat16)

    def cudnn(self, is_causal):
        return self.torch.nn.functional.scaled_dot_product_attention(*self.tensors, is_causal=is_causal)

    def run(self, name, pairs, lists=(), density=None):
        """Times a kernel that visits so many (query, key) pairs of every head."""
        is_causal = density is None
        q, k, v = (dense(tensor) for tensor in self.tensors)
        kernel = self.runtime.load(self.kernels / f"{name}.cubin")
        launch = self.runtime.launcher(kernel, [q, k, v, *lists, dense(self.output)],
                                       self.torch.cuda.current_stream().cuda_stream)
        before = self.timer.milliseconds(lambda: self.cudnn(is_causal))
        own = self.timer.milliseconds(launch)
        after = self.timer.milliseconds(lambda: self.cudnn(is_causal))
        head = 4 * self.dimension * self.heads * BATCHES / 1e9
        every = SEQUENCE * SEQUENCE / (2 if is_causal else 1)
        case = {"kernel": name, "density": density, "milliseconds": own, "tflops": head * pairs / own,
                "cudnn_tflops": head * every / ((before + after) / 2)}
        case["ratio"] = case["tflops"] / case["cudnn_tflops"]
        if density in (None, 1.0):
            case["max_difference"] = (self.output.float() - self.cudnn(is_causal).float()).abs().max().item()
        self.cases.append(case)
        label = "causal" if is_causal else f"d = {density:g}"
        print(f"{name:32} {label:10} {case['tflops']:6.0f} TFLOP/s, cuDNN {case['cudnn_tflops']:6.0f}, "
              f"ratio {case['ratio']:.3f}", flush=True)

    def run_all(self):
        for dimension in (128, 64):
            self.prepare(dimension)
            for block in (128, 64):
                for density in DENSITIES:
                    starts, indices, count = random_lists(self.torch, block, density)
                    self.run(f"attention_bf16_{dimension}_{block}x{block}", count * block * block,
                             [pattern(starts, indices, block)], density)
            self.run(f"attention_bf16_{dimension}_causal", SEQUENCE * SEQUENCE / 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", required=True, type=pathlib.Path, help="folder of the compiled kernels")
    parser.add_argument("--runtime", required=True, type=pathlib.Path, help="libsparsec_runtime.so")
    parser.add_argument("--json", type=pathlib.Path, help="file to write the results to")
    parser.add_argument("--repeats", type=int, default=11, help="timed launches of each case (default: 11)")
    options = parser.parse_args()
    import torch  # late: --help works without it
    import torch.nn.attention
    bench = Bench(torch, Runtime(options.runtime), options)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.CUDNN_ATTENTION):
        bench.run_all()
    if options.json:
        result = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                  "cudnn": torch.backends.cudnn.version(), "cases": bench.cases}
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
