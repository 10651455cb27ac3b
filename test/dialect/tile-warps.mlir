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
        // CHECK: %steps = sparsec.block_steps %{{.*}} from %first to %end {blocks = 2 : i64, chunk_columns = 16 : i64, chunks = 1 : i64} : <?x?xf16, block = 16x16>
        %steps = sparsec.block_steps %w from %first to %end {blocks = 2 : i64, chunks = 1 : i64, chunk_columns = 16 : i64}
            : <?x?xf16, block = 16x16>
        // CHECK-NEXT: %[[FIRST:.*]] = sparsec.first_step %steps : <4>
        %step = sparsec.first_step %steps : <4>
        // CHECK-NEXT: %[[STEP:.*]] = sparsec.next_step %steps[%[[FIRST]]] : <4>
        %next = sparsec.next_step %steps[%step] : <4>
        // CHECK-NEXT: %[[EXISTS:.*]] = arith.cmpi slt, %first, %end : i32
        %exists = arith.cmpi slt, %first, %end : i32
        // CHECK-NEXT: sparsec.copy_group if %[[EXISTS]] {
        sparsec.copy_group if %exists {
          // CHECK-NEXT: %[[READ:.*]]:4 = sparsec.read_step %steps[%[[STEP]]] : <4> -> i32, i32, i32, i32
          %block, %k, %column, %second = sparsec.read_step %steps[%next] : <4> -> i32, i32, i32, i32
          // CHECK-NEXT: sparsec.copy %{{.*}}[%[[READ]]#0, %{{.*}}, %[[READ]]#1] block_columns(%[[READ]]#2, %[[READ]]#3) to %ring[%begin] {index = 0 : i64}
          sparsec.copy %w[%block, %c0, %k] block_columns(%column, %second) to %ring[%slot] {index = 0 : i64}
              : !sparsec.bsr<?x?xf16, block = 16x16>, !ring
          // CHECK-NEXT: sparsec.copy %{{.*}}[%[[READ]]#2, %panel] parts(%[[READ]]#3) to %ring[%begin] {index = 1 : i64, part_dimension = 0 : i64}
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
        // CHECK: %steps = sparsec.key_steps %lists at %panel {causal, keys = 32 : i64, rows = 64 : i64, window = array<i64: 512, 0>}
        %steps = sparsec.key_steps %lists at %first {causal, keys = 32 : i64, rows = 64 : i64, window = array<i64: 512, 0>}
        // CHECK: sparsec.first_step %steps : <3>
        %step = sparsec.first_step %steps : <3>
        // CHECK: sparsec.read_step %steps[%{{.*}}] : <3> -> i32
        %number = sparsec.read_step %steps[%step] : <3> -> i32
        // CHECK: sparsec.key_steps at %panel {from_end, keys = 32 : i64, rows = 64 : i64}
        %all = sparsec.key_steps at %first {from_end, keys = 32 : i64, rows = 64 : i64}
      }
    }
  }
}

// CHECK: sparsec.types = [!sparsec.steps, !sparsec.step<3>]
module attributes {sparsec.types = [!sparsec.steps, !sparsec.step<3>]} {}
