// RUN: sparsec-opt %s --split-input-file --sparsec-select-schedule --verify-diagnostics | FileCheck %s

// The pattern's blocks and the head dimension are the tile; there is no second variant.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // Two consumers. 1 + 6 buffers of 32 KiB and their 24 bytes each are 229544 bytes; one more is more than an SM has.
  // CHECK-LABEL: sparsec.kernel @blocks_of_128
  // CHECK-NOT: fallback_schedule
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 6, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232, raster = 1>}
  sparsec.kernel @blocks_of_128(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>) {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }

  // Two CTAs of one consumer. 1 + 6 buffers of 16 KiB are 114856 bytes, twice.
  // CHECK-LABEL: sparsec.kernel @blocks_of_64
  // CHECK-NOT: fallback_schedule
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 128, stages = 6, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216, raster = 1, ctas_per_sm = 2>}
  sparsec.kernel @blocks_of_64(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x128xbf16>) {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }

  // Without a pattern blocks are the largest; 8 stages are enough.
  // CHECK-LABEL: sparsec.kernel @no_pattern
  // CHECK-NOT: fallback_schedule
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 64, stages = 8, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232, raster = 1>}
  sparsec.kernel @no_pattern(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> (o: tensor<?x?x?x64xf16>) {
    %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    sparsec.return %o : tensor<?x?x?x64xf16>
  }

  // A schedule written by hand wins.
  // CHECK-LABEL: sparsec.kernel @by_hand
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>}
  sparsec.kernel @by_hand(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

// The host has no schedules.
module attributes {sparsec.target = #sparsec.target<"host">} {
  // CHECK-LABEL: sparsec.kernel @on_host
  // CHECK-NOT: schedule
  sparsec.kernel @on_host(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

// 1 + 7 buffers of 32 KiB and 24 bytes.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects at most 232448 bytes of shared memory on sm_90a, but the schedule needs 262336 (29888 too many)}}
  sparsec.kernel @too_much_shared_memory(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 7, consumers_m = 2, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects tile_n to be 64 for attention, but got 128}}
  sparsec.kernel @not_the_block_of_the_pattern(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects wgmma with tma, or mma_sync with cp_async, for attention, but got mma_sync with gather}}
  sparsec.kernel @other_instruction(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = gather, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 8, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op expects no fallback_schedule: attention has one variant}}
  sparsec.kernel @fallback(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = gather, tile_m = 16, tile_n = 32, tile_k = 16, stages = 2, consumers_m = 1, consumers_n = 2>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

// Without wgmma a warp has 16 queries; a step may be a part of a key block.
module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  // 128 queries and two steps of 64 keys and of 64 values, all of 256 bytes: 98304 of 101376 bytes.
  // CHECK-LABEL: sparsec.kernel @ada_blocks_of_128
  // CHECK-NOT: fallback_schedule
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 8, consumers_n = 1, raster = 1>}
  sparsec.kernel @ada_blocks_of_128(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>) {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }

  // Two CTAs of four warps: 81920 bytes do not fit twice, 49152 do.
  // CHECK-LABEL: sparsec.kernel @ada_blocks_of_64
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 128, stages = 2, consumers_m = 4, consumers_n = 1, raster = 1, ctas_per_sm = 2>}
  sparsec.kernel @ada_blocks_of_64(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x128xbf16>) {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }

  // CHECK-LABEL: sparsec.kernel @ada_no_pattern
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 8, consumers_n = 1, raster = 1>}
  sparsec.kernel @ada_no_pattern(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> (o: tensor<?x?x?x64xf16>) {
    %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    sparsec.return %o : tensor<?x?x?x64xf16>
  }

  // By hand: more stages, whole blocks, a limit of registers.
  // CHECK-LABEL: sparsec.kernel @ada_by_hand
  // CHECK-SAME: tile_n = 128, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1, consumer_registers = 168>}
  sparsec.kernel @ada_by_hand(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<64x128>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 128, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1, consumer_registers = 168>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x128>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects what sm_89 has, but got instruction = wgmma}}
  sparsec.kernel @no_wgmma(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects tile_n to be a multiple of 32 that divides 64 for attention, but got 128}}
  sparsec.kernel @more_than_a_block(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 128, tile_k = 64, stages = 2, consumers_m = 8, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}
