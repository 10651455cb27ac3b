// RUN: sparsec-opt %s | sparsec-opt | FileCheck %s

// Programs by streams have what others have not: entries of the plan, fragments of X^T, copies of blocks in lines and
// into parts of a buffer, accumulators of the transposed result. With mma.sync they also have warps beside a producer,
// whose B operands are fragments.

#schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 288, tile_n = 128, tile_k = 128, stages = 4, consumers_m = 3, consumers_n = 1, walk = streams, block_stages = 3>
gpu.module @kernels {
  // CHECK-LABEL: sparsec.program @streams
  // CHECK-SAME: walk = streams, block_stages = 3
  sparsec.program @streams attributes {kernel = @k, variant = 0, alignment = 16, schedule = #schedule} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 32x32>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %columns = sparsec.ring : <4, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
    %blocks = sparsec.ring {releases = 1 : i64} : <9, [!sparsec.buffer<128, 32, bf16, strip = 64>]>
    sparsec.role "consumer" warpgroup(3) registers(160) {
      %i = sparsec.group
      // CHECK: sparsec.read_plan stage_offsets[
      %stage = sparsec.read_plan stage_offsets[%i]
      // CHECK: sparsec.read_plan stage_columns[
      %column = sparsec.read_plan stage_columns[%stage]
      // CHECK: sparsec.read_plan stage_products[
      %word = sparsec.read_plan stage_products[%stage]
      // CHECK: sparsec.read_plan chunk_offsets[
      %chunk = sparsec.read_plan chunk_offsets[%i]
      // CHECK: sparsec.read_plan chunk_blocks[
      %block = sparsec.read_plan chunk_blocks[%chunk]
      %slot = sparsec.cursor %columns : <4, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
      %c = sparsec.cursor %blocks : <9, [!sparsec.buffer<128, 32, bf16, strip = 64>]>
      %part = sparsec.view %columns rows(%column) {index = 0 : i64} : <4, [!sparsec.buffer<128, 128, bf16, strip = 128>]> -> <32, 128, bf16, mn>
      // CHECK: sparsec.load_fragment %{{.*}}[%{{.*}}] : <32, 128, bf16, mn> -> <128, 32, bf16>
      %fragment = sparsec.load_fragment %part[%slot] : <32, 128, bf16, mn> -> <128, 32, bf16>
      %b = sparsec.view %blocks rows(%i) {index = 0 : i64} : <9, [!sparsec.buffer<128, 32, bf16, strip = 64>]> -> <32, 32, bf16, k>
      %zero = sparsec.zero : !sparsec.accumulator<128, 32>
      // CHECK: sparsec.product {{.*}} {depth = 32 : i64}
      %p = sparsec.product %fragment, %b[%c], %zero {depth = 32 : i64} : !sparsec.fragment<128, 32, bf16>, !sparsec.view<32, 32, bf16, k>, !sparsec.accumulator<128, 32> -> !sparsec.pending<128, 32>
      %sum = sparsec.await %p {outstanding = 0 : i64} : <128, 32> -> !sparsec.accumulator<128, 32>
      // CHECK: sparsec.store {{.*}} {block_rows = 32 : i64, broadcast = [], lines, swapped}
      sparsec.store %sum to %y[%i, %i, %i] part %i at(%i, %i) attributes {block_rows = 32 : i64, broadcast = [], lines, swapped} : <128, 32> -> tensor<?x?xbf16> {
      ^bb0(%acc: f32):
        sparsec.yield %acc : f32
      }
    }
    sparsec.role "w0" thread(1) registers(32) {
      %zero = arith.constant 0 : i32
      %c = sparsec.cursor %blocks : <9, [!sparsec.buffer<128, 32, bf16, strip = 64>]>
      // CHECK: sparsec.next %{{.*}}[%{{.*}}] {step = 3 : i64}
      %next = sparsec.next %blocks[%c] {step = 3 : i64} : <9, [!sparsec.buffer<128, 32, bf16, strip = 64>]>
      // CHECK: sparsec.copy {{.*}} {index = 0 : i64, lines, rows = array<i64: 96, 32>}
      sparsec.copy %w[%zero, %zero, %zero] to %blocks[%c] {index = 0 : i64, lines, rows = array<i64: 96, 32>} : !sparsec.bsr<?x?xbf16, block = 32x32>, <9, [!sparsec.buffer<128, 32, bf16, strip = 64>]>
    }
  }
}

