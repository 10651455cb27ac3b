// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Types: the block-sparse matrix, the block pattern, and the handles of the tile ops.

#ifndef SPARSEC_TYPES_TD
#define SPARSEC_TYPES_TD

include "SparsecDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Sparsec_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Sparsec_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def Sparsec_Major : I32EnumAttr<"Major", "which dimension of an operand is contiguous", [
    I32EnumAttrCase<"k", 1>, I32EnumAttrCase<"mn", 2>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}

def Sparsec_BsrType : Sparsec_Type<"Bsr", "bsr"> {
  let summary = "A block-sparse matrix: `!sparsec.bsr<?x?xbf16, block = 64x64>`.";
  let description = [{
    The matrix has `M x K` elements in dense blocks of `r x c`. Absent blocks are zero. The format is BSR: `row_ptr`
    (i32, ceil(M / r) + 1), `col_idx` (i32, one per block, in any order within a row) and `values` (blocks x r x c,
    row-major). M and K may be `?`, and need not be multiples of the block. The caller stores a block at the lower or
    right edge in full. Its elements beyond M or K do not count.

    `transposed`: the caller gives the BSR form of the transpose, a K x M matrix with blocks of `c x r`. So a kernel
    multiplies by the transpose of a stored matrix without another copy of it. A plan has the index by block rows of
    the M x K matrix.

    The elements are bf16, f16, f8E4M3FN or f8E5M2. r is a multiple of 16 up to 512, and c is one up to 256.
    Constraints: `bsr_c1` to `bsr_c4`.

    ```mlir
    !sparsec.bsr<?x4096xf16, block = 128x112>
    ```
    ```mlir
    !sparsec.bsr<100x4096xf16, block = 128x112, transposed>
    ```
  }];
  let parameters = (ins
    "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
    "int64_t":$blockRows, "int64_t":$blockColumns, "bool":$transposed);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Whether the elements are f8E4M3FN or f8E5M2.
    bool hasF8() const { return getElementType().getIntOrFloatBitWidth() == 8; }
    /// The dimension of the stored matrix that M is, and that K is.
    unsigned getStoredRowDimension() const { return getTransposed() ? 1 : 0; }
    unsigned getStoredColumnDimension() const { return getTransposed() ? 0 : 1; }
    /// Whether a K of `depth` elements, or of kDynamic, may end inside a block.
    bool mayBeCutBy(int64_t depth) const {
      return ::mlir::ShapedType::isDynamic(depth) || depth % getBlockColumns() != 0;
    }
  }];
  let genVerifyDecl = 1;
}

