// RUN: sparsec-opt %s --split-input-file --verify-diagnostics

gpu.module @kernels {
  sparsec.program @sequence_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.key_walk' op expects the queries and the keys of a sequence as sizes, but got 1 numbers}}
    %walk = sparsec.key_walk at %zero sizes(%zero) {rows = 64 : i64}
  }
}

// -----

gpu.module @kernels {
  sparsec.program @sequence_c1_three attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.key_walk' op expects the queries and the keys of a sequence as sizes, but got 3 numbers}}
    %walk = sparsec.key_walk at %zero sizes(%zero, %zero, %zero) {rows = 64 : i64}
  }
}

// -----

gpu.module @kernels {
  sparsec.program @sequence_c1_softmax attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.tile_softmax' op expects the queries and the keys of a sequence as sizes, but got 1 numbers}}
    %softmax = sparsec.tile_softmax at(%zero, %zero, %zero) row(%zero) sizes(%zero)
  }
}

// -----

gpu.module @kernels {
  sparsec.program @clear_rows_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    // expected-error @+1 {{'sparsec.clear_rows' op expects numbers for equal parts of 64 rows, but got 3}}
    sparsec.clear_rows %ring[%c] from(%zero, %zero, %zero) : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @scale_rows_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xf16>):
    %zero = arith.constant 0 : i32
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, f16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, f16, strip = 128>]>
    // expected-error @+1 {{'sparsec.scale_rows' op expects elements of bf16, but got 'f16'}}
    sparsec.scale_rows %ring[%c] from %zero {exponent = -5 : i64, rows = 64 : i64} : <2, [!sparsec.buffer<64, 64, f16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @scale_rows_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    // expected-error @+1 {{'sparsec.scale_rows' op expects a multiple of 64 rows, of the 64 of a slot, but got 128}}
    sparsec.scale_rows %ring[%c] from %zero {exponent = -5 : i64, rows = 128 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}
