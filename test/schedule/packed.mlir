// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_90a --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,HOPPER
// RUN: sparsec-opt %s --sparsec-attach-target=chip=sm_89 --sparsec-select-schedule | FileCheck %s --check-prefixes=CHECK,ADA
// Which kernels have variants for packed values: small blocks that fill blocks of 64 x 64, or of 128 x 128 with fp8.

// CHECK-LABEL: sparsec.kernel @block16(
// CHECK-SAME: packed_block = array<i64: 64, 64>
// HOPPER-SAME: packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64,{{.*}} walk = windows,{{.*}}>, #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 512, tile_k = 64,
// ADA-SAME: packed_schedules = [#sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64,
sparsec.kernel @block16(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// CHECK-LABEL: sparsec.kernel @block32x64(
// CHECK-SAME: packed_block = array<i64: 64, 64>
sparsec.kernel @block32x64(%w: !sparsec.bsr<?x?xbf16, block = 32x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 32x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Blocks of 64 are large enough, and blocks of 48 do not fill one. A scale belongs to a stored block.
// CHECK-LABEL: sparsec.kernel @block64(
// CHECK-NOT: packed_
sparsec.kernel @block64(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
// CHECK-LABEL: sparsec.kernel @block48(
// CHECK-NOT: packed_
sparsec.kernel @block48(%w: !sparsec.bsr<?x?xbf16, block = 48x48>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 48x48>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
// CHECK-LABEL: sparsec.kernel @scales(
// CHECK-NOT: packed_
sparsec.kernel @scales(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, %s: tensor<?xf32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w scales(%s), %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, tensor<?xf32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// fp8 has packed blocks of as many bytes in a row.
// CHECK-LABEL: sparsec.kernel @f8(
// CHECK-SAME: packed_block = array<i64: 128, 128>
// HOPPER-SAME: packed_schedules = [#sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 128,
sparsec.kernel @f8(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 64x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// ptxas has refused one of them: the kernel does without.
// CHECK-LABEL: sparsec.kernel @refused(
// CHECK-NOT: packed_
sparsec.kernel @refused(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>)
    attributes {sparsec.refused_packed_schedules = ["spills"]} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
