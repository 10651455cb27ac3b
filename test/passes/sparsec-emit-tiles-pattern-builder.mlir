// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' | FileCheck %s
// The machine kernel that writes the lists of a pattern from a mask region.

// A second function. 16 warps, and an i32 of shared memory for each; a lane of a warp looks at 128 * 64 / 32 pairs, the
// butterfly tells all lanes what all have seen. Between two barriers every thread counts the blocks of the 16 warps;
// the first lane appends the block to one of the lists. Another kernel has the name that the function would have.
// CHECK-LABEL: llvm.func @masked(
// CHECK-SAME: sparsec.variant = 0
// CHECK-LABEL: llvm.func @masked_pattern_(
// CHECK-SAME: nvvm.maxntid = array<i32: 512, 1, 1>, sparsec.auxiliary = #sparsec.auxiliary<pattern_builder>, sparsec.concurrent_tiles = 1 : i64, sparsec.kernel = @masked,
// CHECK-SAME: #sparsec.parameter<kind = size, index = 2>
// CHECK-SAME: #sparsec.parameter<kind = pattern_field, argument = 3, index = 11>
// CHECK-SAME: sparsec.shared_memory = 64 : i64
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

// Tiles of half a query block: the lists of a tile are those of the block that it lies in, and the function that writes
// them takes whole blocks, of whose last query `causal` leaves the most keys.
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
// CHECK: llvm.func @half_blocks_block_mask(
// CHECK-NOT: llvm.func
// CHECK: llvm.func @half_blocks_top_k(
// CHECK-NOT: llvm.func
// CHECK: llvm.func @half_blocks_parts(
// CHECK-NOT: llvm.func
// CHECK: llvm.func @half_blocks_merge(
// CHECK-NOT: llvm.func
// CHECK: llvm.func @masked_pattern(
// CHECK-SAME: sparsec.variant = 0
// CHECK-NOT: llvm.func
// CHECK: llvm.func @masked_pattern_parts(
// CHECK-NOT: llvm.func
// CHECK: llvm.func @masked_pattern_merge(
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
