// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)))' | FileCheck %s

// 4 stages of A: 4 * 128 * 64 * 2 = 65536. X: 4 * 64 * 256 * 2 = 131072, so staging begins at 196608: 2 warpgroups with 2
// buffers of 64 x 64 * 2 = 8192 end at 229376. Barriers: 4 * 16 = 64.
// CHECK-LABEL: sparsec.program @roles
// CHECK-SAME: shared_memory = 229440 : i64
// CHECK: sparsec.ring {barrier_offset = 229376 : i64, offsets = array<i64: 0, 65536>}
// CHECK: sparsec.store
// CHECK-SAME: staging = array<i64: 196608, 64, 2>
sparsec.kernel @roles(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// 4 * 32 * 32 * 2 = 8192 and 4 * 32 * 128 * 2 = 32768; no staging, no barriers.
// CHECK-LABEL: sparsec.program @one_role
// CHECK-SAME: shared_memory = 40960 : i64
// CHECK: sparsec.ring {offsets = array<i64: 0, 8192>}
// CHECK-NOT: staging
sparsec.kernel @one_role(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 4>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Each of two slices has a ring of 4 * (64 + 64) * 64 * 2 = 65536 bytes and 4 * 16 bytes of barriers. The next slice begins
// where the swizzle does: at 66560. Behind both are two staging buffers of the first one, 2 * 64 * 64 * 2 = 16384 bytes,
// and the sums of the second one, 64 * 64 * 4 = 16384.
// CHECK-LABEL: sparsec.program @slices_of_roles
// CHECK-SAME: shared_memory = 165888 : i64
// CHECK-SAME: tile_bytes = 66560 : i64
// CHECK: sparsec.ring {barrier_offset = 65536 : i64, offsets = array<i64: 0, 32768>}
// CHECK: sparsec.add_slices %{{.*}} {offset = 149504 : i64}
// CHECK: sparsec.store
// CHECK-SAME: staging = array<i64: 133120, 64, 2>
sparsec.kernel @slices_of_roles(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Each of four slices has a ring of 3 * 16 * 64 * 2 * 2 = 12288 bytes, where those of the next one begin.
// CHECK-LABEL: sparsec.program @slices
// CHECK-SAME: shared_memory = 49152 : i64
// CHECK-SAME: tile_bytes = 12288 : i64
// CHECK: sparsec.ring {offsets = array<i64: 0, 6144>}
sparsec.kernel @slices(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
