// A product with blocks of 64 x 64 on Hopper, by windows of a plan: bench/kernels/spmm_bf16_64x64_kn_mn.mlir, as the
// compiler prints it with --emit=tile --arch=sm_90a. It is the first variant of this kernel. A launch takes it if its
// plan has windows and its operands are aligned. The comments are not the compiler's. docs/tile-programs.md explains
// the ops, and runtime/include/sparsec/launch_info.h the sections of the plan. A test compares this file with the
// compiler.
!cursor = !sparsec.cursor
!ring = !sparsec.ring<8, [!sparsec.buffer<64, 64, bf16, strip = 128>]>
!ring1 = !sparsec.ring<4, [!sparsec.buffer<64, 256, bf16, strip = 128>]>
sparsec.program @spmm_bf16_64x64_kn_mn_windows attributes {alignment = 16 : i64, kernel = @spmm_bf16_64x64_kn_mn, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 192, tile_n = 256, tile_k = 64, stages = 4, consumers_m = 3, consumers_n = 1, cluster = 2, producer_registers = 32, consumer_registers = 160, walk = windows, block_stages = 8>, shared_memory = 221472 : i64, variant = 10 : i64} {
^bb0(%arg0: !sparsec.bsr<?x?xbf16, block = 64x64>, %arg1: tensor<?x?xbf16>, %arg2: tensor<?x?xbf16>):
  // Eight slots of W, a block each, and four slots of X, 64 x 256 each. Each ring has its own producer. A position is
  // one use of a slot. Positions count from 0, and position p is slot p mod 8 here, or p mod 4 for columns. A group
  // leaves out the columns and the blocks that its row does not have. The rings therefore have `skips`: they have two
  // full barriers for each slot, and position p has barrier p mod 16 here, or p mod 8 for columns. A barrier thus comes
  // again only after two rounds of the ring. With one barrier for each slot, a group that skips positions could take an
  // earlier phase of the slot for the one that it waits for.
  // Each block belongs to one group, which releases it. The slots of both CTAs of the cluster get the same block, and a
  // slot is free when both CTAs have released it.
  %block_ring = sparsec.ring {barrier_offset = 221184 : i64, name = "block_ring", offsets = array<i64: 0>, releases = 1 : i64, skips} : !ring
  // A column is free when all three groups have released it. The producer releases it for those that do not need it.
  %column_ring = sparsec.ring {barrier_offset = 221376 : i64, name = "column_ring", offsets = array<i64: 65536>, releases = 3 : i64, skips} : !ring1
  // Three warpgroups, one for each block row of a window. Each has 64 rows and 256 columns of the result.
  sparsec.role "consumer" warpgroup(3) registers(160) {
    %c65535_i32 = arith.constant 65535 : i32
    %c65536_i32 = arith.constant 65536 : i32
    %c1_i32 = arith.constant 1 : i32
    %c3_i32 = arith.constant 3 : i32
    %c256_i32 = arith.constant 256 : i32
    %c2_i32 = arith.constant 2 : i32
    %c0_i32 = arith.constant 0 : i32
    %w = sparsec.view %block_ring {index = 0 : i64} : !ring -> <64, 64, bf16, k>
    %x = sparsec.view %column_ring {index = 0 : i64} : !ring1 -> <64, 256, bf16, mn>
    // A tile is a window and a panel. Two positions are carried: those of the first column and the first block of the
    // window in their rings. A cursor is computed from a position, so no cursor is carried from tile to tile.
    %0:2 = sparsec.tile_loop init(%c0_i32, %c0_i32 : i32, i32) attributes {periodic} -> i32, i32 {
    ^bb0(%window: i32, %panel: i32, %first_column: i32, %first_block: i32):
      // The two CTAs of a cluster work on the same window, in adjacent column panels.
      %rank = sparsec.cluster_rank
      %1 = arith.muli %panel, %c2_i32 : i32
      %2 = arith.addi %1, %rank : i32
      %column = arith.muli %2, %c256_i32 : i32
      // The steps of this group: a step for each block of its row, and waypoints.
      %group = sparsec.group
      %3 = arith.muli %window, %c3_i32 : i32
      %4 = arith.addi %3, %group : i32
      %5 = sparsec.read_plan step_offsets[%4]
      %6 = arith.addi %4, %c1_i32 : i32
      %7 = sparsec.read_plan step_offsets[%6]
      %8 = sparsec.zero : !sparsec.accumulator<64, 256>
      %9 = sparsec.read_plan steps[%5]
      %10:2 = scf.for %arg3 = %5 to %7 step %c1_i32 iter_args(%sum = %8, %word = %9) -> (!sparsec.accumulator<64, 256>, i32)  : i32 {
        %25 = arith.addi %arg3, %c1_i32 : i32
        %26 = sparsec.read_plan steps[%25]
        // A word is the number of the column in the window + 65536 * the number of the block in the window.
        %27 = arith.remui %word, %c65536_i32 : i32
        %28 = arith.divui %word, %c65536_i32 : i32
        %29 = arith.addi %first_column, %27 : i32
        %slot = sparsec.cursor %column_ring at(%29) : !ring1
        // A group that waits holds no slot: a producer may need that slot first.
        sparsec.wait %column_ring[%slot] : !ring1
        // Block 65535 says that the step is a waypoint: it multiplies nothing and only waits for its column. The plan
        // has waypoints so that a group never skips as many columns as the ring has slots. Two barriers for each slot
        // are enough only up to there.
        %multiplies = arith.cmpi ne, %28, %c65535_i32 : i32
        %30 = arith.addi %first_block, %28 : i32
        %31 = scf.if %multiplies -> (!sparsec.accumulator<64, 256>) {
          %slot_1 = sparsec.cursor %block_ring at(%30) : !ring
          sparsec.wait %block_ring[%slot_1] : !ring
          // Two instructions of 128 columns each. ptxas refuses one of 256 columns: its accumulators alone take the
          // 128 registers that a thread has at launch.
          %32 = sparsec.product %w[%slot_1], %x[%slot], %sum {columns = 128 : i64, depth = 64 : i64} : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 256, bf16, mn>, !sparsec.accumulator<64, 256> -> !sparsec.pending<64, 256>
          // The product is complete before the group goes on. The other two groups multiply meanwhile.
          %33 = sparsec.await %32 {outstanding = 0 : i64} : <64, 256> -> !sparsec.accumulator<64, 256>
          sparsec.release %column_ring[%slot] : !ring1
          sparsec.release %block_ring[%slot_1] : !ring
          scf.yield %33 : !sparsec.accumulator<64, 256>
        // A waypoint releases its column at once.
        } else {
          sparsec.release %column_ring[%slot] : !ring1
          scf.yield %sum : !sparsec.accumulator<64, 256>
        }
        scf.yield %31, %26 : !sparsec.accumulator<64, 256>, i32
      }
      // Rows are in the order of the plan, which says which block row of the matrix this group has. The last window may
      // have fewer rows than groups: -1. The group is read again: kept over the loop it would take registers that the
      // sums need.
      %group_0 = sparsec.group
      %11 = arith.muli %window, %c3_i32 : i32
      %12 = arith.addi %11, %group_0 : i32
      %13 = sparsec.read_plan window_rows[%12]
      %14 = arith.cmpi sge, %13, %c0_i32 : i32
      scf.if %14 {
        %group_1 = sparsec.group
        // The epilogue, and a store through shared memory by the tensor memory accelerator.
        sparsec.store %10#0 to %arg2[%13, %c0_i32, %column] part %group_1 at(%c0_i32, %c0_i32) attributes {block_rows = 64 : i64, broadcast = [], staged, staging = array<i64: 196608, 64, 1>} : <64, 256> -> tensor<?x?xbf16> {
        ^bb0(%acc: f32):
          sparsec.yield %acc : f32
        }
      }
      // The positions of the next window follow from the columns and blocks of this one, also for a group that skipped
      // them.
      %15 = sparsec.read_plan column_offsets[%window]
      %16 = arith.addi %window, %c1_i32 : i32
      %17 = sparsec.read_plan column_offsets[%16]
      %18 = sparsec.read_plan block_offsets[%window]
      %19 = arith.addi %window, %c1_i32 : i32
      %20 = sparsec.read_plan block_offsets[%19]
      %21 = arith.subi %17, %15 : i32
      %22 = arith.addi %first_column, %21 : i32
      %23 = arith.subi %20, %18 : i32
      %24 = arith.addi %first_block, %23 : i32
      sparsec.yield %22, %24 : i32, i32
    }
    sparsec.drain_stores
  }
  // One thread copies the columns of X. The two roles of one thread share a warpgroup: each is the first thread of a
  // warp.
  sparsec.role "x" thread(1) registers(32) {
    %c64_i32 = arith.constant 64 : i32
    %c8_i32 = arith.constant 8 : i32
    %c1_i32 = arith.constant 1 : i32
    %c256_i32 = arith.constant 256 : i32
    %c2_i32 = arith.constant 2 : i32
    %begin = sparsec.cursor %column_ring : !ring1
    %0 = sparsec.tile_loop init(%begin : !cursor) attributes {periodic} -> !cursor {
    ^bb0(%window: i32, %panel: i32, %carried: !cursor):
      %rank = sparsec.cluster_rank
      %1 = arith.muli %panel, %c2_i32 : i32
      %2 = arith.addi %1, %rank : i32
      %column = arith.muli %2, %c256_i32 : i32
      %3 = sparsec.read_plan column_offsets[%window]
      %4 = arith.addi %window, %c1_i32 : i32
      %5 = sparsec.read_plan column_offsets[%4]
      %6 = sparsec.read_plan columns[%3]
      // The columns of the window, once for all three groups. The word of the next column is loaded meanwhile.
      %7:2 = scf.for %arg3 = %3 to %5 step %c1_i32 iter_args(%slot = %carried, %word = %6) -> (!cursor, i32)  : i32 {
        %8 = arith.addi %arg3, %c1_i32 : i32
        %9 = sparsec.read_plan columns[%8]
        sparsec.acquire %column_ring[%slot] : !ring1
        sparsec.post %column_ring[%slot] : !ring1
        // A word is 8 * the block column + the number of groups that have no step for it.
        %10 = arith.divui %word, %c8_i32 : i32
        %11 = arith.muli %10, %c64_i32 : i32
        sparsec.copy %arg1[%11, %column] to %column_ring[%slot] {index = 0 : i64} : tensor<?x?xbf16>, !ring1
        // These groups never come to this slot. The producer releases it in their place.
        %absent = arith.remui %word, %c8_i32 : i32
        sparsec.release %column_ring[%slot] for(%absent) : !ring1
        %next = sparsec.next %column_ring[%slot] : !ring1
        scf.yield %next, %9 : !cursor, i32
      }
      sparsec.yield %7#0 : !cursor
    }
  }
  // Another thread copies the blocks of the window, by column, then by group. Neither producer waits for the other.
  sparsec.role "w" thread(1) registers(32) {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %c2_i32 = arith.constant 2 : i32
    %begin = sparsec.cursor %block_ring : !ring
    %0 = sparsec.tile_loop init(%begin : !cursor) attributes {periodic} -> !cursor {
    ^bb0(%window: i32, %panel: i32, %carried: !cursor):
      // An entry of `blocks` has the number of a block in the matrix and its block column.
      %1 = sparsec.read_plan block_offsets[%window]
      %2 = arith.addi %window, %c1_i32 : i32
      %3 = sparsec.read_plan block_offsets[%2]
      %4 = arith.muli %1, %c2_i32 : i32
      %5 = sparsec.read_plan blocks[%4]
      %6 = arith.addi %4, %c1_i32 : i32
      %7 = sparsec.read_plan blocks[%6]
      %8:3 = scf.for %arg3 = %1 to %3 step %c1_i32 iter_args(%slot = %carried, %block = %5, %column = %7) -> (!cursor, i32, i32)  : i32 {
        %9 = arith.addi %arg3, %c1_i32 : i32
        %10 = arith.muli %9, %c2_i32 : i32
        %11 = sparsec.read_plan blocks[%10]
        %12 = arith.addi %10, %c1_i32 : i32
        %13 = sparsec.read_plan blocks[%12]
        sparsec.acquire %block_ring[%slot] : !ring
        sparsec.post %block_ring[%slot] : !ring
        // Each CTA of the cluster loads its share of the block, for both CTAs.
        sparsec.copy %arg0[%block, %c0_i32, %c0_i32] block_columns(%column) to %block_ring[%slot] {index = 0 : i64, multicast} : !sparsec.bsr<?x?xbf16, block = 64x64>, !ring
        %next = sparsec.next %block_ring[%slot] : !ring
        scf.yield %next, %11, %13 : !cursor, i32, i32
      }
      sparsec.yield %8#0 : !cursor
    }
  }
}
