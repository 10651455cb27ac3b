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
// CHECK-SAME: sparsec.shared_memory = 164032 : i64
// CHECK-SAME: sparsec.tensor_maps = [#sparsec.tensor_map<kind = dense, argument = 0, swizzle = 128, box = [64, 128, 1, 1]>, #sparsec.tensor_map<kind = dense, argument = 1, swizzle = 128, box = [64, 64, 1, 1]>, #sparsec.tensor_map<kind = dense, argument = 2, swizzle = 128, box = [64, 64, 1, 1]>]
// CHECK-SAME: sparsec.threads = 384 : i64
// CHECK-SAME: sparsec.variant = 0 : i64
// A full and an empty barrier for each of the two query slots and the 6 others.
// CHECK-COUNT-16: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: nvvm.setmaxregister increase 232
// Two words beside the queries say which tile, two beside the keys which blocks.
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: scf.while
// With 64 keys a step the queries stay in registers: four for 16 elements, after which their slot is free.
// CHECK-COUNT-8: nvvm.ldmatrix
// CHECK-NOT: nvvm.ldmatrix
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// The first block: 128 / 16 products, of which the first one starts from zero; keys are N x K.
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: setp.ne.b32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 0;
// CHECK-COUNT-7: setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 0;
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 0;
// Where a reference is negative, and so at first, the maxima are those of floats, else those of their bits.
// CHECK: [[NEGATIVE:%[0-9]+]] = nvvm.vote.sync any
// CHECK-NEXT: [[MAXIMA:%[0-9]+]]:2 = scf.if [[NEGATIVE]] -> (f32, f32)
// CHECK-NOT: arith.maxsi
// CHECK: arith.maxnumf
// CHECK: } else {
// CHECK-NOT: arith.maxnumf
// CHECK-COUNT-30: arith.maxsi
// A warp votes whether some maximum of its rows exceeds the reference. Only then come the maxima of the four threads of
// a row and the factors. Then the exponentials, and pairs of them for the second product.
// CHECK: [[TOLERATED:%[a-z0-9_]+]] = arith.constant -0.001953125 : f32
// CHECK: [[LEAST:%[0-9]+]] = math.fma [[MAXIMA]]#0, %{{.*}}, [[TOLERATED]] : f32
// CHECK-NEXT: arith.cmpf ogt, [[LEAST]]
// CHECK: math.fma [[MAXIMA]]#1
// CHECK-NEXT: arith.cmpf ogt
// CHECK: arith.ori
// CHECK: [[FIRST_VOTE:%[0-9]+]] = nvvm.vote.sync any
// CHECK-NEXT: scf.if [[FIRST_VOTE]] -> (f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK-COUNT-2: nvvm.shfl.sync bfly
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK: } else {
// CHECK-NOT: nvvm.shfl.sync
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK-COUNT-16: llvm.nvvm.ff2bf16x2.rn
// The others: the scores of a block and the 64 / 16 products with the values of the block before, from registers; the
// softmax waits for the scores only.
// CHECK: scf.while
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{.*}} p, 1, 1, 1; }
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: nvvm.vote.sync any
// CHECK: arith.maxsi
// CHECK: [[VOTE:%[0-9]+]] = nvvm.vote.sync any
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: mbarrier.arrive.shared::cta.b64
// The output is multiplied by factors only after such a vote.
// CHECK: scf.if [[VOTE]] -> (!llvm.struct<
// CHECK: arith.mulf
// CHECK: } else {
// CHECK-COUNT-32: llvm.nvvm.ex2.approx.ftz.f
// CHECK-COUNT-16: llvm.nvvm.ff2bf16x2.rn
// The values of the last block, the sums over the four threads of two rows, then the store: the four threads of a row
// exchange pairs in two rounds of two, so that each has 16 bytes that lie side by side. 128 / 32 such pieces of two rows.
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK-COUNT-4: llvm.nvvm.ff2bf16x2.rn
// CHECK-NOT: st.global
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK-COUNT-8: st.global.v4.b32
// CHECK-NOT: st.global
// CHECK-NOT: llvm.func
// CHECK: nvvm.setmaxregister decrease 40

