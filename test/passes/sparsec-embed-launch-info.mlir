// RUN: sparsec-opt %s --sparsec-embed-launch-info --split-input-file | FileCheck %s
// What the bytes say is in test/unit/embed_launch_info_test.cpp.

// On a GPU: a constant in global memory beside the machine kernels. The kernel op has done its work.
// CHECK-NOT: sparsec.kernel @
// CHECK-LABEL: gpu.module @kernels
// CHECK-NEXT: llvm.mlir.global external constant @sparsec_launch_info(dense<"0x5350524349{{.*}}> : tensor<[[SIZE:[0-9]+]]xi8>) {addr_space = 1 : i32, alignment = 16 : i64} : !llvm.array<[[SIZE]] x i8>
// CHECK: llvm.func @copy_0() {
module attributes {sparsec.target = #sparsec.target<"sm_89">} {
  sparsec.kernel @copy(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf16>
    sparsec.return %y : tensor<?x?xf16>
  }
  gpu.module @kernels {
    llvm.func @copy_0() attributes {sparsec.kernel = @copy, sparsec.variant = 0 : i64, sparsec.parameters = [],
        sparsec.schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64,
          tile_k = 32, stages = 2, consumers_m = 1, consumers_n = 1>} {
      llvm.return
    }
  }
}

// -----

// On the host: an ordinary constant of the module.
// CHECK: module attributes {sparsec.target = #sparsec.target<"host">} {
// CHECK-NEXT: llvm.mlir.global external constant @sparsec_launch_info({{.*}}) {addr_space = 0 : i32, alignment = 16 : i64}
// CHECK-NOT: sparsec.kernel @
module attributes {sparsec.target = #sparsec.target<"host">} {
  sparsec.kernel @copy(%w: !sparsec.bsr<?x?xf16, block = 32x32>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
    %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x32>, tensor<?x?xf16>) -> tensor<?x?xf16>
    sparsec.return %y : tensor<?x?xf16>
  }
  llvm.func @copy_0() attributes {sparsec.kernel = @copy, sparsec.variant = 0 : i64, sparsec.parameters = []} {
    llvm.return
  }
}
