// REQUIRES: ptxas
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_90a --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE
// RUN: sparsec %s --arch=sm_89 --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE89

// The scale of a block is a factor where its sums are added. The next slot is tested before the last of them are.
// CHECK: .visible .entry scales(
// CHECK: ld.global.nc.{{b32|f32}} %{{[a-z]+[0-9]+}}, [
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-64: fma.rn.f32 %{{[a-z]+[0-9]+}}, %{{[a-z]+[0-9]+}}, %{{[a-z]+[0-9]+}}, %{{[a-z]+[0-9]+}};
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-NOT: fma.rn.f32
// CHECK: mbarrier.test_wait
// CHECK-COUNT-64: fma.rn.f32 %{{[a-z]+[0-9]+}}, %{{[a-z]+[0-9]+}}, %{{[a-z]+[0-9]+}}, %{{[a-z]+[0-9]+}};
// CHECK: mbarrier.try_wait
sparsec.kernel @scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?xf32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// VERBOSE: scales: wgmma tma 128x256x128 stages 4
// VERBOSE-NEXT: spills 0 B
// VERBOSE: scales_unaligned: mma_sync scalar
// VERBOSE-NEXT: spills 0 B
// VERBOSE89: scales: mma_sync cp_async
// VERBOSE89-NEXT: spills 0 B
// VERBOSE89: scales_unaligned: mma_sync scalar
// VERBOSE89-NEXT: spills 0 B
