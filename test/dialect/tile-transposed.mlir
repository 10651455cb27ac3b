// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// Programs over a transposed matrix: blocks have a position among those of their block row, and a number in memory.

// CHECK-LABEL: sparsec.program @roles
gpu.module @kernels {
  sparsec.program @roles attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 2, consumers_n = 1>} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 128x64, transposed>, %x: tensor<?x?xbf16>):
    %ring = sparsec.ring : <4, [!sparsec.buffer<64, 128, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    %c = sparsec.cursor %ring : <4, [!sparsec.buffer<64, 128, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    sparsec.role "producer" thread(1) registers(40) {
      %zero = arith.constant 0 : i32
      // CHECK: %first, %end = sparsec.row_blocks %{{.*}}[%{{.*}}] : <?x?xbf16, block = 128x64, transposed>
      %first, %end = sparsec.row_blocks %w[%zero] : <?x?xbf16, block = 128x64, transposed>
      // CHECK: %walk = sparsec.block_walk %{{.*}} from %first to %end : <?x?xbf16, block = 128x64, transposed>
      // CHECK-NEXT: sparsec.walk %walk {
      // CHECK-NEXT: ^bb0(%position: i32, %column: i32, %block: i32):
      %walk = sparsec.block_walk %w from %first to %end : <?x?xbf16, block = 128x64, transposed>
      sparsec.walk %walk {
      ^bb0(%position: i32, %column: i32, %block: i32):
        // CHECK-NEXT: sparsec.copy %{{.*}}[%block, %{{.*}}, %{{.*}}] block_columns(%column) to
        sparsec.copy %w[%block, %zero, %zero] block_columns(%column) to %ring[%c] {index = 0 : i64}
            : !sparsec.bsr<?x?xbf16, block = 128x64, transposed>, <4, [!sparsec.buffer<64, 128, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
        sparsec.yield
      }
    }
  }
}

// CHECK-LABEL: sparsec.program @warps
gpu.module @other_kernels {
  sparsec.program @warps attributes {kernel = @k, variant = 0, alignment = 16, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 16, tile_n = 64, tile_k = 32, stages = 3, consumers_m = 1, consumers_n = 4>} {
  ^bb0(%w: !sparsec.bsr<?x?xf16, block = 16x16, transposed>, %x: tensor<?x?xf16>):
    %ring = sparsec.ring : <3, [!sparsec.buffer<32, 16, f16, strip = 32>, !sparsec.buffer<32, 64, f16, strip = 128>]>
    sparsec.role "all" warp(4) registers(0) {
      %c = sparsec.cursor %ring : <3, [!sparsec.buffer<32, 16, f16, strip = 32>, !sparsec.buffer<32, 64, f16, strip = 128>]>
      %zero = arith.constant 0 : i32
      %first, %end = sparsec.row_blocks %w[%zero] : <?x?xf16, block = 16x16, transposed>
      %walk = sparsec.block_walk %w from %first to %end {blocks = 2 : i64} : <?x?xf16, block = 16x16, transposed>
      // A step visits the numbers of its blocks behind their columns.
      // CHECK: sparsec.first_step %walk : <5>
      %step = sparsec.first_step %walk : <5>
      // CHECK-NEXT: %[[READ:.*]]:5 = sparsec.read_step
      %position, %column, %other_column, %block, %other_block = sparsec.read_step %walk[%step] : <5> -> i32, i32, i32, i32, i32
      // CHECK-NEXT: sparsec.copy %{{.*}}[%[[READ]]#3, %{{.*}}, %{{.*}}] block_columns(%[[READ]]#1, %[[READ]]#2) parts(%[[READ]]#4) to
      sparsec.copy %w[%block, %zero, %zero] block_columns(%column, %other_column) parts(%other_block) to %ring[%c]
          {index = 0 : i64, part_dimension = 0 : i64}
          : !sparsec.bsr<?x?xf16, block = 16x16, transposed>, <3, [!sparsec.buffer<32, 16, f16, strip = 32>, !sparsec.buffer<32, 64, f16, strip = 128>]>
    }
  }
}