def Sparsec_PatternType : Sparsec_Type<"Pattern", "pattern"> {
  let summary = "The blocks of keys that every block of queries visits: `!sparsec.pattern<128x64>`.";
  let description = [{
    A pattern has lists of key blocks for every batch, head and query block. A block has `queryBlock` queries and
    `keyBlock` keys, each 64 or 128. There are two lists: one of partial and one of full blocks. Their order in memory,
    their lengths, and the batches and heads that share them are known at run time only (sparsec_blocks_t of runtime.h).
    Constraint: `pattern_c1`.

    ```mlir
    !sparsec.pattern<128x64>
    ```
  }];
  let parameters = (ins "int64_t":$queryBlock, "int64_t":$keyBlock);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Sparsec_AccumulatorType : Sparsec_Type<"Accumulator", "accumulator"> {
  let summary = "The f32 result tile of one CTA, spread over the registers of its consumers.";
  let description = [{
    The tile has `rows x columns` sums. The place of a consumer in the grid of consumers determines its part.

    ```mlir
    !sparsec.accumulator<128, 256>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns);
  let assemblyFormat = "`<` $rows `,` $columns `>`";
}

def Sparsec_ColumnScalesType : Sparsec_Type<"ColumnScales", "column_scales"> {
  let summary = "A factor for each column of an accumulator, in the registers of a group's warps.";
  let description = [{
    Each warp holds all of them, spread over its threads.

    ```mlir
    !sparsec.column_scales<128>
    ```
  }];
  let parameters = (ins "int64_t":$columns);
  let assemblyFormat = "`<` $columns `>`";
}

def Sparsec_ThreadScalesType : Sparsec_Type<"ThreadScales", "thread_scales"> {
  let summary = "A factor for each column of an accumulator, in the registers of the threads that have sums there.";
  let description = [{
    Each thread holds those of its own columns, in their order.

    ```mlir
    !sparsec.thread_scales<64>
    ```
  }];
  let parameters = (ins "int64_t":$columns);
  let assemblyFormat = "`<` $columns `>`";
}

def Sparsec_RowScalesType : Sparsec_Type<"RowScales", "row_scales"> {
  let summary = "A factor for each row of an accumulator of a warpgroup, in registers.";
  let description = [{
    Each thread holds those of its own rows.

    ```mlir
    !sparsec.row_scales<64>
    ```
  }];
  let parameters = (ins "int64_t":$rows);
  let assemblyFormat = "`<` $rows `>`";
}

def Sparsec_BufferType : Sparsec_Type<"Buffer", "buffer"> {
  let summary = "One operand tile of one stage in shared memory: `!sparsec.buffer<128, 64, bf16>`.";
  let description = [{
    The tile has `rows x columns` elements, with columns contiguous. `strip` and `swizzle` are the layout of a buffer in
    shared memory, in bytes. Copies, tensor maps, matrix descriptors and ldmatrix all read it from here.

    A buffer has its strips one after the other. A strip has `strip` bytes of every row, row by row. Without `strip` the
    buffer is one strip of whole rows. `swizzle` permutes the 16-byte vectors of a row in groups of V = `swizzle` / 16:
    vector v of a group is at `v xor (r / (8 / V) mod V)` in row r (PTX ISA, "Swizzling modes"). The swizzle of a strip
    has the strip's length, unless the text says otherwise. A buffer without `strip` and `swizzle` has its vectors in
    their order. Buffers of the values form have no layout, because they are not in shared memory.

    The rows of an `adjacent` buffer follow one another as those of a matrix of N columns without gaps, where N is the
    number of columns of the tensor that fills it, at most `columns`. It has no other layout.
    Constraints: `buffer_c1`, `buffer_c2`.

    ```mlir
    !sparsec.buffer<128, 96, bf16, strip = 64>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
    DefaultValuedParameter<"int64_t", "0">:$strip, DefaultValuedParameter<"int64_t", "0">:$swizzle,
    DefaultValuedParameter<"bool", "false">:$adjacent);
  let assemblyFormat = [{
    `<` $rows `,` $columns `,` $elementType `` custom<BufferLayout>($strip, $swizzle, $adjacent) `>`
  }];
  let builders = [TypeBuilder<(ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType), [{
    return $_get($_ctxt, rows, columns, elementType, /*strip=*/0, /*swizzle=*/0, /*adjacent=*/false);
  }]>];
  let extraClassDeclaration = [{
    int64_t getElementBytes() const { return getElementType().getIntOrFloatBitWidth() / 8; }
    int64_t getRowBytes() const { return getColumns() * getElementBytes(); }
    /// Bytes of a row in a strip: all of them where the buffer is one strip.
    int64_t getStripBytes() const { return getStrip() ? getStrip() : getRowBytes(); }
  }];
  let genVerifyDecl = 1;
}

def Sparsec_FragmentType : Sparsec_Type<"Fragment", "fragment"> {
  let summary = "An operand tile in the registers of the consumers: `!sparsec.fragment<128, 64, bf16>`.";
  let description = [{
    The tile has `rows x columns` elements. A consumer holds its rows of the tile, as the A operand of a chain. With
    mma.sync it may also be a B operand, which was loaded `as_b`.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $rows `,` $columns `,` $elementType `>`";
}

def Sparsec_SoftmaxStateType : Sparsec_Type<"SoftmaxState", "softmax_state"> {
  let summary = "m and l, the maximum and the sum of every row of an online softmax, in registers.";
  let description = [{
    ```mlir
    %begin = sparsec.softmax_begin : <128>
    ```
  }];
  let parameters = (ins "int64_t":$rows);
  let assemblyFormat = "`<` $rows `>`";
}

def Sparsec_RescalingType : Sparsec_Type<"Rescaling", "rescaling"> {
  let summary = "The factors that the output of a softmax needs: alpha of every row, and whether any row needs it.";
  let description = [{
    alpha is 2^(old m - new m), the factor of `sparsec.rescale`.
  }];
}

def Sparsec_TileSoftmaxType : Sparsec_Type<"TileSoftmax", "tile_softmax"> {
  let summary = "The softmax of a tile of queries: its regions, with the elements that they load for the tile.";
  let description = [{
    `sparsec.tile_softmax` gives a value of this type.
  }];
}

def Sparsec_KeyTermsType : Sparsec_Type<"KeyTerms", "key_terms"> {
  let summary = "What the regions of a softmax need of the keys of a step alone, in registers.";
  let description = [{
    `sparsec.key_terms` gives a value of this type.
  }];
}

def Sparsec_KeyListsType : Sparsec_Type<"KeyLists", "key_lists"> {
  let summary = "The lists of key blocks that a tile of queries sees: their beginnings and their lengths.";
  let description = [{
    `sparsec.key_lists` gives a value of this type.
  }];
}

def Sparsec_JointListType : Sparsec_Type<"JointList", "joint_list"> {
  let summary = "The joint list of a tile of two block rows: where its entries begin and end in the section of a plan.";
  let description = [{
    `sparsec.joint_list` gives a value of this type.
  }];
}

def Sparsec_RingType : Sparsec_Type<"Ring", "ring"> {
  let summary = "A ring of `stages` slots in shared memory, each with the same list of buffers.";
  let description = [{
    Producers fill slots in turn, and consumers read them in the same order. Which slot is next is a value,
    `!sparsec.cursor`.

    ```mlir
    %ring = sparsec.ring
        : <3, [!sparsec.buffer<16, 32, f16, swizzle = 64>, !sparsec.buffer<32, 64, f16, swizzle = 128>]>
    ```
  }];
  let parameters = (ins "int64_t":$stages, ArrayRefParameter<"::mlir::Type">:$buffers);
  let assemblyFormat = "`<` $stages `,` `[` $buffers `]` `>`";
  let genVerifyDecl = 1;
}

def Sparsec_CursorType : Sparsec_Type<"Cursor", "cursor"> {
  let summary = "A position in a ring: a slot, and the parity of its phase.";
  let description = [{
    A role carries a cursor for each ring that it uses. Producers and consumers visit the slots in the same order.

    ```mlir
    %begin = sparsec.cursor %ring
        : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>, !sparsec.buffer<64, 256, bf16, strip = 128>]>
    ```
  }];
}

def Sparsec_WalkType : Sparsec_Type<"Walk", "walk"> {
  let summary = "The blocks that a role visits for a tile, in order.";
  let description = [{
    The result of `sparsec.block_walk` or `sparsec.key_walk`.
  }];
}

def Sparsec_StepType : Sparsec_Type<"Step", "step"> {
  let summary = "A step of a walk, as so many i32 that a loop carries.";
  let description = [{
    ```mlir
    %step = sparsec.first_step %walk : <3>
    ```
  }];
  let parameters = (ins "int64_t":$values);
  let assemblyFormat = "`<` $values `>`";
}

def Sparsec_ViewType : Sparsec_Type<"View", "view"> {
  let summary = "The part of a ring's buffer that a product reads, in every slot.";
  let description = [{
    The part has `rows x columns` elements. `k` means that the product sums over the columns (K). `mn` means that it
    sums over the rows. With wgmma a view is the matrix descriptor of slot 0.

    ```mlir
    %b = sparsec.view %ring columns(%c0) {index = 1 : i64}
        : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>,
               !sparsec.buffer<64, 256, bf16, strip = 128>]> -> <64, 256, bf16, mn>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
    EnumParameter<Sparsec_Major>:$major);
  let assemblyFormat = "`<` $rows `,` $columns `,` $elementType `,` $major `>`";
}

def Sparsec_BlockNumbersType : Sparsec_Type<"BlockNumbers", "block_numbers"> {
  let summary = "The numbers of `count` blocks that a warp copies together.";
  let description = [{
    A thread has one of them, that of the block of which it copies parts: the threads of a warp have equal shares.

    ```mlir
    !sparsec.block_numbers<2>
    ```
  }];
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
}

def Sparsec_PendingType : Sparsec_Type<"Pending", "pending"> {
  let summary = "An accumulator to which an issued product still writes.";
  let description = [{
    Before `sparsec.await` gives the accumulator, only a further product may take it.

    ```mlir
    !sparsec.pending<64, 256>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns);
  let assemblyFormat = "`<` $rows `,` $columns `>`";
}

def Sparsec_TileType : Sparsec_Type<"Tile", "tile"> {
  let summary = "A result tile: a tile row (part of one block row) and a column panel.";
  let description = [{
    launch_info.h defines the rows and columns of tile row t and panel p (sparsec_stage_info_t).
  }];
}

def Sparsec_BlockType : Sparsec_Type<"Block", "block"> {
  let summary = "A position in the list of blocks of a block row, with its block column.";
  let description = [{
    It determines where the values of the block begin in `values`, and which rows of X the block multiplies.
  }];
}

#endif // SPARSEC_TYPES_TD
