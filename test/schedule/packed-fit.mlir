// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule -verify-diagnostics
// A schedule for packed values has to fit the packed blocks, not the stored ones.

// expected-error @+1 {{packed_schedules expects}}
sparsec.kernel @deep(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {packed_block = array<i64: 64, 64>, packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 9, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 32>]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
