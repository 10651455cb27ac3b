// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-embed-launch-info: what the kernel ops and the attributes of the machine kernels say becomes the bytes of a
// constant global, which the runtime reads from the finished image.

#include "AttentionSchedule.h"
#include "Family.h"
#include "OperationRecords.h"
#include "Passes.h"
#include "ScheduleAttribute.h"
#include "TargetInfo.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sparsec {
#define GEN_PASS_DEF_EMBEDLAUNCHINFOPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

// A step of the block loop has one scale of X for each column.
static_assert(mostDepthOfPart == SPARSEC_X_SCALE_DEPTH);

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static sparsec_dtype_t getElementType(Type type) {
  return TypeSwitch<Type, sparsec_dtype_t>(type)
      .Case([](Float32Type) { return SPARSEC_DTYPE_F32; })
      .Case([](Float16Type) { return SPARSEC_DTYPE_F16; })
      .Case([](BFloat16Type) { return SPARSEC_DTYPE_BF16; })
      .Case([](Float8E4M3FNType) { return SPARSEC_DTYPE_F8E4M3FN; })
      .Case([](Float8E5M2Type) { return SPARSEC_DTYPE_F8E5M2; })
      .Case([](IntegerType integer) {
        return integer.getWidth() == 64  ? SPARSEC_DTYPE_I64
               : integer.getWidth() == 8 ? SPARSEC_DTYPE_I8
                                         : SPARSEC_DTYPE_I32;
      })
      .Default(SPARSEC_DTYPE_NONE);
}

static int64_t getSize(int64_t size) { return ShapedType::isDynamic(size) ? SPARSEC_DYNAMIC : size; }

/// The fields that follow from the type alone.
static sparsec_argument_info_t describeType(Type type) {
  sparsec_argument_info_t info = {};
  if (auto matrix = dyn_cast<BsrType>(type)) {
    info.kind = SPARSEC_ARGUMENT_BSR;
    info.dtype = getElementType(matrix.getElementType());
    info.rank = 2;
    // The caller passes the stored matrix.
    unsigned row = matrix.getStoredRowDimension(), column = matrix.getStoredColumnDimension();
    info.sizes[row] = getSize(matrix.getRows());
    info.sizes[column] = getSize(matrix.getColumns());
    info.block_rows = matrix.getTransposed() ? matrix.getBlockColumns() : matrix.getBlockRows();
    info.block_columns = matrix.getTransposed() ? matrix.getBlockRows() : matrix.getBlockColumns();
  } else if (auto pattern = dyn_cast<PatternType>(type)) {
    info.kind = SPARSEC_ARGUMENT_PATTERN;
    info.dtype = SPARSEC_DTYPE_I32;
    info.block_rows = pattern.getQueryBlock();
    info.block_columns = pattern.getKeyBlock();
  } else if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    info.kind = SPARSEC_ARGUMENT_DENSE;
    info.dtype = getElementType(tensor.getElementType());
    info.rank = tensor.getRank();
    for (auto [index, size] : llvm::enumerate(tensor.getShape()))
      info.sizes[index] = getSize(size);
  } else {
    info.kind = SPARSEC_ARGUMENT_SCALAR;
    info.dtype = getElementType(type);
  }
  return info;
}

/// Inputs in order, then results: names and types.
static std::vector<sparsec_argument_info_t> describeArguments(KernelOp kernel) {
  std::vector<sparsec_argument_info_t> arguments;
  for (Type type : kernel.getArgumentTypes())
    arguments.push_back(describeType(type));
  for (Type type : kernel.getResultTypes())
    arguments.push_back(describeType(type));
  for (auto [argument, name] : llvm::zip(arguments, kernel.getArgumentNames()))
    setText(argument.name, cast<StringAttr>(name).getValue());
  for (auto [argument, name] :
       llvm::zip(MutableArrayRef(arguments).drop_front(kernel.getArgumentTypes().size()), kernel.getResultNames()))
    setText(argument.name, cast<StringAttr>(name).getValue());
  return arguments;
}

//===----------------------------------------------------------------------===//
// Machine kernels
//===----------------------------------------------------------------------===//

static uint32_t getIntegerOr(Operation *op, StringRef name, uint32_t otherwise) {
  auto attribute = op->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : otherwise;
}

