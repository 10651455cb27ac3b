// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' | FileCheck %s
// Attention by a role of warps: mma.sync, and copies by all threads.

// 8 warps, no tensor maps, all registers that a CTA on an SM may have. A block of 128 keys in two steps.
// CHECK-LABEL: llvm.func @warps(
// CHECK-SAME: nvvm.maxntid = array<i32: 256, 1, 1>
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK-SAME: sparsec.alignment = 16 : i64
// CHECK-SAME: sparsec.shared_memory = 98304 : i64
// CHECK-SAME: sparsec.tensor_maps = []
// CHECK-SAME: sparsec.threads = 256 : i64
// A slot is free after a barrier. Queries: 128 rows of 16 vectors are 8 passes of 256 threads, whole or with a count of
// bytes for rows beyond the tensor; then the keys of the first step. With the second group come those of the next one
// and the first values.
// CHECK: nvvm.barrier
// CHECK: scf.if
// CHECK-COUNT-8: nvvm.cp.async.shared.global %{{[0-9]+}}, %{{[0-9]+}}, 16, cache = cg :
// CHECK: else
// CHECK-COUNT-8: nvvm.cp.async.shared.global %{{[0-9]+}}, %{{[0-9]+}}, 16, cache = cg, %{{[0-9]+}} :
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.barrier
// Scores of the first step. Then in a step: waits, copies, the softmax, the scores of the next step, and the values.
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>
// CHECK: nvvm.mma.sync
// CHECK: scf.while
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.vote.sync any
// CHECK: llvm.nvvm.ex2.approx.ftz.f
// CHECK: llvm.nvvm.ff2bf16x2.rn
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>
// CHECK: nvvm.mma.sync
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>
// CHECK: nvvm.mma.sync
// CHECK: st.global.v4.b32
sparsec.kernel @warps(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                         %p: !sparsec.pattern<128x128>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 128, stages = 2, consumers_m = 8, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x128>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}

// Where fragments are smaller the queries stay in registers: the second load after the first products is one of keys.
// With 3 stages a group may be on its way in a step.
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

// Scalar copies: no asynchronous copy and no group of them; barriers order the same steps. 8 elements of 2 bytes make a
// vector of shared memory. A row beyond the tensor is read where the last one is, and becomes zero.
// CHECK-LABEL: llvm.func @any_alignment(
// CHECK-SAME: sparsec.alignment = 2 : i64
// CHECK-NOT: nvvm.cp.async
// CHECK: nvvm.barrier
// CHECK: [[EXISTS:%[0-9]+]] = arith.cmpi slt, [[ROW:%[0-9]+]], [[ROWS:%[a-z0-9]+]] : i32
// CHECK: [[LAST:%[0-9]+]] = arith.subi [[ROWS]], %c1_i32
// CHECK: arith.minsi [[ROW]], [[LAST]]
// CHECK: [[VALID:%[0-9]+]] = arith.select [[EXISTS]], %c8_i32{{[_0-9]*}}, %c0_i32{{[_0-9]*}} : i32
// CHECK: [[ANY:%[0-9]+]] = arith.cmpi sgt, [[VALID]], %c0_i32{{[_0-9]*}} : i32
// CHECK-COUNT-8: arith.select [[ANY]], %{{[0-9]+}}, %c0_i16{{[_0-9]*}} : i16
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
// CHECK: llvm.func @any_alignment_parts(
sparsec.kernel @any_alignment(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> (o: tensor<?x?x?x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = scalar, tile_m = 64, tile_n = 32, tile_k = 64, stages = 2, consumers_m = 4, consumers_n = 1>} {
  %o = sparsec.attention %q, %k, %v
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
