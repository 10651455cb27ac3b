// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_90a},sparsec-select-schedule,sparsec-lower-to-tiles)' | FileCheck %s
// Windows of fp8 with sums of two levels: steps in pairs, and blocks that two producers copy in turn.

// CHECK-LABEL: sparsec.program @product_windows
// CHECK: sparsec.role "consumer" warpgroup(2)
// CHECK: %[[NEAR:.*]] = arith.andi
// CHECK: %[[PAIR:.*]] = arith.andi %{{.*}}, %[[NEAR]]
// CHECK: scf.if %[[PAIR]]
// Both columns and blocks are there. The second product of a part adds to the first one.
// CHECK: sparsec.wait %column_ring
// CHECK: sparsec.wait %block_ring
// CHECK: %[[FIRST:.*]] = sparsec.product %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] {depth = 64 : i64}
// CHECK: %[[BOTH:.*]] = sparsec.product %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}], %[[FIRST]] {depth = 64 : i64}
// CHECK: %[[SUM:.*]] = sparsec.await %[[BOTH]] {outstanding = 0 : i64}
// CHECK: sparsec.promote %[[SUM]] to %{{.*}} {column = 0 : i64}
// CHECK: sparsec.promote {{.*}} {column = 128 : i64}
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
