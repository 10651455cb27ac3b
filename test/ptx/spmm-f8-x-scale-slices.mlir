// REQUIRES: ptxas
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_90a --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE

// A slot is full when the tensor copies are there and the copies of 32 threads. A thread reads pairs of scales behind the
// product, and multiplies them by that of the block.
// CHECK: .visible .entry x_scale_of_slices(
// CHECK: mbarrier.init.shared{{.*}}, {{%r[0-9]+|33}};
// CHECK: wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3
// CHECK-COUNT-4: ld.shared.v2.{{b32|f32}}
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-16: fma.rn.f32
// CHECK: setmaxnreg.dec
// CHECK: mbarrier.arrive.expect_tx
// CHECK: cp.async.bulk.tensor
// CHECK: cp.async.mbarrier.arrive.noinc.shared::cta.b64
// CHECK: cp.async.ca.shared.global [%r{{.*}}], [%rd{{[0-9]+}}], 4;
// VERBOSE: x_scale_of_slices: wgmma tma 64x32x64 stages 8 consumers 1x1 registers 40/232 slices 2
// VERBOSE-NEXT: spills 0 B
sparsec.kernel @x_scale_of_slices(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>)
    attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 32, tile_k = 64, stages = 8, consumers_m = 1, consumers_n = 1, producer_registers = 40, consumer_registers = 232, slices = 2>} {
  %y = sparsec.spmm %w scales(%s), %x x_scale(%t) x_layout(nk) y_layout(nm) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?xf32>, tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
