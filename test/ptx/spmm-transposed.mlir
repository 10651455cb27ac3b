// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s --check-prefix=WGMMA < %t.ptx
// RUN: FileCheck %s --check-prefix=WINDOWS < %t.ptx
// RUN: FileCheck %s --check-prefix=STREAMS < %t.ptx
// RUN: sparsec %s --arch=sm_89 --emit=ptx -o - | FileCheck %s --check-prefix=MMA
// Products with the transpose of a stored matrix: the values are read as they are, and the instructions transpose them.

// One warpgroup has columns 0 to 63 of a block, the other columns 64 to 127: a CTA of the cluster copies half of them
// for both. The first 1 of the last pair says that A is contiguous along M.
// WGMMA: .visible .entry large(
// WGMMA: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {{.*}} p, 1, 1, 1, 1;
// WGMMA: setmaxnreg.dec
// WGMMA: cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
// WGMMA-NOT: cp.async.bulk.tensor.3d
// WGMMA: cp.async.bulk.tensor.2d

// WINDOWS: .visible .entry middle_windows(
// WINDOWS: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k16.f32.bf16.bf16 {{.*}} p, 1, 1, 1, 1;

// A block is the operand B of the transposed product. Its rows are those of K, which lines must not change.
// STREAMS: .visible .entry small_streams(
// STREAMS: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {{.*}} p, 1, 1, 1;

// A and B are both contiguous across K.
// MMA: .visible .entry large(
// MMA-NOT: ldmatrix.sync.aligned.m8n8.x4.shared
// MMA: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// MMA-NOT: ldmatrix.sync.aligned.m8n8.x4.shared
// MMA: .visible .entry

sparsec.kernel @large(%w: !sparsec.bsr<?x?xbf16, block = 128x128, transposed>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128, transposed>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

sparsec.kernel @middle(%w: !sparsec.bsr<?x?xbf16, block = 64x64, transposed>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64, transposed>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}

sparsec.kernel @small(%w: !sparsec.bsr<?x?xbf16, block = 32x32, transposed>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %0 = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32, transposed>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %0 : tensor<?x?xbf16>
}
