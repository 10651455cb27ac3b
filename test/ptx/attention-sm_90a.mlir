// RUN: sparsec %s --arch=sm_90a --emit=ptx | awk '/.visible .entry/ {skip = /_(unaligned|block_mask|top_k|parts|merge|cut)[(]/} !skip' > %t.ptx
// RUN: FileCheck %s --implicit-check-not=.local --implicit-check-not=ldmatrix --implicit-check-not=mma.sync.aligned.m16n8 --implicit-check-not=cp.async.c --implicit-check-not=st.global.b16 --implicit-check-not=st.global.v2 < %t.ptx
// RUN: FileCheck %s --check-prefix=CONSUMER < %t.ptx
// RUN: FileCheck %s --check-prefix=OUTPUT < %t.ptx
// RUN: FileCheck %s --check-prefix=PRODUCER < %t.ptx
// RUN: FileCheck %s --check-prefix=COUNTER < %t.ptx

// The aligned variants for many tiles, without local memory.
// CHECK: .target sm_90a
// CHECK: .visible .entry attention(
// CHECK: .maxntid 384
// CHECK: .minnctapersm 1
// CHECK: mbarrier.init.shared.b64
// CHECK: fence.mbarrier_init

// LLVM chooses the order of blocks, but not that in a block. Two messages tell the blocks of a step. Its scores: a 64 x 128
// product of 128 / 16 steps from shared memory. While they run, the values of the step before: 64 x 128 in 128 / 16 steps,
// with the probabilities in four registers as A. The softmax waits for the scores only, and a warp votes whether it needs
// a new reference before it computes exponentials.
// CONSUMER: .visible .entry attention(
// CONSUMER: setmaxnreg.inc.sync.aligned.u32 232
// CONSUMER: mbarrier.try_wait.parity
// CONSUMER: ld.shared.v2.b32
// The second group begins 200 ns behind the first keys.
// CONSUMER: mbarrier.try_wait.parity
// CONSUMER: nanosleep.u32
// CONSUMER: wgmma.fence.sync.aligned
// CONSUMER-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}}, %rd{{[0-9]+}}, %rd{{[0-9]+}}, p, 1, 1, 0, 0;
// CONSUMER: wgmma.commit_group.sync.aligned
// CONSUMER: wgmma.wait_group.sync.aligned 0
// CONSUMER: vote.sync.any.pred
// CONSUMER: ex2.approx.ftz.f32
// CONSUMER: wgmma.fence.sync.aligned
// CONSUMER: wgmma.commit_group.sync.aligned
// CONSUMER: mbarrier.try_wait.parity
// CONSUMER: wgmma.fence.sync.aligned
// CONSUMER-COUNT-8: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, %rd{{[0-9]+}}, p, 1, 1, 1;
// CONSUMER: wgmma.commit_group.sync.aligned
// CONSUMER: wgmma.wait_group.sync.aligned 1
// CONSUMER: mbarrier.arrive.shared::cta.b64
// CONSUMER: vote.sync.any.pred
// CONSUMER: ex2.approx.ftz.f32
// CONSUMER: wgmma.wait_group.sync.aligned 0

// A thread writes 128 / 32 pieces of 16 bytes of each of its two rows, and may write the row's LSE.
// OUTPUT: .visible .entry attention(
// OUTPUT-COUNT-4: st.global.v4.b32
// OUTPUT-NOT: st.global.v4
// OUTPUT: st.global.b32
// OUTPUT-COUNT-4: st.global.v4.b32
// OUTPUT-NOT: st.global.v4
// OUTPUT: st.global.b32
// There are stores before and behind the first scores of the next tile, and of lists without blocks.
// OUTPUT-COUNT-4: st.global.v4.b32
// OUTPUT-NOT: st.global.v4
// OUTPUT: st.global.b32
// OUTPUT-COUNT-4: st.global.v4.b32
// OUTPUT-NOT: st.global.v4
// OUTPUT: st.global.b32
// OUTPUT-COUNT-4: st.global.v4.b32
// OUTPUT-NOT: st.global.v4
// OUTPUT: st.global.b32
// OUTPUT-COUNT-4: st.global.v4.b32
// OUTPUT-NOT: st.global.v4
// OUTPUT: st.global.b32
// OUTPUT-NOT: st.global
// OUTPUT: .visible .entry concurrent(

// The producer loads whole boxes of 4 dimensions; the messages that tell the blocks are written before the slot can be full.
// PRODUCER: .visible .entry attention(
// PRODUCER: setmaxnreg.dec.sync.aligned.u32 40
// PRODUCER: mbarrier.try_wait.parity
// PRODUCER: st.shared.v2.b32
// PRODUCER-NOT: cp.async
// PRODUCER: mbarrier.arrive.expect_tx.shared::cta.b64
// PRODUCER-COUNT-2: cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes

// Where the plan has a counter, the next tile is the number that it gives.
// COUNTER: .visible .entry attention(
// COUNTER: atom.global.inc.u32
// COUNTER: .visible .entry concurrent(
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                          %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x128xbf16>, lse: tensor<?x?x?xf32>) {
  %o, %lse = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// Three concurrent tiles, each with 64 queries, a third of the registers and of the shared memory. Scores of two blocks of
// 64 keys at a time: 64 x 128 in 64 / 16 steps; their values: 64 x 64 in 128 / 16 steps.
// CHECK: .visible .entry concurrent(
// CHECK: .maxntid 512
// CHECK: .minnctapersm 1
// CONSUMER: .visible .entry concurrent(
// CONSUMER-NOT: nanosleep
// CONSUMER: setmaxnreg.inc.sync.aligned.u32 160
// CONSUMER: vote.sync.any.pred
// CONSUMER: wgmma.fence.sync.aligned
// CONSUMER-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CONSUMER: wgmma.commit_group.sync.aligned
// CONSUMER: wgmma.fence.sync.aligned
// CONSUMER-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CONSUMER: wgmma.commit_group.sync.aligned
// CONSUMER: wgmma.wait_group.sync.aligned 1
// PRODUCER: .visible .entry concurrent(
// PRODUCER: setmaxnreg.dec.sync.aligned.u32 32
// COUNTER: atom.global.inc.u32
sparsec.kernel @concurrent(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                           %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x64xbf16>) {
  %o = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>)
    -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
