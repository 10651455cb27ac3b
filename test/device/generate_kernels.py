#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the .mlir files of the kernels that sparsec-device-tests runs.

A kernel's name says what it is, and the test program relies on it:
  spmm_<dtype>_<block>_<X layout>_<Y layout>_<result dtype>[_<scales, or fast>]_<epilogue>
A block with a "t" behind it is that of a matrix which is stored transposed. The epilogues are in epilogue_regions.py,
and a second time, in double, in epilogues.cpp. The kernels of other operations are in attention_kernels.py,
sequence_kernels.py, merge_kernels.py, sddmm_kernels.py and spgemm_kernels.py.
"""
import argparse
import collections
import pathlib

import attention_kernels
import merge_kernels
import sddmm_kernels
import sequence_kernels
import spgemm_kernels
from covering import covering
from epilogue_regions import EPILOGUES, LONG_EPILOGUES, epilogue_text

Kernel = collections.namedtuple("Kernel", "dtype block layouts result epilogue scales", defaults=[""])

DTYPES = ["bf16", "f16"]
BLOCKS = ["16x16", "32x32", "64x64", "128x128", "64x32", "32x64", "128x112"]
RARE_BLOCKS = ["256x64", "96x80", "64x48"]
TRANSPOSED_BLOCKS = [block + "t" for block in BLOCKS + RARE_BLOCKS + ["48x16"]]
LAYOUTS = ["kn_mn", "kn_nm", "nk_mn", "nk_nm"]
RESULTS = ["same", "f32"]
F8_DTYPES = ["f8E4M3FN", "f8E5M2"]
F8_BLOCKS = ["16x16", "32x32", "32x64", "64x64", "128x128", "64x80", "96x256"]
F8_LAYOUTS = ["nk_mn", "nk_nm"]
F8_RESULTS = ["bf16", "f16", "f32"]
SCALED_BLOCKS = ["32x32", "64x64", "128x128", "16x64", "96x256"]
SCALES = ["scales", "xscale", "bothscales"]  # of the blocks of W, of X, of both
FAST_BLOCKS = ["16x16", "32x32", "32x128", "64x64", "64x128", "128x128"]
FAST = "fast"  # in place of scales: sums of one level

def select(coverage):
    factors = [DTYPES, BLOCKS, LAYOUTS, RESULTS, list(EPILOGUES)]
    rare = covering(2, [DTYPES, RARE_BLOCKS, LAYOUTS, RESULTS, ["none", "everything"]])
    long = covering(2, [DTYPES, BLOCKS, LAYOUTS, RESULTS, list(LONG_EPILOGUES)])
    common = covering({"pairs": 2, "triples": 3, "full": len(factors)}[coverage], factors)
    transposed = covering(2, [DTYPES, TRANSPOSED_BLOCKS, LAYOUTS, RESULTS, ["none", "everything"]])
    f8 = covering(2, [F8_DTYPES, F8_BLOCKS, F8_LAYOUTS, F8_RESULTS, ["none", "everything"]])
    scaled = covering(2, [F8_DTYPES, SCALED_BLOCKS, F8_LAYOUTS, F8_RESULTS, ["none", "everything"], SCALES])
    fast = covering(2, [F8_DTYPES, FAST_BLOCKS, F8_LAYOUTS, F8_RESULTS, ["none", "everything"], [FAST]])
    return [Kernel(*values) for values in common + rare + long + transposed + f8 + scaled + fast]


def name_of(kernel):
    result = kernel.dtype if kernel.result == "same" else kernel.result
    scales = f"_{kernel.scales}" if kernel.scales else ""
    return f"spmm_{kernel.dtype}_{kernel.block}_{kernel.layouts}_{result}{scales}_{kernel.epilogue}"


def scales_of(kernel):
    """The clauses of the scales of w and of x, and their types; nothing for those that are not there."""
    of_blocks = [" scales(%s)", "tensor<?xf32>"] if kernel.scales in ("scales", "bothscales") else ["", ""]
    of_x = [" x_scale(%t)", "tensor<?x?xf32>"] if kernel.scales in ("xscale", "bothscales") else ["", ""]
    return of_blocks, of_x


def text_of(kernel):
    result = kernel.dtype if kernel.result == "same" else kernel.result
    x_layout, y_layout = kernel.layouts.split("_")
    block = kernel.block.replace("t", ", transposed")
    matrix = f"!sparsec.bsr<?x?x{kernel.dtype}, block = {block}>"
    dense = f"tensor<?x?x{kernel.dtype}>"
    # Extra operands are not of fp8.
    text = epilogue_text(kernel.epilogue, "bf16" if kernel.dtype in F8_DTYPES else kernel.dtype, result,
                         f"tensor<?x?x{result}>")
    (scales, scales_type), (x_scale, x_scale_type) = scales_of(kernel)
    accumulation = " accumulation(fast)" if kernel.scales == FAST else ""
    types = [each for each in [matrix, scales_type, dense, x_scale_type] if each] + text.types
    arguments = "".join(f", %{name}: {each}" for name, each in (("s", scales_type), ("x", dense), ("t", x_scale_type))
                        if each)
    return (f"sparsec.kernel @{name_of(kernel)}(%w: {matrix}{arguments}{text.arguments})\n"
            f"    -> (y: tensor<?x?x{result}>) {{\n"
            f"  %y = sparsec.spmm %w{scales}, %x{x_scale}{text.extras} x_layout({x_layout}) y_layout({y_layout})"
            f"{accumulation}{text.region}\n"
            f"    : ({', '.join(types)}) -> tensor<?x?x{result}>\n"
            f"  sparsec.return %y : tensor<?x?x{result}>\n"
            "}\n")


def file_of(kernel):
    return f"spmm_{kernel.dtype}_{kernel.block}.mlir"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, type=pathlib.Path, help="folder to write to")
    parser.add_argument("--coverage", default="pairs", choices=["pairs", "triples", "full"],
                        help="pairs: any two features meet in a kernel; triples: any three; full: the product "
                             "(attention: any three)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for operation in "spmm", "sddmm", "spgemm", "attention", "sequence", "merge":
        for old in options.out.glob(f"{operation}_*.mlir"):
            old.unlink()
    files = collections.defaultdict(list)
    for kernel in select(options.coverage):
        files[file_of(kernel)].append(text_of(kernel))
    for module in attention_kernels, sequence_kernels, merge_kernels, sddmm_kernels, spgemm_kernels:
        for kernel in module.select(options.coverage):
            files[module.file_of(kernel)].append(module.text_of(kernel))
    for name, kernels in files.items():
        (options.out / name).write_text("// Written by generate_kernels.py.\n" + "\n".join(kernels))
    print(f"{sum(map(len, files.values()))} kernels in {len(files)} files")


if __name__ == "__main__":
    main()
