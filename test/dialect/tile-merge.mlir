// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

gpu.module @kernels {
  // CHECK: sparsec.program @merge
  sparsec.program @merge attributes {kernel = @merge, variant = 0 : i64, alignment = 16 : i64, schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  ^bb0(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.role "all" warp(8) registers(0) {
      sparsec.tile_loop {
      ^bb0(%tile_row: i32, %panel: i32):
        // CHECK: sparsec.merge_rows %arg0, %arg1 and %arg2, %arg3 to %arg4, %arg5[%tile_row] {lanes = 8 : i64, rows = 32 : i64, vector = 8 : i64}
        // CHECK-SAME: : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
        sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%tile_row] {lanes = 8 : i64, rows = 32 : i64, vector = 8 : i64}
            : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
      }
    }
  }
}
