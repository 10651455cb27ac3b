// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_90a},sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s --check-prefixes=CHECK,WIDENED
// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-attach-target{chip=sm_89},sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages)))' | FileCheck %s --check-prefixes=CHECK,NATIVE
// Hopper has mma.sync of fp8 only as that of f16 behind conversions: sums then need no second level.

// A block of 16 bytes in each row is a strip of one vector, which has no swizzle.
// CHECK: !sparsec.ring<3, [!sparsec.buffer<16, 64, f8E4M3FN, strip = 16, swizzle = 0>, !sparsec.buffer<32, 64, f8E5M2, swizzle = 64>]>

// CHECK: sparsec.program @two_levels
// WIDENED: sparsec.product %{{.*}}[%[[C:.*]]], %{{.*}}[%[[C]]], %{{.*}} {depth = 64 : i64, widened} : !sparsec.view<16, 64, f8E4M3FN, k>, !sparsec.view<32, 64, f8E5M2, k>, !sparsec.accumulator<16, 32>
// WIDENED-NOT: sparsec.promote
// NATIVE: sparsec.product %{{.*}}[%[[C:.*]]], %{{.*}}[%[[C]]] {depth = 64 : i64} : !sparsec.view<16, 64, f8E4M3FN, k>, !sparsec.view<32, 64, f8E5M2, k> ->
// NATIVE: sparsec.promote
sparsec.kernel @two_levels(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 16x16>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 32, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 16x16>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Every block has a scale, which its product gets when it is added.
// CHECK: sparsec.program @scales
// WIDENED: sparsec.product {{.*}} {depth = 64 : i64, widened} : !sparsec.view<16, 64, f8E4M3FN, k>, !sparsec.view<32, 64, f8E5M2, k> ->
// CHECK: sparsec.promote
sparsec.kernel @scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 16x64>, %s: tensor<?xf32>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 32, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>} {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 16x64>, tensor<?xf32>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// wgmma has fp8 itself.
// CHECK: sparsec.program @one_level
// CHECK: sparsec.product
// CHECK-NOT: widened
sparsec.kernel @one_level(%w: !sparsec.bsr<?x?xf8E5M2, block = 128x128>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 128, stages = 4, consumers_m = 2, consumers_n = 1>} {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E5M2, block = 128x128>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