static void describeSchedule(ScheduleAttr attribute, sparsec_stage_info_t &info) {
  info.cluster = attribute.getCluster();
  info.ctas_per_sm = attribute.getCtasPerSm();
  info.concurrent_tiles = attribute.getConcurrentTiles();
  info.tile_m = attribute.getTileM();
  info.tile_n = attribute.getTileN();
  info.tile_k = attribute.getTileK();
  info.slots = attribute.getStages();
  info.group_m = attribute.getGroupM();
  if (attribute.getWalk() == Walk::streams) {
    info.consumer_rows = info.tile_m / uint32_t(attribute.getConsumersM());
    info.tile_m *= ctasOfWindow(toSchedule(attribute)); // a tile of streams is a window, which these CTAs share
    info.product_rows = productRows(toSchedule(attribute).instruction);
  }
}

static sparsec_parameter_info_t describeParameter(ParameterAttr parameter) {
  auto argument = static_cast<uint32_t>(parameter.getArgument()), index = static_cast<uint32_t>(parameter.getIndex());
  auto field = [&](sparsec_field_t field, uint32_t dimension = 0) -> sparsec_parameter_info_t {
    return {SPARSEC_SOURCE_ARGUMENT, argument, uint32_t(field), dimension};
  };
  switch (parameter.getKind()) {
  case ParameterKind::tensor_map:
    return {SPARSEC_SOURCE_TENSOR_MAP, index, 0, 0};
  case ParameterKind::pointer:
    return field(SPARSEC_FIELD_DATA);
  case ParameterKind::row_ptr:
    return field(SPARSEC_FIELD_FULL_STARTS);
  case ParameterKind::col_idx:
    return field(SPARSEC_FIELD_FULL_INDICES);
  case ParameterKind::size:
    return field(SPARSEC_FIELD_SIZE, index);
  case ParameterKind::stride:
    return field(SPARSEC_FIELD_STRIDE, index);
  case ParameterKind::scalar:
    return field(SPARSEC_FIELD_SCALAR);
  case ParameterKind::plan_section:
    return {SPARSEC_SOURCE_PLAN_SECTION, index, 0, 0};
  case ParameterKind::tile_rows:
    return {SPARSEC_SOURCE_TILE_ROWS, 0, 0, 0};
  case ParameterKind::tile_panels:
    return {SPARSEC_SOURCE_PANELS, 0, 0, 0};
  case ParameterKind::tile_period:
    return {SPARSEC_SOURCE_PERIOD, 0, 0, 0};
  case ParameterKind::parts:
    return {SPARSEC_SOURCE_PARTS, 0, 0, 0};
  case ParameterKind::pattern_field:
    return field(static_cast<sparsec_field_t>(index));
  case ParameterKind::workspace:
    return {SPARSEC_SOURCE_WORKSPACE, index, 0, 0};
  case ParameterKind::input:
    return {SPARSEC_SOURCE_INPUT, index, 0, 0};
  case ParameterKind::number:
    return {SPARSEC_SOURCE_NUMBER, index, 0, 0};
  }
  llvm_unreachable("all kinds are covered");
}

static sparsec_tensor_map_info_t describeTensorMap(TensorMapAttr map) {
  sparsec_tensor_map_info_t info = {};
  info.kind = static_cast<uint32_t>(map.getKind());
  info.argument = map.getArgument();
  info.rank = map.getBox().size();
  switch (map.getSwizzle()) {
  case 32:
    info.swizzle = SPARSEC_SWIZZLE_32B;
    break;
  case 64:
    info.swizzle = SPARSEC_SWIZZLE_64B;
    break;
  case 128:
    info.swizzle = SPARSEC_SWIZZLE_128B;
    break;
  default:
    info.swizzle = SPARSEC_SWIZZLE_NONE;
  }
  llvm::copy(map.getBox(), info.box);
  return info;
}

