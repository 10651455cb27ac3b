// RUN: sparsec %s --arch=sm_90a --emit=ptx -o - | FileCheck %s
// RUN: sparsec %s --arch=sm_89 --emit=ptx -o - | FileCheck %s

// Four warps divide the steps of a tile. Each waits for its own copies and lanes.
// CHECK: .visible .entry slices(
// CHECK: .maxntid 128, 1, 1
// CHECK: bar.sync 0;
// CHECK-NOT: bar.sync
// CHECK: mma.sync.aligned.m16n8k16
// CHECK-NOT: bar.sync
// CHECK: cp.async.wait_group 1;
// CHECK-NEXT: bar.warp.sync -1;
// CHECK-NOT: bar.sync
// The sums of the others go through shared memory, where the first warp finds them behind a barrier. A ring has 12288
// bytes, and the 32 lanes 16 bytes of each vector.
// CHECK: st.shared.v4.b32 [%r[[OWN:[0-9]+]]],
// CHECK-NEXT: st.shared.v4.b32 [%r[[OWN]]+512],
// CHECK: bar.sync 0;
// CHECK: ld.shared.v4.b32 {{.*}}, [%r[[PLACE:[0-9]+]]+12288];
// CHECK: ld.shared.v4.b32 {{.*}}, [%r[[PLACE]]+12800];
// CHECK: ld.shared.v4.b32 {{.*}}, [%r[[PLACE]]+24576];
// CHECK: ld.shared.v4.b32 {{.*}}, [%r[[PLACE]]+36864];
// CHECK: st.global
sparsec.kernel @slices(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>} {
  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Runs of X that are at most a sector of L2 stay in L1, for the same slice of other tiles. Blocks go past it.
// CHECK: .visible .entry short_runs(
// CHECK: cp.async.cg.shared.global [%r{{[0-9+]+}}], [%rd{{[0-9+]+}}], 16;
// CHECK: cp.async.ca.shared.global [%r{{[0-9+]+}}], [%rd{{[0-9+]+}}], 16;
sparsec.kernel @short_runs(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}

// Longer runs, those of 16-bit elements, and tiles that no slices share do not.
// CHECK: .visible .entry long_runs(
// CHECK-NOT: cp.async.ca.shared.global [%r{{[0-9+]+}}], [%rd{{[0-9+]+}}], 16
// CHECK: .visible .entry bf16(
// CHECK-NOT: cp.async.ca.shared.global [%r{{[0-9+]+}}], [%rd{{[0-9+]+}}], 16
// CHECK: .visible .entry no_slices(
// CHECK-NOT: cp.async.ca.shared.global [%r{{[0-9+]+}}], [%rd{{[0-9+]+}}], 16
sparsec.kernel @long_runs(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x64>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x64>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
sparsec.kernel @bf16(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
sparsec.kernel @no_slices(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, %x: tensor<?x?xf8E4M3FN>) -> (y: tensor<?x?xbf16>) attributes {schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 32, tile_n = 64, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 4>} {
  %y = sparsec.spmm %w, %x x_layout(nk) : (!sparsec.bsr<?x?xf8E4M3FN, block = 32x32>, tensor<?x?xf8E4M3FN>) -> tensor<?x?xbf16>
  sparsec.return %y : tensor<?x?xbf16>
}
