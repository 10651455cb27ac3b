// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attributes: layouts, broadcasts, the target chip and the schedule.

#ifndef SPARSEC_ATTRS_TD
#define SPARSEC_ATTRS_TD

include "SparsecDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Sparsec_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Sparsec_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

// An enum as an attribute of its own: #sparsec.broadcast<per_row>.
class Sparsec_EnumAttr<EnumInfo enum, string attrMnemonic> : EnumAttr<Sparsec_Dialect, enum, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

// The values of the enums below equal those of runtime/include/sparsec/launch_info.h.

def Sparsec_DenseLayout : I32EnumAttr<"DenseLayout", "order of the dimensions of the dense operand X", [
    I32EnumAttrCase<"kn", 1>, I32EnumAttrCase<"nk", 2>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_DenseLayoutAttr : Sparsec_EnumAttr<Sparsec_DenseLayout, "dense_layout"> {
  let summary = "Order of the dimensions of the dense operand X.";
  let description = [{
    `kn`: K x N, N contiguous. `nk`: N x K, K contiguous, as the activations of a linear layer are.
  }];
}

def Sparsec_LeftLayout : I32EnumAttr<"LeftLayout", "order of the dimensions of the left dense operand A", [
    I32EnumAttrCase<"mk", 1>, I32EnumAttrCase<"km", 2>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_LeftLayoutAttr : Sparsec_EnumAttr<Sparsec_LeftLayout, "left_layout"> {
  let summary = "Order of the dimensions of the left dense operand A of sddmm.";
  let description = [{
    `mk`: M x K, K contiguous. `km`: K x M, M contiguous.
  }];
}

def Sparsec_ResultLayout : I32EnumAttr<"ResultLayout", "order of the dimensions of the result Y", [
    I32EnumAttrCase<"mn", 1>, I32EnumAttrCase<"nm", 2>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_ResultLayoutAttr : Sparsec_EnumAttr<Sparsec_ResultLayout, "result_layout"> {
  let summary = "Order of the dimensions of the result Y.";
  let description = [{
    `mn`: M x N, N contiguous. `nm`: N x M, M contiguous, as the result of a linear layer is.
  }];
}

def Sparsec_Broadcast : I32EnumAttr<"Broadcast", "which elements of an extra operand belong to result element (m, n)", [
    I32EnumAttrCase<"per_row", 1>, I32EnumAttrCase<"per_column", 2>,
    I32EnumAttrCase<"scalar", 3>, I32EnumAttrCase<"full", 4>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_BroadcastAttr : Sparsec_EnumAttr<Sparsec_Broadcast, "broadcast"> {
  let summary = "Which elements of an extra operand belong to result element (m, n).";
  let description = [{
    `per_row`: element m; `per_column`: element n; `scalar`: the only one; `full`: element (m, n), in the layout of Y.
  }];
}
def Sparsec_BroadcastArrayAttr : TypedArrayAttrBase<Sparsec_BroadcastAttr, "array of broadcasts">;

def Sparsec_Instruction : I32EnumAttr<"Instruction", "matrix instruction of a schedule", [
    I32EnumAttrCase<"wgmma", 1>, I32EnumAttrCase<"mma_sync", 2>]> {
  let cppNamespace = "::sparsec";
}
def Sparsec_Copy : I32EnumAttr<"Copy", "how operands reach shared memory", [
    I32EnumAttrCase<"tma", 1>, I32EnumAttrCase<"cp_async", 2>, I32EnumAttrCase<"scalar", 3>]> {
  let cppNamespace = "::sparsec";
}

def Sparsec_TargetAttr : Sparsec_Attr<"Target", "target"> {
  let summary = "The chip a module is compiled for: `#sparsec.target<\"sm_90a\">`.";
  let description = [{
    The name of a row of the chip table (`compiler/target/Targets.def`), or `host`. Facts about the chip live in that
    table, not here. `sparsec-attach-target` refuses a name that is not in the table.

    ```mlir
    module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
    ```
  }];
  let parameters = (ins StringRefParameter<"name of a row of the chip table, or host">:$chip);
  let assemblyFormat = "`<` $chip `>`";
}

def Sparsec_ScheduleAttr : Sparsec_Attr<"Schedule", "schedule"> {
  let summary = "How a kernel is tiled, pipelined and mapped to the chip.";
  let description = [{
    Written by the pass `sparsec-select-schedule`, or by hand on `sparsec.kernel` (then it wins; one that does not fit
    is an error). Every other pass only applies it.

    - `instruction`, `copy`: the matrix instruction and the way operands reach shared memory (`tma`: tensor memory
      accelerator; `cp_async`: 16-byte asynchronous copies; `scalar`: element by element, for any alignment).
    - `tile_m` x `tile_n`: result elements of one CTA; `tile_k`: depth of one stage. `tile_k` larger than the block's
      columns puts `tile_k / c` blocks into one stage, smaller cuts a block into chunks.
    - `stages`: slots of the ring.
    - `consumers_m` x `consumers_n`: the grid of consumers over the tile: warpgroups (wgmma) or warps (mma_sync).
    - `cluster`: CTAs that share one tile row and get A by multicast.
    - `concurrent_tiles`: tiles that a CTA works on side by side, each with consumers, a producer and rings of its own
      (attention; else 1).
    - `producer_registers`, `consumer_registers`: per thread; 0 leaves the compiler's count. wgmma: of the two roles, by
      setmaxnreg. mma_sync: `consumer_registers` is the most that a thread may use.
    - `group_m`: tile rows that share a column panel at a time when there is no plan.
    - `ctas_per_sm`: CTAs that are meant to be resident on one SM.

    In attention the tile is a block of queries or half of one, and `tile_n` keys are a step: one or two key blocks
    (wgmma) or a part of one (mma_sync, a multiple of 32). `tile_k` is the head dimension, `consumers_m` the queries
    over 64 (wgmma) or 16 (mma_sync), `consumers_n` 1. `stages`: slots of keys or values (wgmma), of each (mma_sync).

    Constraints: `schedule_c1` to `schedule_c3` for what holds on every chip; the limits of a chip (shared memory,
    registers, the largest instruction) are checked by `sparsec-select-schedule`.

    ```mlir
    #sparsec.schedule<instruction = wgmma, copy = tma, tile_m = 128, tile_n = 256, tile_k = 64,
        stages = 4, consumers_m = 2, consumers_n = 1, cluster = 2>
    ```
  }];
  let parameters = (ins
    EnumParameter<Sparsec_Instruction>:$instruction,
    EnumParameter<Sparsec_Copy>:$copy,
    "int64_t":$tile_m, "int64_t":$tile_n, "int64_t":$tile_k,
    "int64_t":$stages,
    "int64_t":$consumers_m, "int64_t":$consumers_n,
    DefaultValuedParameter<"int64_t", "1">:$cluster,
    DefaultValuedParameter<"int64_t", "0">:$producer_registers,
    DefaultValuedParameter<"int64_t", "0">:$consumer_registers,
    DefaultValuedParameter<"int64_t", "16">:$group_m,
    DefaultValuedParameter<"int64_t", "1">:$ctas_per_sm,
    DefaultValuedParameter<"int64_t", "1">:$concurrent_tiles);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sparsec_ParameterKind : I32EnumAttr<"ParameterKind", "where the runtime takes a machine-kernel parameter from", [
    I32EnumAttrCase<"tensor_map", 1>, I32EnumAttrCase<"pointer", 2>, I32EnumAttrCase<"row_ptr", 3>,
    I32EnumAttrCase<"col_idx", 4>, I32EnumAttrCase<"size", 5>, I32EnumAttrCase<"stride", 6>,
    I32EnumAttrCase<"scalar", 7>, I32EnumAttrCase<"plan_section", 8>, I32EnumAttrCase<"tile_rows", 9>,
    I32EnumAttrCase<"tile_panels", 10>, I32EnumAttrCase<"pattern_field", 11>, I32EnumAttrCase<"workspace", 12>,
    I32EnumAttrCase<"input", 13>, I32EnumAttrCase<"tile_period", 14>]> {
  let cppNamespace = "::sparsec";
}
def Sparsec_ParameterAttr : Sparsec_Attr<"Parameter", "parameter"> {
  let summary = "One parameter of a machine kernel: a sparsec_parameter_info_t of launch_info.h.";
  let description = [{
    `kind` says where the runtime takes the parameter from, `argument` which argument of the kernel (0 = first) and
    `index` which dimension, tensor map, plan section, workspace, input or field of a pattern (sparsec_field_t), where
    the kind has one. Constraint: `parameter_c1`.

    ```mlir
    #sparsec.parameter<kind = size, argument = 1, index = 1>
    ```
  }];
  let parameters = (ins EnumParameter<Sparsec_ParameterKind>:$kind,
    DefaultValuedParameter<"int64_t", "0">:$argument, DefaultValuedParameter<"int64_t", "0">:$index);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sparsec_TensorMapKind : I32EnumAttr<"TensorMapKind", "what a tensor map describes", [
    I32EnumAttrCase<"dense", 1>, I32EnumAttrCase<"bsr_values", 2>,
    I32EnumAttrCase<"bsr_edge_values", 3>]> {
  let cppNamespace = "::sparsec";
}
def Sparsec_TensorMapAttr : Sparsec_Attr<"TensorMap", "tensor_map"> {
  let summary = "How the runtime encodes a tensor map: a sparsec_tensor_map_info_t of launch_info.h.";
  let description = [{
    The runtime builds the map from the argument's pointer, sizes and strides. `swizzle` is in bytes: 0, 32, 64 or 128.
    `box` is what one copy brings, in elements, innermost dimension first: a size per dimension for `dense` (2 to 5), 3
    for `bsr_values` (block columns, block rows, blocks) and `bsr_edge_values` (the same of blocks that K cuts: columns
    beyond K arrive as zero). Constraints: `tensor_map_c1` to `tensor_map_c4`.

    ```mlir
    #sparsec.tensor_map<kind = dense, argument = 1, swizzle = 128, box = [64, 256]>
    ```
  }];
  let parameters = (ins EnumParameter<Sparsec_TensorMapKind>:$kind, "int64_t":$argument, "int64_t":$swizzle,
    ArrayRefParameter<"int64_t">:$box);
  let assemblyFormat = "`<` struct($kind, $argument, $swizzle) `,` `box` `=` `[` $box `]` `>`";
  let genVerifyDecl = 1;
}

def Sparsec_WorkspaceKind : I32EnumAttr<"WorkspaceKind", "what a machine kernel does with a workspace", [
    I32EnumAttrCase<"scratch", 1>, I32EnumAttrCase<"tile_counter", 2>]> {
  let cppNamespace = "::sparsec";
}
def Sparsec_WorkspaceAttr : Sparsec_Attr<"Workspace", "workspace"> {
  let summary = "Device memory that a launch may bring: a sparsec_workspace_info_t of launch_info.h.";
  let description = [{
    `bytes` of memory. A `tile_counter` is zero before the first launch, and every launch leaves it so for the next one.
    Constraint: `workspace_c1`.

    ```mlir
    #sparsec.workspace<kind = tile_counter, bytes = 4>
    ```
  }];
  let parameters = (ins EnumParameter<Sparsec_WorkspaceKind>:$kind, "int64_t":$bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sparsec_AuxiliaryKind : I32EnumAttr<"AuxiliaryKind", "what a machine kernel beside those of the variants does", [
    I32EnumAttrCase<"pattern_builder", 1>, I32EnumAttrCase<"block_mask_reader", 2>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_AuxiliaryKindAttr : Sparsec_EnumAttr<Sparsec_AuxiliaryKind, "auxiliary"> {
  let summary = "What a machine kernel does that is none of a variant.";
  let description = [{
    `pattern_builder` writes the lists of a pattern from the mask region, `block_mask_reader` from the state of every
    block.
  }];
}

#endif // SPARSEC_ATTRS_TD
