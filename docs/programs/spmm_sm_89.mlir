// A product with blocks of 64 x 64 on Ada: bench/kernels/spmm_bf16_64x64_kn_mn.mlir, as the compiler prints it with
// --emit=tile --arch=sm_89. The comments are not the compiler's. A test compares this file with the compiler.
!cursor = !sparsec.cursor
!ring = !sparsec.ring<4, [!sparsec.buffer<64, 32, bf16, swizzle = 64>, !sparsec.buffer<32, 256, bf16, swizzle = 128>]>
sparsec.program @spmm_bf16_64x64_kn_mn attributes {alignment = 16 : i64, kernel = @spmm_bf16_64x64_kn_mn, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 256, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 8, consumer_registers = 168, group_m = 64>, shared_memory = 81920 : i64, variant = 8 : i64} {
^bb0(%arg0: !sparsec.bsr<?x?xbf16, block = 64x64>, %arg1: tensor<?x?xbf16>, %arg2: tensor<?x?xbf16>):
  // Four slots: half a block of W and 32 x 256 of X each. No barriers: all threads copy, and all multiply.
  %ring = sparsec.ring {offsets = array<i64: 0, 16384>} : !ring
  // Eight warps. Each has all 64 rows and 32 columns of the tile.
  sparsec.role "all" warp(8) registers(0) {
    %c1_i32 = arith.constant 1 : i32
    %c3_i32 = arith.constant 3 : i32
    %c2_i32 = arith.constant 2 : i32
    %c256_i32 = arith.constant 256 : i32
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %group, %group_row, %group_column = sparsec.group_part {across = 8 : i64, columns = 32 : i64, rows = 64 : i64}
    %a = sparsec.view %ring rows(%group_row) {index = 0 : i64} : !ring -> <64, 32, bf16, k>
    %x = sparsec.view %ring columns(%group_column) {index = 1 : i64} : !ring -> <32, 32, bf16, mn>
    // The tiles of this CTA: those of the plan, or of the fixed order.
    sparsec.tile_loop attributes {periodic} {
    ^bb0(%tile_row: i32, %panel: i32):
      %0 = arith.muli %panel, %c256_i32 : i32
      %first, %end = sparsec.row_blocks %arg0[%tile_row] : <?x?xbf16, block = 64x64>
      %1 = arith.cmpi slt, %first, %end : i32
      %2 = scf.if %1 -> (!sparsec.accumulator<64, 32>) {
        // All warps are done with the slots of the tile before.
        sparsec.barrier
        // A block is two steps, because a slot has 32 of its 64 columns.
        %walk = sparsec.block_walk %arg0 from %first to %end {chunk_columns = 32 : i64} : <?x?xbf16, block = 64x64>
        %3 = arith.subi %end, %first : i32
        %4 = arith.muli %3, %c2_i32 : i32
        %begin = sparsec.cursor %ring : !ring
        %first_step = sparsec.first_step %walk : <3>
        // The copies of the first three steps.
        %5:2 = scf.for %arg3 = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%free_slot = %begin, %step = %first_step) -> (!cursor, !sparsec.step<3>)  : i32 {
          %8 = arith.cmpi slt, %arg3, %4 : i32
          // A group of copies for every step, so that groups can be counted. It is empty behind the last step.
          sparsec.copy_group if %8 {
            %9:3 = sparsec.read_step %walk[%step] : <3> -> i32, i32, i32
            sparsec.copy %arg0[%9#0, %c0_i32, %9#2] block_columns(%9#1) to %ring[%free_slot] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, !ring
            %10 = arith.muli %9#1, %c64_i32 : i32
            %11 = arith.addi %10, %9#2 : i32
            sparsec.copy %arg1[%11, %0] to %ring[%free_slot] {index = 1 : i64} : tensor<?x?xbf16>, !ring
          }
          %next = sparsec.next %ring[%free_slot] : !ring
          %next_step = sparsec.next_step %walk[%step] : <3>
          scf.yield %next, %next_step : !cursor, !sparsec.step<3>
        }
        %6 = sparsec.zero : !sparsec.accumulator<64, 32>
        // The steps.
        %7:4 = scf.for %arg3 = %c0_i32 to %4 step %c1_i32 iter_args(%slot = %begin, %free_slot = %5#0, %step = %5#1, %sum = %6) -> (!cursor, !cursor, !sparsec.step<3>, !sparsec.accumulator<64, 32>)  : i32 {
          // Each thread waits for its own copies, and the barrier for those of all others. It also says that the slot of the step
          // before is free, into which the copies of three steps later go.
          sparsec.await_copies {outstanding = 2 : i64}
          sparsec.barrier
          %8 = arith.addi %arg3, %c3_i32 : i32
          %9 = arith.cmpi slt, %8, %4 : i32
          sparsec.copy_group if %9 {
            %11:3 = sparsec.read_step %walk[%step] : <3> -> i32, i32, i32
            sparsec.copy %arg0[%11#0, %c0_i32, %11#2] block_columns(%11#1) to %ring[%free_slot] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, !ring
            %12 = arith.muli %11#1, %c64_i32 : i32
            %13 = arith.addi %12, %11#2 : i32
            sparsec.copy %arg1[%13, %0] to %ring[%free_slot] {index = 1 : i64} : tensor<?x?xbf16>, !ring
          }
          %next = sparsec.next %ring[%free_slot] : !ring
          %next_step = sparsec.next_step %walk[%step] : <3>
          // 32 of K by ldmatrix and mma.sync, complete at once.
          %10 = sparsec.product %a[%slot], %x[%slot], %sum {depth = 32 : i64} : !sparsec.view<64, 32, bf16, k>, !sparsec.view<32, 32, bf16, mn>, !sparsec.accumulator<64, 32> -> !sparsec.accumulator<64, 32>
          %next_0 = sparsec.next %ring[%slot] : !ring
          scf.yield %next_0, %next, %next_step, %10 : !cursor, !cursor, !sparsec.step<3>, !sparsec.accumulator<64, 32>
        }
        scf.yield %7#3 : !sparsec.accumulator<64, 32>
      // A row without blocks is zero.
      } else {
        %3 = sparsec.zero : !sparsec.accumulator<64, 32>
        scf.yield %3 : !sparsec.accumulator<64, 32>
      }
      // The epilogue, and a store from registers.
      sparsec.store %2 to %arg2[%tile_row, %c0_i32, %0] part %group at(%group_row, %group_column) attributes {block_rows = 64 : i64, broadcast = []} : <64, 32> -> tensor<?x?xbf16> {
      ^bb0(%acc: f32):
        sparsec.yield %acc : f32
      }
    }
  }
}
