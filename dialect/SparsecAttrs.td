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

// An enum that is an attribute of its own, such as #sparsec.broadcast<per_row>.
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
    `kn`: K x N, with N contiguous. `nk`: N x K, with K contiguous. The activations of a linear layer have this order.
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
    `mn`: M x N, with N contiguous. `nm`: N x M, with M contiguous. The result of a linear layer has this order.
  }];
}

def Sparsec_Accumulation : I32EnumAttr<"Accumulation", "how sums of fp8 products are kept", [
    I32EnumAttrCase<"two_level", 1>, I32EnumAttrCase<"fast", 2>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_AccumulationAttr : Sparsec_EnumAttr<Sparsec_Accumulation, "accumulation"> {
  let summary = "How sums of fp8 products are kept.";
  let description = [{
    The matrix instructions keep about 14 bits of a sum of fp8 products. `two_level`: sums over at most 128 of K are
    added in f32. `fast`: the instructions keep the whole sum.
  }];
}

def Sparsec_Broadcast : I32EnumAttr<"Broadcast", "which elements of an extra operand belong to result element (m, n)", [
    I32EnumAttrCase<"per_row", 1>, I32EnumAttrCase<"per_column", 2>,
    I32EnumAttrCase<"scalar", 3>, I32EnumAttrCase<"full", 4>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_BroadcastAttr : Sparsec_EnumAttr<Sparsec_Broadcast, "broadcast"> {
  let summary = "The element of an extra operand that belongs to result element (m, n).";
  let description = [{
    `per_row`: element m. `per_column`: element n. `scalar`: the only element. `full`: element (m, n), in Y's layout.
  }];
}
def Sparsec_BroadcastArrayAttr : TypedArrayAttrBase<Sparsec_BroadcastAttr, "array of broadcasts">;

def Sparsec_Instruction : I32EnumAttr<"Instruction", "matrix instruction of a schedule, or what a host has instead", [
    I32EnumAttrCase<"wgmma", 1>, I32EnumAttrCase<"mma_sync", 2>, I32EnumAttrCase<"multiply_add", 3>,
    I32EnumAttrCase<"none", 4>]> {
  let cppNamespace = "::sparsec";
}
def Sparsec_Copy : I32EnumAttr<"Copy", "how operands reach shared memory, registers, or the buffers of a host", [
    I32EnumAttrCase<"tma", 1>, I32EnumAttrCase<"cp_async", 2>, I32EnumAttrCase<"scalar", 3>,
    I32EnumAttrCase<"unpack", 4>, I32EnumAttrCase<"vector", 5>]> {
  let cppNamespace = "::sparsec";
}

def Sparsec_TargetAttr : Sparsec_Attr<"Target", "target"> {
  let summary = "The chip a module is compiled for: `#sparsec.target<\"sm_90a\">`.";
  let description = [{
    The name of a row of the chip table (`compiler/target/Targets.def`), or `host`. Only that table has facts about the
    chip. `sparsec-attach-target` refuses a name that is not in the table.

    ```mlir
    module attributes {sparsec.target = #sparsec.target<"sm_90a">} {
    ```
  }];
  let parameters = (ins StringRefParameter<"name of a row of the chip table, or host">:$chip);
  let assemblyFormat = "`<` $chip `>`";
}

def Sparsec_Walk : I32EnumAttr<"Walk", "what the steps of a tile are", [
    I32EnumAttrCase<"blocks", 1>, I32EnumAttrCase<"windows", 2>, I32EnumAttrCase<"streams", 3>,
    I32EnumAttrCase<"joint", 4>]> {
  let cppNamespace = "::sparsec";
}

// A plan's sections that programs read op by op. The values are those of sparsec_plan_section_t.
def Sparsec_PlanSection : I32EnumAttr<"PlanSection", "a section of a plan", [
    I32EnumAttrCase<"window_rows", 2>, I32EnumAttrCase<"column_offsets", 3>, I32EnumAttrCase<"columns", 4>,
    I32EnumAttrCase<"block_offsets", 5>, I32EnumAttrCase<"blocks", 6>, I32EnumAttrCase<"step_offsets", 7>,
    I32EnumAttrCase<"steps", 8>, I32EnumAttrCase<"stage_offsets", 9>, I32EnumAttrCase<"stage_columns", 10>,
    I32EnumAttrCase<"stage_products", 11>, I32EnumAttrCase<"chunk_offsets", 12>,
    I32EnumAttrCase<"chunk_blocks", 13>, I32EnumAttrCase<"row_starts", 14>, I32EnumAttrCase<"row_columns", 15>,
    I32EnumAttrCase<"row_blocks", 16>, I32EnumAttrCase<"pair_starts", 17>, I32EnumAttrCase<"pairs", 18>,
    I32EnumAttrCase<"packed_starts", 19>, I32EnumAttrCase<"packed_columns", 20>,
    I32EnumAttrCase<"packed_sources", 21>, I32EnumAttrCase<"column_counts", 22>,
    I32EnumAttrCase<"window_counts", 23>, I32EnumAttrCase<"pair_counts", 24>,
    I32EnumAttrCase<"window_sizes", 25>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_PlanSectionAttr : EnumAttr<Sparsec_Dialect, Sparsec_PlanSection, "plan_section">;

class Sparsec_DefaultedEnumParameter<EnumInfo enum, string value> : EnumParameter<enum> {
  let defaultValue = value;
}

def Sparsec_ScheduleAttr : Sparsec_Attr<"Schedule", "schedule"> {
  let summary = "How a kernel is tiled, pipelined and mapped to the chip.";
  let description = [{
    The pass `sparsec-select-schedule` writes a schedule. If `sparsec.kernel` has a schedule that was written by hand,
    the pass takes that one. A schedule that does not fit is an error. Every other pass only applies the schedule.

    - `instruction`, `copy`: the matrix instruction, and the copy that brings operands to shared memory (`tma`: the
      tensor memory accelerator; `cp_async`: asynchronous copies of 16 bytes; `scalar`: element by element, for any
      alignment). The host has `multiply_add`, a multiply-add of vectors of f32, and `unpack`, which writes elements as
      f32 to a buffer on the stack. `sparsec-select-schedule` writes them for the host, and no chip has them. A kernel
      that multiplies no matrices has `none`: its threads load operands to registers, in vectors of 16 bytes (`vector`)
      or element by element (`scalar`).
    - `tile_m` x `tile_n`: result elements of one CTA. `tile_k`: depth of one stage. If `tile_k` is larger than the
      block's columns c, one stage has `tile_k / c` blocks. If it is smaller, it cuts a block into chunks.
    - `stages`: slots of the ring.
    - `consumers_m` x `consumers_n`: the grid of consumers over the tile. A consumer is a warpgroup (wgmma) or a warp
      (mma_sync).
    - `cluster`: CTAs that share one tile row and get A by multicast. With `walk = streams` they share a panel, and get
      X by multicast: the window of a plan has the rows of all of them.
    - `concurrent_tiles`: tiles that a CTA computes side by side. Each has consumers, a producer and rings of its own.
      Products have 1.
    - `producer_registers`, `consumer_registers`: registers of a thread. With 0 the compiler chooses the number. wgmma:
      setmaxnreg sets the numbers of the two roles. mma_sync: a thread uses at most `consumer_registers`.
    - `group_m`: tile rows of a group, which share a column panel. Launches without a plan and plans of nearly dense
      patterns use groups.
    - `ctas_per_sm`: CTAs that should be resident on one SM.
    - `walk`: the steps of a tile. `blocks`: the tile has rows of one block row, and its steps are the blocks of this
      row. `windows`: each of the `consumers_m` consumers has a block row of its own, and the tile loads every column of
      X that one of them needs once. Such a schedule needs the window sections of a plan (plan_sections.h). `streams`:
      each consumer has several block rows. A stage of X has `tile_k / c` columns of the window, and each consumer has a
      stream of blocks. With wgmma products are transposed: a consumer multiplies a part of X^T by the transpose of a
      block. With mma_sync each consumer copies its own blocks by cp.async. Such a schedule needs the stream sections of
      a plan. `joint`, in attention alone: the tile has two block rows of the pattern, and its steps are the key blocks
      that one of them sees. Such a schedule needs the joint lists of a plan.
    - `block_stages`: the slots of the ring of blocks; with `streams`, those of each consumer. `stages` are those of X.
      0 with `blocks` and `joint`.
    - `slices`: warps that divide the steps of a tile among them (sliced K), or with wgmma producers and consumers that
      do. Each slice has a ring of its own and a sum of the whole tile. The sums are added in the order of the slices.

    In attention the tile is a block of queries, half of one, or two of them (`walk = joint`). A step takes `tile_n`
    keys: one or two key blocks (wgmma), or a part of one that is a multiple of 32 (mma_sync). `tile_k` is the head
    dimension. `consumers_m` is the number of queries divided by 64 (wgmma) or 16 (mma_sync), and `consumers_n` is 1.
    `stages` is the number of slots for keys and values together (wgmma), or for each of the two (mma_sync).

    In a merge the tile has `tile_m` rows, of which `tile_n` columns are moved at a time. `consumers_m` is the number of
    warps, and `tile_k`, `stages` and `consumers_n` are 1.

    Constraints: `schedule_c1` to `schedule_c5` hold on every chip. `sparsec-select-schedule` checks the limits of a
    chip (shared memory, registers, the largest instruction).

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
    DefaultValuedParameter<"int64_t", "1">:$concurrent_tiles,
    Sparsec_DefaultedEnumParameter<Sparsec_Walk, "Walk::blocks">:$walk,
    DefaultValuedParameter<"int64_t", "0">:$block_stages,
    DefaultValuedParameter<"int64_t", "1">:$slices);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether no chip has this schedule.
    bool isForHost() const { return getInstruction() == Instruction::multiply_add || getCopy() == Copy::unpack; }
  }];
}

def Sparsec_ParameterKind : I32EnumAttr<"ParameterKind", "where the runtime takes a machine-kernel parameter from", [
    I32EnumAttrCase<"tensor_map", 1>, I32EnumAttrCase<"pointer", 2>, I32EnumAttrCase<"row_ptr", 3>,
    I32EnumAttrCase<"col_idx", 4>, I32EnumAttrCase<"size", 5>, I32EnumAttrCase<"stride", 6>,
    I32EnumAttrCase<"scalar", 7>, I32EnumAttrCase<"plan_section", 8>, I32EnumAttrCase<"tile_rows", 9>,
    I32EnumAttrCase<"tile_panels", 10>, I32EnumAttrCase<"pattern_field", 11>, I32EnumAttrCase<"workspace", 12>,
    I32EnumAttrCase<"input", 13>, I32EnumAttrCase<"tile_period", 14>, I32EnumAttrCase<"parts", 15>,
    I32EnumAttrCase<"number", 16>]> {
  let cppNamespace = "::sparsec";
}
def Sparsec_ParameterAttr : Sparsec_Attr<"Parameter", "parameter"> {
  let summary = "One parameter of a machine kernel: a sparsec_parameter_info_t of launch_info.h.";
  let description = [{
    `kind` is the source of the parameter. `argument` is the number of an argument of the kernel (0 = first). `index` is
    the number of a dimension, tensor map, plan section, workspace, input, number or field of a pattern
    (sparsec_field_t), if the kind has one. Constraint: `parameter_c1`.

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
    I32EnumAttrCase<"bsr_edge_values", 3>, I32EnumAttrCase<"bsr_lines", 4>,
    I32EnumAttrCase<"bsr_edge_rows", 5>, I32EnumAttrCase<"dense_clipped", 6>]> {
  let cppNamespace = "::sparsec";
}
def Sparsec_TensorMapAttr : Sparsec_Attr<"TensorMap", "tensor_map"> {
  let summary = "How the runtime encodes a tensor map: a sparsec_tensor_map_info_t of launch_info.h.";
  let description = [{
    The runtime builds the map from the argument's pointer, sizes and strides. `swizzle` is in bytes: 0, 32, 64 or
    128. `box` has the elements that one copy brings, with the innermost dimension first. For `dense` it has one size
    per dimension (2 to 5). So it has for `dense_clipped`, whose boxes have no more rows than the argument. For
    `bsr_values` it has 3: block columns, block rows, blocks. For `bsr_edge_values` it has the same 3, for blocks that
    K cuts; columns beyond K arrive as zero. For `bsr_edge_rows` it is the same with the rows of a transposed matrix,
    which K cuts. For `bsr_lines` it has 3 too: elements of 128 bytes, lines of 128 bytes in a block, blocks.
    Constraints: `tensor_map_c1` to `tensor_map_c4`.

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
    I32EnumAttrCase<"scratch", 1>, I32EnumAttrCase<"tile_counter", 2>,
    I32EnumAttrCase<"tile_sums", 3>, I32EnumAttrCase<"sum_flags", 4>]> {
  let cppNamespace = "::sparsec";
}
def Sparsec_WorkspaceAttr : Sparsec_Attr<"Workspace", "workspace"> {
  let summary = "Device memory that a launch may bring: a sparsec_workspace_info_t of launch_info.h.";
  let description = [{
    `bytes` is the size of the memory, of `tile_sums` and `sum_flags` for each CTA. A `tile_counter` and `sum_flags` are
    zero before the first launch and after every launch.
    Constraint: `workspace_c1`.

    ```mlir
    #sparsec.workspace<kind = tile_counter, bytes = 4>
    ```
  }];
  let parameters = (ins EnumParameter<Sparsec_WorkspaceKind>:$kind, "int64_t":$bytes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Sparsec_LoopTest : I32EnumAttr<"LoopTest", "how a loop compares a carried i32 with a number", [
    I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"sge", 2>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_LoopTestAttr : EnumAttr<Sparsec_Dialect, Sparsec_LoopTest, "loop_test">;

def Sparsec_AuxiliaryKind : I32EnumAttr<"AuxiliaryKind", "what a machine kernel beside those of the variants does", [
    I32EnumAttrCase<"pattern_builder", 1>, I32EnumAttrCase<"block_mask_reader", 2>,
    I32EnumAttrCase<"pack_blocks", 3>, I32EnumAttrCase<"count_columns", 4>, I32EnumAttrCase<"write_index", 5>,
    I32EnumAttrCase<"count_windows", 6>, I32EnumAttrCase<"write_windows", 7>, I32EnumAttrCase<"count_pairs", 8>,
    I32EnumAttrCase<"write_pairs", 9>, I32EnumAttrCase<"convert_values", 10>,
    I32EnumAttrCase<"top_k_blocks", 11>, I32EnumAttrCase<"write_lists", 12>]> {
  let cppNamespace = "::sparsec";
  let genSpecializedAttr = 0;
}
def Sparsec_AuxiliaryKindAttr : Sparsec_EnumAttr<Sparsec_AuxiliaryKind, "auxiliary"> {
  let summary = "What a machine kernel does that belongs to no variant.";
  let description = [{
    A `pattern_builder` writes the lists of a pattern from the mask region. A `block_mask_reader` writes them from the
    state of every block. `top_k_blocks` writes in each list the key blocks with the highest scores. `pack_blocks`
    writes the packed blocks of a matrix from its stored blocks. `convert_values` quantises operands to fp8.

    The others write the sections of a plan from the index arrays of a matrix: `count_columns` and then `write_index`
    the index of a transposed operand, `count_windows` and then `write_windows` the windows or streams, `count_pairs`
    and then `write_pairs` the pairs of the blocks of two matrices, `write_lists` the lists of tiles.
  }];
}

#endif // SPARSEC_ATTRS_TD
