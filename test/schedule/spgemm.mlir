// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s
// RUN: sparsec-opt %s --sparsec-attach-target=chip=host --sparsec-select-schedule | FileCheck %s --check-prefix=HOST
// Tiles are rows of one block of the result, and the ring has whole panels of B.

// CHECK-LABEL: sparsec.kernel @blocks_of_128
// CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 64,
// CHECK-SAME: consumers_m = 2, consumers_n = 1
// HOST-LABEL: sparsec.kernel @blocks_of_128
// HOST-NOT: schedule
sparsec.kernel @blocks_of_128(%a: !sparsec.bsr<?x?xbf16, block = 128x128>, %b: !sparsec.bsr<?x?xbf16, block = 128x128>) -> (c: tensor<?x?xbf16>) {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 128x128>, !sparsec.bsr<?x?xbf16, block = 128x128>) -> tensor<?x?xbf16>
  sparsec.return %c : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @uneven
// CHECK-SAME: schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64,
// CHECK-SAME: consumers_m = 1, consumers_n = 1
sparsec.kernel @uneven(%a: !sparsec.bsr<?x?xbf16, block = 192x112>, %b: !sparsec.bsr<?x?xbf16, block = 112x80>) -> (c: tensor<?x?xf32>) {
  %c = sparsec.spgemm %a, %b : (!sparsec.bsr<?x?xbf16, block = 192x112>, !sparsec.bsr<?x?xbf16, block = 112x80>) -> tensor<?x?xf32>
  sparsec.return %c : tensor<?x?xf32>
}
