// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule | FileCheck %s
// Steps have one block each where there are scales.

// CHECK-LABEL: sparsec.kernel @scales(
// CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = {{[0-9]+}}, tile_k = 32,
sparsec.kernel @scales(%w: !sparsec.bsr<?x?xf8E5M2, block = 32x32>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E5M2, block = 32x32>, tensor<?xf32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects blocks of at least 32 columns for scales on a GPU, but got 16}}
sparsec.kernel @small(%w: !sparsec.bsr<?x?xf8E5M2, block = 32x16>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E5M2, block = 32x16>, tensor<?xf32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// A part of a block of 256 columns has one scale of X.
// CHECK-LABEL: sparsec.kernel @x_scale(
// CHECK-SAME: tile_k = {{32|64|128}},
sparsec.kernel @x_scale(%w: !sparsec.bsr<?x?xf8E5M2, block = 32x256>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E5M2, block = 32x256>, tensor<?x?xf8E5M2>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// CHECK-LABEL: sparsec.kernel @x_scale_32(
// CHECK-SAME: tile_k = 32,
sparsec.kernel @x_scale_32(%w: !sparsec.bsr<?x?xf8E5M2, block = 32x32>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E5M2, block = 32x32>, tensor<?x?xf8E5M2>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects blocks of at least 32 columns for scales on a GPU, but got 16}}
sparsec.kernel @small_x_scale(%w: !sparsec.bsr<?x?xf8E5M2, block = 32x16>, %x: tensor<?x?xf8E5M2>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E5M2, block = 32x16>, tensor<?x?xf8E5M2>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
