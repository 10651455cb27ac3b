// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_90a},sparsec-select-schedule,sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// The machine kernel that quantises the operands of a product of fp8, once for all variants; other products have none.

// CHECK-LABEL: llvm.func @f8_convert(
// CHECK-SAME: sparsec.auxiliary = #sparsec.auxiliary<convert_values>
// CHECK-SAME: #sparsec.parameter<kind = number>
// CHECK-SAME: sparsec.threads = 256 : i64
// The phases: clear, measure, convert.
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} : f32, !llvm.ptr<1>
// CHECK: } else {
// The largest value of the lanes that share a scale, and the maximum of those of all threads.
// CHECK: nvvm.shfl.sync bfly
// CHECK: red.global.max.u32
// Each type of the target has its own instructions. f8E4M3FN has no infinity: x + 0 x is NaN then.
// CHECK: math.fma
// CHECK: nvvm.convert.f32x2.to.f8x2 {{.*}}(f8E4M3FN)
// CHECK: nvvm.convert.f32x2.to.f8x2 {{.*}}(f8E5M2)
// CHECK: arith.constant 124 : i32
// Whole vectors are stored at once, others byte by byte.
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK-COUNT-16: llvm.store %{{.*}} : i8, !llvm.ptr<1>
// CHECK-NOT: llvm.func @{{.*}}_convert
sparsec.kernel @f8(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk)
    : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
sparsec.kernel @bf16(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