// The producer: the tiles of the plan's list, or every n-th of all; with a counter the next number that it gives. Queries
// with the tile; then keys and values, 64 * 128 * 2 bytes, in two boxes of 4 coordinates each. What consumers read beside
// a slot is written before the barrier can complete.
// PRODUCER-LABEL: llvm.func @attention(
// PRODUCER: nvvm.setmaxregister decrease 40
// PRODUCER: nvvm.read.ptx.sreg.nctaid.x
// PRODUCER-NEXT: [[WORKERS:%[0-9]+]] = llvm.inline_asm
// PRODUCER: [[FIRST:%[0-9]+]]:3 = scf.if
// PRODUCER: scf.yield %{{.*}}, %{{.*}}, [[WORKERS]] : i32, i32, i32
// The range is asked for anew where it is needed.
// PRODUCER: scf.while {{.*}} = [[FIRST]]#0)
// PRODUCER: nvvm.read.ptx.sreg.nctaid.x
// PRODUCER: [[END:%[0-9]+]]:3 = scf.if
// PRODUCER: arith.cmpi slt, %{{.*}}, [[END]]#1
// PRODUCER: nvvm.read.ptx.sreg.nctaid.x
// PRODUCER: [[RANGE:%[0-9]+]]:3 = scf.if
// PRODUCER: [[NEXT:%[0-9]+]] = llvm.inline_asm {{.*}}"atom.global.inc.u32 $0, [$1], $2;"
// PRODUCER-NEXT: arith.addi [[RANGE]]#2, [[NEXT]]
// PRODUCER: else
// PRODUCER: arith.addi %{{.*}}, [[RANGE]]#2
// PRODUCER: [[TILE:%[0-9]+]]:2 = scf.if
// PRODUCER: llvm.insertelement [[TILE]]#0
// PRODUCER: llvm.insertelement [[TILE]]#1
// PRODUCER-NEXT: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// PRODUCER: mbarrier.arrive.expect_tx{{.*}} %c32768_i32
// PRODUCER-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}]
// PRODUCER: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// PRODUCER-NOT: cp.async
// PRODUCER: mbarrier.arrive.expect_tx{{.*}} %c16384_i32
// PRODUCER-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}]
// PRODUCER: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// PRODUCER-NOT: cp.async
// PRODUCER: mbarrier.arrive.expect_tx{{.*}} %c16384_i32
// PRODUCER-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}]
// An empty list: a slot without bytes, whose barrier completes by an arrival. Else the last values say the same.
// PRODUCER: llvm.insertelement %c-1_i32
// PRODUCER: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// PRODUCER-NOT: expect_tx
// PRODUCER: mbarrier.arrive.shared::cta.b64
// PRODUCER: llvm.insertelement %c-1_i32
// PRODUCER: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// PRODUCER: mbarrier.arrive.expect_tx{{.*}} %c16384_i32
// PRODUCER-COUNT-2: nvvm.cp.async.bulk.tensor
// No tile is left: a slot of queries without bytes.
// PRODUCER: llvm.insertelement %c-1_i32
// PRODUCER: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// PRODUCER-NOT: expect_tx
// PRODUCER: mbarrier.arrive.shared::cta.b64
// PRODUCER-NOT: llvm.store
// PRODUCER: llvm.return
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
// CHECK-SAME: #sparsec.parameter<kind = pointer, argument = 4>
// CHECK-SAME: #sparsec.parameter<kind = scalar, argument = 3>
// CHECK-SAME: box = [64, 64, 1, 1]
// CHECK-SAME: box = [64, 128, 1, 1]
// CHECK-SAME: box = [64, 128, 1, 1]
// An index of a region is held inside the tensor: the region also runs where nothing is visible. What it loads by batch
// is loaded before the steps.
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 128, k = 16>{{.*}}A[<f16>
// Regions go in order, so that places need few registers: those of the 9th score wait for the first one's result, by a
// zero made of it.
// CHECK: [[FIRST:%[0-9]+]] = math.absf
// CHECK-COUNT-7: math.absf
// CHECK-NOT: math.absf
// CHECK: [[BITS:%[0-9]+]] = arith.bitcast [[FIRST]] : f32 to i32
// CHECK: [[SIGN:%[0-9]+]] = arith.shrsi
// CHECK: [[ZERO:%[0-9]+]] = arith.andi [[SIGN]], [[BITS]]
// CHECK-COUNT-2: arith.ori %{{.*}}, [[ZERO]]
// CHECK: math.absf
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

// Elements that regions load by batch and head are loaded once for a tile, before its steps: of the slopes that of the
// head, of the words that of batch and head. Elements by key are loaded for each of the 64 * 64 / 128 scores of a thread,
// in the first step and in the loop.
// CHECK-LABEL: llvm.func @loads(
// CHECK: nvvm.setmaxregister increase
// CHECK: [[SLOPE:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: [[WORD:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: nvvm.wgmma.mma_async
// CHECK-NOT: !llvm.ptr<1> -> f32
// CHECK-COUNT-32: arith.mulf %{{.*}}, [[SLOPE]] : f32
// CHECK-NOT: !llvm.ptr<1> -> f32
// CHECK: [[OTHER:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NEXT: arith.cmpi eq, [[WORD]], [[OTHER]]
// CHECK-COUNT-31: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: scf.while
// CHECK-NOT: !llvm.ptr<1> -> f32
// CHECK-COUNT-32: arith.mulf %{{.*}}, [[SLOPE]] : f32
// CHECK-NOT: !llvm.ptr<1> -> f32
// CHECK-COUNT-32: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: nvvm.setmaxregister decrease
sparsec.kernel @loads(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                      %slopes: tensor<?xf32>, %words: tensor<?x?xi32>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v extras(%slopes, %words)
      score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %of_head: tensor<?xf32>, %of_place: tensor<?x?xi32>) {
    %slope = sparsec.element %of_head[%h] : tensor<?xf32>
    %r = arith.mulf %s, %slope : f32
    sparsec.yield %r : f32
  } mask (%b: i32, %h: i32, %i: i32, %j: i32, %of_head: tensor<?xf32>, %of_place: tensor<?x?xi32>) {
    %mine = sparsec.element %of_place[%b, %h] : tensor<?x?xi32>
    %theirs = sparsec.element %of_place[%b, %j] : tensor<?x?xi32>
    %same = arith.cmpi eq, %mine, %theirs : i32
    sparsec.yield %same : i1
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?xf32>, tensor<?x?xi32>)
    -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// A pattern and a mask: a second function writes the lists. 16 warps, and a word for each; a lane of a warp looks at
// 128 * 64 / 32 pairs, the butterfly tells all lanes what all have seen. Between two barriers every thread counts the
// blocks of the 16 warps; the first lane appends the block to one of the lists. Another kernel has the name that the
// function would have.
// CHECK-LABEL: llvm.func @masked(
// CHECK-SAME: sparsec.variant = 0
// Matrix descriptors count in 16 bytes: slots of queries are 2^10 of them apart.
// CHECK: scf.while
// CHECK: arith.shli %{{.*}}, %c10_i32
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

// Tiles of half a block of queries: the tile's lists are those of the block that it lies in, and the function that
// writes them takes whole blocks, of whose last query `causal` leaves the most keys.
// CHECK-LABEL: llvm.func @half_blocks(
// CHECK-SAME: tile_m = 64,
// CHECK: nvvm.setmaxregister decrease
// CHECK: [[FIRST:%[0-9]+]] = arith.shli %{{.*}}, %c6_i32
// CHECK: arith.shrui [[FIRST]], %c7_i32
// CHECK-LABEL: llvm.func @half_blocks_pattern(
// CHECK-SAME: sparsec.tile_m = 128 : i64, sparsec.tile_n = 64 : i64
// CHECK: [[LIST_FIRST:%[0-9]+]] = arith.shli %{{.*}}, %c7_i32
// CHECK: [[LIST_END:%[0-9]+]] = arith.addi [[LIST_FIRST]], %c128_i32
// CHECK: arith.minsi [[LIST_END]],
// CHECK: %[[PAIRS:.*]] = arith.constant 256 : i32
// CHECK: scf.for %{{.*}} to %[[PAIRS]]
sparsec.kernel @half_blocks(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                            %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) causal mask (%b: i32, %h: i32, %i: i32, %j: i32) {
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

// Elements of any alignment: no asynchronous copy and no group of them; barriers order the same steps. 8 elements of 2
// bytes make a unit of shared memory. A row beyond the tensor is read where the last one is, and becomes zero.
// CHECK-LABEL: llvm.func @any_alignment(
// CHECK-SAME: sparsec.alignment = 2 : i64
// CHECK-NOT: nvvm.cp.async
// CHECK: nvvm.barrier
// CHECK: [[EXISTS:%[0-9]+]] = arith.cmpi slt, [[ROW:%[0-9]+]], [[ROWS:%[a-z0-9]+]] : i32
// CHECK: [[LAST:%[0-9]+]] = arith.subi [[ROWS]], %c1_i32
// CHECK: arith.minsi [[ROW]], [[LAST]]
// CHECK-COUNT-8: arith.select [[EXISTS]], %{{[0-9]+}}, %c0_i16 : i16
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr<3>
// CHECK-NOT: nvvm.cp.async
// CHECK: nvvm.barrier
// CHECK: nvvm.mma.sync
// CHECK: scf.while
// CHECK-NOT: nvvm.cp.async
// CHECK: nvvm.barrier
// CHECK-NOT: nvvm.cp.async
// CHECK: vector<8xi16>, !llvm.ptr<3>
// CHECK-NOT: nvvm.cp.async
// CHECK: nvvm.mma.sync
// CHECK-NOT: st.global.v
// CHECK: st.global.b16
// CHECK-NOT: st.global.v
sparsec.kernel @any_alignment(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = gather, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}

// Three teams, each with a tile, a warp that produces and a third of the shared memory: a slot of 64 queries and 4 slots
// of two blocks of 64 keys. 8192 + 4 * 16384 + 5 * 24 bytes, rounded up to 1024, are 74752. Behind them is a word that
// tells which team issues products.
// CHECK-LABEL: llvm.func @teams(
// CHECK-SAME: nvvm.maxntid = array<i32: 512, 1, 1>
// CHECK-SAME: sparsec.shared_memory = 224264 : i64
// CHECK-SAME: box = [64, 64, 1, 1]
// CHECK-SAME: box = [64, 64, 1, 1]
// CHECK-SAME: box = [64, 64, 1, 1]
// A full and an empty barrier for 5 slots of 3 teams; the four warps of one consumer empty a slot.
// CHECK-COUNT-30: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: [[NOBODY:%[a-z0-9_]+]] = arith.constant 0 : i32
// CHECK: llvm.store [[NOBODY]], {{.*}} atomic syncscope("block") monotonic
// CHECK: %c74752_i32 = arith.constant 74752
// CHECK: arith.muli %{{.*}}, %c74752_i32
// CHECK: nvvm.setmaxregister increase 160
// Scores of 128 keys: 64 / 16 products; values of 128 keys: 128 / 16. Both words are blocks.
// CHECK: scf.while
// CHECK: [[WORDS:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: [[BLOCK:%[0-9]+]] = llvm.extractelement [[WORDS]][%c0
// CHECK: [[SECOND:%[0-9]+]] = llvm.extractelement [[WORDS]][%c1
// CHECK: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 128, k = 16>, D[<f32>, <zero>]
// CHECK-COUNT-3: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 128, k = 16>, D[<f32>, <one>]
// CHECK-NOT: nvvm.wgmma.mma_async
// CHECK-DAG: arith.shrui [[BLOCK]]
// CHECK-DAG: arith.shrui [[SECOND]]
// CHECK: nvvm.vote.sync any
// CHECK: scf.while
// Where another team issues its products, it may finish, but nobody waits for longer than 64 reads.
// CHECK: scf.while
// CHECK: [[ISSUER:%[0-9]+]] = llvm.load {{.*}} atomic syncscope("block") monotonic
// CHECK: arith.cmpi ne, [[ISSUER]], %c0_i32
// CHECK: arith.cmpi ne, [[ISSUER]], [[SELF:%[0-9]+]]
// CHECK: arith.cmpi slt, %{{.*}}, %c64_i32
// CHECK: scf.if
// CHECK: llvm.store [[SELF]], {{.*}} atomic syncscope("block") monotonic
// CHECK-COUNT-4: nvvm.wgmma.mma_async
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK: scf.if
// CHECK: llvm.store {{.*}} atomic syncscope("block") monotonic
// CHECK: nvvm.setmaxregister decrease 32
// The first thread of each of the first three warps works.
// CHECK: arith.cmpi slt, [[TEAM:%[0-9]+]], %c3_i32
// Workers are numbered team by team: that of team t in CTA c of n is t * n + c, of 3 * n.
// CHECK: nvvm.read.ptx.sreg.nctaid.x
// CHECK-NEXT: [[CTAS:%[0-9]+]] = llvm.inline_asm
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK-NEXT: [[CTA:%[0-9]+]] = llvm.inline_asm
// CHECK-DAG: [[OF_TEAM:%[0-9]+]] = arith.muli [[TEAM]], [[CTAS]]
// CHECK-DAG: [[WORKER:%[0-9]+]] = arith.addi [[OF_TEAM]], [[CTA]]
// CHECK-DAG: [[WORKERS:%[0-9]+]] = arith.muli [[CTAS]], %c3_i32
// CHECK: scf.yield [[WORKER]], %{{.*}}, [[WORKERS]] : i32, i32, i32
// Queries are one box; a step has one for each of its blocks, and where it has only one block that one twice.
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c8192_i32
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK-NOT: nvvm.cp.async.bulk.tensor
// CHECK: arith.cmpi ne, [[PAIRED:%[0-9]+]], %c33554432_i32{{.*}}
// CHECK: arith.select %{{[0-9]+}}, [[PAIRED]], %arg{{[0-9]+}} : i32
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c16384_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor
sparsec.kernel @teams(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                      %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, producer_registers = 32, consumer_registers = 160, tiles_per_cta = 3>} {
  %o = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>)
    -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
