// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule | FileCheck %s
// What the compiler chooses on sm_89 for a density of 0.25 and a large N.

// Eight warps of 64 x 32 results; two CTAs in 128 registers a thread.
// CHECK-LABEL: sparsec.kernel @block128(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 128, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 4, consumer_registers = 128, ctas_per_sm = 2>
sparsec.kernel @block128(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// The same warps side by side.
// CHECK-LABEL: sparsec.kernel @block64(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 256, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 8, consumer_registers = 168, group_m = 64>
sparsec.kernel @block64(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A tile of 112 rows; stages of 32, 32 and 16 columns.
// CHECK-LABEL: sparsec.kernel @block112x80(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 112, tile_n = 128, tile_k = 32,
sparsec.kernel @block112x80(%w: !sparsec.bsr<?x?xbf16, block = 112x80>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 112x80>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// As high as the block.
// CHECK-LABEL: sparsec.kernel @block32(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32,
sparsec.kernel @block32(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// As high as the block.
// CHECK-LABEL: sparsec.kernel @block16(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 512, tile_k = 32, stages = 3,
sparsec.kernel @block16(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
