// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule
// Hand-written schedules by streams that cannot work.

// expected-error @+1 {{planned_schedules expects copy = tma for walk = streams, but got cp_async}}
sparsec.kernel @copy(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 288, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects blocks of 32x32 to 32x64 for walk = streams with wgmma, but got 64x32}}
sparsec.kernel @rows(%w: !sparsec.bsr<?x?xbf16, block = 64x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects blocks of 32x32 to 32x64 for walk = streams with wgmma, but got 32x16}}
sparsec.kernel @columns(%w: !sparsec.bsr<?x?xbf16, block = 32x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects consumers_n to be between 1 and 1, but got 2}}
sparsec.kernel @consumers(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 2, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects tile_k to be a multiple of 32, but got 16}}
sparsec.kernel @depth(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 16, stages = 4, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects tile_m / consumers_m to be a multiple of 32, but got 48}}
sparsec.kernel @consumer_rows(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 144, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects tile_n to be a multiple of 64, but got 96}}
sparsec.kernel @width(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 96, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects tile_n to be between 64 and 256, but got 320}}
sparsec.kernel @most_columns(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 96, tile_n = 320, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects products of a column to be between 1 and 4, but got 6}}
sparsec.kernel @products_of_column(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 576, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects products of a stage to be between 1 and 32, but got 36}}
sparsec.kernel @products_of_stage(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 384, stages = 4, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// With mma.sync every warp copies its own blocks.
// expected-error @+1 {{planned_schedules expects blocks of 16x16 for walk = streams with mma_sync, but got 32x32}}
sparsec.kernel @warp_blocks(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 192, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 12, consumers_n = 1, producer_registers = 40, consumer_registers = 152, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects consumers_m to be a multiple of 4, but got 6}}
sparsec.kernel @warpgroups(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 96, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 6, consumers_n = 1, producer_registers = 40, consumer_registers = 152, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects cluster to be between 1 and 2, but got 4}}
sparsec.kernel @warp_cluster(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 192, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 12, consumers_n = 1, cluster = 4, producer_registers = 40, consumer_registers = 152, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects products of a column to be between 1 and 1, but got 2}}
sparsec.kernel @products_of_warp(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 8, consumers_n = 1, producer_registers = 40, consumer_registers = 152, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// Four producers take turns with the stages.
// expected-error @+1 {{planned_schedules expects stages to be between 4 and 32, but got 3}}
sparsec.kernel @turns(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 192, tile_n = 128, tile_k = 128, stages = 3, consumers_m = 12, consumers_n = 1, producer_registers = 40, consumer_registers = 152, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// A warp copies X, and one for each group its blocks.
// expected-error @+1 {{planned_schedules expects consumers_m to be between 1 and 3, but got 4}}
sparsec.kernel @groups(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 256, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 4, consumers_n = 1, producer_registers = 32, consumer_registers = 112, walk = streams, block_stages = 2>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{split_schedules expects consumers_n to be between 1 and 1, but got 2}}
sparsec.kernel @split(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {split_schedules = [#sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 256, tile_n = 64, tile_k = 128, stages = 4, consumers_m = 8, consumers_n = 2, walk = streams, block_stages = 4>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
