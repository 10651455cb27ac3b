// RUN: sparsec-opt %s --split-input-file --sparsec-lower-to-tiles --verify-diagnostics | FileCheck %s

// A tile loop around a block loop of load and chain, in values form. 112 columns in chunks of 64: the second counts 48.
// CHECK-LABEL: sparsec.kernel @chunks
// CHECK: gpu.module @kernels
// CHECK: sparsec.program @chunks attributes {alignment = 16 : i64, kernel = @chunks
// CHECK-SAME: variant = 0
// CHECK: sparsec.tile_loop
// CHECK: %[[ZERO:.*]] = sparsec.zero : !sparsec.accumulator<128, 256>
// CHECK: %[[SUM:.*]] = sparsec.block_loop %[[W:.*]] at %[[TILE:.*]] init(%[[ZERO]] :
// CHECK-SAME: {blocks_per_step = 1 : i64, chunks = 2 : i64}
// CHECK: %[[A:.*]] = sparsec.load a %[[W]]
// CHECK-SAME: -> <128, 64, bf16>
// CHECK: %[[X:.*]] = sparsec.load x
// CHECK-SAME: -> <64, 256, bf16>
// CHECK: sparsec.chain %[[A]], %[[X]], %{{.*}} {depth = array<i64: 64, 48>}
// CHECK: sparsec.store %[[SUM]] to
// CHECK-SAME: block_rows = 128 : i64
// CHECK-SAME: staged
sparsec.kernel @chunks(%w: !sparsec.bsr<?x?xbf16, block = 128x112>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x112>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// Two blocks of 16 columns in one stage of 32; transposed operands; f32 results leave from registers; the epilogue and
// its operand move into the store; the fallback becomes a second program, for pointers of any alignment.
// CHECK-LABEL: sparsec.kernel @groups
// CHECK: sparsec.program @groups attributes {alignment = 16 : i64
// CHECK: {blocks_per_step = 2 : i64, chunks = 1 : i64}
// CHECK: sparsec.load x
// CHECK-SAME: -> <64, 32, f16>
// CHECK: x_transposed
// CHECK: sparsec.store
// CHECK-SAME: with(%{{.*}} : tensor<?xf32>) attributes {block_rows = 16 : i64
// CHECK-NOT: staged
// CHECK-SAME: transposed
// CHECK: arith.addf
// CHECK: sparsec.program @groups_unaligned attributes {alignment = 2 : i64
// CHECK-SAME: variant = 1
sparsec.kernel @groups(%w: !sparsec.bsr<?x?xf16, block = 16x16>, %x: tensor<?x?xf16>, %bias: tensor<?xf32>) -> (y: tensor<?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 2>, fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 16, tile_n = 64, tile_k = 16, stages = 2, consumers_m = 1, consumers_n = 2>} {
  %y = sparsec.spmm %w, %x, %bias per_row x_layout(nk) y_layout(nm) epilogue (%acc: f32, %b: f32) {
    %s = arith.addf %acc, %b : f32
    sparsec.yield %s : f32
  } : (!sparsec.bsr<?x?xf16, block = 16x16>, tensor<?x?xf16>, tensor<?xf32>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}

// -----

// A narrow schedule becomes the first program, for calls with one panel. X has rows of N elements here, so that there is
// a second one for rows of any alignment; the blocks of W are aligned all the same.
// CHECK-LABEL: sparsec.kernel @few_columns
// CHECK: sparsec.program @few_columns_narrow16 attributes {alignment = 16 : i64
// CHECK-SAME: most_panels = 1 : i64
// CHECK-NOT: most_tiles_per_sm
// CHECK-SAME: variant = 0
// CHECK: sparsec.program @few_columns_narrow16_unaligned attributes {alignment = 2 : i64
// CHECK-SAME: most_panels = 1 : i64
// CHECK-SAME: variant = 1
// CHECK: sparsec.program @few_columns attributes {
// CHECK-NOT: most_panels
// CHECK-SAME: variant = 2
sparsec.kernel @few_columns(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 2>, narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// Each of at most 64 columns has one. Slices of 17 columns and more leave it rows that are no whole pieces of L2, or sectors.
// CHECK-LABEL: sparsec.kernel @eight_columns
// CHECK: sparsec.program @eight_columns_narrow8 attributes {alignment = 16 : i64
// CHECK: sparsec.program @eight_columns_narrow8_unaligned attributes {alignment = 2 : i64
// CHECK: sparsec.program @eight_columns_narrow16 attributes {alignment = 16 : i64
// CHECK: sparsec.program @eight_columns_narrow16_unaligned attributes {alignment = 2 : i64
// CHECK: sparsec.program @eight_columns_narrow32 attributes {alignment = 64 : i64
// CHECK: sparsec.program @eight_columns_narrow32_unaligned attributes {alignment = 2 : i64
// CHECK: sparsec.program @eight_columns_narrow64 attributes {alignment = 32 : i64
// CHECK: sparsec.program @eight_columns_narrow64_unaligned attributes {alignment = 2 : i64
// CHECK: sparsec.program @eight_columns_narrow128 attributes {alignment = 16 : i64
// CHECK-NOT: unaligned
// CHECK: sparsec.program @eight_columns attributes {
sparsec.kernel @eight_columns(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 2>, narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 8, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 32, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 2>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 128, tile_k = 32, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// One by wgmma is also for calls of more panels whose tiles all run at once. The one behind it has as many columns, for rows
// that begin anywhere.
// CHECK-LABEL: sparsec.kernel @few_tiles
// CHECK: sparsec.program @few_tiles_narrow64 attributes {alignment = 16 : i64
// CHECK-SAME: most_panels = 1 : i64, most_tiles_per_sm = 1 : i64
// CHECK: sparsec.program @few_tiles_narrow64_unaligned attributes {alignment = 2 : i64
// CHECK-NOT: most_tiles_per_sm
// CHECK-SAME: variant = 1
// CHECK: sparsec.program @few_tiles attributes {
// CHECK-SAME: variant = 2
sparsec.kernel @few_tiles(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 2>, narrow_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 232>, #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// Wide tiles, two of which share a multiprocessor, may be twice as many as run at once.
// CHECK-LABEL: sparsec.kernel @wide_tiles
// CHECK: sparsec.program @wide_tiles_narrow64 attributes {
// CHECK-SAME: most_tiles_per_sm = 2 : i64
// CHECK: sparsec.program @wide_tiles_narrow128 attributes {
// CHECK-SAME: most_tiles_per_sm = 4 : i64
sparsec.kernel @wide_tiles(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 2>, narrow_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 1, ctas_per_sm = 2, slices = 2>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 2, ctas_per_sm = 2, slices = 2>]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// CHECK-LABEL: sparsec.kernel @lone_wide_tiles
// CHECK: sparsec.program @lone_wide_tiles_narrow128 attributes {
// CHECK-SAME: most_tiles_per_sm = 1 : i64
sparsec.kernel @lone_wide_tiles(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 2>, narrow_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 2, slices = 2>]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{expects a schedule; run sparsec-select-schedule first}}
sparsec.kernel @unscheduled(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// No kernel but spmm can have one.
// expected-error @+1 {{expects a schedule; run sparsec-select-schedule first}}
sparsec.kernel @attention(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// -----

// Kernels may have the names that the pass would give: that of the module, and of another kernel's second variant.
// CHECK-LABEL: sparsec.kernel @kernels
// CHECK: sparsec.kernel @kernels_unaligned
// CHECK: gpu.module @kernels_0
// CHECK: sparsec.program @kernels attributes {{.*}}kernel = @kernels,{{.*}}variant = 0
// CHECK: sparsec.program @kernels_unaligned attributes {{.*}}kernel = @kernels,{{.*}}variant = 1
// CHECK: sparsec.program @kernels_unaligned_0 attributes {{.*}}kernel = @kernels_unaligned,{{.*}}variant = 0
#fast = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 2>
#scalar = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 2, consumers_n = 2>
sparsec.kernel @kernels(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #fast, fallback_schedule = #scalar} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
sparsec.kernel @kernels_unaligned(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #fast} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// Both fp8 types side by side; by default sums have two levels.
// CHECK-LABEL: sparsec.program @f8
// CHECK: sparsec.load a
// CHECK-SAME: -> <128, 128, f8E4M3FN>
// CHECK: sparsec.load x
// CHECK-SAME: -> <256, 128, f8E5M2>
// CHECK: sparsec.chain
// CHECK-SAME: {depth = array<i64: 128>, two_level, x_transposed}
sparsec.kernel @f8(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 128, stages = 4, consumers_m = 2, consumers_n = 1>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// -----

// CHECK-LABEL: sparsec.program @f8_fast
// CHECK: sparsec.chain
// CHECK-SAME: {depth = array<i64: 128>, x_transposed}
sparsec.kernel @f8_fast(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 128, stages = 4, consumers_m = 2, consumers_n = 1>} {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
