// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=PRODUCER < %t.mlir

// What the launch info needs is on the function. The tensor maps have 4 dimensions; boxes are 64 elements of the head
// dimension x the rows of a slot, of one head and batch. Two warpgroups of consumers and the producer's: 384 threads.
// CHECK-LABEL: llvm.func @attention(
// CHECK-SAME: {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-NOT: nvvm.cluster_dim
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.maxntid = array<i32: 384, 1, 1>
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-SAME: sparsec.alignment = 16 : i64
// CHECK-SAME: sparsec.kernel = @attention
// CHECK-SAME: #sparsec.parameter<kind = plan_section>
// CHECK-SAME: #sparsec.parameter<kind = pattern_field, argument = 3
// CHECK-SAME: sparsec.shared_memory = 131240 : i64
// CHECK-SAME: sparsec.tensor_maps = [#sparsec.tensor_map<kind = dense, argument = 0, swizzle = 128, box = [64, 128, 1, 1]>, #sparsec.tensor_map<kind = dense, argument = 1, swizzle = 128, box = [64, 64, 1, 1]>, #sparsec.tensor_map<kind = dense, argument = 2, swizzle = 128, box = [64, 64, 1, 1]>]
// CHECK-SAME: sparsec.threads = 384 : i64
// CHECK-SAME: sparsec.variant = 0 : i64
// A full and an empty barrier for the query slot and each of the 6 others.
// CHECK-COUNT-14: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.setmaxregister increase 232
// The first block: 128 / 16 products, of which the first one starts from zero; keys are N x K. One word says which block.
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 64, k = 16>, D[<f32>, <zero>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// CHECK-COUNT-7: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 64, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 0;
// The row maximum of four threads, the exponentials, and pairs of them for the second product.
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK-COUNT-16: llvm.nvvm.ff2bf16x2.rn
// The others: the scores of a block and the 64 / 16 products with the values of the block before, from registers; the
// softmax waits for the scores only.
// CHECK: scf.while
// CHECK-COUNT-8: nvvm.wgmma.mma_async
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}} p, 1, 1, 1; }
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: llvm.nvvm.ff2bf16x2.rn
// The values of the last block, then the store.
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: st.global.b32
// CHECK-NOT: llvm.func
// CHECK: nvvm.setmaxregister decrease 40

// The producer: queries; then keys and values, 64 * 128 * 2 bytes, in two boxes of 4 coordinates each. What consumers
// read beside a slot is written before the barrier can complete.
// PRODUCER-LABEL: llvm.func @attention(
// PRODUCER: nvvm.setmaxregister decrease 40
// PRODUCER: mbarrier.arrive.expect_tx{{.*}} %c32768_i32
// PRODUCER-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}]
// PRODUCER: llvm.store %{{.*}} : i32, !llvm.ptr<3>
// PRODUCER-NOT: cp.async
// PRODUCER: mbarrier.arrive.expect_tx{{.*}} %c16384_i32
// PRODUCER-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}]
// PRODUCER: llvm.store %{{.*}} : i32, !llvm.ptr<3>
// PRODUCER-NOT: cp.async
// PRODUCER: mbarrier.arrive.expect_tx{{.*}} %c16384_i32
// PRODUCER-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}]
// An empty list: a slot without bytes, whose barrier completes by an arrival.
// PRODUCER: llvm.store %c-1_i32{{.*}} : i32, !llvm.ptr<3>
// PRODUCER: mbarrier.arrive.expect_tx
// PRODUCER: llvm.store %c-1_i32{{.*}} : i32, !llvm.ptr<3>
// PRODUCER-NOT: expect_tx
// PRODUCER: mbarrier.arrive.shared::cta.b64
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

