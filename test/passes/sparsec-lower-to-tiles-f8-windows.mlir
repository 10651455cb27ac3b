// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_90a},sparsec-select-schedule,sparsec-lower-to-tiles)' --mlir-use-nameloc-as-prefix | FileCheck %s
// Windows of fp8: with sums of two levels steps in pairs, and blocks that two producers copy in turn.

// CHECK-LABEL: sparsec.program @product_windows
// CHECK: sparsec.role "consumer" warpgroup(2)
// CHECK: scf.while
// CHECK: ^bb0(%number: i32, %word: i32, %next_word: i32, %sum: !sparsec.accumulator<64, 256>):
// The words of the two steps behind these are read before the products.
// CHECK: %[[THIRD:.*]] = sparsec.read_plan steps
// CHECK: %[[FOURTH:.*]] = sparsec.read_plan steps
// CHECK: %[[NEAR:.*]] = arith.cmpi slt, %{{.*}}, %c9_i32
// CHECK: %is_pair = arith.andi
// CHECK: scf.if %is_pair
// Both columns and blocks are there. The second product of a part adds to the first one.
// CHECK: sparsec.wait %column_ring
// CHECK-NEXT: sparsec.wait %block_ring
// CHECK-NEXT: sparsec.wait %column_ring
// CHECK-NEXT: sparsec.wait %block_ring
// CHECK: %[[FIRST:.*]] = sparsec.product %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] {depth = 64 : i64}
// CHECK: %[[BOTH:.*]] = sparsec.product %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], %[[FIRST]] {depth = 64 : i64}
// CHECK: %[[SUM:.*]] = sparsec.await %[[BOTH]] {outstanding = 0 : i64}
// CHECK: sparsec.promote %[[SUM]] to %{{.*}} {column = 0 : i64}
// The slots are free before the last part is added.
// CHECK: sparsec.await
// CHECK-COUNT-2: sparsec.release %block_ring
// CHECK: sparsec.promote {{.*}} {column = 128 : i64}
// CHECK: scf.yield %{{.*}}, %[[THIRD]], %[[FOURTH]],
// A single step, and one without a block.
// CHECK: scf.if %multiplies
// CHECK: sparsec.wait %column_ring
// CHECK-NEXT: sparsec.wait %block_ring
// CHECK: } else {
// CHECK-NEXT: sparsec.wait %column_ring[[COLUMN:.*]]
// CHECK-NEXT: sparsec.release %column_ring[[COLUMN]]
// CHECK: sparsec.role "x" thread(1)
// CHECK: sparsec.role "w0" thread(1)
// CHECK: %[[MINE:.*]] = arith.subi %c0_i32,
// CHECK: arith.remui %[[MINE]], %c2_i32
// CHECK: sparsec.cursor %block_ring at(
// CHECK: sparsec.role "w1" thread(1)
// CHECK: arith.subi %c1_i32,
sparsec.kernel @product(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk)
    : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// With sums of one level a product is in flight while its group waits for the next operands, if these are near enough.
// CHECK-LABEL: sparsec.program @fast_windows
// CHECK: sparsec.role "consumer" warpgroup(3)
// CHECK: scf.for {{.*}} iter_args(%sum = {{.*}}, %is_in_flight = {{.*}}, %held_column = {{.*}}, %held_block = {{.*}}, %word = {{.*}}, %previous = {{.*}})
// CHECK: %[[DISTANCE:.*]] = arith.subi %word, %previous
// CHECK: %[[COLUMNS:.*]] = arith.remui %[[DISTANCE]], %c65536_i32
// CHECK: arith.cmpi slt, %[[COLUMNS]], %c8_i32
// CHECK: %[[BLOCKS:.*]] = arith.divui %[[DISTANCE]], %c65536_i32
// CHECK: arith.cmpi slt, %[[BLOCKS]], %c16_i32
// CHECK: %is_near = arith.andi
// CHECK: scf.if %is_far
// CHECK-NEXT: %[[DONE:.*]] = sparsec.await %sum {outstanding = 0 : i64}
// CHECK-NEXT: sparsec.release %column_ring[%held_column]
// CHECK-NEXT: sparsec.release %block_ring[%held_block]
// CHECK-NEXT: scf.yield %[[DONE]]
// CHECK: %[[STAYS:.*]] = arith.andi %is_in_flight, %is_near
// CHECK: sparsec.wait %column_ring
// CHECK: scf.if %multiplies
// CHECK: sparsec.wait %block_ring
// CHECK: %[[PRODUCT:.*]] = sparsec.product
// CHECK-NEXT: sparsec.await %[[PRODUCT]] {outstanding = 1 : i64}
// CHECK-NEXT: sparsec.release %column_ring[%held_column] if %[[STAYS]]
// CHECK-NEXT: sparsec.release %block_ring[%held_block] if %[[STAYS]]
sparsec.kernel @fast(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast)
    : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
