// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// CHECK-DAG: ![[$TWO_QUERIES:ring[0-9]*]] = !sparsec.ring<2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
// CHECK-DAG: ![[$SIX_KEYS:ring[0-9]*]] = !sparsec.ring<6, [!sparsec.buffer<64, 128, bf16, strip = 128>]>
// CHECK-DAG: ![[$ONE_QUERY:ring[0-9]*]] = !sparsec.ring<1, [!sparsec.buffer<64, 64, f16, strip = 128>]>
// CHECK-DAG: ![[$THREE_KEYS:ring[0-9]*]] = !sparsec.ring<3, [!sparsec.buffer<128, 64, f16, strip = 128>]>
// CHECK-DAG: ![[$ONE_ROLE_QUERY:ring[0-9]*]] = !sparsec.ring<1, [!sparsec.buffer<128, 128, bf16, swizzle = 128>]>
// CHECK-DAG: ![[$ONE_ROLE_KEYS:ring[0-9]*]] = !sparsec.ring<3, [!sparsec.buffer<64, 128, bf16, swizzle = 128>]>

// Two rings: one of queries, with two slots because two groups share a tile, and one whose slots have keys and values.
// CHECK-LABEL: sparsec.program @attention
// CHECK-NEXT: ^bb0(%[[Q:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[K:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[V:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[PATTERN:[a-z0-9]+]]: !sparsec.pattern<128x64>, %[[O:[a-z0-9]+]]: tensor<?x?x?x128xbf16>):
// CHECK-NEXT: %query_ring = sparsec.ring {messages, name = "query_ring"} : ![[$TWO_QUERIES]]
// CHECK-NEXT: %key_ring = sparsec.ring {messages, name = "key_ring"} : ![[$SIX_KEYS]]
// CHECK-NEXT: sparsec.role "consumer" warpgroup(2) registers(232) {
// CHECK: %group, %[[ROW:.*]], %{{.*}} = sparsec.group_part {across = 1 : i64, columns = 64 : i64, rows = 64 : i64}
// CHECK-NEXT: %[[A:.*]] = sparsec.view %query_ring rows(%[[ROW]]) {index = 0 : i64} : {{.*}} -> <64, 128, bf16, k>
// CHECK-NEXT: %[[KEYS:.*]] = sparsec.view %key_ring {index = 0 : i64} : {{.*}} -> <64, 128, bf16, k>
// CHECK-NEXT: %[[VALUES:.*]] = sparsec.view %key_ring {index = 0 : i64} : {{.*}} -> <64, 128, bf16, mn>
// The producer says which tile comes, until none is left.
// CHECK: %[[TILE_ROW0:.*]], %[[PANEL0:.*]] = sparsec.wait %query_ring[%{{.*}}] : {{.*}} -> i32, i32
// The second group begins behind the first one, where there is a tile.
// CHECK: %[[EXISTS:.*]] = arith.cmpi ne, %[[TILE_ROW0]], %c-1_i32
// CHECK: %[[IS_SECOND:.*]] = arith.cmpi ne, %group, %c0_i32
// CHECK: %[[STAGGERS:.*]] = arith.andi %[[EXISTS]], %[[IS_SECOND]]
// CHECK-NEXT: scf.if %[[STAGGERS]] {
// CHECK-NEXT: sparsec.wait %key_ring
// CHECK-NEXT: sparsec.sleep {nanoseconds = 200 : i64}
// CHECK: sparsec.loop (%[[CQ:.*]] = %begin : !cursor, %[[C0:.*]] = %{{.*}} : !cursor, %[[TILE_ROW:.*]] = %[[TILE_ROW0]] : i32, %[[PANEL:.*]] = %[[PANEL0]] : i32) while(%[[TILE_ROW]] ne -1) {
// CHECK-NEXT: sparsec.query_tile %[[Q]], %[[K]][%[[TILE_ROW]], %[[PANEL]]] {rows = 128 : i64}
// With 64 keys a step, queries move to registers, and their slot is free at once.
// CHECK-NEXT: %[[QUERIES:.*]] = sparsec.load_fragment %[[A]][%[[CQ]]]
// CHECK-NEXT: sparsec.release %query_ring[%[[CQ]]]
// CHECK-NEXT: %[[FIRST:message.*]], %{{.*}} = sparsec.wait %key_ring[%[[C0]]] : {{.*}} -> i32, i32
// CHECK-NEXT: %softmax = sparsec.tile_softmax at(%batch, %head, %query) row(%[[ROW]]) attributes {causal, window = array<i64: 1024, -1>}
// CHECK-NEXT: %[[ZERO:.*]] = sparsec.zero : !sparsec.accumulator<64, 128>
// CHECK-NEXT: %[[BEGIN:.*]] = sparsec.softmax_begin of %softmax : <64>
// CHECK: %[[HAS_KEYS:.*]] = arith.cmpi ne, %[[FIRST]], %c-1_i32
// CHECK-NEXT: scf.if %[[HAS_KEYS]]
// The first step multiplies no values.
// CHECK-NEXT: %[[S0:.*]] = sparsec.product %[[QUERIES]], %[[KEYS]][%[[C0]]] {depth = 128 : i64}
// CHECK-NEXT: sparsec.await %[[S0]] {outstanding = 0 : i64}
// CHECK-NEXT: sparsec.release %key_ring[%[[C0]]]
// CHECK-NEXT: sparsec.key_block %[[FIRST]] {keys = 64 : i64}
// CHECK: sparsec.row_maximum
// CHECK-NEXT: sparsec.exponentiate
// Rotated by half a step: the scores of this step are issued before the product with the values of the step before.
// CHECK: sparsec.loop (%[[C:.*]] = %{{.*}} : !cursor, %[[BLOCK:.*]] = %{{.*}} : i32, %{{.*}} = %{{.*}} : i32, %[[OUTPUT:.*]] = %[[ZERO]] : !sparsec.accumulator<64, 128>, %[[P:.*]] = %{{.*}} : !sparsec.fragment<64, 64, bf16>, %[[STATE:.*]] = %{{.*}} : !sparsec.softmax_state<64>) while(%[[BLOCK]] ne -1) {
// CHECK-NEXT: %[[CV:.*]] = sparsec.next %key_ring[%[[C]]]
// CHECK-NEXT: %[[S1:.*]] = sparsec.product %[[QUERIES]], %[[KEYS]][%[[C]]] {depth = 128 : i64}
// CHECK-NEXT: sparsec.wait %key_ring[%[[CV]]] : ![[$SIX_KEYS]]{{$}}
// CHECK-NEXT: %[[O1:.*]] = sparsec.product %[[P]], %[[VALUES]][%[[CV]]], %[[OUTPUT]] {depth = 64 : i64}
// CHECK-NEXT: %[[S:.*]] = sparsec.await %[[S1]] {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.release %key_ring[%[[C]]]
// CHECK-NEXT: %[[KEY:.*]], %[[PARTIAL:.*]] = sparsec.key_block %[[BLOCK]] {keys = 64 : i64}
// CHECK-NEXT: %[[SCORES:.*]], %[[RAISED:.*]], %[[RESCALING:.*]] = sparsec.row_maximum %softmax, %[[S]], %[[STATE]] at(%[[KEY]]) partial(%[[PARTIAL]])
// CHECK-NEXT: %[[O2:.*]] = sparsec.await %[[O1]] {outstanding = 0 : i64}
// CHECK-NEXT: sparsec.release %key_ring[%[[CV]]]
// CHECK-NEXT: %[[O3:.*]] = sparsec.rescale %[[O2]] by %[[RESCALING]]
// CHECK-NEXT: %[[EXP:.*]], %[[SUMMED:.*]] = sparsec.exponentiate %softmax, %[[SCORES]], %[[RAISED]] at(%[[KEY]]) partial(%[[PARTIAL]])
// CHECK-NEXT: %[[NEXT_P:.*]] = sparsec.to_fragment %[[EXP]]
// CHECK-NEXT: %[[NEXT:.*]] = sparsec.next %key_ring[%[[CV]]]
// CHECK-NEXT: %[[M0:.*]], %[[M1:.*]] = sparsec.wait %key_ring[%[[NEXT]]] : ![[$SIX_KEYS]] -> i32, i32
// CHECK-NEXT: sparsec.yield %[[NEXT]], %[[M0]], %[[M1]], %[[O3]], %[[NEXT_P]], %[[SUMMED]]
// CHECK: sparsec.sum_rows
// A list without keys: one slot says so.
// CHECK: } else {
// CHECK-NEXT: sparsec.release %key_ring[%[[C0]]]
// CHECK: scf.yield %{{.*}}, %[[ZERO]], %[[BEGIN]]
// CHECK: %[[QUERY:.*]] = arith.addi %query, %[[ROW]]
// CHECK-NEXT: sparsec.store_rows %{{.*}}, %{{.*}} to %[[O]][%batch, %head, %[[QUERY]] : i32, i32, i32]
//
// The producer sends the keys of a step, then the values of the step before.
// CHECK: sparsec.role "producer" thread(1) registers(40) {
// CHECK: sparsec.tile_loop init(%begin, %{{.*}} : !cursor, !cursor) attributes {counter}
// CHECK: sparsec.query_tile %[[Q]], %[[K]][%tile_row, %panel]
// CHECK-NEXT: %lists = sparsec.key_lists %[[PATTERN]][%batch, %head, %query]
// CHECK-NEXT: sparsec.acquire %query_ring[%[[CQ:.*]]] :
// CHECK-NEXT: sparsec.post %query_ring[%[[CQ]]] (%tile_row, %panel)
// CHECK-NEXT: sparsec.copy %[[Q]][%batch, %head, %query, %c0_i32] to %query_ring[%[[CQ]]] {index = 0 : i64}
// CHECK-NEXT: %walk = sparsec.key_walk %lists at %query {causal, rows = 128 : i64, window = array<i64: 1024, -1>}
// CHECK-NEXT: %[[WALK:.*]]:2 = sparsec.walk %walk init(%{{.*}}, %[[NONE:.*]] : !cursor, i32)
// CHECK-NEXT: ^bb0(%block: i32, %[[C:.*]]: !cursor, %[[SENT:.*]]: i32):
// CHECK-NEXT: %[[KEY:.*]], %{{.*}} = sparsec.key_block %block
// CHECK-NEXT: sparsec.acquire %key_ring[%[[C]]]
// CHECK-NEXT: sparsec.post %key_ring[%[[C]]] (%block, %[[NONE]])
// CHECK-NEXT: sparsec.copy %[[K]][%batch, %key_head, %[[KEY]], %c0_i32] to %key_ring[%[[C]]] {index = 0 : i64}
// CHECK-NEXT: %[[CV:.*]] = sparsec.next %key_ring[%[[C]]]
// CHECK-NEXT: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[SENT]], %[[NONE]]
// CHECK-NEXT: %[[LAST:.*]] = scf.if %[[IS_FIRST]]
// CHECK-NEXT: scf.yield %[[CV]]
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[VALUE:.*]], %{{.*}} = sparsec.key_block %[[SENT]]
// CHECK-NEXT: sparsec.acquire %key_ring[%[[CV]]]
// CHECK-NEXT: sparsec.post %key_ring[%[[CV]]] :
// CHECK-NEXT: sparsec.copy %[[V]][%batch, %key_head, %[[VALUE]], %c0_i32] to %key_ring[%[[CV]]] {index = 0 : i64}
// CHECK: sparsec.yield %[[LAST]], %block
// The end of a list is a message, with the last values or with an empty slot.
// CHECK: scf.if
// CHECK-NEXT: sparsec.acquire %key_ring[%[[WALK]]#0]
// CHECK-NEXT: sparsec.post %key_ring[%[[WALK]]#0] (%c-1_i32, %c0_i32) {empty}
// CHECK: } else {
// CHECK: sparsec.acquire %key_ring[%[[WALK]]#0]
// CHECK-NEXT: sparsec.post %key_ring[%[[WALK]]#0] (%c-1_i32, %c0_i32) :
// CHECK-NEXT: sparsec.copy %[[V]]
// So is the end of tiles.
// CHECK: sparsec.acquire %query_ring[%{{.*}}#0]
// CHECK-NEXT: sparsec.post %query_ring[%{{.*}}#0] (%c-1_i32, %c0_i32) {empty}
// CHECK-NOT: sparsec.load_rows
#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 128, stages = 6, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                          %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #schedule} {
  %o = sparsec.attention %q, %k, %v pattern(%p) causal window = [1024, -1]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Without a pattern there are no lists. One group has one slot of queries. With 128 keys a step, products read queries
