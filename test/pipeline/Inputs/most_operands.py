# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints kernels with as many extra operands as the verifier lets pass (spmm_c21, attention_c21), each of the kind that
takes the most parameters. The first argument is the family."""

import sys


def listed(parts):
    return ", ".join(parts)


def spmm(count):
    names = [f"%e{i}" for i in range(count)]
    sums = [f"    %s{i} = arith.addf %{f's{i - 1}' if i else 'acc'}, %v{i} : f32" for i in range(count)]
    return f"""
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>,
    {listed(f"{name}: tensor<?x?xf32>" for name in names)}) -> (y: tensor<?x?xbf16>) {{
  %y = sparsec.spmm %w, %x, {listed(f"{name} full" for name in names)}
      epilogue (%acc: f32, {listed(f"%v{i}: f32" for i in range(count))}) {{
{chr(10).join(sums)}
    sparsec.yield %s{count - 1} : f32
  }} : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, {listed(["tensor<?x?xf32>"] * count)})
      -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}}"""


def attention(count):
    heads, operand = "tensor<?x?x?x64xbf16>", "tensor<?x?x?x?xf32>"
    names = [f"%e{i}" for i in range(count)]
    loads = "\n".join(f"    %l{i} = sparsec.element %x{i}[%b, %h, %i, %j] : {operand}" for i in range(count))
    sums = "\n".join(f"    %s{i} = arith.addf %{f's{i - 1}' if i else 's'}, %l{i} : f32" for i in range(count))
    largest = "\n".join(f"    %m{i} = arith.maximumf %{f'm{i - 1}' if i else 'l0'}, %l{i} : f32" for i in range(count))
    places = "%b: i32, %h: i32, %i: i32, %j: i32"
    elements = listed(f"%x{i}: {operand}" for i in range(count))
    return f"""
sparsec.kernel @attend(%q: {heads}, %k: {heads}, %v: {heads}, %lists: !sparsec.pattern<64x64>, %scale: f32,
    {listed(f"{name}: {operand}" for name in names)}) -> (o: {heads}, lse: tensor<?x?x?xf32>) {{
  %o, %lse = sparsec.attention %q, %k, %v pattern(%lists) scale(%scale) extras({listed(names)})
      causal window = [100, -1] score (%s: f32, {places}, {elements}) {{
{loads}
{sums}
    sparsec.yield %s{count - 1} : f32
  }} mask ({places}, {elements}) {{
{loads}
{largest}
    %visible = arith.cmpf ord, %m{count - 1}, %l0 : f32
    sparsec.yield %visible : i1
  }} : ({heads}, {heads}, {heads}, !sparsec.pattern<64x64>, f32, {listed([operand] * count)})
      -> ({heads}, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : {heads}, tensor<?x?x?xf32>
}}"""


print(spmm(16) if sys.argv[1] == "spmm" else attention(8))
