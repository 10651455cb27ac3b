// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule | FileCheck %s --check-prefix=SM_89
// RUN: sparsec-opt %s --sparsec-attach-target=chip=host --sparsec-select-schedule | FileCheck %s --check-prefix=HOST
// Tiles are rows of one block of the result. The ring of wgmma has whole panels of B, that of mma_sync a power of two of
// columns. Operands of any alignment take scalar copies.

// CHECK-LABEL: sparsec.kernel @blocks_of_128
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 128, tile_k = 32,
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 64,
// CHECK-SAME: consumers_m = 2, consumers_n = 1
// SM_89-LABEL: sparsec.kernel @blocks_of_128
// SM_89-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar,
// SM_89-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 128, tile_k = 32,
// HOST-LABEL: sparsec.kernel @blocks_of_128
// HOST-SAME: attributes {schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 128, tile_n = 128, tile_k = 128,
sparsec.kernel @blocks_of_128(%a: !sparsec.bsr<?x?xbf16, block = 128x128>, %b: !sparsec.bsr<?x?xbf16, block = 128x128>) -> (c: tensor<?x?xbf16>) {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 128x128>, !sparsec.bsr<?x?xbf16, block = 128x128>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @uneven
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64,
// CHECK-SAME: consumers_m = 1, consumers_n = 1
// SM_89-LABEL: sparsec.kernel @uneven
// SM_89-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 128,
sparsec.kernel @uneven(%a: !sparsec.bsr<?x?xbf16, block = 192x112>, %b: !sparsec.bsr<?x?xbf16, block = 112x80>) -> (c: tensor<?x?xf32>) {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 192x112>, !sparsec.bsr<?x?xbf16, block = 112x80>) -> tensor<?x?xf32>
  sparsec.return %c : tensor<?x?xf32>
}

// Blocks with fewer rows or columns than wgmma multiplies. A tile of 16 x 16 has one warp.
// CHECK-LABEL: sparsec.kernel @small
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 16, {{.*}}consumers_m = 1, consumers_n = 1
// SM_89-LABEL: sparsec.kernel @small
// SM_89-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 16, {{.*}}consumers_m = 1, consumers_n = 1
sparsec.kernel @small(%a: !sparsec.bsr<?x?xbf16, block = 16x16>, %b: !sparsec.bsr<?x?xbf16, block = 16x16>) -> (c: tensor<?x?xbf16>) {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 16x16>, !sparsec.bsr<?x?xbf16, block = 16x16>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}
