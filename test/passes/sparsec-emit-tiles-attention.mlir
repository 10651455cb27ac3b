// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' | FileCheck %s
// Attention with two roles: what the launch info needs, and the order of products, waits and releases in a consumer.

// Boxes of tensor maps are 64 elements of the head dimension x the rows of a slot, of one head and batch. Two
// warpgroups of consumers and the producer's are 384 threads.
// CHECK-LABEL: llvm.func @attention(
// CHECK-SAME: {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-NOT: nvvm.cluster_dim
// CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 384, 1, 1>, nvvm.minctasm = 1 : i32, sparsec.alignment = 16 : i64, sparsec.kernel = @attention
// CHECK-SAME: #sparsec.parameter<kind = plan_section>
// CHECK-SAME: #sparsec.parameter<kind = pattern_field, argument = 3
// CHECK-SAME: sparsec.shared_memory = 164032 : i64
// CHECK-SAME: sparsec.tensor_maps = [#sparsec.tensor_map<kind = dense, argument = 0, swizzle = 128, box = [64, 128, 1, 1]>, #sparsec.tensor_map<kind = dense, argument = 1, swizzle = 128, box = [64, 64, 1, 1]>, #sparsec.tensor_map<kind = dense, argument = 2, swizzle = 128, box = [64, 64, 1, 1]>]
// CHECK-SAME: sparsec.threads = 384 : i64, sparsec.variant = 1 : i64
// A full and an empty barrier for each of the 2 slots of queries and the 6 others.
// CHECK-COUNT-16: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.setmaxregister increase 232
// Two messages beside the queries say which tile, two beside the keys which blocks.
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: scf.while
// With 64 keys a step the queries stay in registers, and their slot is free at once.
// CHECK: nvvm.ldmatrix
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// The first step: the first product starts from zero, the others add to it; keys are N x K. A warp votes whether it
// needs other references before it computes exponentials.
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: setp.ne.b32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 0;
// CHECK: setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 0;
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: nvvm.vote.sync any
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK: llvm.nvvm.ff2bf16x2.rn
// The others: scores of the step, then the products with the values of the step before, from registers. The softmax
// waits for the scores alone, and then their slot is free. A warp votes on the kind of maxima, and then whether some
// m changes: only then the output does.
// CHECK: scf.while
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}} p, 1, 1, 1; }
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: nvvm.vote.sync any
// CHECK: [[VOTE:%[0-9]+]] = nvvm.vote.sync any
// CHECK-NEXT: scf.if [[VOTE]] -> (f32, f32, f32, f32, f32, f32)
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: scf.if [[VOTE]] -> (!llvm.struct<
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// The values of the last step; the result in pieces of 16 bytes.
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: st.global.v4.b32
// CHECK: nvvm.setmaxregister decrease 40
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                          %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 128, stages = 6, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Without register counts all threads keep what they have.
// CHECK-LABEL: llvm.func @no_register_counts(
// CHECK-NOT: nvvm.setmaxregister
sparsec.kernel @no_register_counts(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}
