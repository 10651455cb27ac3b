// Attention with a pattern of 128 x 128 blocks on Hopper: bench/attention/attention_bf16_128_128x128.mlir, as the compiler
// prints it with --emit=tile --arch=sm_90a. The comments are not the compiler's. docs/tile-programs.md explains the ops. A
// test compares this file with the compiler.
!cursor = !sparsec.cursor
!ring = !sparsec.ring<2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
!ring1 = !sparsec.ring<5, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
sparsec.program @attention_bf16_128_128x128 attributes {alignment = 16 : i64, kernel = @attention_bf16_128_128x128, schedule = #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 128, tile_k = 128, stages = 5, consumers_m = 2, consumers_n = 1, producer_registers = 40, consumer_registers = 232, group_m = 1>, shared_memory = 229544 : i64, variant = 0 : i64} {
^bb0(%arg0: tensor<?x?x?x128xbf16>, %arg1: tensor<?x?x?x128xbf16>, %arg2: tensor<?x?x?x128xbf16>, %arg3: !sparsec.pattern<128x128>, %arg4: tensor<?x?x?x128xbf16>):
  // Two slots of queries, because the two groups of a tile may be a tile apart, and five of keys or values.
  %query_ring = sparsec.ring {barrier_offset = 229376 : i64, messages, name = "query_ring", offsets = array<i64: 0>} : !ring
  %key_ring = sparsec.ring {barrier_offset = 229424 : i64, messages, name = "key_ring", offsets = array<i64: 65536>} : !ring1
  // Two warpgroups, of which each has 64 of the 128 queries.
  sparsec.role "consumer" warpgroup(2) registers(232) {
    %c-1_i32 = arith.constant -1 : i32
    %group, %group_row, %group_column = sparsec.group_part {across = 1 : i64, columns = 128 : i64, rows = 64 : i64}
    %q_view = sparsec.view %query_ring rows(%group_row) {index = 0 : i64} : !ring -> <64, 128, bf16, k>
    %k_view = sparsec.view %key_ring {index = 0 : i64} : !ring1 -> <128, 128, bf16, k>
    %v_view = sparsec.view %key_ring {index = 0 : i64} : !ring1 -> <128, 128, bf16, mn>
    %begin = sparsec.cursor %query_ring : !ring
    %begin_0 = sparsec.cursor %key_ring : !ring1
    // The messages of a slot of queries say which tile they are.
    %message, %message_1 = sparsec.wait %query_ring[%begin] : !ring -> i32, i32
    // Until the producer says that no tile is left.
    %0:4 = sparsec.loop (%query_slot = %begin : !cursor, %key_slot = %begin_0 : !cursor, %tile_row = %message : i32, %panel = %message_1 : i32) while(%tile_row ne -1) {
      %batch, %head, %key_head, %query = sparsec.query_tile %arg0, %arg1[%tile_row, %panel] {rows = 128 : i64} : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
      %message_2, %message_3 = sparsec.wait %key_ring[%key_slot] : !ring1 -> i32, i32
      %softmax = sparsec.tile_softmax at(%batch, %head, %query) row(%group_row)
      %1 = sparsec.zero : !sparsec.accumulator<64, 128>
      %2 = sparsec.softmax_begin of %softmax : <64>
      %3 = arith.cmpi ne, %message_2, %c-1_i32 : i32
      // A tile that sees no keys has one slot, which says so.
      %4:3 = scf.if %3 -> (!cursor, !sparsec.accumulator<64, 128>, !sparsec.softmax_state<64>) {
        // The first step: scores and probabilities, without values.
        %6 = sparsec.product %q_view[%query_slot], %k_view[%key_slot] {depth = 128 : i64} : !sparsec.view<64, 128, bf16, k>, !sparsec.view<128, 128, bf16, k> -> !sparsec.pending<64, 128>
        %7 = sparsec.await %6 {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
        sparsec.release %key_ring[%key_slot] : !ring1
        %key, %partial = sparsec.key_block %message_2 {keys = 128 : i64}
        %scores, %raised, %rescaling = sparsec.row_maximum %softmax, %7, %2 at(%key) partial(%partial) : <64, 128>, <64>
        %probabilities, %summed = sparsec.exponentiate %softmax, %scores, %raised at(%key) partial(%partial) : <64, 128>, <64>
        %8 = sparsec.to_fragment %probabilities : <64, 128> -> <64, 128, bf16>
        %next_6 = sparsec.next %key_ring[%key_slot] : !ring1
        %message_7, %message_8 = sparsec.wait %key_ring[%next_6] : !ring1 -> i32, i32
        // All further steps. The loop is rotated by half a step: the scores of this step are issued before the values of the
        // step before are multiplied. One product runs while the other one is waited for.
        %9:6 = sparsec.loop (%slot = %next_6 : !cursor, %block = %message_7 : i32, %second = %message_8 : i32, %output = %1 : !sparsec.accumulator<64, 128>, %probabilities_10 = %8 : !sparsec.fragment<64, 128, bf16>, %rows = %summed : !sparsec.softmax_state<64>) while(%block ne -1) {
          %next_11 = sparsec.next %key_ring[%slot] : !ring1
          %13 = sparsec.product %q_view[%query_slot], %k_view[%slot] {depth = 128 : i64} : !sparsec.view<64, 128, bf16, k>, !sparsec.view<128, 128, bf16, k> -> !sparsec.pending<64, 128>
          sparsec.wait %key_ring[%next_11] : !ring1
          %14 = sparsec.product %probabilities_10, %v_view[%next_11], %output {depth = 128 : i64} : !sparsec.fragment<64, 128, bf16>, !sparsec.view<128, 128, bf16, mn>, !sparsec.accumulator<64, 128> -> !sparsec.pending<64, 128>
          %15 = sparsec.await %13 {outstanding = 1 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
          sparsec.release %key_ring[%slot] : !ring1
          %key_12, %partial_13 = sparsec.key_block %block {keys = 128 : i64}
          // m follows the scores, while the product with the values runs.
          %scores_14, %raised_15, %rescaling_16 = sparsec.row_maximum %softmax, %15, %rows at(%key_12) partial(%partial_13) : <64, 128>, <64>
          %16 = sparsec.await %14 {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
          sparsec.release %key_ring[%next_11] : !ring1
          // The output follows m. Most steps leave it.
          %17 = sparsec.rescale %16 by %rescaling_16 : <64, 128>
          %probabilities_17, %summed_18 = sparsec.exponentiate %softmax, %scores_14, %raised_15 at(%key_12) partial(%partial_13) : <64, 128>, <64>
          %18 = sparsec.to_fragment %probabilities_17 : <64, 128> -> <64, 128, bf16>
          %next_19 = sparsec.next %key_ring[%next_11] : !ring1
          %message_20, %message_21 = sparsec.wait %key_ring[%next_19] : !ring1 -> i32, i32
          sparsec.yield %next_19, %message_20, %message_21, %17, %18, %summed_18 : !cursor, i32, i32, !sparsec.accumulator<64, 128>, !sparsec.fragment<64, 128, bf16>, !sparsec.softmax_state<64>
        }
        // The queries are free before the last values are multiplied.
        sparsec.release %query_ring[%query_slot] : !ring
        %10 = sparsec.product %9#4, %v_view[%9#0], %9#3 {depth = 128 : i64} : !sparsec.fragment<64, 128, bf16>, !sparsec.view<128, 128, bf16, mn>, !sparsec.accumulator<64, 128> -> !sparsec.pending<64, 128>
        %11 = sparsec.await %10 {outstanding = 0 : i64} : <64, 128> -> !sparsec.accumulator<64, 128>
        sparsec.release %key_ring[%9#0] : !ring1
        %next_9 = sparsec.next %key_ring[%9#0] : !ring1
        // l = 0 marks rows that saw no key.
        %12 = sparsec.sum_rows %9#5 : <64>
        scf.yield %next_9, %11, %12 : !cursor, !sparsec.accumulator<64, 128>, !sparsec.softmax_state<64>
      } else {
        sparsec.release %query_ring[%query_slot] : !ring
        sparsec.release %key_ring[%key_slot] : !ring1
        %next_6 = sparsec.next %key_ring[%key_slot] : !ring1
        scf.yield %next_6, %1, %2 : !cursor, !sparsec.accumulator<64, 128>, !sparsec.softmax_state<64>
      }
      %5 = arith.addi %query, %group_row : i32
      // O = output / l.
      sparsec.store_rows %4#1, %4#2 to %arg4[%batch, %head, %5 : i32, i32, i32] : <64, 128>, <64> -> tensor<?x?x?x128xbf16>
      %next = sparsec.next %query_ring[%query_slot] : !ring
      %message_4, %message_5 = sparsec.wait %query_ring[%next] : !ring -> i32, i32
      sparsec.yield %next, %4#0, %message_4, %message_5 : !cursor, !cursor, i32, i32
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
        %4 = arith.cmpi eq, %carried_3, %c33554432_i32 : i32
        // In the first step there are no values yet.
        // The last values bring the message that the list has ended, or an empty slot does.
        %5 = scf.if %4 -> (!cursor) {
          scf.yield %next_4 : !cursor
        } else {
          %key_5, %partial_6 = sparsec.key_block %carried_3 {keys = 128 : i64}
          sparsec.acquire %key_ring[%next_4] : !ring1
          sparsec.post %key_ring[%next_4] : !ring1
          sparsec.copy %arg2[%batch, %key_head, %key_5, %c0_i32] to %key_ring[%next_4] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
          %next_7 = sparsec.next %key_ring[%next_4] : !ring1
          scf.yield %next_7 : !cursor
        }
        sparsec.yield %5, %block : !cursor, i32
      }
      %2 = arith.cmpi eq, %1#1, %c33554432_i32 : i32
      %3 = scf.if %2 -> (!cursor) {
        sparsec.acquire %key_ring[%1#0] : !ring1
        sparsec.post %key_ring[%1#0] (%c-1_i32, %c0_i32) {empty} : !ring1
        %next_2 = sparsec.next %key_ring[%1#0] : !ring1
        scf.yield %next_2 : !cursor
      } else {
        %key, %partial = sparsec.key_block %1#1 {keys = 128 : i64}
        sparsec.acquire %key_ring[%1#0] : !ring1
        sparsec.post %key_ring[%1#0] (%c-1_i32, %c0_i32) : !ring1
        sparsec.copy %arg2[%batch, %key_head, %key, %c0_i32] to %key_ring[%1#0] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
        %next_2 = sparsec.next %key_ring[%1#0] : !ring1
        scf.yield %next_2 : !cursor
      }
      %next = sparsec.next %query_ring[%carried] : !ring
      sparsec.yield %next, %3 : !cursor, !cursor
    }
    // No tile is left.
    sparsec.acquire %query_ring[%0#0] : !ring
    sparsec.post %query_ring[%0#0] (%c-1_i32, %c0_i32) {empty} : !ring
  }
}
