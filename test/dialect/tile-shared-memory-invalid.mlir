// RUN: sparsec-opt %s --split-input-file --verify-diagnostics

// Shared memory that two uses share, or that is not there.

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sparsec.program' op expects shared memory from 0 to 16384, but buffer 0 of a ring has 1024 to 17408}}
  sparsec.program @program_c2 attributes {kernel = @k, variant = 0, alignment = 16, shared_memory = 16384, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring {offsets = array<i64: 1024>} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sparsec.program' op expects shared memory from 0 to 16400, but the barriers of a ring have 16384 to 16416}}
  sparsec.program @program_c2_barriers attributes {kernel = @k, variant = 0, alignment = 16, shared_memory = 16400, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring {offsets = array<i64: 0>, barrier_offset = 16384} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sparsec.program' op expects shared memory from 0 to 4096, but buffer 0 of a ring has 0 to 6144}}
  sparsec.program @program_c2_slices attributes {kernel = @k, variant = 0, alignment = 16, shared_memory = 16384, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring {offsets = array<i64: 0>} : <3, [!sparsec.buffer<16, 64, bf16, swizzle = 128>]>
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sparsec.program' op expects shared memory from 65536 to 65544, but the issuer has 16384 to 16388}}
  sparsec.program @program_c2_issuer attributes {kernel = @k, variant = 0, alignment = 16, shared_memory = 65544, tile_bytes = 32768, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, concurrent_tiles = 2>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %issuer = sparsec.issuer {offset = 16384}
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sparsec.program' op expects shared memory without overlaps, but the barriers of a ring have 16384 to 16432, and the barriers of a ring have 16424 to 16472}}
  sparsec.program @program_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring {offsets = array<i64: 0>, messages, barrier_offset = 16384} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    %second = sparsec.ring {offsets = array<i64: 17408>, messages, barrier_offset = 16424} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sparsec.program' op expects shared memory without overlaps, but buffer 0 of a ring has 0 to 16384, and the staging of a store has 8192 to 12288}}
  sparsec.program @program_c3_staging attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring {offsets = array<i64: 0>} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
    sparsec.role "consumer" warpgroup(1) registers(0) {
      %zero = arith.constant 0 : i32
      %sum = sparsec.zero : !sparsec.accumulator<64, 64>
      sparsec.store %sum to %x[%zero, %zero, %zero] part %zero at (%zero, %zero)
          attributes {broadcast = [], block_rows = 64, staged, staging = array<i64: 8192, 32, 1>} : <64, 64> -> tensor<?x?xbf16> {
      ^bb0(%element: f32):
        sparsec.yield %element : f32
      }
    }
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sparsec.program' op expects buffers of tensor copies at multiples of 1024 bytes}}
  sparsec.program @program_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring {offsets = array<i64: 512>} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  // expected-error @+1 {{'sparsec.program' op expects shared memory from 0 to 65536, but buffer 0 of a ring has 1024 to 9223372036854775807}}
  sparsec.program @program_c2_sizes attributes {kernel = @k, variant = 0, alignment = 16, shared_memory = 65536, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring {offsets = array<i64: 1024>} : <4611686018427387904, [!sparsec.buffer<4611686018427387904, 64, bf16, strip = 128>]>
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c8 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128, swizzle = 64>]>
    sparsec.role "producer" thread(1) registers(40) {
      %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128, swizzle = 64>]>
      %row = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.copy' op expects a buffer of strips with the swizzle of their length, but got '!sparsec.buffer<64, 64, bf16, strip = 128, swizzle = 64>'}}
      sparsec.copy %x[%row, %row] to %ring[%c] {index = 0} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16, strip = 128, swizzle = 64>]>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @program_c8_rows attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1>} {
  ^bb0(%x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, bf16>]>
    sparsec.role "producer" thread(1) registers(40) {
      %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16>]>
      %row = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.copy' op expects a buffer of strips with the swizzle of their length, but got '!sparsec.buffer<64, 64, bf16>'}}
      sparsec.copy %x[%row, %row] to %ring[%c] {index = 0} : tensor<?x?xbf16>, <2, [!sparsec.buffer<64, 64, bf16>]>
    }
  }
}

// -----

gpu.module @kernels {
  // The second slice hands 64 * 64 sums over.
  // expected-error @+1 {{'sparsec.program' op expects shared memory from 65536 to 81920, but the sums of slices have 66560 to 82944}}
  sparsec.program @program_c2_sums attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 1, consumers_n = 1, slices = 2>, tile_bytes = 32768, shared_memory = 81920} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>):
    sparsec.role "consumer" warpgroup(1) registers(0) {
      %sum = sparsec.zero : !sparsec.accumulator<64, 64>
      %all = sparsec.add_slices %sum {offset = 66560 : i64} : <64, 64>
    }
  }
}
