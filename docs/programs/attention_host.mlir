// Attention with a pattern of 128 x 128 blocks on the host: bench/attention/attention_bf16_128_128x128.mlir, as the
// compiler prints it with --emit=tile --arch=host. The comments are not the compiler's. docs/tile-programs.md explains
// the ops. A test compares this file with the compiler.
sparsec.program @attention_bf16_128_128x128.host attributes {alignment = 2 : i64, kernel = @attention_bf16_128_128x128, schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 128, tile_n = 64, tile_k = 128, stages = 1, consumers_m = 1, consumers_n = 1, group_m = 1>, variant = 0 : i64} {
^bb0(%arg0: tensor<?x?x?x128xbf16>, %arg1: tensor<?x?x?x128xbf16>, %arg2: tensor<?x?x?x128xbf16>, %arg3: !sparsec.pattern<128x128>, %arg4: tensor<?x?x?x128xbf16>):
  // The tiles of a call, which are blocks of 128 queries of a head.
  sparsec.tile_loop {
  ^bb0(%tile_row: i32, %panel: i32):
    %tile = sparsec.tile %tile_row, %panel
    // The queries become f32. Sixteen of them are neighbours in vectors.
    %0 = sparsec.load_rows %arg0[%tile] : tensor<?x?x?x128xbf16> -> <128, 128, bf16>
    %1 = sparsec.zero : !sparsec.accumulator<128, 128>
    // The maximum and the sum of every query.
    %2 = sparsec.softmax_begin : <128>
    // The blocks of both lists, in steps of 64 keys. The mask region would apply to those of the first list.
    %3:2 = sparsec.key_loop of %arg3 : !sparsec.pattern<128x128> at %tile init(%1, %2 : !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128>) attributes {chunks = 2 : i64} -> !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128> {
    ^bb0(%block: !sparsec.block, %carried: !sparsec.accumulator<128, 128>, %carried_0: !sparsec.softmax_state<128>):
      // Keys and values become f32, once for all queries of the tile.
      %4 = sparsec.load_rows %arg1[%tile, %block] : tensor<?x?x?x128xbf16> -> <64, 128, bf16>
      // From here on sixteen queries at a time, so that their scores stay in the first cache.
      %5 = sparsec.zero : !sparsec.accumulator<128, 64>
      %6 = sparsec.chain %0, %4, %5 {depth = array<i64: 128>, x_transposed} : <128, 128, bf16>, <64, 128, bf16>, <128, 64>
      // Scores become probabilities in their place. The next product multiplies the output by its factor.
      %7:3 = sparsec.softmax %6, %carried_0, %carried at %tile, %block : <128, 64>, <128>, <128, 128> -> <128, 64, f32>
      %8 = sparsec.load_rows %arg2[%tile, %block] : tensor<?x?x?x128xbf16> -> <64, 128, bf16>
      %9 = sparsec.fragment_chain %7#0, %8, %7#2 : <128, 64, f32>, <64, 128, bf16>, <128, 128>
      sparsec.yield %9, %7#1 : !sparsec.accumulator<128, 128>, !sparsec.softmax_state<128>
    }
    // O = output / sum.
    sparsec.store_rows %3#0, %3#1 to %arg4[%tile : !sparsec.tile] : <128, 128>, <128> -> tensor<?x?x?x128xbf16>
  }
}
