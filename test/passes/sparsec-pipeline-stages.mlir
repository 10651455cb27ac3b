// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s

// With TMA the loops are split: a producer that only copies, and a consumer that waits, multiplies and releases. The A of
// a cluster is multicast, X is not.
// CHECK-LABEL: sparsec.program @roles
// CHECK: %[[RING:.*]] = sparsec.ring : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
// CHECK: sparsec.producer attributes {registers = 40 : i64}
// CHECK: sparsec.tile_loop
// CHECK: sparsec.block_loop
// CHECK: sparsec.acquire %[[RING]]
// CHECK: sparsec.copy a {{.*}} to %[[RING]][0]
// CHECK-SAME: multicast
// CHECK: sparsec.copy x {{.*}} to %[[RING]][1]
// CHECK-NOT: multicast
// CHECK: sparsec.commit %[[RING]]
// CHECK: sparsec.consumer attributes {registers = 232 : i64}
// CHECK: sparsec.tile_loop
// CHECK: %[[BUFFERS:.*]]:2 = sparsec.wait %[[RING]]
// CHECK: sparsec.chain %[[BUFFERS]]#0, %[[BUFFERS]]#1
// CHECK: sparsec.release %[[RING]]
// CHECK: sparsec.store
// CHECK-NOT: sparsec.load
sparsec.kernel @roles(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Otherwise one role: a step waits, then prefetches stages - 1 steps ahead, then multiplies.
// CHECK-LABEL: sparsec.program @one_role
// CHECK: %[[RING:.*]] = sparsec.ring
// CHECK-NOT: sparsec.producer
// CHECK: sparsec.wait %[[RING]]
// CHECK: sparsec.prefetch %[[RING]] attributes {ahead = 3 : i64}
// CHECK: sparsec.copy a
// CHECK: sparsec.copy x
// CHECK: sparsec.chain
// CHECK: sparsec.release %[[RING]]
sparsec.kernel @one_role(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 4>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
