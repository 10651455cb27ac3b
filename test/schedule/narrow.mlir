// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,ADA
// Which kernels have variants for few columns of X, and how deep their rings are.

// CHECK-LABEL: sparsec.kernel @block64(
// HOPPER-SAME: narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 128, stages = 6, consumers_m = 1, consumers_n = 1, ctas_per_sm = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64, stages = 8, consumers_m = 1, consumers_n = 2, ctas_per_sm = 2>]
// ADA-SAME: narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 128, stages = 3, consumers_m = 1, consumers_n = 1, ctas_per_sm = 4>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 2, ctas_per_sm = 2>]
sparsec.kernel @block64(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A block of 16 rows has no room for a tile of 32: one warp has all columns. Ada has shared memory for two such CTAs.
// CHECK-LABEL: sparsec.kernel @block16(
// HOPPER-SAME: narrow_schedules = [{{.*}}tile_m = 16, tile_n = 64, tile_k = 64, stages = 5, consumers_m = 1, consumers_n = 1, ctas_per_sm = 4>]
// ADA-SAME: narrow_schedules = [{{.*}}tile_m = 16, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, ctas_per_sm = 2>]
sparsec.kernel @block16(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A stage of 128 columns would be no whole number of these blocks, nor one of 64.
// CHECK-LABEL: sparsec.kernel @block48(
// CHECK-SAME: narrow_schedules = [{{.*}}tile_n = 16, tile_k = 32,{{.*}}tile_n = 64, tile_k = 32,
sparsec.kernel @block48(%w: !sparsec.bsr<?x?xbf16, block = 48x48>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 48x48>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Sums of fp8 of two levels are over 128 of K at most; those of one level may be over a whole stage.
// CHECK-LABEL: sparsec.kernel @two_levels(
// CHECK-SAME: narrow_schedules = [{{.*}}tile_n = 16, tile_k = 128,{{.*}}tile_n = 64, tile_k = 128,
sparsec.kernel @two_levels(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
// CHECK-LABEL: sparsec.kernel @one_level(
// CHECK-SAME: narrow_schedules = [{{.*}}tile_n = 16, tile_k = 256,{{.*}}tile_n = 64, tile_k = 128,
sparsec.kernel @one_level(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A width that is known to be larger needs none.
// CHECK-LABEL: sparsec.kernel @width40(
// CHECK-SAME: narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64,
sparsec.kernel @width40(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x40xbf16>) -> (y: tensor<?x40xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x40xbf16>) -> tensor<?x40xbf16>
  sparsec.return %y : tensor<?x40xbf16>
}
// CHECK-LABEL: sparsec.kernel @width65(
// CHECK-NOT: narrow_schedules
sparsec.kernel @width65(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x65xbf16>) -> (y: tensor<?x65xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x65xbf16>) -> tensor<?x65xbf16>
  sparsec.return %y : tensor<?x65xbf16>
}

// ptxas has refused one of them: the kernel does without.
// CHECK-LABEL: sparsec.kernel @refused(
// CHECK-NOT: narrow_schedules
sparsec.kernel @refused(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {sparsec.refused_narrow_schedules = ["spills registers"]} {
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
