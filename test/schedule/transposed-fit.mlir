// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule
// Rows of a slot of a transposed matrix have tile_m elements, which are swizzled as those of X are.

// expected-error @+1 {{schedule expects tile_m to be a power of two, but got 48}}
sparsec.kernel @tile(%w: !sparsec.bsr<?x?xbf16, block = 48x16, transposed>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 48, tile_n = 128, tile_k = 16, stages = 3, consumers_m = 3, consumers_n = 1>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 48x16, transposed>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// expected-error @+1 {{schedule expects tile_m / consumers_m to be a power of two, but got 96}}
sparsec.kernel @consumer(%w: !sparsec.bsr<?x?xbf16, block = 192x16, transposed>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 192, tile_n = 64, tile_k = 16, stages = 3, consumers_m = 2, consumers_n = 1>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 192x16, transposed>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

// -----

// The same tile is one of a matrix that is not transposed.
sparsec.kernel @plain(%w: !sparsec.bsr<?x?xbf16, block = 48x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 48, tile_n = 128, tile_k = 16, stages = 3, consumers_m = 3, consumers_n = 1>} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 48x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
