// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_90a},sparsec-select-schedule,sparsec-lower-to-tiles)' --mlir-use-nameloc-as-prefix | FileCheck %s
// Streams whose tiles are split into parts of K. The program comes in front of the narrow ones with as many columns.

// CHECK: sparsec.program @product_narrow32
// CHECK: sparsec.program @product_parts64
// CHECK-SAME: split
// CHECK: sparsec.role "consumer" warp(16)
// CHECK: ^bb0(%window: i32, %[[GRID_PANEL:.*]]: i32
// CHECK: %[[PANEL:.*]], %[[PART:.*]], %[[PARTS:.*]] = sparsec.tile_part %[[GRID_PANEL]]
// CHECK-NEXT: %column = arith.muli %[[PANEL]], %c64_i32
// Part p of n has the stages from count * p / n on.
// CHECK: %[[BEFORE:.*]] = arith.muli %[[COUNT:.*]], %[[PART]]
// CHECK-NEXT: %[[SHARE:.*]] = arith.divui %[[BEFORE]], %[[PARTS]]
// CHECK-NEXT: %[[FIRST:.*]] = arith.addi %[[ALL:.*]], %[[SHARE]]
// The group's first product lies in the chunk with this number, behind so many others.
// CHECK: %[[PRODUCT:.*]] = sparsec.count_products %{{.*}} to %[[FIRST]] of %{{.*}} {words = 16 : i64}
// CHECK-NEXT: %[[CHUNK:.*]] = arith.divui %[[PRODUCT]], %c2_i32
// CHECK: %[[PLACE:.*]] = arith.remui %[[PRODUCT]], %c2_i32
// A chunk that begins in the part before has begun already.
// CHECK: %[[INSIDE:.*]] = arith.cmpi ne, %[[PLACE]], %c0_i32
// CHECK-NEXT: scf.if %[[INSIDE]]
// CHECK-NEXT: sparsec.await_copies {outstanding = 2 : i64}
// CHECK: scf.for
// CHECK: sparsec.await_copies {outstanding = 0 : i64}
// CHECK-NEXT: %total, %is_last = sparsec.join_parts %{{.*}} of %window, %[[GRID_PANEL]]
// CHECK-NEXT: scf.if %is_last {
// CHECK: sparsec.store %total to
// CHECK: sparsec.role "x0"
// CHECK: sparsec.tile_part
// CHECK: sparsec.program @product_narrow64
// CHECK-NOT: sparsec.tile_part
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
