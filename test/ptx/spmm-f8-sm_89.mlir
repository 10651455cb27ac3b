// REQUIRES: ptxas
// RUN: sparsec %s --arch=sm_89 --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_89 --verbose -o %t.cubin 2>&1 | FileCheck %s --check-prefix=VERBOSE

// The first version with mma.sync of fp8. Modules without fp8 have an earlier one (spmm-sm_89.mlir).
// CHECK: .version 8.4
// CHECK: .target sm_89

// A warp has 32 x 32 of the tile, and multiplies 32 x 32 over four instructions of K before it adds them to its sums.
// CHECK: .visible .entry two_levels(
// CHECK: cp.async.cg.shared.global [%r{{[0-9+]+}}], [%rd{{[0-9+]+}}], 16;
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {{.*}}, {{{%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+}}}, {{{%r[0-9]+, %r[0-9]+}}},
// CHECK: add.{{(rn.)?}}f32
// CHECK: .visible .entry two_levels_unaligned(
sparsec.kernel @two_levels(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, %x: tensor<?x?xf8E5M2>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 128, tile_n = 64, tile_k = 128, stages = 4, consumers_m = 4, consumers_n = 2>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 128x128>, tensor<?x?xf8E5M2>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Two blocks of 16 columns are one instruction deep.
// CHECK: .visible .entry fast(
// CHECK: mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e4m3.f32
sparsec.kernel @fast(%w: !sparsec.bsr<?x?xf8E5M2, block = 16x16>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) accumulation(fast) : (!sparsec.bsr<?x?xf8E5M2, block = 16x16>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// VERBOSE: two_levels: mma_sync cp_async 128x64x128
// VERBOSE-NEXT: spills 0 B
// VERBOSE: two_levels_unaligned: mma_sync scalar
// VERBOSE-NEXT: spills 0 B
// VERBOSE: fast: mma_sync cp_async 16x
// VERBOSE-NEXT: spills 0 B
// VERBOSE: fast_unaligned: mma_sync scalar
// VERBOSE-NEXT: spills 0 B
