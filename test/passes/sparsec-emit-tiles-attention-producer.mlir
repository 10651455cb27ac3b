// RUN: sparsec-opt %s --pass-pipeline='builtin.module(sparsec-lower-to-tiles,gpu.module(sparsec.program(sparsec-pipeline-stages,sparsec-assign-shared-memory)),sparsec-emit-tiles)' | FileCheck %s
// Attention with two roles: what the producer sends.

// The tiles of the plan's list, every n-th of all, or with a counter the next number that it gives. The
// messages are written before the slot can be full. Slots of queries and of keys have messages, of values of the step before
// none.
// CHECK-LABEL: llvm.func @attention(
// CHECK: nvvm.setmaxregister decrease 40
// CHECK: scf.while
// CHECK-NOT: atom.global
// CHECK: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c32768_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.*}} box[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}]
// CHECK: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// CHECK-NOT: cp.async
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c16384_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global
// CHECK-NOT: llvm.store
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c16384_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor.shared.cluster.global
// An empty list: a slot without bytes, whose barrier completes by an arrival. Else the last values say the same.
// CHECK: llvm.insertelement %c-1_i32{{.*}}
// CHECK: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// CHECK-NOT: expect_tx
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: llvm.insertelement %c-1_i32{{.*}}
// CHECK: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// CHECK: mbarrier.arrive.expect_tx{{.*}} %c16384_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor
// The number of the next tile is taken when all copies of this one have started.
// CHECK: "atom.global.inc.u32 $0, [$1], $2;"
// No tile is left: a slot of queries without bytes.
// CHECK: llvm.insertelement %c-1_i32{{.*}}
// CHECK: llvm.store %{{.*}} : vector<2xi32>, !llvm.ptr<3>
// CHECK-NOT: expect_tx
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK-NOT: llvm.store
// CHECK: llvm.return
sparsec.kernel @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>,
                          %p: !sparsec.pattern<128x64>) -> (o: tensor<?x?x?x128xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 64, tile_k = 128, stages = 6, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232>} {
  %o = sparsec.attention %q, %k, %v pattern(%p)
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, !sparsec.pattern<128x64>)
    -> tensor<?x?x?x128xbf16>
  sparsec.return %o : tensor<?x?x?x128xbf16>
}
