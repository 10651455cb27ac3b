// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' | FileCheck %s
// The machine kernel that writes the lists of a pattern from the state of every block. It needs no mask region.

// A second function, with a warp for each of a CTA's four lists. A lane loads the states of four key blocks in a row,
// inside of the mask whatever the number of blocks; two votes for each give the places in the partial and the full list.
// The first lane writes the numbers of entries.
// CHECK-LABEL: llvm.func @listed_cut(
// CHECK-SAME: sparsec.variant = 0
// CHECK-LABEL: llvm.func @listed_block_mask(
// CHECK-SAME: nvvm.maxntid = array<i32: 128, 1, 1>, sparsec.auxiliary = #sparsec.auxiliary<block_mask_reader>, sparsec.concurrent_tiles = 4 : i64, sparsec.kernel = @listed,
// CHECK-SAME: #sparsec.parameter<kind = tile_rows>
// CHECK-SAME: #sparsec.parameter<kind = size, argument = 1, index = 2>
// CHECK-SAME: #sparsec.parameter<kind = input>
// CHECK-SAME: #sparsec.parameter<kind = pattern_field, argument = 3, index = 12>
// CHECK-SAME: sparsec.shared_memory = 0 : i64
// CHECK-SAME: sparsec.threads = 128 : i64, sparsec.tile_k = 1 : i64, sparsec.tile_m = 128 : i64, sparsec.tile_n = 64 : i64}
// CHECK-NOT: sparsec.variant
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: %[[ROUND:.*]] = arith.constant 128 : i32
// CHECK: scf.for %{{.*}} step %[[ROUND]]
// CHECK-COUNT-4: llvm.load %{{.*}} invariant : !llvm.ptr<1> -> i8
// CHECK: %[[PARTIAL:.*]] = arith.constant 2 : i32
// CHECK: %[[IS_PARTIAL:.*]] = arith.cmpi eq, %{{.*}}, %[[PARTIAL]]
// CHECK: nvvm.vote.sync ballot %{{.*}}, %[[IS_PARTIAL]]
// CHECK: nvvm.read.ptx.sreg.lanemask.lt
// CHECK: st.global.b32
// CHECK: %[[FULL:.*]] = arith.constant 1 : i32
// CHECK: %[[IS_FULL:.*]] = arith.cmpi eq, %{{.*}}, %[[FULL]]
// CHECK: nvvm.vote.sync ballot %{{.*}}, %[[IS_FULL]]
// CHECK-COUNT-7: st.global.b32
// CHECK-NOT: st.global
// CHECK-COUNT-2: llvm.store %{{.*}} : i32, !llvm.ptr<1>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
sparsec.kernel @listed(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>,
                       %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v pattern(%p)
      : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, !sparsec.pattern<128x64>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}

// Without a pattern there are no lists.
// CHECK: llvm.func @listed_parts(
// CHECK-NOT: llvm.func
// CHECK: llvm.func @listed_merge(
// CHECK-NOT: llvm.func
// CHECK: llvm.func @dense_cut(
// CHECK-NOT: llvm.func
// CHECK: llvm.func @dense(
// CHECK-NOT: llvm.func
// CHECK: llvm.func @dense_parts(
// CHECK-NOT: llvm.func
// CHECK: llvm.func @dense_merge(
// CHECK-NOT: llvm.func
sparsec.kernel @dense(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>)
    -> (o: tensor<?x?x?x64xf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 216>} {
  %o = sparsec.attention %q, %k, %v : (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16>
  sparsec.return %o : tensor<?x?x?x64xf16>
}
