// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s
// What the compiler chooses on sm_90a for a density of 0.25 and a large N.

// Two warpgroups of 64 rows; A is shared by two CTAs.
// CHECK-LABEL: sparsec.kernel @block128(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @block128(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// The same for f16 ...
// CHECK-LABEL: sparsec.kernel @block128_f16(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @block128_f16(%w: !sparsec.bsr<?x?xf16, block = 128x128>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 128x128>, tensor<?x?xf16>) -> tensor<?x?xf16>
  sparsec.return %y : tensor<?x?xf16>
}

// ... and for X as N x K.
// CHECK-LABEL: sparsec.kernel @block128_transposed_x(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @block128_transposed_x(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Narrower blocks fill a stage too.
// CHECK-LABEL: sparsec.kernel @block128x64(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @block128x64(%w: !sparsec.bsr<?x?xbf16, block = 128x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Rows that the block does not have are masked.
// CHECK-LABEL: sparsec.kernel @block112x128(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @block112x128(%w: !sparsec.bsr<?x?xbf16, block = 112x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 112x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A block of 256 rows is two tiles.
// CHECK-LABEL: sparsec.kernel @block256(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @block256(%w: !sparsec.bsr<?x?xbf16, block = 256x256>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 256x256>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Blocks of 64 rows: a wide tile, because L2 is the limit.
// CHECK-LABEL: sparsec.kernel @block64(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 512, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 2, producer_registers = 40, consumer_registers = 232, group_m = 64>
sparsec.kernel @block64(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Rows of slots may have 64 bytes: blocks of 32 columns fill them, and those of 48 do in two steps.
// CHECK-LABEL: sparsec.kernel @block64x32(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 512, tile_k = 32, stages = 5, consumers_m = 1, consumers_n = 2, producer_registers = 40, consumer_registers = 232, group_m = 64>
sparsec.kernel @block64x32(%w: !sparsec.bsr<?x?xbf16, block = 64x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
// CHECK-LABEL: sparsec.kernel @block64x48(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 512, tile_k = 32,
sparsec.kernel @block64x48(%w: !sparsec.bsr<?x?xbf16, block = 64x48>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x48>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Blocks that wgmma cannot use: mma.sync.
// CHECK-LABEL: sparsec.kernel @block64x16(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64,
sparsec.kernel @block64x16(%w: !sparsec.bsr<?x?xbf16, block = 64x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A tile is as high as the block.
// CHECK-LABEL: sparsec.kernel @block32(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 512, tile_k = 32,
sparsec.kernel @block32(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// One block in a stage: the CTAs stay in step.
// CHECK-LABEL: sparsec.kernel @block16(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 512, tile_k = 16, stages = 4,
sparsec.kernel @block16(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
