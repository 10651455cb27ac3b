// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scales of fp8 products: how they come to the registers of a group, and the sums that they multiply.

#ifndef SPARSEC_SCALE_OPS_TD
#define SPARSEC_SCALE_OPS_TD

include "SparsecTileOps.td"

def Sparsec_BlockScaleOp : Sparsec_Op<"block_scale", [Pure, Sparsec_NamesResults]> {
  let summary = "The scale of a stored block.";
  let description = [{
    ```mlir
    %scale = sparsec.block_scale %scales[%block] : tensor<?xf32>
    ```
  }];
  let arguments = (ins TensorOf<[F32]>:$scales, I32:$block);
  let results = (outs F32:$scale);
  let assemblyFormat = "$scales `[` $block `]` attr-dict `:` type($scales)";
}

def Sparsec_ColumnScalesOp : Sparsec_Op<"column_scales", [Pure, Sparsec_NamesResults]> {
  let summary = "The scales of columns of X for one part of K, from an N x ceil(K / 128) tensor.";
  let description = [{
    The columns are those of X from `column` on, and `part` is a number of 128 of K. Columns beyond N have some scale,
    which nothing stores. Every scale is multiplied by `scale`, that of a block.

    ```mlir
    %factors = sparsec.column_scales %x_scale[%first, %number] times %scale : tensor<?x?xf32> -> <128>
    ```
  }];
  let arguments = (ins TensorOf<[F32]>:$x_scale, I32:$column, I32:$part, Optional<F32>:$scale);
  let results = (outs Sparsec_ColumnScalesType:$scales);
  let assemblyFormat = [{
    $x_scale `[` $column `,` $part `]` (`times` $scale^)? attr-dict `:` type($x_scale) `->` type($scales)
  }];
  let hasVerifier = 1;
}

def Sparsec_CopyScalesOp : Sparsec_Op<"copy_scales", []> {
  let summary = "Fills a slot of a ring of scales with those of X for one part of K, by cp.async.";
  let description = [{
    The last buffer of the ring has a place for each column of X from `column` on: elements that are far apart in the
    N x ceil(K / 128) tensor lie together. The threads of a role of one warp share the copies. A slot is full when these
    and all other copies to it are there. Columns beyond N have some scale, which nothing stores, and parts beyond K
    have zeros.

    ```mlir
    sparsec.copy_scales %x_scale[%first, %number] to %scale_ring[%c]
        : tensor<?x?xf32>, !sparsec.ring<2, [!sparsec.buffer<1, 256, f32>]>
    ```
  }];
  let arguments = (ins TensorOf<[F32]>:$x_scale, I32:$column, I32:$part, Sparsec_RingType:$ring,
    Sparsec_CursorType:$cursor);
  let assemblyFormat = [{
    $x_scale `[` $column `,` $part `]` `to` $ring `[` $cursor `]` attr-dict `:` type($x_scale) `,`
    qualified(type($ring))
  }];
  let hasVerifier = 1;
}

def Sparsec_StageScalesOp : Sparsec_Op<"stage_scales", []> {
  let summary = "Fills the scales of a slot with those of one part of K, from a tile of the scales of X.";
  let description = [{
    A slot of `tiles` has a row for each column of X in a tile. A row of n columns has the scales of n consecutive parts
    of K, from a multiple of n on, as they lie in the N x ceil(K / 128) tensor. `part` is one of them. Every scale is
    multiplied by `scale`, that of a block. The last buffer of `ring` has a place for each column of X in a tile, as for
    `sparsec.copy_scales`. The threads of a role of one warp share the work. A slot is full when all of them have stored
    their scales and all copies to it are there.

    ```mlir
    sparsec.stage_scales %scale_tiles[%tile] part(%part) times %scale to %scale_ring[%slot]
        : !sparsec.ring<2, [!sparsec.buffer<64, 32, f32, strip = 128>]>, !sparsec.ring<8, [!sparsec.buffer<1, 64, f32>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$tiles, Sparsec_CursorType:$tile, I32:$part, Optional<F32>:$scale,
    Sparsec_RingType:$ring, Sparsec_CursorType:$cursor);
  let assemblyFormat = [{
    $tiles `[` $tile `]` `part` `(` $part `)` (`times` $scale^)? `to` $ring `[` $cursor `]` attr-dict `:`
    qualified(type($tiles)) `,` qualified(type($ring))
  }];
  let hasVerifier = 1;
}

def Sparsec_StagedScalesOp : Sparsec_Op<"staged_scales", [Pure, Sparsec_NamesResults]> {
  let summary = "Reads the scales of columns of X from a slot.";
  let description = [{
    They are in the slot of the cursor, from place `at` on.

    ```mlir
    %own = sparsec.staged_scales %scale_ring[%slot] at(%c0) : <8, [!sparsec.buffer<1, 64, f32>]> -> <64>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Sparsec_CursorType:$cursor, I32:$at);
  let results = (outs Sparsec_ThreadScalesType:$scales);
  let assemblyFormat = [{
    $ring `[` $cursor `]` `at` `(` $at `)` attr-dict `:` type($ring) `->` type($scales)
  }];
  let hasVerifier = 1;
}

def Sparsec_RowScalesOp : Sparsec_Op<"row_scales", [Pure, Sparsec_NamesResults]> {
  let summary = "Reads the scales of the rows of an accumulator of the transposed product from a slot.";
  let description = [{
    The rows are columns of X. Their scales are in the slot of the cursor, from place `at` on.

    ```mlir
    %rows = sparsec.row_scales %scale_ring[%slot] at(%c128) : <2, [!sparsec.buffer<1, 256, f32>]> -> <64>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Sparsec_CursorType:$cursor, I32:$at);
  let results = (outs Sparsec_RowScalesType:$scales);
  let assemblyFormat = "$ring `[` $cursor `]` `at` `(` $at `)` attr-dict `:` type($ring) `->` type($scales)";
  let hasVerifier = 1;
}

def Sparsec_PromoteOp : Sparsec_Op<"promote", [
    Pure, AttrSizedOperandSegments, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "Adds the sum of a product to columns of an accumulator, in f32.";
  let description = [{
    The matrix instructions keep few bits of fp8 sums. Short sums are therefore added by other instructions. The part
    has all rows of the accumulator, and its columns are those from `column` on. It is multiplied by `scale`, or each
    of its columns by the scale of that column; and each of its rows by its scale in `rows`.

    ```mlir
    %next = sparsec.promote %part times %scale : f32 to %sum {column = 128 : i64} : <64, 128>, <64, 256>
    ```
    ```mlir
    %scaled = sparsec.promote %other times %scale : f32 rows(%rows : !sparsec.row_scales<64>) to %last
        {column = 0 : i64} : <64, 128>, <64, 256>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$part, Sparsec_AccumulatorType:$accumulator,
    Optional<AnyTypeOf<[F32, Sparsec_ColumnScalesType, Sparsec_ThreadScalesType]>>:$scale,
    Optional<Sparsec_RowScalesType>:$rows, I64Attr:$column);
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = [{
    $part (`times` $scale^ `:` type($scale))? (`rows` `(` $rows^ `:` qualified(type($rows)) `)`)? `to` $accumulator
    attr-dict `:` type($part) `,` type($accumulator)
  }];
  let hasVerifier = 1;
}

#endif // SPARSEC_SCALE_OPS_TD
