// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// Where tiles see all keys, or all blocks of their lists, plans may cut them along the keys. The program for that is in front
// of the one for whole tiles. The two highest bits of the second message beside the queries are the kind of the tile.
// CHECK-LABEL: sparsec.program @lists_cut attributes {{{.*}} cut,{{.*}} variant = 0
// CHECK: sparsec.role "consumer"
// CHECK: %[[ROW0:.*]], %[[PANEL0:.*]] = sparsec.wait %query_ring
// CHECK: sparsec.loop ({{.*}} %[[ROW:.*]] = %[[ROW0]] : i32, %[[MESSAGE:.*]] = %[[PANEL0]] : i32, %{{.*}} = %c33554432_i32
// CHECK-NEXT: %[[PANEL:.*]] = arith.andi %[[MESSAGE]], %c1073741823_i32
// CHECK-NEXT: sparsec.query_tile %{{.*}}[%[[ROW]], %[[PANEL]]]
// The rest of a tile goes on where the worker before has stopped.
// CHECK: %[[ZERO:.*]] = sparsec.zero : !sparsec.accumulator<64, 128>
// CHECK-NEXT: %[[NONE:.*]] = sparsec.softmax_begin
// CHECK-NEXT: %[[KIND:.*]] = arith.shrui %[[MESSAGE]], %c30_i32
// CHECK-NEXT: %[[IS_REST:.*]] = arith.cmpi eq, %[[KIND]], %c2_i32
// CHECK-NEXT: %[[BEGUN:.*]]:2 = scf.if %[[IS_REST]]
// CHECK-NEXT: sparsec.acquire_sums
// CHECK-NEXT: %[[OUTPUT:.*]], %[[ROWS:.*]] = sparsec.read_sums : <64, 128>, <64>
// CHECK-NEXT: scf.yield %[[OUTPUT]], %[[ROWS]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[ZERO]], %[[NONE]]
// Its first step may raise the maximum of an output that is not zero.
// CHECK: sparsec.row_maximum %{{.*}}, %{{.*}}, %[[BEGUN]]#1
// CHECK-NEXT: sparsec.rescale %[[BEGUN]]#0 by
// CHECK: %[[LAST:.*]]:6 = sparsec.loop
// The message beside the last values says whether a tile follows, and whether the sums are for the next worker.
// CHECK: %[[FOLLOWS:.*]] = arith.andi %[[LAST]]#2, %c1_i32
// CHECK-NEXT: arith.cmpi ne, %[[FOLLOWS]], %c0_i32
// CHECK: %[[SUMS:.*]] = sparsec.await %{{.*}} {outstanding = 1 : i64}
// CHECK: %[[FIRST:.*]] = arith.andi %[[LAST]]#2, %c2_i32
// CHECK-NEXT: %[[IS_FIRST:.*]] = arith.cmpi ne, %[[FIRST]], %c0_i32
// CHECK-NEXT: scf.if %[[IS_FIRST]]
// CHECK-NEXT: sparsec.write_sums %[[SUMS]], %[[LAST]]#5
// CHECK-NEXT: sparsec.release_sums
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[SUMMED:.*]] = sparsec.sum_rows %[[LAST]]#5
// CHECK: sparsec.store_rows %[[SUMS]], %[[SUMMED]]
// CHECK: sparsec.role "producer"
// CHECK: sparsec.tile_loop init(%{{.*}} attributes {cut}
// CHECK-NEXT: ^bb0(%tile_row: i32, %panel: i32, %first_block: i32, %count: i32,
// CHECK: %[[COUNT:.*]] = arith.andi %count, %c1073741823_i32
// CHECK-NEXT: %[[BITS:.*]] = arith.andi %count, %c-1073741824_i32
// CHECK-NEXT: %[[MESSAGE:.*]] = arith.ori %panel, %[[BITS]]
// CHECK: sparsec.post %query_ring[%{{.*}}] (%tile_row, %[[MESSAGE]])
// CHECK: sparsec.key_walk %lists at %{{.*}} part(%first_block, %[[COUNT]])
// CHECK: %[[NEXT:.*]] = sparsec.tile_follows
// CHECK-NEXT: %[[KIND_BITS:.*]] = arith.shrui %[[BITS]], %c29_i32
// CHECK-NEXT: %[[END:.*]] = arith.ori %[[NEXT]], %[[KIND_BITS]]
// CHECK-COUNT-2: sparsec.post %key_ring[%{{.*}}] (%c-1_i32, %[[END]])
// CHECK-LABEL: sparsec.program @lists attributes
// CHECK-SAME: variant = 1
// CHECK-NOT: sums
#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>
!rows = tensor<?x?x?x128xbf16>
sparsec.kernel @lists(%q: !rows, %k: !rows, %v: !rows, %p: !sparsec.pattern<128x128>) -> (o: !rows) attributes {schedule = #schedule} {
  %o = sparsec.attention %q, %k, %v pattern(%p) : (!rows, !rows, !rows, !sparsec.pattern<128x128>) -> !rows
  sparsec.return %o : !rows
}

// So it is without lists.
// CHECK-LABEL: sparsec.program @dense_cut attributes
// CHECK: sparsec.key_walk at %{{.*}} part(%first_block,
sparsec.kernel @dense(%q: !rows, %k: !rows, %v: !rows) -> (o: !rows) attributes {schedule = #schedule} {
  %o = sparsec.attention %q, %k, %v : (!rows, !rows, !rows) -> !rows
  sparsec.return %o : !rows
}

// Limits, regions, sequences and other instructions have none.
// CHECK-NOT: _cut
sparsec.kernel @causal(%q: !rows, %k: !rows, %v: !rows) -> (o: !rows) attributes {schedule = #schedule} {
  %o = sparsec.attention %q, %k, %v {causal} : (!rows, !rows, !rows) -> !rows
  sparsec.return %o : !rows
}
sparsec.kernel @window(%q: !rows, %k: !rows, %v: !rows) -> (o: !rows) attributes {schedule = #schedule} {
  %o = sparsec.attention %q, %k, %v {window = array<i64: 64, 64>} : (!rows, !rows, !rows) -> !rows
  sparsec.return %o : !rows
}
sparsec.kernel @capped(%q: !rows, %k: !rows, %v: !rows) -> (o: !rows) attributes {schedule = #schedule} {
  %o = sparsec.attention %q, %k, %v score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32) {
    %t = math.tanh %s : f32
    sparsec.yield %t : f32
  } : (!rows, !rows, !rows) -> !rows
  sparsec.return %o : !rows
}
sparsec.kernel @masked(%q: !rows, %k: !rows, %v: !rows) -> (o: !rows) attributes {schedule = #schedule} {
  %o = sparsec.attention %q, %k, %v mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %t = arith.cmpi sge, %i, %j : i32
    sparsec.yield %t : i1
  } : (!rows, !rows, !rows) -> !rows
  sparsec.return %o : !rows
}
sparsec.kernel @lengths(%q: !rows, %k: !rows, %v: !rows, %n: tensor<?xi32>) -> (o: !rows) attributes {schedule = #schedule} {
  %o = sparsec.attention %q, %k, %v key_lengths(%n) : (!rows, !rows, !rows, tensor<?xi32>) -> !rows
  sparsec.return %o : !rows
}
sparsec.kernel @warps(%q: !rows, %k: !rows, %v: !rows) -> (o: !rows) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 128, stages = 2, consumers_m = 4, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v : (!rows, !rows, !rows) -> !rows
  sparsec.return %o : !rows
}
