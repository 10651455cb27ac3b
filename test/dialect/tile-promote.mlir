// RUN: sparsec-opt %s | FileCheck %s
// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s
// RUN: sparsec-opt -mlir-print-op-generic %s | sparsec-opt | FileCheck %s

// A product of two fp8 types, whose sum starts at zero; its result is added to half of the columns, and times the scale of a block
// to the other half. Then each of its columns has a scale, and then each of its rows, from a slot that the warp of
// another role filled. A product may start at zero in the registers of another one. Scales of columns may come from a
// slot too.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 256, tile_k = 128, stages = 2,
                              consumers_m = 1, consumers_n = 1>

gpu.module @kernels {
  sparsec.program @promoted attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%w: !sparsec.bsr<?x?xf8E4M3FN, block = 64x128>, %x: tensor<?x?xf8E5M2>, %y: tensor<?x?xbf16>, %scales: tensor<?xf32>, %x_scale: tensor<?x?xf32>):
    %ring = sparsec.ring : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>, !sparsec.buffer<256, 128, f8E5M2, strip = 128>]>
    %scale_ring = sparsec.ring {name = "scale_ring"} : <2, [!sparsec.buffer<1, 256, f32>]>
    sparsec.role "consumer" warpgroup(1) registers(0) {
      %c128 = arith.constant 128 : i32
      %a = sparsec.view %ring {index = 0 : i64}
          : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>, !sparsec.buffer<256, 128, f8E5M2, strip = 128>]> -> <64, 128, f8E4M3FN, k>
      %b = sparsec.view %ring rows(%c128) {index = 1 : i64}
          : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>, !sparsec.buffer<256, 128, f8E5M2, strip = 128>]> -> <128, 128, f8E5M2, k>
      %c = sparsec.cursor %ring : <2, [!sparsec.buffer<64, 128, f8E4M3FN, strip = 128>, !sparsec.buffer<256, 128, f8E5M2, strip = 128>]>
      %block = arith.constant 3 : i32
      %zero = sparsec.zero : !sparsec.accumulator<64, 256>
      // CHECK: %[[SUM:.*]] = sparsec.zero : !sparsec.accumulator<64, 256>
      // CHECK-NEXT: %[[P:.*]] = sparsec.product %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] {depth = 128 : i64} : !sparsec.view<64, 128, f8E4M3FN, k>, !sparsec.view<128, 128, f8E5M2, k> -> !sparsec.pending<64, 128>
      // CHECK-NEXT: %[[PART:.*]] = sparsec.await %[[P]] {outstanding = 0 : i64}
      // CHECK-NEXT: %[[FIRST:.*]] = sparsec.promote %[[PART]] to %[[SUM]] {column = 0 : i64} : <64, 128>, <64, 256>
      // CHECK-NEXT: %[[SCALE:.*]] = sparsec.block_scale %{{.*}}[%{{.*}}] : tensor<?xf32>
      // CHECK-NEXT: sparsec.promote %[[PART]] times %[[SCALE]] : f32 to %[[FIRST]] {column = 128 : i64} : <64, 128>, <64, 256>
      // CHECK-NEXT: %{{.*}} = sparsec.block_column %{{.*}}[%{{.*}}] : <?x?xf8E4M3FN, block = 64x128>
      // CHECK: %[[FACTORS:.*]] = sparsec.column_scales %{{.*}}[%{{.*}}, %{{.*}}] times %[[SCALE]] : tensor<?x?xf32> -> <128>
      // CHECK-NEXT: sparsec.column_scales %{{.*}}[%{{.*}}, %{{.*}}] : tensor<?x?xf32> -> <128>
      // CHECK-NEXT: sparsec.promote %[[PART]] times %[[FACTORS]] : !sparsec.column_scales<128> to %{{.*}} {column = 0 : i64} : <64, 128>, <64, 256>
      %p = sparsec.product %a[%c], %b[%c] {depth = 128 : i64}
          : !sparsec.view<64, 128, f8E4M3FN, k>, !sparsec.view<128, 128, f8E5M2, k> -> !sparsec.pending<64, 128>
      %part = sparsec.await %p {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
      %sum = sparsec.promote %part to %zero {column = 0 : i64} : <64, 128>, <64, 256>
      %scale = sparsec.block_scale %scales[%block] : tensor<?xf32>
      %next = sparsec.promote %part times %scale : f32 to %sum {column = 128 : i64} : <64, 128>, <64, 256>
      %column = sparsec.block_column %w[%block] : <?x?xf8E4M3FN, block = 64x128>
      %first = arith.constant 256 : i32
      %number = arith.constant 1 : i32
      %factors = sparsec.column_scales %x_scale[%first, %number] times %scale : tensor<?x?xf32> -> <128>
      %alone = sparsec.column_scales %x_scale[%first, %column] : tensor<?x?xf32> -> <128>
      %last = sparsec.promote %part times %factors : !sparsec.column_scales<128> to %next {column = 0 : i64} : <64, 128>, <64, 256>
      // CHECK: %[[SLOT:.*]] = sparsec.cursor %scale_ring : ![[SCALES:ring[0-9]*]]
      // CHECK: %[[ROWS:row_scales]] = sparsec.row_scales %scale_ring[%[[SLOT]]] at(%{{.*}}) : ![[SCALES]] -> <64>
      // CHECK: %[[Q:.*]] = sparsec.product %{{.*}}[%{{.*}}], %{{.*}}[%{{.*}}] in(%[[PART]] : !sparsec.accumulator<64, 128>) {depth = 128 : i64}
      // CHECK: %[[OTHER:.*]] = sparsec.await %[[Q]]
      // CHECK: %[[SCALED:.*]] = sparsec.promote %[[OTHER]] times %[[SCALE]] : f32 rows(%[[ROWS]] : !sparsec.row_scales<64>) to %{{.*}} {column = 0 : i64} : <64, 128>, <64, 256>
      // CHECK: sparsec.promote %[[OTHER]] rows(%[[ROWS]] : !sparsec.row_scales<64>) to %[[SCALED]] {column = 128 : i64} : <64, 128>, <64, 256>
      %slot = sparsec.cursor %scale_ring : <2, [!sparsec.buffer<1, 256, f32>]>
      %rows = sparsec.row_scales %scale_ring[%slot] at(%c128) : <2, [!sparsec.buffer<1, 256, f32>]> -> <64>
      %q = sparsec.product %a[%c], %b[%c] in(%part : !sparsec.accumulator<64, 128>) {depth = 128 : i64}
          : !sparsec.view<64, 128, f8E4M3FN, k>, !sparsec.view<128, 128, f8E5M2, k> -> !sparsec.pending<64, 128>
      %other = sparsec.await %q {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
      %scaled = sparsec.promote %other times %scale : f32 rows(%rows : !sparsec.row_scales<64>) to %last {column = 0 : i64} : <64, 128>, <64, 256>
      %alone_too = sparsec.promote %other rows(%rows : !sparsec.row_scales<64>) to %scaled {column = 128 : i64} : <64, 128>, <64, 256>
    }
    sparsec.role "producer" thread(1) registers(40) {
    }
    // CHECK: sparsec.role "scales" warp(1) registers(40) {
    sparsec.role "scales" warp(1) registers(40) {
      %c = sparsec.cursor %scale_ring : <2, [!sparsec.buffer<1, 256, f32>]>
      %first = arith.constant 256 : i32
      %number = arith.constant 1 : i32
      // CHECK: sparsec.copy_scales %{{.*}}[%{{.*}}, %{{.*}}] to %scale_ring[%{{.*}}] : tensor<?x?xf32>, ![[SCALES]]
      sparsec.copy_scales %x_scale[%first, %number] to %scale_ring[%c]
          : tensor<?x?xf32>, !sparsec.ring<2, [!sparsec.buffer<1, 256, f32>]>
    }
  }

  // CHECK: sparsec.program @staged
  sparsec.program @staged attributes {kernel = @product, schedule = #schedule, variant = 0 : i64, alignment = 16 : i64} {
  ^bb0(%scale: f32):
    %scale_ring = sparsec.ring {name = "scale_ring"} : <8, [!sparsec.buffer<1, 64, f32>]>
    sparsec.role "consumer" warpgroup(1) registers(0) {
      %slot = sparsec.cursor %scale_ring : <8, [!sparsec.buffer<1, 64, f32>]>
      %c0 = arith.constant 0 : i32
      // CHECK: sparsec.staged_scales %scale_ring[%{{.*}}] at(%{{.*}}) : !{{.*}} -> <64>
      %own = sparsec.staged_scales %scale_ring[%slot] at(%c0) : <8, [!sparsec.buffer<1, 64, f32>]> -> <64>
      // CHECK: sparsec.promote %{{.*}} times %{{.*}} : !sparsec.thread_scales<64> to %{{.*}} {column = 0 : i64} : <64, 64>, <64, 64>
      %part = sparsec.zero : !sparsec.accumulator<64, 64>
      %sum = sparsec.promote %part times %own : !sparsec.thread_scales<64> to %part {column = 0 : i64} : <64, 64>, <64, 64>
    }
    sparsec.role "producer" thread(1) registers(40) {
    }
    %scale_tiles = sparsec.ring {name = "scale_tiles"} : <2, [!sparsec.buffer<64, 32, f32, strip = 128>]>
    sparsec.role "scales" warp(1) registers(40) {
      %tile = sparsec.cursor %scale_tiles : <2, [!sparsec.buffer<64, 32, f32, strip = 128>]>
      %slot = sparsec.cursor %scale_ring : <8, [!sparsec.buffer<1, 64, f32>]>
      %part = arith.constant 33 : i32
      // CHECK: sparsec.stage_scales %scale_tiles[%{{.*}}] part(%{{.*}}) times %{{.*}} to %scale_ring[%{{.*}}] : !{{.*}}, !{{.*}}
      // CHECK-NEXT: sparsec.stage_scales %scale_tiles[%{{.*}}] part(%{{.*}}) to %scale_ring[%{{.*}}] : !{{.*}}, !{{.*}}
      sparsec.stage_scales %scale_tiles[%tile] part(%part) times %scale to %scale_ring[%slot]
          : !sparsec.ring<2, [!sparsec.buffer<64, 32, f32, strip = 128>]>, !sparsec.ring<8, [!sparsec.buffer<1, 64, f32>]>
      sparsec.stage_scales %scale_tiles[%tile] part(%part) to %scale_ring[%slot]
          : !sparsec.ring<2, [!sparsec.buffer<64, 32, f32, strip = 128>]>, !sparsec.ring<8, [!sparsec.buffer<1, 64, f32>]>
    }
  }
}
