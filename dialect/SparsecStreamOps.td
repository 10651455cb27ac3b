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

#endif // SPARSEC_STREAM_OPS_TD
