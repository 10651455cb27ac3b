// RUN: sparsec-opt %s --split-input-file --sparsec-select-schedule --verify-diagnostics | FileCheck %s

// Blocks of the pattern and the head dimension decide. A second variant copies single elements, of any alignment: eight
// warps on an SM, whose steps have 32 keys.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // Two consumers, for which the queries have two buffers. 2 + 5 of 32 KiB and their 24 bytes each are 229544 bytes; one
  // more is more than an SM has.
  // CHECK-LABEL: sparsec.kernel @blocks_of_128
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 128, tile_n = 32, tile_k = 128, stages = 2, consumers_m = 8, consumers_n = 1, group_m = 1>
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232, group_m = 1>}
  sparsec.kernel @blocks_of_128(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>) {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }

  // Two tiles side by side. 1 + 6 buffers of 16 KiB and their control words are 115712 bytes, rounded up to 1024, twice.
  // CHECK-LABEL: sparsec.kernel @blocks_of_64
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 32, tile_k = 128, stages = 2, consumers_m = 4, consumers_n = 1, group_m = 1, ctas_per_sm = 2>
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 128, stages = 6, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 232, group_m = 1, concurrent_tiles = 2>}
  sparsec.kernel @blocks_of_64(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x128xbf16>) {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }

  // Packed queries: groups of 16 tile rows, which is the default and not printed.
  // CHECK-LABEL: sparsec.kernel @packed_queries
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 128, tile_n = 32, tile_k = 128, stages = 2, consumers_m = 8, consumers_n = 1>
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>
  sparsec.kernel @packed_queries(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %s: tensor<?xi32>) -> (o: tensor<?x?x?x128xbf16>) {
    %o = sparsec.attention %q, %k, %v query_starts(%s) key_starts(%s) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xi32>, tensor<?xi32>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }

  // Heads of 64: three tiles of 64 queries, and 128 keys a step. 8 KiB, 4 buffers of 16 KiB and their control words are
  // 74752 bytes, rounded up to 1024, three times.
  // CHECK-LABEL: sparsec.kernel @no_pattern
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 128, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 8, consumers_n = 1, group_m = 1>
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, producer_registers = 32, consumer_registers = 160, group_m = 1, concurrent_tiles = 3>}
  sparsec.kernel @no_pattern(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> (o: tensor<?x?x?x64xf16>) {
    %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    sparsec.return %o : tensor<?x?x?x64xf16>
  }

  // A soft cap fits beside three tiles where its coefficients are constants and one reference serves all scores.
  // CHECK-LABEL: sparsec.kernel @softcap
  // CHECK-SAME: consumer_registers = 160, group_m = 1, concurrent_tiles = 3>
  sparsec.kernel @softcap(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
      %cap = arith.constant 20.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x fastmath<afn> : f32
      %r = arith.mulf %t, %cap : f32
      sparsec.yield %r : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }

  // CHECK-LABEL: sparsec.kernel @softcap_with_scale
  // CHECK-SAME: consumer_registers = 232, group_m = 1, concurrent_tiles = 2>
  sparsec.kernel @softcap_with_scale(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %c: f32) -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v scale(%c) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
      %cap = arith.constant 20.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x fastmath<afn> : f32
      %r = arith.mulf %t, %cap : f32
      sparsec.yield %r : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, f32) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }

  // CHECK-LABEL: sparsec.kernel @softcap_of_f16
  // CHECK-SAME: consumer_registers = 232, group_m = 1, concurrent_tiles = 2>
  sparsec.kernel @softcap_of_f16(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> (o: tensor<?x?x?x64xf16>) {
    %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
      %cap = arith.constant 20.0 : f32
      %x = arith.divf %s, %cap : f32
      %t = math.tanh %x fastmath<afn> : f32
      %r = arith.mulf %t, %cap : f32
      sparsec.yield %r : f32
    } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    sparsec.return %o : tensor<?x?x?x64xf16>
  }

  // What a region loads by batch and head is the same for all scores of a tile.
  // CHECK-LABEL: sparsec.kernel @load_by_head
  // CHECK-SAME: consumer_registers = 160, group_m = 1, concurrent_tiles = 3>
  sparsec.kernel @load_by_head(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %slopes: tensor<?x?xf32>) -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v extras(%slopes) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?x?xf32>) {
      %slope = sparsec.element %t[%b, %h] : tensor<?x?xf32>
      %r = arith.mulf %s, %slope : f32
      sparsec.yield %r : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?xf32>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }

  // Masks take more registers than three tiles leave, whatever they load.
  // CHECK-LABEL: sparsec.kernel @mask_by_batch
  // CHECK-SAME: consumer_registers = 232, group_m = 1, concurrent_tiles = 2>
  sparsec.kernel @mask_by_batch(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %lengths: tensor<?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v extras(%lengths) mask (%b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xi32>) {
      %length = sparsec.element %t[%b] : tensor<?xi32>
      %inside = arith.cmpi slt, %j, %length : i32
      sparsec.yield %inside : i1
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xi32>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }

  // A score region gets the score first: argument 3 is the query.
  // CHECK-LABEL: sparsec.kernel @score_by_query
  // CHECK-SAME: consumer_registers = 232, group_m = 1, concurrent_tiles = 2>
  sparsec.kernel @score_by_query(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %scales: tensor<?x?xf32>) -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v extras(%scales) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?x?xf32>) {
      %factor = sparsec.element %t[%h, %i] : tensor<?x?xf32>
      %r = arith.mulf %s, %factor : f32
      sparsec.yield %r : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?xf32>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }

  // What it loads by query or key takes registers: of two tiles, each has more.
  // CHECK-LABEL: sparsec.kernel @load_by_key
  // CHECK-SAME: stages = 6, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 232, group_m = 1, concurrent_tiles = 2>
  sparsec.kernel @load_by_key(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %ids: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v extras(%ids) mask (%b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?x?xi32>) {
      %mine = sparsec.element %t[%b, %h] : tensor<?x?xi32>
      %theirs = sparsec.element %t[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %mine, %theirs : i32
      sparsec.yield %same : i1
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?xi32>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }

  // So does a place that the region computes.
  // CHECK-LABEL: sparsec.kernel @load_by_distance
  // CHECK-SAME: consumer_registers = 232, group_m = 1, concurrent_tiles = 2>
  sparsec.kernel @load_by_distance(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %bias: tensor<?x?xf32>) -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v extras(%bias) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?x?xf32>) {
      %distance = arith.subi %i, %j : i32
      %bias_here = sparsec.element %t[%h, %distance] : tensor<?x?xf32>
      %r = arith.addf %s, %bias_here : f32
      sparsec.yield %r : f32
    } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?xf32>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }

  // A schedule written by hand wins; it gets a second variant too.
  // CHECK-LABEL: sparsec.kernel @by_hand
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 128, tile_n = 32, tile_k = 64,
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>}
  sparsec.kernel @by_hand(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }

  // So does a fallback.
  // CHECK-LABEL: sparsec.kernel @fallback_by_hand
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 4, consumers_n = 1>
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma
  sparsec.kernel @fallback_by_hand(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 4, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }

  // A schedule that takes any alignment needs none.
  // CHECK-LABEL: sparsec.kernel @any_alignment_by_hand
  // CHECK-NOT: fallback_schedule
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar,
  sparsec.kernel @any_alignment_by_hand(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 8, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

// Where ptxas has refused schedules, the next ones are taken: two tiles, then one role. The last one stays.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // CHECK-LABEL: sparsec.kernel @refused_once
  // CHECK-NOT: refused
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, {{.*}}, concurrent_tiles = 2>
  sparsec.kernel @refused_once(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> (o: tensor<?x?x?x64xf16>)
      attributes {sparsec.refused_schedules = ["spills"]} {
    %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    sparsec.return %o : tensor<?x?x?x64xf16>
  }

  // CHECK-LABEL: sparsec.kernel @refused_often
  // CHECK-NOT: refused
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 32, tile_k = 64,
  sparsec.kernel @refused_often(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> (o: tensor<?x?x?x64xf16>)
      attributes {sparsec.refused_schedules = ["a", "b", "c", "d", "e", "f"], sparsec.refused_fallback_schedules = ["g", "h"]} {
    %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
    sparsec.return %o : tensor<?x?x?x64xf16>
  }
}

// -----

// The host has a schedule of its own.
module attributes {sparsec.target = #sparsec.target<"host">} {
  // CHECK-LABEL: sparsec.kernel @on_host
  // CHECK-SAME: attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 64, tile_k = 64, stages = 1,
  sparsec.kernel @on_host(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>) -> (o: tensor<?x?x?x64xbf16>) {
    %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

// 2 + 6 buffers of 32 KiB and 24 bytes.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects at most 232448 bytes of shared memory on sm_90a, but the schedule needs 262336 (29888 too many)}}
  sparsec.kernel @too_much_shared_memory(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 6, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects tile_n to be 32, 64 or 128 for attention, but got 256}}
  sparsec.kernel @neither_one_block_nor_two(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

// One warp for each tile: the producer's warpgroup has four.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects at most 4 concurrent_tiles for attention, but the schedule needs 5 (1 too many)}}
  sparsec.kernel @too_many_tiles(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, concurrent_tiles = 5>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects wgmma with tma, or mma_sync with cp_async or scalar, for attention, but got mma_sync with tma}}
  sparsec.kernel @other_instruction(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 8, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op fallback_schedule expects copy = scalar, but got cp_async}}
  sparsec.kernel @fallback_needs_alignment(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 8, consumers_n = 1>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op fallback_schedule expects tile_m to be 64 or 128 for attention, but got 16}}
  sparsec.kernel @bad_fallback(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 16, tile_n = 32, tile_k = 16, stages = 2, consumers_m = 1, consumers_n = 2>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

// Without wgmma a warp has 16 queries; a step may be a part of a key block.
module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  // 128 queries and two steps of 64 keys and of 64 values, all of 256 bytes: 98304 of 101376 bytes.
  // CHECK-LABEL: sparsec.kernel @ada_blocks_of_128
  // CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 128, tile_n = 32, tile_k = 128, stages = 2, consumers_m = 8, consumers_n = 1, group_m = 1>
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 8, consumers_n = 1, group_m = 1>}
  sparsec.kernel @ada_blocks_of_128(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>) {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }

  // Two CTAs of four warps: 81920 bytes do not fit twice, 49152 do.
  // CHECK-LABEL: sparsec.kernel @ada_blocks_of_64
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 128, stages = 2, consumers_m = 4, consumers_n = 1, group_m = 1, ctas_per_sm = 2>}
  sparsec.kernel @ada_blocks_of_64(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x128xbf16>) {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x128xbf16>
    sparsec.return %o : tensor<?x?x?x128xbf16>
  }

  // CHECK-LABEL: sparsec.kernel @ada_no_pattern
  // CHECK-SAME: schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 8, consumers_n = 1, group_m = 1>}
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

// -----

// 32 sums, 32 scores and 16 pairs of probabilities, and at least 24 others.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects at most 96 registers per consumer thread, but the schedule needs 104 (8 too many)}}
  sparsec.kernel @too_few_registers(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, concurrent_tiles = 4>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}

// -----

// 640 threads have 96 registers each at launch, which consumers cannot give back.
module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
  // expected-error @+1 {{'sparsec.kernel' op schedule expects consumer_registers to be at least 96, the registers of a thread at launch on sm_90a, but got 24}}
  sparsec.kernel @fewer_than_at_launch(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x64xbf16>)
      attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, concurrent_tiles = 4, producer_registers = 64, consumer_registers = 24>} {
    %o = sparsec.attention %q, %k, %v pattern(%p) : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x64xbf16>
    sparsec.return %o : tensor<?x?x?x64xbf16>
  }
}
