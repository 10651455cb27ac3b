// RUN: sparsec-opt %s --split-input-file --verify-diagnostics

gpu.module @kernels {
  sparsec.program @part_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.key_walk' op expects a part and the number of parts, but got 1 numbers}}
    %walk = sparsec.key_walk at %zero part(%zero) {rows = 64 : i64}
  }
}

// -----

gpu.module @kernels {
  sparsec.program @part_c1_three attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.key_walk' op expects a part and the number of parts, but got 3 numbers}}
    %walk = sparsec.key_walk at %zero part(%zero, %zero, %zero) {rows = 64 : i64}
  }
}

// -----

gpu.module @kernels {
  sparsec.program @part_c1_store attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%q: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %output = sparsec.zero : !sparsec.accumulator<64, 64>
    %rows = sparsec.softmax_begin : <64>
    // expected-error @+1 {{'sparsec.store_part' op expects a part and the number of parts, but got 1 numbers}}
    sparsec.store_part %output, %rows to %q[%zero, %zero, %zero] part(%zero) : <64, 64>, <64> -> tensor<?x?x?x64xbf16>
  }
}
