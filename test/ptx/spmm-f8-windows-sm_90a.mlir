// REQUIRES: ptxas
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_90a --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE

// Two instructions of 128 columns for each 32 elements of the depth.
// CHECK: .visible .entry fast_windows(
// CHECK: .maxntid 512
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2
// CHECK-NOT: wgmma.mma_async
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: .visible .entry fast(
sparsec.kernel @fast(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Two blocks in 128 columns: the first instruction starts at zero, and their sum is promoted when all four are complete.
// CHECK: .visible .entry two_levels_windows(
// CHECK: .maxntid 384
// CHECK: setp.ne.b32 p, 0, 0;
// CHECK-COUNT-3: setp.ne.b32 p, 1, 0;
// CHECK-NOT: setp.ne.b32 p,
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-64: add.rn.f32
// CHECK: setp.ne.b32 p, 0, 0;
// CHECK-COUNT-3: setp.ne.b32 p, 1, 0;
// CHECK-COUNT-64: add.rn.f32
// The barriers of both steps are tested before the group waits for one of them.
// CHECK-NOT: mbarrier.try_wait
// CHECK-COUNT-4: mbarrier.test_wait.parity.shared::cta.b64
// CHECK-COUNT-4: mbarrier.try_wait.parity
// One block, where no other one is near.
// CHECK-COUNT-2: mbarrier.test_wait.parity.shared::cta.b64
// CHECK-COUNT-2: mbarrier.try_wait.parity
// CHECK: setp.ne.b32 p, 0, 0;
// CHECK-COUNT-1: setp.ne.b32 p, 1, 0;
// CHECK-NOT: setp.ne.b32 p,
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-64: add.rn.f32
// CHECK: .visible .entry two_levels(
sparsec.kernel @two_levels(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// VERBOSE: fast_windows: wgmma tma 192x256x64
// VERBOSE-NEXT: spills 0 B
// VERBOSE: two_levels_windows: wgmma tma 128x256x64
// VERBOSE-NEXT: spills 0 B
