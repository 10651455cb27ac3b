// RUN: sparsec-opt %s --split-input-file --verify-diagnostics

// Constraints of what sddmm brought to the ops of roles.

// -----

gpu.module @kernels {
  sparsec.program @copy_c6 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects rows or columns that begin at a place}}
    sparsec.copy %x[%zero, %zero] to %ring[%begin] at(%zero) {index = 0} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c7 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects columns to be from 1 to the 64 of the buffer, for a tensor}}
    sparsec.copy %x[%zero, %zero] to %ring[%begin] at(%zero) {index = 0, columns = 65} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @copy_c7_block attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.copy' op expects columns to be from 1 to the 64 of the buffer, for a tensor}}
    sparsec.copy %w[%zero, %zero, %zero] to %ring[%begin] {index = 0, columns = 64} : !sparsec.bsr<?x?xbf16, block = 64x64>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @post_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.post' op expects no bytes for an empty slot}}
    sparsec.post %ring[%begin] bytes(%zero) {empty} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @size_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%scale: f32):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.size' op expects a tensor or a !sparsec.bsr, but got 'f32'}}
    %size = sparsec.size %scale {dimension = 0} : f32
  }
}

// -----

gpu.module @kernels {
  sparsec.program @size_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    // expected-error @+1 {{'sparsec.size' op expects a dimension from 0 to 1, but got 2}}
    %size = sparsec.size %x {dimension = 2} : tensor<?x?xbf16>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @store_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %y: tensor<?x?xbf16>, %s: tensor<?x64x64xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    %sum = sparsec.zero : !sparsec.accumulator<64, 64>
    // expected-error @+1 {{'sparsec.store' op expects a result of rank 3 for blocks, but got 'tensor<?x?xbf16>'}}
    sparsec.store %sum to %y[%zero, %zero, %zero] blocks(%zero to %zero of %p : !sparsec.bsr<?x?xbf16, block = 64x64>) attributes {broadcast = [], block_rows = 64, block_stride = 64} : <64, 64> -> tensor<?x?xbf16> {
    ^bb0(%acc: f32):
      sparsec.yield %acc : f32
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @store_c3_dense attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %y: tensor<?x?xbf16>, %s: tensor<?x64x64xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    %sum = sparsec.zero : !sparsec.accumulator<64, 64>
    // expected-error @+1 {{'sparsec.store' op expects a result of rank 2, but got 'tensor<?x64x64xbf16>'}}
    sparsec.store %sum to %s[%zero, %zero, %zero] attributes {broadcast = [], block_rows = 64} : <64, 64> -> tensor<?x64x64xbf16> {
    ^bb0(%acc: f32):
      sparsec.yield %acc : f32
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @store_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %y: tensor<?x?xbf16>, %s: tensor<?x64x64xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %zero = arith.constant 0 : i32
    %sum = sparsec.zero : !sparsec.accumulator<64, 64>
    // expected-error @+1 {{'sparsec.store' op expects a block_stride for blocks, and none without them}}
    sparsec.store %sum to %s[%zero, %zero, %zero] blocks(%zero to %zero of %p : !sparsec.bsr<?x?xbf16, block = 64x64>) attributes {broadcast = [], block_rows = 64} : <64, 64> -> tensor<?x64x64xbf16> {
    ^bb0(%acc: f32):
      sparsec.yield %acc : f32
    }
  }
}