// Window limits that a position cannot be added to hide nothing.
// CHECK-LABEL: llvm.func @largest_window(
// CHECK-NOT: 2147483647_i32
// CHECK-NOT: -2147483648_i32
// CHECK: nvvm.setmaxregister decrease
sparsec.kernel @largest_window(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v window = [2147483647, 2147483647]
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// One warpgroup of consumers, two CTAs; the score and the mask stand in the code, f32 results and LSE leave as they are.
// CHECK-LABEL: llvm.func @regions(
// CHECK-SAME: nvvm.maxntid = array<i32: 256, 1, 1>
// CHECK-SAME: nvvm.minctasm = 2 : i32
// CHECK-SAME: #sparsec.parameter<kind = scalar, argument = 3>
// CHECK-SAME: #sparsec.parameter<kind = pointer, argument = 4>
// CHECK-SAME: box = [64, 64, 1, 1]
// CHECK-SAME: box = [64, 128, 1, 1]
// CHECK-SAME: box = [64, 128, 1, 1]
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 128, k = 16>{{.*}}A[<f16>
// CHECK: math.absf
// An index of a region is held inside the tensor: the region also runs where nothing is visible.
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK: llvm.nvvm.ff2f16x2.rn
// 128 / 16 products in the loop, and as many for the last block.
// CHECK-COUNT-16: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// CHECK-NOT: ff2f16x2
// CHECK: st.global.b32 [$0], $2;", "l,b,f
// CHECK: math.log2
sparsec.kernel @regions(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>, %c: f32,
                        %lengths: tensor<?xi32>) -> (o: tensor<?x?x?x64xf32>, lse: tensor<?x?x?xf32>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 208, ctas_per_sm = 2>} {
  %o, %lse = sparsec.attention %q, %k, %v scale(%c) extras(%lengths)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xi32>) {
    %size = math.absf %s : f32
    sparsec.yield %size : f32
  } mask (%b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xi32>) {
    %length = sparsec.element %t[%b] : tensor<?xi32>
    %inside = arith.cmpi slt, %j, %length : i32
    sparsec.yield %inside : i1
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, f32, tensor<?xi32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  sparsec.return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}

// A pattern and a mask: a second function writes the lists. 16 warps, and a word for each; a lane of a warp looks at
// 128 * 64 / 32 pairs, the butterfly tells all lanes what all have seen. Between two barriers every thread counts the
// blocks of the 16 warps; the first lane appends the block to one of the lists. Another kernel has the name that the
// function would have.
// CHECK-LABEL: llvm.func @masked(
// CHECK-SAME: sparsec.variant = 0
// CHECK-LABEL: llvm.func @masked_pattern_(
// CHECK-SAME: nvvm.maxntid = array<i32: 512, 1, 1>, sparsec.kernel = @masked,
// CHECK-SAME: #sparsec.parameter<kind = size, index = 2>
// CHECK-SAME: #sparsec.parameter<kind = pattern_field, argument = 3, index = 3>
// CHECK-SAME: sparsec.pattern_builder, sparsec.shared_memory = 64 : i64
// CHECK-SAME: sparsec.threads = 512 : i64, sparsec.tile_k = 1 : i64, sparsec.tile_m = 128 : i64, sparsec.tile_n = 64 : i64}
// CHECK-NOT: sparsec.variant
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[ROUND:.*]] = arith.constant 16 : i32
// CHECK: scf.for %{{.*}} step %[[ROUND]]
// CHECK: %[[PAIRS:.*]] = arith.constant 256 : i32
// CHECK: scf.for %{{.*}} to %[[PAIRS]]
// CHECK: arith.cmpi sgt
// CHECK: arith.ori
// CHECK-COUNT-5: nvvm.shfl.sync bfly
// CHECK: llvm.store %{{.*}} : i32, !llvm.ptr<3>
// CHECK: nvvm.barrier
// CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK: nvvm.barrier
// CHECK-COUNT-2: st.global.b32
// CHECK-NOT: st.global
// CHECK-COUNT-2: llvm.store %{{.*}} : i32, !llvm.ptr<1>
sparsec.kernel @masked(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                       %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %later = arith.cmpi sgt, %i, %j : i32
    sparsec.yield %later : i1
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// A mask alone has no lists to write.
// CHECK-NOT: llvm.func
// CHECK: llvm.func @masked_pattern(
// CHECK-SAME: sparsec.variant = 0
// CHECK-NOT: llvm.func
sparsec.kernel @masked_pattern(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %later = arith.cmpi sgt, %i, %j : i32
    sparsec.yield %later : i1
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// One role: 8 warps, no tensor maps, all registers that a CTA on an SM may have. A block of 128 keys in two steps.
// CHECK-LABEL: llvm.func @one_role(
// CHECK-SAME: nvvm.maxntid = array<i32: 256, 1, 1>
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-SAME: sparsec.alignment = 16 : i64
// CHECK-SAME: sparsec.shared_memory = 98304 : i64
// CHECK-SAME: sparsec.tensor_maps = []
// CHECK-SAME: sparsec.threads = 256 : i64
// Queries: 128 rows of 16 units are 8 passes of 256 threads, whole or with a count of bytes for rows beyond the tensor.
// CHECK: nvvm.barrier
// CHECK: scf.if
// CHECK-COUNT-8: nvvm.cp.async.shared.global %{{[0-9]+}}, %{{[0-9]+}}, 16, cache = cg :
// CHECK-NOT: nvvm.cp.async
// CHECK: else
// CHECK-COUNT-8: nvvm.cp.async.shared.global %{{[0-9]+}}, %{{[0-9]+}}, 16, cache = cg, %{{[0-9]+}} :
// The keys of the first step; with the second group come those of the next one and the first values.
// CHECK-COUNT-4: nvvm.cp.async.shared.global %{{[0-9]+}}, %{{[0-9]+}}, 16, cache = cg :
// CHECK: nvvm.cp.async.commit.group
// CHECK-COUNT-16: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.barrier
// Scores of the first step: for each 16 of 128 elements the queries, and 64 keys in 4 loads, for 8 products.
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>
// CHECK-COUNT-64: nvvm.mma.sync
// CHECK: scf.while
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier
// CHECK: nvvm.cp.async.commit.group
// The softmax of a step, which rescales the output where some row of the warp asks for it, the scores of the next step,
// then the values: 4 groups of 16 keys, 16 of 8 elements.
// CHECK: nvvm.vote.sync any
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK: scf.if
// CHECK-COUNT-64: arith.mulf
// CHECK: else
// CHECK-COUNT-32: llvm.nvvm.ex2.approx.ftz.f
// CHECK-COUNT-16: llvm.nvvm.ff2bf16x2.rn
// CHECK-COUNT-64: nvvm.mma.sync
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>
// CHECK-COUNT-64: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: st.global.v4.b32
sparsec.kernel @one_role(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                         %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 8, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Where fragments are smaller the queries stay in registers: the second load after the first products is one of keys. With
// 3 stages a group may be on its way in a step.
// CHECK-LABEL: llvm.func @queries_in_registers(
// CHECK: nvvm.cp.async.wait.group 2
// CHECK-NEXT: nvvm.barrier
// CHECK-COUNT-4: nvvm.ldmatrix
// CHECK-NOT: nvvm.mma.sync
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.mma.sync
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.barrier
sparsec.kernel @queries_in_registers(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 4, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}
