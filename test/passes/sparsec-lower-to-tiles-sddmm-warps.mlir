// RUN: sparsec-opt %s --sparsec-lower-to-tiles -mlir-use-nameloc-as-prefix | FileCheck %s
// The program of a sddmm by mma.sync: all warps copy the columns of B of several blocks, and multiply.

// CHECK-DAG: !ring = !sparsec.ring<3, [!sparsec.buffer<64, 32, bf16, swizzle = 64>, !sparsec.buffer<128, 32, bf16, swizzle = 64>]>
// CHECK-DAG: !ring2 = !sparsec.ring<2, [!sparsec.buffer<16, 16, f16, swizzle = 32>, !sparsec.buffer<16, 128, f16, swizzle = 128>]>

// Two blocks of 64 columns. A warp has half of a block.
// CHECK: sparsec.program @parts attributes {alignment = 16
// CHECK: %[[RING:ring]] = sparsec.ring : !ring
// CHECK: sparsec.role "all" warp(4) registers(0) {
// CHECK: %[[GROUP:group]], %{{.*}}, %[[COLUMN:.*]] = sparsec.group_part {across = 4 : i64, columns = 32 : i64, rows = 64 : i64}
// CHECK: %[[A:a]] = sparsec.view %[[RING]] rows(%{{.*}}) {index = 0 : i64} : !ring -> <64, 32, bf16, k>
// CHECK: %[[B:b]] = sparsec.view %[[RING]] rows(%[[COLUMN]]) {index = 1 : i64} : !ring -> <32, 32, bf16, k>
// CHECK: %[[BLOCK_OF_TILE:.*]] = arith.divui %[[COLUMN]], %c64{{.*}}
// CHECK: %[[COLUMN_OF_BLOCK:.*]] = arith.remui %[[COLUMN]], %c64{{.*}}
// CHECK: sparsec.tile_loop attributes {periodic} {
// CHECK: %[[FIRST:first]], %[[END:end]] = sparsec.row_blocks
// CHECK: %[[OFFSET:.*]] = arith.muli %panel, %c2{{.*}}
// CHECK: %[[TILE:tile_first]] = arith.addi %[[FIRST]], %[[OFFSET]]
// CHECK: %[[REST:.*]] = arith.subi %[[END]], %[[TILE]]
// CHECK: %[[HAS:.*]] = arith.cmpi sgt, %[[REST]], %c0{{.*}}
// CHECK: scf.if %[[HAS]] {
// CHECK: %[[COUNT:count]] = arith.minsi %[[REST]], %c2{{.*}}
// Whether the tile has the block of this warp.
// CHECK: %[[MINE:.*]] = arith.cmpi slt, %[[BLOCK_OF_TILE]], %[[COUNT]]
// The columns of its blocks. The last one takes the place of one that is not there.
// CHECK: %[[TILE_END:.*]] = arith.addi %[[TILE]], %[[COUNT]]
// CHECK: %[[LAST:.*]] = arith.subi %[[TILE_END]], %c1{{.*}}
// CHECK: sparsec.block_walk %{{.*}} from %[[TILE]] to %[[TILE_END]] :
// CHECK: %{{.*}}, %{{.*}}, %[[FIRST_STORED:.*]] = sparsec.first_step %walk : <2> -> i32, i32
// CHECK: %[[FIRST_COLUMN:column]] = arith.muli %[[FIRST_STORED]], %c64{{.*}}
// CHECK: %[[SECOND:.*]] = arith.minsi %{{.*}}, %[[LAST]]
// CHECK: sparsec.block_walk %{{.*}} from %[[SECOND]] to %[[TILE_END]]
// CHECK: %[[SECOND_COLUMN:column.*]] = arith.muli
// CHECK: %[[STEPS:.*]] = arith.divui %{{.*}}, %c32{{.*}}
// CHECK: sparsec.barrier
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c2{{.*}} step %c1{{.*}} iter_args(%[[FREE:free_slot]] =
// CHECK: arith.cmpi slt, %[[I]], %[[STEPS]]
// CHECK: sparsec.copy_group if
// CHECK: %[[K:k]] = arith.muli %[[I]], %c32{{.*}}
// CHECK: sparsec.copy %{{.*}}[%{{.*}}, %[[K]]] to %[[RING]][%[[FREE]]] {index = 0 : i64}
// CHECK: sparsec.copy %{{.*}}[%[[FIRST_COLUMN]], %[[K]]] parts(%[[SECOND_COLUMN]]) to %[[RING]][%[[FREE]]] {index = 1 : i64, part_dimension = 0 : i64}
// CHECK: scf.for {{.*}} to %[[STEPS]] {{.*}} iter_args(%[[SLOT:slot]] = {{.*}} %[[SUM:sum]] =
// CHECK: sparsec.await_copies {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.barrier
// CHECK: sparsec.copy_group if
// CHECK: scf.if %[[MINE]]
// CHECK-NEXT: sparsec.product %[[A]][%[[SLOT]]], %[[B]][%[[SLOT]]], %[[SUM]] {depth = 32 : i64}
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[SUM]]
// CHECK: %[[STORED:.*]] = arith.addi %[[TILE]], %[[BLOCK_OF_TILE]]
// CHECK: %[[STORED_END:.*]] = arith.addi %[[TILE]], %[[COUNT]]
// CHECK: sparsec.store %{{.*}} to %{{.*}} part %[[GROUP]] at(%{{.*}}, %[[COLUMN_OF_BLOCK]]) blocks(%[[STORED]] to %[[STORED_END]] of %{{.*}} : !sparsec.bsr<?x?xbf16, block = 64x64>) attributes {block_rows = 64 : i64, block_stride = 64 : i64, broadcast = []}
sparsec.kernel @parts(%p: !sparsec.bsr<?x?xbf16, block = 64x64>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x64x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 128, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x64x64xbf16>
  sparsec.return %s : tensor<?x64x64xbf16>
}

