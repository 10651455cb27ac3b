// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// The constraints of tile ops that programs of sparsec.spgemm need, named as in dialect/SPEC.md.

gpu.module @kernels {
  sparsec.program @copy_c9 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64, transposed>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects depth_rows only for blocks of a matrix that is not transposed}}
    sparsec.copy %w[%zero, %zero, %zero] to %ring[%c] {index = 0, depth_rows} : !sparsec.bsr<?x?xbf16, block = 64x64, transposed>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c9_tensor attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects depth_rows only for blocks of a matrix}}
    sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 0, depth_rows} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}
