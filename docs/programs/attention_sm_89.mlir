// Attention with blocks of 64 x 64 on Ada: bench/attention/attention_bf16_128_64x64.mlir, as the compiler prints it with
// --emit=tile --arch=sm_89. The comments are not the compiler's. A test compares this file with the compiler.
!cursor = !sparsec.cursor
!ring = !sparsec.ring<1, [!sparsec.buffer<64, 128, bf16>]>
!ring1 = !sparsec.ring<2, [!sparsec.buffer<32, 128, bf16>]>
sparsec.program @attention_bf16_128_64x64 attributes {alignment = 16 : i64, kernel = @attention_bf16_128_64x64, schedule = #sparsec.schedule<instruction = mma_sync, copy = cp_async, tile_m = 64, tile_n = 32, tile_k = 128, stages = 2, consumers_m = 4, consumers_n = 1, group_m = 1, ctas_per_sm = 2>, shared_memory = 49152 : i64, variant = 0 : i64} {
^bb0(%arg0: tensor<?x?x?x128xbf16>, %arg1: tensor<?x?x?x128xbf16>, %arg2: tensor<?x?x?x128xbf16>, %arg3: !sparsec.pattern<64x64>, %arg4: tensor<?x?x?x128xbf16>):
  // A ring each for queries, keys and values. A step is 32 keys, half a block of the pattern.
  %query_ring = sparsec.ring {name = "query_ring", offsets = array<i64: 0>} : !ring
  %key_ring = sparsec.ring {name = "key_ring", offsets = array<i64: 16384>} : !ring1
  %value_ring = sparsec.ring {name = "value_ring", offsets = array<i64: 32768>} : !ring1
  // Four warps, of 16 queries each.
  sparsec.role "all" warp(4) registers(0) {
    %c0_i32 = arith.constant 0 : i32
    %c16_i32 = arith.constant 16 : i32
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
      // Read anew for every tile: registers of the whole kernel would be missing in the steps.
      %group = sparsec.group
      %group_row = arith.muli %group, %c16_i32 : i32
      %q_view = sparsec.view %query_ring rows(%group_row) {index = 0 : i64} : !ring -> <16, 128, bf16, k>
      %k_view = sparsec.view %key_ring {index = 0 : i64} : !ring1 -> <32, 128, bf16, k>
      %v_view = sparsec.view %value_ring {index = 0 : i64} : !ring1 -> <32, 128, bf16, mn>
      %batch, %head, %key_head, %query = sparsec.query_tile %arg0, %arg1[%tile_row, %panel] {rows = 64 : i64} : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
      %lists = sparsec.key_lists %arg3[%batch, %head, %query] : <64x64>
      %steps = sparsec.key_steps %lists at %query {keys = 32 : i64, rows = 64 : i64}
      %softmax = sparsec.tile_softmax at(%batch, %head, %query) row(%group_row)
      // The first step, or -1 where the list is empty.
      %0 = sparsec.first_step %steps : <3>
      %1 = sparsec.read_step %steps[%0] : <3> -> i32
      %2 = arith.cmpi sge, %1, %c0_i32 : i32
      %3:2 = scf.if %2 -> (!sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>) {
        // All warps are done with the slots of the tile before.
        sparsec.barrier
        %begin = sparsec.cursor %query_ring : !ring
        %begin_0 = sparsec.cursor %key_ring : !ring1
        // Q and K of step 0. Then K of step 1 with V of step 0.
        sparsec.copy_group {
          sparsec.copy %arg0[%batch, %head, %query, %c0_i32] to %query_ring[%begin] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring
          %15 = arith.cmpi sge, %1, %c0_i32 : i32
          scf.if %15 {
            %key, %partial = sparsec.key_block %1 {keys = 32 : i64}
            sparsec.copy %arg1[%batch, %key_head, %key, %c0_i32] to %key_ring[%begin_0] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
          }
        }
        %5 = sparsec.next_step %steps[%0] : <3>
        %6 = sparsec.read_step %steps[%5] : <3> -> i32
        %next = sparsec.next %key_ring[%begin_0] : !ring1
        sparsec.copy_group {
          %15 = arith.cmpi sge, %6, %c0_i32 : i32
          scf.if %15 {
            %key, %partial = sparsec.key_block %6 {keys = 32 : i64}
            sparsec.copy %arg1[%batch, %key_head, %key, %c0_i32] to %key_ring[%next] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
          }
          %16 = arith.cmpi sge, %1, %c0_i32 : i32
          scf.if %16 {
            %key, %partial = sparsec.key_block %1 {keys = 32 : i64}
            sparsec.copy %arg2[%batch, %key_head, %key, %c0_i32] to %value_ring[%begin_0] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
          }
        }
        %7 = sparsec.next_step %steps[%5] : <3>
        %8 = sparsec.read_step %steps[%7] : <3> -> i32
        // Q and K of step 0 are there. Queries stay in registers.
        sparsec.await_copies {outstanding = 1 : i64}
        sparsec.barrier
        %9 = sparsec.load_fragment %q_view[%begin] : <16, 128, bf16, k> -> <16, 128, bf16>
        %10 = sparsec.product %9, %k_view[%begin_0] {depth = 128 : i64} : !sparsec.fragment<16, 128, bf16>, !sparsec.view<32, 128, bf16, k> -> !sparsec.accumulator<16, 32>
        %11 = sparsec.zero : !sparsec.accumulator<16, 128>
        %12 = sparsec.softmax_begin of %softmax : <16>
        // Step j: its scores are there, which the round before has multiplied.
        %13:9 = scf.while (%slot = %begin_0, %previous_slot = %next, %step = %7, %scores = %10, %output = %11, %rows = %12, %upcoming = %1, %upcoming_1 = %6, %upcoming_2 = %8) : (!cursor, !cursor, !sparsec.step<3>, !sparsec.accumulator<16, 32>, !sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>, i32, i32, i32) -> (!cursor, !cursor, !sparsec.step<3>, !sparsec.accumulator<16, 32>, !sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>, i32, i32, i32) {
          %15 = arith.cmpi sge, %upcoming, %c0_i32 : i32
          scf.condition(%15) %slot, %previous_slot, %step, %scores, %output, %rows, %upcoming, %upcoming_1, %upcoming_2 : !cursor, !cursor, !sparsec.step<3>, !sparsec.accumulator<16, 32>, !sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>, i32, i32, i32
        } do {
        ^bb0(%slot: !cursor, %previous_slot: !cursor, %step: !sparsec.step<3>, %scores: !sparsec.accumulator<16, 32>, %output: !sparsec.accumulator<16, 128>, %rows: !sparsec.softmax_state<16>, %upcoming: i32, %upcoming_1: i32, %upcoming_2: i32):
          // K of step j + 1 and V of step j are there, and all warps are done with the slots of step j - 1.
          sparsec.await_copies {outstanding = 0 : i64}
          sparsec.barrier
          sparsec.copy_group {
            %21 = arith.cmpi sge, %upcoming_2, %c0_i32 : i32
            scf.if %21 {
              %key_5, %partial_6 = sparsec.key_block %upcoming_2 {keys = 32 : i64}
              // Into the slots of step j - 1: K of step j + 2, V of step j + 1.
              sparsec.copy %arg1[%batch, %key_head, %key_5, %c0_i32] to %key_ring[%slot] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
            }
            %22 = arith.cmpi sge, %upcoming_1, %c0_i32 : i32
            scf.if %22 {
              %key_5, %partial_6 = sparsec.key_block %upcoming_1 {keys = 32 : i64}
              sparsec.copy %arg2[%batch, %key_head, %key_5, %c0_i32] to %value_ring[%previous_slot] {index = 0 : i64} : tensor<?x?x?x128xbf16>, !ring1
            }
          }
          %key, %partial = sparsec.key_block %upcoming {keys = 32 : i64}
          // The softmax of step j does not depend on the scores of step j + 1, which share its instruction slots.
          %scores_3, %raised, %rescaling = sparsec.row_maximum %softmax, %scores, %rows at(%key) partial(%partial) : <16, 32>, <16>
          %15 = sparsec.rescale %output by %rescaling : <16, 128>
          %probabilities, %summed = sparsec.exponentiate %softmax, %scores_3, %raised at(%key) partial(%partial) : <16, 32>, <16>
          %16 = sparsec.to_fragment %probabilities : <16, 32> -> <16, 32, bf16>
          %next_4 = sparsec.next %key_ring[%slot] : !ring1
          %17 = sparsec.product %9, %k_view[%next_4] {depth = 128 : i64} : !sparsec.fragment<16, 128, bf16>, !sparsec.view<32, 128, bf16, k> -> !sparsec.accumulator<16, 32>
          // O += P V of step j.
          %18 = sparsec.product %16, %v_view[%slot], %15 {depth = 32 : i64} : !sparsec.fragment<16, 32, bf16>, !sparsec.view<32, 128, bf16, mn>, !sparsec.accumulator<16, 128> -> !sparsec.accumulator<16, 128>
          %19 = sparsec.next_step %steps[%step] : <3>
          %20 = sparsec.read_step %steps[%19] : <3> -> i32
          scf.yield %next_4, %slot, %19, %17, %18, %summed, %upcoming_1, %upcoming_2, %20 : !cursor, !cursor, !sparsec.step<3>, !sparsec.accumulator<16, 32>, !sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>, i32, i32, i32
        }
        // l = 0 marks rows that saw no key.
        %14 = sparsec.sum_rows %13#5 : <16>
        scf.yield %13#4, %14 : !sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>
      } else {
        %5 = sparsec.zero : !sparsec.accumulator<16, 128>
        %6 = sparsec.softmax_begin of %softmax : <16>
        scf.yield %5, %6 : !sparsec.accumulator<16, 128>, !sparsec.softmax_state<16>
      }
      %4 = arith.addi %query, %group_row : i32
      // O = output / l.
      sparsec.store_rows %3#0, %3#1 to %arg4[%batch, %head, %4 : i32, i32, i32] : <16, 128>, <16> -> tensor<?x?x?x128xbf16>
    }
  }
}