// from their slot, which is free after the last scores.
// CHECK-LABEL: sparsec.program @plain
// CHECK-NOT: sparsec.sleep
// CHECK: sparsec.ring {{.*}} : ![[$ONE_QUERY]]
// CHECK: sparsec.ring {{.*}} : ![[$THREE_KEYS]]
// CHECK: sparsec.role "consumer" warpgroup(1)
// CHECK-NOT: sparsec.load_fragment
// CHECK: sparsec.product %{{.*}}[%[[CQ:.*]]], %{{.*}} {depth = 64 : i64} : !sparsec.view<64, 64, f16, k>
// CHECK: sparsec.loop
// CHECK: sparsec.yield
// CHECK: sparsec.release %query_ring[%[[CQ]]]
// CHECK-NEXT: sparsec.product
// CHECK: } else {
// CHECK-NEXT: sparsec.release %query_ring[%[[CQ]]]
// CHECK: sparsec.role "producer"
// CHECK-NOT: sparsec.key_lists
// CHECK: sparsec.key_walk at %query
// CHECK-NOT: from_end
// CHECK: sparsec.walk %walk init(
sparsec.kernel @plain(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// A linear bias is what the sums of the scores start from. Keys near the diagonal come first. A warp that the bias leaves
// no probability of a step does not exponentiate. One of three tiles side by side lets another that issues products
// finish.
// CHECK-LABEL: sparsec.program @bias
// CHECK: sparsec.score_bias %softmax
// CHECK-NEXT: sparsec.product
// CHECK-NOT: sparsec.turn
// CHECK: sparsec.wait
// CHECK-NEXT: sparsec.issuer
// CHECK: sparsec.loop
// CHECK: sparsec.issue_begin %{{.*}}
// CHECK: %[[BIAS:.*]] = sparsec.score_bias %softmax at(%[[KEY:.*]]) partial(%[[PARTIAL:.*]]) : <64, 128>
// CHECK-NEXT: sparsec.product %{{.*}}, %[[BIAS]] {depth = 64 : i64, keeps_descriptors}
// CHECK-NEXT: sparsec.wait
// CHECK-NEXT: sparsec.product
// CHECK-NEXT: sparsec.issue_end
// CHECK: %[[SCORES:.*]], %[[RAISED:.*]], %[[RESCALING:.*]] = sparsec.row_maximum
// CHECK-NEXT: %[[ANY:.*]] = sparsec.any_probability %softmax, %[[SCORES]], %[[RAISED]] : <64, 128>, <64>
// CHECK-NEXT: sparsec.await
// CHECK-NEXT: sparsec.release
// CHECK-NEXT: sparsec.rescale
// CHECK-NEXT: %[[FOUND:.*]]:2 = scf.if %[[ANY]]
// CHECK-NEXT: %[[P:.*]], %[[SUMMED:.*]] = sparsec.exponentiate %softmax, %[[SCORES]], %[[RAISED]]
// CHECK-NEXT: %[[A:.*]] = sparsec.to_fragment %[[P]]
// CHECK-NEXT: scf.yield %[[A]], %[[SUMMED]]
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[ZERO:.*]] = sparsec.zero_probabilities %softmax, %[[SCORES]], %[[RAISED]]
// CHECK-NEXT: %[[A:.*]] = sparsec.to_fragment %[[ZERO]]
// CHECK-NEXT: scf.yield %[[A]], %[[RAISED]]
// CHECK: sparsec.key_walk at %query {from_end
sparsec.kernel @bias(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %slopes: tensor<?xf32>)
    -> (o: tensor<?x?x?x64xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, concurrent_tiles = 3>} {
  %o = sparsec.attention %q, %k, %v extras(%slopes) score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xf32>) {
    %slope = sparsec.element %t[%h] : tensor<?xf32>
    %distance = arith.subi %j, %i : i32
    %d = arith.sitofp %distance : i32 to f32
    %biased = math.fma %slope, %d, %s : f32
    sparsec.yield %biased : f32
  }
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// A soft cap bounds the scores: m is fixed, and exponentials run while the second product does. Queries are 2^-5 of theirs,
// so that scores below 2 are small, before anything multiplies them.
// CHECK-LABEL: sparsec.program @cap
// CHECK: sparsec.scale_rows %query_ring[%[[QUERIES:.*]]] from %group_row {exponent = -5 : i64, rows = 64 : i64}
// CHECK-NEXT: sparsec.wait %key_ring
// CHECK: sparsec.product %{{.*}}[%[[QUERIES]]],
// CHECK: sparsec.exponentiate
// CHECK: sparsec.loop
// CHECK: sparsec.product
// CHECK-NEXT: sparsec.wait
// CHECK-NEXT: %[[O:.*]] = sparsec.product
// CHECK-NEXT: sparsec.await
// CHECK-NEXT: sparsec.release
// CHECK-NEXT: sparsec.key_block
// CHECK-NEXT: %[[P:.*]], %{{.*}} = sparsec.exponentiate
// CHECK-NEXT: sparsec.await %[[O]] {outstanding = 0 : i64}
// CHECK-NEXT: sparsec.release
// CHECK-NEXT: sparsec.to_fragment %[[P]]
// CHECK-NOT: sparsec.row_maximum
// CHECK: sparsec.role "producer"
sparsec.kernel @cap(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap fastmath<arcp,reassoc> : f32
    %tanh = math.tanh %ratio fastmath<afn> : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  }
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Two small blocks a step: each is copied into its rows of the slot, the first one again where there is no second.
// CHECK-LABEL: sparsec.program @pairs
// CHECK: sparsec.row_maximum %softmax, %{{.*}}, %{{.*}} at(%{{.*}}, %{{.*}}) partial(%{{.*}}, %{{.*}})
// CHECK: sparsec.role "producer"
// CHECK: sparsec.key_walk {{.*}} {blocks = 2 : i64, rows = 64 : i64}
// CHECK-NEXT: sparsec.walk %walk init(
// CHECK-NEXT: ^bb0(%[[FIRST:.*]]: i32, %[[SECOND:.*]]: i32, %{{.*}}: !cursor, %{{.*}}: i32, %{{.*}}: i32):
// CHECK-NEXT: %[[KEY0:.*]], %{{.*}} = sparsec.key_block %[[FIRST]]
// CHECK-NEXT: %[[IS_NONE:.*]] = arith.cmpi eq, %[[SECOND]],
// CHECK-NEXT: %[[LOADED:.*]] = arith.select %[[IS_NONE]], %[[FIRST]], %[[SECOND]]
// CHECK-NEXT: %[[KEY1:.*]], %{{.*}} = sparsec.key_block %[[LOADED]]
// CHECK-NEXT: sparsec.acquire
// CHECK-NEXT: sparsec.post %key_ring[%{{.*}}] (%[[FIRST]], %[[SECOND]])
// CHECK-NEXT: sparsec.copy %{{.*}}[%batch, %key_head, %[[KEY0]], %c0_i32] {{.*}} rows = array<i64: 0, 64>}
// CHECK-NEXT: sparsec.copy %{{.*}}[%batch, %key_head, %[[KEY1]], %c0_i32] {{.*}} rows = array<i64: 64, 64>}
sparsec.kernel @pairs(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %p: !sparsec.pattern<64x64>)
    -> (o: tensor<?x?x?x64xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// With cp.async all warps are one role. Queries, keys and values have a ring each. A block of 128 keys takes two steps.
// The keys of a step are copied with the values of the step before. Step j turns its scores into probabilities, and then
// multiplies the keys of step j + 1 and the values of step j.
// CHECK-LABEL: sparsec.program @warps
// CHECK-NEXT: ^bb0(%[[Q1:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[K1:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[V1:[a-z0-9]+]]: tensor<?x?x?x128xbf16>, %[[PATTERN1:[a-z0-9]+]]: !sparsec.pattern<128x128>, %[[O1:[a-z0-9]+]]: tensor<?x?x?x128xbf16>):
// CHECK-NEXT: %query_ring = sparsec.ring {name = "query_ring"} : ![[$ONE_ROLE_QUERY]]
// CHECK-NEXT: %key_ring = sparsec.ring {name = "key_ring"} : ![[$ONE_ROLE_KEYS]]
// CHECK-NEXT: %value_ring = sparsec.ring {name = "value_ring"} : ![[$ONE_ROLE_KEYS]]
// CHECK-NEXT: sparsec.role "all" warp(8) registers(0) {
// CHECK: sparsec.tile_loop {
// CHECK: %group, %[[ROW1:.*]], %{{.*}} = sparsec.group_part {across = 1 : i64, columns = 64 : i64, rows = 16 : i64}
// CHECK-NEXT: %[[A1:.*]] = sparsec.view %query_ring rows(%[[ROW1]]) {index = 0 : i64} : {{.*}} -> <16, 128, bf16, k>
// CHECK-NEXT: %[[B1:.*]] = sparsec.view %key_ring {index = 0 : i64} : {{.*}} -> <64, 128, bf16, k>
// CHECK-NEXT: %[[C1:.*]] = sparsec.view %value_ring {index = 0 : i64} : {{.*}} -> <64, 128, bf16, mn>
// CHECK: %lists = sparsec.key_lists %[[PATTERN1]][%batch, %head, %query]
// CHECK-NEXT: %walk = sparsec.key_walk %lists at %query {causal, chunks = 2 : i64, rows = 128 : i64}
// CHECK: %[[S0:.*]], %[[N0:.*]] = sparsec.first_step %walk : <3> -> i32
// CHECK-NEXT: %[[ZERO1:.*]] = sparsec.zero
// CHECK-NEXT: %[[BEGIN1:.*]] = sparsec.softmax_begin of %softmax
// CHECK-NEXT: %[[HAS_STEPS:.*]] = arith.cmpi sge, %[[N0]], %c0_i32
// CHECK-NEXT: scf.if %[[HAS_STEPS]]
// CHECK-NEXT: sparsec.barrier
// CHECK: sparsec.copy_group {
// CHECK-NEXT: sparsec.copy %[[Q1]][%batch, %head, %query, %c0_i32] to %query_ring
// The first step exists.
// CHECK-NEXT: %[[KEY0:.*]], %{{.*}} = sparsec.key_block %[[N0]] {keys = 64 : i64}
// CHECK-NEXT: sparsec.copy %[[K1]][%batch, %key_head, %[[KEY0]], %c0_i32]
// CHECK-NOT: sparsec.copy %[[V1]]
// CHECK: sparsec.copy_group {
// CHECK: sparsec.copy %[[K1]]
// CHECK: sparsec.copy %[[V1]]
// CHECK: sparsec.copy_group {
// CHECK: sparsec.copy %[[K1]]
// CHECK: sparsec.copy %[[V1]]
// CHECK-NOT: sparsec.copy_group
// CHECK: sparsec.await_copies {outstanding = 2 : i64}
// CHECK-NEXT: sparsec.barrier
// Two steps' scores and the output leave no registers for the queries.
// CHECK-NEXT: sparsec.product %[[A1]][%{{.*}}], %[[B1]][%{{.*}}] {depth = 128 : i64}
// CHECK: sparsec.loop (%[[SLOT:.*]] = %{{.*}} : !cursor, %[[PREVIOUS:.*]] = %{{.*}} : !cursor, %[[STEP:.*]] = %{{.*}} : !sparsec.step<3>, %[[PRODUCTS:.*]] = %{{.*}} : !sparsec.accumulator<16, 64>, %[[OUTPUT:.*]] = %[[ZERO1]] : !sparsec.accumulator<16, 128>, %[[ROWS:.*]] = %[[BEGIN1]] : !sparsec.softmax_state<16>, %[[N0:.*]] = %{{.*}} : i32, %[[N1:.*]] = %{{.*}} : i32, %[[N2:.*]] = %{{.*}} : i32, %[[N3:.*]] = %{{.*}} : i32) while(%[[N0]] sge 0) {
// CHECK-NEXT: sparsec.await_copies {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.barrier
// CHECK-NEXT: sparsec.copy_group {
// CHECK-NEXT: sparsec.if_step %[[N3]] of 64 keys (%[[KEY3:.*]]) {
// CHECK-NEXT: sparsec.copy %[[K1]][%batch, %key_head, %[[KEY3]], %c0_i32] to %key_ring[%[[SLOT]]]
// CHECK: sparsec.if_step %[[N2]] of 64 keys (%[[KEY2:.*]]) {
// CHECK-NEXT: sparsec.copy %[[V1]][%batch, %key_head, %[[KEY2]], %c0_i32] to %value_ring[%[[PREVIOUS]]] {index = 0 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: %[[KEY:.*]], %[[PARTIAL:.*]] = sparsec.key_block %[[N0]] {keys = 64 : i64}
// CHECK-NEXT: %[[SCORES:.*]], %[[RAISED:.*]], %[[RESCALING:.*]] = sparsec.row_maximum %softmax, %[[PRODUCTS]], %[[ROWS]] at(%[[KEY]]) partial(%[[PARTIAL]])
// CHECK-NEXT: %[[RESCALED:.*]] = sparsec.rescale %[[OUTPUT]] by %[[RESCALING]]
// CHECK-NEXT: %[[EXP:.*]], %[[SUMMED:.*]] = sparsec.exponentiate %softmax, %[[SCORES]], %[[RAISED]]
// CHECK-NEXT: %[[P:.*]] = sparsec.to_fragment %[[EXP]]
// CHECK-NEXT: %[[NEXT:.*]] = sparsec.next %key_ring[%[[SLOT]]]
// CHECK-NEXT: %[[NEXT_SCORES:.*]] = sparsec.product %[[A1]][%{{.*}}], %[[B1]][%[[NEXT]]] {depth = 128 : i64}
// CHECK-NEXT: %[[NEXT_OUTPUT:.*]] = sparsec.product %[[P]], %[[C1]][%[[SLOT]]], %[[RESCALED]] {depth = 64 : i64}
// CHECK-NEXT: %[[S:.*]], %[[N4:.*]] = sparsec.next_step %walk[%[[STEP]]] : <3> -> i32
// CHECK-NEXT: sparsec.yield %[[NEXT]], %[[SLOT]], %[[S]], %[[NEXT_SCORES]], %[[NEXT_OUTPUT]], %[[SUMMED]], %[[N1]], %[[N2]], %[[N3]], %[[N4]]
// CHECK: sparsec.sum_rows
// CHECK: sparsec.store_rows %{{.*}} to %[[O1]][%batch, %head, %{{.*}} : i32, i32, i32]
sparsec.kernel @warps(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                         %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 128, stages = 3, consumers_m = 8, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) causal
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Smaller heads leave registers for the queries. A soft cap bounds the scores, so that m is fixed. Nothing waits for
// scalar copies.
// CHECK-LABEL: sparsec.program @queries_in_registers
// CHECK-NOT: sparsec.await_copies
// CHECK: %[[QUERIES:.*]] = sparsec.load_fragment
// CHECK-NEXT: sparsec.product %[[QUERIES]], %{{.*}} : !sparsec.fragment<16, 64, bf16>
// CHECK: sparsec.loop
// CHECK: sparsec.barrier
// CHECK-NOT: sparsec.row_maximum
// CHECK-NOT: sparsec.rescale
// CHECK: sparsec.exponentiate
// CHECK: sparsec.product %[[QUERIES]],
sparsec.kernel @queries_in_registers(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %cap = arith.constant 20.0 : f32
    %ratio = arith.divf %s, %cap fastmath<arcp,reassoc> : f32
    %tanh = math.tanh %ratio fastmath<afn> : f32
    %r = arith.mulf %tanh, %cap : f32
    sparsec.yield %r : f32
  }
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// Terms of keys are computed behind the products, before the wait for the scores: in the first step and in the loop. What
// is made of the query alone, or of positions without loads, is no such term.
// CHECK-LABEL: sparsec.program @terms
// CHECK: %[[S0:.*]] = sparsec.product
// CHECK: %[[TERMS0:.*]] = sparsec.key_terms %softmax at(%{{.*}}) partial(%{{.*}})
// CHECK-NEXT: sparsec.await %[[S0]]
// CHECK: sparsec.row_maximum {{.*}} terms(%[[TERMS0]])
// CHECK-NEXT: sparsec.exponentiate
// CHECK-NOT: terms
// CHECK: %[[S:.*]] = sparsec.product
// CHECK: sparsec.product
// CHECK: %[[TERMS:.*]] = sparsec.key_terms %softmax at(%{{.*}}) partial(%{{.*}})
// CHECK-NEXT: sparsec.await %[[S]]
// CHECK: sparsec.row_maximum {{.*}} terms(%[[TERMS]])
// CHECK-LABEL: sparsec.program @terms_of_queries
// CHECK-NOT: sparsec.key_terms
// CHECK: sparsec.role "producer"
sparsec.kernel @terms(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %t: tensor<?x?xi32>)
    -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v extras(%t)
      mask (%b: i32, %h: i32, %i: i32, %j: i32, %numbers: tensor<?x?xi32>) {
    %number = sparsec.element %numbers[%b, %j] : tensor<?x?xi32>
    %allowed = arith.cmpi slt, %number, %i : i32
    sparsec.yield %allowed : i1
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?xi32>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
sparsec.kernel @terms_of_queries(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %t: tensor<?x?xi32>)
    -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v extras(%t)
      mask (%b: i32, %h: i32, %i: i32, %j: i32, %numbers: tensor<?x?xi32>) {
    %three = arith.constant 3 : i32
    %third = arith.divsi %j, %three : i32
    %number = sparsec.element %numbers[%b, %i] : tensor<?x?xi32>
    %allowed = arith.cmpi slt, %third, %number : i32
    sparsec.yield %allowed : i1
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?xi32>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// With a fixed shift the regions are in the exponentials, and their terms too. A role of warps computes terms before it
// waits for copies.
// CHECK-LABEL: sparsec.program @terms_of_cap
// CHECK: sparsec.key_terms
// CHECK: sparsec.exponentiate {{.*}} terms(%terms)
// CHECK-LABEL: sparsec.program @terms_of_warps
// CHECK: sparsec.loop
// CHECK: %[[TERMS:.*]] = sparsec.key_terms
// CHECK-NEXT: sparsec.await_copies
// CHECK: sparsec.row_maximum {{.*}} terms(%[[TERMS]])
sparsec.kernel @terms_of_cap(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %t: tensor<?xf32>)
    -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v extras(%t)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %scales: tensor<?xf32>) {
    %scale = sparsec.element %scales[%j] : tensor<?xf32>
    %scaled = arith.mulf %s, %scale : f32
    %tanh = math.tanh %scaled : f32
    sparsec.yield %tanh : f32
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
sparsec.kernel @terms_of_warps(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %t: tensor<?xf32>)
    -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 8, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v extras(%t)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %biases: tensor<?xf32>) {
    %bias = sparsec.element %biases[%j] : tensor<?xf32>
    %biased = arith.addf %s, %bias : f32
    sparsec.yield %biased : f32
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?xf32>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
