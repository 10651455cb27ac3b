// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks of programs of roles. An op with the interface WalkOpInterface defines what the steps of a walk are and what
// they visit. The other ops take its result and go over the steps, whatever the walk is: `sparsec.walk` in a loop, the
// ops of steps one by one. One definition serves both ways, because a step visits the same values either way. Where a
// walk has only one of them, the verifier says so.

#ifndef SPARSEC_WALK_OPS_TD
#define SPARSEC_WALK_OPS_TD

include "SparsecTileOps.td"

//===----------------------------------------------------------------------===//
// Definitions
//===----------------------------------------------------------------------===//

def Sparsec_BlockWalkOp : Sparsec_Op<"block_walk", [Pure, Sparsec_NamesResults,
    DeclareOpInterfaceMethods<Sparsec_WalkOpInterface>]> {
  let summary = "The blocks of a matrix by their positions: `blocks` in a step, or a part of one.";
  let description = [{
    A position is that of a block in the order of block rows. A step visits the position of its first block, the block
    column of each block (`col_idx`), with a transposed matrix also the number of each block, with `scales` the scale of
    the block, and with `chunk_columns` the first column inside the block. The position is the number of a block unless
    the matrix is transposed: its blocks are stored in another order, which the plan's section `row_blocks` tells.

    With `blocks` a step has so many blocks, of which the last step may have less: a block from `end` on has the first
    block column beyond the matrix. With `chunk_columns` a step has so many columns of a block, and the last one of a
    block may have less. Only a walk by whole blocks has a loop, and only a loop with one block in a step visits scales.
    A loop that uses columns, numbers or scales loads those of the next step while its body runs; in a role of warps,
    with one block in a step, each thread loads those of one of 32 blocks at once. Steps have those that they need
    loaded when the walk comes to them.

    A `rotated` walk has a loop alone. If the columns of its n blocks are neighbours in ascending order, the loop begins
    with the block whose column is a multiple of n, and the blocks before that one come last. Otherwise it visits the
    blocks in their order.

    ```mlir
    %walk = sparsec.block_walk %w from %first to %end {blocks = 2 : i64} : <?x?xf16, block = 16x16>
    ```
    ```mlir
    %scaled = sparsec.block_walk %w scales(%s : tensor<?xf32>) from %first to %end : <?x?xbf16, block = 48x48>
    ```
  }];
  let arguments = (ins Sparsec_BsrType:$matrix, Optional<TensorOf<[F32]>>:$scales, I32:$first, I32:$end,
    DefaultValuedAttr<I64Attr, "1">:$blocks, OptionalAttr<I64Attr>:$chunk_columns, UnitAttr:$rotated);
  let results = (outs Sparsec_WalkType:$result);
  let assemblyFormat = [{
    $matrix (`scales` `(` $scales^ `:` type($scales) `)`)? `from` $first `to` $end attr-dict `:` type($matrix)
  }];
  // One block in a step.
  let builders = [OpBuilder<(ins "::mlir::Value":$matrix, "::mlir::Value":$first, "::mlir::Value":$end,
                                 CArg<"bool", "false">:$rotated, CArg<"::mlir::Value", "{}">:$scales), [{
    build($_builder, $_state, matrix, scales, first, end, /*blocks=*/1, /*chunk_columns=*/::mlir::IntegerAttr(),
          rotated);
  }]>];
  let hasVerifier = 1;
}

def Sparsec_KeyWalkOp : Sparsec_Op<"key_walk", [Pure, AttrSizedOperandSegments, Sparsec_NamesResults,
    DeclareOpInterfaceMethods<Sparsec_WalkOpInterface>]> {
  let summary = "The key blocks that a tile of queries sees: one or two in a step, or a part of one.";
  let description = [{
    The walk visits the blocks of the lists that `causal` and `window` allow for some query of the tile. Without lists
    it visits all blocks that they allow, with `from_end` the last one first. `first` is the first query of the tile,
    which has `rows` of them; `sizes` are the queries and keys of its sequence, without them those of Q and K. `part` is
    a part of the keys and the number of parts: the walk visits the part's equal share of the blocks, or of the entries
    of the lists, but at least `part_blocks`. The last parts may be empty. In a program that is `cut`, `part` is the
    first of these blocks or entries, counted from 0, and how many of them the walk visits: fewer, where the tile has
    fewer.

    A step visits one i32 for each of its `blocks`: twice the number of the block, plus 1 where the mask region applies
    (`sparsec.key_block` reads it). With two blocks the last step may have one: then the second is 2^25, a block beyond
    all keys. With `chunks` above 1 a step is a chunk of a block, one of so many after another, and is numbered among
    all chunks.

    Only a walk of one block or chunk at a time has steps. The step behind the last one visits -1. The entry of the
    lists for the step after the next is loaded when the walk comes to a step.

    ```mlir
    %walk = sparsec.key_walk %lists at %first {causal, chunks = 2 : i64, rows = 64 : i64, window = array<i64: 512, 0>}
    ```
  }];
  let arguments = (ins Optional<Sparsec_KeyListsType>:$lists, I32:$first, Variadic<I32>:$sizes, Variadic<I32>:$part,
    I64Attr:$rows, DefaultValuedAttr<I64Attr, "1">:$blocks, DefaultValuedAttr<I64Attr, "1">:$chunks,
    UnitAttr:$causal, OptionalAttr<DenseI64ArrayAttr>:$window, UnitAttr:$from_end,
    DefaultValuedAttr<I64Attr, "1">:$part_blocks);
  let results = (outs Sparsec_WalkType:$result);
  let assemblyFormat = "($lists^)? `at` $first (`sizes` `(` $sizes^ `)`)? (`part` `(` $part^ `)`)? attr-dict";
  let extraClassDeclaration = [{
    /// This number in place of the second block says that the step has one block.
    static constexpr int64_t noBlock = int64_t(1) << 25;
    /// This number in place of a step says that the walk has ended.
    static constexpr int64_t end = -1;
  }];
  let hasVerifier = 1;
}

