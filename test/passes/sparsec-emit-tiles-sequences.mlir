// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles,cse,canonicalize)' | FileCheck %s
// Machine kernels of sequences with sizes of their own.

// The queries and keys of a sequence: its length is at least 0, and at most the rows of K.
// CHECK-LABEL: llvm.func @lengths(
// CHECK: %[[LENGTH:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> i32
// CHECK-NEXT: %[[INSIDE:.*]] = arith.minsi %[[LENGTH]], %{{.*}} : i32
// CHECK-NEXT: arith.maxsi %[[INSIDE]], %{{.*}} : i32
// Zeros behind the last key, by both groups; then the engine that multiplies must see them.
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.barrier id = %{{.*}} number_of_threads = %{{.*}}
// The lists have what the mask alone leaves, although the kernel is causal: positions differ from sequence to sequence.
// A causal builder takes the smaller one of two ends.
// CHECK-LABEL: llvm.func @lengths_pattern(
// CHECK-SAME: sparsec.auxiliary = #sparsec.auxiliary<pattern_builder>
// CHECK-NOT: arith.minsi
// CHECK: llvm.func @lengths_block_mask(
sparsec.kernel @lengths(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                        %p: !sparsec.pattern<128x64>, %n: tensor<?xi32>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v pattern(%p) key_lengths(%n) causal mask (%b: i32, %h: i32, %i: i32, %j: i32) {
    %later = arith.cmpi sgt, %i, %j : i32
    sparsec.yield %later : i1
  } : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, !sparsec.pattern<128x64>, tensor<?xi32>)
      -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}
