// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule
// Hand-written schedules of spgemm that cannot work.

// A tile has all columns of a block of the result, here in 128.
// expected-error @+1 {{schedule expects tile_n to be between 128 and 128, but got 64}}
sparsec.kernel @warps(%a: !sparsec.bsr<?x?xbf16, block = 64x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x80>) -> (c: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 4, consumers_n = 1>} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x80>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// -----

// A step is a part of a pair.
// expected-error @+1 {{schedule expects tile_k to be between 1 and 32, but got 64}}
sparsec.kernel @depth(%a: !sparsec.bsr<?x?xbf16, block = 64x32>, %b: !sparsec.bsr<?x?xbf16, block = 32x64>) -> (c: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 4, consumers_n = 1>} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x32>, !sparsec.bsr<?x?xbf16, block = 32x64>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// -----

// A warpgroup has all columns of the tile.
// expected-error @+1 {{schedule expects consumers_n to be between 1 and 1, but got 2}}
sparsec.kernel @consumers(%a: !sparsec.bsr<?x?xbf16, block = 64x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x128>) -> (c: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 2>} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x128>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects blocks' rows to be a multiple of 128, but got 64}}
sparsec.kernel @tile_rows(%a: !sparsec.bsr<?x?xbf16, block = 64x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1>} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects tile_n to be between 64 and 64, but got 128}}
sparsec.kernel @tile_columns(%a: !sparsec.bsr<?x?xbf16, block = 64x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects cluster to be between 1 and 1, but got 2}}
sparsec.kernel @cluster(%a: !sparsec.bsr<?x?xbf16, block = 64x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, cluster = 2>} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects tile_m to be 64 * consumers_m = 64, but got 32}}
sparsec.kernel @few_rows(%a: !sparsec.bsr<?x?xbf16, block = 96x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 96x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}
