// RUN: sparsec-opt %s --split-input-file --verify-diagnostics
// One program per constraint of dialect/SPEC.md, named after it.

gpu.module @kernels {
  sparsec.program @merge_rows_c1 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  ^bb0(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.role "all" warp(8) registers(0) {
      %zero = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.merge_rows' op expects a row to have 1, 2, 4, 8, 16 or 32 lanes, but got 24}}
      sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%zero] {lanes = 24 : i64, rows = 32 : i64, vector = 8 : i64}
          : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @merge_rows_c1_many attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  ^bb0(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.role "all" warp(8) registers(0) {
      %zero = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.merge_rows' op expects a row to have 1, 2, 4, 8, 16 or 32 lanes, but got 64}}
      sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%zero] {lanes = 64 : i64, rows = 32 : i64, vector = 8 : i64}
          : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @merge_rows_c1_none attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  ^bb0(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.role "all" warp(8) registers(0) {
      %zero = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.merge_rows' op expects a row to have 1, 2, 4, 8, 16 or 32 lanes, but got 0}}
      sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%zero] {lanes = 0 : i64, rows = 32 : i64, vector = 8 : i64}
          : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @merge_rows_c2 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  ^bb0(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.role "all" warp(8) registers(0) {
      %zero = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.merge_rows' op expects vectors of 1, 2, 4, 8 or 16 elements, but got 3}}
      sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%zero] {lanes = 8 : i64, rows = 32 : i64, vector = 3 : i64}
          : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @merge_rows_c2_long attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  ^bb0(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.role "all" warp(8) registers(0) {
      %zero = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.merge_rows' op expects vectors of 1, 2, 4, 8 or 16 elements, but got 32}}
      sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%zero] {lanes = 8 : i64, rows = 32 : i64, vector = 32 : i64}
          : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @merge_rows_c2_none attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  ^bb0(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.role "all" warp(8) registers(0) {
      %zero = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.merge_rows' op expects vectors of 1, 2, 4, 8 or 16 elements, but got 0}}
      sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%zero] {lanes = 8 : i64, rows = 32 : i64, vector = 0 : i64}
          : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @merge_rows_c3 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  ^bb0(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.role "all" warp(8) registers(0) {
      %zero = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.merge_rows' op expects tiles of at least 1 row, but got 0}}
      sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%zero] {lanes = 8 : i64, rows = 0 : i64, vector = 8 : i64}
          : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @merge_rows_c4 attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  ^bb0(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.role "all" warp(8) registers(0) {
      %zero = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.merge_rows' op expects a role of warps, whose threads have equally many rows, but got 48 rows for 256 threads}}
      sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%zero] {lanes = 8 : i64, rows = 48 : i64, vector = 8 : i64}
          : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    }
  }
}

// -----

gpu.module @kernels {
  sparsec.program @merge_rows_c4_thread attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  ^bb0(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>, %o: tensor<?x?x?x128xbf16>, %lse: tensor<?x?x?xf32>):
    sparsec.role "one" thread(1) registers(0) {
      %zero = arith.constant 0 : i32
      // expected-error @+1 {{'sparsec.merge_rows' op expects a role of warps, whose threads have equally many rows, but got 32 rows for 1 threads}}
      sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%zero] {lanes = 1 : i64, rows = 32 : i64, vector = 8 : i64}
          : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    }
  }
}
