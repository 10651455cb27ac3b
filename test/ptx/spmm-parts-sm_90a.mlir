// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=STORE < %t.ptx
// RUN: FileCheck %s --check-prefix=PRODUCERS < %t.ptx

// A part of K begins with the product of the warp behind those of the parts before it. Each lane counts the bits of some
// words, and the warp adds up.
// CHECK: .visible .entry product_parts64(
// CHECK: setmaxnreg.inc.sync.aligned.u32 112
// CHECK: popc.b32
// CHECK: redux.sync.add.s32
// Three chunks of two blocks are on their way before the warp waits for the first one.
// CHECK-COUNT-3: cp.async.commit_group
// CHECK: cp.async.wait_group 2;
// All copies have come when the warp leaves the part: the next tile of the CTA begins with copies to the same places.
// CHECK: cp.async.wait_group 0;
// The sums go to memory, before a counter says that they are there.
// CHECK-COUNT-8: st.global.v4.b32
// CHECK-NEXT: bar.warp.sync
// CHECK: atom.acq_rel.gpu.global.inc.u32
// CHECK: bar.warp.sync
// CHECK: shfl.sync.idx.b32
// The warp that comes last reads the sums of all parts, two of them ahead of the loop.
// CHECK-COUNT-16: ld.global.v4.b32
// CHECK-COUNT-8: ld.global.v4.b32
// CHECK-NOT: ld.global.v4.b32
// CHECK-NOT: atom.
// CHECK: .visible .entry

// It alone stores the result.
// STORE: .visible .entry product_parts64(
// STORE: atom.acq_rel.gpu.global.inc.u32
// STORE: stmatrix.sync.aligned.m8n8.x4.shared.b16
// STORE: cp.async.bulk.tensor.2d.global.shared::cta
// STORE: .visible .entry

// X has one box of 64 columns for each of the 8 columns of a stage, by four producers.
// PRODUCERS: .visible .entry product_parts64(
// PRODUCERS: setmaxnreg.dec.sync.aligned.u32 32
// PRODUCERS-COUNT-32: cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [
// PRODUCERS-NOT: cp.async.bulk.tensor.2d.shared
// PRODUCERS: .visible .entry product_narrow64(
sparsec.kernel @product(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
