// RUN: sparsec-opt %s --split-input-file --verify-diagnostics

// Each module violates the constraint that its program is named after.

gpu.module @kernels {
  sparsec.program @block_walk_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.block_walk' op expects blocks to be at least 1, and 1 where there are chunk_columns, but got 0}}
    %walk = sparsec.block_walk %w from %zero to %zero {blocks = 0} : <?x?xbf16, block = 16x16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_walk_c1_chunks attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.block_walk' op expects blocks to be at least 1, and 1 where there are chunk_columns, but got 2}}
    %walk = sparsec.block_walk %w from %zero to %zero {blocks = 2, chunk_columns = 8} : <?x?xbf16, block = 16x16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_walk_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.block_walk' op expects chunk_columns to be from 1 to the 16 columns of a block, but got 32}}
    %walk = sparsec.block_walk %w from %zero to %zero {chunk_columns = 32} : <?x?xbf16, block = 16x16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_walk_c2_none attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.block_walk' op expects chunk_columns to be from 1 to the 16 columns of a block, but got 0}}
    %walk = sparsec.block_walk %w from %zero to %zero {chunk_columns = 0} : <?x?xbf16, block = 16x16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_walk_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.block_walk' op expects a rotated walk to be by whole blocks, one by one, but got 2 blocks in each step}}
    %walk = sparsec.block_walk %w from %zero to %zero {blocks = 2, rotated} : <?x?xbf16, block = 16x16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_walk_c3_chunks attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.block_walk' op expects a rotated walk to be by whole blocks, one by one, but got 1 blocks in each step, with chunk_columns}}
    %walk = sparsec.block_walk %w from %zero to %zero {chunk_columns = 8, rotated} : <?x?xbf16, block = 16x16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_walk_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %s: tensor<?xf32>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.block_walk' op expects a walk that visits scales to be by whole blocks, one by one, but got 2 blocks in each step}}
    %walk = sparsec.block_walk %w scales(%s : tensor<?xf32>) from %zero to %zero {blocks = 2} : <?x?xbf16, block = 16x16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @block_walk_c4_chunks attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %s: tensor<?xf32>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.block_walk' op expects a walk that visits scales to be by whole blocks, one by one, but got 1 blocks in each step, with chunk_columns}}
    %walk = sparsec.block_walk %w scales(%s : tensor<?xf32>) from %zero to %zero {chunk_columns = 8} : <?x?xbf16, block = 16x16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @step_c4_scales attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %s: tensor<?xf32>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.block_walk %w scales(%s : tensor<?xf32>) from %zero to %zero : <?x?xbf16, block = 16x16>
    // expected-error @+1 {{'sparsec.first_step' op expects a walk that has steps: one block of keys, or a chunk, in each, not rotated and without scales}}
    %step, %a, %c, %f = sparsec.first_step %walk : <2> -> i32, i32, f32
  }
}

// -----

gpu.module @kernels {
  sparsec.program @key_walk_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.key_walk' op expects steps of 1 or 2 blocks, but got 3}}
    %walk = sparsec.key_walk at %zero {blocks = 3, rows = 64}
  }
}

// -----

gpu.module @kernels {
  sparsec.program @key_walk_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.key_walk' op expects steps of one block or more, or parts of one, but got 2 blocks in 2 chunks}}
    %walk = sparsec.key_walk at %zero {blocks = 2, chunks = 2, rows = 64}
  }
}

// -----

