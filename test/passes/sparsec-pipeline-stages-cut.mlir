// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// Where plans may cut tiles along K there is a program for that, in front of the one for whole tiles. Roles walk the blocks
// that an entry of the list names, up to the end of their row. No row is rotated.
// CHECK-LABEL: sparsec.program @product_cut attributes {{{.*}} cut,{{.*}} variant = 0
// CHECK: sparsec.role "consumer"
// CHECK: sparsec.tile_loop init(%{{.*}} attributes {cut} -> !cursor {
// CHECK-NEXT: ^bb0(%tile_row: i32, %panel: i32, %first_block: i32, %count: i32, %{{.*}}: !cursor):
// CHECK: %first, %end = sparsec.row_blocks
// CHECK-NEXT: %[[COUNT:.*]] = arith.andi %count, %c1073741823_i32
// CHECK-NEXT: %[[KIND:.*]] = arith.shrui %count, %c30_i32
// CHECK-NEXT: %[[AT:.*]] = arith.addi %first, %first_block
// CHECK-NEXT: %[[BEGIN:.*]] = arith.minsi %[[AT]], %end
// CHECK-NEXT: %[[BEHIND:.*]] = arith.addi %[[BEGIN]], %[[COUNT]]
// CHECK-NEXT: %[[END:.*]] = arith.minsi %[[BEHIND]], %end
// CHECK: sparsec.block_walk %{{.*}} from %[[BEGIN]] to %[[END]] : <
// A first part goes to the next worker. A rest is stored with the sums of the worker before.
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[KIND]], %c1_i32
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK-NEXT: sparsec.write_sums %[[SUM:.*]] : <64, 256>
// CHECK-NEXT: sparsec.release_sums
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[REST:.*]] = arith.cmpi eq, %[[KIND]], %c2_i32
// CHECK-NEXT: %[[ALL:.*]] = scf.if %[[REST]]
// CHECK-NEXT: sparsec.acquire_sums
// CHECK-NEXT: %[[ADDED:.*]] = sparsec.add_sums %[[SUM]] : <64, 256>
// CHECK-NEXT: scf.yield %[[ADDED]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[SUM]]
// CHECK: sparsec.store %[[ALL]] to
// CHECK: sparsec.role "producer"
// CHECK: sparsec.tile_loop init(%{{.*}} attributes {cut}
// CHECK-NOT: rotated
// CHECK-LABEL: sparsec.program @product attributes
// CHECK-SAME: variant = 1
// CHECK-NOT: cut
// CHECK: rotated
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Narrow tiles and small blocks have none.
// CHECK-NOT: _cut
sparsec.kernel @narrow_tile(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

sparsec.kernel @small_blocks(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
