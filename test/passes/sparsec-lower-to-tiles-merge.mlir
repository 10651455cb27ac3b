// RUN: sparsec-opt %s --sparsec-lower-to-tiles | FileCheck %s
// The program of a merge has its role from the start. One op has the rows of a tile, which no plan lists.

// CHECK: sparsec.program @host.host attributes {alignment = 2 : i64, kernel = @host,
// CHECK-NOT: sparsec.role
// CHECK: sparsec.tile_loop {
// CHECK-NEXT: ^bb0(%[[TILE:.*]]: i32, %{{.*}}: i32):
// CHECK-NEXT: sparsec.merge_rows %arg0, %arg1 and %arg2, %arg3 to %arg4, %arg5[%[[TILE]]] {lanes = 1 : i64, rows = 64 : i64, vector = 16 : i64}
// CHECK: sparsec.program @gpu attributes {alignment = 16 : i64, kernel = @gpu,
// CHECK: sparsec.role "all" warp(8) registers(0) {
// CHECK-NEXT: sparsec.tile_loop {
// CHECK-NEXT: ^bb0(%[[TILE:.*]]: i32, %{{.*}}: i32):
// CHECK-NEXT: sparsec.merge_rows %arg0, %arg1 and %arg2, %arg3 to %arg4, %arg5[%[[TILE]]] {lanes = 8 : i64, rows = 32 : i64, vector = 8 : i64}
// CHECK: sparsec.program @gpu_unaligned attributes {alignment = 2 : i64, kernel = @gpu,
// CHECK: sparsec.merge_rows {{.*}} {lanes = 32 : i64, rows = 8 : i64, vector = 1 : i64}
sparsec.kernel @gpu(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = none, copy = vector, tile_m = 32, tile_n = 64, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>, fallback_schedule = #sparsec.schedule<instruction = none, copy = scalar, tile_m = 8, tile_n = 32, tile_k = 1, stages = 1, consumers_m = 8, consumers_n = 1>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
sparsec.kernel @host(%o1: tensor<?x?x?x128xbf16>, %lse1: tensor<?x?x?xf32>, %o2: tensor<?x?x?x128xbf16>, %lse2: tensor<?x?x?xf32>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 16, tile_k = 16, stages = 1, consumers_m = 1, consumers_n = 1>} {
  %o, %lse = sparsec.merge %o1, %lse1, %o2, %lse2 : (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>, tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
