// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule --verify-diagnostics
// Narrow schedules that are written by hand have to fit the chip.

// expected-error @+1 {{narrow_schedules expects at most 101376 bytes of shared memory}}
sparsec.kernel @too_deep(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {narrow_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 8, consumers_m = 4, consumers_n = 1>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
