// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// Tile ops in values form: load, chain, store, as if one thread did it all.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4,
                              consumers_m = 2, consumers_n = 1>

gpu.module @kernels {
  // CHECK: sparsec.program @linear attributes {alignment = 16 : i64, kernel = @linear,
  // CHECK-SAME: schedule = #sparsec.schedule<{{.*}}>, variant = 0 : i64} {
  // CHECK-NEXT: ^bb0(%[[W:.*]]: !sparsec.bsr<?x?xbf16, block = 128x128>, %[[X:.*]]: tensor<?x?xbf16>, %[[BIAS:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?x?xbf16>):
  sparsec.program @linear attributes {kernel = @linear, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x128>, %x: tensor<?x?xbf16>, %bias: tensor<?xf32>, %y: tensor<?x?xbf16>):
    // CHECK-NEXT: sparsec.tile_loop {
    // CHECK-NEXT: ^bb0(%tile_row: i32, %panel: i32):
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      // CHECK-NEXT: %[[TILE:tile]] = sparsec.tile %tile_row, %panel
      %tile = sparsec.tile %tile_row, %panel
      // CHECK-NEXT: %[[ZERO:.*]] = sparsec.zero : !sparsec.accumulator<128, 256>
      %zero = sparsec.zero : !sparsec.accumulator<128, 256>
      // CHECK-NEXT: %[[SUM:.*]] = sparsec.block_loop %[[W]] at %[[TILE]] init(%[[ZERO]] : !sparsec.accumulator<128, 256>)
      // CHECK-SAME: attributes {blocks_per_step = 1 : i64, chunks = 2 : i64}
      // CHECK-SAME: : <?x?xbf16, block = 128x128> -> !sparsec.accumulator<128, 256> {
      // CHECK-NEXT: ^bb0(%[[BLOCK:block]]: !sparsec.block, %[[CHUNK:chunk]]: i32, %[[ACC:acc]]: !sparsec.accumulator<128, 256>):
      %sum = sparsec.block_loop %w at %tile init(%zero : !sparsec.accumulator<128, 256>)
          attributes {blocks_per_step = 1 : i64, chunks = 2 : i64}
          : <?x?xbf16, block = 128x128> -> !sparsec.accumulator<128, 256> {
      ^bb0(%block: !sparsec.block, %chunk: i32, %acc: !sparsec.accumulator<128, 256>):
        // CHECK-NEXT: %[[A:.*]] = sparsec.load a %[[W]][%[[TILE]], %[[BLOCK]], %[[CHUNK]]] : !sparsec.bsr<?x?xbf16, block = 128x128> -> <128, 64, bf16>
        %a = sparsec.load a %w[%tile, %block, %chunk] : !sparsec.bsr<?x?xbf16, block = 128x128> -> <128, 64, bf16>
        // CHECK-NEXT: %[[B:.*]] = sparsec.load x %[[X]][%[[TILE]], %[[BLOCK]], %[[CHUNK]]] : tensor<?x?xbf16> -> <256, 64, bf16>
        %b = sparsec.load x %x[%tile, %block, %chunk] : tensor<?x?xbf16> -> <256, 64, bf16>
        // CHECK-NEXT: %[[NEXT:.*]] = sparsec.chain %[[A]], %[[B]], %[[ACC]] {depth = array<i64: 64, 64>, x_transposed} : <128, 64, bf16>, <256, 64, bf16>, <128, 256>
        %next = sparsec.chain %a, %b, %acc {depth = array<i64: 64, 64>, x_transposed} : <128, 64, bf16>, <256, 64, bf16>, <128, 256>
        // CHECK-NEXT: sparsec.yield %[[NEXT]] : !sparsec.accumulator<128, 256>
        sparsec.yield %next : !sparsec.accumulator<128, 256>
      }
      // CHECK: sparsec.store %[[SUM]] to %[[Y]][%tile_row, %tile_row, %panel] with(%[[BIAS]] : tensor<?xf32>)
      // CHECK-SAME: attributes {block_rows = 128 : i64, broadcast = [#sparsec.broadcast<per_row>], staged, transposed}
      // CHECK-SAME: : <128, 256> -> tensor<?x?xbf16> {
      // CHECK-NEXT: ^bb0(%[[ELEMENT:acc]]: f32, %[[EXTRA:extra]]: f32):
      sparsec.store %sum to %y[%tile_row, %tile_row, %panel] with(%bias : tensor<?xf32>)
          attributes {broadcast = [#sparsec.broadcast<per_row>], block_rows = 128 : i64, staged, transposed}
          : <128, 256> -> tensor<?x?xbf16> {
      ^bb0(%element: f32, %b: f32):
        // CHECK-NEXT: %[[E:.*]] = arith.addf %[[ELEMENT]], %[[EXTRA]] : f32
        %e = arith.addf %element, %b : f32
        // CHECK-NEXT: sparsec.yield %[[E]] : f32
        sparsec.yield %e : f32
      }
    }
  }
}
