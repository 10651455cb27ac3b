// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One program per constraint of dialect/SPEC.md, named after it.

sparsec.program @outer attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  // expected-error @+1 {{'sparsec.program' op expects parent op to be one of 'gpu.module, builtin.module'}}
  sparsec.program @program_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  }
}

// -----

gpu.module @kernels {
  sparsec.program @tile_loop_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.tile_loop' op expects the arguments of its body to be ('i32', 'i32'), but got ('i32')}}
    sparsec.tile_loop {
    ^bb0(%tile: i32):
      sparsec.yield
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_loop_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      // expected-error @+1 {{'sparsec.block_loop' op expects blocks_per_step and chunks to be at least 1 and one of them to be 1, but got 2 and 2}}
      sparsec.block_loop %w at %tile attributes {blocks_per_step = 2, chunks = 2} : <?x?xbf16, block = 16x32> {
      ^bb0(%block: !sparsec.block, %chunk: i32):
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_loop_c1_zero attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      // expected-error @+1 {{'sparsec.block_loop' op expects blocks_per_step and chunks to be at least 1 and one of them to be 1, but got 1 and 0}}
      sparsec.block_loop %w at %tile attributes {blocks_per_step = 1, chunks = 0} : <?x?xbf16, block = 16x32> {
      ^bb0(%block: !sparsec.block, %chunk: i32):
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_loop_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      %zero = sparsec.zero : !sparsec.accumulator<16, 64>
      // expected-error @+1 {{'sparsec.block_loop' op expects results of the types of its inits, ('!sparsec.accumulator<16, 64>'), but got ()}}
      sparsec.block_loop %w at %tile init(%zero : !sparsec.accumulator<16, 64>) attributes {blocks_per_step = 1, chunks = 1} : <?x?xbf16, block = 16x32> {
      ^bb0(%block: !sparsec.block, %chunk: i32, %acc: !sparsec.accumulator<16, 64>):
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_loop_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      // expected-error @+1 {{'sparsec.block_loop' op expects the arguments of its body to be ('!sparsec.block', 'i32'), but got ('i32', '!sparsec.block')}}
      sparsec.block_loop %w at %tile attributes {blocks_per_step = 1, chunks = 1} : <?x?xbf16, block = 16x32> {
      ^bb0(%chunk: i32, %block: !sparsec.block):
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_loop_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      %zero = sparsec.zero : !sparsec.accumulator<16, 64>
      // expected-error @+1 {{'sparsec.block_loop' op expects its body to yield ('!sparsec.accumulator<16, 64>'), but got ()}}
      %sum = sparsec.block_loop %w at %tile init(%zero : !sparsec.accumulator<16, 64>) attributes {blocks_per_step = 1, chunks = 1} : <?x?xbf16, block = 16x32> -> !sparsec.accumulator<16, 64> {
      ^bb0(%block: !sparsec.block, %chunk: i32, %acc: !sparsec.accumulator<16, 64>):
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @chain_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      sparsec.block_loop %w at %tile attributes {blocks_per_step = 1, chunks = 1} : <?x?xbf16, block = 16x32> {
      ^bb0(%block: !sparsec.block, %chunk: i32):
        %a = sparsec.load a %w[%tile, %block, %chunk] : !sparsec.bsr<?x?xbf16, block = 16x32> -> <16, 32, bf16>
        %b = sparsec.load x %x[%tile, %block, %chunk] : tensor<?x?xbf16> -> <64, 32, bf16>
        %zero = sparsec.zero : !sparsec.accumulator<16, 64>
        // expected-error @+1 {{'sparsec.chain' op expects A of M x K, X of K x N and an accumulator of M x N, but got 16 x 32, 64 x 32 and 16 x 64}}
        %next = sparsec.chain %a, %b, %zero {depth = array<i64: 32>} : <16, 32, bf16>, <64, 32, bf16>, <16, 64>
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @chain_c1_transposed attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      sparsec.block_loop %w at %tile attributes {blocks_per_step = 1, chunks = 1} : <?x?xbf16, block = 16x32> {
      ^bb0(%block: !sparsec.block, %chunk: i32):
        %a = sparsec.load a %w[%tile, %block, %chunk] : !sparsec.bsr<?x?xbf16, block = 16x32> -> <16, 32, bf16>
        %b = sparsec.load x %x[%tile, %block, %chunk] : tensor<?x?xbf16> -> <32, 64, bf16>
        %zero = sparsec.zero : !sparsec.accumulator<16, 64>
        // expected-error @+1 {{'sparsec.chain' op expects A of M x K, X of K x N and an accumulator of M x N, but got 16 x 32, 64 x 32 and 16 x 64}}
        %next = sparsec.chain %a, %b, %zero {depth = array<i64: 32>, x_transposed} : <16, 32, bf16>, <32, 64, bf16>, <16, 64>
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @chain_c1_rows attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      sparsec.block_loop %w at %tile attributes {blocks_per_step = 1, chunks = 1} : <?x?xbf16, block = 16x32> {
      ^bb0(%block: !sparsec.block, %chunk: i32):
        %a = sparsec.load a %w[%tile, %block, %chunk] : !sparsec.bsr<?x?xbf16, block = 16x32> -> <32, 32, bf16>
        %b = sparsec.load x %x[%tile, %block, %chunk] : tensor<?x?xbf16> -> <32, 64, bf16>
        %zero = sparsec.zero : !sparsec.accumulator<16, 64>
        // expected-error @+1 {{'sparsec.chain' op expects A of M x K, X of K x N and an accumulator of M x N, but got 32 x 32, 32 x 64 and 16 x 64}}
        %next = sparsec.chain %a, %b, %zero {depth = array<i64: 32>} : <32, 32, bf16>, <32, 64, bf16>, <16, 64>
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @chain_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      sparsec.block_loop %w at %tile attributes {blocks_per_step = 1, chunks = 1} : <?x?xbf16, block = 16x32> {
      ^bb0(%block: !sparsec.block, %chunk: i32):
        %a = sparsec.load a %w[%tile, %block, %chunk] : !sparsec.bsr<?x?xbf16, block = 16x32> -> <16, 32, bf16>
        %b = sparsec.load x %x[%tile, %block, %chunk] : tensor<?x?xbf16> -> <32, 64, bf16>
        %zero = sparsec.zero : !sparsec.accumulator<16, 64>
        // expected-error @+1 {{'sparsec.chain' op expects every depth to be from 1 to 32, but got 48}}
        %next = sparsec.chain %a, %b, %zero {depth = array<i64: 32, 48>} : <16, 32, bf16>, <32, 64, bf16>, <16, 64>
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @chain_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      sparsec.block_loop %w at %tile attributes {blocks_per_step = 1, chunks = 1} : <?x?xbf16, block = 16x32> {
      ^bb0(%block: !sparsec.block, %chunk: i32):
        %a = sparsec.load a %w[%tile, %block, %chunk] : !sparsec.bsr<?x?xbf16, block = 16x32> -> <16, 32, bf16>
        %b = sparsec.load x %x[%tile, %block, %chunk] : tensor<?x?xbf16> -> <32, 64, bf16>
        %zero = sparsec.zero : !sparsec.accumulator<16, 64>
        // expected-error @+1 {{'sparsec.chain' op expects A of fp8 for a widened product, but got 'bf16'}}
        %next = sparsec.chain %a, %b, %zero {depth = array<i64: 32>, widened} : <16, 32, bf16>, <32, 64, bf16>, <16, 64>
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @store_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      %zero = sparsec.zero : !sparsec.accumulator<16, 64>
      // expected-error @+1 {{'sparsec.store' op expects the argument count of the epilogue region to be 1, but got 2}}
      sparsec.store %zero to %y[%tile_row, %tile_row, %panel] attributes {broadcast = [], block_rows = 16} : <16, 64> -> tensor<?x?xbf16> {
      ^bb0(%acc: f32, %extra: f32):
        sparsec.yield %acc : f32
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @store_c1_yield attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      %zero = sparsec.zero : !sparsec.accumulator<16, 64>
      // expected-error @+1 {{'sparsec.store' op expects the epilogue region to end with sparsec.yield of one 'f32'}}
      sparsec.store %zero to %y[%tile_row, %tile_row, %panel] attributes {broadcast = [], block_rows = 16} : <16, 64> -> tensor<?x?xbf16> {
      ^bb0(%acc: f32):
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @store_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      %zero = sparsec.zero : !sparsec.accumulator<16, 64>
      // expected-error @+1 {{'sparsec.store' op expects one broadcast per extra operand, but got 0 for 1}}
      sparsec.store %zero to %y[%tile_row, %tile_row, %panel] with(%x : tensor<?x?xbf16>) attributes {broadcast = [], block_rows = 16} : <16, 64> -> tensor<?x?xbf16> {
      ^bb0(%acc: f32, %extra: bf16):
        sparsec.yield %acc : f32
      }
    }
  }
}

// -----

// expected-error @+1 {{expects a strip that divides a row of 96 x 'bf16', but got 128 bytes}}
module @buffer_c1 attributes {sparsec.type = !sparsec.buffer<128, 96, bf16, strip = 128>} {}

// -----

// expected-error @+1 {{expects a strip that divides a row of 64 x 'bf16', but got 1 bytes}}
module @buffer_c1_elements attributes {sparsec.type = !sparsec.buffer<128, 64, bf16, strip = 1>} {}

// -----

// expected-error @+1 {{expects a strip that divides a row of 64 x 'bf16', but got -128 bytes}}
module @buffer_c1_negative attributes {sparsec.type = !sparsec.buffer<128, 64, bf16, strip = -128>} {}

// -----

// expected-error @+1 {{expects a swizzle of 0, 32, 64 or 128 bytes that divides a strip, but got 256}}
module @buffer_c2 attributes {sparsec.type = !sparsec.buffer<128, 128, bf16, strip = 256>} {}

// -----

// expected-error @+1 {{expects a swizzle of 0, 32, 64 or 128 bytes that divides a strip, but got 128}}
module @buffer_c2_strip attributes {sparsec.type = !sparsec.buffer<128, 64, bf16, strip = 64, swizzle = 128>} {}

// -----

// expected-error @+1 {{expects a swizzle of 0, 32, 64 or 128 bytes that divides a strip, but got 128}}
module @buffer_c2_row attributes {sparsec.type = !sparsec.buffer<128, 96, bf16, swizzle = 128>} {}

// -----

// expected-error @+1 {{expected 'swizzle'}}
module @buffer_syntax attributes {sparsec.type = !sparsec.buffer<128, 96, bf16, padding = 16>} {}

// -----

// expected-error @+1 {{expects at least 1 stage, but got 0}}
module @ring_c1 attributes {sparsec.type = !sparsec.ring<0, [!sparsec.buffer<16, 32, bf16, swizzle = 64>]>} {}

// -----

// expected-error @+1 {{expects a list of buffers, but got 'f32'}}
module @ring_c2 attributes {sparsec.type = !sparsec.ring<3, [!sparsec.buffer<16, 32, bf16, swizzle = 64>, f32]>} {}

// -----

gpu.module @kernels {
  sparsec.program @key_loop_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      %state = sparsec.softmax_begin : <64>
      // expected-error @+1 {{'sparsec.key_loop' op expects results of the types of its inits, ('!sparsec.softmax_state<64>'), but got ()}}
      sparsec.key_loop at %tile init(%state : !sparsec.softmax_state<64>) {
      ^bb0(%block: !sparsec.block, %carried: !sparsec.softmax_state<64>):
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @key_loop_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      %state = sparsec.softmax_begin : <64>
      // expected-error @+1 {{'sparsec.key_loop' op expects the arguments of its body to be ('!sparsec.block', '!sparsec.softmax_state<64>'), but got ('!sparsec.softmax_state<64>', '!sparsec.block')}}
      %last = sparsec.key_loop at %tile init(%state : !sparsec.softmax_state<64>) -> !sparsec.softmax_state<64> {
      ^bb0(%carried: !sparsec.softmax_state<64>, %block: !sparsec.block):
        sparsec.yield %carried : !sparsec.softmax_state<64>
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @key_loop_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      %state = sparsec.softmax_begin : <64>
      // expected-error @+1 {{'sparsec.key_loop' op expects its body to yield ('!sparsec.softmax_state<64>'), but got ()}}
      %last = sparsec.key_loop at %tile init(%state : !sparsec.softmax_state<64>) -> !sparsec.softmax_state<64> {
      ^bb0(%block: !sparsec.block, %carried: !sparsec.softmax_state<64>):
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @key_loop_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 4, consumers_n = 1>} {
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      // expected-error @+1 {{'sparsec.key_loop' op expects chunks to be at least 1, but got 0}}
      sparsec.key_loop at %tile attributes {chunks = 0 : i64} {
      ^bb0(%block: !sparsec.block):
        sparsec.yield
      }
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @tile_loop_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    // expected-error @+1 {{'sparsec.tile_loop' op expects results of the types of its inits, ('!sparsec.cursor'), but got ()}}
    sparsec.tile_loop init(%begin : !sparsec.cursor) {
    ^bb0(%tile_row: i32, %panel: i32, %c: !sparsec.cursor):
      sparsec.yield
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @tile_loop_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    // expected-error @+1 {{'sparsec.tile_loop' op expects its body to yield ('!sparsec.cursor'), but got ()}}
    %end = sparsec.tile_loop init(%begin : !sparsec.cursor) -> !sparsec.cursor {
    ^bb0(%tile_row: i32, %panel: i32, %c: !sparsec.cursor):
      sparsec.yield
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @role_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.role' op expects 1 thread, or at least 1 warp or warpgroup, but got 2}}
    sparsec.role "producer" thread(2) registers(0) {
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @role_c1_none attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    // expected-error @+1 {{'sparsec.role' op expects 1 thread, or at least 1 warp or warpgroup, but got 0}}
    sparsec.role "consumer" warpgroup(0) registers(0) {
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @view_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    // expected-error @+1 {{'sparsec.view' op expects the index of one of the ring's 2 buffers, but got 2}}
    %a = sparsec.view %ring {index = 2} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <64, 64, bf16, k>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @view_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    // expected-error @+1 {{'sparsec.view' op expects a part of '!sparsec.buffer<64, 64, bf16, strip = 128>', but got '!sparsec.view<128, 64, bf16, k>'}}
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <128, 64, bf16, k>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @view_c2_type attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    // expected-error @+1 {{'sparsec.view' op expects a part of '!sparsec.buffer<64, 64, bf16, strip = 128>', but got '!sparsec.view<64, 64, f16, k>'}}
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <64, 64, f16, k>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <64, 64, bf16, k>
    %b = sparsec.view %ring {index = 1} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <64, 128, bf16, mn>
    %zero = sparsec.zero : !sparsec.pending<64, 64>
    // expected-error @+1 {{'sparsec.product' op expects A of M x K, B of K x N, an accumulator and a result of M x N, but got '!sparsec.view<64, 64, bf16, k>', '!sparsec.view<64, 128, bf16, mn>', '!sparsec.pending<64, 64>' and '!sparsec.pending<64, 64>'}}
    %p = sparsec.product %a[%begin], %b[%begin], %zero {depth = 64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 128, bf16, mn>, !sparsec.pending<64, 64> -> !sparsec.pending<64, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c1_major attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <64, 64, bf16, k>
    %b = sparsec.view %ring {index = 1} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <64, 128, bf16, mn>
    %zero = sparsec.zero : !sparsec.pending<64, 64>
    // expected-error @+1 {{'sparsec.product' op expects A of M x K, B of K x N, an accumulator and a result of M x N, but got '!sparsec.view<64, 128, bf16, mn>', '!sparsec.view<64, 64, bf16, k>', '!sparsec.pending<64, 64>' and '!sparsec.pending<64, 64>'}}
    %p = sparsec.product %b[%begin], %a[%begin], %zero {depth = 64} : !sparsec.view<64, 128, bf16, mn>, !sparsec.view<64, 64, bf16, k>, !sparsec.pending<64, 64> -> !sparsec.pending<64, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <64, 64, bf16, k>
    %b = sparsec.view %ring {index = 1} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <64, 128, bf16, mn>
    %zero = sparsec.zero : !sparsec.pending<64, 128>
    // expected-error @+1 {{'sparsec.product' op expects a depth from 1 to 64, but got 80}}
    %p = sparsec.product %a[%begin], %b[%begin], %zero {depth = 80} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 128, bf16, mn>, !sparsec.pending<64, 128> -> !sparsec.pending<64, 128>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c8 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <64, 64, bf16, k>
    %b = sparsec.view %ring {index = 1} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> <64, 128, bf16, mn>
    %zero = sparsec.zero : !sparsec.pending<64, 128>
    // expected-error @+1 {{'sparsec.product' op expects a view of fp8 as A of a widened product by mma_sync, but got '!sparsec.view<64, 64, bf16, k>'}}
    %p = sparsec.product %a[%begin], %b[%begin], %zero {depth = 64, widened} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 128, bf16, mn>, !sparsec.pending<64, 128> -> !sparsec.pending<64, 128>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c9 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, k>
    %b = sparsec.view %ring {index = 1} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]> -> <64, 64, bf16, mn>
    %zero = sparsec.zero : !sparsec.pending<64, 72>
    // expected-error @+1 {{'sparsec.product' op expects a fragment as A, a B of 64 columns and a pending result beside ones, but got '!sparsec.view<64, 64, bf16, k>', '!sparsec.view<64, 64, bf16, mn>' and '!sparsec.pending<64, 72>'}}
    %p = sparsec.product %a[%begin], %b[%begin], %zero {depth = 64, ones = 0} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 64, bf16, mn>, !sparsec.pending<64, 72> -> !sparsec.pending<64, 72>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @await_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %zero = sparsec.zero : !sparsec.pending<64, 128>
    // expected-error @+1 {{'sparsec.await' op expects outstanding to be from 0 to 7, but got 8}}
    %sum = sparsec.await %zero {outstanding = 8} : <64, 128> -> !sparsec.accumulator<64, 128>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @await_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %zero = sparsec.zero : !sparsec.pending<64, 128>
    // expected-error @+1 {{'sparsec.await' op expects a result of the size of its operand, '!sparsec.pending<64, 128>', but got '!sparsec.accumulator<64, 64>'}}
    %sum = sparsec.await %zero {outstanding = 0} : <64, 128> -> !sparsec.accumulator<64, 64>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @promote_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %y: tensor<?x?xbf16>):
    %sum = sparsec.zero : !sparsec.accumulator<64, 256>
    %part = sparsec.zero : !sparsec.accumulator<64, 128>
    // expected-error @+1 {{'sparsec.promote' op expects a part with the rows of '!sparsec.accumulator<64, 256>' and columns of it from a multiple of 8 on, but got '!sparsec.accumulator<64, 128>' at column 192}}
    %next = sparsec.promote %part to %sum {column = 192} : <64, 128>, <64, 256>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @promote_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %sum = sparsec.zero : !sparsec.accumulator<64, 256>
    %part = sparsec.zero : !sparsec.accumulator<64, 128>
    %factors = sparsec.column_scales %t[%zero, %zero] : tensor<?x?xf32> -> <256>
    // expected-error @+1 {{'sparsec.promote' op expects a scale for each column of '!sparsec.accumulator<64, 128>', but got '!sparsec.column_scales<256>'}}
    %next = sparsec.promote %part times %factors : !sparsec.column_scales<256> to %sum {column = 0} : <64, 128>, <64, 256>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @promote_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %sum = sparsec.zero : !sparsec.accumulator<64, 256>
    %part = sparsec.zero : !sparsec.accumulator<64, 128>
    %scales = sparsec.ring : <2, [!sparsec.buffer<1, 256, f32>]>
    %c = sparsec.cursor %scales : <2, [!sparsec.buffer<1, 256, f32>]>
    %rows = sparsec.row_scales %scales[%c] at(%zero) : <2, [!sparsec.buffer<1, 256, f32>]> -> <128>
    // expected-error @+1 {{'sparsec.promote' op expects a scale for each row of '!sparsec.accumulator<64, 128>', but got '!sparsec.row_scales<128>'}}
    %next = sparsec.promote %part rows(%rows : !sparsec.row_scales<128>) to %sum {column = 0} : <64, 128>, <64, 256>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @promote_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %sum = sparsec.zero : !sparsec.accumulator<64, 256>
    %part = sparsec.zero : !sparsec.accumulator<64, 128>
    %scales = sparsec.ring : <2, [!sparsec.buffer<1, 256, f32>]>
    %c = sparsec.cursor %scales : <2, [!sparsec.buffer<1, 256, f32>]>
    %rows = sparsec.row_scales %scales[%c] at(%zero) : <2, [!sparsec.buffer<1, 256, f32>]> -> <64>
    %factors = sparsec.column_scales %t[%zero, %zero] : tensor<?x?xf32> -> <128>
    // expected-error @+1 {{'sparsec.promote' op expects scales of rows or of columns, but got both}}
    %next = sparsec.promote %part times %factors : !sparsec.column_scales<128> rows(%rows : !sparsec.row_scales<64>) to %sum {column = 0} : <64, 128>, <64, 256>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @stage_scales_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>} {
  ^bb0(%y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %tiles = sparsec.ring : <2, [!sparsec.buffer<64, 32, bf16, strip = 64>]>
    %t = sparsec.cursor %tiles : <2, [!sparsec.buffer<64, 32, bf16, strip = 64>]>
    %ring = sparsec.ring : <8, [!sparsec.buffer<1, 64, f32>]>
    %c = sparsec.cursor %ring : <8, [!sparsec.buffer<1, 64, f32>]>
    // expected-error @+1 {{'sparsec.stage_scales' op expects tiles of f32 in one strip, with a multiple of 32 rows, but got '!sparsec.ring<2, [!sparsec.buffer<64, 32, bf16, strip = 64>]>'}}
    sparsec.stage_scales %tiles[%t] part(%zero) to %ring[%c] : !sparsec.ring<2, [!sparsec.buffer<64, 32, bf16, strip = 64>]>, !sparsec.ring<8, [!sparsec.buffer<1, 64, f32>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @stage_scales_c1_strips attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>} {
  ^bb0(%y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %tiles = sparsec.ring : <2, [!sparsec.buffer<64, 64, f32, strip = 128>]>
    %t = sparsec.cursor %tiles : <2, [!sparsec.buffer<64, 64, f32, strip = 128>]>
    %ring = sparsec.ring : <8, [!sparsec.buffer<1, 64, f32>]>
    %c = sparsec.cursor %ring : <8, [!sparsec.buffer<1, 64, f32>]>
    // expected-error @+1 {{'sparsec.stage_scales' op expects tiles of f32 in one strip, with a multiple of 32 rows, but got '!sparsec.ring<2, [!sparsec.buffer<64, 64, f32, strip = 128>]>'}}
    sparsec.stage_scales %tiles[%t] part(%zero) to %ring[%c] : !sparsec.ring<2, [!sparsec.buffer<64, 64, f32, strip = 128>]>, !sparsec.ring<8, [!sparsec.buffer<1, 64, f32>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @stage_scales_c1_rows attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>} {
  ^bb0(%y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %tiles = sparsec.ring : <2, [!sparsec.buffer<48, 32, f32, strip = 128>]>
    %t = sparsec.cursor %tiles : <2, [!sparsec.buffer<48, 32, f32, strip = 128>]>
    %ring = sparsec.ring : <8, [!sparsec.buffer<1, 64, f32>]>
    %c = sparsec.cursor %ring : <8, [!sparsec.buffer<1, 64, f32>]>
    // expected-error @+1 {{'sparsec.stage_scales' op expects tiles of f32 in one strip, with a multiple of 32 rows, but got '!sparsec.ring<2, [!sparsec.buffer<48, 32, f32, strip = 128>]>'}}
    sparsec.stage_scales %tiles[%t] part(%zero) to %ring[%c] : !sparsec.ring<2, [!sparsec.buffer<48, 32, f32, strip = 128>]>, !sparsec.ring<8, [!sparsec.buffer<1, 64, f32>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @stage_scales_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>} {
  ^bb0(%y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %tiles = sparsec.ring : <2, [!sparsec.buffer<64, 32, f32, strip = 128>]>
    %t = sparsec.cursor %tiles : <2, [!sparsec.buffer<64, 32, f32, strip = 128>]>
    %ring = sparsec.ring : <8, [!sparsec.buffer<1, 32, f32>]>
    %c = sparsec.cursor %ring : <8, [!sparsec.buffer<1, 32, f32>]>
    // expected-error @+1 {{'sparsec.stage_scales' op expects a ring whose last buffer is a row of at least 64 f32, but got '!sparsec.ring<8, [!sparsec.buffer<1, 32, f32>]>'}}
    sparsec.stage_scales %tiles[%t] part(%zero) to %ring[%c] : !sparsec.ring<2, [!sparsec.buffer<64, 32, f32, strip = 128>]>, !sparsec.ring<8, [!sparsec.buffer<1, 32, f32>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_scales_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %scales = sparsec.ring : <2, [!sparsec.buffer<1, 256, f32>]>
    %c = sparsec.cursor %scales : <2, [!sparsec.buffer<1, 256, f32>]>
    // expected-error @+1 {{'sparsec.copy_scales' op expects x_scale to have rank 2, but got 'tensor<?xf32>'}}
    sparsec.copy_scales %t[%zero, %zero] to %scales[%c] : tensor<?xf32>, !sparsec.ring<2, [!sparsec.buffer<1, 256, f32>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_scales_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %scales = sparsec.ring : <2, [!sparsec.buffer<2, 256, f32>]>
    %c = sparsec.cursor %scales : <2, [!sparsec.buffer<2, 256, f32>]>
    // expected-error @+1 {{'sparsec.copy_scales' op expects a ring whose last buffer is a row of at least 1 f32, but got '!sparsec.ring<2, [!sparsec.buffer<2, 256, f32>]>'}}
    sparsec.copy_scales %t[%zero, %zero] to %scales[%c] : tensor<?x?xf32>, !sparsec.ring<2, [!sparsec.buffer<2, 256, f32>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_scales_c2_type attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %scales = sparsec.ring : <2, [!sparsec.buffer<1, 256, f16>]>
    %c = sparsec.cursor %scales : <2, [!sparsec.buffer<1, 256, f16>]>
    // expected-error @+1 {{'sparsec.copy_scales' op expects a ring whose last buffer is a row of at least 1 f32, but got '!sparsec.ring<2, [!sparsec.buffer<1, 256, f16>]>'}}
    sparsec.copy_scales %t[%zero, %zero] to %scales[%c] : tensor<?x?xf32>, !sparsec.ring<2, [!sparsec.buffer<1, 256, f16>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @staged_scales_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %scales = sparsec.ring : <2, [!sparsec.buffer<1, 256, f32>]>
    %c = sparsec.cursor %scales : <2, [!sparsec.buffer<1, 256, f32>]>
    // expected-error @+1 {{'sparsec.staged_scales' op expects a multiple of 8 columns, but got 12}}
    %rows = sparsec.staged_scales %scales[%c] at(%zero) : <2, [!sparsec.buffer<1, 256, f32>]> -> <12>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @staged_scales_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %scales = sparsec.ring : <2, [!sparsec.buffer<1, 256, f32>]>
    %c = sparsec.cursor %scales : <2, [!sparsec.buffer<1, 256, f32>]>
    // expected-error @+1 {{'sparsec.staged_scales' op expects a ring whose last buffer is a row of at least 320 f32, but got '!sparsec.ring<2, [!sparsec.buffer<1, 256, f32>]>'}}
    %rows = sparsec.staged_scales %scales[%c] at(%zero) : <2, [!sparsec.buffer<1, 256, f32>]> -> <320>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @row_scales_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %scales = sparsec.ring : <2, [!sparsec.buffer<1, 256, f32>]>
    %c = sparsec.cursor %scales : <2, [!sparsec.buffer<1, 256, f32>]>
    // expected-error @+1 {{'sparsec.row_scales' op expects a multiple of 64 rows, but got 96}}
    %rows = sparsec.row_scales %scales[%c] at(%zero) : <2, [!sparsec.buffer<1, 256, f32>]> -> <96>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @row_scales_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %scales = sparsec.ring : <2, [!sparsec.buffer<1, 256, f32>]>
    %c = sparsec.cursor %scales : <2, [!sparsec.buffer<1, 256, f32>]>
    // expected-error @+1 {{'sparsec.row_scales' op expects a ring whose last buffer is a row of at least 320 f32, but got '!sparsec.ring<2, [!sparsec.buffer<1, 256, f32>]>'}}
    %rows = sparsec.row_scales %scales[%c] at(%zero) : <2, [!sparsec.buffer<1, 256, f32>]> -> <320>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @product_c7 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    %registers = sparsec.zero : !sparsec.accumulator<64, 64>
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>, !sparsec.buffer<128, 128, f8E4M3FN, strip = 128>]>
    %slot = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>, !sparsec.buffer<128, 128, f8E4M3FN, strip = 128>]>
    %a = sparsec.view %ring {index = 0} : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>, !sparsec.buffer<128, 128, f8E4M3FN, strip = 128>]> -> <64, 128, f8E4M3FN, k>
    %b = sparsec.view %ring {index = 1} : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>, !sparsec.buffer<128, 128, f8E4M3FN, strip = 128>]> -> <128, 128, f8E4M3FN, k>
    // expected-error @+1 {{'sparsec.product' op expects registers of '!sparsec.pending<64, 128>' for a pending product without an accumulator, but got '!sparsec.accumulator<64, 64>'}}
    %p = sparsec.product %a[%slot], %b[%slot] in(%registers : !sparsec.accumulator<64, 64>) {depth = 128} : !sparsec.view<64, 128, f8E4M3FN, k>, !sparsec.view<128, 128, f8E4M3FN, k> -> !sparsec.pending<64, 128>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @column_scales_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.column_scales' op expects x_scale to have rank 2, but got 'tensor<?xf32>'}}
    %factors = sparsec.column_scales %t[%zero, %zero] : tensor<?xf32> -> <128>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @column_scales_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>, %y: tensor<?x?xbf16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.column_scales' op expects a multiple of 8 columns, but got 12}}
    %factors = sparsec.column_scales %t[%zero, %zero] : tensor<?x?xf32> -> <12>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @promote_c1_rows attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %y: tensor<?x?xbf16>):
    %sum = sparsec.zero : !sparsec.accumulator<64, 256>
    %part = sparsec.zero : !sparsec.accumulator<128, 128>
    // expected-error @+1 {{'sparsec.promote' op expects a part with the rows of '!sparsec.accumulator<64, 256>' and columns of it from a multiple of 8 on, but got '!sparsec.accumulator<128, 128>' at column 0}}
    %next = sparsec.promote %part to %sum {column = 0} : <128, 128>, <64, 256>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @promote_c1_column attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %y: tensor<?x?xbf16>):
    %sum = sparsec.zero : !sparsec.accumulator<64, 256>
    %part = sparsec.zero : !sparsec.accumulator<64, 128>
    // expected-error @+1 {{'sparsec.promote' op expects a part with the rows of '!sparsec.accumulator<64, 256>' and columns of it from a multiple of 8 on, but got '!sparsec.accumulator<64, 128>' at column 4}}
    %next = sparsec.promote %part to %sum {column = 4} : <64, 128>, <64, 256>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @promote_c1_negative attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E4M3FN>, %y: tensor<?x?xbf16>):
    %sum = sparsec.zero : !sparsec.accumulator<64, 256>
    %part = sparsec.zero : !sparsec.accumulator<64, 128>
    // expected-error @+1 {{'sparsec.promote' op expects a part with the rows of '!sparsec.accumulator<64, 256>' and columns of it from a multiple of 8 on, but got '!sparsec.accumulator<64, 128>' at column -8}}
    %next = sparsec.promote %part to %sum {column = -8} : <64, 128>, <64, 256>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects the index of one of the ring's 2 buffers, but got 2}}
    sparsec.copy %x[%zero, %zero] to %ring[%begin] {index = 2} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects 2 coordinates, but got 1}}
    sparsec.copy %x[%zero] to %ring[%begin] {index = 1} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c2_blocks attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects 3 coordinates, but got 2}}
    sparsec.copy %w[%zero, %zero] to %ring[%begin] {index = 0} : !sparsec.bsr<?x?xbf16, block = 64x64>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects block columns only for blocks of a matrix, but got some for 'tensor<?x?xbf16>'}}
    sparsec.copy %x[%zero, %zero] block_columns(%zero) to %ring[%begin] {index = 1} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @wait_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
    // expected-error @+1 {{'sparsec.wait' op expects no message, or two of a ring with messages, but got 1}}
    %a = sparsec.wait %ring[%begin] : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]> -> i32
  }
}
