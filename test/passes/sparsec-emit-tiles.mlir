// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' | FileCheck %s

// CHECK: gpu.module @kernels
// CHECK: llvm.mlir.global external @dynamic_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

// The tensor maps are parameters by value; what the launch info needs is on the function. Boxes: 64 columns x half of the
// tile's rows x 1 block of A (the other half comes from the other CTA), 64 columns x 64 rows of X, the same of Y.
// CHECK-LABEL: llvm.func @roles(
// CHECK-SAME: {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.maxntid = array<i32: 384, 1, 1>
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-SAME: sparsec.alignment = 16 : i64
// CHECK-SAME: sparsec.kernel = @roles
// CHECK-SAME: #sparsec.parameter<kind = plan_section>
// CHECK-SAME: sparsec.shared_memory = 229440 : i64
// CHECK-SAME: #sparsec.tensor_map<kind = {{dense|bsr_values}}, argument
// CHECK-SAME: box = [64, 64, 1]
// CHECK-SAME: box = [64, 64]
// CHECK-SAME: sparsec.threads = 384 : i64
// The program for tiles that are cut has the number before.
// CHECK-SAME: sparsec.variant = 1 : i64
// The role is a branch; the consumers take registers, the producer gives them up.
// CHECK: nvvm.setmaxregister increase 232
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}}m = 64, n = 256, k = 16
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: nvvm.stmatrix
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK: nvvm.setmaxregister decrease 40
// CHECK: multicast_mask
// CHECK-NOT: sparsec.program
sparsec.kernel @roles(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 128x128>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// One role: asynchronous copies, ldmatrix and mma.sync; no tensor maps, no cluster.
// CHECK-LABEL: llvm.func @one_role(
// CHECK-NOT: byval
// CHECK-NOT: cluster_dim
// CHECK-SAME: #sparsec.parameter<kind = tile_panels>, #sparsec.parameter<kind = tile_period>,
// CHECK-SAME: sparsec.tensor_maps = []
// CHECK-SAME: sparsec.threads = 128 : i64
// A round for every period of panels of the plan's lists. It ends with the list, or at a tile beyond the result.
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %[[PANELS:.*]] step %{{.*}} : i32 {
// CHECK: scf.while (%[[TILE:.*]] = %[[RANGE:.*]]#0)
// CHECK-NEXT: arith.cmpi slt, %[[TILE]], %[[RANGE]]#1
// A group of the raster has no more rows than there are: times the panels it would not fit 32 bits.
// CHECK: %[[ROWS:.*]] = arith.minsi %{{.*}}, %c16_i32{{.*}} : i32
// CHECK-NEXT: %[[GROUP:.*]] = arith.muli %{{.*}}, %[[ROWS]] : i32
// CHECK-NEXT: arith.divui %{{.*}}, %[[GROUP]] : i32
// CHECK: %[[PANEL:.*]] = arith.addi %[[FIRST]], %{{.*}}#1 : i32
// CHECK-NEXT: scf.yield %{{.*}}, %[[PANEL]] : i32, i32
// CHECK: scf.yield %{{.*}}, %[[PANELS]] : i32, i32
// CHECK: %[[GOES:.*]] = arith.cmpi slt, %{{.*}}#1, %[[PANELS]] : i32
// CHECK-NEXT: scf.condition(%[[GOES]])
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache = cg
// CHECK: nvvm.cp.async.wait.group 2
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.mma.sync
// CHECK: st.global

// The fallback reads single elements.
// CHECK-LABEL: llvm.func @one_role_unaligned(
// CHECK-SAME: sparsec.alignment = 2 : i64
// CHECK-SAME: sparsec.variant = 1 : i64
// CHECK-NOT: cp.async
// CHECK: llvm.load {{.*}} -> i16
// CHECK: nvvm.mma.sync
sparsec.kernel @one_role(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 128, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 4>, fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 32, tile_n = 64, tile_k = 32, stages = 2, consumers_m = 1, consumers_n = 2>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Blocks that K cuts come through a map of their own, which brings zeros beyond K; where K is known to cut none, the map
// is not there.
// CHECK-LABEL: llvm.func @cut(
// CHECK-SAME: #sparsec.tensor_map<kind = bsr_values, argument = 0, swizzle = 128, box = [64, 64, 1]>, #sparsec.tensor_map<kind = bsr_edge_values, argument = 0, swizzle = 128, box = [64, 64, 1]>,
// CHECK: %[[MAP:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : !llvm.ptr{{$}}
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP]]
sparsec.kernel @cut(%w: !sparsec.bsr<?x1000xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1>, fallback_schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 32, tile_n = 64, tile_k = 32, stages = 2, consumers_m = 1, consumers_n = 2>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x1000xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: llvm.func @whole(
// CHECK-NOT: bsr_edge_values
sparsec.kernel @whole(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<1024x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<1024x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// The second group of a tile may be below its block row of 192 rows. Its chunks are then not stored, but each makes a
// group of stores all the same: the wait for a staging buffer counts the groups behind the one that reads it.
// CHECK-LABEL: llvm.func @masked_rows
// CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
// CHECK: [[IS_IN_ROW:%[0-9]+]] = arith.cmpi slt, %{{[0-9]+}}, %c192_i32{{[_0-9]*}} : i32
// CHECK-NEXT: scf.if [[IS_IN_ROW]] {
// CHECK: nvvm.cp.async.bulk.tensor.global.shared.cta
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK-NEXT: }
// CHECK: nvvm.cp.async.bulk.wait_group 1 {read}
sparsec.kernel @masked_rows(%w: !sparsec.bsr<?x?xbf16, block = 192x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 192x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
