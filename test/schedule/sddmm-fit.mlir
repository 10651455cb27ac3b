// RUN: sparsec-opt %s --split-input-file --verify-diagnostics --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule
// Hand-written schedules of sddmm that cannot work.

// A tile has whole blocks, also where a warp has a part of one.
// expected-error @+1 {{schedule expects tile_n to be a multiple of 128, but got 64}}
sparsec.kernel @warps(%p: !sparsec.bsr<?x?xbf16, block = 64x128>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 4, consumers_n = 1>} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x128>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x128xbf16>
  sparsec.return %s : tensor<?x64x128xbf16>
}

// -----

// Blocks of 96 columns begin at multiples of 128.
// expected-error @+1 {{fallback_schedule expects tile_n to be a multiple of 128, but got 64}}
sparsec.kernel @fallback(%p: !sparsec.bsr<?x?xbf16, block = 64x96>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x96xbf16>)
    attributes {fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 64, tile_k = 32, stages = 2, consumers_m = 2, consumers_n = 2>} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x96>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x96xbf16>
  sparsec.return %s : tensor<?x64x96xbf16>
}

// -----

// Rows of A that are contiguous along M are mixed by xor.
// expected-error @+1 {{schedule expects tile_m to be a power of two, but got 48}}
sparsec.kernel @units(%p: !sparsec.bsr<?x?xbf16, block = 48x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x48x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 48, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 3, consumers_n = 1>} {
  %s = sparsec.sddmm %p, %a, %b a_layout(km) : (!sparsec.bsr<?x?xbf16, block = 48x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x48x64xbf16>
  sparsec.return %s : tensor<?x48x64xbf16>
}

// -----

// A group computes whole blocks.
// expected-error @+1 {{schedule expects tile_n / consumers_n to be a multiple of 128, but got 64}}
sparsec.kernel @columns(%p: !sparsec.bsr<?x?xbf16, block = 64x128>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x128>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x128xbf16>
  sparsec.return %s : tensor<?x64x128xbf16>
}

// -----

// Blocks that do not fill 64 columns of B begin at multiples of 64 where N is contiguous.
// expected-error @+1 {{schedule expects tile_n / consumers_n to be a multiple of 64, but got 32}}
sparsec.kernel @stride(%p: !sparsec.bsr<?x?xbf16, block = 64x32>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x32xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 32, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %s = sparsec.sddmm %p, %a, %b b_layout(kn) : (!sparsec.bsr<?x?xbf16, block = 64x32>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x32xbf16>
  sparsec.return %s : tensor<?x64x32xbf16>
}

// -----

// Only a product of a block-sparse and a dense matrix has tiles of fewer rows than wgmma.
// expected-error @+1 {{schedule expects tile_m to be 64 * consumers_m = 64, but got 32}}
sparsec.kernel @few_rows(%p: !sparsec.bsr<?x?xbf16, block = 96x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x96x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 96x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x96x64xbf16>
  sparsec.return %s : tensor<?x96x64xbf16>
}
