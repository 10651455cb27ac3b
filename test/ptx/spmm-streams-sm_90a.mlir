// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=PRODUCERS < %t.ptx
// RUN: FileCheck %s --check-prefix=RELEASE < %t.ptx
// RUN: FileCheck %s --check-prefix=STORE < %t.ptx
// RUN: FileCheck %s --check-prefix=ROWS < %t.ptx
// RUN: FileCheck %s --check-prefix=LONG < %t.ptx
// RUN: FileCheck %s --check-prefix=LEVELS < %t.ptx

// Three warpgroups multiply. Their registers come from a warpgroup of four producers.
// CHECK: .visible .entry product_streams(
// CHECK: .maxntid 512
// CHECK: setmaxnreg.inc.sync.aligned.u32 160
// 128 columns of X by 32 of its rows: two times 64 columns, and two times 16 rows.
// CHECK-COUNT-4: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// A branch for each of the three block rows that a warpgroup has.
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16
// CHECK: wgmma.commit_group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 0;

// Every warp releases X, after all of its threads have read it.
// RELEASE: .visible .entry product_streams(
// RELEASE: bar.warp.sync
// RELEASE-NEXT: add.s32
// RELEASE: mbarrier.arrive.shared::cta.b64

// The result of a block row leaves transposed, in two boxes.
// STORE: .visible .entry product_streams(
// STORE-COUNT-2: stmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// STORE: cp.async.bulk.tensor.2d.global.shared::cta

// Two boxes for each of the four columns of a stage; a copy for each of the four blocks of a chunk.
// PRODUCERS: .visible .entry product_streams(
// PRODUCERS: setmaxnreg.dec.sync.aligned.u32 32
// PRODUCERS-COUNT-8: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [
// PRODUCERS-COUNT-12: cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [
// PRODUCERS-NOT: cp.async.bulk.tensor.3d
// PRODUCERS: .visible .entry product(
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// X as N x K: rows of X are rows of memory, in boxes of 64 bytes.
// ROWS: .visible .entry transposed_streams(
// ROWS-COUNT-4: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// ROWS: .visible .entry
sparsec.kernel @transposed(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Blocks of 32 x 64: twice as many instructions for each row. There are two boxes for each of the two columns of a
// stage, and a copy for each of the three blocks of a chunk.
// LONG: .visible .entry long_streams(
// LONG-COUNT-8: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// LONG: wgmma.fence.sync.aligned
// LONG-COUNT-8: wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16
// LONG: wgmma.commit_group.sync.aligned
// LONG: setmaxnreg.dec.sync.aligned.u32 32
// LONG-COUNT-4: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [
// LONG-COUNT-9: cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [
// LONG-NOT: cp.async.bulk.tensor.3d
// LONG: .visible .entry long(
sparsec.kernel @long(%w: !sparsec.bsr<?x?xf16, block = 32x64>, %x: tensor<?x?xf16>) -> (y: tensor<?x?xf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xf16, block = 32x64>, tensor<?x?xf16>) -> tensor<?x?xf16>
  sparsec.return %y : tensor<?x?xf16>
}

// fp8: X stays in shared memory. A row of a stage begins a sum with its first product, adds up to three more, and is
// then added to the row's total. Four columns are one box of 128 bytes in each row.
// LEVELS: .visible .entry levels_streams(
// LEVELS-NOT: ldmatrix
// LEVELS: setp.ne.b32
// LEVELS-COUNT-2: wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e5m2
// LEVELS: wgmma.commit_group.sync.aligned
// LEVELS: wgmma.wait_group.sync.aligned 0;
// LEVELS-COUNT-32: add.{{(rn.)?}}f32
// LEVELS: setmaxnreg.dec.sync.aligned.u32 32
// LEVELS-COUNT-1: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [
// LEVELS-NOT: cp.async.bulk.tensor.2d.shared
// LEVELS: .visible .entry
sparsec.kernel @levels(%w: !sparsec.bsr<?x?xf8E5M2, block = 32x32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xf8E5M2, block = 32x32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
