// Attention with blocks of 64 x 64 on Ada: bench/attention/attention_bf16_128_64x64.mlir, as the compiler prints it with
// --emit=tile --arch=sm_89. The comments are not the compiler's. A test compares this file with the compiler.
!cursor = !sparsec.cursor
!ring = !sparsec.ring<1, [!sparsec.buffer<64, 128, bf16, swizzle = 128>]>
!ring1 = !sparsec.ring<2, [!sparsec.buffer<32, 128, bf16, swizzle = 128>]>
sparsec.program @attention_bf16_128_64x64 attributes {alignment = 16 : i64, kernel = @attention_bf16_128_64x64, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 128, stages = 2, consumers_m = 4, consumers_n = 1, group_m = 1, ctas_per_sm = 2>, shared_memory = 49152 : i64, variant = 0 : i64} {
^bb0(%arg0: tensor<?x?x?x128xbf16>, %arg1: tensor<?x?x?x128xbf16>, %arg2: tensor<?x?x?x128xbf16>, %arg3: !sparsec.pattern<64x64>, %arg4: tensor<?x?x?x128xbf16>):
  // A ring each for queries, keys and values. A step is 32 keys, half a block of the pattern.
  %query_ring = sparsec.ring {name = "query_ring", offsets = array<i64: 0>} : !ring
  %key_ring = sparsec.ring {name = "key_ring", offsets = array<i64: 16384>} : !ring1
  %value_ring = sparsec.ring {name = "value_ring", offsets = array<i64: 32768>} : !ring1
  // Four warps, of 16 queries each.
  sparsec.role "all" warp(4) registers(0) {
    %c0_i32 = arith.constant 0 : i32
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      // Read anew for every tile: registers of the whole kernel would be missing in the steps.
      %group, %group_row, %group_column = sparsec.group_part {across = 1 : i64, columns = 32 : i64, rows = 16 : i64}
      %q_view = sparsec.view %query_ring rows(%group_row) {index = 0 : i64} : !ring -> <16, 128, bf16, k>
      %k_view = sparsec.view %key_ring {index = 0 : i64} : !ring1 -> <32, 128, bf16, k>
      %v_view = sparsec.view %value_ring {index = 0 : i64} : !ring1 -> <32, 128, bf16, mn>
      %batch, %head, %key_head, %query = sparsec.query_tile %arg0, %arg1[%tile_row, %panel] {rows = 64 : i64} : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
      %lists = sparsec.key_lists %arg3[%batch, %head, %query] : <64x64>
      %walk = sparsec.key_walk %lists at %query {chunks = 2 : i64, rows = 64 : i64}
      %softmax = sparsec.tile_softmax at(%batch, %head, %query) row(%group_row)
      // The first step, or -1 where the list is empty.
      %first_step, %visited = sparsec.first_step %walk : <3> -> i32
      %0 = sparsec.zero : !sparsec.accumulator<16, 128>
      %1 = sparsec.softmax_begin of %softmax : <16>
      %2 = arith.cmpi sge, %visited, %c0_i32 : i32
      %3:2 = scf.if %2 -> (!sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>) {
        // All warps are done with the slots of the tile before.
        sparsec.barrier
        %begin = sparsec.cursor %query_ring : !ring
        %begin_0 = sparsec.cursor %key_ring : !ring1
        // Q and K of step 0. Then K of step 1 with V of step 0.
        sparsec.copy_group {
          sparsec.copy %arg0[%batch, %head, %query, %c0_i32] to %query_ring[%begin] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring
          %key, %partial = sparsec.key_block %visited {keys = 32 : i64}
          sparsec.copy %arg1[%batch, %key_head, %key, %c0_i32] to %key_ring[%begin_0] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
        }
        %next_step, %visited_1 = sparsec.next_step %walk[%first_step] : <3> -> i32
        %next = sparsec.next %key_ring[%begin_0] : !ring1
        sparsec.copy_group {
          sparsec.if_step %visited_1 of 32 keys (%key_4) {
            sparsec.copy %arg1[%batch, %key_head, %key_4, %c0_i32] to %key_ring[%next] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
          }
          %key, %partial = sparsec.key_block %visited {keys = 32 : i64}
          sparsec.copy %arg2[%batch, %key_head, %key, %c0_i32] to %value_ring[%begin_0] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
        }
        %next_step_2, %visited_3 = sparsec.next_step %walk[%next_step] : <3> -> i32
        // Q and K of step 0 are there. Queries stay in registers.
        sparsec.await_copies {outstanding = 1 : i64}
        sparsec.barrier
        %5 = sparsec.load_fragment %q_view[%begin] : <16, 128, bf16, k> -> <16, 128, bf16>
        %6 = sparsec.product %5, %k_view[%begin_0] {depth = 128 : i64} : !sparsec.fragment<16, 128, bf16>, !sparsec.view<32, 128, bf16, k> -> !sparsec.accumulator<16, 32>
        // Step j: its scores are there, which the round before has multiplied.
        %7:9 = sparsec.loop (%slot = %begin_0 : !cursor, %previous_slot = %next : !cursor, %step = %next_step_2 : !sparsec.step<3>, %scores = %6 : !sparsec.accumulator<16, 32>, %output = %0 : !sparsec.accumulator<16, 128>, %rows = %1 : !sparsec.softmax_state<16>, %upcoming = %visited : i32, %upcoming_4 = %visited_1 : i32, %upcoming_5 = %visited_3 : i32) while(%upcoming sge 0) {
          // K of step j + 1 and V of step j are there, and all warps are done with the slots of step j - 1.
          sparsec.await_copies {outstanding = 0 : i64}
          sparsec.barrier
          sparsec.copy_group {
            sparsec.if_step %upcoming_5 of 32 keys (%key_10) {
              // Into the slots of step j - 1: K of step j + 2, V of step j + 1.
              sparsec.copy %arg1[%batch, %key_head, %key_10, %c0_i32] to %key_ring[%slot] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
            }
            sparsec.if_step %upcoming_4 of 32 keys (%key_10) {
              sparsec.copy %arg2[%batch, %key_head, %key_10, %c0_i32] to %value_ring[%previous_slot] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
            }
          }
          %key, %partial = sparsec.key_block %upcoming {keys = 32 : i64}
          // The softmax of step j does not depend on the scores of step j + 1, which share its instruction slots.
          %scores_6, %raised, %rescaling = sparsec.row_maximum %softmax, %scores, %rows at(%key) partial(%partial) : <16, 32>, <16>
          %9 = sparsec.rescale %output by %rescaling : <16, 128>
          %probabilities, %summed = sparsec.exponentiate %softmax, %scores_6, %raised at(%key) partial(%partial) : <16, 32>, <16>
          %10 = sparsec.to_fragment %probabilities : <16, 32> -> <16, 32, bf16>
          %next_7 = sparsec.next %key_ring[%slot] : !ring1
          %11 = sparsec.product %5, %k_view[%next_7] {depth = 128 : i64} : !sparsec.fragment<16, 128, bf16>, !sparsec.view<32, 128, bf16, k> -> !sparsec.accumulator<16, 32>
          // O += P V of step j.
          %12 = sparsec.product %10, %v_view[%slot], %9 {depth = 32 : i64} : !sparsec.fragment<16, 32, bf16>, !sparsec.view<32, 128, bf16, mn>, !sparsec.accumulator<16, 128> -> !sparsec.accumulator<16, 128>
          %next_step_8, %visited_9 = sparsec.next_step %walk[%step] : <3> -> i32
          sparsec.yield %next_7, %slot, %next_step_8, %11, %12, %summed, %upcoming_4, %upcoming_5, %visited_9 : !cursor, !cursor, !sparsec.step<3>, !sparsec.accumulator<16, 32>, !sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>, i32, i32, i32
        }
        // l = 0 marks rows that saw no key.
        %8 = sparsec.sum_rows %7#5 : <16>
        scf.yield %7#4, %8 : !sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>
      } else {
        scf.yield %0, %1 : !sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>
      }
      %4 = arith.addi %query, %group_row : i32
      // O = output / l.
      sparsec.store_rows %3#0, %3#1 to %arg4[%batch, %head, %4 : i32, i32, i32] : <16, 128>, <16> -> tensor<?x?x?x128xbf16>
    }
  }
}
