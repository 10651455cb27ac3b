// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_80 --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,SM_80
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_86 --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,SM_86
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_120 --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,SM_120
// Chips with the instructions of sm_89: what their rows change.

// Two CTAs with rings of 16 KiB a stage: four stages are 130 KiB of the 164 of sm_80, three are 98 of the 100 of others.
// CHECK-LABEL: sparsec.kernel @block128(
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar,
// SM_80-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 128, tile_k = 32, stages = 4, {{.*}}ctas_per_sm = 2>
// SM_86-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 128, tile_k = 32, stages = 3, {{.*}}ctas_per_sm = 2>
// SM_120-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 128, tile_k = 32, stages = 3, {{.*}}ctas_per_sm = 2>
sparsec.kernel @block128(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Two stages of keys and of values, 96 KiB with the queries, fit all of them.
// CHECK-LABEL: sparsec.kernel @attention(
// CHECK-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 8, consumers_n = 1, group_m = 1>
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>)
    -> (o: tensor<?x?x?x128xbf16>) {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>) -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
