// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s
// What the compiler chooses for fp8 on sm_90a. A stage has the bytes that it has with 16-bit elements.

// CHECK-LABEL: sparsec.kernel @block128(
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 128, tile_k = 32,
// CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 128, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @block128(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @fast(
// CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 128, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @fast(%w: !sparsec.bsr<?x?xf8E5M2, block = 128x128>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E5M2, block = 128x128>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Smaller blocks have half of the depth in a stage. Windows of two block rows leave registers for sums of two levels.
// CHECK-LABEL: sparsec.kernel @block64(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = {{[0-9]+}}, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 32, consumer_registers = 232, walk = windows, block_stages = 16>]
// CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = {{[0-9]+}}, tile_n = {{[0-9]+}}, tile_k = 64,
sparsec.kernel @block64(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E5M2>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}

// Blocks that are too small for wgmma, or that it would cover with a rest, are multiplied by mma.sync. Two blocks of 16
// columns are one instruction deep.
// CHECK-LABEL: sparsec.kernel @block16(
// CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = {{[0-9]+}}, tile_k = 128,
sparsec.kernel @block16(%w: !sparsec.bsr<?x?xf8E5M2, block = 16x16>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E5M2, block = 16x16>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @rest(
// CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = {{[0-9]+}}, tile_k = {{32|64}},
sparsec.kernel @rest(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x80>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x80>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// With sums of one level they have three.
// CHECK-LABEL: sparsec.kernel @windows(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = {{[0-9]+}}, consumers_m = 3, consumers_n = 1, cluster = 2, producer_registers = 32, consumer_registers = 160, walk = windows, block_stages = 16>]
sparsec.kernel @windows(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
