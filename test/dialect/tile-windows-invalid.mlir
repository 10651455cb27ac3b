// RUN: sparsec-opt %s -split-input-file -verify-diagnostics

gpu.module @kernels {
  sparsec.program @ring_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>} {
  ^bb0(%x: tensor<?x?xbf16>):
    // expected-error @+1 {{expects releases to be at least 1, for a ring without messages, but got 0}}
    %ring = sparsec.ring {releases = 0} : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @ring_c3_messages attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>} {
  ^bb0(%x: tensor<?x?xbf16>):
    // expected-error @+1 {{expects releases to be at least 1, for a ring without messages, but got 1}}
    %ring = sparsec.ring {messages, releases = 1} : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @release_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    sparsec.role "x" thread(1) registers(0) {
      %c = sparsec.cursor %ring : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
      %n = arith.constant 1 : i32
      %true = arith.constant true
      // expected-error @+1 {{'sparsec.release' op expects a role of one thread, and no condition, to release a slot for other groups}}
      sparsec.release %ring[%c] for(%n) if %true : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @release_c1_group attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    sparsec.role "x" warpgroup(1) registers(0) {
      %c = sparsec.cursor %ring : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
      %n = arith.constant 1 : i32
      %true = arith.constant true
      // expected-error @+1 {{'sparsec.release' op expects a role of one thread, and no condition, to release a slot for other groups}}
      sparsec.release %ring[%c] for(%n) : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @await_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %zero = sparsec.zero : !sparsec.pending<16, 64>
    // expected-error @+1 {{expects a product by wgmma, which completes later: one of mma_sync is complete at once}}
    %sum = sparsec.await %zero {outstanding = 0} : <16, 64> -> !sparsec.accumulator<16, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c5 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]> -> <64, 64, bf16, k>
    %b = sparsec.view %ring {index = 1} : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]> -> <64, 256, bf16, mn>
    // expected-error @+1 {{expects columns to be a multiple of 8 that divides the 256 of a pending accumulator, but got 96}}
    %p = sparsec.product %a[%c], %b[%c] {columns = 96, depth = 64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 256, bf16, mn> -> !sparsec.pending<64, 256>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c5_eight attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]> -> <64, 64, bf16, k>
    %b = sparsec.view %ring {index = 1} : <4, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]> -> <64, 256, bf16, mn>
    // expected-error @+1 {{expects columns to be a multiple of 8 that divides the 256 of a pending accumulator, but got 4}}
    %p = sparsec.product %a[%c], %b[%c] {columns = 4, depth = 64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 256, bf16, mn> -> !sparsec.pending<64, 256>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c7 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, walk = windows, block_stages = 8>} {
  ^bb0(%x: tensor<?x?xbf16>):
    // expected-error @+1 {{expects roles of one thread that follow one another, and roles of warps behind them, to have at most 4 warps, but got 5}}
    sparsec.role "p0" thread(1) registers(32) {
    }
    sparsec.role "p1" thread(1) registers(32) {
    }
    sparsec.role "p2" thread(1) registers(32) {
    }
    sparsec.role "p3" thread(1) registers(32) {
    }
    sparsec.role "p4" thread(1) registers(32) {
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c7_tiles attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, concurrent_tiles = 2>} {
  ^bb0(%x: tensor<?x?xbf16>):
    // expected-error @+1 {{expects roles of one thread that follow one another, and roles of warps behind them, to have at most 1 warps, but got 2}}
    sparsec.role "p0" thread(1) registers(32) {
    }
    sparsec.role "p1" thread(1) registers(32) {
    }
  }
}
