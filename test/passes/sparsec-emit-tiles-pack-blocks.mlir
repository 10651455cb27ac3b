// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_90a},sparsec-select-schedule,sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// The machine kernel that packs values, once for all packed variants. Packed variants come behind those for few columns.

// CHECK-LABEL: llvm.func @product_narrow64(
// CHECK-LABEL: llvm.func @product_packed_windows(
// CHECK-SAME: sparsec.packed
// CHECK-LABEL: llvm.func @product_pack(
// CHECK-SAME: sparsec.auxiliary = #sparsec.auxiliary<pack_blocks>
// CHECK-SAME: #sparsec.parameter<kind = plan_section, index = 21>
// CHECK-SAME: #sparsec.parameter<kind = pointer>
// CHECK-SAME: #sparsec.parameter<kind = input>
// A block of 64 x 64 has 512 vectors, two for each of 256 threads. Each is that of a stored block, or zero.
// CHECK-SAME: sparsec.threads = 256 : i64
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK-NOT: llvm.func @product_pack_
// CHECK-LABEL: llvm.func @product_packed(
// CHECK-SAME: sparsec.packed
// CHECK-LABEL: llvm.func @product_streams(
// CHECK-NOT: sparsec.packed
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