#warps = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 128, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 3>
gpu.module @warps {
  // CHECK-LABEL: sparsec.program @warp_streams
  // CHECK-SAME: adjacent_columns
  sparsec.program @warp_streams attributes {adjacent_columns, kernel = @k, variant = 0, alignment = 16, schedule = #warps} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %columns = sparsec.ring : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>]>
    %blocks = sparsec.ring : <12, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    // CHECK: sparsec.role "consumer" warp(4)
    sparsec.role "consumer" warp(4) registers(152) {
      %i = sparsec.group
      %zero = arith.constant 0 : i32
      %exists = arith.cmpi ne, %i, %zero : i32
      %slot = sparsec.cursor %columns : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>]>
      %c = sparsec.cursor %blocks : <12, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
      sparsec.copy_group if %exists {
      }
      sparsec.await_copies {outstanding = 0 : i64}
      // CHECK: sparsec.barrier {group}
      sparsec.barrier {group}
      sparsec.wait %columns[%slot] : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>]>
      %block = sparsec.view %blocks rows(%i) {index = 0 : i64} : <12, [!sparsec.buffer<64, 16, bf16, strip = 32>]> -> <16, 16, bf16, k>
      %a = sparsec.load_fragment %block[%c] : <16, 16, bf16, k> -> <16, 16, bf16>
      %part = sparsec.view %columns columns(%i) {index = 0 : i64} : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>]> -> <64, 16, bf16, k>
      // CHECK: sparsec.load_fragment %{{.*}}[%{{.*}}] {as_b} : <64, 16, bf16, k> -> <64, 16, bf16>
      %b = sparsec.load_fragment %part[%slot] {as_b} : <64, 16, bf16, k> -> <64, 16, bf16>
      %none = sparsec.zero : !sparsec.accumulator<16, 64>
      // CHECK: sparsec.product %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{.*}} {depth = 16 : i64} : !sparsec.fragment<16, 16, bf16>, !sparsec.fragment<64, 16, bf16>
      %sum = sparsec.product %a, %b, %none {depth = 16 : i64} : !sparsec.fragment<16, 16, bf16>, !sparsec.fragment<64, 16, bf16>, !sparsec.accumulator<16, 64> -> !sparsec.accumulator<16, 64>
      sparsec.release %columns[%slot] : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>]>
    }
    sparsec.role "x" thread(1) registers(40) {
    }
  }
}

// A warp copies the blocks of a chunk. It carries the numbers of those that it copies next.
gpu.module @blocks {
  // CHECK-LABEL: sparsec.program @block_copies
  sparsec.program @block_copies attributes {kernel = @k, variant = 0, alignment = 16, schedule = #warps} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    %ring = sparsec.ring : <16, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    sparsec.role "consumer" warp(4) registers(152) {
      %chunk = sparsec.group
      %row = arith.constant 32 : i32
      %c = sparsec.cursor %ring : <16, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
      // CHECK: %[[BLOCKS:.*]] = sparsec.read_blocks %{{.*}} : <2>
      %blocks = sparsec.read_blocks %chunk : <2>
      sparsec.copy_group {
        // CHECK: sparsec.copy_blocks %{{.*}}[%[[BLOCKS]]] to %{{.*}}[%{{.*}}] at(%{{.*}}) : <?x?xbf16, block = 16x16>, <2>,
        sparsec.copy_blocks %w[%blocks] to %ring[%c] at(%row) : !sparsec.bsr<?x?xbf16, block = 16x16>, <2>, <16, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
      }
      %isFirst = arith.cmpi eq, %chunk, %row : i32
      // CHECK: scf.if %{{.*}} -> (!sparsec.block_numbers<2>)
      %next = scf.if %isFirst -> (!sparsec.block_numbers<2>) {
        scf.yield %blocks : !sparsec.block_numbers<2>
      } else {
        %others = sparsec.read_blocks %row : <2>
        scf.yield %others : !sparsec.block_numbers<2>
      }
    }
    sparsec.role "x" thread(1) registers(40) {
    }
  }
}

// A part of K begins behind the products of those before it, and the warp that comes last has the sums of all.
#split = #sparsec.schedule<instruction = mma_sync, copy = tma, tile_m = 64, tile_n = 64, tile_k = 64, stages = 4, consumers_m = 4, consumers_n = 1, walk = streams, block_stages = 4>
gpu.module @parts {
  // CHECK-LABEL: sparsec.program @parts_of_k
  // CHECK-SAME: split
  sparsec.program @parts_of_k attributes {split, kernel = @k, variant = 0, alignment = 16, schedule = #split} {
  ^bb0(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>, %y: tensor<?x?xbf16>):
    sparsec.role "consumer" warp(4) registers(152) {
      %tile_row = arith.constant 0 : i32
      // CHECK: %panel, %part, %parts = sparsec.tile_part
      %panel, %part, %parts = sparsec.tile_part %tile_row
      %word = sparsec.group
      %first = sparsec.read_plan stage_offsets[%tile_row]
      %stage = arith.addi %first, %part : i32
      // CHECK: %count = sparsec.count_products %{{.*}} to %{{.*}} of %{{.*}} {words = 16 : i64}
      %count = sparsec.count_products %first to %stage of %word {words = 16 : i64}
      %sum = sparsec.zero : !sparsec.accumulator<16, 64>
      // CHECK: %total, %is_last = sparsec.join_parts %{{.*}} of %{{.*}}, %panel : <16, 64>
      %total, %is_last = sparsec.join_parts %sum of %tile_row, %panel : !sparsec.accumulator<16, 64>
      scf.if %is_last {
        sparsec.store %total to %y[%tile_row, %tile_row, %panel] part %tile_row at(%tile_row, %tile_row) attributes {block_rows = 16 : i64, broadcast = []} : <16, 64> -> tensor<?x?xbf16> {
        ^bb0(%acc: f32):
          sparsec.yield %acc : f32
        }
      }
    }
    sparsec.role "x" thread(1) registers(40) {
    }
  }
}
