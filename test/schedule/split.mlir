// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s
// Schedules beside hand-written ones, and hand-written ones that split K.

// A hand-written schedule gets none beside it, and hand-written ones stay.
// CHECK-LABEL: sparsec.kernel @by_hand(
// CHECK-NOT: split_schedules
sparsec.kernel @by_hand(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>, planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 16, consumers_n = 1, producer_registers = 32, consumer_registers = 112, walk = streams, block_stages = 2>]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @split_by_hand(
// CHECK-SAME: split_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 128, tile_n = 64, tile_k = 128, stages = 4, consumers_m = 8, consumers_n = 1, producer_registers = 32, consumer_registers = 168, walk = streams, block_stages = 2>]
sparsec.kernel @split_by_hand(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {split_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 128, tile_n = 64, tile_k = 128, stages = 4, consumers_m = 8, consumers_n = 1, producer_registers = 32, consumer_registers = 168, walk = streams, block_stages = 2>]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
