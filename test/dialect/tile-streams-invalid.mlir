// RUN: sparsec-opt %s --split-input-file --verify-diagnostics

gpu.module @kernels {
  sparsec.program @load_fragment_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<32, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<32, 64, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<32, 64, bf16, strip = 128>]> -> <32, 64, bf16, mn>
    // expected-error @+1 {{'sparsec.load_fragment' op expects a fragment of M x K for a view of M x K (k) or K x M (mn), but got '!sparsec.fragment<32, 64, bf16>' of '!sparsec.view<32, 64, bf16, mn>'}}
    %fragment = sparsec.load_fragment %a[%begin] : <32, 64, bf16, mn> -> <32, 64, bf16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c4_warps attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects rows to be {first, number} of the 64 rows, for a tensor or by tma}}
    sparsec.copy %w[%zero, %zero, %zero] to %ring[%c] {index = 0, rows = array<i64: 0, 32>} : !sparsec.bsr<?x?xbf16, block = 64x64>, <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c8 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects lines only for whole blocks by tma, into a buffer with strips of 32 or 64 bytes}}
    sparsec.copy %w[%zero, %zero, %zero] to %ring[%c] {index = 0, lines} : !sparsec.bsr<?x?xbf16, block = 64x64>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c8_tensor attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 32, bf16, strip = 64>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 32, bf16, strip = 64>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects lines only for whole blocks by tma}}
    sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 0, lines} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 32, bf16, strip = 64>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c8_cut attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 32x32>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<32, 32, bf16, strip = 64>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<32, 32, bf16, strip = 64>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects lines only for whole blocks by tma}}
    sparsec.copy %w[%zero, %zero, %zero] block_columns(%zero) to %ring[%c] {index = 0, lines} : !sparsec.bsr<?x?xbf16, block = 32x32>, <2, [!sparsec.buffer<32, 32, bf16, strip = 64>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @store_c5 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %s: tensor<?x64x64xbf16>):
    %zero = arith.constant 0 : i32
    %sum = sparsec.zero : !sparsec.accumulator<64, 64>
    // expected-error @+1 {{'sparsec.store' op expects lines only for a dense result}}
    sparsec.store %sum to %s[%zero, %zero, %zero] blocks(%zero to %zero of %p : !sparsec.bsr<?x?xbf16, block = 64x64>) attributes {block_rows = 64 : i64, block_stride = 64 : i64, broadcast = [], lines} : <64, 64> -> tensor<?x64x64xbf16> {
    ^bb0(%acc: f32):
      sparsec.yield %acc : f32
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c3_b attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]> -> <64, 64, bf16, k>
    %fragment = sparsec.load_fragment %a[%c] : <64, 64, bf16, k> -> <64, 64, bf16>
    // expected-error @+1 {{'sparsec.product' op expects a cursor for a view, and none for a fragment}}
    %p = sparsec.product %fragment, %fragment[%c] {depth = 64} : !sparsec.fragment<64, 64, bf16>, !sparsec.fragment<64, 64, bf16> -> !sparsec.accumulator<64, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c6 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, k>
    %fragment = sparsec.load_fragment %a[%c] : <64, 64, bf16, k> -> <64, 64, bf16>
    // expected-error @+1 {{'sparsec.product' op expects a fragment as B only with mma_sync and a fragment as A}}
    %p = sparsec.product %fragment, %fragment {depth = 64} : !sparsec.fragment<64, 64, bf16>, !sparsec.fragment<64, 64, bf16> -> !sparsec.pending<64, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c6_view attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]> -> <64, 64, bf16, k>
    %fragment = sparsec.load_fragment %a[%c] : <64, 64, bf16, k> -> <64, 64, bf16>
    // expected-error @+1 {{'sparsec.product' op expects a fragment as B only with mma_sync and a fragment as A}}
    %p = sparsec.product %a[%c], %fragment {depth = 64} : !sparsec.view<64, 64, bf16, k>, !sparsec.fragment<64, 64, bf16> -> !sparsec.accumulator<64, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c6_order attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, swizzle = 128>]> -> <64, 64, bf16, k>
    %fragment = sparsec.load_fragment %a[%c] : <64, 64, bf16, k> -> <64, 64, bf16>
    // expected-error @+1 {{'sparsec.product' op expects a fragment as B to be loaded as_b}}
    %p = sparsec.product %fragment, %fragment {depth = 64} : !sparsec.fragment<64, 64, bf16>, !sparsec.fragment<64, 64, bf16> -> !sparsec.accumulator<64, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @load_fragment_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, k>
    // expected-error @+1 {{'sparsec.load_fragment' op expects as_b only with mma_sync}}
    %fragment = sparsec.load_fragment %a[%c] {as_b} : <64, 64, bf16, k> -> <64, 64, bf16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @load_fragment_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xf8E4M3FN>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>]> -> <64, 128, f8E4M3FN, k>
    // expected-error @+1 {{'sparsec.load_fragment' op expects f16 from fp8 only with mma_sync}}
    %fragment = sparsec.load_fragment %a[%c] : <64, 128, f8E4M3FN, k> -> <64, 128, f16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @next_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    // expected-error @+1 {{'sparsec.next' op expects a step that divides the stages, 4, but got 3}}
    %next = sparsec.next %ring[%c] {step = 3} : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_numbers_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 2>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %i = arith.constant 0 : i32
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    // expected-error @+1 {{expects the number of blocks to divide 32, but got 3}}
    %numbers = sparsec.read_blocks %i : <3>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @read_blocks_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 2>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %i = arith.constant 0 : i32
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    // expected-error @+1 {{'sparsec.read_blocks' op expects to be in a role of warps}}
    %numbers = sparsec.read_blocks %i : <2>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_blocks_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 2>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %i = arith.constant 0 : i32
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    sparsec.role "consumer" warp(4) registers(152) {
      %numbers = sparsec.read_blocks %i : <2>
      %c = sparsec.cursor %ring : <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
      sparsec.role "x" thread(1) registers(40) {
        // expected-error @+1 {{'sparsec.copy_blocks' op expects to be in a role of warps}}
        sparsec.copy_blocks %w[%numbers] to %ring[%c] at(%i) : <?x?xbf16, block = 16x16>, <2>, <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_blocks_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 2>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %i = arith.constant 0 : i32
    %ring = sparsec.ring : <4, [!sparsec.buffer<48, 16, bf16, strip = 32>]>
    sparsec.role "consumer" warp(4) registers(152) {
      %c = sparsec.cursor %ring : <4, [!sparsec.buffer<48, 16, bf16, strip = 32>]>
      %numbers = sparsec.read_blocks %i : <2>
      // expected-error @+1 {{'sparsec.copy_blocks' op expects a buffer of 'bf16' with 16 columns and a multiple of 32 rows, but got 48x16 of 'bf16'}}
      sparsec.copy_blocks %w[%numbers] to %ring[%c] at(%i) : <?x?xbf16, block = 16x16>, <2>, <4, [!sparsec.buffer<48, 16, bf16, strip = 32>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_blocks_c2_columns attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 2>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>):
    %i = arith.constant 0 : i32
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    sparsec.role "consumer" warp(4) registers(152) {
      %c = sparsec.cursor %ring : <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
      %numbers = sparsec.read_blocks %i : <2>
      // expected-error @+1 {{'sparsec.copy_blocks' op expects a buffer of 'bf16' with 32 columns and a multiple of 32 rows, but got 64x16 of 'bf16'}}
      sparsec.copy_blocks %w[%numbers] to %ring[%c] at(%i) : <?x?xbf16, block = 16x32>, <2>, <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_blocks_c2_element attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 2>} {
  ^bb0(%w: !sparsec.bsr<?x?xf16, block = 16x16>):
    %i = arith.constant 0 : i32
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    sparsec.role "consumer" warp(4) registers(152) {
      %c = sparsec.cursor %ring : <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
      %numbers = sparsec.read_blocks %i : <2>
      // expected-error @+1 {{'sparsec.copy_blocks' op expects a buffer of 'f16' with 16 columns and a multiple of 32 rows, but got 64x16 of 'bf16'}}
      sparsec.copy_blocks %w[%numbers] to %ring[%c] at(%i) : <?x?xf16, block = 16x16>, <2>, <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_blocks_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 2>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %i = arith.constant 0 : i32
    %ring = sparsec.ring : <4, [!sparsec.buffer<512, 16, bf16, strip = 32>]>
    sparsec.role "consumer" warp(4) registers(152) {
      %c = sparsec.cursor %ring : <4, [!sparsec.buffer<512, 16, bf16, strip = 32>]>
      %numbers = sparsec.read_blocks %i : <32>
      // expected-error @+1 {{'sparsec.copy_blocks' op expects blocks whose rows 1 threads copy, 16 bytes each}}
      sparsec.copy_blocks %w[%numbers] to %ring[%c] at(%i) : <?x?xbf16, block = 16x16>, <32>, <4, [!sparsec.buffer<512, 16, bf16, strip = 32>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @count_products_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %i = arith.constant 0 : i32
    sparsec.role "x" thread(1) registers(40) {
      // expected-error @+1 {{'sparsec.count_products' op expects to be in a role of warps}}
      %count = sparsec.count_products %i to %i of %i {words = 4 : i64}
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @count_products_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %i = arith.constant 0 : i32
    sparsec.role "consumer" warp(4) registers(152) {
      // expected-error @+1 {{'sparsec.count_products' op expects words to be at least 1, but got 0}}
      %count = sparsec.count_products %i to %i of %i {words = 0 : i64}
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @join_parts_c1 attributes {split, kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %i = arith.constant 0 : i32
    %sum = sparsec.zero : !sparsec.accumulator<16, 64>
    sparsec.role "consumer" warpgroup(1) registers(152) {
      // expected-error @+1 {{'sparsec.join_parts' op expects to be in a role of warps}}
      %total, %is_last = sparsec.join_parts %sum of %i, %i : !sparsec.accumulator<16, 64>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @join_parts_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %i = arith.constant 0 : i32
    sparsec.role "consumer" warp(4) registers(152) {
      %sum = sparsec.zero : !sparsec.accumulator<16, 64>
      // expected-error @+1 {{'sparsec.join_parts' op expects to be in a program that is split}}
      %total, %is_last = sparsec.join_parts %sum of %i, %i : !sparsec.accumulator<16, 64>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c12 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 2>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    sparsec.role "consumer" warp(4) registers(152) {
      %i = arith.constant 0 : i32
      %c = sparsec.cursor %ring : <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
      // expected-error @+1 {{'sparsec.copy' op expects to be in a role of one thread, because it is by tma}}
      sparsec.copy %w[%i, %i, %i] to %ring[%c] {index = 0 : i64, rows = array<i64: 16, 16>} : !sparsec.bsr<?x?xbf16, block = 16x16>, <4, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    }
  }
}
