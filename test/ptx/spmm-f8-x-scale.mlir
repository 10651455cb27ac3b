// REQUIRES: ptxas
// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_90a --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE
// RUN: sparsec %s --arch=sm_89 --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE89

// A thread loads one scale of every 32 columns of a part before it multiplies the part, and multiplies it by that of the
// block. It gets those of its own columns from threads of its warp.
// CHECK: .visible .entry x_scale(
// CHECK: wgmma.fence
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK-COUNT-32: shfl.sync.idx.b32
// CHECK: ld.global.nc.{{b32|f32}}
// CHECK: wgmma.fence
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
