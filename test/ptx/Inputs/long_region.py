# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""long_region.py REGION OP COUNT [HEAD DIMENSION]: prints a kernel whose region applies OP (of math) COUNT times."""

import sys

region, op, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
chain = "".join(f"    %v{i + 1} = math.{op} %v{i} : f32\n" for i in range(count))
if region == "epilogue":
    print("sparsec.kernel @k(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %r: tensor<?xf32>,\n"
          "    %c: tensor<?xf32>, %f: tensor<?x?xbf16>, %s: f32) -> (y: tensor<?x?xbf16>) {\n"
          "  %y = sparsec.spmm %w, %x, %r per_row, %c per_column, %f full, %s scalar\n"
          "      epilogue (%acc: f32, %a: f32, %b: f32, %n: bf16, %d: f32) {\n"
          "    %wide = arith.extf %n : bf16 to f32\n    %0 = math.fma %acc, %a, %b : f32\n"
          f"    %v0 = math.fma %0, %wide, %d : f32\n{chain}    sparsec.yield %v{count} : f32\n"
          "  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>, tensor<?xf32>,\n"
          "       tensor<?x?xbf16>, f32) -> tensor<?x?xbf16>\n  sparsec.return %y : tensor<?x?xbf16>\n}")
else:
    tensor = f"tensor<?x?x?x{sys.argv[4]}xbf16>"
    start = "%s" if region == "score" else "%distance"
    score = "%s: f32, " if region == "score" else ""
    result = f"sparsec.yield %v{count} : f32"
    if region == "mask":
        result = f"%near = arith.cmpf olt, %v{count}, %v0 : f32\n    sparsec.yield %near : i1"
    print(f"sparsec.kernel @k(%q: {tensor}, %k: {tensor}, %v: {tensor}, %p: !sparsec.pattern<128x64>)\n"
          f"    -> (o: {tensor}) {{\n"
          f"  %o = sparsec.attention %q, %k, %v pattern(%p) causal {region} "
          f"({score}%b: i32, %h: i32, %i: i32, %j: i32) {{\n"
          "    %difference = arith.subi %i, %j : i32\n    %distance = arith.sitofp %difference : i32 to f32\n"
          f"    %v0 = arith.addf {start}, %distance : f32\n{chain}    {result}\n"
          f"  }} : ({tensor}, {tensor}, {tensor}, !sparsec.pattern<128x64>) -> {tensor}\n"
          f"  sparsec.return %o : {tensor}\n}}")
