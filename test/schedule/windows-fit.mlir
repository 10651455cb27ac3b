// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule
// Hand-written schedules over windows that cannot work.

// expected-error @+1 {{planned_schedules expects instruction = wgmma for walk = windows, but got mma_sync}}
sparsec.kernel @instruction(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects blocks of 64x64 for walk = windows, but got 128x64}}
sparsec.kernel @rows(%w: !sparsec.bsr<?x?xbf16, block = 128x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects blocks of 64x64 for walk = windows, but got 64x128}}
sparsec.kernel @columns(%w: !sparsec.bsr<?x?xbf16, block = 64x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects consumers_m to be between 1 and 7, but got 8}}
sparsec.kernel @groups(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 512, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 8, consumers_n = 1, walk = windows, block_stages = 16>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects consumers_n to be between 1 and 1, but got 2}}
sparsec.kernel @consumers_n(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 2, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects tile_n to be a multiple of 128, but got 192}}
sparsec.kernel @tile_n(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 192, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects block_stages to be between 6 and 32, but got 5}}
sparsec.kernel @block_stages(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 5>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// A group with sums of two levels holds a block while it waits for the next one.
// expected-error @+1 {{planned_schedules expects block_stages to be between 11 and 32, but got 10}}
sparsec.kernel @pairs(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 9, consumers_m = 2, consumers_n = 1, producer_registers = 32, consumer_registers = 232, walk = windows, block_stages = 10>]} {
  %0 = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// Such a group adds the products of two stages, and so of 128 of K at most.
// expected-error @+1 {{planned_schedules expects tile_k to be at most 64 for sums of f8E4M3FN of two levels, but got 128}}
sparsec.kernel @depth_of_pairs(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 128, stages = 4, consumers_m = 2, consumers_n = 1, producer_registers = 32, consumer_registers = 232, walk = windows, block_stages = 8>]} {
  %0 = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// Two producers take turns with blocks of fp8.
// expected-error @+1 {{planned_schedules expects block_stages to be a multiple of 2, but got 15}}
sparsec.kernel @turns(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 9, consumers_m = 3, consumers_n = 1, producer_registers = 32, consumer_registers = 160, walk = windows, block_stages = 15>]} {
  %0 = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{planned_schedules expects at most 232448 bytes of shared memory on sm_90a}}
sparsec.kernel @shared_memory(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 6, consumers_m = 3, consumers_n = 1, producer_registers = 32, consumer_registers = 160, walk = windows, block_stages = 9>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
