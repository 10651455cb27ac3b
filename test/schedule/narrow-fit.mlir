// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule --split-input-file --verify-diagnostics
// Narrow schedules that are written by hand have to fit the chip.

// expected-error @+1 {{narrow_schedules expects at most 101376 bytes of shared memory}}
sparsec.kernel @too_deep(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 8, consumers_m = 4, consumers_n = 1>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{narrow_schedules expects tile_k to be at most 128 for sums of f8E4M3FN of two levels, but got 256}}
sparsec.kernel @long_sums(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>)
    attributes {narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 256, stages = 3, consumers_m = 1, consumers_n = 1>]} {
  %0 = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
