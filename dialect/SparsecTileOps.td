// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tile ops: how a kernel is computed. A program is one machine kernel; its tile loop walks result tiles, its block loop
// the blocks of a tile's row. Two forms:
//
//   values    (after sparsec-lower-to-tiles)    load, chain, store: what happens, as if by one thread
//   pipeline  (after sparsec-pipeline-stages)   a ring of shared-memory slots between copies and chains: either two
//             roles, producer and consumer, or one role that prefetches `ahead` steps
//
// The emitters turn the pipeline form into NVVM.

#ifndef SPARSEC_TILE_OPS_TD
#define SPARSEC_TILE_OPS_TD

include "SparsecDialect.td"
include "SparsecAttrs.td"
include "SparsecTypes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"

// Gives the arguments of the op's block their names in a dump.
def Sparsec_NamesBlockArguments : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;

def Sparsec_ProgramOp : Sparsec_Op<"program", [
    IsolatedFromAbove, Symbol, SingleBlock, NoTerminator,
    HasParent<"::mlir::gpu::GPUModuleOp">, // program_c1
    ]> {
  let summary = "One machine kernel: a variant of a sparsec.kernel with one schedule.";
  let description = [{
    The region's arguments are the kernel's arguments, inputs then results. `kernel` names the `sparsec.kernel`,
    `variant` is the position among its variants, `alignment` the bytes to which the runtime has checked pointers and
    row strides. `shared_memory` (bytes) is set by `sparsec-assign-shared-memory`, and for attention with TMA
    `issuer_offset`: the end of all tiles, where several have a word that tells which of them has products issued.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name, FlatSymbolRefAttr:$kernel, Sparsec_ScheduleAttr:$schedule,
    I64Attr:$variant, I64Attr:$alignment,
    OptionalAttr<I64Attr>:$shared_memory, OptionalAttr<I64Attr>:$issuer_offset);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// Whether this is a program of sparsec.attention.
    bool isAttention();
  }];
}

