// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// Tile ops in pipeline form with one role that prefetches: two blocks of 16 columns fill a stage of depth 32.

#schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32,
                              stages = 3, consumers_m = 1, consumers_n = 4>

gpu.module @kernels {
  sparsec.program @product
      attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xf16, block = 16x16>, %x: tensor<?x?xf16>, %y: tensor<?x?xf32>):
    // CHECK: %[[RING:.*]] = sparsec.ring : !ring{{[0-9]*}}
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, f16>, !sparsec.buffer<32, 64, f16>]>
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      %zero = sparsec.zero : !sparsec.accumulator<16, 64>
      // CHECK: sparsec.block_loop {{.*}} attributes {blocks_per_step = 2 : i64, chunks = 1 : i64}
      %sum = sparsec.block_loop %w at %tile init(%zero : !sparsec.accumulator<16, 64>)
          attributes {blocks_per_step = 2 : i64, chunks = 1 : i64}
          : <?x?xf16, block = 16x16> -> !sparsec.accumulator<16, 64> {
      ^bb0(%block: !sparsec.block, %chunk: i32, %acc: !sparsec.accumulator<16, 64>):
        %a, %b = sparsec.wait %ring : <3, [!sparsec.buffer<16, 32, f16>, !sparsec.buffer<32, 64, f16>]> -> !sparsec.buffer<16, 32, f16>, !sparsec.buffer<32, 64, f16>
        // CHECK: sparsec.prefetch %[[RING]] attributes {ahead = 2 : i64} : !ring{{[0-9]*}} {
        // CHECK-NEXT: ^bb0(%[[BLOCK:block.*]]: !sparsec.block, %[[CHUNK:chunk.*]]: i32):
        sparsec.prefetch %ring attributes {ahead = 2 : i64} : <3, [!sparsec.buffer<16, 32, f16>, !sparsec.buffer<32, 64, f16>]> {
        ^bb0(%later: !sparsec.block, %later_chunk: i32):
          // CHECK-NEXT: sparsec.prefetch_operand a %{{.*}}[%{{.*}}, %[[BLOCK]], %[[CHUNK]]] to %[[RING]][0] {blocks_per_step = 2 : i64} :
          sparsec.prefetch_operand a %w[%tile, %later, %later_chunk] to %ring[0] {blocks_per_step = 2 : i64} : !sparsec.bsr<?x?xf16, block = 16x16>, <3, [!sparsec.buffer<16, 32, f16>, !sparsec.buffer<32, 64, f16>]>
          sparsec.prefetch_operand x %x[%tile, %later, %later_chunk] to %ring[1] {blocks_per_step = 2 : i64} : tensor<?x?xf16>, <3, [!sparsec.buffer<16, 32, f16>, !sparsec.buffer<32, 64, f16>]>
        }
        %next = sparsec.chain %a, %b, %acc {depth = array<i64: 32>} : <16, 32, f16>, <32, 64, f16>, <16, 64>
        sparsec.release %ring : <3, [!sparsec.buffer<16, 32, f16>, !sparsec.buffer<32, 64, f16>]>
        sparsec.yield %next : !sparsec.accumulator<16, 64>
      }
      sparsec.store %sum to %y[%tile_row, %tile_row, %panel] attributes {broadcast = [], block_rows = 16 : i64} : <16, 64> -> tensor<?x?xf32> {
      ^bb0(%element: f32):
        sparsec.yield %element : f32
      }
    }
  }

  // The same for attention: a key block in two steps.
  // CHECK: sparsec.program @keys
  sparsec.program @keys
      attributes {kernel = @keys, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%keys: tensor<?x?x?x64xf16>):
    // CHECK: %[[KEYS:.*]] = sparsec.ring : !ring{{[0-9]*}}
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 64, f16>]>
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      %tile = sparsec.tile %tile_row, %panel
      // CHECK: sparsec.key_loop at %tile attributes {chunks = 2 : i64} {
      sparsec.key_loop at %tile attributes {chunks = 2 : i64} {
      ^bb0(%block: !sparsec.block):
        // CHECK: sparsec.prefetch %[[KEYS]] attributes {ahead = 1 : i64} : !ring{{[0-9]*}} {
        // CHECK-NEXT: ^bb0(%[[LATER:block.*]]: !sparsec.block):
        // CHECK-NEXT: sparsec.copy_rows %{{.*}}[%{{.*}}, %[[LATER]]] to %[[KEYS]]
        sparsec.prefetch %ring attributes {ahead = 1 : i64} : <2, [!sparsec.buffer<64, 64, f16>]> {
        ^bb0(%later: !sparsec.block):
          sparsec.copy_rows %keys[%tile, %later] to %ring : tensor<?x?x?x64xf16>, <2, [!sparsec.buffer<64, 64, f16>]>
        }
        sparsec.yield
      }
    }
  }
}
