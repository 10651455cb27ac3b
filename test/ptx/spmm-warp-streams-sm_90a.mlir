// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=PRODUCERS < %t.ptx
// RUN: FileCheck %s --check-prefix=RELEASE < %t.ptx
// RUN: FileCheck %s --check-prefix=STORE < %t.ptx
// RUN: FileCheck %s --check-prefix=ROWS < %t.ptx
// RUN: FileCheck %s --check-prefix=F8 < %t.ptx

// Sixteen warps multiply. Their registers come from a warpgroup of four producers.
// CHECK: .visible .entry product_streams(
// CHECK: .maxntid 640
// CHECK: setmaxnreg.inc.sync.aligned.u32 112
// A chunk of two blocks, by one warp: each thread copies twice 16 bytes of one.
// CHECK-COUNT-2: cp.async.cg.shared.global
// CHECK: cp.async.commit_group
// The loop over columns is rotated. The second half of the column of X, and its products with the block.
// CHECK-COUNT-4: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-COUNT-16: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// Before it, the block and the first half. While they come, the warp finds the next column, whose block may begin a chunk.
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-COUNT-4: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: cp.async.wait_group
// CHECK: bar.warp.sync
// CHECK-COUNT-2: cp.async.cg.shared.global

// Every warp releases X, after all of its threads have read it.
// RELEASE: .visible .entry product_streams(
// RELEASE: cp.async.commit_group
// RELEASE: bar.warp.sync
// RELEASE-NEXT: add.s32
// RELEASE: mbarrier.arrive.shared::cta.b64

// The 16 rows of a warp leave in boxes of their own, without a barrier of a warpgroup.
// STORE: .visible .entry product_streams(
// STORE: setmaxnreg.inc.sync
// STORE-NOT: bar.sync
// STORE: stmatrix.sync.aligned.m8n8.x4.shared.b16
// STORE-NOT: bar.sync
// STORE: cp.async.bulk.tensor.2d.global.shared::cta

// Each of the four producers copies the 8 columns of a stage, in two boxes.
// PRODUCERS: .visible .entry product_streams(
// PRODUCERS: setmaxnreg.dec.sync.aligned.u32 32
// PRODUCERS-COUNT-64: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [
// PRODUCERS-NOT: cp.async.bulk.tensor.2d.shared
// PRODUCERS: .visible .entry product(
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// X as N x K: a stage has adjacent columns, which come as rows of 128 bytes in two boxes. Each CTA of a cluster of two
// copies one of them for both, in each of the four producers. Warps release X in both CTAs.
// ROWS: .visible .entry transposed_streams(
// ROWS: .reqnctapercluster 2
// ROWS: mbarrier.arrive.shared::cluster
// ROWS-COUNT-4: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [
// ROWS-NOT: cp.async.bulk.tensor.2d.shared
// ROWS: .visible .entry
sparsec.kernel @transposed(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// fp8 becomes f16 behind ldmatrix: two rows of W, and four times 8 columns of X at a time.
// F8: .visible .entry f8_streams(
// F8-DAG: ldmatrix.sync.aligned.m8n8.x2.shared.b16
// F8-DAG: cvt.rn.f16x2.e5m2x2
// F8-DAG: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// F8-DAG: cvt.rn.f16x2.e4m3x2
// F8-DAG: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// F8-NOT: m16n8k32
// F8: .visible .entry
sparsec.kernel @f8(%w: !sparsec.bsr<?x?xf8E5M2, block = 16x16>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xf8E5M2, block = 16x16>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