static FailureOr<StageRecord> describeStage(LLVM::LLVMFuncOp function) {
  auto parameters = function->getAttrOfType<ArrayAttr>("sparsec.parameters");
  if (!parameters)
    return function.emitOpError("expects the attribute sparsec.parameters on a machine kernel, but got none");

  StageRecord stage;
  setText(stage.info.symbol, function.getName());
  stage.info.threads = getIntegerOr(function, "sparsec.threads", 1);
  stage.info.dynamic_shared_memory = getIntegerOr(function, "sparsec.shared_memory", 0);
  stage.info.cluster = stage.info.ctas_per_sm = stage.info.concurrent_tiles = 1;
  if (auto schedule = function->getAttrOfType<ScheduleAttr>("sparsec.schedule"))
    describeSchedule(schedule, stage.info);
  if (function->hasAttr("sparsec.adjacent_columns"))
    stage.info.flags |= SPARSEC_STAGE_ADJACENT_COLUMNS;
  if (function->hasAttr("sparsec.dependent_launch"))
    stage.info.flags |= SPARSEC_STAGE_DEPENDENT_LAUNCH;
  stage.info.tile_m = getIntegerOr(function, "sparsec.tile_m", stage.info.tile_m);
  stage.info.tile_n = getIntegerOr(function, "sparsec.tile_n", stage.info.tile_n);
  stage.info.tile_k = getIntegerOr(function, "sparsec.tile_k", stage.info.tile_k);
  stage.info.concurrent_tiles = getIntegerOr(function, "sparsec.concurrent_tiles", stage.info.concurrent_tiles);
  for (auto parameter : parameters.getAsRange<ParameterAttr>())
    stage.parameters.push_back(describeParameter(parameter));
  if (auto maps = function->getAttrOfType<ArrayAttr>("sparsec.tensor_maps"))
    for (auto map : maps.getAsRange<TensorMapAttr>())
      stage.tensorMaps.push_back(describeTensorMap(map));
  return stage;
}

namespace {
/// Makes the records of a kernel's variants from their functions and from the kernel's other records.
class VariantDescriber {
public:
  /// `chip` is null for the host. `merge` is the second stage of split variants, null where there are none. For packed
  /// values the kernel is one whose matrix has packed blocks, and `stored` has the sides of the stored ones.
  VariantDescriber(const Family &family, const KernelRecord &kernel, const Chip *chip, LLVM::LLVMFuncOp merge,
                   BlockSides stored = {})
      : family(family), kernel(kernel), view(kernel), chip(chip), merge(merge), stored(stored) {}

  FailureOr<VariantRecord> describeVariant(LLVM::LLVMFuncOp function);
  FailureOr<AuxiliaryRecord> describeAuxiliary(LLVM::LLVMFuncOp function, AuxiliaryKind kind);

private:
  /// `alignment` is that of dense operands, `blockAlignment` that of stored blocks.
  std::vector<sparsec_requirement_info_t> describeRequirements(const StageRecord &stage, uint32_t alignment,
                                                               uint32_t blockAlignment) const;
  FailureOr<std::vector<sparsec_plan_cost_info_t>> describePlanCosts(LLVM::LLVMFuncOp function, bool hasWindows) const;
  void addWorkspaces(LLVM::LLVMFuncOp function, StageRecord &stage, VariantRecord &variant) const;
  LogicalResult addMerge(VariantRecord &variant) const;
  bool isPacked() const { return stored.rows != 0; }
  bool isProduct() const { return kernel.operation.kind == SPARSEC_OPERATION_SPMM; }

  const Family &family;
  const KernelRecord &kernel;
  const RecordView view;
  const Chip *chip;
  LLVM::LLVMFuncOp merge;
  const BlockSides stored;
};
} // namespace

/// The parts into which a launch splits the keys of a tile.
static constexpr sparsec_extent_info_t partsOfTile = {0, SPARSEC_FIELD_PARTS, 0, 1, 1, 0};

