// REQUIRES: ptxas
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: sparsec %s --arch=sm_90a --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE

// Each step multiplies two halves of 128 columns, over a depth of four instructions, and adds them to the sums.
// CHECK: .visible .entry two_levels(
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2
// CHECK-NOT: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-64: add.{{(rn.)?}}f32
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2
// CHECK-NOT: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-64: add.{{(rn.)?}}f32
// The variant for any alignment, by mma.sync: operands of one instruction of fp8 become those of two of f16.
// CHECK: .visible .entry two_levels_unaligned(
// CHECK: ld.global.nc.{{b8|u8}}
// CHECK-NOT: m16n8k32
// CHECK: cvt.rn.f16x2.e4m3x2
// CHECK: cvt.rn.f16x2.e5m2x2
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
sparsec.kernel @two_levels(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK: .visible .entry fast(
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k32.f32.e5m2.e4m3
// CHECK-NOT: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 1
sparsec.kernel @fast(%w: !sparsec.bsr<?x?xf8E5M2, block = 128x128>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E5M2, block = 128x128>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// A stage of 64 x 64 blocks is two instructions deep.
// CHECK: .visible .entry blocks_of_64(
// CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3
// CHECK-NOT: wgmma.mma_async
// CHECK: wgmma.wait_group.sync.aligned 0
sparsec.kernel @blocks_of_64(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
}

// The registers of the first candidates suffice, although a consumer has 64 temporaries beside 128 sums.
// VERBOSE: two_levels: wgmma tma 128x256x128 stages 4
// VERBOSE-NEXT: spills 0 B
// VERBOSE: fast: wgmma tma 128x256x128 stages 4
// VERBOSE-NEXT: spills 0 B
// VERBOSE: blocks_of_64: wgmma tma
// VERBOSE-NEXT: spills 0 B
