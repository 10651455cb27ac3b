# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The spgemm kernels that sparsec-device-tests runs. A kernel's name says what it is:
  spgemm_<dtype>_<r>x<s>x<t>_<mn, nm or values>_<result dtype>_<epilogue>
"""
import collections

from covering import covering
from epilogue_regions import epilogue_text

Kernel = collections.namedtuple("Kernel", "dtype blocks form result epilogue")

FACTORS = [
    ["bf16", "f16"],
    ["16x16x16", "64x64x64", "128x128x128", "64x32x64", "96x32x48", "192x112x80", "512x112x128", "64x80x256",
     "128x64x16", "48x48x144"],
    ["mn", "nm", "values"],
    ["same", "f32"],
    ["none", "residual", "everything", "long"],
]


def select(coverage):
    return [Kernel(*values) for values in covering({"pairs": 2, "triples": 3, "full": 3}[coverage], FACTORS)]


def result_of(kernel):
    return kernel.dtype if kernel.result == "same" else kernel.result


def name_of(kernel):
    return f"spgemm_{kernel.dtype}_{kernel.blocks}_{kernel.form}_{result_of(kernel)}_{kernel.epilogue}"


def text_of(kernel):
    r, s, t = kernel.blocks.split("x")
    left, right, pattern = (f"!sparsec.bsr<?x?x{kernel.dtype}, block = {block}>" for block in
                            (f"{r}x{s}", f"{s}x{t}", f"{r}x{t}"))
    is_sampled = kernel.form == "values"
    values = f"tensor<?x{r}x{t}x{result_of(kernel)}>" if is_sampled else f"tensor<?x?x{result_of(kernel)}>"
    text = epilogue_text(kernel.epilogue, kernel.dtype, result_of(kernel), values)
    arguments, operand, types = "", "", [left, right]
    if is_sampled:
        arguments, operand = f", %p: {pattern}", " pattern(%p)"
        types.append(pattern)
    layout = " c_layout(nm)" if kernel.form == "nm" else ""
    return (f"sparsec.kernel @{name_of(kernel)}(%a: {left}, %b: {right}{arguments}{text.arguments})\n"
            f"    -> (c: {values}) {{\n"
            f"  %c = sparsec.spgemm %a, %b{operand}{text.extras}{layout}{text.region}\n"
            f"    : ({', '.join(types + text.types)}) -> {values}\n"
            f"  sparsec.return %c : {values}\n"
            "}\n")


def file_of(kernel):
    return f"spgemm_{kernel.dtype}_{kernel.blocks}.mlir"
