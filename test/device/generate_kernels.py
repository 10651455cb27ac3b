#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the .mlir files of the kernels that sparsec-device-tests runs.

A kernel's name says what it is, and the test program relies on it:
  spmm_<dtype>_<block>_<X layout>_<Y layout>_<result dtype>_<epilogue>
The epilogues are written a second time, in double, in epilogues.cpp. The attention kernels are in attention_kernels.py.
"""
import argparse
import collections
import pathlib

import attention_kernels
from covering import covering

Kernel = collections.namedtuple("Kernel", "dtype block layouts result epilogue")

DTYPES = ["bf16", "f16"]
BLOCKS = ["16x16", "32x32", "64x64", "128x128", "64x32", "128x112"]
RARE_BLOCKS = ["256x64", "96x80"]
LAYOUTS = ["kn_mn", "kn_nm", "nk_mn", "nk_nm"]
RESULTS = ["same", "f32"]
# Extra operands: (name, broadcast, dtype); "result" is the element type of the result.
EPILOGUES = {
    "none": [],
    "bias": [("bias", "per_row", "f32")],
    "gelu": [("scale", "per_column", "f32")],
    "residual": [("residual", "full", "result"), ("beta", "scalar", "f32")],
    "softcap": [],
    "everything": [("bias", "per_row", "input"), ("scale", "per_column", "f32"), ("alpha", "scalar", "tensor f32"),
                   ("residual", "full", "result"), ("beta", "scalar", "f32")],
}
# So long that they are in a loop over the values of a thread; the longest calls functions in it. (Number of sines.)
LONG_EPILOGUES = {"long": 2, "longest": 20}
# The regions in terms of %acc and, for an extra operand "name", %name_element in f32.
REGIONS = {
    "bias": ["%r = arith.addf %acc, %bias_element : f32"],
    "gelu": ["%v = arith.mulf %acc, %scale_element : f32",
             "%half = arith.constant 0.5 : f32",
             "%one = arith.constant 1.0 : f32",
             "%root = arith.constant 0.70710678118654752 : f32",
             "%u = arith.mulf %v, %root : f32",
             "%erf = math.erf %u : f32",
             "%sum = arith.addf %erf, %one : f32",
             "%h = arith.mulf %v, %half : f32",
             "%r = arith.mulf %h, %sum : f32"],
    "residual": ["%r = math.fma %beta_element, %residual_element, %acc : f32"],
    "softcap": ["%cap = arith.constant 20.0 : f32",
                "%inverse = arith.constant 0.05 : f32",
                "%v = arith.mulf %acc, %inverse : f32",
                "%t = math.tanh %v : f32",
                "%r = arith.mulf %t, %cap : f32"],
    "everything": ["%one = arith.constant 1.0 : f32",
                   "%scaled = arith.mulf %acc, %scale_element : f32",
                   "%v = math.fma %alpha_element, %scaled, %bias_element : f32",
                   "%negative = arith.negf %v : f32",
                   "%exp = math.exp %negative : f32",
                   "%sum = arith.addf %exp, %one : f32",
                   "%silu = arith.divf %v, %sum : f32",
                   "%product = arith.mulf %beta_element, %residual_element : f32",
                   "%r = arith.addf %silu, %product : f32"],
}
for _name, _sines in LONG_EPILOGUES.items():
    # v + sum over i of sin(v + i) / count, where v is everything.
    REGIONS[_name] = ([line.replace("%r =", "%sum0 =") for line in REGIONS["everything"]] +
                      [f"%weight = arith.constant {1 / _sines} : f32"])
    for _i in range(_sines):
        REGIONS[_name] += [f"%phase{_i} = arith.constant {float(_i)} : f32",
                           f"%angle{_i} = arith.addf %sum0, %phase{_i} : f32",
                           f"%sine{_i} = math.sin %angle{_i} : f32",
                           f"{'%r' if _i + 1 == _sines else f'%sum{_i + 1}'} = "
                           f"math.fma %sine{_i}, %weight, %sum{_i} : f32"]


def operands_of(epilogue):
    return EPILOGUES["everything" if epilogue in LONG_EPILOGUES else epilogue]


def select(coverage):
    factors = [DTYPES, BLOCKS, LAYOUTS, RESULTS, list(EPILOGUES)]
    rare = covering(2, [DTYPES, RARE_BLOCKS, LAYOUTS, RESULTS, ["none", "everything"]])
    long = covering(2, [DTYPES, BLOCKS, LAYOUTS, RESULTS, list(LONG_EPILOGUES)])
    common = covering({"pairs": 2, "triples": 3, "full": len(factors)}[coverage], factors)
    return [Kernel(*values) for values in common + rare + long]


def operand_type(dtype, broadcast, kernel, result):
    """The type of an extra operand, and that of its elements."""
    if dtype == "tensor f32":
        return "tensor<f32>", "f32"
    if broadcast == "scalar":
        return "f32", "f32"
    element = {"input": kernel.dtype, "result": result}.get(dtype, dtype)
    return f"tensor<{'?x?' if broadcast == 'full' else '?'}x{element}>", element


def name_of(kernel):
    result = kernel.dtype if kernel.result == "same" else kernel.result
    return f"spmm_{kernel.dtype}_{kernel.block}_{kernel.layouts}_{result}_{kernel.epilogue}"


def text_of(kernel):
    result = kernel.dtype if kernel.result == "same" else kernel.result
    x_layout, y_layout = kernel.layouts.split("_")
    matrix = f"!sparsec.bsr<?x?x{kernel.dtype}, block = {kernel.block}>"
    dense = f"tensor<?x?x{kernel.dtype}>"
    arguments, types, extras, region_arguments, body = [], [matrix, dense], "", ["%acc: f32"], []
    for name, broadcast, dtype in operands_of(kernel.epilogue):
        operand, element = operand_type(dtype, broadcast, kernel, result)
        arguments.append(f", %{name}: {operand}")
        types.append(operand)
        extras += f", %{name} {broadcast}"
        region_arguments.append(f"%{name}_{'element' if element == 'f32' else 'narrow'}: {element}")
        if element != "f32":
            body.append(f"%{name}_element = arith.extf %{name}_narrow : {element} to f32")
    body += REGIONS.get(kernel.epilogue, [])
    region = ""
    if body:
        lines = "\n".join(f"      {line}" for line in body)
        region = f" epilogue ({', '.join(region_arguments)}) {{\n{lines}\n      sparsec.yield %r : f32\n    }}"
    return (f"sparsec.kernel @{name_of(kernel)}(%w: {matrix}, %x: {dense}{''.join(arguments)})\n"
            f"    -> (y: tensor<?x?x{result}>) {{\n"
            f"  %y = sparsec.spmm %w, %x{extras} x_layout({x_layout}) y_layout({y_layout}){region}\n"
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
    for old in [*options.out.glob("spmm_*.mlir"), *options.out.glob("attention_*.mlir")]:
        old.unlink()
    files = collections.defaultdict(list)
    for kernel in select(options.coverage):
        files[file_of(kernel)].append(text_of(kernel))
    for kernel in attention_kernels.select(options.coverage):
        files[attention_kernels.file_of(kernel)].append(attention_kernels.text_of(kernel))
    for name, kernels in files.items():
        (options.out / name).write_text("// Written by generate_kernels.py.\n" + "\n".join(kernels))
    print(f"{sum(map(len, files.values()))} kernels in {len(files)} files")


if __name__ == "__main__":
    main()
