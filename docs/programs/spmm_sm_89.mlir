// A product with blocks of 64 x 64 on Ada: bench/kernels/spmm_bf16_64x64_kn_mn.mlir, as the compiler prints it with
// --emit=tile --arch=sm_89. The comments are not the compiler's. A test compares this file with the compiler.
!cursor = !sparsec.cursor
!ring = !sparsec.ring<4, [!sparsec.buffer<64, 32, bf16>, !sparsec.buffer<32, 256, bf16>]>
sparsec.program @spmm_bf16_64x64_kn_mn attributes {alignment = 16 : i64, kernel = @spmm_bf16_64x64_kn_mn, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 256, tile_k = 32, stages = 4, consumers_m = 1, consumers_n = 8, consumer_registers = 168, group_m = 64>, shared_memory = 81920 : i64, variant = 3 : i64} {
^bb0(%arg0: !sparsec.bsr<?x?xbf16, block = 64x64>, %arg1: tensor<?x?xbf16>, %arg2: tensor<?x?xbf16>):
  // Four slots: half a block of W and 32 x 256 of X each. No barriers: all threads copy, and all multiply.
  %ring = sparsec.ring {offsets = array<i64: 0, 16384>} : !ring
  // Eight warps. Each has all 64 rows and 32 columns of the tile.
  sparsec.role "all" warp(8) registers(0) {
    %c1_i32 = arith.constant 1 : i32
    %c3_i32 = arith.constant 3 : i32
    %c2_i32 = arith.constant 2 : i32
    %c256_i32 = arith.constant 256 : i32
    %c0_i32 = arith.constant 0 : i32
    %c32_i32 = arith.constant 32 : i32
    %c64_i32 = arith.constant 64 : i32
    %c8_i32 = arith.constant 8 : i32
    %group = sparsec.group
    %0 = arith.divui %group, %c8_i32 : i32
    %1 = arith.muli %0, %c64_i32 : i32
    %2 = arith.remui %group, %c8_i32 : i32
    %3 = arith.muli %2, %c32_i32 : i32
    %a = sparsec.view %ring rows(%1) {index = 0 : i64} : !ring -> <64, 32, bf16, k>
    %x = sparsec.view %ring columns(%3) {index = 1 : i64} : !ring -> <32, 32, bf16, mn>
    // The tiles of this CTA: those of the plan, or of the fixed order.
    sparsec.tile_loop attributes {periodic} {
    ^bb0(%tile_row: i32, %panel: i32):
      %4 = arith.muli %panel, %c256_i32 : i32
      %first, %end = sparsec.row_blocks %arg0[%tile_row] : <?x?xbf16, block = 64x64>
      %5 = arith.cmpi slt, %first, %end : i32
      %6 = scf.if %5 -> (!sparsec.accumulator<64, 32>) {
        // All warps are done with the slots of the tile before.
        sparsec.barrier
        // A block is two steps, because a slot has 32 of its 64 columns.
        %steps = sparsec.block_steps %arg0 from %first to %end {blocks = 1 : i64, chunk_columns = 32 : i64, chunks = 2 : i64} : <?x?xbf16, block = 64x64>
        %7 = arith.subi %end, %first : i32
        %8 = arith.muli %7, %c2_i32 : i32
        %begin = sparsec.cursor %ring : !ring
        %9 = sparsec.first_step %steps : <3>
        // The copies of the first three steps.
        %10:2 = scf.for %arg3 = %c0_i32 to %c3_i32 step %c1_i32 iter_args(%free_slot = %begin, %step = %9) -> (!cursor, !sparsec.step<3>)  : i32 {
          %13 = arith.cmpi slt, %arg3, %8 : i32
          // A group of copies for every step, so that groups can be counted. It is empty behind the last step.
          sparsec.copy_group if %13 {
            %15:3 = sparsec.read_step %steps[%step] : <3> -> i32, i32, i32
            sparsec.copy %arg0[%15#0, %c0_i32, %15#1] block_columns(%15#2) to %ring[%free_slot] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, !ring
            %16 = arith.muli %15#2, %c64_i32 : i32
            %17 = arith.addi %16, %15#1 : i32
            sparsec.copy %arg1[%17, %4] to %ring[%free_slot] {index = 1 : i64} : tensor<?x?xbf16>, !ring
          }
          %next = sparsec.next %ring[%free_slot] : !ring
          %14 = sparsec.next_step %steps[%step] : <3>
          scf.yield %next, %14 : !cursor, !sparsec.step<3>
        }
        %11 = sparsec.zero : !sparsec.accumulator<64, 32>
        // The steps.
        %12:4 = scf.for %arg3 = %c0_i32 to %8 step %c1_i32 iter_args(%slot = %begin, %free_slot = %10#0, %step = %10#1, %sum = %11) -> (!cursor, !cursor, !sparsec.step<3>, !sparsec.accumulator<64, 32>)  : i32 {
          // Each thread waits for its own copies, and the barrier for those of all others. It also says that the slot of the step
          // before is free, into which the copies of three steps later go.
          sparsec.await_copies {outstanding = 2 : i64}
          sparsec.barrier
          %13 = arith.addi %arg3, %c3_i32 : i32
          %14 = arith.cmpi slt, %13, %8 : i32
          sparsec.copy_group if %14 {
            %17:3 = sparsec.read_step %steps[%step] : <3> -> i32, i32, i32
            sparsec.copy %arg0[%17#0, %c0_i32, %17#1] block_columns(%17#2) to %ring[%free_slot] {index = 0 : i64} : !sparsec.bsr<?x?xbf16, block = 64x64>, !ring
            %18 = arith.muli %17#2, %c64_i32 : i32
            %19 = arith.addi %18, %17#1 : i32
            sparsec.copy %arg1[%19, %4] to %ring[%free_slot] {index = 1 : i64} : tensor<?x?xbf16>, !ring
          }
          %next = sparsec.next %ring[%free_slot] : !ring
          %15 = sparsec.next_step %steps[%step] : <3>
          // 32 of K by ldmatrix and mma.sync, complete at once.
          %16 = sparsec.product %a[%slot], %x[%slot], %sum {depth = 32 : i64} : !sparsec.view<64, 32, bf16, k>, !sparsec.view<32, 32, bf16, mn>, !sparsec.accumulator<64, 32> -> !sparsec.accumulator<64, 32>
          %next_0 = sparsec.next %ring[%slot] : !ring
          scf.yield %next_0, %next, %15, %16 : !cursor, !cursor, !sparsec.step<3>, !sparsec.accumulator<64, 32>
        }
        scf.yield %12#3 : !sparsec.accumulator<64, 32>
      // A row without blocks is zero.
      } else {
        %7 = sparsec.zero : !sparsec.accumulator<64, 32>
        scf.yield %7 : !sparsec.accumulator<64, 32>
      }
      // The epilogue, and a store from registers.
      sparsec.store %6 to %arg2[%tile_row, %c0_i32, %4] part %group at(%1, %3) attributes {block_rows = 64 : i64, broadcast = []} : <64, 32> -> tensor<?x?xbf16> {
      ^bb0(%acc: f32):
        sparsec.yield %acc : f32
      }
    }
  }
}
