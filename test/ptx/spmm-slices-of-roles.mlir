// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s

// Two slices of a tile, each with a warpgroup that multiplies and a producer. The second one hands its sums over behind the
// slots of both, where the first one finds them: all threads of both meet at a barrier of their own, before a tile and
// before the sums are added. The address of its place counts slices from 0, and the sums begin with slice 1.
// CHECK: .visible .entry slices(
// CHECK: .maxntid 384, 1, 1
// CHECK: bar.sync 2, 256;
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK: st.shared.v4.b32 [%r[[OWN:[0-9]+]]+133120],
// CHECK-NEXT: st.shared.v4.b32 [%r[[OWN]]+135168],
// CHECK: bar.sync 2, 256;
// CHECK: ld.shared.v4.b32 {{.*}}, [%r[[PLACE:[0-9]+]]+149504];
// CHECK: ld.shared.v4.b32 {{.*}}, [%r[[PLACE]]+151552];
// CHECK: cp.async.bulk.tensor.2d.global.shared::cta
sparsec.kernel @slices(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 1, consumers_n = 1, slices = 2>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
