// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// Tiles of 32 rows by wgmma: X is the A operand, and the transpose of a block the B operand. A stage has two blocks.

// The block that K cuts, and the second one of a last step that has only one, are copied one by one, with -1 as the number
// of a block that is not there: copies of it bring zeros. Others come together. Each brings 32 rows of X.
// CHECK: .visible .entry rows(
// CHECK: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 1, 0;
// CHECK: selp.b32 %r[[BLOCK:[0-9]+]], %r{{[0-9]+}}, -1,
// CHECK: selp.b64 %rd[[EDGE:[0-9]+]],
// CHECK: cp.async.bulk.tensor.3d{{.*}} [%r[[SLOT:[0-9]+]]], [%rd[[EDGE]], {%r[[ZERO:[0-9]+]], %r[[ZERO]], %r[[BLOCK]]}]
// CHECK: cp.async.bulk.tensor.3d{{.*}} [%r[[SLOT]]+2048], [%rd
// CHECK: cp.async.bulk.tensor.2d{{.*}}+16384], [%rd[[X:[0-9]+]],
// CHECK: cp.async.bulk.tensor.2d{{.*}}+20480], [%rd[[X]],
// CHECK: mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r{{[0-9]+}}], %r{{[0-9]+}};
// CHECK: cp.async.bulk.tensor.3d{{.*}} [%r[[SLOT]]], [%rd[[WHOLE:[0-9]+]],
// CHECK-NOT: cp.async.bulk.tensor
sparsec.kernel @rows(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 32, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, slices = 2>, planned_schedules = []} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x32>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
