// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)))' | FileCheck %s
// Programs of sequences with sizes of their own.

// Pages of 64 rows of keys, and steps of 128 keys: the pages are looked up before the slot is free. Consumers clear the
// values behind the last key before any of them multiplies; the barrier of a tile follows that of the CTA.
// CHECK-LABEL: sparsec.program @paged attributes
// CHECK: sparsec.role "consumer"
// CHECK: %batch, %head, %key_head, %query = sparsec.query_tile %{{.*}} {rows = 128 : i64}
// CHECK-NEXT: %query_row, %queries, %key_row, %keys = sparsec.sequence %{{.*}}[%batch] key_lengths({{.*}}) page_table({{.*}})
// CHECK: sparsec.tile_softmax at(%batch, %head, %query) row(%{{.*}}) sizes(%queries, %keys)
// CHECK: sparsec.loop {{.*}} while(%{{.*}} ne -1) {
// CHECK: %[[VALUES:.*]] = sparsec.next %key_ring
// CHECK-NEXT: %[[SHORT:.*]] = arith.cmpi slt, %[[COUNT:.*]], %c128_i32 : i32
// CHECK-NEXT: scf.if %[[SHORT]] {
// CHECK-NEXT: sparsec.wait %key_ring[%[[VALUES]]] :
// CHECK-NEXT: sparsec.clear_rows %key_ring[%[[VALUES]]] from(%[[COUNT]]) {first_barrier = 1 : i64}
// CHECK-NEXT: }
// CHECK-NEXT: sparsec.product
// CHECK: arith.subi %keys, %key
// CHECK: sparsec.clear_rows
// CHECK: sparsec.role "producer"
// CHECK: sparsec.key_walk at %query sizes(%queries, %keys)
// CHECK: %key, %partial = sparsec.key_block %block
// CHECK-NEXT: %page, %page_row = sparsec.find_page %{{.*}}[%batch, %key] of %keys
// CHECK-NEXT: %[[SECOND:.*]] = arith.addi %key, %c64_i32
// CHECK-NEXT: %[[PAGE:.*]], %[[ROW:.*]] = sparsec.find_page %{{.*}}[%batch, %[[SECOND]]] of %keys
// CHECK-NEXT: sparsec.acquire %key_ring
// CHECK-NEXT: sparsec.post
// CHECK-NEXT: sparsec.copy %{{.*}}[%page, %key_head, %page_row, %{{.*}}] to %key_ring[%{{.*}}] {index = 0 : i64, rows = array<i64: 0, 64>}
// CHECK-NEXT: sparsec.copy %{{.*}}[%[[PAGE]], %key_head, %[[ROW]], %{{.*}}] to %key_ring[%{{.*}}] {index = 0 : i64, rows = array<i64: 64, 64>}
sparsec.kernel @paged(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x64x128xbf16>, %v: tensor<?x?x64x128xbf16>, %n: tensor<?xi32>,
                      %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v key_lengths(%n) page_table(%t)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x64x128xbf16>, tensor<?x?x64x128xbf16>, tensor<?xi32>, tensor<?x?xi32>)
      -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// A slot has eight pages of 16 rows, whose copies four producers share. The first one takes the tiles and posts the
// slots. The others follow the messages of the queries, look up their own pages alone, and post nothing.
// CHECK-LABEL: sparsec.program @small_pages attributes
// CHECK: sparsec.role "producer" thread(1)
// CHECK: sparsec.tile_loop
// CHECK: sparsec.walk %walk
// CHECK: %[[FOURTH:.*]] = arith.addi %key, %c64_i32
// CHECK-NEXT: sparsec.find_page %{{.*}}[%batch, %[[FOURTH]]]
// CHECK-NEXT: sparsec.acquire %key_ring
// CHECK-NEXT: sparsec.post %key_ring
// CHECK-NEXT: sparsec.copy %{{.*}} {index = 0 : i64, rows = array<i64: 0, 16>}
// CHECK-NEXT: sparsec.copy %{{.*}} {index = 0 : i64, rows = array<i64: 64, 16>}
// CHECK-NEXT: sparsec.next
// CHECK: sparsec.role "producer1" thread(1)
// CHECK-NOT: sparsec.tile_loop
// CHECK-NOT: sparsec.post
// CHECK: sparsec.wait %query_ring[%{{.*}}] : {{.*}} -> i32, i32
// CHECK: sparsec.loop ({{.*}}) while(%{{.*}} ne -1) {
// CHECK-NEXT: sparsec.release %query_ring
// CHECK: sparsec.walk %walk
// CHECK: sparsec.acquire %key_ring
// CHECK-NEXT: sparsec.copy %{{.*}} {index = 0 : i64, rows = array<i64: 16, 16>}
// CHECK-NEXT: sparsec.copy %{{.*}} {index = 0 : i64, rows = array<i64: 80, 16>}
// CHECK-NEXT: sparsec.next
// CHECK: sparsec.role "producer2" thread(1)
// CHECK: sparsec.role "producer3" thread(1)
// CHECK: rows = array<i64: 48, 16>
// CHECK-NEXT: sparsec.copy %{{.*}} {index = 0 : i64, rows = array<i64: 112, 16>}
// CHECK-LABEL: sparsec.program @small_pages_parts attributes
// CHECK: sparsec.role "producer3" thread(1)
sparsec.kernel @small_pages(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x16x128xbf16>, %v: tensor<?x?x16x128xbf16>, %n: tensor<?xi32>,
                            %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v key_lengths(%n) page_table(%t)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x16x128xbf16>, tensor<?x?x16x128xbf16>, tensor<?xi32>, tensor<?x?xi32>)
      -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Pages of 32 rows have two producers, and tiles side by side one each.
