// RUN: sparsec-opt %s --sparsec-emit-tiles | FileCheck %s

// A rotated loop begins with the first block, unless the first and the last column say that the n blocks are neighbours:
// then with the block whose column is a multiple of n. The block after the last one is the first one.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 2,
                              consumers_m = 1, consumers_n = 1>

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @rotated
  // CHECK: llvm.getelementptr %arg4[
  // CHECK-NEXT: %[[FIRST:.*]] = llvm.load
  // CHECK: llvm.getelementptr %arg4[
  // CHECK-NEXT: %[[END:.*]] = llvm.load
  // CHECK-NEXT: %[[IS_EMPTY:.*]] = arith.cmpi sge, %[[FIRST]], %[[END]]
  // CHECK-NEXT: %[[BEGIN:.*]]:2 = scf.if %[[IS_EMPTY]] -> (i32, i32) {
  // CHECK: } else {
  // CHECK: llvm.getelementptr %{{.*}}[%[[FIRST]]]
  // CHECK-NEXT: %[[COLUMN:.*]] = llvm.load
  // CHECK-NEXT: %[[COUNT:.*]] = arith.subi %[[END]], %[[FIRST]]
  // CHECK: %[[LAST:.*]] = arith.subi %[[END]], %c1_i32{{.*}}
  // CHECK-NEXT: llvm.getelementptr %{{.*}}[%[[LAST]]]
  // CHECK-NEXT: %[[LAST_COLUMN:.*]] = llvm.load
  // CHECK: %[[OTHERS:.*]] = arith.subi %[[COUNT]], %c1_i32{{.*}}
  // CHECK-NEXT: %[[RANGE:.*]] = arith.subi %[[LAST_COLUMN]], %[[COLUMN]]
  // CHECK-NEXT: %[[ARE_NEIGHBOURS:.*]] = arith.cmpi eq, %[[RANGE]], %[[OTHERS]]
  // CHECK-NEXT: scf.if %[[ARE_NEIGHBOURS]] -> (i32, i32) {
  // CHECK-NEXT: %[[PAST:.*]] = arith.remui %[[COLUMN]], %[[COUNT]]
  // CHECK-NEXT: %[[ROTATED:.*]] = arith.subi %[[END]], %[[PAST]]
  // CHECK-NEXT: %[[IS_END:.*]] = arith.cmpi eq, %[[ROTATED]], %[[END]]
  // CHECK-NEXT: %[[AT:.*]] = arith.select %[[IS_END]], %[[FIRST]], %[[ROTATED]]
  // CHECK-NEXT: llvm.getelementptr %{{.*}}[%[[AT]]]
  // CHECK-NEXT: %[[COLUMN_THERE:.*]] = llvm.load
  // CHECK-NEXT: scf.yield %[[AT]], %[[COLUMN_THERE]] : i32, i32
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[FIRST]], %[[COLUMN]] : i32, i32
  // CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]] step %{{.*}} iter_args(%[[BLOCK:.*]] = %[[BEGIN]]#0, %{{.*}} = %[[BEGIN]]#1)
  // CHECK: %[[NEXT:.*]] = arith.addi %[[BLOCK]], %c1_i32{{.*}}
  // CHECK-NEXT: %[[IS_END:.*]] = arith.cmpi eq, %[[NEXT]], %[[END]]
  // CHECK-NEXT: %[[WRAPPED:.*]] = arith.select %[[IS_END]], %[[FIRST]], %[[NEXT]]
  // CHECK-NEXT: llvm.getelementptr %{{.*}}[%[[WRAPPED]]]
  // CHECK: %[[NEXT_COLUMN:.*]] = llvm.load
  // CHECK: scf.yield %[[WRAPPED]], %[[NEXT_COLUMN]]
  sparsec.program @rotated attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64, shared_memory = 32896 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>, %y: tensor<?x?xf32>):
    %ring = sparsec.ring {offsets = array<i64: 0, 16384>, barrier_offset = 32768 : i64} : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
    sparsec.role "consumer" warpgroup(1) registers(0) {
    }
    sparsec.role "producer" thread(1) registers(0) {
      %zero = arith.constant 0 : i32
      sparsec.tile_loop {
      ^bb0(%tile_row: i32, %panel: i32):
        %begin = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
        %first, %end = sparsec.row_blocks %w[%tile_row] : <?x?xbf16, block = 64x64>
        %walk = sparsec.block_walk %w from %first to %end {rotated} : <?x?xbf16, block = 64x64>
        sparsec.walk %walk {
        ^bb0(%block: i32, %column: i32):
          sparsec.copy %w[%block, %zero, %zero] to %ring[%begin] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.ring<2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
          sparsec.copy %x[%column, %panel] to %ring[%begin] {index = 1 : i64} : tensor<?x?xbf16>, !sparsec.ring<2, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 64, bf16, strip = 128>]>
          sparsec.yield
        }
        sparsec.yield
      }
    }
  }
}
