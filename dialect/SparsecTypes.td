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
    `M x K` elements in dense blocks of `r x c`; blocks that are absent are zero. Stored as BSR: `row_ptr` (i32,
    ceil(M / r) + 1), `col_idx` (i32, one per block, any order within a row) and `values` (blocks x r x c, row-major).
    M and K may be `?`; they need not be multiples of the block. A block at the lower or right edge is stored in full;
    its elements beyond M or K do not count.

    `elt` is bf16, f16, f8E4M3FN or f8E5M2 (the last two have no lowering yet: `spmm_c2`). r and c are multiples of 16
    up to 256. Constraints: `bsr_c1` to `bsr_c4`.

    ```mlir
    !sparsec.bsr<?x4096xf16, block = 128x112>
    ```
  }];
  let parameters = (ins
    "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
    "int64_t":$blockRows, "int64_t":$blockColumns);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Whether a K of `depth` elements, or of kDynamic, may end inside a block.
    bool mayBeCutBy(int64_t depth) const {
      return ::mlir::ShapedType::isDynamic(depth) || depth % getBlockColumns() != 0;
    }
  }];
  let genVerifyDecl = 1;
}

def Sparsec_PatternType : Sparsec_Type<"Pattern", "pattern"> {
  let summary = "Which blocks of keys every block of queries visits: `!sparsec.pattern<128x64>`.";
  let description = [{
    Lists of key blocks for every batch, head and query block: blocks of `queryBlock` queries and `keyBlock` keys, each
    64 or 128. There are two lists, of partial and of full blocks. How they lie in memory, how long they are and over
    which batches and heads they are broadcast is known at run time only (sparsec_blocks_t of runtime.h). Constraint:
    `pattern_c1`.

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
    `rows x columns` sums. Consumers own parts of it by their place in the grid of consumers.

    ```mlir
    !sparsec.accumulator<128, 256>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns);
  let assemblyFormat = "`<` $rows `,` $columns `>`";
}

def Sparsec_BufferType : Sparsec_Type<"Buffer", "buffer"> {
  let summary = "One operand tile of one stage in shared memory: `!sparsec.buffer<128, 64, bf16>`.";
  let description = [{
    `rows x columns` elements, columns contiguous, in the swizzle of the copy that fills it.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $rows `,` $columns `,` $elementType `>`";
}

def Sparsec_FragmentType : Sparsec_Type<"Fragment", "fragment"> {
  let summary = "An operand tile in the registers of the consumers: `!sparsec.fragment<128, 64, bf16>`.";
  let description = [{
    `rows x columns` elements; a consumer holds its rows of the tile, as the A operand of a chain.
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
  let summary = "How the output of a softmax has to follow its m: alpha of every row, and whether any row needs it.";
  let description = [{
    alpha = 2^(old m - new m), the factor of `sparsec.rescale`.
  }];
}

def Sparsec_TileSoftmaxType : Sparsec_Type<"TileSoftmax", "tile_softmax"> {
  let summary = "The softmax of a tile of queries: its regions, with what they load for the tile.";
  let description = [{
    The result of `sparsec.tile_softmax`.
  }];
}

def Sparsec_KeyListsType : Sparsec_Type<"KeyLists", "key_lists"> {
  let summary = "The lists of key blocks that a tile of queries sees: where they begin and how long they are.";
  let description = [{
    The result of `sparsec.key_lists`.
  }];
}

def Sparsec_RingType : Sparsec_Type<"Ring", "ring"> {
  let summary = "A ring of `stages` slots in shared memory; every slot holds the same list of buffers.";
  let description = [{
    Producers fill slots in turn, consumers drain them in the same order. Which slot is next is a value,
    `!sparsec.cursor`.

    ```mlir
    %ring = sparsec.ring : <3, [!sparsec.buffer<16, 32, f16>, !sparsec.buffer<32, 64, f16>]>
    ```
  }];
  let parameters = (ins "int64_t":$stages, ArrayRefParameter<"::mlir::Type">:$buffers);
  let assemblyFormat = "`<` $stages `,` `[` $buffers `]` `>`";
  let genVerifyDecl = 1;
}

def Sparsec_CursorType : Sparsec_Type<"Cursor", "cursor"> {
  let summary = "A position in a ring: a slot, and the parity of the phase that the slot is in.";
  let description = [{
    A role carries a cursor for each ring that it uses. Producers and consumers visit the slots in the same order.

    ```mlir
    %begin = sparsec.cursor %ring : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
    ```
  }];
}

def Sparsec_StepsType : Sparsec_Type<"Steps", "steps"> {
  let summary = "A walk in steps: how to get from one step to the next.";
  let description = [{
    The result of `sparsec.block_steps` or `sparsec.key_steps`.
  }];
}

def Sparsec_StepType : Sparsec_Type<"Step", "step"> {
  let summary = "A step of a walk, as so many i32 that a loop carries.";
  let description = [{
    ```mlir
    %step = sparsec.first_step %steps : <4>
    ```
  }];
  let parameters = (ins "int64_t":$values);
  let assemblyFormat = "`<` $values `>`";
}

def Sparsec_ViewType : Sparsec_Type<"View", "view"> {
  let summary = "The part of a ring's buffer that a product reads, in every slot.";
  let description = [{
    `rows x columns` elements. `k` says that the columns are the dimension that the product sums over (K), `mn` that the
    rows are. With wgmma it is the matrix descriptor of slot 0.

    ```mlir
    %b = sparsec.view %ring columns(%c0) {index = 1 : i64}
        : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]> -> <64, 256, bf16, mn>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType,
    EnumParameter<Sparsec_Major>:$major);
  let assemblyFormat = "`<` $rows `,` $columns `,` $elementType `,` $major `>`";
}

def Sparsec_PendingType : Sparsec_Type<"Pending", "pending"> {
  let summary = "An accumulator to which an issued product still writes.";
  let description = [{
    Only a further product may take it before `sparsec.await` gives the accumulator.

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
    Tile row t and panel p cover the rows and columns that launch_info.h gives at sparsec_variant_info_t.
  }];
}

def Sparsec_BlockType : Sparsec_Type<"Block", "block"> {
  let summary = "A position in the list of blocks of a block row, with its block column.";
  let description = [{
    Where the values of the block begin in `values`, and which rows of X it multiplies.
  }];
}

#endif // SPARSEC_TYPES_TD