std::vector<sparsec_requirement_info_t>
VariantDescriber::describeRequirements(const StageRecord &stage, uint32_t alignment, uint32_t blockAlignment) const {
  std::vector<sparsec_requirement_info_t> requirements;
  const bool hasLines =
      llvm::any_of(stage.tensorMaps, [](const auto &map) { return map.kind == SPARSEC_TENSOR_MAP_BSR_LINES; });
  for (const sparsec_operand_info_t &operand : kernel.operation.operands) {
    const sparsec_argument_info_t &argument = kernel.arguments[operand.argument];
    bool hasElements = argument.kind == SPARSEC_ARGUMENT_BSR || argument.kind == SPARSEC_ARGUMENT_DENSE;
    uint32_t element = uint32_t(dtypeBytes(argument.dtype));
    uint32_t needed = argument.kind == SPARSEC_ARGUMENT_BSR ? blockAlignment : alignment;
    bool isKnown = llvm::any_of(requirements, [&](const auto &other) { return other.argument == operand.argument; });
    const bool isPackedMatrix = isPacked() && argument.kind == SPARSEC_ARGUMENT_BSR;
    const bool hasTensorMap =
        llvm::any_of(stage.tensorMaps, [&](const auto &map) { return map.argument == operand.argument; });
    const bool readsAnywhere = family.readsSingleElements(operand.slot) && !hasTensorMap;
    if (!hasElements || needed <= element || isKnown || isPackedMatrix || readsAnywhere)
      continue;
    bool isWhole = family.movesWholeUnits(kernel.operation.kind, operand.slot, hasTensorMap);
    uint32_t width = isWhole ? needed : 1;
    if (hasLines)
      width = std::max(width, family.widthOfWholeBlocks(view, operand));
    requirements.push_back({operand.argument, needed, width, 0});
  }
  return requirements;
}

/// On a chip they depend on the matrix instruction, which the schedule names. Without one there are none.
FailureOr<std::vector<sparsec_plan_cost_info_t>> VariantDescriber::describePlanCosts(LLVM::LLVMFuncOp function,
                                                                                     bool hasWindows) const {
  auto schedule = function->getAttrOfType<ScheduleAttr>("sparsec.schedule");
  PlanCosts costs = hostPlanCosts;
  if (chip && !(schedule && schedule.getInstruction() == Instruction::none)) {
    const InstructionRate *rate = schedule ? chip->find(toSchedule(schedule).instruction) : nullptr;
    if (!rate)
      return function.emitOpError("expects the attribute sparsec.schedule with a matrix instruction of ")
             << chip->name << ", but got " << (schedule ? stringifyInstruction(schedule.getInstruction()) : "none");
    costs = rate->planCosts;
  }
  return family.planCosts(view, costs, {schedule, hasWindows, chip, stored});
}

FailureOr<VariantRecord> VariantDescriber::describeVariant(LLVM::LLVMFuncOp function) {
  FailureOr<StageRecord> stage = describeStage(function);
  if (failed(stage))
    return failure();
  FailureOr<std::vector<sparsec_plan_cost_info_t>> planCosts = describePlanCosts(function, hasWindows(*stage));
  if (failed(planCosts))
    return failure();
  auto schedule = function->getAttrOfType<ScheduleAttr>("sparsec.schedule");
  const bool isSplit = function->hasAttr("sparsec.split");
  family.setGrid(view, *stage, schedule);
  if (isSplit)
    stage->panels.push_back(partsOfTile);
  VariantRecord variant;
  variant.info.required_sections = requiredSections(*stage);
  setText(variant.info.schedule, schedule ? toString(toSchedule(schedule)) : "loops");
  variant.info.alignment = getIntegerOr(function, "sparsec.alignment", 1);
  variant.info.most_panels = getIntegerOr(function, "sparsec.most_panels", 0);
  variant.info.most_tiles_per_sm = getIntegerOr(function, "sparsec.most_tiles_per_sm", 0);
  // A call with one panel has few tiles. Each gets a CTA, which the hardware starts on the first SM that has room.
  if (variant.info.most_panels != 0)
    stage->info.ctas_per_sm = 0;
  uint32_t blockAlignment = schedule ? requiredAlignment(toSchedule(schedule), 1) : 1;
  blockAlignment = std::max(blockAlignment, variant.info.alignment);
  variant.requirements = describeRequirements(*stage, variant.info.alignment, blockAlignment);
  variant.info.alignment = blockAlignment;
  if (isPacked()) {
    const sparsec_argument_info_t &matrix = view.argumentIn(SPARSEC_SPMM_MATRIX);
    variant.info.packed_block_rows = matrix.block_rows;
    variant.info.packed_block_columns = matrix.block_columns;
    variant.info.required_sections |=
        1u << SPARSEC_PLAN_PACKED_STARTS | 1u << SPARSEC_PLAN_PACKED_COLUMNS | 1u << SPARSEC_PLAN_PACKED_SOURCES;
  }
  addWorkspaces(function, *stage, variant);
  variant.stages.push_back(std::move(*stage));
  variant.planCosts = std::move(*planCosts);
  if (isSplit && isProduct()) {
    variant.info.part_keys = leastPartDepth;
    variant.info.least_narrow_blocks = family.leastNarrowBlocks();
  } else if (isSplit && failed(addMerge(variant))) {
    return failure();
  }
  return variant;
}

