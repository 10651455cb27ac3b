// RUN: sparsec %s --arch=sm_90a --emit=ptx -o %t.ptx
// RUN: FileCheck %s --implicit-check-not=.local --implicit-check-not=ldmatrix --implicit-check-not=mma.sync.aligned.m16n8 --implicit-check-not=cp.async.c --implicit-check-not=_unaligned < %t.ptx
// RUN: FileCheck %s --check-prefix=CONSUMER < %t.ptx
// RUN: FileCheck %s --check-prefix=PRODUCER < %t.ptx

// One kernel, without local memory and without a fallback. One slot of queries and 8 of keys and values have two
// barriers each.
// CHECK: .target sm_90a
// CHECK: .visible .entry attention(
// CHECK: .maxntid 384
// CHECK: .minnctapersm 1
// CHECK-COUNT-18: mbarrier.init.shared.b64
// CHECK-NOT: mbarrier.init.shared.b64
// CHECK: fence.mbarrier_init

// LLVM chooses the order of blocks, but not that in a block. Scores of a block: a 64 x 64 product of 128 / 16 steps from
// shared memory. While they run, the values of the block before: 64 x 128 in 64 / 16 steps, with the probabilities in
// four registers as A. The softmax waits for the scores only.
// CONSUMER: .visible .entry attention(
// CONSUMER: setmaxnreg.inc.sync.aligned.u32 232
// CONSUMER: mbarrier.try_wait.parity
// CONSUMER: ld.shared.b32
// CONSUMER: wgmma.fence.sync.aligned
// CONSUMER-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CONSUMER: wgmma.commit_group.sync.aligned
// CONSUMER: wgmma.wait_group.sync.aligned 0
// CONSUMER: ex2.approx.ftz.f32
// CONSUMER: wgmma.fence.sync.aligned
// CONSUMER-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CONSUMER: wgmma.commit_group.sync.aligned
// CONSUMER: mbarrier.try_wait.parity
// CONSUMER: wgmma.fence.sync.aligned
// CONSUMER-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, %rd{{[0-9]+}}, p, 1, 1, 1;
// CONSUMER: wgmma.commit_group.sync.aligned
// CONSUMER: wgmma.wait_group.sync.aligned 1
// CONSUMER: mbarrier.arrive.shared::cta.b64

// The producer loads whole boxes of 4 dimensions; the word that tells the block is written before the slot can be full.
// PRODUCER: .visible .entry attention(
// PRODUCER: setmaxnreg.dec.sync.aligned.u32 40
// PRODUCER: mbarrier.try_wait.parity
// PRODUCER: st.shared.b32
// PRODUCER-NOT: cp.async
// PRODUCER: mbarrier.arrive.expect_tx.shared::cta.b64
// PRODUCER-COUNT-2: cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                          %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
