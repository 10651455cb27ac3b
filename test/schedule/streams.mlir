// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule | FileCheck %s --check-prefix=ADA --implicit-check-not=planned_schedules --implicit-check-not=split_schedules
// Which kernels have variants by streams of a plan. Those with mma.sync have one beside it that splits K.

// ADA: sparsec.kernel @block32(
// CHECK-LABEL: sparsec.kernel @block32(
// CHECK-NOT: split_schedules
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, producer_registers = 32, consumer_registers = 160, walk = streams, block_stages = 3>]
sparsec.kernel @block32(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf16>
  sparsec.return %y : tensor<?x?xf16>
}

// CHECK-LABEL: sparsec.kernel @block16(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 16, consumers_n = 1, producer_registers = 32, consumer_registers = 112, walk = streams, block_stages = 2>]
// CHECK-SAME: split_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256, tile_n = 64, tile_k = 128, stages = 8, consumers_m = 16, consumers_n = 1, producer_registers = 32, consumer_registers = 112, walk = streams, block_stages = 4>]
sparsec.kernel @block16(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Where X is N x K, two CTAs share its columns.
// CHECK-LABEL: sparsec.kernel @rows_of_k(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 16, consumers_n = 1, cluster = 2, producer_registers = 32, consumer_registers = 112, walk = streams, block_stages = 2>]
// CHECK-SAME: split_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256, tile_n = 64, tile_k = 128, stages = 8, consumers_m = 16, consumers_n = 1, cluster = 2, producer_registers = 32, consumer_registers = 112, walk = streams, block_stages = 4>]
sparsec.kernel @rows_of_k(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @rows_of_k_32(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, cluster = 2, producer_registers = 32, consumer_registers = 160, walk = streams, block_stages = 3>]
sparsec.kernel @rows_of_k_32(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Longer blocks have two columns in a stage. The rows of X that go with one are whole lines, which CTAs do not share.
// CHECK-LABEL: sparsec.kernel @block32x64(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128, stages = 3, consumers_m = 3, consumers_n = 1, producer_registers = 32, consumer_registers = 160, walk = streams, block_stages = 3>]
sparsec.kernel @block32x64(%w: !sparsec.bsr<?x?xbf16, block = 32x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 32x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// fp8 has twice the stages, and the adjacent columns of one are lines of X that CTAs do not share.
// CHECK-LABEL: sparsec.kernel @f8_block32(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128, stages = 10, consumers_m = 3, consumers_n = 1, producer_registers = 32, consumer_registers = 160, walk = streams, block_stages = 3>]
sparsec.kernel @f8_block32(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @f8_block32x128(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128,{{.*}} walk = streams, block_stages = 3>]
sparsec.kernel @f8_block32x128(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x128>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x128>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @f8_block16(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256, tile_n = 128, tile_k = 128, stages = 10, consumers_m = 16, consumers_n = 1, producer_registers = 32, consumer_registers = 112, walk = streams, block_stages = 2>]
sparsec.kernel @f8_block16(%w: !sparsec.bsr<?x?xf8E5M2, block = 16x16>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E5M2, block = 16x16>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A scale is applied where the products of block rows are promoted.
// CHECK-LABEL: sparsec.kernel @f8_scales(
// CHECK-NOT: planned_schedules
sparsec.kernel @f8_scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, tensor<?xf32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Blocks of another size have none.
// CHECK-LABEL: sparsec.kernel @block16x32(
// CHECK-NOT: planned_schedules
sparsec.kernel @block16x32(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Twelve warps have more registers, if ptxas spills those of sixteen.
// CHECK-LABEL: sparsec.kernel @refused(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 192, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 12, consumers_n = 1, producer_registers = 32, consumer_registers = 160, walk = streams, block_stages = 2>]
// CHECK-SAME: split_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 192, tile_n = 64,
sparsec.kernel @refused(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {sparsec.refused_planned_schedules = ["spills 8 bytes"]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// ptxas may refuse the variant that splits K alone.
// CHECK-LABEL: sparsec.kernel @refused_split(
// CHECK-SAME: planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256,
// CHECK-NOT: split_schedules
sparsec.kernel @refused_split(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {sparsec.refused_split_schedules = ["spills 8 bytes"]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
