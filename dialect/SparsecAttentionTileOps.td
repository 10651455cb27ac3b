// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tile ops that only attention needs, in the same two forms as those of SparsecTileOps.td. A tile is a block of queries
// of one batch and head, or half of one; the key loop walks the key blocks that it sees.

#ifndef SPARSEC_ATTENTION_TILE_OPS_TD
#define SPARSEC_ATTENTION_TILE_OPS_TD

include "SparsecTileOps.td"

def Sparsec_KeyLoopOp : Sparsec_Op<"key_loop", [SingleBlock, AttrSizedOperandSegments, Sparsec_NamesBlockArguments]> {
  let summary = "Walks the key blocks that the tile's queries see.";
  let description = [{
    The partial blocks of the tile's list, then the full ones; without a pattern all blocks, from the first or from the
    last one on. Blocks that `causal` or `window` exclude for every query of the tile are left out. What is left is
    walked in steps of one block or, where `tile_n` of the schedule has room for two, of two blocks that follow one
    another in the lists; the last step may have less. With `chunks` above 1 a step is a part of a block instead: that
    many parts of as many keys, one after another. The body's arguments are the blocks of the step, or the part, as one
    value, and the carried values.
  }];
  let arguments = (ins Optional<Sparsec_AnyPattern>:$pattern, Sparsec_TileType:$tile, Variadic<AnyType>:$inits,
    UnitAttr:$causal, OptionalAttr<DenseI64ArrayAttr>:$window, DefaultValuedAttr<I64Attr, "1">:$chunks);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`of` $pattern^ `:` type($pattern))? `at` $tile (`init` `(` $inits^ `:` type($inits) `)`)? attr-dict-with-keyword
    (`->` type($results)^)? $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Sparsec_LoadRowsOp : Sparsec_Op<"load_rows", [Pure]> {
  let summary = "Values form: rows of Q, K or V.";
  let description = [{
    The tile's queries (without a block), or the keys or values of a step's blocks, of the tile's batch and of its head
    (Q) or of the head of keys and values that belongs to it. Rows beyond the tensor are zero.

    ```mlir
    %k = sparsec.load_rows %keys[%tile, %block] : tensor<?x?x?x128xbf16> -> <64, 128, bf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, Sparsec_TileType:$tile, Optional<Sparsec_BlockType>:$block);
  let results = (outs Sparsec_BufferType:$result);
  let assemblyFormat = "$source `[` $tile (`,` $block^)? `]` attr-dict `:` type($source) `->` type($result)";
}

def Sparsec_CopyRowsOp : Sparsec_Op<"copy_rows", []> {
  let summary = "Copies what sparsec.load_rows gives into the current slot, or starts an asynchronous copy of it.";
  let description = [{
    ```mlir
    sparsec.copy_rows %keys[%tile, %block] to %ring : tensor<?x?x?x128xbf16>, <6, [!sparsec.buffer<64, 128, bf16>]>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, Sparsec_TileType:$tile, Optional<Sparsec_BlockType>:$block,
    Sparsec_RingType:$ring);
  let assemblyFormat = [{
    $source `[` $tile (`,` $block^)? `]` `to` $ring attr-dict `:` type($source) `,` type($ring)
  }];
}

def Sparsec_SoftmaxBeginOp : Sparsec_Op<"softmax_begin", [Pure]> {
  let summary = "The state of rows that have seen no score: the lowest finite f32 as m, and l = 0.";
  let description = [{
    Where the score region is known to be bounded and heads are bf16, m is a fixed shift that serves all keys.

    ```mlir
    %begin = sparsec.softmax_begin : <128>
    ```
  }];
  let results = (outs Sparsec_SoftmaxStateType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Sparsec_SoftmaxOp : Sparsec_Op<"softmax", [
    AllTypesMatch<["state", "newState"]>, AllTypesMatch<["output", "newOutput"]>, AttrSizedOperandSegments,
    Sparsec_NamesBlockArguments]> {
  let summary = "One step of the online softmax: scores of a step's keys become probabilities.";
  let description = [{
    `t = score(scale * scores)` where the key is visible, else -inf; `m' = max(m, row maximum of t)`; probabilities
    `exp(t - m')`, the new state `(m', l * exp(m - m') + row sum)`, the new output `output * exp(m - m')`. Source:
    Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018. `m` need not be the maximum:
    it may stay, and with it state and output, where no `exp(t - m)` exceeds 2^(2^-9), which bf16 rounds to 1 (more
    would round worse); and where the score region is known to be bounded, one `m` serves all keys of bf16 heads.
    Regions, `causal` and `window` are those of `sparsec.attention`; visible is what they say.
  }];
  let arguments = (ins Sparsec_AccumulatorType:$scores, Sparsec_SoftmaxStateType:$state,
    Sparsec_AccumulatorType:$output, Sparsec_TileType:$tile, Sparsec_BlockType:$block, Optional<F32>:$scale,
    Variadic<AnyRankedTensor>:$extras, UnitAttr:$causal, OptionalAttr<DenseI64ArrayAttr>:$window);
  let results = (outs Sparsec_FragmentType:$probabilities, Sparsec_SoftmaxStateType:$newState,
    Sparsec_AccumulatorType:$newOutput);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    $scores `,` $state `,` $output `at` $tile `,` $block (`scale` `(` $scale^ `)`)?
    (`extras` `(` $extras^ `:` type($extras) `)`)? attr-dict-with-keyword
    `:` type($scores) `,` type($state) `,` type($output) `->` type($probabilities)
    (`score` $score^)? (`mask` $mask^)?
  }];
}

def Sparsec_FragmentChainOp : Sparsec_Op<"fragment_chain", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "accumulator + P X: a chain of matrix instructions that takes P from registers.";
  let description = [{
    ```mlir
    %next = sparsec.fragment_chain %p, %v, %output : <128, 64, bf16>, <64, 128, bf16>, <128, 128>
    ```
  }];
  let arguments = (ins Sparsec_FragmentType:$fragment, Sparsec_BufferType:$x, Sparsec_AccumulatorType:$accumulator);
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = [{
    $fragment `,` $x `,` $accumulator attr-dict `:` type($fragment) `,` type($x) `,` type($accumulator)
  }];
}

def Sparsec_StoreRowsOp : Sparsec_Op<"store_rows", []> {
  let summary = "Divides the output by the row sums and writes the tile's queries, and the LSE where it is wanted.";
  let description = [{
    Rows whose sum is 0 get 0 and LSE = -inf.

    ```mlir
    sparsec.store_rows %output, %state to %o[%tile] lse(%lse : tensor<?x?x?xf32>)
        : <128, 128>, <128> -> tensor<?x?x?x128xbf16>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$output, Sparsec_SoftmaxStateType:$state, Sparsec_TileType:$tile,
    AnyRankedTensor:$result, Optional<AnyRankedTensor>:$lse);
  let assemblyFormat = [{
    $output `,` $state `to` $result `[` $tile `]` (`lse` `(` $lse^ `:` type($lse) `)`)? attr-dict
    `:` type($output) `,` type($state) `->` type($result)
  }];
}

#endif // SPARSEC_ATTENTION_TILE_OPS_TD
