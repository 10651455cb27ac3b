// A product with blocks of 64 x 64 on Hopper: bench/kernels/spmm_bf16_64x64_kn_mn.mlir, as the compiler prints it with
// --emit=tile --arch=sm_90a. The comments are not the compiler's. docs/tile-programs.md explains the ops. A test compares
// this file with the compiler.
!cursor = !sparsec.cursor
!ring = !sparsec.ring<3, [!sparsec.buffer<64, 64, bf16, strip = 128>, !sparsec.buffer<64, 512, bf16, strip = 128>]>
sparsec.program @spmm_bf16_64x64_kn_mn attributes {alignment = 16 : i64, kernel = @spmm_bf16_64x64_kn_mn, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 64, tile_n = 512, tile_k = 64, stages = 3, consumers_m = 1, consumers_n = 2, producer_registers = 40, consumer_registers = 232, group_m = 64>, shared_memory = 229424 : i64, variant = 11 : i64} {
^bb0(%arg0: !sparsec.bsr<?x?xbf16, block = 64x64>, %arg1: tensor<?x?xbf16>, %arg2: tensor<?x?xbf16>):
  // Three slots: a block of W and 64 x 512 of X each.
  %ring = sparsec.ring {barrier_offset = 229376 : i64, offsets = array<i64: 0, 24576>} : !ring
  // Two warpgroups multiply. Each has 64 rows and 256 columns of the tile.
  sparsec.role "consumer" warpgroup(2) registers(232) {
    %c0_i32 = arith.constant 0 : i32
    %c512_i32 = arith.constant 512 : i32
    %group, %group_row, %group_column = sparsec.group_part {across = 2 : i64, columns = 256 : i64, rows = 64 : i64}
    %a = sparsec.view %ring rows(%group_row) {index = 0 : i64} : !ring -> <64, 64, bf16, k>
    %x = sparsec.view %ring columns(%group_column) {index = 1 : i64} : !ring -> <64, 256, bf16, mn>
    %begin = sparsec.cursor %ring : !ring
    // The tiles of this CTA: those of the plan, or of the fixed order.
    %0 = sparsec.tile_loop init(%begin : !cursor) attributes {periodic} -> !cursor {
    ^bb0(%tile_row: i32, %panel: i32, %slot: !cursor):
      %1 = arith.muli %panel, %c512_i32 : i32
      // row_ptr[tile_row] and row_ptr[tile_row + 1]
      %first, %end = sparsec.row_blocks %arg0[%tile_row] : <?x?xbf16, block = 64x64>
      %2 = arith.cmpi slt, %first, %end : i32
      %3:2 = scf.if %2 -> (!sparsec.accumulator<64, 256>, !cursor) {
        %4 = sparsec.zero : !sparsec.pending<64, 256>
        // One step for each block of the row. A product is always in flight: its slot is released a step later.
        %walk = sparsec.block_walk %arg0 from %first to %end : <?x?xbf16, block = 64x64>
        %5:3 = sparsec.walk %walk init(%4, %slot, %slot : !sparsec.pending<64, 256>, !cursor, !cursor) -> !sparsec.pending<64, 256>, !cursor, !cursor {
        ^bb0(%block: i32, %column: i32, %sum: !sparsec.pending<64, 256>, %previous: !cursor, %slot_3: !cursor):
          %7 = arith.cmpi sgt, %block, %first : i32
          sparsec.wait %ring[%slot_3] : !ring
          %8 = sparsec.product %a[%slot_3], %x[%slot_3], %sum {depth = 64 : i64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 256, bf16, mn>, !sparsec.pending<64, 256> -> !sparsec.pending<64, 256>
          %9 = sparsec.await %8 {outstanding = 1 : i64} : <64, 256> -> !sparsec.pending<64, 256>
          sparsec.release %ring[%previous] if %7 : !ring
          %next = sparsec.next %ring[%slot_3] : !ring
          sparsec.yield %9, %slot_3, %next : !sparsec.pending<64, 256>, !cursor, !cursor
        }
        // The last product.
        %6 = sparsec.await %5#0 {outstanding = 0 : i64} : <64, 256> -> !sparsec.accumulator<64, 256>
        sparsec.release %ring[%5#1] : !ring
        scf.yield %6, %5#2 : !sparsec.accumulator<64, 256>, !cursor
      // A row without blocks is zero.
      } else {
        %4 = sparsec.zero : !sparsec.accumulator<64, 256>
        scf.yield %4, %slot : !sparsec.accumulator<64, 256>, !cursor
      }
      // Read again here: kept over the loop it would take registers that the sums need.
      %group_0, %group_row_1, %group_column_2 = sparsec.group_part {across = 2 : i64, columns = 256 : i64, rows = 64 : i64}
      // The epilogue, and a store through shared memory by the tensor memory accelerator.
      sparsec.store %3#0 to %arg2[%tile_row, %c0_i32, %1] part %group_0 at(%group_row_1, %group_column_2) attributes {block_rows = 64 : i64, broadcast = [], staged, staging = array<i64: 221184, 32, 1>} : <64, 256> -> tensor<?x?xbf16> {
      ^bb0(%acc: f32):
        sparsec.yield %acc : f32
      }
      sparsec.yield %3#1 : !cursor
    }
    sparsec.drain_stores
  }
  // One thread copies. It walks the same tiles and blocks, up to three slots ahead.
  sparsec.role "producer" thread(1) registers(40) {
    %c512_i32 = arith.constant 512 : i32
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %begin = sparsec.cursor %ring : !ring
    %0 = sparsec.tile_loop init(%begin : !cursor) attributes {periodic} -> !cursor {
    ^bb0(%tile_row: i32, %panel: i32, %slot: !cursor):
      %1 = arith.muli %panel, %c512_i32 : i32
      %first, %end = sparsec.row_blocks %arg0[%tile_row] : <?x?xbf16, block = 64x64>
      // If the blocks of the row are neighbours, as in a band, rows that run together visit the same columns at the same time.
      %walk = sparsec.block_walk %arg0 from %first to %end {rotated} : <?x?xbf16, block = 64x64>
      %2 = sparsec.walk %walk init(%slot : !cursor) -> !cursor {
      ^bb0(%block: i32, %column: i32, %slot_0: !cursor):
        // The slot is free when both groups have released it, and full when the bytes of both copies are there.
        sparsec.acquire %ring[%slot_0] : !ring
        sparsec.post %ring[%slot_0] : !ring
        sparsec.copy %arg0[%block, %c0_i32, %c0_i32] block_columns(%column) to %ring[%slot_0] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, !ring
        %3 = arith.muli %column, %c64_i32 : i32
        sparsec.copy %arg1[%3, %1] to %ring[%slot_0] {index = 1 : i64} : tensor<?x?xbf16>, !ring
        %next = sparsec.next %ring[%slot_0] : !ring
        sparsec.yield %next : !cursor
      }
      sparsec.yield %2 : !cursor
    }
  }
}