/// The tiles of a stage, with their parts.
static std::vector<sparsec_extent_info_t> tilesOf(const StageRecord &stage) {
  std::vector<sparsec_extent_info_t> all = stage.rows;
  all.insert(all.end(), stage.panels.begin(), stage.panels.end());
  return all;
}

/// The workspaces of a machine kernel, as those of its variant: the stages of a variant share workspaces that are
/// alike. Scratch memory has an element for every tile of a product, or for every row of Q and part of the keys, the
/// others one or one for every CTA.
void VariantDescriber::addWorkspaces(LLVM::LLVMFuncOp function, StageRecord &stage, VariantRecord &variant) const {
  auto workspaces = function->getAttrOfType<ArrayAttr>("sparsec.workspaces");
  if (!workspaces)
    return;
  SmallVector<uint32_t> numbers;
  for (auto workspace : workspaces.getAsRange<WorkspaceAttr>()) {
    const bool isScratch = workspace.getKind() == WorkspaceKind::scratch;
    const bool isKept = !isScratch && workspace.getKind() != WorkspaceKind::tile_sums;
    auto kind = static_cast<uint32_t>(workspace.getKind()), bytes = static_cast<uint32_t>(workspace.getBytes());
    auto isAlike = [&](const auto &other) { return other.info.kind == kind && other.info.element_bytes == bytes; };
    auto known = llvm::find_if(variant.workspaces, isAlike);
    numbers.push_back(known - variant.workspaces.begin());
    if (known != variant.workspaces.end())
      continue;
    uint32_t lifetime = isKept ? SPARSEC_LIFETIME_LAUNCHES : SPARSEC_LIFETIME_LAUNCH;
    variant.workspaces.push_back({{0, 0, bytes, lifetime, isKept, kind}, {}});
    if (isScratch && isProduct())
      variant.workspaces.back().extents = tilesOf(stage);
    else if (isScratch)
      variant.workspaces.back().extents = {view.tilesOf(SPARSEC_ATTENTION_QUERY, 0, 1, 1),
                                           view.tilesOf(SPARSEC_ATTENTION_QUERY, 1, 1, 1),
                                           view.tilesOf(SPARSEC_ATTENTION_QUERY, 2, 1, 1), partsOfTile};
  }
  for (sparsec_parameter_info_t &parameter : stage.parameters)
    if (parameter.source == SPARSEC_SOURCE_WORKSPACE)
      parameter.index = numbers[parameter.index];
}

/// The stage that merges the parts of a tile. A tile has some rows of Q, of one head or of several.
LogicalResult VariantDescriber::addMerge(VariantRecord &variant) const {
  FailureOr<StageRecord> stage = describeStage(merge);
  if (failed(stage))
    return failure();
  stage->info.ctas_per_sm = 0;
  const uint32_t rows = stage->info.tile_m;
  stage->rows = {view.tilesOf(SPARSEC_ATTENTION_QUERY, 0, 1, 1), view.tilesOf(SPARSEC_ATTENTION_QUERY, 1, 1, 1),
                 view.tilesOf(SPARSEC_ATTENTION_QUERY, 2, rows, rows)};
  stage->rows[0].combination = stage->rows[1].combination = SPARSEC_EXTENT_JOINED;
  addWorkspaces(merge, *stage, variant);
  variant.info.part_keys = leastPartKeys;
  variant.stages.push_back(std::move(*stage));
  return success();
}

