// RUN: sparsec-opt %s --split-input-file --sparsec-lower-to-tiles --verify-diagnostics | FileCheck %s

// For every block of queries the key blocks, with the softmax between the two products. One program: there is no second
// variant. Everything that attention can have arrives at the op that needs it.
// CHECK-LABEL: sparsec.kernel @everything
// CHECK: gpu.module @kernels
// CHECK: sparsec.program @everything attributes {alignment = 16 : i64, kernel = @everything
// CHECK-SAME: variant = 0
// CHECK-NEXT: ^bb0(%[[Q:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[K:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[V:[a-z0-9]+]]: tensor<?x?x?x128xbf16>,
// CHECK-SAME: %[[PATTERN:[a-z0-9]+]]: !sparsec.pattern<128x64>, %[[SCALE:[a-z0-9]+]]: f32, %[[SLOPES:[a-z0-9]+]]: tensor<?xf32>,
// CHECK-SAME: %[[O:[a-z0-9]+]]: tensor<?x?x?x128xf32>, %[[LSE:[a-z0-9]+]]: tensor<?x?x?xf32>):
// CHECK: sparsec.tile_loop
// CHECK: %[[QUERIES:.*]] = sparsec.load_rows %[[Q]][%tile] : {{.*}} -> <128, 128, bf16>
// CHECK: %[[ZERO:.*]] = sparsec.zero : !sparsec.accumulator<128, 128>
// CHECK: %[[BEGIN:.*]] = sparsec.softmax_begin : <128>
// CHECK: %[[END:.*]]:2 = sparsec.key_loop of %[[PATTERN]] : !sparsec.pattern<128x64> at %tile init(%[[ZERO]], %[[BEGIN]] :
// CHECK-SAME: attributes {causal, window = array<i64: 1024, -1>}
// CHECK-NEXT: ^bb0(%block: !sparsec.block, %[[SUM:.*]]: !sparsec.accumulator<128, 128>, %[[STATE:.*]]: !sparsec.softmax_state<128>):
// CHECK: %[[KEYS:.*]] = sparsec.load_rows %[[K]][%tile, %block] : {{.*}} -> <64, 128, bf16>
// CHECK: %[[NONE:.*]] = sparsec.zero : !sparsec.accumulator<128, 64>
// CHECK: %[[SCORES:.*]] = sparsec.chain %[[QUERIES]], %[[KEYS]], %[[NONE]] {depth = array<i64: 128>, x_transposed}
// CHECK: %[[STEP:.*]]:3 = sparsec.softmax %[[SCORES]], %[[STATE]], %[[SUM]] at %tile, %block
// CHECK-SAME: scale(%[[SCALE]]) extras(%[[SLOPES]] : tensor<?xf32>)
// CHECK-SAME: attributes {causal, window = array<i64: 1024, -1>}
// CHECK-SAME: -> <128, 64, bf16> score {
// CHECK: %[[SLOPE:.*]] = sparsec.element %extra[%head] : tensor<?xf32>
// CHECK: arith.addf %s, %[[SLOPE]] : f32
// CHECK: } mask {
// CHECK: arith.cmpi sge, %key, %query : i32
// CHECK: %[[VALUES:.*]] = sparsec.load_rows %[[V]][%tile, %block] : {{.*}} -> <64, 128, bf16>
// CHECK: %[[NEXT:.*]] = sparsec.fragment_chain %[[STEP]]#0, %[[VALUES]], %[[STEP]]#2
// CHECK: sparsec.yield %[[NEXT]], %[[STEP]]#1
// CHECK: sparsec.store_rows %[[END]]#0, %[[END]]#1 to %[[O]][%tile : !sparsec.tile] lse(%[[LSE]] : tensor<?x?x?xf32>) : {{.*}} -> tensor<?x?x?x128xf32>
// The same with keys in parts, for few tiles.
// CHECK: sparsec.program @everything_parts attributes {
// CHECK-SAME: split, variant = 1
// CHECK: sparsec.store_rows
// CHECK-NOT: sparsec.program
#wide = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 128, stages = 6, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @everything(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                           %p: !sparsec.pattern<128x64>, %c: f32, %slopes: tensor<?xf32>)
    -> (o: tensor<?x?x?x128xf32>, lse: tensor<?x?x?xf32>) attributes {schedule = #wide} {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p) scale(%c) extras(%slopes) causal window = [1024, -1]
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xf32>) {
    %slope = sparsec.element %t[%h] : tensor<?xf32>
    %biased = arith.addf %s, %slope : f32
    sparsec.yield %biased : f32
  } mask (%b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xf32>) {
    %near = arith.cmpi sge, %j, %i : i32
    sparsec.yield %near : i1
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>, f32,
       tensor<?xf32>) -> (tensor<?x?x?x128xf32>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xf32>, tensor<?x?x?xf32>
}

// -----

// Nothing but the three operands; probabilities have their element type.
// CHECK-LABEL: sparsec.kernel @plain
// CHECK: sparsec.program @plain
// CHECK: sparsec.load_rows {{.*}}[%tile] : tensor<?x?x?x64xf16> -> <64, 64, f16>
// CHECK: sparsec.key_loop at %tile init(
// CHECK-NOT: attributes
// CHECK-SAME: {{[{]$}}
// CHECK: sparsec.load_rows {{.*}}[%tile, %block] : tensor<?x?x?x64xf16> -> <128, 64, f16>
// CHECK: sparsec.chain {{.*}} {depth = array<i64: 64>, x_transposed} : <64, 64, f16>, <128, 64, f16>, <64, 128>
// CHECK: sparsec.softmax %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} at %tile, %block : <64, 128>, <64>, <64, 64> -> <64, 128, f16>{{$}}
// CHECK: sparsec.fragment_chain {{.*}} : <64, 128, f16>, <128, 64, f16>, <64, 64>
// CHECK: sparsec.store_rows
// CHECK-SAME: [%tile : !sparsec.tile] : <64, 64>, <64> -> tensor<?x?x?x64xf16>
#narrow = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>
sparsec.kernel @plain(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>) attributes {schedule = #narrow} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// -----

// expected-error @+1 {{expects a schedule; run sparsec-select-schedule first}}
sparsec.kernel @unscheduled(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>) {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}
