// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule
// Blocks without a lowering, and hand-written schedules that cannot work.

// expected-error @+1 {{'sparsec.kernel' op expects, for sparsec.spgemm on a GPU, a chip with wgmma and tma, blocks of A with a multiple of 64 rows and at least 64 columns, but got sm_90a, 32 x 64 and 64 x 64: these have no lowering yet}}
sparsec.kernel @rows(%a: !sparsec.bsr<?x?xbf16, block = 32x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x?xbf16>) {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 32x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{but got sm_90a, 64 x 48 and 48 x 64: these have no lowering yet}}
sparsec.kernel @depth(%a: !sparsec.bsr<?x?xbf16, block = 64x48>, %b: !sparsec.bsr<?x?xbf16, block = 48x64>) -> (c: tensor<?x?xbf16>) {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x48>, !sparsec.bsr<?x?xbf16, block = 48x64>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects instruction = wgmma for spgemm, but got mma_sync}}
sparsec.kernel @instruction(%a: !sparsec.bsr<?x?xbf16, block = 64x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x64>) -> (c: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 4, consumers_n = 1>} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64>) -> tensor<?x?xbf16>
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
