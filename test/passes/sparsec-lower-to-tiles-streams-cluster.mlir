// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_90a},sparsec-select-schedule,sparsec-lower-to-tiles)' --mlir-use-nameloc-as-prefix | FileCheck %s
// Streams of a cluster: its CTAs share a window and the columns of X. Each has three of the window's six groups.

// CHECK-LABEL: sparsec.program @product_streams
// The panel is that of the whole cluster.
// CHECK: sparsec.role "consumer" warpgroup(3)
// CHECK: ^bb0(%window: i32, %panel: i32
// CHECK-NEXT: %column = arith.muli %panel, %c128_i32
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c6_i32
// CHECK-NEXT: %[[GROUP:.*]] = arith.addi %[[FIRST]], %group
// CHECK-NEXT: %[[RANK:.*]] = sparsec.cluster_rank
// CHECK-NEXT: %[[BEFORE:.*]] = arith.muli %[[RANK]], %c3_i32
// CHECK-NEXT: %[[ENTRY:.*]] = arith.addi %[[GROUP]], %[[BEFORE]]
// CHECK: sparsec.read_plan stage_products[%[[ENTRY]]]
// CHECK: sparsec.role "x"
// CHECK-COUNT-4: sparsec.copy %arg1{{.*}} to %column_ring{{.*}} multicast
// CHECK: sparsec.role "w0"
// CHECK: %[[RANK_OF_W:.*]] = sparsec.cluster_rank
// CHECK-NEXT: arith.muli %[[RANK_OF_W]], %c3_i32
// CHECK: sparsec.read_plan chunk_offsets
// CHECK-NOT: multicast
// CHECK-LABEL: sparsec.program @product
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {planned_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, cluster = 2, producer_registers = 32, consumer_registers = 160, walk = streams, block_stages = 3>]} {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
