// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// A role of warps: all threads copy, wait for their copies and for each other, and multiply. Two blocks of 16 columns
// fill a stage of depth 32.

#schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32,
                              stages = 3, consumers_m = 1, consumers_n = 4>
!ring = !sparsec.ring<3, [!sparsec.buffer<16, 32, f16, swizzle = 64>, !sparsec.buffer<32, 64, f16, swizzle = 128>]>

gpu.module @kernels {
  sparsec.program @product
      attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xf16, block = 16x16>, %x: tensor<?x?xf16>, %y: tensor<?x?xf32>):
    // CHECK: %ring = sparsec.ring : !ring{{$}}
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, f16, swizzle = 64>, !sparsec.buffer<32, 64, f16, swizzle = 128>]>
    // CHECK: sparsec.role "all" warp(4) registers(0) {
    sparsec.role "all" warp(4) registers(0) {
      %c0 = arith.constant 0 : i32
      %group = sparsec.group
      %a = sparsec.view %ring {index = 0 : i64} : !ring -> <16, 32, f16, k>
      %b = sparsec.view %ring {index = 1 : i64} : !ring -> <32, 16, f16, mn>
      %slot = sparsec.cursor %ring : !ring
      // CHECK: sparsec.tile_loop attributes {periodic} {
      sparsec.tile_loop attributes {periodic} {
      ^bb0(%tile_row: i32, %panel: i32):
        %first, %end = sparsec.row_blocks %w[%tile_row] : <?x?xf16, block = 16x16>
        // CHECK: %walk = sparsec.block_walk %{{.*}} from %first to %end {blocks = 2 : i64} : <?x?xf16, block = 16x16>
        %walk = sparsec.block_walk %w from %first to %end {blocks = 2 : i64} : <?x?xf16, block = 16x16>
        // CHECK-NEXT: %[[FIRST:.*]] = sparsec.first_step %walk : <3>
        %step = sparsec.first_step %walk : <3>
        // CHECK-NEXT: %[[STEP:.*]] = sparsec.next_step %walk[%[[FIRST]]] : <3>
        %next = sparsec.next_step %walk[%step] : <3>
        // CHECK-NEXT: %[[EXISTS:.*]] = arith.cmpi slt, %first, %end : i32
        %exists = arith.cmpi slt, %first, %end : i32
        // CHECK-NEXT: sparsec.copy_group if %[[EXISTS]] {
        sparsec.copy_group if %exists {
          // CHECK-NEXT: %[[READ:.*]]:3 = sparsec.read_step %walk[%[[STEP]]] : <3> -> i32, i32, i32
          %block, %column, %second = sparsec.read_step %walk[%next] : <3> -> i32, i32, i32
          // CHECK-NEXT: sparsec.copy %{{.*}}[%[[READ]]#0, %{{.*}}, %{{.*}}] block_columns(%[[READ]]#1, %[[READ]]#2) to %ring[%begin] {index = 0 : i64}
          sparsec.copy %w[%block, %c0, %c0] block_columns(%column, %second) to %ring[%slot] {index = 0 : i64}
              : !sparsec.bsr<?x?xf16, block = 16x16>, !ring
          // CHECK-NEXT: sparsec.copy %{{.*}}[%[[READ]]#1, %panel] parts(%[[READ]]#2) to %ring[%begin] {index = 1 : i64, part_dimension = 0 : i64}
          sparsec.copy %x[%column, %panel] parts(%second) to %ring[%slot] {index = 1 : i64, part_dimension = 0 : i64}
              : tensor<?x?xf16>, !ring
        }
        // CHECK-NEXT: }
        // CHECK-NEXT: sparsec.copy_group {
        sparsec.copy_group {
        }
        // CHECK-NEXT: }
        // CHECK-NEXT: sparsec.await_copies {outstanding = 0 : i64}
        sparsec.await_copies {outstanding = 0 : i64}
        // CHECK-NEXT: sparsec.barrier
        sparsec.barrier
        // CHECK-NEXT: sparsec.product %{{.*}}[%begin], %{{.*}}[%begin] {depth = 32 : i64} : !sparsec.view<16, 32, f16, k>, !sparsec.view<32, 16, f16, mn> -> !sparsec.accumulator<16, 16>
        %sum = sparsec.product %a[%slot], %b[%slot] {depth = 32 : i64}
            : !sparsec.view<16, 32, f16, k>, !sparsec.view<32, 16, f16, mn> -> !sparsec.accumulator<16, 16>
      }
    }
  }

  // The keys of a tile of queries, of which a step has half a block.
  // CHECK: sparsec.program @keys
  sparsec.program @keys
      attributes {kernel = @keys, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%pattern: !sparsec.pattern<128x64>):
    sparsec.role "all" warp(4) registers(0) {
      sparsec.tile_loop {
      ^bb0(%tile_row: i32, %first: i32):
        %lists = sparsec.key_lists %pattern[%tile_row, %tile_row, %first] : !sparsec.pattern<128x64>
        // CHECK: %walk = sparsec.key_walk %lists at %panel {causal, chunks = 2 : i64, rows = 64 : i64, window = array<i64: 512, 0>}
        %walk = sparsec.key_walk %lists at %first {causal, chunks = 2 : i64, rows = 64 : i64, window = array<i64: 512, 0>}
        // CHECK: sparsec.first_step %walk : <3>
        %step = sparsec.first_step %walk : <3>
        // CHECK: sparsec.read_step %walk[%{{.*}}] : <3> -> i32
        %number = sparsec.read_step %walk[%step] : <3> -> i32
        // CHECK: sparsec.key_walk at %panel {from_end, rows = 64 : i64}
        %all = sparsec.key_walk at %first {from_end, rows = 64 : i64}
      }
    }
  }
}

gpu.module @slices {
  sparsec.program @product
      attributes {kernel = @product, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 16, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 1, slices = 4>, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xf16, block = 64x16>):
    sparsec.role "all" warp(4) registers(0) {
      %sum = sparsec.zero : !sparsec.accumulator<16, 16>
      // CHECK: sparsec.add_slices %{{.*}} : <16, 16>
      %all = sparsec.add_slices %sum : <16, 16>
    }
  }
}

// CHECK: sparsec.types = [!sparsec.walk, !sparsec.step<3>]
module attributes {sparsec.types = [!sparsec.walk, !sparsec.step<3>]} {}