/// A tile for every list of the pattern. The runtime counts the tiles of kernels that have no pattern.
FailureOr<AuxiliaryRecord> VariantDescriber::describeAuxiliary(LLVM::LLVMFuncOp function, AuxiliaryKind kind) {
  FailureOr<StageRecord> stage = describeStage(function);
  if (failed(stage))
    return failure();
  stage->info.ctas_per_sm = 0;
  constexpr AuxiliaryKind kindsOfLists[] = {AuxiliaryKind::pattern_builder, AuxiliaryKind::block_mask_reader,
                                            AuxiliaryKind::top_k_blocks};
  if (!llvm::is_contained(kindsOfLists, kind))
    return AuxiliaryRecord{static_cast<sparsec_auxiliary_kind_t>(kind), std::move(*stage)};
  uint32_t pattern = view.operandIn(SPARSEC_ATTENTION_PATTERN).argument, block = kernel.arguments[pattern].block_rows;
  stage->rows = {{pattern, SPARSEC_FIELD_BATCHES, 0, 1, 1, 0},
                 {pattern, SPARSEC_FIELD_HEADS, 0, 1, 1, 0},
                 view.tilesOf(SPARSEC_ATTENTION_QUERY, 2, block, block)};
  return AuxiliaryRecord{static_cast<sparsec_auxiliary_kind_t>(kind), std::move(*stage)};
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The launch info says it all now.
static void removeAttributes(LLVM::LLVMFuncOp function) {
  for (NamedAttribute attribute : llvm::to_vector(function->getDiscardableAttrs()))
    if (attribute.getName().strref().starts_with("sparsec."))
      function->removeDiscardableAttr(attribute.getName());
}

/// The functions of a kernel.
struct MachineKernels {
  std::map<int64_t, LLVM::LLVMFuncOp> variants; // in order of preference
  std::map<AuxiliaryKind, LLVM::LLVMFuncOp> auxiliaries;
  LLVM::LLVMFuncOp merge; // or null
};
using MachineKernelsOf = llvm::StringMap<MachineKernels>;

/// The record of the kernel with packed blocks, if it has some, in place of the stored ones.
static KernelRecord withPackedBlocks(KernelRecord record, KernelOp kernel) {
  if (std::optional<ArrayRef<int64_t>> block = kernel.getPackedBlock()) {
    BsrType matrix = familyOf(kernel).packedMatrix(kernel).getType();
    for (sparsec_argument_info_t &argument : record.arguments)
      if (argument.kind == SPARSEC_ARGUMENT_BSR) {
        argument.block_rows = (*block)[matrix.getStoredRowDimension()];
        argument.block_columns = (*block)[matrix.getStoredColumnDimension()];
      }
  }
  return record;
}

/// The sides of the stored blocks of a product, if the operation has packed values.
static BlockSides storedSides(KernelOp kernel) {
  TypedValue<BsrType> matrix = familyOf(kernel).packedMatrix(kernel);
  return matrix ? BlockSides{uint32_t(matrix.getType().getBlockRows()), uint32_t(matrix.getType().getBlockColumns())}
                : BlockSides();
}

static LogicalResult describeKernel(KernelOp kernel, const MachineKernelsOf &functions, const Chip *chip,
                                    std::vector<KernelRecord> &records) {
  auto found = functions.find(kernel.getName());
  if (found == functions.end() || found->second.variants.empty())
    return kernel.emitOpError("expects at least one machine kernel, but got none");

  KernelRecord record;
  setText(record.info.name, kernel.getName());
  record.info.result_count = kernel.getResultTypes().size();
  record.arguments = describeArguments(kernel);
  const Family &family = familyOf(kernel);
  record.operation = family.describe(kernel);
  LLVM::LLVMFuncOp merge = found->second.merge;
  VariantDescriber describer(family, record, chip, merge);
  const KernelRecord packedRecord = withPackedBlocks(record, kernel);
  VariantDescriber packedDescriber(family, packedRecord, chip, merge, storedSides(kernel));
  for (auto [position, function] : found->second.variants) {
    VariantDescriber &ofValues = function->hasAttr("sparsec.packed") ? packedDescriber : describer;
    FailureOr<VariantRecord> variant = ofValues.describeVariant(function);
    if (failed(variant))
      return failure();
    record.variants.push_back(std::move(*variant));
    removeAttributes(function);
  }
  for (auto [kind, function] : found->second.auxiliaries) {
    FailureOr<AuxiliaryRecord> auxiliary = describer.describeAuxiliary(function, kind);
    if (failed(auxiliary))
      return failure();
    record.auxiliaries.push_back(std::move(*auxiliary));
    removeAttributes(function);
  }
  if (merge)
    removeAttributes(merge);
  records.push_back(std::move(record));
  return success();
}

static sparsec_launch_info_t describeTarget(StringRef name) {
  sparsec_launch_info_t target = {};
  target.target_kind = SPARSEC_TARGET_HOST;
  if (const Chip *chip = findChip(name)) {
    target.target_kind = SPARSEC_TARGET_CUDA;
    target.compute_capability = chip->computeCapability;
    target.arch_specific = chip->archSpecific;
  }
  setText(target.target, name);
  setText(target.compiler, "sparsec " SPARSEC_VERSION);
  return target;
}

/// On the GPU the global lies in global memory: an object of its own in the cubin, which no code refers to.
static void createGlobal(Operation *parent, StringRef bytes, bool onGpu) {
  OpBuilder builder(parent->getContext());
  builder.setInsertionPointToStart(&parent->getRegion(0).front());
  auto elements = RankedTensorType::get({static_cast<int64_t>(bytes.size())}, builder.getI8Type());
  LLVM::GlobalOp::create(builder, parent->getLoc(), LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size()),
                         /*isConstant=*/true, LLVM::Linkage::External, SPARSEC_LAUNCH_INFO_SYMBOL,
                         DenseElementsAttr::getFromRawBuffer(elements, ArrayRef(bytes.data(), bytes.size())),
                         /*alignment=*/16, /*addrSpace=*/onGpu ? 1 : 0);
}

