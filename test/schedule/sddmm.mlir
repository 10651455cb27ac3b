// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,SM_89
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,SM_90A
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule --remarks-filter=sparsec-select-schedule 2>&1 | FileCheck %s --check-prefix=REMARKS
// Every chip has a schedule of sddmm for aligned operands, and one with scalar copies for others.

// REMARKS: remark: [Analysis] candidates | Category:sparsec-select-schedule | Function=square | Remark="
// REMARKS-NEXT: for pointers and strides that are multiples of 16 bytes:
// REMARKS-NEXT:   instruction tile stages roles flop/clock/SM bound verdict{{$}}
// REMARKS-NEXT:   mma_sync cp_async 128x128x32 3 consumers 2x4 registers 128 {{.*}} chosen{{$}}
// REMARKS:        mma_sync cp_async {{.*}} expects at most 168 registers per thread on sm_89, but the schedule needs {{[0-9]+}} ({{[0-9]+}} too many){{$}}
// REMARKS:      for pointers and strides that are multiples of 2 bytes:
// REMARKS-NEXT:   instruction
// REMARKS-NEXT:   mma_sync scalar {{.*}} chosen{{$}}

// CHECK-LABEL: sparsec.kernel @square(
// CHECK-SAME: fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 128, tile_k = 32, stages = 2, consumers_m = 1, consumers_n = 4,
// SM_89-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 128, tile_k = 32, stages = 3, consumers_m = 2, consumers_n = 4, consumer_registers = 128, ctas_per_sm = 2>
// SM_90A-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128,
sparsec.kernel @square(%p: !sparsec.bsr<?x?xbf16, block = 128x128>, %a: tensor<?x?xbf16>, %b: tensor<?x?xbf16>) -> (s: tensor<?x128x128xbf16>) {
  %s = sparsec.sddmm %p, %a, %b : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>, tensor<?x?xbf16>) -> tensor<?x128x128xbf16>
  sparsec.return %s : tensor<?x128x128xbf16>
}

// Sixteen blocks side by side are the most of a tile of mma_sync.
// CHECK-LABEL: sparsec.kernel @small(
// SM_89-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 256,
// SM_90A-SAME: , schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64,
sparsec.kernel @small(%p: !sparsec.bsr<?x?xf16, block = 16x16>, %a: tensor<?x?xf16>, %b: tensor<?x?xf16>) -> (s: tensor<?x16x16xf32>) {
  %s = sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn) : (!sparsec.bsr<?x?xf16, block = 16x16>, tensor<?x?xf16>, tensor<?x?xf16>) -> tensor<?x16x16xf32>
  sparsec.return %s : tensor<?x16x16xf32>
}

// A block takes 256 columns of a tile, and rows that are contiguous along M a power of two.
// CHECK-LABEL: sparsec.kernel @uneven(
// CHECK-SAME: copy = scalar, tile_m = {{32|64}}, tile_n = 256,
// SM_89-SAME: , schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 256,
sparsec.kernel @uneven(%p: !sparsec.bsr<?x?xf16, block = 96x144>, %a: tensor<?x?xf16>, %b: tensor<?x?xf16>) -> (s: tensor<?x96x144xf32>) {
  %s = sparsec.sddmm %p, %a, %b a_layout(km) b_layout(kn) : (!sparsec.bsr<?x?xf16, block = 96x144>, tensor<?x?xf16>, tensor<?x?xf16>) -> tensor<?x96x144xf32>
  sparsec.return %s : tensor<?x96x144xf32>
}
