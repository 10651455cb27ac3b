// RUN: sparsec-opt %s --sparsec-attach-target --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: sparsec-opt %s --sparsec-attach-target --sparsec-select-schedule=expect-density=1 | FileCheck %s --check-prefixes=CHECK,DENSE
// RUN: sparsec-opt %s --sparsec-attach-target --sparsec-select-schedule=expect-density=0.01 | FileCheck %s --check-prefixes=CHECK,THIN
// RUN: sparsec-opt %s --sparsec-attach-target --sparsec-select-schedule=expect-n=64 | FileCheck %s --check-prefixes=CHECK,NARROW
// Hints change the choice.

// Multicast pays below density 1; with one or two blocks in a row, two CTAs on an SM hide each other's epilogue; few
// columns of X want narrow tiles.
// CHECK-LABEL: sparsec.kernel @dynamic(
// PLAIN-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, {{.*}}cluster = 2,
// DENSE-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, producer_registers
// THIN-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, {{.*}}ctas_per_sm = 2
// NARROW-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64,
sparsec.kernel @dynamic(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Static sizes of the types are such a hint without asking.
// CHECK-LABEL: sparsec.kernel @static(
// PLAIN-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64,
sparsec.kernel @static(%w: !sparsec.bsr<8192x8192xbf16, block = 128x128>, %x: tensor<8192x64xbf16>) -> (y: tensor<8192x64xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<8192x8192xbf16, block = 128x128>, tensor<8192x64xbf16>) -> tensor<8192x64xbf16>
  sparsec.return %y : tensor<8192x64xbf16>
}

// ... of X as N x K too.
// CHECK-LABEL: sparsec.kernel @static_transposed(
// PLAIN-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64,
sparsec.kernel @static_transposed(%w: !sparsec.bsr<8192x8192xbf16, block = 128x128>, %x: tensor<64x8192xbf16>) -> (y: tensor<8192x64xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<8192x8192xbf16, block = 128x128>, tensor<64x8192xbf16>) -> tensor<8192x64xbf16>
  sparsec.return %y : tensor<8192x64xbf16>
}
