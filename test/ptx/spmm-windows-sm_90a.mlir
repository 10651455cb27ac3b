// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=PRODUCERS < %t.ptx
// RUN: FileCheck %s --check-prefix=SHORT < %t.ptx

// Three warpgroups multiply. Their registers come from a warpgroup of two producers.
// CHECK: .visible .entry product_windows(
// CHECK: .maxntid 512
// CHECK: .reqnctapercluster 2
// CHECK: setmaxnreg.inc.sync.aligned.u32 160
// CHECK: mbarrier.try_wait.parity
// Two instructions of 128 columns for each 16 elements of the depth, as one group.
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta

// Columns of X are for one CTA, and released in place of the groups that do not come to them. Blocks are for both CTAs.
// PRODUCERS: .visible .entry product_windows(
// PRODUCERS: setmaxnreg.dec.sync.aligned.u32 32
// PRODUCERS-COUNT-4: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [
// PRODUCERS: mbarrier.arrive.shared::cta.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
// PRODUCERS: cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
// PRODUCERS: .visible .entry product(
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Blocks of 64 x 32: a product is complete or stays in flight until the next one. Two threads copy blocks.
// SHORT: .visible .entry short_windows(
// SHORT: wgmma.wait_group.sync.aligned 0;
// SHORT: wgmma.fence.sync.aligned
// SHORT-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// SHORT-NOT: wgmma.mma_async
// SHORT: wgmma.commit_group.sync.aligned
// SHORT: wgmma.wait_group.sync.aligned 1;
// SHORT: setmaxnreg.dec.sync.aligned.u32 32
// SHORT-COUNT-2: cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
// SHORT-NOT: cp.async.bulk.tensor.3d
// SHORT: .visible .entry short(
sparsec.kernel @short(%w: !sparsec.bsr<?x?xbf16, block = 64x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
