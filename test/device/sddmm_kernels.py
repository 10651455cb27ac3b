# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sddmm kernels that sparsec-device-tests runs. A kernel's name says what it is:
  sddmm_<dtype>_<block>_<A layout>_<B layout>_<result dtype>_<epilogue>
"""
import collections

from covering import covering
from epilogue_regions import epilogue_text

Kernel = collections.namedtuple("Kernel", "dtype block layouts result epilogue")

FACTORS = [
    ["bf16", "f16"],
    ["16x16", "32x32", "64x64", "128x128", "256x256", "64x32", "96x80"],
    ["mk_nk", "mk_kn", "km_nk", "km_kn"],
    ["same", "f32"],
    ["none", "residual", "everything", "long"],
]
# Schedules that the compiler does not choose, by the first word of an epilogue. The cluster has tiles of which only one
# CTA has a full share, whose store leaves chunks out.
SCHEDULES = {
    "cluster": ("128x128", "tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, "
                "cluster = 2, producer_registers = 40, consumer_registers = 232"),
    "narrow": ("64x64", "tile_m = 64, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1"),
}


def select(coverage):
    kernels = [Kernel(*values) for values in covering({"pairs": 2, "triples": 3, "full": 3}[coverage], FACTORS)]
    return kernels + [Kernel("bf16", block, layouts, "same", f"{name}_none")
                      for name, (block, _) in SCHEDULES.items() for layouts in FACTORS[2]]


def schedule_of(kernel):
    """The attributes of a kernel, and its epilogue without the name of a schedule."""
    name, _, epilogue = kernel.epilogue.partition("_")
    if name not in SCHEDULES:
        return "", kernel.epilogue
    fields = f"instruction = wgmma, copy = tma, {SCHEDULES[name][1]}"
    return f" attributes {{schedule = #sparsec.schedule<{fields}>}}", epilogue


def result_of(kernel):
    return kernel.dtype if kernel.result == "same" else kernel.result


def name_of(kernel):
    return f"sddmm_{kernel.dtype}_{kernel.block}_{kernel.layouts}_{result_of(kernel)}_{kernel.epilogue}"


def text_of(kernel):
    a_layout, b_layout = kernel.layouts.split("_")
    pattern = f"!sparsec.bsr<?x?x{kernel.dtype}, block = {kernel.block}>"
    dense, values = f"tensor<?x?x{kernel.dtype}>", f"tensor<?x{kernel.block}x{result_of(kernel)}>"
    attributes, epilogue = schedule_of(kernel)
    text = epilogue_text(epilogue, kernel.dtype, result_of(kernel), values)
    types = ", ".join([pattern, dense, dense] + text.types)
    return (f"sparsec.kernel @{name_of(kernel)}(%p: {pattern}, %a: {dense}, %b: {dense}{text.arguments})\n"
            f"    -> (s: {values}){attributes} {{\n"
            f"  %s = sparsec.sddmm %p, %a, %b{text.extras} a_layout({a_layout}) b_layout({b_layout}){text.region}\n"
            f"    : ({types}) -> {values}\n"
            f"  sparsec.return %s : {values}\n"
            "}\n")


def file_of(kernel):
    """Kernels with a schedule for wgmma are apart: chips without it refuse them."""
    kind = "sddmm_wgmma" if schedule_of(kernel)[0] else "sddmm"
    return f"{kind}_{kernel.dtype}_{kernel.block}.mlir"
