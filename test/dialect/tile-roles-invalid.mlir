// RUN: sparsec-opt %s --split-input-file --verify-diagnostics

// Constraints of the ops of roles that attention brought.

// -----

gpu.module @kernels {
  sparsec.program @tile_follows_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    sparsec.role "producer" thread(1) registers(40) {
      sparsec.tile_loop {
      ^bb0(%tile_row: i32, %panel: i32):
        // expected-error @+1 {{'sparsec.tile_follows' op expects a tile loop with counter or cut}}
        %follows = sparsec.tile_follows : i32
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @tile_follows_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    sparsec.role "producer" thread(1) registers(40) {
      sparsec.tile_loop attributes {counter} {
      ^bb0(%tile_row: i32, %panel: i32):
        // expected-error @+1 {{'sparsec.tile_follows' op expects to be the only one of its loop}}
        %follows = sparsec.tile_follows : i32
        %again = sparsec.tile_follows : i32
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @sleep_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    sparsec.role "consumer" warpgroup(2) registers(232) {
      // expected-error @+1 {{'sparsec.sleep' op expects at least 1 nanosecond, but got 0}}
      sparsec.sleep {nanoseconds = 0}
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %ring = sparsec.ring {messages} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, k>
    %b = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, mn>
    %fragment = sparsec.load_fragment %a[%begin] : <64, 64, bf16, k> -> <64, 64, bf16>
    // expected-error @+1 {{'sparsec.product' op expects a cursor for a view, and none for a fragment}}
    %p = sparsec.product %fragment[%begin], %b[%begin] {depth = 64} : !sparsec.fragment<64, 64, bf16>, !sparsec.view<64, 64, bf16, mn> -> !sparsec.pending<64, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c1_fragment attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %ring = sparsec.ring {messages} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, k>
    %b = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, mn>
    %fragment = sparsec.load_fragment %a[%begin] : <64, 64, bf16, k> -> <64, 64, bf16>
    // expected-error @+1 {{'sparsec.product' op expects A of M x K, B of K x N, an accumulator and a result of M x N, but got '!sparsec.fragment<64, 64, bf16>', '!sparsec.view<64, 64, bf16, mn>', '!sparsec.pending<64, 128>'}}
    %p = sparsec.product %fragment, %b[%begin] {depth = 64} : !sparsec.fragment<64, 64, bf16>, !sparsec.view<64, 64, bf16, mn> -> !sparsec.pending<64, 128>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @load_fragment_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %ring = sparsec.ring {messages} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, k>
    // expected-error @+1 {{'sparsec.load_fragment' op expects a fragment of M x K for a view of M x K (k) or K x M (mn), but got '!sparsec.fragment<64, 32, bf16>' of '!sparsec.view<64, 64, bf16, k>'}}
    %fragment = sparsec.load_fragment %a[%begin] : <64, 64, bf16, k> -> <64, 32, bf16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects rows to be {first, number} of the 64 rows, for a tensor or by tma}}
    sparsec.copy %x[%zero, %zero] to %ring[%begin] {index = 0, rows = array<i64: 0, 65>} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c4_first attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects rows to be {first, number} of the 64 rows, for a tensor or by tma}}
    sparsec.copy %x[%zero, %zero] to %ring[%begin] {index = 0, rows = array<i64: -1, 8>} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c4_end attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects rows to be {first, number} of the 64 rows, for a tensor or by tma}}
    sparsec.copy %x[%zero, %zero] to %ring[%begin] {index = 0, rows = array<i64: 60, 8>} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @post_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %ring = sparsec.ring {messages} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.post' op expects no message, or two of a ring with messages, but got 1}}
    sparsec.post %ring[%begin] (%zero) : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @post_c1_ring attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.post' op expects no message, or two of a ring with messages, but got 2}}
    sparsec.post %ring[%begin] (%zero, %zero) : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @wait_c1_one attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %ring = sparsec.ring {messages} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    // expected-error @+1 {{'sparsec.wait' op expects no message, or two of a ring with messages, but got 1}}
    %a = sparsec.wait %ring[%begin] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]> -> i32
  }
}

