// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tile ops: how a kernel is computed. A program is one machine kernel; its tile loop walks result tiles, its block loop
// the blocks of a tile's row. Two forms:
//
//   values    (after sparsec-lower-to-tiles)    load, chain, store: what happens, as if by one thread. The emitter of
//             the host translates this form
//   roles     (after sparsec-pipeline-stages)   what the threads of the machine do, in its order, with rings of
//             shared-memory slots between copies and products (docs/tile-programs.md)
//
// The emitter of GPUs turns the second form into NVVM, op by op.

#ifndef SPARSEC_TILE_OPS_TD
#define SPARSEC_TILE_OPS_TD

include "SparsecDialect.td"
include "SparsecAttrs.td"
include "SparsecInterfaces.td"
include "SparsecTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

// Gives the arguments of the op's block their names in a dump.
def Sparsec_NamesBlockArguments : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;

// Gives the results of an op their names in a dump.
def Sparsec_NamesResults : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;

def Sparsec_ProgramOp : Sparsec_Op<"program", [
    IsolatedFromAbove, Symbol, SingleBlock, NoTerminator,
    ParentOneOf<["::mlir::gpu::GPUModuleOp", "::mlir::ModuleOp"]>, // program_c1
    ]> {
  let summary = "One machine kernel: a variant of a sparsec.kernel with one schedule.";
  let description = [{
    The region's arguments are the kernel's arguments, inputs then results. Programs of a GPU are in a `gpu.module`,
    and those of the host beside their kernels. `kernel` names the `sparsec.kernel`,
    `variant` is the position among its variants, `alignment` the bytes to which the runtime has checked pointers and
    row strides. `most_panels` is the largest number of panels of a call that runs it; without it, any number. With
    `most_tiles_per_sm` calls with more panels run it too, if they have at most so many tiles for each multiprocessor. A
    program that is `split` has tiles for parts of K or of the keys. In attention another machine kernel merges their
    results, and in a product `sparsec.join_parts` adds their sums. A program that is `cut` runs the tiles of a plan
    that cuts some of them along K, or in attention along the keys. One with `adjacent_columns` needs a plan by streams
    whose stages have adjacent block columns. The matrix of a program that is `packed` has the packed blocks of a plan,
    which are larger than those of the kernel's argument.
    `sparsec-assign-shared-memory` sets `shared_memory` (bytes).

    Rings and roles are those of one tile. If `concurrent_tiles` of the schedule is n, a CTA has n of each, side by
    side. `tile_bytes` is then the distance from the shared memory of one to that of the next. If `slices` is n, a CTA
    has n of each ring and role, one for each slice, or n warps of its only role, and `tile_bytes` is the distance from
    the rings of one slice to those of the next.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$kernel, Sparsec_ScheduleAttr:$schedule,
    I64Attr:$variant, I64Attr:$alignment, OptionalAttr<I64Attr>:$most_panels,
    OptionalAttr<I64Attr>:$most_tiles_per_sm, UnitAttr:$split, UnitAttr:$cut,
    UnitAttr:$adjacent_columns, UnitAttr:$packed, OptionalAttr<I64Attr>:$shared_memory,
    OptionalAttr<I64Attr>:$tile_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def Sparsec_TileLoopOp : Sparsec_Op<"tile_loop", [
    SingleBlockImplicitTerminator<"YieldOp">, Sparsec_NamesBlockArguments]> {
  let summary = "Walks the result tiles of this CTA: the plan's list, or a fixed raster without a plan.";
  let description = [{
    The body's arguments are the tile row and the panel of the tile (i32; launch_info.h, sparsec_stage_info_t) and the
    carried values. CTA (or cluster) w of W takes the tiles that the plan lists for it, or the tiles w, w + W, ... of
    the raster. With `periodic` the plan may list the tiles of a period of panels, which are those of every further
    period too. With `counter` a worker is one of the tiles of a CTA, and takes the next tile that the launch's counter
    gives, where it has one: that of the next tile is read at the end of the body. With `cut` the plan has a list in
    which tiles may be cut along K or the keys (SPARSEC_PLAN_CUT_TILES of plan_sections.h). The body then has two more
    arguments behind the panel: the first block of the tile, counted from that of its row or list, and in one word the
    number of its blocks and what becomes of their sum.

    ```mlir
    sparsec.tile_loop {
    ^bb0(%tile_row: i32, %panel: i32):
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inits, UnitAttr:$periodic, UnitAttr:$counter, UnitAttr:$cut);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`init` `(` $inits^ `:` type($inits) `)`)? attr-dict-with-keyword (`->` type($results)^)? $body
  }];
  let builders = [OpBuilder<(ins CArg<"::mlir::ValueRange", "{}">:$inits, CArg<"bool", "false">:$cut)>];
  let extraClassDeclaration = [{
    /// The arguments of the body in front of the carried values.
    unsigned getCoordinateCount() { return getCut() ? 4 : 2; }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Sparsec_TileFollowsOp : Sparsec_Op<"tile_follows", [HasParent<"TileLoopOp">]> {
  let summary = "1 where another tile follows in the tile loop, 0 behind the last one (i32).";
  let description = [{
    The loop has a `counter` or `cut`. The op takes the number of the next tile from the counter, which the loop then
    does not do at the end of the body.

    ```mlir
    %follows = sparsec.tile_follows : i32
    ```
  }];
  let results = (outs I32:$follows);
  let assemblyFormat = "attr-dict `:` type($follows)";
  let hasVerifier = 1;
}

def Sparsec_LoopOp : Sparsec_Op<"loop", [SingleBlock]> {
  let summary = "Runs its body as long as a carried i32 differs from a number (`ne`), or is not less (`sge`).";
  let description = [{
    The test comes before the body, so the body may never run. `tested` is the position of the i32 among the carried
    values. The body yields the values that it gets the next time. The results are the values for which the test failed.

    ```mlir
    %last:2 = sparsec.loop (%slot = %begin : !sparsec.cursor, %block = %message : i32) while(%block ne -1) {
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$inits, I64Attr:$tested, Sparsec_LoopTestAttr:$test, I64Attr:$number);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Sparsec_TileOp : Sparsec_Op<"tile", [Pure, Sparsec_NamesResults]> {
  let summary = "The tile of a tile row and a panel, for ops that take it as one value.";
  let description = [{
    ```mlir
    %tile = sparsec.tile %tile_row, %panel
    ```
  }];
  let arguments = (ins I32:$tile_row, I32:$panel);
  let results = (outs Sparsec_TileType:$result);
  let assemblyFormat = "$tile_row `,` $panel attr-dict";
}

def Sparsec_BlockLoopOp : Sparsec_Op<"block_loop", [SingleBlock, Sparsec_NamesBlockArguments]> {
  let summary = "Walks the blocks of the tile's block row, one stage of K at a time.";
  let description = [{
    The body's arguments are the block (the first of `blocks_per_step` blocks), the chunk of K inside the block (i32, 0
    to `chunks` - 1, chunk inside block) and the carried values. One of `blocks_per_step` and `chunks` is 1.
  }];
  let arguments = (ins Sparsec_BsrType:$matrix, Sparsec_TileType:$tile, Variadic<AnyType>:$inits,
    I64Attr:$blocks_per_step, I64Attr:$chunks);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $matrix `at` $tile (`init` `(` $inits^ `:` type($inits) `)`)? attr-dict-with-keyword
    `:` type($matrix) (`->` type($results)^)? $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Sparsec_AnySum : AnyTypeOf<[Sparsec_AccumulatorType, Sparsec_PendingType]>;

def Sparsec_ZeroOp : Sparsec_Op<"zero", [Pure]> {
  let summary = "A zero accumulator.";
  let description = [{
    A chain of products begins with a pending zero accumulator.

    ```mlir
    %zero = sparsec.zero : !sparsec.accumulator<128, 256>
    ```
  }];
  let results = (outs Sparsec_AnySum:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Sparsec_UnsetOp : Sparsec_Op<"unset", [Pure]> {
  let summary = "An accumulator that nothing reads.";
  let description = [{
    A loop or a branch carries it where there are no sums.

    ```mlir
    %none = sparsec.unset : <64, 128>
    ```
  }];
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Sparsec_SleepOp : Sparsec_Op<"sleep"> {
  let summary = "Suspends the threads that come to it for about so many nanoseconds.";
  let description = [{
    Groups that begin at the same time wait for products at the same time and exponentiate at the same time, for many
    steps. One that sleeps before the first of them is beside another one in its products.

    ```mlir
    sparsec.sleep {nanoseconds = 200 : i64}
    ```
  }];
  let arguments = (ins I64Attr:$nanoseconds);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Sparsec_Operand : I32EnumAttr<"Operand", "which operand of the product a load or copy brings", [
    I32EnumAttrCase<"a", 1>, I32EnumAttrCase<"x", 2>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_OperandAttr : EnumAttr<Sparsec_Dialect, Sparsec_Operand, "operand">;

def Sparsec_LoadOp : Sparsec_Op<"load", [Pure]> {
  let summary = "Values form: the part of an operand that one step needs.";
  let description = [{
    `a`: `rows x columns` of W, from the tile's block row and this block (or these blocks, side by side) and chunk; as
    K x M when W is transposed. `x`: the matching rows of X in the tile's column panel, as K x N or, when X is N x K, as
    N x K. Elements outside the matrices are zero.

    ```mlir
    %a = sparsec.load a %w[%tile, %block, %chunk] : !sparsec.bsr<?x?xbf16, block = 128x128> -> <128, 64, bf16>
    ```
  }];
  let arguments = (ins AnyType:$source, Sparsec_TileType:$tile, Sparsec_BlockType:$block, I32:$chunk,
    Sparsec_OperandAttr:$operand);
  let results = (outs Sparsec_BufferType:$result);
  let assemblyFormat = [{
    `` $operand $source `[` $tile `,` $block `,` $chunk `]` attr-dict `:` type($source) `->` type($result)
  }];
}

def Sparsec_LoadPartOp : Sparsec_Op<"load_part", [Pure, AttrSizedOperandSegments]> {
  let summary = "Values form: the part of an operand that begins at coordinates.";
  let description = [{
    The coordinates are those of the first element in the source, last dimension last; of a block-sparse matrix the
    number of the block, the row and the column inside it. Elements outside the source or outside the block are zero.
    `depth(%k)` is the place of a block along K, counted in blocks: its elements beyond the K of the matrix are zero,
    too.

    ```mlir
    %a = sparsec.load_part a %w[%block, %c0, %c0] depth(%k) : !sparsec.bsr<?x?xf16, block = 32x48> -> <32, 48, f16>
    ```
  }];
  let arguments = (ins AnyType:$source, Variadic<I32>:$coordinates, Optional<I32>:$depth, Sparsec_OperandAttr:$operand);
  let results = (outs Sparsec_BufferType:$result);
  let assemblyFormat = [{
    `` $operand $source `[` $coordinates `]` (`depth` `(` $depth^ `)`)? attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Sparsec_ChainOp : Sparsec_Op<"chain", [
    Pure, AttrSizedOperandSegments, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "accumulator + A X over the depth of one stage: a chain of matrix instructions.";
  let description = [{
    `a_transposed` says that the A buffer is K x M instead of M x K, and `x_transposed` that the X buffer is N x K
    instead of K x N. `depth` is the number of K elements that count, per chunk (the last chunk of a block may be
    shallower than the stage). With `two_level` the sum of a chunk starts at zero and is added to the accumulator in
    f32, times the block's element of `scales` and each column's element of `x_scale`. With `widened` the elements are
    fp8 and multiplied as f16.
  }];
  let arguments = (ins Sparsec_BufferType:$a, Sparsec_BufferType:$x, Sparsec_AccumulatorType:$accumulator,
    Optional<AnyRankedTensor>:$scales, Optional<AnyRankedTensor>:$x_scale, DenseI64ArrayAttr:$depth,
    UnitAttr:$a_transposed, UnitAttr:$x_transposed, UnitAttr:$two_level, UnitAttr:$widened);
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = [{
    $a `,` $x `,` $accumulator (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`x_scale` `(` $x_scale^ `:` type($x_scale) `)`)? attr-dict `:` type($a) `,` type($x) `,` type($accumulator)
  }];
  let hasVerifier = 1;
}

def Sparsec_StoreOp : Sparsec_Op<"store", [
    SingleBlock, AttrSizedOperandSegments, Sparsec_NamesBlockArguments]> {
  let summary = "Applies the epilogue to an accumulator and writes the tile to the result.";
  let description = [{
    The region is that of `sparsec.spmm`, the identity when the kernel has none. `transposed` says that the result is
    N x M. `staged` stores go through shared memory (stmatrix and TMA), others from registers with a bounds check;
    `staging` is then {offset in bytes, columns of one buffer, buffers per consumer}, set by
    `sparsec-assign-shared-memory`. The coordinates are the block row, the first row of the tile inside it, and the
    first column of the tile. In a role, `part` names the group and the first row and column of its accumulators in the
    tile. A `swapped` accumulator is a part of the transposed product: its rows are columns of the tile, and its columns
    are rows. With `lines` the rows of the tile are in the order in which copies of lines brought those of the blocks
    (see `sparsec.copy`).

    With `blocks` the result is the array of values of a pattern, and the accumulators of the group have blocks of the
    pattern side by side, one every `block_stride` columns: those from the first number up to the end.
  }];
  let arguments = (ins Sparsec_AccumulatorType:$accumulator, AnyRankedTensor:$result, I32:$block_row, I32:$row,
    I32:$column, Optional<I32>:$group, Optional<I32>:$group_row, Optional<I32>:$group_column,
    Optional<I32>:$first_block, Optional<I32>:$end_block, Optional<Sparsec_BsrType>:$pattern,
    Variadic<AnyType>:$extras, Sparsec_BroadcastArrayAttr:$broadcast, I64Attr:$block_rows,
    OptionalAttr<I64Attr>:$block_stride,
    UnitAttr:$transposed, UnitAttr:$swapped, UnitAttr:$lines, UnitAttr:$staged,
    OptionalAttr<DenseI64ArrayAttr>:$staging);
  let regions = (region SizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    $accumulator `to` $result `[` $block_row `,` $row `,` $column `]`
    (`part` $group^ `at` `(` $group_row `,` $group_column `)`)?
    (`blocks` `(` $first_block^ `to` $end_block `of` $pattern `:` type($pattern) `)`)?
    (`with` `(` $extras^ `:` type($extras) `)`)?
    attr-dict-with-keyword `:` type($accumulator) `->` type($result) $epilogue
  }];
  // A tile of a dense result.
  let builders = [OpBuilder<(ins "::mlir::Value":$accumulator, "::mlir::Value":$result, "::mlir::Value":$block_row,
                                 "::mlir::Value":$row, "::mlir::Value":$column, "::mlir::Value":$group,
                                 "::mlir::Value":$group_row, "::mlir::Value":$group_column,
                                 "::mlir::ValueRange":$extras, "::mlir::ArrayAttr":$broadcast, "int64_t":$block_rows,
                                 "bool":$transposed, "bool":$staged, "::mlir::DenseI64ArrayAttr":$staging), [{
    ::mlir::Value none;
    build($_builder, $_state, accumulator, result, block_row, row, column, group, group_row, group_column,
          /*first_block=*/none, /*end_block=*/none, /*pattern=*/none, extras, broadcast, block_rows,
          /*block_stride=*/::mlir::IntegerAttr(), transposed, /*swapped=*/false, /*lines=*/false, staged,
          staging);
  }]>];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether neighbours in a column of the accumulator are neighbours in the result.
    bool isContiguousAlongRows() { return getTransposed() != getSwapped(); }
  }];
}

def Sparsec_RoleUnit : I32EnumAttr<"RoleUnit", "what a group of a role is", [
    I32EnumAttrCase<"thread", 1>, I32EnumAttrCase<"warp", 32>, I32EnumAttrCase<"warpgroup", 128>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_RoleUnitAttr : EnumAttr<Sparsec_Dialect, Sparsec_RoleUnit, "role_unit">;

def Sparsec_RoleOp : Sparsec_Op<"role", [SingleBlock, NoTerminator]> {
  let summary = "Groups of threads that run the body next to the other roles of the program.";
  let description = [{
    The body is the program of one group: each group runs it for its own part of a tile. Roles take the warpgroups of
    the CTA in their order. Roles of one thread that follow one another share a warpgroup, in which each has a warp and
    is its first thread. A role of warps behind them has further warps of their warpgroup. If a CTA has several tiles
    side by side, each tile has its own groups. Such a program has one role of one thread, and each tile has a warp of
    it. Other roles of warps are the only one of their program, or the first one before roles of one thread, and then
    fill whole warpgroups. setmaxnreg gives each thread `registers` registers. With 0 a thread keeps the number that the
    assembler chose.

    ```mlir
    sparsec.role "producer" thread(1) registers(40) {
    ```
  }];
  let arguments = (ins StrAttr:$name, Sparsec_RoleUnitAttr:$unit, I64Attr:$count, I64Attr:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name `` $unit `(` $count `)` `registers` `(` $registers `)` attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t warpsOfWarpgroup = 4;
    /// Warpgroups that the role takes for `tiles` tiles side by side, maybe together with others.
    int64_t getWarpgroups(int64_t tiles);
    /// Warps that the role takes in a warpgroup that it may share.
    int64_t getWarps();
    /// How many of these roles share the warpgroup of the first one.
    static size_t countSharers(::mlir::ArrayRef<RoleOp> roles);
    int64_t getThreadsOfGroup() { return static_cast<int64_t>(getUnit()); }
  }];
}

def Sparsec_GroupOp : Sparsec_Op<"group", [Pure, Sparsec_NamesResults]> {
  let summary = "The number of this group in its role.";
  let description = [{
    Inside a loop it is read anew, so that no register keeps it meanwhile. In a role of warps, so is the number of the
    thread: all that follows in the loop computes its addresses from there on.

    ```mlir
    %group = sparsec.group
    ```
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Sparsec_SliceOp : Sparsec_Op<"slice", [Pure, Sparsec_NamesResults]> {
  let summary = "The number of the slice of a tile that this group works on.";
  let description = [{
    Slices are those of the schedule: each has some of the steps of the tile, and rings of its own.

    ```mlir
    %slice = sparsec.slice
    ```
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Sparsec_GroupPartOp : Sparsec_Op<"group_part", [Pure, Sparsec_NamesResults]> {
  let summary = "The number of this group in its role, and the first row and column of its part of a tile.";
  let description = [{
    The groups of the role form a grid with `across` groups in each row of the grid, which number it row by row. Each
    group has a part of `rows` x `columns` of the tile. The number is that of `sparsec.group`, and read as there.

    ```mlir
    %group, %group_row, %group_column = sparsec.group_part {across = 2 : i64, columns = 256 : i64, rows = 64 : i64}
    ```
  }];
  let arguments = (ins I64Attr:$rows, I64Attr:$columns, I64Attr:$across);
  let results = (outs I32:$group, I32:$row, I32:$column);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Sparsec_ClusterRankOp : Sparsec_Op<"cluster_rank", [Pure, Sparsec_NamesResults]> {
  let summary = "The number of this CTA in its cluster.";
  let description = [{
    ```mlir
    %rank = sparsec.cluster_rank
    ```
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

def Sparsec_SizeOp : Sparsec_Op<"size", [Pure, Sparsec_NamesResults]> {
  let summary = "The size of a dimension of a tensor or of a block-sparse matrix.";
  let description = [{
    ```mlir
    %size = sparsec.size %a {dimension = 1 : i64} : tensor<?x?xbf16>
    ```
  }];
  let arguments = (ins AnyType:$source, I64Attr:$dimension);
  let results = (outs I32:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

def Sparsec_ReadPlanOp : Sparsec_Op<"read_plan", [Pure]> {
  let summary = "An entry of a section of the plan (plan_sections.h, sparsec_plan_section_t).";
  let description = [{
    ```mlir
    %row = sparsec.read_plan window_rows[%i]
    ```
  }];
  let arguments = (ins Sparsec_PlanSectionAttr:$section, I32:$index);
  let results = (outs I32:$result);
  let assemblyFormat = "`` $section `[` $index `]` attr-dict";
}

def Sparsec_BlockColumnOp : Sparsec_Op<"block_column", [Pure, Sparsec_NamesResults]> {
  let summary = "The block column of a stored block, by its position in the order of the block rows.";
  let description = [{
    ```mlir
    %column = sparsec.block_column %w[%block] : <?x?xf8E4M3FN, block = 64x128>
    ```
  }];
  let arguments = (ins Sparsec_BsrType:$matrix, I32:$position);
  let results = (outs I32:$column);
  let assemblyFormat = "$matrix `[` $position `]` attr-dict `:` type($matrix)";
}

def Sparsec_RowBlocksOp : Sparsec_Op<"row_blocks", [Pure, Sparsec_NamesResults]> {
  let summary = "The blocks of a block row: their first number, and the one after the last.";
  let description = [{
    `row_ptr[block_row]` and `row_ptr[block_row + 1]`; of a transposed matrix those of the plan's section `row_starts`.

    ```mlir
    %first, %end = sparsec.row_blocks %w[%block_row] : <?x?xbf16, block = 128x64>
    ```
  }];
  let arguments = (ins Sparsec_BsrType:$matrix, I32:$block_row);
  let results = (outs I32:$first, I32:$end);
  let assemblyFormat = "$matrix `[` $block_row `]` attr-dict `:` type($matrix)";
}

def Sparsec_ViewOp : Sparsec_Op<"view", [Pure, AttrSizedOperandSegments]> {
  let summary = "The part of a buffer of the ring that this group's products read.";
  let description = [{
    From a first row and column on, 0 where they are absent.

    ```mlir
    %a = sparsec.view %ring rows(%group_row) {index = 0 : i64}
        : <4, [!sparsec.buffer<128, 64, bf16, strip = 128>,
               !sparsec.buffer<64, 256, bf16, strip = 128>]> -> <64, 64, bf16, k>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring, Optional<I32>:$row, Optional<I32>:$column, I64Attr:$index);
  let results = (outs Sparsec_ViewType:$result);
  let assemblyFormat = [{
    $ring (`rows` `(` $row^ `)`)? (`columns` `(` $column^ `)`)? attr-dict `:` type($ring) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Sparsec_ViewOrFragment : AnyTypeOf<[Sparsec_ViewType, Sparsec_FragmentType]>;

def Sparsec_ProductOp : Sparsec_Op<"product", [Pure, AttrSizedOperandSegments]> {
  let summary = "Issues accumulator + A B over the depth of one slot.";
  let description = [{
    A is M x K (`k`) or K x M (`mn`), B is K x N (`mn`) or N x K (`k`): views in the slots of the cursors, or fragments
    in registers. With mma.sync B may be a fragment of N x K that was loaded `as_b`, if A is a fragment too. Without an
    accumulator the sum starts at zero. `depth` is the number of K elements that count. With wgmma the result is
    pending. Products complete in the order in which they were issued, so that an accumulator may be pending too. A
    product by mma.sync is complete at once: its result is an accumulator. One instruction has all columns of the
    accumulator, or `columns` of them. With `in` a sum that starts at zero takes the registers of one that nothing needs
    any more and to which no product in flight adds. Two sums that are not in use at the same time then have the same
    registers for certain. With `widened` the elements of the views are fp8, and mma.sync multiplies them as f16, in an
    order of K that both operands share. With `ones` the accumulator has 8 columns more than B: products with a B of
    ones, each of which is the sum of a row of A. A is a fragment then, and B has 64 columns (`mn`). `ones` is where in
    the shared memory of the CTA the ones of one instruction are; `sparsec-assign-shared-memory` sets it. With
    `keeps_descriptors`, in a loop whose products are all in its own block and whose left operand outside registers is
    the same in every step, an instruction by wgmma has uniform registers of its own for its descriptors.

    ```mlir
    %p = sparsec.product %a[%c], %b[%c], %sum {depth = 64 : i64}
        : !sparsec.view<64, 64, bf16, k>, !sparsec.view<64, 256, bf16, mn>, !sparsec.pending<64, 256>
        -> !sparsec.pending<64, 256>
    ```
  }];
  let arguments = (ins Sparsec_ViewOrFragment:$a, Optional<Sparsec_CursorType>:$a_cursor, Sparsec_ViewOrFragment:$b,
    Optional<Sparsec_CursorType>:$b_cursor, Optional<Sparsec_AnySum>:$accumulator,
    Optional<Sparsec_AnySum>:$registers, I64Attr:$depth, OptionalAttr<I64Attr>:$columns,
    OptionalAttr<I64Attr>:$ones, UnitAttr:$widened, UnitAttr:$keeps_descriptors);
  let results = (outs Sparsec_AnySum:$result);
  let assemblyFormat = [{
    $a (`[` $a_cursor^ `]`)? `,` $b (`[` $b_cursor^ `]`)? (`,` $accumulator^)?
    (`in` `(` $registers^ `:` qualified(type($registers)) `)`)? attr-dict
    `:` type($a) `,` type($b) (`,` type($accumulator)^)? `->` type($result)
  }];
  // An instruction has all columns.
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$a, "::mlir::Value":$a_cursor,
                                 "::mlir::Value":$b, "::mlir::Value":$b_cursor, "::mlir::Value":$accumulator,
                                 "int64_t":$depth), [{
    build($_builder, $_state, type, a, a_cursor, b, b_cursor, accumulator, /*registers=*/::mlir::Value(), depth,
          /*columns=*/::mlir::IntegerAttr(), /*ones=*/::mlir::IntegerAttr());
  }]>];
  let hasVerifier = 1;
}

def Sparsec_LoadFragmentOp : Sparsec_Op<"load_fragment", [Pure]> {
  let summary = "Loads an operand from shared memory into registers.";
  let description = [{
    The view in the slot of the cursor, by ldmatrix: M x K (`k`) or K x M (`mn`). With `as_b` its registers are in the
    order of the B operand of mma.sync, of which M are the columns. A fragment of f16 from fp8 (K-major) has the same
    values, in an order of K that both operands of a product share.

    ```mlir
    %a = sparsec.load_fragment %queries[%c] : <64, 128, bf16, k> -> <64, 128, bf16>
    ```
  }];
  let arguments = (ins Sparsec_ViewType:$view, Sparsec_CursorType:$cursor, UnitAttr:$as_b);
  let results = (outs Sparsec_FragmentType:$result);
  let assemblyFormat = "$view `[` $cursor `]` attr-dict `:` type($view) `->` type($result)";
  let hasVerifier = 1;
}

def Sparsec_AwaitOp : Sparsec_Op<"await", []> {
  let summary = "Waits until at most `outstanding` of the products that this group has issued are in flight.";
  let description = [{
    Those that it issued last. The result is pending where its product may be among them.

    ```mlir
    %sum = sparsec.await %p {outstanding = 0 : i64} : <64, 256> -> !sparsec.accumulator<64, 256>
    ```
  }];
  let arguments = (ins Sparsec_PendingType:$pending, I64Attr:$outstanding);
  let results = (outs Sparsec_AnySum:$result);
  let assemblyFormat = "$pending attr-dict `:` type($pending) `->` type($result)";
  let hasVerifier = 1;
}

def Sparsec_DrainStoresOp : Sparsec_Op<"drain_stores", []> {
  let summary = "Waits until the staged stores of this group are complete.";
  let description = [{
    They read shared memory, which must outlive them.

    ```mlir
    sparsec.drain_stores
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Sparsec_CopyOp : Sparsec_Op<"copy", [AttrSizedOperandSegments]> {
  let summary = "Starts an asynchronous copy into buffer `index` of a slot.";
  let description = [{
    The coordinates are those of the first element in the source, last dimension last; of a block-sparse matrix the
    number of the block, the row and the column inside it. The buffer has the rows of a block, or its columns as rows
    where the matrix is transposed. Elements beyond the source, or beyond the block, become zero; with `block_columns`
    also those of the block beyond the columns of the matrix, and with `end` the rows of a tensor from that coordinate
    on (which copies by tensor maps cannot do). With `depth_rows` K goes along the rows of a block, as in
    the right operand of a product: rows beyond K then become zero, not columns. `multicast` copies bring the same
    bytes to every CTA of the cluster: each CTA loads its share. `rows` is {first row, number of rows}: the copy fills
    these rows of the buffer, and all without it. `columns` is a number of columns that the copy fills, and all without
    it. They begin `at` a place that is known only at run time: rows are counted from there, columns begin there.
    A `clipped` copy leaves out rows beyond the tensor, which then keep what they had, and brings no bytes for them: all
    of them, where the tensor has at most as many rows as the buffer, or else the second half of the buffer's rows,
    where it begins beyond. One with `clipped_strips` leaves out strips that begin beyond the tensor, but for the first.
    `evict_first` rows are read once: what a tensor map brings of them is the first to leave L2 for other data.

    The threads of a role of warps share a copy, and each waits for its own part by `sparsec.await_copies`. In a
    program with slices, the threads of one warp share it. A buffer of A with n times the columns of a block takes n
    blocks that follow one another in the list, of which the last ones may be beyond the end; there are then n
    `block_columns`. By tma each of them has a strip. A role of warps that is alone can also gather the depth of a
    buffer of A or of X from several places. With `parts` the dimension `part_dimension` of the buffer has equal parts:
    the first begins at the coordinate, the others at `parts`. The blocks of a transposed matrix do not follow one
    another: those behind the first are `parts` of dimension 0.

    With `lines` a block whose rows have 64 or 32 bytes is copied as lines of 128 bytes, two or four rows each, which
    takes fewer requests to memory. In the swizzle of 128 bytes, row r is then where row r ^ (r / 8 mod 2) or
    r ^ (r / 8 mod 4) would be.

    ```mlir
    sparsec.copy %w[%block, %row, %k] block_columns(%column) to %ring[%c] {index = 0 : i64, multicast}
        : !sparsec.bsr<?x?xbf16, block = 128x64>,
          <4, [!sparsec.buffer<128, 64, bf16, strip = 128>,
               !sparsec.buffer<64, 256, bf16, strip = 128>]>
    ```
  }];
  let arguments = (ins AnyType:$source, Variadic<I32>:$coordinates, Variadic<I32>:$block_columns,
    Variadic<I32>:$parts, Optional<I32>:$end, Sparsec_RingType:$ring, Sparsec_CursorType:$cursor, Optional<I32>:$at,
    I64Attr:$index,
    UnitAttr:$multicast, UnitAttr:$lines, UnitAttr:$depth_rows, UnitAttr:$evict_first, UnitAttr:$clipped,
    UnitAttr:$clipped_strips,
    OptionalAttr<DenseI64ArrayAttr>:$rows, OptionalAttr<I64Attr>:$columns,
    OptionalAttr<I64Attr>:$part_dimension);
  let assemblyFormat = [{
    $source `[` $coordinates `]` (`block_columns` `(` $block_columns^ `)`)? (`parts` `(` $parts^ `)`)?
    (`end` `(` $end^ `)`)? `to` $ring `[` $cursor `]` (`at` `(` $at^ `)`)? attr-dict `:` type($source) `,` type($ring)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::ValueRange":$coordinates, "::mlir::Value":$ring,
    "::mlir::Value":$cursor, "int64_t":$index)>];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Roles of warps
//===----------------------------------------------------------------------===//

def Sparsec_BarrierOp : Sparsec_Op<"barrier"> {
  let summary = "All threads of the role wait for one another, and see what each of them has written to shared memory.";
  let description = [{
    They are those of all slices. With `group` so do those of a group, which is a warp.

    ```mlir
    sparsec.barrier {group}
    ```
  }];
  let arguments = (ins UnitAttr:$group);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Sparsec_AddSlicesOp : Sparsec_Op<"add_slices", [AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "Adds the sums of all slices of a tile.";
  let description = [{
    Every slice has a sum. The result of slice 0 is the sum of all, in the order of the slices; that of any other is the
    one that it had. The sums go through shared memory behind that of all slices, from `offset` on, which
    `sparsec-assign-shared-memory` sets. Without it they go through the rings, whose slots must be free.

    ```mlir
    %all = sparsec.add_slices %sum : <16, 16>
    ```
  }];
  let arguments = (ins Sparsec_AccumulatorType:$accumulator, OptionalAttr<I64Attr>:$offset);
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = "$accumulator attr-dict `:` type($accumulator)";
  let hasVerifier = 1;
}

def Sparsec_CopyGroupOp : Sparsec_Op<"copy_group", [SingleBlock, NoTerminator]> {
  let summary = "Starts the copies of its body, if the condition holds, as a group that sparsec.await_copies counts.";
  let description = [{
    Without the condition the group is empty (cp.async.commit_group, PTX ISA 9.7.9.25.3.2).

    ```mlir
    sparsec.copy_group if %exists {
    ```
  }];
  let arguments = (ins Optional<I1>:$condition);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`if` $condition^)? attr-dict-with-keyword $body";
}

def Sparsec_AwaitCopiesOp : Sparsec_Op<"await_copies"> {
  let summary = "Waits until at most the last `outstanding` groups of copies of this thread are on their way.";
  let description = [{
    The thread then sees its own copies. `sparsec.barrier` makes those of all threads visible.

    ```mlir
    sparsec.await_copies {outstanding = 0 : i64}
    ```
  }];
  let arguments = (ins I64Attr:$outstanding);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif // SPARSEC_TILE_OPS_TD
