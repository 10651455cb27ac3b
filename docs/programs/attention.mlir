// Attention with a pattern of 128 x 128 blocks on Hopper: bench/attention/attention_bf16_128_128x128.mlir, as the compiler
// prints it with --emit=tile --arch=sm_90a. The comments are not the compiler's. docs/tile-programs.md explains the ops. A
// test compares this file with the compiler.
!cursor = !sparsec.cursor
!ring = !sparsec.ring<2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
!ring1 = !sparsec.ring<5, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
sparsec.program @attention_bf16_128_128x128 attributes {alignment = 16 : i64, kernel = @attention_bf16_128_128x128, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232, group_m = 1>, shared_memory = 229544 : i64, variant = 1 : i64} {
^bb0(%arg0: tensor<?x?x?x128xbf16>, %arg1: tensor<?x?x?x128xbf16>, %arg2: tensor<?x?x?x128xbf16>, %arg3: !sparsec.pattern<128x128>, %arg4: tensor<?x?x?x128xbf16>):
  // Two slots of queries, because the two groups of a tile may be a tile apart, and five of keys or values.
  %query_ring = sparsec.ring {barrier_offset = 229376 : i64, messages, name = "query_ring", offsets = array<i64: 0>} : !ring
  %key_ring = sparsec.ring {barrier_offset = 229424 : i64, messages, name = "key_ring", offsets = array<i64: 65536>} : !ring1
  // Two warpgroups, of which each has 64 of the 128 queries.
  sparsec.role "consumer" warpgroup(2) registers(232) {
    %c-1_i32 = arith.constant -1 : i32
    %c0_i32 = arith.constant 0 : i32
    %c33554432_i32 = arith.constant 33554432 : i32
    %group, %group_row, %group_column = sparsec.group_part {across = 1 : i64, columns = 128 : i64, rows = 64 : i64}
    %q_view = sparsec.view %query_ring rows(%group_row) {index = 0 : i64} : !ring -> <64, 128, bf16, k>
    %k_view = sparsec.view %key_ring {index = 0 : i64} : !ring1 -> <128, 128, bf16, k>
    %v_view = sparsec.view %key_ring {index = 0 : i64} : !ring1 -> <128, 128, bf16, mn>
    %begin = sparsec.cursor %query_ring : !ring
    %begin_0 = sparsec.cursor %key_ring : !ring1
    // The messages of a slot of queries say which tile they are.
    %message, %message_1 = sparsec.wait %query_ring[%begin] : !ring -> i32, i32
    // The first tile of the worker has no scores yet.
    %0 = sparsec.unset : <64, 128>
    %1 = arith.cmpi ne, %message, %c-1_i32 : i32
    %2 = arith.cmpi ne, %group, %c0_i32 : i32
    // The groups start apart, so that one exponentiates while the other one multiplies.
    %3 = arith.andi %1, %2 : i1
    scf.if %3 {
      sparsec.wait %key_ring[%begin_0] : !ring1
      sparsec.sleep {nanoseconds = 200 : i64}
    }
    // Until the producer says that no tile is left.
    %4:7 = sparsec.loop (%query_slot = %begin : !cursor, %key_slot = %begin_0 : !cursor, %tile_row = %message : i32, %panel = %message_1 : i32, %first_block = %c33554432_i32 : i32, %first_second = %c0_i32 : i32, %first_scores = %0 : !sparsec.accumulator<64, 128>) while(%tile_row ne -1) {
      %batch, %head, %key_head, %query = sparsec.query_tile %arg0, %arg1[%tile_row, %panel] {rows = 128 : i64} : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
      // A tile that starts ahead of the store of the tile before comes with the scores of its first step.
      %5 = arith.cmpi eq, %first_block, %c33554432_i32 : i32
      %6:3 = scf.if %5 -> (i32, i32, !sparsec.accumulator<64, 128>) {
        %message_2, %message_3 = sparsec.wait %key_ring[%key_slot] : !ring1 -> i32, i32
        %11 = sparsec.product %q_view[%query_slot], %k_view[%key_slot] {depth = 128 : i64} : !sparsec.view<64, 128, bf16, k>, !sparsec.view<128, 128, bf16, k> -> !sparsec.pending<64, 128>
        %12 = sparsec.await %11 {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
        scf.yield %message_2, %message_3, %12 : i32, i32, !sparsec.accumulator<64, 128>
      } else {
        scf.yield %first_block, %first_second, %first_scores : i32, i32, !sparsec.accumulator<64, 128>
      }
      %softmax = sparsec.tile_softmax at(%batch, %head, %query) row(%group_row)
      %7 = sparsec.zero : !sparsec.accumulator<64, 128>
      %8 = sparsec.softmax_begin of %softmax : <64>
      %9 = arith.cmpi ne, %6#0, %c-1_i32 : i32
      // A tile that sees no keys has one slot, which says so.
      %10:7 = scf.if %9 -> (!cursor, !cursor, i32, i32, i32, i32, !sparsec.accumulator<64, 128>) {
        sparsec.release %key_ring[%key_slot] : !ring1
        %key, %partial = sparsec.key_block %6#0 {keys = 128 : i64}
        // The first step: probabilities, without values.
        %scores, %raised, %rescaling = sparsec.row_maximum %softmax, %6#2, %8 at(%key) partial(%partial) : <64, 128>, <64>
        %probabilities, %summed = sparsec.exponentiate %softmax, %scores, %raised at(%key) partial(%partial) : <64, 128>, <64>
        %11 = sparsec.to_fragment %probabilities : <64, 128> -> <64, 128, bf16>
        %next = sparsec.next %key_ring[%key_slot] : !ring1
        %message_2, %message_3 = sparsec.wait %key_ring[%next] : !ring1 -> i32, i32
        // All further steps. The loop is rotated by half a step: the scores of this step are issued before the values of the
        // step before are multiplied. One product runs while the other one is waited for.
        %12:6 = sparsec.loop (%slot = %next : !cursor, %block = %message_2 : i32, %second = %message_3 : i32, %output = %7 : !sparsec.accumulator<64, 128>, %probabilities_4 = %11 : !sparsec.fragment<64, 128, bf16>, %rows = %summed : !sparsec.softmax_state<64>) while(%block ne -1) {
          %next_5 = sparsec.next %key_ring[%slot] : !ring1
          %16 = sparsec.product %q_view[%query_slot], %k_view[%slot] {depth = 128 : i64} : !sparsec.view<64, 128, bf16, k>, !sparsec.view<128, 128, bf16, k> -> !sparsec.pending<64, 128>
          sparsec.wait %key_ring[%next_5] : !ring1
          %17 = sparsec.product %probabilities_4, %v_view[%next_5], %output {depth = 128 : i64} : !sparsec.fragment<64, 128, bf16>, !sparsec.view<128, 128, bf16, mn>, !sparsec.accumulator<64, 128> -> !sparsec.pending<64, 128>
          %18 = sparsec.await %16 {outstanding = 1 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
          sparsec.release %key_ring[%slot] : !ring1
          %key_6, %partial_7 = sparsec.key_block %block {keys = 128 : i64}
          // m follows the scores, while the product with the values runs.
          %scores_8, %raised_9, %rescaling_10 = sparsec.row_maximum %softmax, %18, %rows at(%key_6) partial(%partial_7) : <64, 128>, <64>
          %19 = sparsec.await %17 {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
          sparsec.release %key_ring[%next_5] : !ring1
          // The output follows m. Most steps leave it.
          %20 = sparsec.rescale %19 by %rescaling_10 : <64, 128>
          %probabilities_11, %summed_12 = sparsec.exponentiate %softmax, %scores_8, %raised_9 at(%key_6) partial(%partial_7) : <64, 128>, <64>
          %21 = sparsec.to_fragment %probabilities_11 : <64, 128> -> <64, 128, bf16>
          %next_13 = sparsec.next %key_ring[%next_5] : !ring1
          %message_14, %message_15 = sparsec.wait %key_ring[%next_13] : !ring1 -> i32, i32
          sparsec.yield %next_13, %message_14, %message_15, %20, %21, %summed_12 : !cursor, i32, i32, !sparsec.accumulator<64, 128>, !sparsec.fragment<64, 128, bf16>, !sparsec.softmax_state<64>
        }
        // The queries are free before the last values are multiplied.
        sparsec.release %query_ring[%query_slot] : !ring
        %13 = sparsec.product %12#4, %v_view[%12#0], %12#3 {depth = 128 : i64} : !sparsec.fragment<64, 128, bf16>, !sparsec.view<128, 128, bf16, mn>, !sparsec.accumulator<64, 128> -> !sparsec.pending<64, 128>
        // The message beside the last values says whether another tile follows, which then starts ahead.
        %14 = arith.cmpi ne, %12#2, %c0_i32 : i32
        %15:7 = scf.if %14 -> (!cursor, !cursor, i32, i32, i32, i32, !sparsec.accumulator<64, 128>) {
          %next_4 = sparsec.next %query_ring[%query_slot] : !ring
          %next_5 = sparsec.next %key_ring[%12#0] : !ring1
          %message_6, %message_7 = sparsec.wait %query_ring[%next_4] : !ring -> i32, i32
          %message_8, %message_9 = sparsec.wait %key_ring[%next_5] : !ring1 -> i32, i32
          %16 = sparsec.product %q_view[%next_4], %k_view[%next_5] {depth = 128 : i64} : !sparsec.view<64, 128, bf16, k>, !sparsec.view<128, 128, bf16, k> -> !sparsec.pending<64, 128>
          %17 = sparsec.await %13 {outstanding = 1 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
          sparsec.release %key_ring[%12#0] : !ring1
          // l = 0 marks rows that saw no key.
          %18 = sparsec.sum_rows %12#5 : <64>
          %19 = arith.addi %query, %group_row : i32
          // O = output / l.
          sparsec.store_rows %17, %18 to %arg4[%batch, %head, %19 : i32, i32, i32] : <64, 128>, <64> -> tensor<?x?x?x128xbf16>
          %20 = sparsec.await %16 {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
          scf.yield %next_4, %next_5, %message_6, %message_7, %message_8, %message_9, %20 : !cursor, !cursor, i32, i32, i32, i32, !sparsec.accumulator<64, 128>
        } else {
          %16 = sparsec.await %13 {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
          sparsec.release %key_ring[%12#0] : !ring1
          %next_4 = sparsec.next %key_ring[%12#0] : !ring1
          %17 = sparsec.sum_rows %12#5 : <64>
          %18 = arith.addi %query, %group_row : i32
          sparsec.store_rows %16, %17 to %arg4[%batch, %head, %18 : i32, i32, i32] : <64, 128>, <64> -> tensor<?x?x?x128xbf16>
          %next_5 = sparsec.next %query_ring[%query_slot] : !ring
          %message_6, %message_7 = sparsec.wait %query_ring[%next_5] : !ring -> i32, i32
          %19 = sparsec.zero : !sparsec.accumulator<64, 128>
          scf.yield %next_5, %next_4, %message_6, %message_7, %c33554432_i32, %c0_i32, %19 : !cursor, !cursor, i32, i32, i32, i32, !sparsec.accumulator<64, 128>
        }
        scf.yield %15#0, %15#1, %15#2, %15#3, %15#4, %15#5, %15#6 : !cursor, !cursor, i32, i32, i32, i32, !sparsec.accumulator<64, 128>
      } else {
        sparsec.release %query_ring[%query_slot] : !ring
        sparsec.release %key_ring[%key_slot] : !ring1
        %next = sparsec.next %key_ring[%key_slot] : !ring1
        %11 = arith.addi %query, %group_row : i32
        sparsec.store_rows %7, %8 to %arg4[%batch, %head, %11 : i32, i32, i32] : <64, 128>, <64> -> tensor<?x?x?x128xbf16>
        %next_2 = sparsec.next %query_ring[%query_slot] : !ring
        %message_3, %message_4 = sparsec.wait %query_ring[%next_2] : !ring -> i32, i32
        %12 = sparsec.zero : !sparsec.accumulator<64, 128>
        scf.yield %next_2, %next, %message_3, %message_4, %c33554432_i32, %c0_i32, %12 : !cursor, !cursor, i32, i32, i32, i32, !sparsec.accumulator<64, 128>
      }
      sparsec.yield %10#0, %10#1, %10#2, %10#3, %10#4, %10#5, %10#6 : !cursor, !cursor, i32, i32, i32, i32, !sparsec.accumulator<64, 128>
    }
  }
  // One thread copies. Only it reads the plan and the pattern.
  sparsec.role "producer" thread(1) registers(40) {
    %c-1_i32 = arith.constant -1 : i32
    %c33554432_i32 = arith.constant 33554432 : i32
    %c0_i32 = arith.constant 0 : i32
    %begin = sparsec.cursor %query_ring : !ring
    %begin_0 = sparsec.cursor %key_ring : !ring1
    %0:2 = sparsec.tile_loop init(%begin, %begin_0 : !cursor, !cursor) attributes {counter} -> !cursor, !cursor {
    ^bb0(%tile_row: i32, %panel: i32, %carried: !cursor, %carried_1: !cursor):
      %batch, %head, %key_head, %query = sparsec.query_tile %arg0, %arg1[%tile_row, %panel] {rows = 128 : i64} : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
      // Where the lists of the tile begin is loaded while it waits for a free slot.
      %lists = sparsec.key_lists %arg3[%batch, %head, %query] : <128x128>
      sparsec.acquire %query_ring[%carried] : !ring
      sparsec.post %query_ring[%carried] (%tile_row, %panel) : !ring
      sparsec.copy %arg0[%batch, %head, %query, %c0_i32] to %query_ring[%carried] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring
      // K of a step, then V of the step before: K0 | K1 V0 | K2 V1 | ... | V(n-1).
      %walk = sparsec.key_walk %lists at %query {rows = 128 : i64}
      %1:2 = sparsec.walk %walk init(%carried_1, %c33554432_i32 : !cursor, i32) -> !cursor, i32 {
      ^bb0(%block: i32, %carried_2: !cursor, %carried_3: i32):
        %key, %partial = sparsec.key_block %block {keys = 128 : i64}
        sparsec.acquire %key_ring[%carried_2] : !ring1
        sparsec.post %key_ring[%carried_2] (%block, %c33554432_i32) : !ring1
        sparsec.copy %arg1[%batch, %key_head, %key, %c0_i32] to %key_ring[%carried_2] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
        %next_4 = sparsec.next %key_ring[%carried_2] : !ring1
        %5 = arith.cmpi eq, %carried_3, %c33554432_i32 : i32
        // In the first step there are no values yet.
        // The last values bring the message that the list has ended, or an empty slot does.
        %6 = scf.if %5 -> (!cursor) {
          scf.yield %next_4 : !cursor
        } else {
          %key_5, %partial_6 = sparsec.key_block %carried_3 {keys = 128 : i64}
          sparsec.acquire %key_ring[%next_4] : !ring1
          sparsec.post %key_ring[%next_4] : !ring1
          sparsec.copy %arg2[%batch, %key_head, %key_5, %c0_i32] to %key_ring[%next_4] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
          %next_7 = sparsec.next %key_ring[%next_4] : !ring1
          scf.yield %next_7 : !cursor
        }
        sparsec.yield %6, %block : !cursor, i32
      }
      // The number of the next tile is taken here, so that the message can tell whether there is one.
      %2 = sparsec.tile_follows : i32
      %3 = arith.cmpi eq, %1#1, %c33554432_i32 : i32
      %4 = scf.if %3 -> (!cursor) {
        sparsec.acquire %key_ring[%1#0] : !ring1
        sparsec.post %key_ring[%1#0] (%c-1_i32, %2) {empty} : !ring1
        %next_2 = sparsec.next %key_ring[%1#0] : !ring1
        scf.yield %next_2 : !cursor
      } else {
        %key, %partial = sparsec.key_block %1#1 {keys = 128 : i64}
        sparsec.acquire %key_ring[%1#0] : !ring1
        sparsec.post %key_ring[%1#0] (%c-1_i32, %2) : !ring1
        sparsec.copy %arg2[%batch, %key_head, %key, %c0_i32] to %key_ring[%1#0] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
        %next_2 = sparsec.next %key_ring[%1#0] : !ring1
        scf.yield %next_2 : !cursor
      }
      %next = sparsec.next %query_ring[%carried] : !ring
      sparsec.yield %next, %4 : !cursor, !cursor
    }
    // No tile is left.
    sparsec.acquire %query_ring[%0#0] : !ring
    sparsec.post %query_ring[%0#0] (%c-1_i32, %c0_i32) {empty} : !ring
  }
}
