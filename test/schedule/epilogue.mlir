// RUN: sparsec-opt %s --sparsec-attach-target --sparsec-select-schedule=expect-density=0.03 | FileCheck %s
// With few blocks in a row, an extra operand as large as the result makes the epilogue worth hiding: two CTAs on an SM.

// CHECK-LABEL: sparsec.kernel @plain(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, {{[^>]*}}consumer_registers = 232>
sparsec.kernel @plain(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @residual(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, {{[^>]*}}ctas_per_sm = 2>
sparsec.kernel @residual(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>, %residual: tensor<?x?xf32>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %residual full epilogue (%acc: f32, %r: f32) {
    %s = arith.addf %acc, %r : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A bias is small.
// CHECK-LABEL: sparsec.kernel @bias(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, {{[^>]*}}consumer_registers = 232>
sparsec.kernel @bias(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>, %bias: tensor<?xf32>)
    -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x, %bias per_row epilogue (%acc: f32, %b: f32) {
    %s = arith.addf %acc, %b : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>, tensor<?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
