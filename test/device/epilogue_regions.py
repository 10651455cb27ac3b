# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The epilogues of the kernels of generate_kernels.py, sddmm_kernels.py and spgemm_kernels.py, as regions.

epilogues.cpp has them in double.
"""
import collections

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


EpilogueText = collections.namedtuple("EpilogueText", "arguments types extras region")


def operand_type(dtype, broadcast, kernel_dtype, result, full):
    """The type of an extra operand, and that of its elements."""
    if dtype == "tensor f32":
        return "tensor<f32>", "f32"
    if broadcast == "scalar":
        return "f32", "f32"
    element = {"input": kernel_dtype, "result": result}.get(dtype, dtype)
    return full if broadcast == "full" else f"tensor<?x{element}>", element


def epilogue_text(epilogue, kernel_dtype, result, full):
    """The parts of a kernel that its epilogue brings. `full` is the type of a full operand: that of the result."""
    arguments, types, extras, region_arguments, body = [], [], "", ["%acc: f32"], []
    for name, broadcast, dtype in operands_of(epilogue):
        operand, element = operand_type(dtype, broadcast, kernel_dtype, result, full)
        arguments.append(f", %{name}: {operand}")
        types.append(operand)
        extras += f", %{name} {broadcast}"
        region_arguments.append(f"%{name}_{'element' if element == 'f32' else 'narrow'}: {element}")
        if element != "f32":
            body.append(f"%{name}_element = arith.extf %{name}_narrow : {element} to f32")
    body += REGIONS.get(epilogue, [])
    region = ""
    if body:
        lines = "\n".join(f"      {line}" for line in body)
        region = f" epilogue ({', '.join(region_arguments)}) {{\n{lines}\n      sparsec.yield %r : f32\n    }}"
    return EpilogueText("".join(arguments), types, extras, region)