gpu.module @kernels {
  sparsec.program @walk_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.block_walk %w from %zero to %zero : <?x?xbf16, block = 16x16>
    // expected-error @+1 {{'sparsec.walk' op expects results of the types of its inits, ('i32'), but got ()}}
    sparsec.walk %walk init(%zero : i32) {
    ^bb0(%block: i32, %column: i32, %carried: i32):
      sparsec.yield %carried : i32
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @walk_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%walk: !sparsec.walk):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.walk' op expects a walk from the op that defines it}}
    sparsec.walk %walk {
    ^bb0(%block: i32):
      sparsec.yield
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @walk_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.block_walk %w from %zero to %zero {chunk_columns = 8} : <?x?xbf16, block = 16x16>
    // expected-error @+1 {{'sparsec.walk' op expects a walk that has a loop: without chunk_columns}}
    sparsec.walk %walk {
    ^bb0(%block: i32, %column: i32, %k: i32):
      sparsec.yield
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @walk_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.block_walk %w from %zero to %zero : <?x?xbf16, block = 16x16>
    // expected-error @+1 {{'sparsec.walk' op expects the arguments of its body to be ('i32', 'i32'), but got ('i32')}}
    sparsec.walk %walk {
    ^bb0(%block: i32):
      sparsec.yield
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @walk_c4_transposed attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16, transposed>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.block_walk %w from %zero to %zero : <?x?xbf16, block = 16x16, transposed>
    // expected-error @+1 {{'sparsec.walk' op expects the arguments of its body to be ('i32', 'i32', 'i32'), but got ('i32', 'i32')}}
    sparsec.walk %walk {
    ^bb0(%position: i32, %column: i32):
      sparsec.yield
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @walk_c4_keys attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.key_walk at %zero {blocks = 2, rows = 64}
    // expected-error @+1 {{'sparsec.walk' op expects the arguments of its body to be ('i32', 'i32'), but got ('i32')}}
    sparsec.walk %walk {
    ^bb0(%block: i32):
      sparsec.yield
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @walk_c5 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.key_walk at %zero {rows = 64}
    // expected-error @+1 {{'sparsec.walk' op expects its body to yield ('i32'), but got ()}}
    %end = sparsec.walk %walk init(%zero : i32) -> i32 {
    ^bb0(%block: i32, %carried: i32):
      sparsec.yield
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @step_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%walk: !sparsec.walk):
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.first_step' op expects a walk from the op that defines it}}
    %step = sparsec.first_step %walk : <3>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @step_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.key_walk at %zero {rows = 64}
    // expected-error @+1 {{'sparsec.first_step' op expects a step of 3 values, but got '!sparsec.step<4>'}}
    %step = sparsec.first_step %walk : <4>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @step_c2_next attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.key_walk at %zero {rows = 64}
    %others = sparsec.block_walk %w from %zero to %zero : <?x?xbf16, block = 16x16>
    %step = sparsec.first_step %walk : <3>
    // expected-error @+1 {{'sparsec.next_step' op expects a step of 2 values, but got '!sparsec.step<3>'}}
    %next = sparsec.next_step %others[%step] : <3>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @step_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.key_walk at %zero {rows = 64}
    %step = sparsec.first_step %walk : <3>
    // expected-error @+1 {{'sparsec.read_step' op expects that a step visits ('i32'), but got ('i32', 'i32')}}
    %number, %other = sparsec.read_step %walk[%step] : <3> -> i32, i32
  }
}

// -----

gpu.module @kernels {
  sparsec.program @step_c3_first attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.key_walk at %zero {rows = 64}
    // expected-error @+1 {{'sparsec.first_step' op expects that a step visits ('i32'), but got ('i32', 'i32')}}
    %step, %number, %other = sparsec.first_step %walk : <3> -> i32, i32
  }
}

// -----

gpu.module @kernels {
  sparsec.program @step_c4_rotated attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.block_walk %w from %zero to %zero {rotated} : <?x?xbf16, block = 16x16>
    // expected-error @+1 {{'sparsec.first_step' op expects a walk that has steps: one block of keys, or a chunk, in each, not rotated and without scales}}
    %step = sparsec.first_step %walk : <2>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @step_c3_next attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.key_walk at %zero {rows = 64}
    %step = sparsec.first_step %walk : <3>
    // expected-error @+1 {{'sparsec.next_step' op expects that a step visits ('i32'), but got ('i64')}}
    %next, %number = sparsec.next_step %walk[%step] : <3> -> i64
  }
}

// -----

gpu.module @kernels {
  sparsec.program @step_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>):
    %zero = arith.constant 0 : i32
    %walk = sparsec.key_walk at %zero {blocks = 2, rows = 64}
    // expected-error @+1 {{'sparsec.first_step' op expects a walk that has steps: one block of keys, or a chunk, in each, not rotated and without scales}}
    %step, %number, %other = sparsec.first_step %walk : <3> -> i32, i32
  }
}

// -----

gpu.module @kernels {
  sparsec.program @joint_walk_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, walk = joint>} {
  ^bb0(%pattern: !sparsec.pattern<64x64>):
    %zero = arith.constant 0 : i32
    %list = sparsec.joint_list %pattern[%zero, %zero, %zero] : !sparsec.pattern<64x64>
    // expected-error @+1 {{'sparsec.joint_walk' op expects steps of 1 or 2 blocks, but got 3}}
    %walk = sparsec.joint_walk %list {blocks = 3}
  }
}
