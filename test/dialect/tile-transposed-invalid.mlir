// RUN: sparsec-opt %s --split-input-file --verify-diagnostics

gpu.module @kernels {
  sparsec.program @chain_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%a: !sparsec.buffer<128, 64, bf16>, %x: !sparsec.buffer<64, 64, bf16>, %sum: !sparsec.accumulator<128, 64>):
    // expected-error @+1 {{'sparsec.chain' op expects A of M x K, X of K x N and an accumulator of M x N, but got 64 x 128, 64 x 64 and 128 x 64}}
    %0 = sparsec.chain %a, %x, %sum {depth = array<i64: 64>, a_transposed} : !sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 64, bf16>, !sparsec.accumulator<128, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16, transposed>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<32, 16, bf16, swizzle = 32>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<32, 16, bf16, swizzle = 32>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects the columns of its 2 blocks, but got 1}}
    sparsec.copy %w[%zero, %zero, %zero] block_columns(%zero) parts(%zero) to %ring[%c] {index = 0, part_dimension = 0} : !sparsec.bsr<?x?xbf16, block = 16x16, transposed>, <3, [!sparsec.buffer<32, 16, bf16, swizzle = 32>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c5 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16, transposed>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<32, 16, bf16, swizzle = 32>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<32, 16, bf16, swizzle = 32>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects the other 1 blocks as parts of dimension 0, but got 0}}
    sparsec.copy %w[%zero, %zero, %zero] block_columns(%zero, %zero) to %ring[%c] {index = 0} : !sparsec.bsr<?x?xbf16, block = 16x16, transposed>, <3, [!sparsec.buffer<32, 16, bf16, swizzle = 32>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c5_dimension attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16, transposed>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<32, 16, bf16, swizzle = 32>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<32, 16, bf16, swizzle = 32>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects the other 1 blocks as parts of dimension 0, but got 1}}
    sparsec.copy %w[%zero, %zero, %zero] block_columns(%zero, %zero) parts(%zero) to %ring[%c] {index = 0, part_dimension = 1} : !sparsec.bsr<?x?xbf16, block = 16x16, transposed>, <3, [!sparsec.buffer<32, 16, bf16, swizzle = 32>]>
  }
}
