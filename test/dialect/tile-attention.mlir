// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// Tile ops that only attention needs.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 128, stages = 6,
                              consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>

gpu.module @kernels {
  // Values form, with everything that an op can have. In dumps the arguments of blocks have names.
  // CHECK: sparsec.program @values
  // CHECK-NEXT: ^bb0(%[[Q:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[K:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[V:[a-z0-9]+]]: tensor<?x?x?x128xbf16>,
  // CHECK-SAME: %[[PATTERN:.*]]: !sparsec.pattern<128x64>, %[[SCALE:.*]]: f32, %[[SLOPES:.*]]: tensor<?xf32>, %[[LENGTHS:.*]]: tensor<?xi32>,
  // CHECK-SAME: %[[O:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[LSE:.*]]: tensor<?x?x?xf32>):
  sparsec.program @values attributes {kernel = @values, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%queries: tensor<?x?x?x128xbf16>, %keys: tensor<?x?x?x128xbf16>, %values: tensor<?x?x?x128xbf16>,
       %pattern: !sparsec.pattern<128x64>, %scale: f32, %slopes: tensor<?xf32>, %lengths: tensor<?xi32>,
       %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      // CHECK: %[[QUERIES:.*]] = sparsec.load_rows %[[Q]][%tile] : tensor<?x?x?x128xbf16> -> <128, 128, bf16>
      %q = sparsec.load_rows %queries[%tile] : tensor<?x?x?x128xbf16> -> <128, 128, bf16>
      // CHECK-NEXT: %[[ZERO:.*]] = sparsec.zero : !sparsec.accumulator<128, 128>
      %zero = sparsec.zero : !sparsec.accumulator<128, 128>
      // CHECK-NEXT: %[[BEGIN:.*]] = sparsec.softmax_begin : <128>
      %begin = sparsec.softmax_begin : <128>
      // CHECK-NEXT: %[[END:.*]]:2 = sparsec.key_loop of %[[PATTERN]] : !sparsec.pattern<128x64> at %tile
      // CHECK-SAME: init(%[[ZERO]], %[[BEGIN]] : !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128>)
      // CHECK-SAME: attributes {causal, window = array<i64: 1024, -1>}
      // CHECK-SAME: -> !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128> {
      // CHECK-NEXT: ^bb0(%block: !sparsec.block, %[[SUM:carried]]: !sparsec.accumulator<128, 128>, %[[BEFORE:carried_0]]: !sparsec.softmax_state<128>):
      %output, %state = sparsec.key_loop of %pattern : !sparsec.pattern<128x64> at %tile
          init(%zero, %begin : !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128>)
          attributes {causal, window = array<i64: 1024, -1>}
          -> !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128> {
      ^bb0(%block: !sparsec.block, %before: !sparsec.accumulator<128, 128>, %seen: !sparsec.softmax_state<128>):
        // CHECK-NEXT: %[[KEYS:.*]] = sparsec.load_rows %[[K]][%tile, %block] : tensor<?x?x?x128xbf16> -> <64, 128, bf16>
        %k = sparsec.load_rows %keys[%tile, %block] : tensor<?x?x?x128xbf16> -> <64, 128, bf16>
        // CHECK-NEXT: sparsec.zero : !sparsec.accumulator<128, 64>
        %none = sparsec.zero : !sparsec.accumulator<128, 64>
        // CHECK-NEXT: %[[SCORES:.*]] = sparsec.chain %[[QUERIES]], %[[KEYS]], %{{.*}} {depth = array<i64: 128>, x_transposed}
        %scores = sparsec.chain %q, %k, %none {depth = array<i64: 128>, x_transposed}
            : <128, 128, bf16>, <64, 128, bf16>, <128, 64>
        // CHECK-NEXT: %[[STEP:.*]]:3 = sparsec.softmax %[[SCORES]], %[[BEFORE]], %[[SUM]] at %tile, %block
        // CHECK-SAME: scale(%[[SCALE]]) extras(%[[SLOPES]], %[[LENGTHS]] : tensor<?xf32>, tensor<?xi32>)
        // CHECK-SAME: attributes {causal, window = array<i64: 1024, -1>}
        // CHECK-SAME: : <128, 64>, <128>, <128, 128> -> <128, 64, bf16> score {
        // CHECK-NEXT: ^bb0(%s: f32, %batch: i32, %head: i32, %query: i32, %key: i32, %extra: tensor<?xf32>, %extra_1: tensor<?xi32>):
        %p, %after, %output = sparsec.softmax %scores, %seen, %before at %tile, %block scale(%scale)
            extras(%slopes, %lengths : tensor<?xf32>, tensor<?xi32>)
            attributes {causal, window = array<i64: 1024, -1>}
            : <128, 64>, <128>, <128, 128> -> <128, 64, bf16> score {
        ^bb0(%t: f32, %b: i32, %h: i32, %i: i32, %j: i32, %e: tensor<?xf32>, %l: tensor<?xi32>):
          // CHECK-NEXT: %[[SLOPE:.*]] = sparsec.element %extra[%head] : tensor<?xf32>
          %slope = sparsec.element %e[%h] : tensor<?xf32>
          // CHECK-NEXT: %[[BIASED:.*]] = arith.addf %s, %[[SLOPE]] : f32
          %biased = arith.addf %t, %slope : f32
          // CHECK-NEXT: sparsec.yield %[[BIASED]] : f32
          sparsec.yield %biased : f32
        // CHECK-NEXT: } mask {
        // CHECK-NEXT: ^bb0(%batch: i32, %head: i32, %query: i32, %key: i32, %extra: tensor<?xf32>, %extra_1: tensor<?xi32>):
        } mask {
        ^bb0(%b: i32, %h: i32, %i: i32, %j: i32, %e: tensor<?xf32>, %l: tensor<?xi32>):
          // CHECK-NEXT: %[[LENGTH:.*]] = sparsec.element %extra_1[%batch] : tensor<?xi32>
          %length = sparsec.element %l[%b] : tensor<?xi32>
          // CHECK-NEXT: arith.cmpi slt, %key, %[[LENGTH]] : i32
          %inside = arith.cmpi slt, %j, %length : i32
          sparsec.yield %inside : i1
        }
        // CHECK: %[[VALUES:.*]] = sparsec.load_rows %[[V]][%tile, %block] : tensor<?x?x?x128xbf16> -> <64, 128, bf16>
        %v = sparsec.load_rows %values[%tile, %block] : tensor<?x?x?x128xbf16> -> <64, 128, bf16>
        // CHECK-NEXT: %[[NEXT:.*]] = sparsec.fragment_chain %[[STEP]]#0, %[[VALUES]], %[[STEP]]#2 : <128, 64, bf16>, <64, 128, bf16>, <128, 128>
        %next = sparsec.fragment_chain %p, %v, %output : <128, 64, bf16>, <64, 128, bf16>, <128, 128>
        // CHECK-NEXT: sparsec.yield %[[NEXT]], %[[STEP]]#1 : !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128>
        sparsec.yield %next, %after : !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128>
      }
      // CHECK: sparsec.store_rows %[[END]]#0, %[[END]]#1 to %[[O]][%tile : !sparsec.tile] lse(%[[LSE]] : tensor<?x?x?xf32>) : <128, 128>, <128> -> tensor<?x?x?x128xbf16>
      sparsec.store_rows %output, %state to %o[%tile : !sparsec.tile] lse(%lse : tensor<?x?x?xf32>)
          : <128, 128>, <128> -> tensor<?x?x?x128xbf16>
    }
  }

  // The ops with the fewest operands and attributes that are legal.
  // CHECK: sparsec.program @least
  sparsec.program @least attributes {kernel = @least, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%queries: tensor<?x?x?x128xbf16>, %keys: tensor<?x?x?x128xbf16>, %o: tensor<?x?x?x128xbf16>):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      %zero = sparsec.zero : !sparsec.accumulator<128, 128>
      %begin = sparsec.softmax_begin : <128>
      // CHECK: sparsec.key_loop at %tile init(
      // CHECK-NOT: attributes
      // CHECK-SAME: -> !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128> {
      %sum, %state = sparsec.key_loop at %tile
          init(%zero, %begin : !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128>)
          -> !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128> {
      ^bb0(%block: !sparsec.block, %before: !sparsec.accumulator<128, 128>, %seen: !sparsec.softmax_state<128>):
        %scores = sparsec.zero : !sparsec.accumulator<128, 64>
        // CHECK: sparsec.softmax %{{.*}}, %{{.*}}, %{{.*}} at %tile, %block : <128, 64>, <128>, <128, 128> -> <128, 64, f16>{{$}}
        %p, %after, %output = sparsec.softmax %scores, %seen, %before at %tile, %block
            : <128, 64>, <128>, <128, 128> -> <128, 64, f16>
        sparsec.yield %output, %after : !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128>
      }
      // CHECK: sparsec.store_rows %{{.*}}, %{{.*}} to %{{.*}}[%tile : !sparsec.tile] : <128, 128>, <128> -> tensor<?x?x?x128xbf16>
      sparsec.store_rows %sum, %state to %o[%tile : !sparsec.tile] : <128, 128>, <128> -> tensor<?x?x?x128xbf16>
    }
  }
}

// CHECK: sparsec.types = [!sparsec.fragment<128, 64, bf16>, !sparsec.softmax_state<128>]
module attributes {sparsec.types = [!sparsec.fragment<128, 64, bf16>, !sparsec.softmax_state<128>]} {}
