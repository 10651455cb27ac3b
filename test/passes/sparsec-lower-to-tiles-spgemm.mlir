// RUN: sparsec-opt %s --sparsec-lower-to-tiles -mlir-use-nameloc-as-prefix | FileCheck %s
// The program of a spgemm has roles from the start. A tile is a block of the result, and its steps are its pairs.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 64, stages = 3,
                              consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>

// The ring has whole panels of B, of which products take the columns of a block.
// CHECK-DAG: !ring = !sparsec.ring<3, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 128, bf16, strip = 128>]>
// CHECK: sparsec.program @dense
// CHECK: %[[RING:ring]] = sparsec.ring : !ring
// CHECK: sparsec.role "consumer" warpgroup(2) registers(232) {
// CHECK: %[[A:a]] = sparsec.view %[[RING]] rows(%{{.*}}) {index = 0 : i64} : !ring -> <64, 64, bf16, k>
// CHECK: %[[B:b]] = sparsec.view %[[RING]] {index = 1 : i64} : !ring -> <64, 112, bf16, mn>
// CHECK: sparsec.tile_loop
// All blocks of the result have numbers, row by row.
// CHECK: sparsec.size %arg1 {dimension = 1 : i64}
// CHECK: %[[NUMBER:number]] = arith.addi %{{.*}}, %panel
// CHECK: %[[FIRST:first]] = sparsec.read_plan pair_starts[%[[NUMBER]]]
// CHECK: %[[END:end]] = sparsec.read_plan pair_starts[
// CHECK: scf.if
// CHECK: scf.for %position = %[[FIRST]] to %[[END]]
// CHECK: sparsec.product %[[A]][%[[SLOT:.*]]], %[[B]][%[[SLOT]]], %sum {depth = 64 : i64}
// CHECK: sparsec.await %{{.*}} {outstanding = 1 : i64}
// The second step of a pair has the other columns of A's block.
// CHECK: sparsec.product %[[A]][%[[NEXT:.*]]], %[[B]][%[[NEXT]]], %{{.*}} {depth = 48 : i64}
// A block without pairs is stored, too.
// CHECK: } else {
// CHECK: sparsec.zero
// CHECK: sparsec.store %{{.*}} to %arg2[%{{.*}}] part {{.*}} : <64, 112> -> tensor<?x?xf32>
// CHECK: sparsec.role "producer" thread(1) registers(40) {
// CHECK: %[[LEFT:left]] = sparsec.read_plan pairs[
// CHECK: %[[RIGHT:right]] = sparsec.read_plan pairs[
// CHECK: %[[K:k]] = sparsec.read_plan pairs[
// CHECK: scf.for {{.*}} iter_args(%{{.*}}, %[[LEFT_NOW:left.*]] = %[[LEFT]], %[[RIGHT_NOW:right.*]] = %[[RIGHT]], %[[K_NOW:k.*]] = %[[K]])
// The next pair is loaded first.
// CHECK: sparsec.read_plan pairs[
// CHECK: sparsec.acquire
// CHECK: sparsec.copy %arg0[%[[LEFT_NOW]], %{{.*}}, %c0{{.*}}] block_columns(%[[K_NOW]]) to %[[RING]][%{{.*}}] {index = 0 : i64}
// CHECK: sparsec.copy %arg1[%[[RIGHT_NOW]], %c0{{.*}}, %c0{{.*}}] block_columns(%[[K_NOW]]) to %[[RING]][%{{.*}}] {depth_rows, index = 1 : i64}
// CHECK: sparsec.copy %arg0[%[[LEFT_NOW]], %{{.*}}, %c64{{.*}}]
// CHECK: sparsec.copy %arg1[%[[RIGHT_NOW]], %c64{{.*}}, %c0{{.*}}]
sparsec.kernel @dense(%a: !sparsec.bsr<?x?xbf16, block = 256x112>, %b: !sparsec.bsr<?x?xbf16, block = 112x112>) -> (c: tensor<?x?xf32>)
    attributes {schedule = #schedule} {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 256x112>, !sparsec.bsr<?x?xbf16, block = 112x112>) -> tensor<?x?xf32>
  sparsec.return %c : tensor<?x?xf32>
}

// With a pattern a tile has a stored block of its row. K is known not to cut blocks: nobody asks where a pair is.
// CHECK: sparsec.program @sampled
// CHECK: sparsec.role "consumer"
// CHECK: sparsec.row_blocks %arg2[
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %panel
// CHECK: scf.if %[[EXISTS]]
// CHECK: %[[BLOCK:number.*]] = arith.addi %{{.*}}, %panel
// CHECK: sparsec.read_plan pair_starts[%[[BLOCK]]]
// CHECK: sparsec.store {{.*}} blocks(%[[BLOCK]] to %{{.*}} of %arg2 : !sparsec.bsr<?x?xbf16, block = 128x128>) attributes {block_rows = 128 : i64, block_stride = 128 : i64, broadcast = [], staged}
// CHECK: sparsec.role "producer"
// CHECK-NOT: block_columns
// CHECK: sparsec.copy %arg0[
sparsec.kernel @sampled(%a: !sparsec.bsr<?x512xbf16, block = 128x64>, %b: !sparsec.bsr<?x?xbf16, block = 64x128>,
                        %p: !sparsec.bsr<?x?xbf16, block = 128x128>) -> (c: tensor<?x128x128xbf16>)
    attributes {schedule = #schedule} {
  %c = sparsec.spgemm %a, %b pattern(%p) : (!sparsec.bsr<?x512xbf16, block = 128x64>, !sparsec.bsr<?x?xbf16, block = 64x128>, !sparsec.bsr<?x?xbf16, block = 128x128>) -> tensor<?x128x128xbf16>
  sparsec.return %c : tensor<?x128x128xbf16>
}
