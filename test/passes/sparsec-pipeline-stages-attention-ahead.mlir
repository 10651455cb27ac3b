// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// Two groups share a tile, and there are no regions: the first scores of the next tile are issued before the results of
// this one are stored.
// CHECK-LABEL: sparsec.program @ahead attributes
// CHECK: sparsec.role "consumer" warpgroup(2)
// CHECK: %[[TILE_ROW0:.*]], %[[PANEL0:.*]] = sparsec.wait %query_ring
// CHECK-NEXT: %[[NONE:.*]] = sparsec.unset : <64, 128>
// CHECK: sparsec.sleep
// The first tile of a worker has no scores yet.
// CHECK: sparsec.loop (%[[CQ:.*]] = %begin : !cursor, %[[CK:.*]] = %{{.*}} : !cursor, %{{.*}} = %[[TILE_ROW0]] : i32, %{{.*}} = %[[PANEL0]] : i32, %[[BLOCK:.*]] = %c33554432_i32 : i32, %{{.*}} = %c0_i32 : i32, %[[AHEAD:.*]] = %[[NONE]] : !sparsec.accumulator<64, 128>) while(%{{.*}} ne -1) {
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[BLOCK]], %c33554432_i32
// CHECK-NEXT: %[[FIRST:.*]]:3 = scf.if %[[IS_FIRST]]
// CHECK-NEXT: %[[M0:.*]], %[[M1:.*]] = sparsec.wait %key_ring[%[[CK]]]
// CHECK-NEXT: %[[P:.*]] = sparsec.product %{{.*}}[%[[CQ]]], %{{.*}}[%[[CK]]]
// CHECK-NEXT: %[[S:.*]] = sparsec.await %[[P]] {outstanding = 0 : i64}
// CHECK-NEXT: scf.yield %[[M0]], %[[M1]], %[[S]]
// CHECK: sparsec.row_maximum %softmax, %[[FIRST]]#2,
// CHECK: %[[LAST:.*]]:6 = sparsec.loop
// CHECK: sparsec.release %query_ring[%[[CQ]]]
// CHECK-NEXT: %[[O:.*]] = sparsec.product %[[LAST]]#4, %{{.*}}[%[[LAST]]#0], %[[LAST]]#3
// The second message beside the last values says that another tile follows.
// CHECK-NEXT: %[[AHEAD_OF_STORE:.*]] = arith.cmpi ne, %[[LAST]]#2, %c0_i32
// CHECK-NEXT: scf.if %[[AHEAD_OF_STORE]]
// CHECK-NEXT: %[[NEXT_Q:.*]] = sparsec.next %query_ring[%[[CQ]]]
// CHECK-NEXT: %[[NEXT_K:.*]] = sparsec.next %key_ring[%[[LAST]]#0]
// CHECK-NEXT: %[[ROW:.*]], %[[PANEL:.*]] = sparsec.wait %query_ring[%[[NEXT_Q]]]
// CHECK-NEXT: %[[B0:.*]], %[[B1:.*]] = sparsec.wait %key_ring[%[[NEXT_K]]]
// CHECK-NEXT: %[[NEXT_P:.*]] = sparsec.product %{{.*}}[%[[NEXT_Q]]], %{{.*}}[%[[NEXT_K]]]
// CHECK-NEXT: %[[SUMS:.*]] = sparsec.await %[[O]] {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.release %key_ring[%[[LAST]]#0]
// CHECK: sparsec.store_rows %[[SUMS]],
// CHECK-NEXT: %[[NEXT_S:.*]] = sparsec.await %[[NEXT_P]] {outstanding = 0 : i64}
// CHECK-NEXT: scf.yield %[[NEXT_Q]], %[[NEXT_K]], %[[ROW]], %[[PANEL]], %[[B0]], %[[B1]], %[[NEXT_S]]
// Else nothing is waited for before the store.
// CHECK-NEXT: } else {
// CHECK-NEXT: sparsec.await %[[O]] {outstanding = 0 : i64}
// CHECK-NOT: sparsec.wait
// CHECK: sparsec.store_rows
// CHECK: sparsec.wait %query_ring
// A list without blocks has no last values.
// CHECK: } else {
// CHECK-NOT: sparsec.wait
// CHECK: sparsec.store_rows
// CHECK: sparsec.wait %query_ring
// The number of the next tile is taken before the last values are sent.
// CHECK: sparsec.role "producer"
// CHECK: sparsec.walk %walk
// CHECK: %[[FOLLOWS:.*]] = sparsec.tile_follows : i32
// CHECK: sparsec.post %key_ring[%{{.*}}] (%c-1_i32, %[[FOLLOWS]]) {empty}
// CHECK: sparsec.post %key_ring[%{{.*}}] (%c-1_i32, %[[FOLLOWS]]) :
#shared = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @ahead(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) attributes {schedule = #shared} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// A score region may load something for each key, which the first scores hide.
// CHECK-LABEL: sparsec.program @region
// CHECK: sparsec.sleep {nanoseconds = 200 : i64}
// CHECK-NOT: sparsec.unset
// CHECK-NOT: sparsec.tile_follows
sparsec.kernel @region(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) attributes {schedule = #shared} {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %c = arith.constant 2.0 : f32
    %t = arith.mulf %s, %c : f32
    sparsec.yield %t : f32
  } : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Longer heads are slower with first scores ahead.
// CHECK-LABEL: sparsec.program @longer
// CHECK: sparsec.sleep {nanoseconds = 200 : i64}
// CHECK-NOT: sparsec.unset
// CHECK-NOT: sparsec.tile_follows
#longer = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 192, stages = 3, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>
sparsec.kernel @longer(%q: tensor<?x?x?x192xbf16>, %k: tensor<?x?x?x192xbf16>, %v: tensor<?x?x?x192xbf16>)
    -> (o: tensor<?x?x?x192xbf16>) attributes {schedule = #longer} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>, tensor<?x?x?x192xbf16>) -> tensor<?x?x?x192xbf16>
  sparsec.return %o : tensor<?x?x?x192xbf16>
}

// Groups whose scores are bounded begin together.
// CHECK-LABEL: sparsec.program @bounded
// CHECK: sparsec.role "consumer" warpgroup(2)
// CHECK-NOT: sparsec.sleep
sparsec.kernel @bounded(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) attributes {schedule = #shared} {
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
