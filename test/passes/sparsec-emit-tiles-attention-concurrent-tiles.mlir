// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' | FileCheck %s
// Concurrent tiles of attention: three in a CTA, each with a consumer group, a warp that produces and a third of the
// shared memory.

// A slot of 64 queries and 4 slots of two blocks of 64 keys: 8192 + 4 * 16384 + 5 * 24 bytes, rounded up to 1024, are
// 74752. Behind the three is an i32 that tells which group issues products.
// CHECK-LABEL: llvm.func @concurrent(
// CHECK-SAME: nvvm.maxntid = array<i32: 512, 1, 1>
// CHECK-SAME: sparsec.shared_memory = 224264 : i64
// A full and an empty barrier for 5 slots of each.
// CHECK-COUNT-30: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK: [[NOBODY:%[a-z0-9_]+]] = arith.constant 0 : i32
// CHECK: llvm.store [[NOBODY]], {{.*}} atomic syncscope("block") monotonic
// CHECK: nvvm.setmaxregister increase 160
// CHECK: %[[BYTES:c74752_i32.*]] = arith.constant 74752
// CHECK-NEXT: arith.muli %{{.*}}, %[[BYTES]]
// Both messages beside keys are blocks.
// CHECK: scf.while
// CHECK: [[MESSAGES:%[0-9]+]] = llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: [[BLOCK:%[0-9]+]] = llvm.extractelement [[MESSAGES]][%c0
// CHECK: [[SECOND:%[0-9]+]] = llvm.extractelement [[MESSAGES]][%c1
// CHECK: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 128, k = 16>, D[<f32>, <zero>]
// CHECK: nvvm.wgmma.mma_async {{.*}}<m = 64, n = 128, k = 16>, D[<f32>, <one>]
// CHECK-DAG: arith.shrui [[BLOCK]]
// CHECK-DAG: arith.shrui [[SECOND]]
// The number of a block says whether keys are hidden.
// CHECK: arith.cmpi sge, [[BLOCK]],
// CHECK: arith.cmpi sge, [[SECOND]],
// Who issues is read beside the messages of the next keys. Where another group issues its products, it may finish, but
// nobody waits for longer than 64 reads.
// CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> vector<2xi32>
// CHECK: llvm.load {{.*}} atomic syncscope("block") monotonic
// CHECK-COUNT-4: llvm.inline_asm {{.*}}"mov.b64 $0, {$1, $2};"
// CHECK: scf.while
// CHECK: scf.while ([[ISSUER:%[a-z0-9]+]] = {{.*}}, {{.*}})
// CHECK: arith.cmpi ne, [[ISSUER]], %c0_i32
// CHECK: arith.cmpi ne, [[ISSUER]], [[SELF:%[0-9]+]]
// CHECK: arith.cmpi slt, %{{.*}}, %c64_i32
// CHECK: llvm.load {{.*}} atomic syncscope("block") monotonic
// CHECK: scf.if
// CHECK: llvm.store [[SELF]], {{.*}} atomic syncscope("block") monotonic
// Descriptors of the queries are made before the loop, those of a step together.
// CHECK-COUNT-12: llvm.inline_asm {{.*}}"mov.b64 $0, {$1, $2};"
// CHECK: nvvm.wgmma.mma_async
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK: scf.if
// CHECK: llvm.store {{.*}} atomic syncscope("block") monotonic
// The first thread of each of the first three warps produces. Workers are numbered group by group: that of group g in
// CTA c of n is g * n + c, of 3 * n.
// CHECK: nvvm.setmaxregister decrease 32
// CHECK: arith.cmpi slt, [[GROUP:%[0-9]+]], %c3_i32
// CHECK: nvvm.read.ptx.sreg.nctaid.x
// CHECK-NEXT: [[CTAS:%[0-9]+]] = llvm.inline_asm
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK-NEXT: [[CTA:%[0-9]+]] = llvm.inline_asm
// CHECK-DAG: [[OF_GROUP:%[0-9]+]] = arith.muli [[GROUP]], [[CTAS]]
// CHECK-DAG: [[WORKER:%[0-9]+]] = arith.addi [[OF_GROUP]], [[CTA]]
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
sparsec.kernel @concurrent(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                      %p: !sparsec.pattern<64x64>) -> (o: tensor<?x?x?x64xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, producer_registers = 32, consumer_registers = 160, concurrent_tiles = 3>} {
  %o = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, !sparsec.pattern<64x64>)
    -> tensor<?x?x?x64xbf16>
  sparsec.return %o : tensor<?x?x?x64xbf16>
}