def Sparsec_TileLoopOp : Sparsec_Op<"tile_loop", [SingleBlock, NoTerminator, Sparsec_NamesBlockArguments]> {
  let summary = "Walks the result tiles of this CTA: the plan's list, or a fixed raster without a plan.";
  let description = [{
    The body's argument is the tile. CTA (or cluster) w of W takes the tiles that the plan lists for it, or the tiles w,
    w + W, ... of the raster.

    ```mlir
    sparsec.tile_loop {
    ^bb0(%tile: !sparsec.tile):
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasVerifier = 1;
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

def Sparsec_ZeroOp : Sparsec_Op<"zero", [Pure]> {
  let summary = "A zero accumulator.";
  let description = [{
    ```mlir
    %zero = sparsec.zero : <128, 256>
    ```
  }];
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
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
    `a`: `rows x columns` of W, from the tile's block row and this block (or these blocks, side by side) and chunk. `x`:
    the matching rows of X in the tile's column panel, as K x N or, when X is N x K, as N x K. Elements outside the
    matrices are zero.

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

def Sparsec_ChainOp : Sparsec_Op<"chain", [Pure, AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "accumulator + A X over the depth of one stage: a chain of matrix instructions.";
  let description = [{
    `x_transposed` says that the X buffer is N x K instead of K x N. `depth` is the number of K elements that count, per
    chunk (the last chunk of a block may be shallower than the stage).
  }];
  let arguments = (ins Sparsec_BufferType:$a, Sparsec_BufferType:$x, Sparsec_AccumulatorType:$accumulator,
    DenseI64ArrayAttr:$depth, UnitAttr:$x_transposed);
  let results = (outs Sparsec_AccumulatorType:$result);
  let assemblyFormat = "$a `,` $x `,` $accumulator attr-dict `:` type($a) `,` type($x) `,` type($accumulator)";
  let hasVerifier = 1;
}

def Sparsec_StoreOp : Sparsec_Op<"store", [SingleBlock, Sparsec_NamesBlockArguments]> {
  let summary = "Applies the epilogue to an accumulator and writes the tile to the result.";
  let description = [{
    The region is that of `sparsec.spmm`, the identity when the kernel has none. `transposed` says that the result is
    N x M. `staged` stores go through shared memory (stmatrix and TMA), others from registers with a bounds check;
    `staging` is then {offset in bytes, columns of one buffer, buffers per consumer}, set by
    `sparsec-assign-shared-memory`.
  }];
  let arguments = (ins Sparsec_AccumulatorType:$accumulator, Sparsec_TileType:$tile, AnyRankedTensor:$result,
    Variadic<AnyType>:$extras, Sparsec_BroadcastArrayAttr:$broadcast, I64Attr:$block_rows,
    UnitAttr:$transposed, UnitAttr:$staged, OptionalAttr<DenseI64ArrayAttr>:$staging);
  let regions = (region SizedRegion<1>:$epilogue);
  let assemblyFormat = [{
    $accumulator `to` $result `[` $tile `]` (`with` `(` $extras^ `:` type($extras) `)`)? attr-dict-with-keyword
    `:` type($accumulator) `->` type($result) $epilogue
  }];
  let hasRegionVerifier = 1;
}

def Sparsec_RingOp : Sparsec_Op<"ring", []> {
  let summary = "Shared memory for the ring: every stage holds all buffers; barriers where roles are split.";
  let description = [{
    `offsets` (bytes, one per buffer, of stage 0; stages follow one another per buffer), and `barrier_offset` are
    set by `sparsec-assign-shared-memory`.
  }];
  let arguments = (ins OptionalAttr<DenseI64ArrayAttr>:$offsets, OptionalAttr<I64Attr>:$barrier_offset);
  let results = (outs Sparsec_RingType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Sparsec_ProducerOp : Sparsec_Op<"producer", [SingleBlock, NoTerminator]> {
  let summary = "The role that fills the ring: one thread of a warpgroup of its own.";
  let description = [{
    Runs next to `sparsec.consumer`; the two meet at the ring. `registers` per thread by setmaxnreg, 0 leaves the
    compiler's count.

    ```mlir
    sparsec.producer attributes {registers = 40 : i64} {
    ```
  }];
  let arguments = (ins I64Attr:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Sparsec_ConsumerOp : Sparsec_Op<"consumer", [SingleBlock, NoTerminator]> {
  let summary = "The role that drains the ring: warpgroups that multiply and store.";
  let description = [{
    Runs next to `sparsec.producer` and walks the same tiles and blocks in the same order.

    ```mlir
    sparsec.consumer attributes {registers = 232 : i64} {
    ```
  }];
  let arguments = (ins I64Attr:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Sparsec_AcquireOp : Sparsec_Op<"acquire", []> {
  let summary = "Producer: waits until the next slot is empty and announces the bytes to come.";
  let description = [{
    ```mlir
    sparsec.acquire %ring : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

def Sparsec_CopyOp : Sparsec_Op<"copy", []> {
  let summary = "Starts the asynchronous copy of one operand of one step into buffer `index` of the current slot.";
  let description = [{
    What `sparsec.load` gives in the values form, without waiting for it. `multicast` copies bring the same bytes to
    every CTA of the cluster.

    ```mlir
    sparsec.copy a %w[%tile, %block, %chunk] to %ring[0] {blocks_per_step = 1 : i64, multicast}
        : !sparsec.bsr<?x?xbf16, block = 128x64>, <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
    ```
  }];
  let arguments = (ins AnyType:$source, Sparsec_TileType:$tile, Sparsec_BlockType:$block, I32:$chunk,
    Sparsec_RingType:$ring, I64Attr:$index, Sparsec_OperandAttr:$operand, I64Attr:$blocks_per_step,
    UnitAttr:$multicast);
  let assemblyFormat = [{
    `` $operand $source `[` $tile `,` $block `,` $chunk `]` `to` $ring `[` $index `]` attr-dict
    `:` type($source) `,` type($ring)
  }];
  let hasVerifier = 1;
}

def Sparsec_CommitOp : Sparsec_Op<"commit", []> {
  let summary = "Producer: the slot has all its copies; go to the next one.";
  let description = [{
    ```mlir
    sparsec.commit %ring : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

def Sparsec_WaitOp : Sparsec_Op<"wait", []> {
  let summary = "Consumer: waits until the next slot is full and gives its buffers.";
  let description = [{
    One result per buffer of the ring, of its type.

    ```mlir
    %a, %b = sparsec.wait %ring : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
        -> !sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring);
  let results = (outs Variadic<Sparsec_BufferType>:$buffers);
  let assemblyFormat = "$ring attr-dict `:` type($ring) `->` type($buffers)";
  let hasVerifier = 1;
}

def Sparsec_ReleaseOp : Sparsec_Op<"release", []> {
  let summary = "Consumer: the slot may be filled again once the chains that read it are complete.";
  let description = [{
    ```mlir
    sparsec.release %ring : <4, [!sparsec.buffer<128, 64, bf16>, !sparsec.buffer<64, 256, bf16>]>
    ```
  }];
  let arguments = (ins Sparsec_RingType:$ring);
  let assemblyFormat = "$ring attr-dict `:` type($ring)";
}

def Sparsec_PrefetchOp : Sparsec_Op<"prefetch", [SingleBlock, NoTerminator, Sparsec_NamesBlockArguments]> {
  let summary = "One role: fills the slot of the step `ahead` steps later, if there is one.";
  let description = [{
    The body's arguments are the block and, in a block loop, the chunk of that step. The loop around it also runs the
    body for the first `ahead` steps before it starts.
  }];
  let arguments = (ins Sparsec_RingType:$ring, I64Attr:$ahead);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$ring attr-dict-with-keyword `:` type($ring) $body";
  let hasVerifier = 1;
}

#endif // SPARSEC_TILE_OPS_TD
