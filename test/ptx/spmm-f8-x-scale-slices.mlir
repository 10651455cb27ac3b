// REQUIRES: ptxas
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_90a --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE

// A slot is full when the tensor copies are there, and when a warp has stored the scales of X times that of the block. A
// thread reads pairs of them behind the product. Rows of A came in lines, so that 8 lower rows of 16 are swapped. The
// lanes of the warp have loaded the columns and scales of a block each.
// CHECK: .visible .entry x_scale_of_slices(
// CHECK: mbarrier.init.shared{{.*}}, {{%r[0-9]+|2}};
// CHECK: wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3
// CHECK-COUNT-4: ld.shared.v2.{{b32|f32}}
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-16: fma.rn.f32
// CHECK-COUNT-8: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// CHECK: setmaxnreg.dec
// CHECK: cp.async.bulk.tensor.2d.shared
// CHECK: cp.async.bulk.tensor.2d.shared
// CHECK: mbarrier.arrive.expect_tx
// CHECK: cp.async.bulk.tensor.3d
// CHECK: cp.async.bulk.tensor.2d
// CHECK: ld.shared.{{b32|f32}} %[[SCALE:[rf][0-9]+]],
// CHECK: mul{{.*}}f32 %[[SCALED:[rf][0-9]+]], {{.*}}%[[SCALE]]
// CHECK: st.shared.{{b32|f32}} [%{{.*}}], %[[SCALED]];
// CHECK: bar.warp.sync
// CHECK: mbarrier.arrive.shared::cta.b64
// CHECK: shfl.sync.idx.b32 %{{r[0-9]+}}, %{{r[0-9]+}}, %[[LANE:r[0-9]+]], 31, -1;
// CHECK-NEXT: shfl.sync.idx.b32 %{{r[0-9]+}}, %{{r[0-9]+}}, %[[LANE]], 31, -1;
// VERBOSE: x_scale_of_slices: wgmma tma 64x32x64 stages 8 consumers 1x1 registers 40/232 slices 2
// VERBOSE-NEXT: spills 0 B
sparsec.kernel @x_scale_of_slices(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 32, tile_k = 64, stages = 8, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 232, slices = 2>} {
  %y = sparsec.spmm %w scales(%s), %x x_scale(%t) x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?xf32>, tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
