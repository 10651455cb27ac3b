// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' | FileCheck %s
// Score and mask regions of attention in the code, on positions and loads.

// The score and the mask stand in the code, f32 results and LSE leave as they are. One warpgroup of consumers, two
// CTAs.
// CHECK-LABEL: llvm.func @regions(
// CHECK-SAME: nvvm.maxntid = array<i32: 256, 1, 1>
// CHECK-SAME: nvvm.minctasm = 2 : i32
// CHECK-SAME: #sparsec.parameter<kind = pointer, argument = 4>
// CHECK-SAME: #sparsec.parameter<kind = scalar, argument = 3>
// An index of a region is held inside the tensor: the region also runs where nothing is visible. What it loads by batch
// is loaded before the steps.
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 128, k = 16>{{.*}}A[<f16>
// Regions go in order, so that places need few registers: later scores wait for the result of an earlier one, by a zero
// made of it.
// CHECK: [[FIRST:%[0-9]+]] = math.absf
// CHECK: [[BITS:%[0-9]+]] = arith.bitcast [[FIRST]] : f32 to i32
// CHECK: [[SIGN:%[0-9]+]] = arith.shrsi
// CHECK: [[ZERO:%[0-9]+]] = arith.andi [[SIGN]], [[BITS]]
// CHECK: arith.ori %{{.*}}, [[ZERO]]
// CHECK: math.absf
// CHECK: llvm.nvvm.ff2f16x2.rn
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
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
// head, of the words that of batch and head. No element is loaded for a score: those by key are loaded before the wait for
// the scores, in the first step and in the loop (sparsec-emit-tiles-attention-terms.mlir).
// CHECK-LABEL: llvm.func @loads(
// CHECK: nvvm.setmaxregister increase
// CHECK: [[SLOPE:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> f32
// CHECK: [[WORD:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: nvvm.wgmma.mma_async
// CHECK: [[OTHER:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NEXT: arith.cmpi eq, [[WORD]], [[OTHER]]
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: arith.mulf %{{.*}}, [[SLOPE]] : f32
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: scf.while
// CHECK: [[OTHER:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NEXT: arith.cmpi eq, [[WORD]], [[OTHER]]
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK-NOT: llvm.load %{{.*}} : !llvm.ptr<1>
// CHECK: arith.mulf %{{.*}}, [[SLOPE]] : f32
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
