// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=PRODUCER < %t.ptx

// The instructions of the warp-specialised kernel, and none of the older way, up to its fallback.
// CHECK: .target sm_90a
// CHECK: .visible .entry spmm(
// CHECK: .maxntid 384
// CHECK: .reqnctapercluster 2
// CHECK: mbarrier.init
// CHECK: setmaxnreg.inc
// CHECK-NOT: cp.async.ca
// CHECK-NOT: cp.async.cg
// CHECK-NOT: mma.sync.aligned.m16n8
// CHECK-NOT: ldmatrix
// CHECK: mbarrier.try_wait.parity
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16
// CHECK: wgmma.wait_group.sync.aligned 0
// The first chunks of the tile fill both buffers and share a fence; the next one waits for the store of the first.
// CHECK: cp.async.bulk.wait_group.read 0
// CHECK-COUNT-8: stmatrix.sync.aligned.m8n8.x4
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-COUNT-2: cp.async.bulk.tensor.2d.global.shared::cta
// CHECK: cp.async.bulk.wait_group.read 1
// CHECK-COUNT-4: stmatrix.sync.aligned.m8n8.x4
// CHECK-NEXT: fence.proxy.async.shared::cta
// CHECK-COUNT-1: cp.async.bulk.tensor.2d.global.shared::cta
// CHECK: .visible .entry spmm_unaligned(
// CHECK-NOT: wgmma
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

// Where LLVM puts the producer's blocks is its own choice, so they have their own check.
// PRODUCER: .visible .entry spmm(
// PRODUCER: setmaxnreg.dec.sync.aligned.u32 40
// PRODUCER: mbarrier.arrive.expect_tx
// PRODUCER: cp.async.bulk.tensor.3d.shared::cluster.global
// PRODUCER-SAME: multicast::cluster
sparsec.kernel @spmm(%w: !sparsec.bsr<?x?xf16, block = 128x128>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 128x128>, tensor<?x?xf16>) -> tensor<?x?xf16>
  sparsec.return %y : tensor<?x?xf16>
}
