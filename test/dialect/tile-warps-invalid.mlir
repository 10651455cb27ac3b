// RUN: sparsec-opt %s --split-input-file --verify-diagnostics

// Constraints of roles of warps, and of the ops that only they have.

// -----

gpu.module @kernels {
  sparsec.program @program_c5 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    sparsec.role "other" warpgroup(1) registers(0) {
    }
    // expected-error @+1 {{'sparsec.role' op expects a role of warps to be the only role of its program, to have whole warpgroups and to come before roles of one thread, or to come behind them}}
    sparsec.role "all" warp(4) registers(0) {
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c5_warps attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.role' op expects a role of warps to be the only role of its program, to have whole warpgroups}}
    sparsec.role "consumer" warp(6) registers(0) {
    }
    sparsec.role "x" thread(1) registers(0) {
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c5_warpgroup attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.role' op expects a role of warps to be the only role of its program, to have whole warpgroups and to come before roles of one thread, or to come behind them}}
    sparsec.role "consumer" warp(4) registers(0) {
    }
    sparsec.role "other" warpgroup(1) registers(0) {
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c7_warps attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.role' op expects roles of one thread that follow one another, and roles of warps behind them, to have at most 4 warps, but got 5}}
    sparsec.role "producer" thread(1) registers(0) {
    }
    sparsec.role "scales" warp(4) registers(0) {
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c7_slices attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, slices = 3>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.role' op expects roles of one thread that follow one another, and roles of warps behind them, to have at most 4 warps, but got 6}}
    sparsec.role "producer" thread(1) registers(0) {
    }
    sparsec.role "scales" warp(1) registers(0) {
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @barrier_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>):
    sparsec.role "consumer" warpgroup(1) registers(0) {
      // expected-error @+1 {{'sparsec.barrier' op expects a role of warps for a barrier of a group}}
      sparsec.barrier {group}
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c6 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    sparsec.role "all" warp(4) registers(0) {
      // expected-error @+1 {{'sparsec.acquire' op expects another role to share the ring with: a role of warps has none}}
      sparsec.acquire %ring[%c] : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c6_post attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    sparsec.role "all" warp(4) registers(0) {
      // expected-error @+1 {{'sparsec.post' op expects another role to share the ring with: a role of warps has none}}
      sparsec.post %ring[%c] : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c6_wait attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    sparsec.role "all" warp(4) registers(0) {
      // expected-error @+1 {{'sparsec.wait' op expects another role to share the ring with: a role of warps has none}}
      sparsec.wait %ring[%c] : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c6_test attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    sparsec.role "all" warp(4) registers(0) {
      // expected-error @+1 {{'sparsec.test' op expects another role to share the ring with: a role of warps has none}}
      %is_full = sparsec.test %ring[%c] : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c6_release attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    sparsec.role "all" warp(4) registers(0) {
      // expected-error @+1 {{'sparsec.release' op expects another role to share the ring with: a role of warps has none}}
      sparsec.release %ring[%c] : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @role_c1_warp attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.role' op expects 1 thread, or at least 1 warp or warpgroup, but got 0}}
    sparsec.role "all" warp(0) registers(0) {
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @tile_loop_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.tile_loop' op expects periodic or counter, but not both}}
    sparsec.tile_loop attributes {periodic, counter} {
    ^bb0(%tile_row: i32, %panel: i32):
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    %a = sparsec.view %ring {index = 0} : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]> -> <16, 32, bf16, k>
    %b = sparsec.view %ring {index = 1} : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]> -> <32, 64, bf16, mn>
    // expected-error @+1 {{'sparsec.product' op expects a pending result with wgmma and an accumulator with mma_sync, but got '!sparsec.pending<16, 64>'}}
    %p = sparsec.product %a[%c], %b[%c] {depth = 32} : !sparsec.view<16, 32, bf16, k>, !sparsec.view<32, 64, bf16, mn> -> !sparsec.pending<16, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c3_blocks attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects the columns of its 2 blocks, but got 1}}
    sparsec.copy %w[%zero, %zero, %zero] block_columns(%zero) to %ring[%c] {index = 0} : !sparsec.bsr<?x?xbf16, block = 16x16>, <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c3_tma attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects the columns of its 4 blocks, but got 2}}
    sparsec.copy %w[%zero, %zero, %zero] block_columns(%zero, %zero) to %ring[%c] {index = 0} : !sparsec.bsr<?x?xbf16, block = 16x16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c5 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects parts of a dimension of a matrix, in a role of warps, which divide '!sparsec.buffer<32, 64, bf16, swizzle = 128>', but got 3}}
    sparsec.copy %x[%zero, %zero] parts(%zero, %zero) to %ring[%c] {index = 1, part_dimension = 0} : tensor<?x?xbf16>, <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c5_dimension attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects parts of a dimension of a matrix, in a role of warps, which divide '!sparsec.buffer<32, 64, bf16, swizzle = 128>', but got 2}}
    sparsec.copy %x[%zero, %zero] parts(%zero) to %ring[%c] {index = 1, part_dimension = 2} : tensor<?x?xbf16>, <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c5_none attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects parts of a dimension of a matrix, in a role of warps, which divide '!sparsec.buffer<32, 64, bf16, swizzle = 128>', but got 1}}
    sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 1, part_dimension = 1} : tensor<?x?xbf16>, <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c5_no_dimension attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects parts of a dimension of a matrix, in a role of warps, which divide '!sparsec.buffer<32, 64, bf16, swizzle = 128>', but got 2}}
    sparsec.copy %x[%zero, %zero] parts(%zero) to %ring[%c] {index = 1} : tensor<?x?xbf16>, <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c5_rows attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects parts of a dimension of a matrix, in a role of warps, which divide '!sparsec.buffer<32, 64, bf16, swizzle = 128>', but got 2}}
    sparsec.copy %x[%zero, %zero] parts(%zero) to %ring[%c] {index = 1, part_dimension = 0, rows = array<i64: 0, 16>} : tensor<?x?xbf16>, <3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 64, bf16, swizzle = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c5_tma attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects parts of a dimension of a matrix, in a role of warps, which divide '!sparsec.buffer<32, 64, bf16, strip = 128>', but got 2}}
    sparsec.copy %x[%zero, %zero] parts(%zero) to %ring[%c] {index = 1, part_dimension = 0} : tensor<?x?xbf16>, <3, [!sparsec.buffer<16, 32, bf16, strip = 64>, !sparsec.buffer<32, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @await_copies_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.await_copies' op expects outstanding to be at least 0, but got -1}}
    sparsec.await_copies {outstanding = -1}
  }
}