def Sparsec_JointWalkOp : Sparsec_Op<"joint_walk", [Pure, Sparsec_NamesResults,
    DeclareOpInterfaceMethods<Sparsec_WalkOpInterface>]> {
  let summary = "The entries of a joint list: one or two in a step.";
  let description = [{
    A step visits an i32 for each of its `blocks`, the entry of the list, which `sparsec.joint_block` reads. The last
    step may have one block: then the second entry is one of neither row. The entries of a step are loaded when the walk
    comes to the step before.

    ```mlir
    %walk = sparsec.joint_walk %list {blocks = 2 : i64}
    ```
  }];
  let arguments = (ins Sparsec_JointListType:$list, DefaultValuedAttr<I64Attr, "1">:$blocks);
  let results = (outs Sparsec_WalkType:$result);
  let assemblyFormat = "$list attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Ways to go
//===----------------------------------------------------------------------===//

def Sparsec_WalkOp : Sparsec_Op<"walk", [SingleBlock, Sparsec_NamesBlockArguments]> {
  let summary = "A loop over the steps of a walk.";
  let description = [{
    The body's arguments are what a step visits, as the op that defines the walk says, and the carried values.

    ```mlir
    %last = sparsec.walk %walk init(%c : !sparsec.cursor) -> !sparsec.cursor {
    ^bb0(%block: i32, %current: !sparsec.cursor):
    ```
  }];
  let arguments = (ins Sparsec_WalkType:$walk, Variadic<AnyType>:$inits);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $walk (`init` `(` $inits^ `:` type($inits) `)`)? attr-dict-with-keyword (`->` type($results)^)? $body
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$walk, CArg<"::mlir::ValueRange", "{}">:$inits)>];
  let extraClassDeclaration = [{
    // The arguments of the body.
    mlir::ValueRange getVisited() { return getBody().getArguments().drop_back(getInits().size()); }
    mlir::ValueRange getCarried() { return getBody().getArguments().take_back(getInits().size()); }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Sparsec_FirstStepOp : Sparsec_Op<"first_step", [Sparsec_NamesResults]> {
  let summary = "The first step of a walk, and what it visits.";
  let description = [{
    The further results are those of `sparsec.read_step`, or none.

    ```mlir
    %step, %block = sparsec.first_step %walk : <3> -> i32
    ```
  }];
  let arguments = (ins Sparsec_WalkType:$walk);
  let results = (outs Sparsec_StepType:$result, Variadic<AnyType>:$visited);
  let assemblyFormat = "$walk attr-dict `:` type($result) (`->` type($visited)^)?";
  let builders = [OpBuilder<(ins "::mlir::Value":$walk, "bool":$reads)>];
  let hasVerifier = 1;
}

def Sparsec_NextStepOp : Sparsec_Op<"next_step", [AllTypesMatch<["step", "result"]>, Sparsec_NamesResults]> {
  let summary = "The step after this one, and what it visits.";
  let description = [{
    The further results are those of `sparsec.read_step`, or none.

    ```mlir
    %next, %block = sparsec.next_step %walk[%step] : <3> -> i32
    ```
  }];
  let arguments = (ins Sparsec_WalkType:$walk, Sparsec_StepType:$step);
  let results = (outs Sparsec_StepType:$result, Variadic<AnyType>:$visited);
  let assemblyFormat = "$walk `[` $step `]` attr-dict `:` type($result) (`->` type($visited)^)?";
  let builders = [OpBuilder<(ins "::mlir::Value":$walk, "::mlir::Value":$step, "bool":$reads)>];
  let hasVerifier = 1;
}

def Sparsec_ReadStepOp : Sparsec_Op<"read_step"> {
  let summary = "The block that a step visits, in the terms of the op that defines the walk.";
  let description = [{
    ```mlir
    %block, %column, %second = sparsec.read_step %walk[%next] : <3> -> i32, i32, i32
    ```
  }];
  let arguments = (ins Sparsec_WalkType:$walk, Sparsec_StepType:$step);
  let results = (outs Variadic<AnyType>:$visited);
  let assemblyFormat = "$walk `[` $step `]` attr-dict `:` type($step) `->` type($visited)";
  let builders = [OpBuilder<(ins "::mlir::Value":$walk, "::mlir::Value":$step)>];
  let hasVerifier = 1;
}

#endif // SPARSEC_WALK_OPS_TD
