// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,ADA
// Which kernels have variants for few columns of X, and how deep their rings are. With X as K x N mma.sync takes rows of up
// to 64 columns that begin anywhere.

// CHECK-LABEL: sparsec.kernel @block64(
// HOPPER-SAME: narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 8, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, ctas_per_sm = 4, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, ctas_per_sm = 4, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 32, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, ctas_per_sm = 2, slices = 4>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 232, slices = 2>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, ctas_per_sm = 2, slices = 4>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 8, consumers_m = 1, consumers_n = 2, producer_registers = 40, consumer_registers = 232>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 2, producer_registers = 40, consumer_registers = 232>]
// ADA-SAME: narrow_schedules = [{{.*}}tile_n = 8, {{.*}}>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, ctas_per_sm = 3, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 32, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, slices = 4>]
sparsec.kernel @block64(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// wgmma has short products with blocks of 32 columns: four slices divide those of a tile of 64 columns.
// CHECK-LABEL: sparsec.kernel @block64x32(
// HOPPER-SAME: #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 104, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, ctas_per_sm = 2, slices = 4>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 32, stages = 16, consumers_m = 1, consumers_n = 2, producer_registers = 40, consumer_registers = 232>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 32, stages = 8, consumers_m = 1, consumers_n = 2, producer_registers = 40, consumer_registers = 232>]
sparsec.kernel @block64x32(%w: !sparsec.bsr<?x?xbf16, block = 64x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// From 33 columns on wgmma multiplies blocks of 32 rows too, as its B operand. A stage of 64 columns of X has two of them.
// There are no tiles of 256 columns.
// CHECK-LABEL: sparsec.kernel @block32(
// HOPPER-SAME: narrow_schedules = [{{.*}}tile_n = 32, {{[^>]*}}>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, ctas_per_sm = 2, slices = 2>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64, {{[^>]*}}slices = 4>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 2, ctas_per_sm = 2, slices = 2>]
// ADA-SAME: narrow_schedules = [{{.*}}, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 128, tile_k = 32, stages = 2, consumers_m = 1, consumers_n = 1, slices = 4>]
sparsec.kernel @block32(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// With X as N x K, ptxas has registers for 32 rows of mma.sync. wgmma leaves calls to it where K ends in a block, but for
// tiles of 128 columns, which copy rows of blocks and not lines.
// CHECK-LABEL: sparsec.kernel @block32_transposed(
// HOPPER-SAME: #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, ctas_per_sm = 2, slices = 2>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64,
// HOPPER-SAME: #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 2, ctas_per_sm = 2, slices = 2>]
sparsec.kernel @block32_transposed(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A block of 16 rows has no room for a tile of 32: more CTAs have fewer rows.
// CHECK-LABEL: sparsec.kernel @block16(
// HOPPER-SAME: narrow_schedules = [{{.*}}tile_n = 8, {{.*}}>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, ctas_per_sm = 4, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, ctas_per_sm = 4, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, ctas_per_sm = 5, slices = 2>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 128, tile_k = 32, stages = 2, consumers_m = 1, consumers_n = 1, ctas_per_sm = 3, slices = 4>]
sparsec.kernel @block16(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// With X as N x K its rows have 32 bytes for each block, half of what L2 moves: fewer copies are in flight, and plans by
// streams share them from 65 columns on.
// CHECK-LABEL: sparsec.kernel @short_runs(
// HOPPER-SAME: narrow_schedules = [{{.*}}, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, ctas_per_sm = 4, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, ctas_per_sm = 2, slices = 4>]
sparsec.kernel @short_runs(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A stage of 64 columns would be no whole number of these blocks.
// CHECK-LABEL: sparsec.kernel @block48(
// CHECK-SAME: narrow_schedules = [{{.*}}tile_n = 16, tile_k = 32,{{.*}}tile_n = 64, tile_k = 32,
sparsec.kernel @block48(%w: !sparsec.bsr<?x?xbf16, block = 48x48>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 48x48>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Blocks of fp8 have as many columns in a step. On Hopper wgmma multiplies them from 9 columns on.
// CHECK-LABEL: sparsec.kernel @two_levels(
// HOPPER-SAME: narrow_schedules = [{{.*}}tile_n = 8, {{[^>]*}}>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 32, tile_k = 64, stages = 8, {{[^>]*}}slices = 2>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 8, {{[^>]*}}slices = 2>
// ADA-SAME: narrow_schedules = [{{.*}}tile_n = 16, tile_k = 64,{{.*}}tile_n = 32, tile_k = 64,{{.*}}tile_n = 64, tile_k = 64,
sparsec.kernel @two_levels(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// 32 of them are less than a piece of L2: tiles of 16 columns have 32 rows, which read X half as often. wgmma has twice as
// many stages as with bf16.
// CHECK-LABEL: sparsec.kernel @short_runs_of_f8(
// CHECK-SAME: narrow_schedules = [{{.*}}tile_m = 16, tile_n = 8, {{.*}}tile_m = 32, tile_n = 16, tile_k = 64,{{.*}}tile_m = 32, tile_n = 32, tile_k = 64,
// HOPPER-SAME: #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 8,
// CHECK-SAME: instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64,
sparsec.kernel @short_runs_of_f8(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A stage has one block where blocks have scales: mma.sync multiplies them.
// CHECK-LABEL: sparsec.kernel @short_runs_with_scales(
// CHECK-NOT: wgmma
sparsec.kernel @short_runs_with_scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, tensor<?xf32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Where their rows are whole lines of 128 bytes, steps of 8 and 16 columns of X take these, and wgmma those of more columns.
// CHECK-LABEL: sparsec.kernel @lines(
// HOPPER-SAME: narrow_schedules = [{{.*}}tile_n = 8, tile_k = 128, {{[^>]*}}>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 128, stages = 3, consumers_m = 1, consumers_n = 1, ctas_per_sm = 4, slices = 4>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 32, tile_k = 128, {{[^>]*}}slices = 2>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 128, {{[^>]*}}slices = 2>
// ADA-SAME: narrow_schedules = [{{.*}}tile_n = 16, tile_k = 128, {{.*}}tile_n = 32, tile_k = 64,
sparsec.kernel @lines(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// With scales of X wgmma is faster from 9 columns on.
// CHECK-LABEL: sparsec.kernel @x_scale(
// HOPPER-SAME: narrow_schedules = [{{.*}}tile_n = 8, tile_k = 128, {{[^>]*}}>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 32, tile_k = 128, {{[^>]*}}slices = 2>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 128, {{[^>]*}}slices = 2>
sparsec.kernel @x_scale(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A width that is known to be larger needs none.
// CHECK-LABEL: sparsec.kernel @width40(
// HOPPER-SAME: narrow_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64,
// ADA-SAME: narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64,
sparsec.kernel @width40(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x40xbf16>) -> (y: tensor<?x40xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x40xbf16>) -> tensor<?x40xbf16>
  sparsec.return %y : tensor<?x40xbf16>
}
// CHECK-LABEL: sparsec.kernel @width257(
// CHECK-NOT: narrow_schedules
sparsec.kernel @width257(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x257xbf16>) -> (y: tensor<?x257xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x257xbf16>) -> tensor<?x257xbf16>
  sparsec.return %y : tensor<?x257xbf16>
}

// ptxas has refused two of them: the kernel has the others.
// CHECK-LABEL: sparsec.kernel @refused(
// HOPPER-SAME: narrow_schedules = [{{.*}}tile_n = 8, {{.*}}>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, ctas_per_sm = 4, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 32, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, ctas_per_sm = 2, slices = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, ctas_per_sm = 2, slices = 4>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 2, producer_registers = 40, consumer_registers = 232>]
// CHECK-NOT: refused
sparsec.kernel @refused(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {sparsec.refused_narrow_schedules = ["wgmma tma 64x64x64 stages 4 consumers 1x1 registers 40/232 slices 2", "wgmma tma 64x128x64 stages 8 consumers 1x2 registers 40/232"]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @hand_written(
// CHECK-NOT: narrow_schedules
sparsec.kernel @hand_written(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 2>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// Narrow schedules that are written by hand stay.
// CHECK-LABEL: sparsec.kernel @narrow_by_hand(
// CHECK-SAME: narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32,
sparsec.kernel @narrow_by_hand(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 3, consumers_m = 4, consumers_n = 1>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