// -----

gpu.module @kernels {
  sparsec.program @add_slices_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %sum = sparsec.zero : !sparsec.accumulator<16, 16>
    // expected-error @+1 {{'sparsec.add_slices' op expects a program with several slices}}
    %all = sparsec.add_slices %sum : <16, 16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @slice_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.slice' op expects a program with several slices}}
    %slice = sparsec.slice
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c11 attributes {kernel = @k, variant = 0, alignment = 2, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 8, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<8, 32, bf16>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<8, 32, bf16>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects to be clipped only where it brings all rows of a matrix by tma, to one CTA}}
    sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 0, clipped} : tensor<?x?xbf16>, <3, [!sparsec.buffer<8, 32, bf16>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c11_strips attributes {kernel = @k, variant = 0, alignment = 2, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 8, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<8, 32, bf16>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<8, 32, bf16>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects to be clipped only where it brings all rows of a matrix by tma, to one CTA}}
    sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 0, clipped_strips} : tensor<?x?xbf16>, <3, [!sparsec.buffer<8, 32, bf16>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c11_both attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects to leave out rows or strips, not both}}
    sparsec.copy %x[%zero, %zero] to %ring[%c] {index = 0, clipped, clipped_strips} : tensor<?x?xbf16>, <3, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c10 attributes {kernel = @k, variant = 0, alignment = 2, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 8, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<32, 8, bf16, adjacent>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<32, 8, bf16, adjacent>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects whole rows of a matrix, in a role of warps, for a buffer of adjacent rows}}
    sparsec.copy %x[%zero, %zero] parts(%zero) to %ring[%c] {index = 0, part_dimension = 1} : tensor<?x?xbf16>, <3, [!sparsec.buffer<32, 8, bf16, adjacent>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c10_blocks attributes {kernel = @k, variant = 0, alignment = 2, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 8, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 16, bf16, adjacent>]>
    %c = sparsec.cursor %ring : <3, [!sparsec.buffer<16, 16, bf16, adjacent>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects whole rows of a matrix, in a role of warps, for a buffer of adjacent rows}}
    sparsec.copy %w[%zero, %zero, %zero] to %ring[%c] {index = 0} : !sparsec.bsr<?x?xbf16, block = 16x16>, <3, [!sparsec.buffer<16, 16, bf16, adjacent>]>
  }
}