// CHECK: sparsec.program @aligned
// The variant for any alignment waits for no asynchronous copies. Both factors have K outermost, the parts of B are
// columns, and blocks of 48 columns begin at multiples of 64.
// CHECK: sparsec.program @aligned_unaligned attributes {alignment = 2
// CHECK: sparsec.ring : !ring2
// CHECK: sparsec.view {{.*}} columns(%{{.*}}) {index = 0 : i64} {{.*}} -> <16, 16, f16, mn>
// CHECK: sparsec.view {{.*}} columns(%{{.*}}) {index = 1 : i64} {{.*}} -> <16, 64, f16, mn>
// CHECK: %[[LEFT:column]] = arith.muli %{{.*}}, %c48{{.*}}
// CHECK: %[[RIGHT:column.*]] = arith.muli %{{.*}}, %c48{{.*}}
// CHECK: scf.for
// CHECK: sparsec.copy %{{.*}}[%k, %{{.*}}] to {{.*}} {index = 0 : i64}
// CHECK: sparsec.copy %{{.*}}[%k, %[[LEFT]]] parts(%[[RIGHT]]) to {{.*}} {index = 1 : i64, part_dimension = 1 : i64}
// CHECK: scf.for
// CHECK-NOT: sparsec.await_copies
// CHECK: sparsec.barrier
// CHECK: sparsec.store {{.*}} block_stride = 64 : i64
sparsec.kernel @aligned(%p: !sparsec.bsr<?x?xf16, block = 16x48>, %a: tensor<?x?xf16>, %b: tensor<?x?xf16>) -> (s: tensor<?x16x48xf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 1>,
                fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 16, tile_n = 128, tile_k = 16, stages = 2, consumers_m = 1, consumers_n = 2>} {
  %s = sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn) : (!sparsec.bsr<?x?xf16, block = 16x48>, tensor<?x?xf16>, tensor<?x?xf16>) -> tensor<?x16x48xf16>
  sparsec.return %s : tensor<?x16x48xf16>
}
