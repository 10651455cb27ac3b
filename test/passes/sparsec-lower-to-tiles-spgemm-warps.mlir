// RUN: sparsec-opt %s --sparsec-lower-to-tiles -mlir-use-nameloc-as-prefix | FileCheck %s
// The program of a spgemm by mma.sync: a step is a part of a pair, and all warps copy and multiply.

// CHECK-DAG: !ring = !sparsec.ring<3, [!sparsec.buffer<48, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 128, bf16, swizzle = 128>]>
// CHECK: sparsec.program @dense attributes {alignment = 16
// CHECK: %[[RING:ring]] = sparsec.ring : !ring
// CHECK: sparsec.role "all" warp(6) registers(0) {
// CHECK: %[[A:a]] = sparsec.view %[[RING]] rows(%{{.*}}) {index = 0 : i64} : !ring -> <16, 32, bf16, k>
// CHECK: %[[B:b]] = sparsec.view %[[RING]] columns(%[[COLUMN:.*]]) {index = 1 : i64} : !ring -> <32, 64, bf16, mn>
// CHECK: sparsec.tile_loop attributes {periodic} {
// CHECK: %[[FIRST:first]] = sparsec.read_plan pair_starts[
// CHECK: %[[END:end]] = sparsec.read_plan pair_starts[
// CHECK: arith.cmpi slt, %[[FIRST]], %[[END]]
// CHECK: scf.if
// CHECK: sparsec.barrier
// Two steps for each pair.
// CHECK: %[[PAIRS:.*]] = arith.subi %[[END]], %[[FIRST]]
// CHECK: %[[COUNT:.*]] = arith.muli %[[PAIRS]], %c2{{.*}}
// CHECK: %[[LAST:.*]] = arith.subi %[[COUNT]], %c1{{.*}}
// CHECK: %[[LEFT:left]] = sparsec.read_plan pairs[
// CHECK: %[[RIGHT:right]] = sparsec.read_plan pairs[
// CHECK: %[[K:k]] = sparsec.read_plan pairs[
// CHECK: scf.for %[[I:.*]] = %c0{{.*}} to %c2{{.*}} step %c1{{.*}} iter_args(%[[FREE:free_slot]] = %{{.*}}, %[[LEFT_NOW:left.*]] = %[[LEFT]], %[[RIGHT_NOW:right.*]] = %[[RIGHT]], %[[K_NOW:k.*]] = %[[K]])
// CHECK: arith.cmpi slt, %[[I]], %[[COUNT]]
// CHECK: sparsec.copy_group if
// CHECK: %[[PART:.*]] = arith.remui %[[I]], %c2{{.*}}
// CHECK: %[[INSIDE:.*]] = arith.muli %[[PART]], %c32{{.*}}
// CHECK: sparsec.copy %arg0[%[[LEFT_NOW]], %{{.*}}, %[[INSIDE]]] block_columns(%[[K_NOW]]) to %[[RING]][%[[FREE]]] {index = 0 : i64}
// CHECK: sparsec.copy %arg1[%[[RIGHT_NOW]], %[[INSIDE]], %c0{{.*}}] block_columns(%[[K_NOW]]) to %[[RING]][%[[FREE]]] {depth_rows, index = 1 : i64}
// The pair of the step after, or the last one.
// CHECK: %[[AFTER:.*]] = arith.addi %[[I]], %c1{{.*}}
// CHECK: %[[NEXT:.*]] = arith.minsi %[[AFTER]], %[[LAST]]
// CHECK: %[[OF_PAIR:.*]] = arith.divui %[[NEXT]], %c2{{.*}}
// CHECK: arith.addi %[[FIRST]], %[[OF_PAIR]]
// CHECK: sparsec.read_plan pairs[
// CHECK: scf.for {{.*}} to %[[COUNT]]
// CHECK: sparsec.await_copies {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.barrier
// CHECK: sparsec.copy_group if
// CHECK: sparsec.product %[[A]][%[[SLOT:.*]]], %[[B]][%[[SLOT]]], %{{.*}} {depth = 32 : i64}
// A block without pairs is stored, too. Columns 112 to 127 of the tile are no part of the block.
// CHECK: } else {
// CHECK: sparsec.zero
// CHECK: sparsec.store %{{.*}} to %arg2[%{{.*}}] part {{.*}} at(%{{.*}}, %[[COLUMN]]) {{.*}} : <16, 64> -> tensor<?x?xf32>
sparsec.kernel @dense(%a: !sparsec.bsr<?x?xbf16, block = 96x48>, %b: !sparsec.bsr<?x?xbf16, block = 48x112>) -> (c: tensor<?x?xf32>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 48, tile_n = 128, tile_k = 32, stages = 3, consumers_m = 3, consumers_n = 2>} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 96x48>, !sparsec.bsr<?x?xbf16, block = 48x112>) -> tensor<?x?xf32>
  sparsec.return %c : tensor<?x?xf32>
}

// With a pattern a tile has a stored block of its row, or is passed over. A block takes all columns of the tile.
// CHECK: sparsec.program @sampled
// CHECK: sparsec.row_blocks %arg2[
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %panel
// CHECK: scf.if %[[EXISTS]] {
// CHECK: %[[BLOCK:number.*]] = arith.addi %{{.*}}, %panel
// CHECK-NOT: block_columns
// CHECK: sparsec.store {{.*}} blocks(%[[BLOCK]] to %{{.*}} of %arg2 : !sparsec.bsr<?x?xf16, block = 16x48>) attributes {block_rows = 16 : i64, block_stride = 64 : i64, broadcast = []}
sparsec.kernel @sampled(%a: !sparsec.bsr<?x512xf16, block = 16x16>, %b: !sparsec.bsr<?x?xf16, block = 16x48>,
                        %p: !sparsec.bsr<?x?xf16, block = 16x48>) -> (c: tensor<?x16x48xf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 16, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %c = sparsec.spgemm %a, %b pattern(%p) : (!sparsec.bsr<?x512xf16, block = 16x16>, !sparsec.bsr<?x?xf16, block = 16x48>, !sparsec.bsr<?x?xf16, block = 16x48>) -> tensor<?x16x48xf16>
  sparsec.return %c : tensor<?x16x48xf16>
}