// CHECK-LABEL: sparsec.program @pages_of_32 attributes
// CHECK: sparsec.role "producer1" thread(1)
// CHECK-NOT: sparsec.role
// CHECK-LABEL: sparsec.program @pages_of_32_parts attributes
sparsec.kernel @pages_of_32(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x32x128xbf16>, %v: tensor<?x?x32x128xbf16>, %n: tensor<?xi32>,
                            %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v key_lengths(%n) page_table(%t)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x32x128xbf16>, tensor<?x?x32x128xbf16>, tensor<?xi32>, tensor<?x?xi32>)
      -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// CHECK-LABEL: sparsec.program @tiles_side_by_side attributes
// CHECK: sparsec.role "producer" thread(1)
// CHECK-NOT: sparsec.role
// CHECK-LABEL: sparsec.program @tiles_side_by_side_parts attributes
sparsec.kernel @tiles_side_by_side(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x16x128xbf16>, %v: tensor<?x?x16x128xbf16>, %n: tensor<?xi32>,
                            %t: tensor<?x?xi32>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 128, stages = 5, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 232, concurrent_tiles = 2>} {
  %o = sparsec.attention %q, %k, %v key_lengths(%n) page_table(%t)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x16x128xbf16>, tensor<?x?x16x128xbf16>, tensor<?xi32>, tensor<?x?xi32>)
      -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Packed queries and keys. The producer leaves out panels that are behind their sequence; the messages of the others
// say which tile they are, so that the consumers need not search.
// CHECK-LABEL: sparsec.program @packed attributes
// CHECK: sparsec.role "consumer"
// CHECK-NOT: packed_tile
// CHECK: sparsec.query_tile %{{.*}} {forward, rows = 128 : i64}
// A group whose queries are all behind the sequence computes nothing. It waits for each slot, takes part in the barrier
// of values that are cleared, and releases the slot.
// CHECK: %[[GROUP:.*]] = arith.addi %query, %{{.*}}
// CHECK-NEXT: %[[HAS:.*]] = arith.cmpi slt, %[[GROUP]], %queries
// CHECK-NEXT: scf.if %[[HAS]]
// CHECK: sparsec.sum_rows
// CHECK: } else {
// CHECK-NEXT: sparsec.release %query_ring
// CHECK-NEXT: sparsec.release %key_ring[%[[FIRST:.*]]]
// CHECK-NEXT: %[[NEXT:.*]] = sparsec.next %key_ring[%[[FIRST]]]
// CHECK-NEXT: sparsec.wait %key_ring[%[[NEXT]]] : {{.*}} -> i32, i32
// CHECK-NOT: sparsec.product
// CHECK: sparsec.loop ({{.*}}) while(%{{.*}} ne -1) {
// CHECK: %[[VALUES:.*]] = sparsec.next %key_ring[%[[KEYS:.*]]]
// CHECK: sparsec.clear_rows %key_ring[%[[VALUES]]]
// CHECK: sparsec.release %key_ring[%[[KEYS]]]
// CHECK-NEXT: sparsec.wait %key_ring[%[[VALUES]]]
// CHECK-NEXT: sparsec.release %key_ring[%[[VALUES]]]
// CHECK: sparsec.clear_rows
// CHECK: } else {
// CHECK: %[[END:.*]] = arith.addi %query_row, %queries
// CHECK: sparsec.store_rows %{{.*}} to %{{.*}}[%c0_i32, %head, %{{.*}} : i32, i32, i32] end(%[[END]])
// CHECK: sparsec.role "producer"
// CHECK: %row, %block = sparsec.packed_tile %{{.*}}[%tile_row, %panel] {rows = 128 : i64}
// CHECK-NEXT: sparsec.query_tile %{{.*}}[%row, %block] {forward, rows = 128 : i64}
// CHECK: %[[HAS:.*]] = arith.cmpi slt, %query, %queries
// CHECK-NEXT: scf.if %[[HAS]]
// CHECK-NEXT: %lists = sparsec.key_lists %{{.*}}[%batch, %head, %query] {packed}
// CHECK: sparsec.post %query_ring[%{{.*}}] (%row, %block)
// CHECK: %[[FIRST:.*]] = arith.addi %query_row, %query
// CHECK: sparsec.copy %{{.*}}[%c0_i32, %head, %[[FIRST]], %c0_i32] to %query_ring
// CHECK: %[[KEY:.*]] = arith.addi %key_row, %key
// CHECK: sparsec.copy %{{.*}}[%c0_i32, %key_head, %[[KEY]], %c0_i32] to %key_ring
sparsec.kernel @packed(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %qs: tensor<?xi32>,
                       %ks: tensor<?xi32>, %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) query_starts(%qs) key_starts(%ks)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>, tensor<?xi32>,
       tensor<?xi32>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// By cp.async the copies bring zeros behind the last key: nothing has to be cleared.
// CHECK-LABEL: sparsec.program @lengths attributes
// CHECK: sparsec.key_walk at %query sizes(%queries, %keys)
// CHECK-NOT: clear_rows
// CHECK: %key, %partial = sparsec.key_block
// CHECK: sparsec.copy %{{.*}}[%batch, %key_head, %key, %{{.*}}] end(%keys) to %key_ring
sparsec.kernel @lengths(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %n: tensor<?xi32>)
    -> (o: tensor<?x?x?x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 64, stages = 2, consumers_m = 8, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v key_lengths(%n)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xi32>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
