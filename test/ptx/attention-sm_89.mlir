// RUN: sparsec %s --arch=sm_89 --emit=ptx | sed '/_unaligned(/,/^}/d' > %t.ptx
// RUN: FileCheck %s --implicit-check-not=.local --implicit-check-not=wgmma --implicit-check-not=cp.async.bulk --implicit-check-not=mbarrier --implicit-check-not=stmatrix --implicit-check-not=setmaxnreg --implicit-check-not=cluster < %t.ptx
// RUN: FileCheck %s --check-prefix=STEP < %t.ptx

// The aligned variant, without local memory and with nothing that sm_89 has not.
// CHECK: .target sm_89
// CHECK: .visible .entry attention(
// CHECK: .maxntid 256
// CHECK: .minnctapersm 1

// LLVM chooses the order of blocks, but not that in a block. The end of a step, after what may hide scores: a vote,
// probabilities, products with the keys of the next step and with the values of this one.
// STEP: .visible .entry attention(
// Copies of steps that lie wholly inside do not count bytes; the others do.
// STEP-DAG: cp.async.cg.shared.global [%r{{[0-9]+}}], [%rd{{[0-9]+}}], 16;
// STEP-DAG: cp.async.cg.shared.global [%r{{[0-9]+}}{{.*}}], [%rd{{[0-9]+}}], 16, %r{{[0-9]+}};
// STEP: cp.async.wait_group 0;
// STEP-NEXT: bar.sync 0;
// STEP: cp.async.commit_group
// STEP: vote.sync.any.pred
// STEP: ex2.approx.ftz.f32
// STEP: cvt.rn.bf16x2.f32
// STEP: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// STEP: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// STEP: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// STEP: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// STEP: bra
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                          %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
