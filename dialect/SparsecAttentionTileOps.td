// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tile ops that only attention needs, in the same forms as those of SparsecTileOps.td. A tile is a block of queries of
// one batch and head, or half of one. The values form walks its key blocks by `key_loop`, programs of roles by a
// `key_walk` (SparsecWalkOps.td).

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
    value, and the carried values. The tensors give sequences sizes of their own, as those of `sparsec.attention`.
  }];
  let arguments = (ins Optional<Sparsec_AnyPattern>:$pattern, Sparsec_TileType:$tile, Variadic<AnyType>:$inits,
    Optional<AnyRankedTensor>:$query_starts, Optional<AnyRankedTensor>:$key_starts,
    Optional<AnyRankedTensor>:$key_lengths, Optional<AnyRankedTensor>:$page_table,
    UnitAttr:$causal, OptionalAttr<DenseI64ArrayAttr>:$window, DefaultValuedAttr<I64Attr, "1">:$chunks);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`of` $pattern^ `:` type($pattern))? `at` $tile (`init` `(` $inits^ `:` type($inits) `)`)?
    (`query_starts` `(` $query_starts^ `:` type($query_starts) `)`)?
    (`key_starts` `(` $key_starts^ `:` type($key_starts) `)`)?
    (`key_lengths` `(` $key_lengths^ `:` type($key_lengths) `)`)?
    (`page_table` `(` $page_table^ `:` type($page_table) `)`)?
    attr-dict-with-keyword (`->` type($results)^)? $body
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

