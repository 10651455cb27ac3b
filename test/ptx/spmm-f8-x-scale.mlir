// REQUIRES: ptxas
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_90a --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE
// RUN: sparsec %s --arch=sm_89 --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE89

// A thread reads the scales of its four rows of the transposed product, two in each part. Both products have the same
// registers. Another role copies the scales, single elements that are far apart.
// CHECK: .visible .entry x_scale(
// CHECK: wgmma.fence
// CHECK: wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {[[FIRST:%r[0-9]+]],
// CHECK: mbarrier.try_wait
// CHECK-COUNT-4: ld.shared.{{b32|f32}}
// CHECK: mbarrier.arrive
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-64: fma.rn.f32
// CHECK: wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {[[FIRST]],
// CHECK: setmaxnreg.dec
// CHECK: cp.async.bulk.tensor
// CHECK: cp.async.mbarrier.arrive.noinc.shared::cta.b64
// CHECK-NEXT: // end inline asm
// CHECK-NEXT: cp.async.commit_group
// CHECK-COUNT-4: cp.async.ca.shared.global [%r{{.*}}], [%rd{{[0-9]+}}], 4;
// CHECK: cp.async.wait_group 0;
sparsec.kernel @x_scale(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>, %t: tensor<?x?xf32>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w scales(%s), %x x_scale(%t) x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?xf32>, tensor<?x?xf8E4M3FN>, tensor<?x?xf32>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// VERBOSE: x_scale: wgmma tma 128x256x128 stages 4
// VERBOSE-NEXT: spills 0 B
// VERBOSE: x_scale_unaligned: mma_sync scalar
// VERBOSE-NEXT: spills 0 B
// VERBOSE89: x_scale: mma_sync cp_async
// VERBOSE89-NEXT: spills 0 B
// VERBOSE89: x_scale_unaligned: mma_sync scalar
// VERBOSE89-NEXT: spills 0 B
