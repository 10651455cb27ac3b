// A product with blocks of 64 x 64 on the host: bench/kernels/spmm_bf16_64x64_kn_mn.mlir, as the compiler prints it
// with --emit=tile --arch=host. The comments are not the compiler's. docs/tile-programs.md explains the ops. A test
// compares this file with the compiler.
sparsec.program @spmm_bf16_64x64_kn_mn.host attributes {alignment = 2 : i64, kernel = @spmm_bf16_64x64_kn_mn, schedule = #sparsec.schedule<instruction = multiply_add, copy = unpack, tile_m = 64, tile_n = 64, tile_k = 64, stages = 1, consumers_m = 1, consumers_n = 1, group_m = 1>, variant = 0 : i64} {
^bb0(%arg0: !sparsec.bsr<?x?xbf16, block = 64x64>, %arg1: tensor<?x?xbf16>, %arg2: tensor<?x?xbf16>):
  %c0_i32 = arith.constant 0 : i32
  %c64_i32 = arith.constant 64 : i32
  // The tiles of a call, which are rows of blocks by panels of 64 columns. Those of a panel follow one another.
  sparsec.tile_loop {
  ^bb0(%tile_row: i32, %panel: i32):
    %tile = sparsec.tile %tile_row, %panel
    // A buffer of 64 x 64 sums on the stack.
    %0 = sparsec.zero : !sparsec.accumulator<64, 64>
    // The blocks of the row. The loop carries the buffer; a chain changes it in its place.
    %1 = sparsec.block_loop %arg0 at %tile init(%0 : !sparsec.accumulator<64, 64>) attributes {blocks_per_step = 1 : i64, chunks = 1 : i64} : <?x?xbf16, block = 64x64> -> !sparsec.accumulator<64, 64> {
    ^bb0(%block: !sparsec.block, %chunk: i32, %acc: !sparsec.accumulator<64, 64>):
      // The block of W becomes f32 on the stack, in the order that it has in memory.
      %3 = sparsec.load a %arg0[%tile, %block, %chunk] : !sparsec.bsr<?x?xbf16, block = 64x64> -> <64, 64, bf16>
      // 64 rows of X become vectors of 16 columns. If the result were N x M, the rows of W would be vectors instead, and
      // X would keep its order.
      %4 = sparsec.load x %arg1[%tile, %block, %chunk] : tensor<?x?xbf16> -> <64, 64, bf16>
      // Six rows of 16 sums at a time, which stay in registers over the 64 of K.
      %5 = sparsec.chain %3, %4, %acc {depth = array<i64: 64>} : <64, 64, bf16>, <64, 64, bf16>, <64, 64>
      sparsec.yield %5 : !sparsec.accumulator<64, 64>
    }
    %c0_i32_0 = arith.constant 0 : i32
    %2 = arith.muli %panel, %c64_i32 : i32
    // The epilogue of every element, here none, then the rounding.
    sparsec.store %1 to %arg2[%tile_row, %c0_i32_0, %2] attributes {block_rows = 64 : i64, broadcast = []} : <64, 64> -> tensor<?x?xbf16> {
    ^bb0(%acc: f32):
      sparsec.yield %acc : f32
    }
  }
}