namespace {
struct EmbedLaunchInfoPass : sparsec::impl::EmbedLaunchInfoPassBase<EmbedLaunchInfoPass> {
  using EmbedLaunchInfoPassBase::EmbedLaunchInfoPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = module->getAttrOfType<TargetAttr>("sparsec.target");
    if (!target) {
      module.emitOpError("expects the attribute sparsec.target, but got none");
      return signalPassFailure();
    }
    FailureOr<MachineKernelsOf> functions = collectFunctions();
    if (failed(functions))
      return signalPassFailure();

    std::vector<KernelRecord> records;
    for (auto kernel : llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      if (failed(describeKernel(kernel, *functions, findChip(target.getChip()), records)))
        return signalPassFailure();
      kernel.erase();
    }

    sparsec_launch_info_t header = describeTarget(target.getChip());
    bool onGpu = header.target_kind == SPARSEC_TARGET_CUDA;
    auto gpuModules = module.getOps<gpu::GPUModuleOp>();
    if (onGpu && gpuModules.empty()) {
      module.emitOpError("expects a gpu.module, but got none");
      return signalPassFailure();
    }
    createGlobal(onGpu ? *gpuModules.begin() : module.getOperation(), writeLaunchInfo(header, records), onGpu);
  }

private:
  /// Finds the machine kernels and takes their sparsec.kernel and sparsec.variant attributes into account.
  FailureOr<MachineKernelsOf> collectFunctions() {
    MachineKernelsOf functions;
    WalkResult result = getOperation().walk([&](LLVM::LLVMFuncOp function) -> WalkResult {
      auto kernel = function->getAttrOfType<FlatSymbolRefAttr>("sparsec.kernel");
      if (!kernel)
        return WalkResult::advance();
      if (!getOperation().lookupSymbol<KernelOp>(kernel))
        return function.emitOpError("expects sparsec.kernel to name a kernel, but got ") << kernel;
      MachineKernels &ofKernel = functions[kernel.getValue()];
      if (auto auxiliary = function->getAttrOfType<AuxiliaryKindAttr>("sparsec.auxiliary")) {
        ofKernel.auxiliaries[auxiliary.getValue()] = function;
        return WalkResult::advance();
      }
      if (function->hasAttr("sparsec.merges_parts")) {
        ofKernel.merge = function;
        return WalkResult::advance();
      }
      if (!ofKernel.variants.try_emplace(getIntegerOr(function, "sparsec.variant", 0), function).second)
        return function.emitOpError("expects a variant number of its own, but got that of another variant of ")
               << kernel;
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
    return functions;
  }
};
} // namespace
