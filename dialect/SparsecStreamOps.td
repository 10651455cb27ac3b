// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of streams that a warp copies for itself.

#ifndef SPARSEC_STREAM_OPS_TD
#define SPARSEC_STREAM_OPS_TD

include "SparsecTileOps.td"

def Sparsec_ReadBlocksOp : Sparsec_Op<"read_blocks", [Pure, Sparsec_NamesResults]> {
  let summary = "The numbers of the blocks of a chunk of the plan (SPARSEC_PLAN_CHUNK_BLOCKS).";
  let description = [{
    ```mlir
    %blocks = sparsec.read_blocks %chunk : <2>
    ```
  }];
  let arguments = (ins I32:$chunk);
  let results = (outs Sparsec_BlockNumbersType:$blocks);
  let assemblyFormat = "$chunk attr-dict `:` type($blocks)";
  let hasVerifier = 1;
}

def Sparsec_CopyBlocksOp : Sparsec_Op<"copy_blocks", []> {
  let summary = "Starts asynchronous copies of whole blocks into buffer 0 of a slot, one block below the other.";
  let description = [{
    The rows of the first block begin at row `at` of the buffer, a multiple of the rows of a block. Those of a
    transposed matrix go along K. A block whose number is negative is not copied, and its rows of the buffer keep what
    they had. The threads of a warp share the copies, and each waits for its own part by `sparsec.await_copies`.

    ```mlir
    sparsec.copy_blocks %w[%blocks] to %ring[%c] at(%row)
        : !sparsec.bsr<?x?xbf16, block = 16x16>, <2>, <16, [!sparsec.buffer<64, 16, bf16, strip = 32>]>
    ```
  }];
  let arguments = (ins Sparsec_BsrType:$source, Sparsec_BlockNumbersType:$blocks, Sparsec_RingType:$ring,
    Sparsec_CursorType:$cursor, I32:$at);
  let assemblyFormat = [{
    $source `[` $blocks `]` `to` $ring `[` $cursor `]` `at` `(` $at `)` attr-dict
    `:` type($source) `,` type($blocks) `,` type($ring)
  }];
  let hasVerifier = 1;
}

def Sparsec_CountProductsOp : Sparsec_Op<"count_products", [Pure, Sparsec_NamesResults]> {
  let summary = "The number of products of a group of consumers in the stages from one to another, which is left out.";
  let description = [{
    These are the bits of its words of the plan (SPARSEC_PLAN_STAGE_PRODUCTS). A stage has `words` words, of which
    number `word` is that of the group.

    ```mlir
    %count = sparsec.count_products %first to %stage of %word {words = 16 : i64}
    ```
  }];
  let arguments = (ins I32:$first, I32:$end, I32:$word, I64Attr:$words);
  let results = (outs I32:$count);
  let assemblyFormat = "$first `to` $end `of` $word attr-dict";
  let hasVerifier = 1;
}

def Sparsec_JoinPartsOp : Sparsec_Op<"join_parts", [
    TypesMatchWith<"the total has the type of the sum", "sum", "total", "$_self">, Sparsec_NamesResults
  ]> {
  let summary = "Joins the sums of the parts of a tile, in the group that comes last.";
  let description = [{
    For a `split` program of a product, where each part of K is a tile of the grid (`sparsec.tile_part`); `panel` is
    that of the grid. A group writes its sums to memory of the launch. Of the groups that have the same number in all
    parts of a tile, the one that comes last gets the sums of all parts, added in the order of the parts: the result
    does not depend on which group comes last. The other groups get sums that nobody may use.

    ```mlir
    %total, %is_last = sparsec.join_parts %sum of %tile_row, %panel : !sparsec.accumulator<16, 64>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$sum, I32:$tile_row, I32:$panel);
  let results = (outs Sparsec_AccumulatorType:$total, I1:$is_last);
  let assemblyFormat = "$sum `of` $tile_row `,` $panel attr-dict `:` type($sum)";
  let hasVerifier = 1;
}

#endif // SPARSEC_STREAM_OPS_TD
