// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// CHECK-DAG: ![[$ROLES:ring[0-9]*]] = !sparsec.ring<4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>

// With TMA there are two roles. Each consumer waits for a slot, issues the product, and releases the slot that the product
// before has read: one product is in flight. A block of 128 columns takes two slots. The producer waits for free slots
// and copies; the A of a cluster is multicast, X is not.
// CHECK-LABEL: sparsec.program @roles
// CHECK: ^bb0(%[[W:.*]]: !sparsec.bsr<?x?xbf16, block = 128x128>, %[[X:.*]]: tensor<?x?xbf16>, %[[Y:.*]]: tensor<?x?xbf16>):
// CHECK: %[[RING:ring]] = sparsec.ring : ![[$ROLES]]
// CHECK: sparsec.role "consumer" warpgroup(2) registers(232)
// CHECK: %[[GROUP:group]] = sparsec.group
// CHECK: %[[ROW:.*]] = arith.muli %[[GROUP]], %c64_i32
// CHECK: %[[A:.*]] = sparsec.view %[[RING]] rows(%[[ROW]]) {index = 0 : i64} : {{.*}} -> <64, 64, bf16, k>
// CHECK: %[[B:.*]] = sparsec.view %[[RING]] columns(%{{.*}}) {index = 1 : i64} : {{.*}} -> <64, 256, bf16, mn>
// CHECK: sparsec.tile_loop init(%begin
// CHECK: %[[TILE_COLUMN:.*]] = arith.addi %{{.*}}, %rank : i32
// CHECK: %[[COLUMN:.*]] = arith.muli %[[TILE_COLUMN]], %c256_i32
// CHECK: %first, %end = sparsec.row_blocks %[[W]][%tile_row]
// CHECK: %[[HAS_BLOCKS:.*]] = arith.cmpi slt, %first, %end
// CHECK: %[[SUM:.*]]:2 = scf.if %[[HAS_BLOCKS]] -> (!sparsec.accumulator<64, 256>, !cursor) {
// CHECK: sparsec.walk_blocks %[[W]] from %first to %end
// CHECK: ^bb0(%block: i32, %column: i32, %[[SUM0:.*]]: !sparsec.pending<64, 256>, %[[PREVIOUS:.*]]: !cursor, %[[C0:.*]]: !cursor):
// CHECK: %[[HAS_PREVIOUS:.*]] = arith.cmpi sgt, %block, %first
// CHECK-NEXT: sparsec.wait %[[RING]][%[[C0]]]
// CHECK-NEXT: %[[P0:.*]] = sparsec.product %[[A]][%[[C0]]], %[[B]][%[[C0]]], %[[SUM0]] {depth = 64 : i64}
// CHECK-NEXT: %[[SUM1:.*]] = sparsec.await %[[P0]] {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.release %[[RING]][%[[PREVIOUS]]] if %[[HAS_PREVIOUS]]
// CHECK-NEXT: %[[C1:.*]] = sparsec.next %[[RING]][%[[C0]]]
// CHECK-NEXT: sparsec.wait %[[RING]][%[[C1]]]
// CHECK-NEXT: %[[P1:.*]] = sparsec.product %[[A]][%[[C1]]], %[[B]][%[[C1]]], %[[SUM1]] {depth = 64 : i64}
// CHECK-NEXT: %[[SUM2:.*]] = sparsec.await %[[P1]] {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.release %[[RING]][%[[C0]]] :
// CHECK-NEXT: %[[C2:.*]] = sparsec.next %[[RING]][%[[C1]]]
// CHECK-NEXT: sparsec.yield %[[SUM2]], %[[C1]], %[[C2]]
// CHECK: sparsec.await %{{.*}} {outstanding = 0 : i64}
// CHECK-NEXT: sparsec.release %[[RING]]
// CHECK: sparsec.store %[[SUM]]#0 to %[[Y]][%tile_row, %{{.*}}, %[[COLUMN]]] part %{{.*}} at(
// CHECK: sparsec.drain_stores
// CHECK: sparsec.role "producer" thread(1) registers(40)
// CHECK: sparsec.walk_blocks
// CHECK: ^bb0(%block: i32, %column: i32, %[[C:.*]]: !cursor):
// CHECK-NEXT: sparsec.acquire %[[RING]][%[[C]]]
// CHECK-NEXT: sparsec.post %[[RING]][%[[C]]]
// CHECK: sparsec.copy %[[W]][%block, %{{.*}}, %{{.*}}] block_column(%column) to %[[RING]][%[[C]]] {index = 0 : i64, multicast}
// CHECK: %[[K:.*]] = arith.muli %column, %c128_i32
// CHECK: sparsec.copy %[[X]][%[[K]], %{{.*}}] to %[[RING]][%[[C]]] {index = 1 : i64}
// CHECK: %[[NEXT:.*]] = sparsec.next %[[RING]][%[[C]]]
// CHECK-NEXT: sparsec.acquire %[[RING]][%[[NEXT]]]
// CHECK: %[[K1:.*]] = arith.addi %{{.*}}, %c64_i32
// CHECK: sparsec.copy %[[X]][%[[K1]], %{{.*}}] to %[[RING]][%[[NEXT]]] {index = 1 : i64}
// CHECK-NOT: sparsec.load
sparsec.kernel @roles(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Otherwise one role: a step waits, then prefetches stages - 1 steps ahead, then multiplies.
// CHECK-LABEL: sparsec.program @one_role
// CHECK: %[[RING:.*]] = sparsec.ring
// CHECK-NOT: sparsec.role
// CHECK: sparsec.wait %[[RING]]
// CHECK: sparsec.prefetch %[[RING]] attributes {ahead = 3 : i64}
// CHECK: sparsec.prefetch_operand a
// CHECK: sparsec.prefetch_operand x
// CHECK: sparsec.chain
// CHECK: sparsec.release %[[RING]]
sparsec.kernel @one_role(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 4>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
