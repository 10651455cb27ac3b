// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s
// RUN: sed "/^.. CHECK-LABEL: sparsec.kernel @hand_written/,$ d" %s | sparsec-opt --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule | FileCheck %s --check-prefix=ADA --implicit-check-not=planned_schedules
// Which kernels have variants over windows of a plan.

// ADA: sparsec.kernel @block64(
// CHECK-LABEL: sparsec.kernel @block64(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, cluster = 2, producer_registers = 32, consumer_registers = 160, walk = windows, block_stages = 8>]
sparsec.kernel @block64(%w: !sparsec.bsr<?x?xf16, block = 64x64>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 64x64>, tensor<?x?xf16>) -> tensor<?x?xf16>
  sparsec.return %y : tensor<?x?xf16>
}

// f32 results are stored from registers, which leaves room for one slot more.
// CHECK-LABEL: sparsec.kernel @f32(
// CHECK-SAME: stages = 5,{{.*}} block_stages = 8>]
sparsec.kernel @f32(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}

// Products with blocks of 32 columns are short: twice as many slots of half as many bytes.
// CHECK-LABEL: sparsec.kernel @block64x32(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 32, stages = 8, consumers_m = 3, consumers_n = 1, cluster = 2, producer_registers = 32, consumer_registers = 160, walk = windows, block_stages = 16>]
sparsec.kernel @block64x32(%w: !sparsec.bsr<?x?xbf16, block = 64x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Other blocks, and kernels whose schedule is written by hand, have none.
// CHECK-LABEL: sparsec.kernel @block128(
// CHECK-NOT: planned_schedules
sparsec.kernel @block128(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
// CHECK-LABEL: sparsec.kernel @hand_written(
// CHECK-NOT: planned_schedules
sparsec.kernel @hand_written(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
