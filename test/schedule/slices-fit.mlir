// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule
// Hand-written schedules with slices that cannot work.

// expected-error @+1 {{schedule expects consumers_m to be between 1 and 1, but got 2}}
sparsec.kernel @several_warps(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 32, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1, slices = 4>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects consumers_n to be between 1 and 1, but got 2}}
sparsec.kernel @several_warps_of_columns(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 32, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 2, slices = 4>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// CTAs of a cluster share the blocks of a tile row, and windows have steps of several block rows.
// expected-error @+1 {{schedule expects slices to be 1, but for spmm by block rows without clusters}}
sparsec.kernel @cluster(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, cluster = 2, slices = 2>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// The producers of all slices share a warpgroup. Each has a warp for scales of X too.
// expected-error @+1 {{schedule expects slices to be between 1 and 2, but got 3}}
sparsec.kernel @x_scale(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1, slices = 3>} {
  %0 = sparsec.spmm %w, %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects slices to be between 1 and 4, but got 5}}
sparsec.kernel @producers(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, slices = 5>} {
  %0 = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// Tiles of fewer rows than wgmma has X as its A operand. With scales of X their slices have no lowering.
// expected-error @+1 {{schedule expects slices to be between 1 and 1, but got 2}}
sparsec.kernel @few_rows_with_x_scale(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %0 = sparsec.spmm %w, %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x128>, tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// A tile has rows of one block.
// expected-error @+1 {{schedule expects blocks' rows to be a multiple of 32, but got 48}}
sparsec.kernel @few_rows_of_two_blocks(%w: !sparsec.bsr<?x?xbf16, block = 48x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 48x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// Blocks of a transposed matrix that are neighbours in a block row are not so in memory.
// expected-error @+1 {{schedule expects tile_k to be 32 for wgmma, but got 64}}
sparsec.kernel @transposed_blocks_together(%w: !sparsec.bsr<?x?xbf16, block = 32x32, transposed>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32, transposed>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// CTAs of a cluster share a block, but not several.
// expected-error @+1 {{schedule expects tile_k to be 32 for wgmma, but got 64}}
sparsec.kernel @blocks_of_a_cluster(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, cluster = 2>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// Products of blocks with a scale each are scaled one by one.
// expected-error @+1 {{schedule expects tile_k to be at most 32, the columns of a block with a scale, but got 64}}
sparsec.kernel @scaled_blocks_together(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %0 = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, tensor<?xf32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// Both slices have a ring of 7 stages of 64 x 64 elements of W and of X, and sums of 64 x 64 in f32.
// expected-error @+1 {{schedule expects at most 232448 bytes of shared memory on sm_90a, but the schedule needs 264192 (31744 too many)}}
sparsec.kernel @rings(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 7, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects at most 8192 bytes of sums in the ring of a slice, but the schedule needs 16384 (8192 too many)}}
sparsec.kernel @sums(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 16, stages = 2, consumers_m = 1, consumers_n = 1, slices = 4>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects at most 232448 bytes of shared memory}}
sparsec.kernel @rings(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 8, consumers_m = 1, consumers_n = 1, slices = 8>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// Neither the steps of sddmm nor those of attention have slices, and a product of two block-sparse matrices has none.
// expected-error @+1 {{schedule expects slices to be between 1 and 1, but got 2}}
sparsec.kernel @sddmm(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %s : tensor<?x64x64xbf16>
}

// -----

// expected-error @+1 {{schedule expects slices to be 1, but for spmm by block rows without clusters}}
sparsec.kernel @spgemm(%a: !sparsec.bsr<?x?xbf16, block = 64x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects slices to be 1 for attention, but got 2}}
sparsec.kernel @attention(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1, slices = 2>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