def Sparsec_SoftmaxBeginOp : Sparsec_Op<"softmax_begin", [Pure]> {
  let summary = "The state of rows that have seen no score: the lowest finite f32 as m, and l = 0.";
  let description = [{
    Where the score region is known to be bounded and heads are bf16, m is a fixed shift that serves all keys. In a role
    the operand says whose rows they are.

    ```mlir
    %begin = sparsec.softmax_begin of %softmax : <64>
    ```
  }];
  let arguments = (ins Optional<Sparsec_TileSoftmaxType>:$softmax);
  let results = (outs Sparsec_SoftmaxStateType:$result);
  let assemblyFormat = "(`of` $softmax^)? attr-dict `:` type($result)";
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

def Sparsec_TileOrI32 : AnyTypeOf<[Sparsec_TileType, I32]>;

def Sparsec_StoreRowsOp : Sparsec_Op<"store_rows", [AttrSizedOperandSegments]> {
  let summary = "Divides the output by the row sums and writes the queries, and the LSE where it is wanted.";
  let description = [{
    A sink of the head joins the sum first. Rows whose sum is 0 get 0 and LSE = -inf. In a role the coordinates are the
    batch, the head and the first query of the group; else the tile. Rows of the result from `end` on stay as they are.

    ```mlir
    sparsec.store_rows %output, %state to %o[%batch, %head, %query : i32, i32, i32] lse(%lse : tensor<?x?x?xf32>)
        : <64, 128>, <64> -> tensor<?x?x?x128xbf16>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$output, Sparsec_SoftmaxStateType:$state,
    Variadic<Sparsec_TileOrI32>:$at, AnyRankedTensor:$result, Optional<I32>:$end, Optional<AnyRankedTensor>:$lse,
    Optional<AnyRankedTensor>:$sinks);
  let assemblyFormat = [{
    $output `,` $state `to` $result `[` $at `:` type($at) `]` (`end` `(` $end^ `)`)?
    (`lse` `(` $lse^ `:` type($lse) `)`)? (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    attr-dict `:` type($output) `,` type($state) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Sparsec_MergeRowsOp : Sparsec_Op<"merge_rows", []> {
  let summary = "Merges rows of two parts of the keys, and writes them (`sparsec.merge`).";
  let description = [{
    A tile has `rows` of the B x H x Sq rows, one batch and head after the other. In a role `lanes` neighbouring threads
    share a row, and each moves `vector` elements of it at a time: the columns of a pass follow one another in memory. A
    row of more columns takes several passes. All threads of a warp execute the op, because those of a row read its LSE
    before one of them writes the new one, which may be in its place. On the host `lanes` is 1.

    ```mlir
    sparsec.merge_rows %o1, %lse1 and %o2, %lse2 to %o, %lse[%tile_row]
        {lanes = 8 : i64, rows = 32 : i64, vector = 8 : i64}
        : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32> and tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
        to tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$first, AnyRankedTensor:$first_lse, AnyRankedTensor:$second,
    AnyRankedTensor:$second_lse, AnyRankedTensor:$result, AnyRankedTensor:$lse, I32:$tile, I64Attr:$rows,
    I64Attr:$lanes, I64Attr:$vector);
  let assemblyFormat = [{
    $first `,` $first_lse `and` $second `,` $second_lse `to` $result `,` $lse `[` $tile `]` attr-dict
    `:` type($first) `,` type($first_lse) `and` type($second) `,` type($second_lse) `to` type($result) `,` type($lse)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Programs of roles
//===----------------------------------------------------------------------===//

def Sparsec_QueryTileOp : Sparsec_Op<"query_tile", [Pure, Sparsec_NamesResults]> {
  let summary = "Where a tile of queries is: batch, head of Q, head of K and V that belongs to it, and first query.";
  let description = [{
    A tile row is a head of a batch, a panel `rows` queries. The last queries, which see most with `causal`, have the
    first panel; with `forward` the first queries have it.

    ```mlir
    %batch, %head, %key_head, %first = sparsec.query_tile %q, %k[%tile_row, %panel] {rows = 128 : i64}
        : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key, I32:$tile_row, I32:$panel, I64Attr:$rows,
    UnitAttr:$forward);
  let results = (outs I32:$batch, I32:$head, I32:$key_head, I32:$first);
  let assemblyFormat = "$query `,` $key `[` $tile_row `,` $panel `]` attr-dict `:` type($query) `,` type($key)";
}

def Sparsec_PackedTileOp : Sparsec_Op<"packed_tile", [Pure, Sparsec_NamesResults]> {
  let summary = "Which tile a head and a panel of packed queries are, as `sparsec.query_tile` counts tiles `forward`.";
  let description = [{
    Sequence b has the panels from `starts[b] / rows + b` on, which is room for all its queries and at most one panel
    too many. So a search in `starts` finds the sequence of a panel. The last queries of a sequence have its first
    panel. A panel without queries gets a tile behind them.

    ```mlir
    %row, %block = sparsec.packed_tile %q, %starts[%head, %panel] {rows = 128 : i64}
        : tensor<1x?x?x128xbf16>, tensor<?xi32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$starts, I32:$head, I32:$panel, I64Attr:$rows);
  let results = (outs I32:$tile_row, I32:$block);
  let assemblyFormat = "$query `,` $starts `[` $head `,` $panel `]` attr-dict `:` type($query) `,` type($starts)";
}

def Sparsec_TilePartOp : Sparsec_Op<"tile_part", [Pure, Sparsec_NamesResults]> {
  let summary = "The panel of a tile, the part of its K or of its keys, and the number of parts.";
  let description = [{
    A launch of a `split` program shares out K, or the keys, of every tile, so that few tiles have work for all SMs.
    Each part is a tile of the grid: the parts of a panel follow one another.

    ```mlir
    %panel, %part, %parts = sparsec.tile_part %block
    ```
  }];
  let arguments = (ins I32:$tile_panel);
  let results = (outs I32:$panel, I32:$part, I32:$parts);
  let assemblyFormat = "$tile_panel attr-dict";
}

def Sparsec_SequenceOp : Sparsec_Op<"sequence", [Pure, AttrSizedOperandSegments, Sparsec_NamesResults]> {
  let summary = "The first rows of a sequence in Q and in K and V, and its numbers of queries and keys.";
  let description = [{
    The tensors are those of `sparsec.attention`. Starts and lengths that are out of range count as the nearest ones
    that are in range, so that no kernel reads beyond a tensor.

    ```mlir
    %query_row, %queries, %key_row, %keys = sparsec.sequence %q, %k[%batch] key_lengths(%lengths : tensor<?xi32>)
        : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key, I32:$batch,
    Optional<AnyRankedTensor>:$query_starts, Optional<AnyRankedTensor>:$key_starts,
    Optional<AnyRankedTensor>:$key_lengths, Optional<AnyRankedTensor>:$page_table);
  let results = (outs I32:$query_row, I32:$queries, I32:$key_row, I32:$keys);
  let assemblyFormat = [{
    $query `,` $key `[` $batch `]` (`query_starts` `(` $query_starts^ `:` type($query_starts) `)`)?
    (`key_starts` `(` $key_starts^ `:` type($key_starts) `)`)?
    (`key_lengths` `(` $key_lengths^ `:` type($key_lengths) `)`)?
    (`page_table` `(` $page_table^ `:` type($page_table) `)`)? attr-dict `:` type($query) `,` type($key)
  }];
}

def Sparsec_FindPageOp : Sparsec_Op<"find_page", [Pure, Sparsec_NamesResults]> {
  let summary = "The page of a key, and the key's row in it.";
  let description = [{
    `keys` is the number of keys of the sequence. A key behind them gets the page of the last one.

    ```mlir
    %page, %page_row = sparsec.find_page %table, %k[%row, %block] of %panel
        : tensor<?x?xi32>, tensor<?x?x64x128xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$table, AnyRankedTensor:$pages, I32:$batch, I32:$key, I32:$keys);
  let results = (outs I32:$page, I32:$page_row);
  let assemblyFormat = [{
    $table `,` $pages `[` $batch `,` $key `]` `of` $keys attr-dict `:` type($table) `,` type($pages)
  }];
}

def Sparsec_KeyListsOp : Sparsec_Op<"key_lists", [Pure, Sparsec_NamesResults]> {
  let summary = "The lists of a pattern for a tile of queries: the partial blocks, then the full ones.";
  let description = [{
    The coordinates are the batch, the head and the first query of the tile. With `packed` queries the rows of the
    pattern, not those of Q, tell how many lists a head has.

    ```mlir
    %lists = sparsec.key_lists %pattern[%batch, %head, %first] : !sparsec.pattern<128x64>
    ```
  }];
  let arguments = (ins Sparsec_AnyPattern:$pattern, I32:$batch, I32:$head, I32:$first, UnitAttr:$packed);
  let results = (outs Sparsec_KeyListsType:$result);
  let assemblyFormat = "$pattern `[` $batch `,` $head `,` $first `]` attr-dict `:` type($pattern)";
}

def Sparsec_JointListOp : Sparsec_Op<"joint_list", [Pure, Sparsec_NamesResults]> {
  let summary = "The joint list that a plan has for a tile of two block rows.";
  let description = [{
    The coordinates are the batch, the head and the first query of the tile. The sections `SPARSEC_PLAN_JOINT_RANGES`
    and `SPARSEC_PLAN_JOINT_BLOCKS` of the plan (`plan_sections.h`) hold the list: the key blocks that one of the two
    block rows sees, in whole steps. `sparsec.joint_walk` visits them. Steps at the end may be divided: the first block
    row alone sees their first block, and the second row alone their second block. Bit 31 of their entries is set.

    ```mlir
    %list = sparsec.joint_list %pattern[%batch, %head, %first] : !sparsec.pattern<64x64>
    ```
  }];
  let arguments = (ins Sparsec_AnyPattern:$pattern, I32:$batch, I32:$head, I32:$first);
  let results = (outs Sparsec_JointListType:$result);
  let assemblyFormat = "$pattern `[` $batch `,` $head `,` $first `]` attr-dict `:` type($pattern)";
  let extraClassDeclaration = [{
    /// The entry that fills up the last shared step: block 0, which neither row sees.
    static constexpr int64_t noBlock = int64_t(3) << 28;
  }];
}

def Sparsec_JointBlockOp : Sparsec_Op<"joint_block", [Pure, Sparsec_NamesResults]> {
  let summary = "Reads an entry of a joint list: the first key of its block, and whether the mask region applies.";
  let description = [{
    `row` is 0 for the first block row of the tile and 1 for the second one. A block that this row does not see gets a
    first key of 2^30 or more, which is behind all keys, so that the row's scores are hidden as those of keys behind the
    last one are. Without `row` the key is that of the block, whoever sees it, and `partial` is false.

    ```mlir
    %key, %partial = sparsec.joint_block %block of %group {keys = 64 : i64}
    ```
  }];
  let arguments = (ins I32:$block, Optional<I32>:$row, I64Attr:$keys);
  let results = (outs I32:$key, I1:$partial);
  let assemblyFormat = "$block (`of` $row^)? attr-dict";
}

def Sparsec_KeyBlockOp : Sparsec_Op<"key_block", [Pure, Sparsec_NamesResults]> {
  let summary = "Reads a block of a `sparsec.key_walk`: its first key, and whether the mask region applies.";
  let description = [{
    ```mlir
    %key, %partial = sparsec.key_block %block {keys = 128 : i64}
    ```
  }];
  let arguments = (ins I32:$block, I64Attr:$keys);
  let results = (outs I32:$key, I1:$partial);
  let assemblyFormat = "$block attr-dict";
}

def Sparsec_IfStepOp : Sparsec_Op<"if_step", [SingleBlock, NoTerminator, Sparsec_NamesBlockArguments]> {
  let summary = "Runs its body if a step of a `sparsec.key_walk` exists. The argument is the first key of the step.";
  let description = [{
    ```mlir
    sparsec.if_step %upcoming of 32 keys (%key) {
    ```
  }];
  let arguments = (ins I32:$step, I64Attr:$keys);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Sparsec_TileSoftmaxOp : Sparsec_Op<"tile_softmax", [
    AttrSizedOperandSegments, Sparsec_NamesBlockArguments, Sparsec_NamesResults]> {
  let summary = "The softmax of a group's queries: its regions, `causal` and `window`.";
  let description = [{
    The coordinates are the batch, the head and the first query of the tile; the queries of the group begin `row` behind
    it. `sizes` are the queries and keys of the sequence, without them those of Q and K. Elements that the regions load
    by batch and head alone are loaded here, and terms of queries are computed: values that the regions make of elements
    of the query, whatever the key. Regions and attributes are those of `sparsec.softmax`.

    ```mlir
    %softmax = sparsec.tile_softmax at(%batch, %head, %first) row(%group_row) attributes {causal}
    ```
  }];
  let arguments = (ins I32:$batch, I32:$head, I32:$first, I32:$row, Variadic<I32>:$sizes, Optional<F32>:$scale,
    Variadic<AnyRankedTensor>:$extras, UnitAttr:$causal, OptionalAttr<DenseI64ArrayAttr>:$window);
  let results = (outs Sparsec_TileSoftmaxType:$result);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    `at` `(` $batch `,` $head `,` $first `)` `row` `(` $row `)` (`sizes` `(` $sizes^ `)`)? (`scale` `(` $scale^ `)`)?
    (`extras` `(` $extras^ `:` type($extras) `)`)? attr-dict-with-keyword (`score` $score^)? (`mask` $mask^)?
  }];
  let hasVerifier = 1;
}

class Sparsec_ScoreStepOp<string mnemonic, list<Trait> traits = []>
    : Sparsec_Op<mnemonic, !listconcat([AttrSizedOperandSegments], traits)> {
  dag step = (ins Variadic<I32>:$keys, Variadic<I1>:$partial);
  let hasVerifier = 1;
}

def Sparsec_ScoreBiasOp : Sparsec_ScoreStepOp<"score_bias", [Pure]> {
  let summary = "The sums that the products of a step start from, where the score region adds a linear bias.";
  let description = [{
    The bias is divided by the scale of the products, so that it costs one multiply-add for each score. `keys` are the
    first keys of the step's blocks. `partial` says whether the mask region applies to them.

    ```mlir
    %bias = sparsec.score_bias %softmax at(%key) partial(%partial) : <64, 128>
    ```
  }];
  let arguments = !con((ins Sparsec_TileSoftmaxType:$softmax), step);
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = "$softmax `at` `(` $keys `)` `partial` `(` $partial `)` attr-dict `:` type($result)";
}

def Sparsec_KeyTermsOp : Sparsec_ScoreStepOp<"key_terms", [Sparsec_NamesResults]> {
  let summary = "Computes the terms of the keys of a step: values that the regions make of elements of the key alone.";
  let description = [{
    The warps of a group share the work, so that each thread computes its terms for few keys. The op precedes
    the wait for the products, which hides its loads. Where no mask region applies, terms of the mask are not computed.
    What a mask region makes of positions and terms, as far as it has that form, becomes mask words here.

    ```mlir
    %terms = sparsec.key_terms %softmax at(%key) partial(%partial)
    ```
  }];
  let arguments = !con((ins Sparsec_TileSoftmaxType:$softmax), step);
  let results = (outs Sparsec_KeyTermsType:$result);
  let assemblyFormat = "$softmax `at` `(` $keys `)` `partial` `(` $partial `)` attr-dict";
}

def Sparsec_RowMaximumOp : Sparsec_ScoreStepOp<"row_maximum", [
    AllTypesMatch<["products", "scores"]>, AllTypesMatch<["state", "raised"]>]> {
  let summary = "Makes scores of a step's products, and replaces m where a score exceeds it.";
  let description = [{
    Scores of invisible keys become -inf. The output has to follow by `sparsec.rescale`. A softmax with a fixed shift
    does without this op. Without `terms` of the keys, the regions compute them for every score. Source: Milakov and
    Gimelshein, "Online normalizer calculation for softmax", 2018.

    ```mlir
    %scores, %raised, %rescaling = sparsec.row_maximum %softmax, %s, %state at(%key) partial(%partial) : <64, 128>, <64>
    ```
  }];
  let arguments = !con((ins Sparsec_TileSoftmaxType:$softmax, Sparsec_AccumulatorType:$products,
    Sparsec_SoftmaxStateType:$state), step, (ins Optional<Sparsec_KeyTermsType>:$terms));
  let results = (outs Sparsec_AccumulatorType:$scores, Sparsec_SoftmaxStateType:$raised,
    Sparsec_RescalingType:$rescaling);
  let assemblyFormat = [{
    $softmax `,` $products `,` $state `at` `(` $keys `)` `partial` `(` $partial `)` (`terms` `(` $terms^ `)`)? attr-dict
    `:` type($products) `,` type($state)
  }];
}

def Sparsec_ExponentiateOp : Sparsec_ScoreStepOp<"exponentiate", [
    AllTypesMatch<["scores", "probabilities"]>, AllTypesMatch<["state", "summed"]>]> {
  let summary = "Makes probabilities 2^(exponent - m) of scores, and adds them to l.";
  let description = [{
    The scores are those of `sparsec.row_maximum` or, with a fixed shift, the products. The regions then change them
    with the `terms` of the keys.

    ```mlir
    %p, %summed = sparsec.exponentiate %softmax, %scores, %raised at(%key) partial(%partial) : <64, 128>, <64>
    ```
  }];
  let arguments = !con((ins Sparsec_TileSoftmaxType:$softmax, Sparsec_AccumulatorType:$scores,
    Sparsec_SoftmaxStateType:$state), step, (ins Optional<Sparsec_KeyTermsType>:$terms));
  let results = (outs Sparsec_AccumulatorType:$probabilities, Sparsec_SoftmaxStateType:$summed);
  let assemblyFormat = [{
    $softmax `,` $scores `,` $state `at` `(` $keys `)` `partial` `(` $partial `)` (`terms` `(` $terms^ `)`)? attr-dict
    `:` type($scores) `,` type($state)
  }];
}

def Sparsec_AnyProbabilityOp : Sparsec_Op<"any_probability"> {
  let summary = "Whether a warp may have a probability of the step that is not zero.";
  let description = [{
    Where it is false, `sparsec.exponentiate` would give zeros alone and leave the state as it is: far from its query a
    linear bias makes all exponents so small. Scores and state are those of `sparsec.row_maximum`.

    ```mlir
    %any = sparsec.any_probability %softmax, %scores, %raised : <64, 128>, <64>
    ```
  }];
  let arguments = (ins Sparsec_TileSoftmaxType:$softmax, Sparsec_AccumulatorType:$scores,
    Sparsec_SoftmaxStateType:$state);
  let results = (outs I1:$result);
  let assemblyFormat = "$softmax `,` $scores `,` $state attr-dict `:` type($scores) `,` type($state)";
}

def Sparsec_ZeroProbabilitiesOp : Sparsec_Op<"zero_probabilities", [Pure, AllTypesMatch<["scores", "result"]>]> {
  let summary = "The probabilities of a step where `sparsec.any_probability` is false, all of which are zero.";
  let description = [{
    They are made of a score: the assembler would write constants in front of the branch, in all steps.

    ```mlir
    %p = sparsec.zero_probabilities %softmax, %scores, %raised : <64, 128>, <64>
    ```
  }];
  let arguments = (ins Sparsec_TileSoftmaxType:$softmax, Sparsec_AccumulatorType:$scores,
    Sparsec_SoftmaxStateType:$state);
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = "$softmax `,` $scores `,` $state attr-dict `:` type($scores) `,` type($state)";
}

def Sparsec_ToFragmentOp : Sparsec_Op<"to_fragment", [Pure]> {
  let summary = "Rounds an accumulator to elements of an A operand, which stay in the registers of their threads.";
  let description = [{
    ```mlir
    %a = sparsec.to_fragment %p : <64, 128> -> <64, 128, bf16>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$accumulator);
  let results = (outs Sparsec_FragmentType:$result);
  let assemblyFormat = "$accumulator attr-dict `:` type($accumulator) `->` type($result)";
  let hasVerifier = 1;
}

def Sparsec_RescaleOp : Sparsec_Op<"rescale", [Pure, AllTypesMatch<["output", "result"]>]> {
  let summary = "Multiplies the rows of the output by alpha, where m was replaced.";
  let description = [{
    ```mlir
    %rescaled = sparsec.rescale %output by %rescaling : <64, 128>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$output, Sparsec_RescalingType:$rescaling);
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = "$output `by` $rescaling attr-dict `:` type($output)";
}

def Sparsec_SumRowsOp : Sparsec_Op<"sum_rows", [Pure, AllTypesMatch<["state", "result"]>]> {
  let summary = "Completes l: adds up the parts that the threads of a row have.";
  let description = [{
    With an output of products with `ones`, l is what their last columns have.

    ```mlir
    %rows = sparsec.sum_rows %state : <64>
    ```
    ```mlir
    %rows_of_output = sparsec.sum_rows %summed, %output_with_sums : <64>, !sparsec.accumulator<64, 72>
    ```
  }];
  let arguments = (ins Sparsec_SoftmaxStateType:$state, Optional<Sparsec_AccumulatorType>:$output);
  let results = (outs Sparsec_SoftmaxStateType:$result);
  let assemblyFormat = "$state (`,` $output^)? attr-dict `:` type($state) (`,` type($output)^)?";
}

def Sparsec_StorePartOp : Sparsec_Op<"store_part", [AttrSizedOperandSegments]> {
  let summary = "Writes the rows of a part of the keys to memory of the launch, for the kernel that merges the parts.";
  let description = [{
    The coordinates and the tensors are those of `sparsec.store_rows`; the kernel that merges the parts writes the
    tensors. `part` is the part and the number of parts. There are two workspaces of f32, in which rows of Q are counted
    over batches and heads. Row r has m and l in entry `r * parts + part` of one. The other has the output, which is not
    divided by l yet, in pieces of 16 columns: piece c of a row is behind those of all rows of Q for the parts before
    this one, and for the pieces before it. Threads hold two neighbouring columns of every group of eight, so that in a
    piece pair p of its first group and then of its second group follow those of pair p - 1. Rows that have seen no key
    have l = 0, and no output. Rows of Q from `end` on are not written.

    ```mlir
    sparsec.store_part %output, %rows to %y[%batch, %head, %row] part(%part, %parts)
        : <64, 128>, <64> -> tensor<?x?x?x128xbf16>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$output, Sparsec_SoftmaxStateType:$state, I32:$batch, I32:$head,
    I32:$row, Variadic<I32>:$part, AnyRankedTensor:$result, Optional<I32>:$end, Optional<AnyRankedTensor>:$lse,
    Optional<AnyRankedTensor>:$sinks);
  let assemblyFormat = [{
    $output `,` $state `to` $result `[` $batch `,` $head `,` $row `]` `part` `(` $part `)` (`end` `(` $end^ `)`)?
    (`lse` `(` $lse^ `:` type($lse) `)`)? (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    attr-dict `:` type($output) `,` type($state) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Sparsec_ClearRowsOp : Sparsec_Op<"clear_rows", []> {
  let summary = "Makes rows of a slot zero, before the groups of a role multiply them.";
  let description = [{
    The buffer has as many equal parts as there are numbers in `from`. The rows of a part from its number on become
    zero. A number that the part does not reach changes nothing, and one below 0 clears the part. Rows of V behind the
    last key of a sequence need it: their probabilities are 0, but 0 times NaN is NaN. All groups of the role execute
    the op, share the work and wait for each other. `sparsec-assign-shared-memory` sets `first_barrier`: the named
    barrier is that plus the number of the tile in the CTA.

    ```mlir
    sparsec.clear_rows %ring[%c] from(%panel) : <2, [!sparsec.buffer<128, 128, bf16, strip = 128>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Sparsec_CursorType:$cursor, Variadic<I32>:$from,
    OptionalAttr<I64Attr>:$first_barrier);
  let assemblyFormat = "$ring `[` $cursor `]` `from` `(` $from `)` attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def Sparsec_ScaleRowsOp : Sparsec_Op<"scale_rows", []> {
  let summary = "Multiplies rows of a slot by a power of two, before their group multiplies them.";
  let description = [{
    The rows are `rows` of the slot from `row` on, those of the group that executes the op. All its threads share the
    work and wait for each other. The softmax of the program takes the power, 2^`exponent`, into account. Small scores
    of a soft cap then are those below 2, which takes fewer instructions to find than another limit. Elements are bf16,
    so that no bit is lost. `sparsec-assign-shared-memory` sets `first_barrier`: the named barrier is that plus the
    number of the group in the CTA.

    ```mlir
    sparsec.scale_rows %ring[%c] from %row {exponent = -5 : i64, rows = 64 : i64} : !ring
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Sparsec_CursorType:$cursor, I32:$row, I64Attr:$rows, I64Attr:$exponent,
    OptionalAttr<I64Attr>:$first_barrier);
  let assemblyFormat = "$ring `[` $cursor `]` `from` $row attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def Sparsec_IssuerOp : Sparsec_Op<"issuer", []> {
  let summary = "Reads which tile of the CTA issues products.";
  let description = [{
    An i32 at `offset` in shared memory, which `sparsec-assign-shared-memory` sets. Read beside the messages of the
    keys, it is there as soon as they are.

    ```mlir
    %issuer = sparsec.issuer
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Sparsec_IssueBeginOp : Sparsec_Op<"issue_begin", []> {
  let summary = "Lets another tile of the CTA that issues products finish, and says that this one issues.";
  let description = [{
    A courtesy and no lock: if `issuer`, which was read before, is another tile, a bounded number of reads until there
    is none; two that see no issuer both begin. So nothing depends on who has work.

    ```mlir
    sparsec.issue_begin %issuer
    ```
  }];
  let arguments = (ins I32:$issuer, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "$issuer attr-dict";
}

def Sparsec_IssueEndOp : Sparsec_Op<"issue_end", []> {
  let summary = "Says that no tile issues products.";
  let description = [{
    ```mlir
    sparsec.issue_end
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = "attr-dict";
}

#endif // SPARSEC_ATTENTION_TILE_OPS_TD
