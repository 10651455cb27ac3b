// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s

// Neighbours of a full operand and of a per-column one are loaded in pairs where the alignment is known, one by one in
// the fallback. Where the width may be odd, the last element of a row is loaded alone.

// CHECK-LABEL: .entry staged(
// CHECK-NOT: ld.global.b16
// CHECK: ld.global.v2.b32
// CHECK-NOT: ld.global.b16
// CHECK: @%p{{[0-9]+}} ld.global.b32
// CHECK-LABEL: .entry staged_unaligned(
// CHECK-NOT: ld.global.v2.b32
// CHECK: ld.global.b16
sparsec.kernel @staged(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %scale: tensor<?xf32>,
                       %residual: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %scale per_column, %residual full epilogue (%acc: f32, %s: f32, %r: bf16) {
    %wide = arith.extf %r : bf16 to f32
    %sum = math.fma %acc, %s, %wide : f32
    sparsec.yield %sum : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: .entry direct(
// CHECK: @%p{{[0-9]+}} ld.global.b16
// CHECK-SAME: @%p{{[0-9]+}} ld.global.b32
sparsec.kernel @direct(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>,
                       %residual: tensor<?x?xbf16>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x, %residual full epilogue (%acc: f32, %r: bf16) {
    %wide = arith.extf %r : bf16 to f32
    %sum = arith.addf %acc, %wide : f32
    sparsec.yield %sum : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}

// A width of an N x M result may be odd even where whole 16-byte units are stored.
// CHECK-LABEL: .entry transposed(
// CHECK: @%p{{[0-9]+}} ld.global.v2.b32
// CHECK-SAME: @%p{{[0-9]+}} ld.global.b32
sparsec.kernel @transposed(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %scale: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %scale per_column y_layout(nm) epilogue (%acc: f32, %s: f32) {
    %scaled = arith.mulf %acc, %s : f32
    sparsec.yield %scaled : f32
  } : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