// -----

gpu.module @kernels {
  sparsec.program @score_step_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %softmax = sparsec.tile_softmax at(%zero, %zero, %zero) row(%zero)
    %rows = sparsec.softmax_begin of %softmax : <64>
    %sums = sparsec.zero : !sparsec.accumulator<64, 64>
    %key, %partial = sparsec.key_block %zero {keys = 64 : i64}
    // expected-error @+1 {{'sparsec.score_bias' op expects the first keys of 1 or 2 blocks and as many conditions, but got 2 and 1}}
    %bias = sparsec.score_bias %softmax at(%key, %key) partial(%partial) : <64, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @score_step_c1_terms attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %softmax = sparsec.tile_softmax at(%zero, %zero, %zero) row(%zero)
    %rows = sparsec.softmax_begin of %softmax : <64>
    %sums = sparsec.zero : !sparsec.accumulator<64, 64>
    %key, %partial = sparsec.key_block %zero {keys = 64 : i64}
    // expected-error @+1 {{'sparsec.key_terms' op expects the first keys of 1 or 2 blocks and as many conditions, but got 2 and 1}}
    %terms = sparsec.key_terms %softmax at(%key, %key) partial(%partial)
  }
}

// -----

gpu.module @kernels {
  sparsec.program @score_step_c1_maximum attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %softmax = sparsec.tile_softmax at(%zero, %zero, %zero) row(%zero)
    %rows = sparsec.softmax_begin of %softmax : <64>
    %sums = sparsec.zero : !sparsec.accumulator<64, 64>
    %key, %partial = sparsec.key_block %zero {keys = 64 : i64}
    // expected-error @+1 {{'sparsec.row_maximum' op expects the first keys of 1 or 2 blocks and as many conditions, but got 2 and 1}}
    %scores, %raised, %rescaling = sparsec.row_maximum %softmax, %sums, %rows at(%key, %key) partial(%partial) : <64, 64>, <64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @score_step_c1_exponentiate attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %softmax = sparsec.tile_softmax at(%zero, %zero, %zero) row(%zero)
    %rows = sparsec.softmax_begin of %softmax : <64>
    %sums = sparsec.zero : !sparsec.accumulator<64, 64>
    %key, %partial = sparsec.key_block %zero {keys = 64 : i64}
    // expected-error @+1 {{'sparsec.exponentiate' op expects the first keys of 1 or 2 blocks and as many conditions, but got 2 and 1}}
    %p, %summed = sparsec.exponentiate %softmax, %sums, %rows at(%key, %key) partial(%partial) : <64, 64>, <64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @to_fragment_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %softmax = sparsec.tile_softmax at(%zero, %zero, %zero) row(%zero)
    %rows = sparsec.softmax_begin of %softmax : <64>
    %sums = sparsec.zero : !sparsec.accumulator<64, 64>
    %key, %partial = sparsec.key_block %zero {keys = 64 : i64}
    // expected-error @+1 {{'sparsec.to_fragment' op expects a fragment of the size of its accumulator, but got '!sparsec.fragment<64, 32, bf16>' of '!sparsec.accumulator<64, 64>'}}
    %a = sparsec.to_fragment %sums : <64, 64> -> <64, 32, bf16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @store_rows_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?x?x64xbf16>):
    %zero = arith.constant 0 : i32
    %softmax = sparsec.tile_softmax at(%zero, %zero, %zero) row(%zero)
    %rows = sparsec.softmax_begin of %softmax : <64>
    %sums = sparsec.zero : !sparsec.accumulator<64, 64>
    %key, %partial = sparsec.key_block %zero {keys = 64 : i64}
    // expected-error @+1 {{'sparsec.store_rows' op expects a tile, or the batch, the head and the first query, but got ('i32', 'i32')}}
    sparsec.store_rows %sums, %rows to %x[%zero, %zero : i32, i32] : <64, 64>, <64> -> tensor<?x?x?x64xbf16>
  }
}
