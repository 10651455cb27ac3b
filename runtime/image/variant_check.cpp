// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of a launch info: variants, their machine kernels and what those take.

#include "image/enum_values.h"
#include "image/operation_rules.h"
#include "image/record_check.h"
#include "operations/kernel_shape.h"

#include <algorithm>
#include <utility>

namespace sparsec::runtime {

namespace {

bool isPowerOfTwo(uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }

bool hasMemory(const sparsec_argument_info_t &argument) {
  return argument.kind == SPARSEC_ARGUMENT_BSR || argument.kind == SPARSEC_ARGUMENT_DENSE;
}

/// A machine kernel gets these besides the arguments: the workspaces and plan sections of its variant, or the inputs
/// and numbers of an auxiliary kernel.
struct Surroundings {
  uint32_t workspaces = 0, inputs = 0, numbers = 0;
  uint32_t requiredSections = 0;
  bool isAuxiliary = false;
  bool hasStreams = false; // it follows a plan with streams
  bool hasParts = false;   // of keys
};

/// Checks a machine kernel.
class StageChecker {
public:
  StageChecker(const KernelRecords &records, const sparsec_stage_info_t &stage, const std::string &name,
               const Surroundings &surroundings)
      : records(records), info(records.info), stage(stage), name(name), surroundings(surroundings) {}

  Status check();

private:
  Status checkCuda();
  Status checkIsWithoutStreams();
  Status checkParameter(uint32_t number);
  Status checkSection(const sparsec_parameter_info_t &parameter, uint32_t number);
  Status checkField(const sparsec_parameter_info_t &parameter, uint32_t number);
  Status checkTensorMap(uint32_t number);

  const KernelRecords &records;
  const LaunchInfo &info;
  const sparsec_stage_info_t &stage;
  const std::string &name;
  const Surroundings surroundings;
};

/// Whether the size is one of the problem: those of operands of regions are their own.
bool isSizeOfProblem(const KernelRecords &records, const sparsec_extent_info_t &extent) {
  const sparsec_argument_info_t &from = records.arguments()[extent.argument];
  if (extent.field != SPARSEC_FIELD_SIZE || !hasMemory(from) || extent.dimension >= from.rank)
    return false;
  const uint32_t extraSlot = findOperation(records.operation().kind)->extraSlot;
  for (const sparsec_operand_info_t &operand : records.operands())
    if (operand.argument == extent.argument && operand.slot != extraSlot)
      return true;
  return false;
}

/// The extents that tiles or workspaces may have.
struct ExtentRule {
  bool mayAdd = false, mayJoin = false, isOfAuxiliary = false, hasParts = false;
};

/// One that is added comes behind what it is added to, and one that is joined before what it is joined with. Tile rows
/// are in blocks of the last extent, so that they are a product; so are workspaces, which need no sum.
Status checkCombinations(const KernelRecords &records, const std::string &name, Records<sparsec_extent_info_t> extents,
                         const ExtentRule &rule) {
  for (uint32_t i = 0; i < extents.size(); ++i) {
    const sparsec_extent_info_t &extent = extents[i];
    const bool isJoined = extent.combination == SPARSEC_EXTENT_JOINED;
    const bool isGood = extent.combination == SPARSEC_EXTENT_FACTOR ||
                        (extent.combination == SPARSEC_EXTENT_SUMMAND && rule.mayAdd && i != 0) ||
                        (isJoined && rule.mayJoin && i + 1 != extents.size());
    if (!isGood)
      return records.broken("extent ", i, " of ", name, " has combination ", extent.combination,
                            ", which none in its place has");
    if (isJoined && (extent.block != 1 || extent.tile != 1))
      return records.broken("extent ", i, " of ", name, " is joined and has blocks of ", extent.block, " and tiles of ",
                            extent.tile, ", 1 is expected");
  }
  return {};
}

/// Numbers of things that tiles or workspaces are made of.
Status checkExtents(const KernelRecords &records, const std::string &name, uint32_t first, uint32_t count,
                    const ExtentRule &rule) {
  SPARSEC_RETURN_IF_ERROR(records.checkRange<sparsec_extent_info_t>("extents of " + name, first, count));
  SPARSEC_RETURN_IF_ERROR(checkCombinations(records, name, records.info.extents(first, count), rule));
  for (const sparsec_extent_info_t &extent : records.info.extents(first, count)) {
    if (extent.argument >= records.kernel.argument_count)
      return records.broken("an extent of ", name, " is from argument ", extent.argument, " of ",
                            records.kernel.argument_count);
    const sparsec_argument_info_t &from = records.arguments()[extent.argument];
    const bool isParts = rule.hasParts && extent.field == SPARSEC_FIELD_PARTS && extent.argument == 0 &&
                         extent.dimension == 0 && extent.block == 1;
    bool isCount = rule.isOfAuxiliary && from.kind == SPARSEC_ARGUMENT_PATTERN &&
                   (extent.field == SPARSEC_FIELD_BATCHES || extent.field == SPARSEC_FIELD_HEADS);
    if (!isSizeOfProblem(records, extent) && !isCount && !isParts)
      return records.broken("an extent of ", name, " is field ", extent.field, " and dimension ", extent.dimension,
                            " of argument '", from.name, "'");
    if (extent.block == 0 || extent.block > maxTile || extent.tile == 0 || extent.tile > maxTile)
      return records.broken("an extent of ", name, " has blocks of ", extent.block, " and tiles of ", extent.tile);
  }
  return {};
}

Status StageChecker::check() {
  if (!isName(stage.symbol))
    return records.broken("the symbol of ", name, " is empty or has no end");
  if (stage.tile_m == 0 || stage.tile_m > maxTile || stage.tile_n == 0 || stage.cluster == 0 ||
      uint64_t(stage.tile_n) * stage.cluster > maxTile)
    return records.broken(name, " has tiles of ", stage.tile_m, " x ", stage.tile_n, " and clusters of ",
                          stage.cluster);
  const bool isAuxiliary = surroundings.isAuxiliary;
  SPARSEC_RETURN_IF_ERROR(checkExtents(records, name, stage.row_first, stage.row_count,
                                       {.mayJoin = !isAuxiliary, .isOfAuxiliary = isAuxiliary}));
  SPARSEC_RETURN_IF_ERROR(
      checkExtents(records, name, stage.panel_first, stage.panel_count,
                   {.mayAdd = !isAuxiliary, .isOfAuxiliary = isAuxiliary, .hasParts = surroundings.hasParts}));
  SPARSEC_RETURN_IF_ERROR(records.checkRange<sparsec_parameter_info_t>("parameters of " + name, stage.parameter_first,
                                                                       stage.parameter_count));
  if (stage.parameter_count > maxParameters)
    return records.broken(name, " has ", stage.parameter_count, " parameters, at most ", maxParameters,
                          " are expected");
  const uint32_t knownFlags =
      SPARSEC_STAGE_DEPENDENT_LAUNCH | (surroundings.hasStreams ? SPARSEC_STAGE_ADJACENT_COLUMNS : 0);
  if ((stage.flags & ~knownFlags) != 0)
    return records.unknown("stage flags", stage.flags);
  if (!info.isHost())
    SPARSEC_RETURN_IF_ERROR(checkCuda());
  if (!surroundings.hasStreams)
    SPARSEC_RETURN_IF_ERROR(checkIsWithoutStreams());
  uint32_t tensorMaps = 0;
  for (uint32_t i = 0; i < stage.parameter_count; ++i) {
    SPARSEC_RETURN_IF_ERROR(checkParameter(i));
    tensorMaps += info.parametersOf(stage)[i].source == SPARSEC_SOURCE_TENSOR_MAP;
  }
  if (tensorMaps > maxTensorMaps)
    return records.broken(name, " has ", tensorMaps, " tensor maps, at most ", maxTensorMaps, " are expected");
  return {};
}

Status StageChecker::checkCuda() {
  if (stage.threads == 0 || stage.threads > 1024 || stage.threads % 32 != 0)
    return records.broken(name, " has ", stage.threads, " threads");
  if (stage.cluster > 8)
    return records.broken(name, " has clusters of ", stage.cluster, ", at most 8 are expected");
  if (stage.ctas_per_sm > 32)
    return records.broken(name, " has ", stage.ctas_per_sm, " CTAs per SM");
  if (stage.concurrent_tiles == 0 || stage.concurrent_tiles > 4)
    return records.broken(name, " has ", stage.concurrent_tiles, " concurrent tiles");
  if (stage.tile_k == 0 || stage.tile_k > maxTile)
    return records.broken(name, " has a tile depth of ", stage.tile_k);
  return {};
}

Status StageChecker::checkIsWithoutStreams() {
  const std::pair<const char *, uint32_t> fields[] = {{"consumer_rows", stage.consumer_rows},
                                                      {"product_rows", stage.product_rows},
                                                      {"chunk_products", stage.chunk_products}};
  for (auto [field, value] : fields)
    if (value != 0)
      return records.broken(name, " has ", field, " ", value, " and no streams, 0 is expected");
  return {};
}

Status StageChecker::checkParameter(uint32_t number) {
  const sparsec_parameter_info_t &parameter = info.parametersOf(stage)[number];
  auto checkIndex = [&](const char *what, uint32_t available) {
    if (parameter.index < available)
      return Status();
    return records.broken("parameter ", number, " of ", name, " is ", what, " ", parameter.index, " of ", available);
  };
  switch (parameter.source) {
  case SPARSEC_SOURCE_ARGUMENT:
    return checkField(parameter, number);
  case SPARSEC_SOURCE_TENSOR_MAP:
    SPARSEC_RETURN_IF_ERROR(checkIndex("tensor map", info.isHost() ? 0 : info.all<sparsec_tensor_map_info_t>().size()));
    return checkTensorMap(parameter.index);
  case SPARSEC_SOURCE_PLAN_SECTION:
    return checkSection(parameter, number);
  case SPARSEC_SOURCE_WORKSPACE:
    return checkIndex("workspace", surroundings.workspaces);
  case SPARSEC_SOURCE_INPUT:
    return checkIndex("input", surroundings.inputs);
  case SPARSEC_SOURCE_NUMBER:
    return checkIndex("number", surroundings.numbers);
  case SPARSEC_SOURCE_PARTS:
    if (!surroundings.hasParts)
      return records.broken("parameter ", number, " of ", name, " is the number of parts, but it has none");
    return {};
  case SPARSEC_SOURCE_TILE_ROWS:
  case SPARSEC_SOURCE_PANELS:
  case SPARSEC_SOURCE_PERIOD:
    return {};
  }
  return records.unknown("parameter source", parameter.source);
}

/// A kernel also runs without the tile lists. It gets null for them then, but not for another section.
Status StageChecker::checkSection(const sparsec_parameter_info_t &parameter, uint32_t number) {
  constexpr uint32_t tileLists = setOf(SPARSEC_PLAN_TILE_OFFSETS, SPARSEC_PLAN_TILES);
  if (parameter.index >= planSectionCount)
    return records.unknown("plan section", parameter.index);
  if (isIn(tileLists | surroundings.requiredSections, parameter.index))
    return {};
  return records.broken("parameter ", number, " of ", name, " is plan section ", parameter.index,
                        ", which is not required");
}

Status StageChecker::checkField(const sparsec_parameter_info_t &parameter, uint32_t number) {
  if (parameter.index >= records.kernel.argument_count)
    return records.broken("parameter ", number, " of ", name, " is from argument ", parameter.index, " of ",
                          records.kernel.argument_count);
  const sparsec_argument_info_t &from = records.arguments()[parameter.index];
  bool isBlocks = from.kind == SPARSEC_ARGUMENT_BSR || from.kind == SPARSEC_ARGUMENT_PATTERN;
  bool isGood = false;
  switch (parameter.field) {
  case SPARSEC_FIELD_DATA:
    isGood = hasMemory(from);
    break;
  case SPARSEC_FIELD_SIZE:
    isGood = isBlocks ? parameter.dimension < 2 : hasMemory(from) && parameter.dimension < from.rank;
    break;
  case SPARSEC_FIELD_STRIDE:
    isGood = from.kind == SPARSEC_ARGUMENT_DENSE && parameter.dimension < from.rank;
    break;
  case SPARSEC_FIELD_SCALAR:
    isGood = from.kind == SPARSEC_ARGUMENT_SCALAR;
    break;
  case SPARSEC_FIELD_FULL_STARTS:
  case SPARSEC_FIELD_FULL_INDICES:
  case SPARSEC_FIELD_PARTIAL_STARTS:
  case SPARSEC_FIELD_PARTIAL_INDICES:
  case SPARSEC_FIELD_ENCODING:
  case SPARSEC_FIELD_BATCHES:
  case SPARSEC_FIELD_HEADS:
  case SPARSEC_FIELD_CAPACITY:
  case SPARSEC_FIELD_READ_EARLY:
    isGood = isBlocks;
    break;
  default:
    return records.unknown("field", parameter.field);
  }
  if (isGood)
    return {};
  return records.broken("parameter ", number, " of ", name, ": field ", parameter.field, " and dimension ",
                        parameter.dimension, " do not fit argument '", from.name, "' of kind ", from.kind, " and rank ",
                        from.rank);
}

Status StageChecker::checkTensorMap(uint32_t number) {
  const sparsec_tensor_map_info_t &map = info.all<sparsec_tensor_map_info_t>()[number];
  if (map.argument >= records.kernel.argument_count)
    return records.broken("tensor map ", number, " is of argument ", map.argument, " of ",
                          records.kernel.argument_count);
  const sparsec_argument_info_t &of = records.arguments()[map.argument];
  bool isDense = (map.kind == SPARSEC_TENSOR_MAP_DENSE || map.kind == SPARSEC_TENSOR_MAP_DENSE_CLIPPED) &&
                 of.kind == SPARSEC_ARGUMENT_DENSE && of.rank >= 2;
  bool isValues = (map.kind == SPARSEC_TENSOR_MAP_BSR_VALUES || map.kind == SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES ||
                   map.kind == SPARSEC_TENSOR_MAP_BSR_EDGE_ROWS) &&
                  of.kind == SPARSEC_ARGUMENT_BSR;
  bool isLines = map.kind == SPARSEC_TENSOR_MAP_BSR_LINES && of.kind == SPARSEC_ARGUMENT_BSR &&
                 uint64_t(of.block_rows) * of.block_columns * dtypeBytes(of.dtype) % lineBytes == 0;
  if (!isDense && !isValues && !isLines)
    return records.broken("tensor map ", number, " of kind ", map.kind, " does not fit argument '", of.name, "'");
  if (map.rank != (isDense ? of.rank : 3u))
    return records.broken("tensor map ", number, " has rank ", map.rank);
  for (uint32_t d = 0; d < map.rank; ++d)
    if (map.box[d] == 0 || map.box[d] > 256)
      return records.broken("tensor map ", number, " has box size ", map.box[d], " in dimension ", d);
  if (map.swizzle > SPARSEC_SWIZZLE_128B)
    return records.unknown("swizzle", map.swizzle);
  // The hardware's rules: whole 16-byte units, and a swizzled row no longer than the swizzle.
  size_t rowBytes = map.box[0] * dtypeBytes(of.dtype);
  size_t limit = map.swizzle == SPARSEC_SWIZZLE_NONE ? SIZE_MAX : size_t(16) << map.swizzle;
  if (rowBytes % 16 != 0 || rowBytes > limit)
    return records.broken("tensor map ", number, " has boxes of ", rowBytes, " bytes with swizzle ", map.swizzle);
  return {};
}

Status checkRequirements(const KernelRecords &records, const sparsec_variant_info_t &variant, const std::string &name) {
  if (!isPowerOfTwo(variant.alignment) || variant.alignment > 256)
    return records.broken(name, " has alignment ", variant.alignment);
  SPARSEC_RETURN_IF_ERROR(records.checkRange<sparsec_requirement_info_t>(
      "requirements of " + name, variant.requirement_first, variant.requirement_count));
  for (const sparsec_requirement_info_t &requirement : records.info.requirementsOf(variant)) {
    if (requirement.argument >= records.kernel.argument_count || !hasMemory(records.arguments()[requirement.argument]))
      return records.broken("a requirement of ", name, " is for argument ", requirement.argument,
                            ", which has no memory");
    for (uint32_t alignment : {requirement.alignment, requirement.width_alignment})
      if (!isPowerOfTwo(alignment) || alignment > variant.alignment)
        return records.broken("a requirement of ", name, " has alignment ", alignment);
  }
  return {};
}

/// Tensor maps are of memory at multiples of 16 bytes, with strides that are such, too.
Status checkMapsAreAligned(const KernelRecords &records, const sparsec_variant_info_t &variant,
                           const sparsec_stage_info_t &stage, const std::string &name) {
  for (const sparsec_parameter_info_t &parameter : records.info.parametersOf(stage)) {
    if (parameter.source != SPARSEC_SOURCE_TENSOR_MAP)
      continue;
    uint32_t argument = records.info.all<sparsec_tensor_map_info_t>()[parameter.index].argument;
    // The runtime aligns packed values.
    bool isAligned = isPacked(variant) && records.arguments()[argument].kind == SPARSEC_ARGUMENT_BSR;
    for (const sparsec_requirement_info_t &requirement : records.info.requirementsOf(variant))
      isAligned |= requirement.argument == argument && requirement.alignment % 16 == 0;
    if (!isAligned)
      return records.broken("tensor map ", parameter.index, " needs argument '", records.arguments()[argument].name,
                            "' at multiples of 16 bytes, but ", name, " does not require it");
  }
  return {};
}

bool isNeeded(PlanCostUse use, const sparsec_variant_info_t &variant) {
  switch (use) {
  case PlanCostUse::all:
    return true;
  case PlanCostUse::windowsOrStreams:
    return takesWindows(variant) || takesStreams(variant);
  case PlanCostUse::jointLists:
    return takesJointLists(variant);
  case PlanCostUse::packedValues:
    return isPacked(variant);
  case PlanCostUse::none:
    return false;
  }
  return false;
}

Status checkPlanCosts(const KernelRecords &records, const sparsec_variant_info_t &variant, const std::string &name) {
  SPARSEC_RETURN_IF_ERROR(records.checkRange<sparsec_plan_cost_info_t>("plan costs of " + name, variant.plan_cost_first,
                                                                       variant.plan_cost_count));
  const OperationRule &rule = *findOperation(records.operation().kind);
  auto costs = records.info.planCostsOf(variant);
  for (const sparsec_plan_cost_info_t &cost : costs) {
    const PlanCostRule *known = findPlanCost(rule, cost.key);
    if (!known)
      return records.unknown(std::string("plan cost of ") + rule.name, cost.key);
    if (cost.value < known->least || cost.value > known->most)
      return records.broken("the ", known->name, " of ", name, " is ", cost.value, ", ", known->least, " to ",
                            known->most, " is expected");
  }
  for (const PlanCostRule &known : rule.planCosts) {
    uint32_t found = 0;
    for (const sparsec_plan_cost_info_t &cost : costs)
      found += cost.key == known.key;
    if (found > 1 || (isNeeded(known.use, variant) && found == 0))
      return records.broken("the ", known.name, " of ", name, " is there ", found, " times");
  }
  return {};
}

/// Whether a product takes the transpose of what the caller passes.
bool hasTransposedMatrix(const KernelRecords &records) {
  for (const sparsec_operand_info_t &operand : records.info.operandsOf(records.operation()))
    if (records.arguments()[operand.argument].kind == SPARSEC_ARGUMENT_BSR)
      return operand.layout == SPARSEC_LAYOUT_TRANSPOSED;
  return false;
}

/// The machine kernel that follows the plan of a variant with windows or streams: what a plan needs to make them.
class WindowChecker {
public:
  WindowChecker(const KernelRecords &records, const sparsec_variant_info_t &variant, const std::string &name)
      : records(records), variant(variant), stage(records.info.stagesOf(variant)[0]), name(name) {}

  Status check();

private:
  Status checkGroups();
  Status checkStreams();
  Status checkTileRows();

  /// The matrix, with the block of M x K.
  uint32_t matrix = 0;
  bool isTransposed = false;
  uint32_t blockRows = 0, blockColumns = 0;

  const KernelRecords &records;
  const sparsec_variant_info_t &variant;
  const sparsec_stage_info_t &stage;
  const std::string &name;
};

Status WindowChecker::check() {
  const bool hasStreams = takesStreams(variant);
  if (!findPlanCost(*findOperation(records.operation().kind), SPARSEC_PLAN_COST_COLUMN))
    return records.broken(name, " takes ", hasStreams ? "streams" : "windows", ", which ",
                          findOperation(records.operation().kind)->name, " has not");
  if (hasStreams && (variant.required_sections & windowSections & ~windowRows) != 0)
    return records.broken(name, " takes the steps of windows and streams, one of the two is expected");
  while (records.arguments()[matrix].kind != SPARSEC_ARGUMENT_BSR)
    ++matrix;
  isTransposed = hasTransposedMatrix(records);
  blockRows = isPacked(variant) ? variant.packed_block_rows : records.arguments()[matrix].block_rows;
  blockColumns = isPacked(variant) ? variant.packed_block_columns : records.arguments()[matrix].block_columns;
  if (isTransposed)
    std::swap(blockRows, blockColumns);
  SPARSEC_RETURN_IF_ERROR(hasStreams ? checkStreams() : checkGroups());
  return checkTileRows();
}

Status WindowChecker::checkGroups() {
  constexpr uint32_t maxGroups = 7; // numbers of groups have three bits in SPARSEC_PLAN_COLUMNS
  if (stage.tile_m % blockRows != 0 || stage.tile_m / blockRows > maxGroups)
    return records.broken(name, " has windows of ", stage.tile_m, " rows, 1 to ", maxGroups, " times ", blockRows,
                          " are expected");
  if (stage.slots < 2)
    return records.broken(name, " takes windows and has ", stage.slots, " slots, at least 2 are expected");
  return {};
}

Status WindowChecker::checkStreams() {
  constexpr uint32_t maxProducts = 32, maxChunk = 64; // a word of SPARSEC_PLAN_STAGE_PRODUCTS has 32 bits
  auto isDivisor = [](uint32_t divisor, uint32_t of) { return divisor != 0 && of % divisor == 0; };
  if (!isDivisor(stage.consumer_rows, stage.tile_m))
    return records.broken(name, " has consumer_rows ", stage.consumer_rows, ", a divisor of ", stage.tile_m,
                          " is expected");
  if (!isDivisor(stage.product_rows, stage.consumer_rows) || stage.product_rows % blockRows != 0)
    return records.broken(name, " has product_rows ", stage.product_rows, ", a divisor of ", stage.consumer_rows,
                          " and a multiple of ", blockRows, " is expected");
  if (stage.tile_k == 0 || stage.tile_k % blockColumns != 0)
    return records.broken(name, " has streams and a tile depth of ", stage.tile_k, ", a multiple of ", blockColumns,
                          " is expected");
  const uint64_t products = uint64_t(stage.tile_k / blockColumns) * (stage.consumer_rows / stage.product_rows);
  if (products > maxProducts)
    return records.broken(name, " has ", products, " products of a consumer in a stage, at most ", maxProducts,
                          " are expected");
  if (stage.chunk_products == 0 || stage.chunk_products > maxChunk)
    return records.broken(name, " has chunk_products ", stage.chunk_products, ", 1 to ", maxChunk, " is expected");
  return {};
}

Status WindowChecker::checkTileRows() {
  const auto extents = records.info.extents(stage.row_first, stage.row_count);
  const bool areWindows = extents.size() == 1 && extents[0].argument == matrix &&
                          extents[0].dimension == (isTransposed ? 1 : 0) && extents[0].tile == stage.tile_m &&
                          extents[0].block % stage.tile_m == 0;
  if (!areWindows)
    return records.broken(name, " takes windows, but its tile rows are not those of ", stage.tile_m, " rows of '",
                          records.arguments()[matrix].name, "'");
  return {};
}

/// Whether it is the last variant for whole tiles, which must run every call.
bool isLast(const KernelRecords &records, uint32_t number) {
  const auto variants = records.info.variantsOf(records.kernel);
  for (uint32_t next = number + 1; next < variants.size(); ++next)
    if (variants[next].part_keys == 0)
      return false;
  return variants[number].part_keys == 0;
}

/// Some variant runs without a plan, or with that of any static pattern.
Status checkRequiredSections(const KernelRecords &records, uint32_t number, const std::string &name) {
  const uint32_t required = records.info.variantsOf(records.kernel)[number].required_sections;
  if (required >> planSectionCount != 0)
    return records.unknown("required plan sections", required);
  const bool isTransposed = hasTransposedMatrix(records);
  if (isTransposed ? required == 0 : (required & rowSections) != 0)
    return records.broken(name, " requires plan sections ", required, ", and the block-sparse operand is ",
                          isTransposed ? "" : "not ", "transposed");
  const bool hasPairs = findOperation(records.operation().kind)->hasPairs;
  if ((required & pairSections) != (hasPairs ? pairSections : 0))
    return records.broken(name, " requires plan sections ", required, ", and those of pairs are ",
                          hasPairs ? "" : "not ", "expected");
  if ((required & ~rowSections & ~pairSections) != 0 && isLast(records, number))
    return records.broken(name, " requires plan sections, but the last variant must run without a plan");
  return {};
}

/// Parts of keys need a second stage, which merges them. Only products by streams have parts of K, and their only stage
/// joins these.
Status checkParts(const KernelRecords &records, uint32_t number, const std::string &name) {
  const sparsec_variant_info_t &variant = records.info.variantsOf(records.kernel)[number];
  if (variant.part_keys == 0)
    return {};
  const bool isProduct = records.operation().kind == SPARSEC_OPERATION_SPMM && takesStreams(variant);
  if ((records.operation().kind != SPARSEC_OPERATION_ATTENTION && !isProduct) || records.info.isHost())
    return records.broken(name, " has parts of ", variant.part_keys,
                          " keys, but is no attention of a GPU, and no product of a GPU with streams");
  if (const uint32_t expected = isProduct ? 1 : 2; variant.stage_count != expected)
    return records.broken(name, " has parts of keys and ", variant.stage_count, " stages, ", expected, " are expected");
  return {};
}

/// The last variant runs calls with any number of panels.
Status checkMostPanels(const KernelRecords &records, uint32_t number, const std::string &name) {
  const uint32_t panels = records.info.variantsOf(records.kernel)[number].most_panels;
  const uint32_t tiles = records.info.variantsOf(records.kernel)[number].most_tiles_per_sm;
  if (panels == 0 && tiles != 0)
    return records.broken(name, " is for any number of panels, and for at most ", tiles, " tiles of a multiprocessor");
  if (panels != 0 && isLast(records, number))
    return records.broken(name, " is for at most ", panels, " panels, but the last variant must be for any number");
  return {};
}

/// The matrix has blocks that fill packed ones, and a machine kernel packs its values. `name` is that of a variant.
Status checkPacking(const KernelRecords &records, const sparsec_variant_info_t &variant, const std::string &name) {
  const uint32_t rows = variant.packed_block_rows, columns = variant.packed_block_columns;
  if ((variant.required_sections & packedSections) != (isPacked(variant) ? packedSections : 0))
    return records.broken(name, " requires plan sections ", variant.required_sections,
                          ", and those of packed values are ", isPacked(variant) ? "" : "not ", "expected");
  if (!isPacked(variant))
    return columns == 0 ? Status() : records.broken(name, " has packed blocks of 0 x ", columns);
  if (!findPlanCost(*findOperation(records.operation().kind), SPARSEC_PLAN_COST_PACKED_FILL) || records.info.isHost())
    return records.broken(name, " has packed values, but is no product of a GPU");
  for (const sparsec_argument_info_t &argument : records.arguments())
    if (argument.kind == SPARSEC_ARGUMENT_BSR &&
        (columns == 0 || rows > maxTile || columns > maxTile || rows % argument.block_rows != 0 ||
         columns % argument.block_columns != 0))
      return records.broken(name, " has packed blocks of ", rows, " x ", columns, ", multiples of ",
                            argument.block_rows, " x ", argument.block_columns, " are expected");
  for (const sparsec_variant_info_t &other : records.info.variantsOf(records.kernel))
    if (isPacked(other) && (other.packed_block_rows != rows || other.packed_block_columns != columns))
      return records.broken("variants have packed blocks of ", rows, " x ", columns, " and of ",
                            other.packed_block_rows, " x ", other.packed_block_columns);
  for (const sparsec_auxiliary_info_t &auxiliary : records.info.auxiliariesOf(records.kernel))
    if (auxiliary.kind == SPARSEC_AUXILIARY_PACK_BLOCKS)
      return {};
  return records.broken(name, " has packed values, but no machine kernel packs them");
}

Status checkVariant(const KernelRecords &records, uint32_t number) {
  const LaunchInfo &info = records.info;
  const sparsec_variant_info_t &variant = info.variantsOf(records.kernel)[number];
  const std::string name = "variant " + std::to_string(number);
  if (!std::memchr(variant.schedule, 0, sizeof(variant.schedule)))
    return records.broken("the schedule of ", name, " has no end");
  SPARSEC_RETURN_IF_ERROR(checkRequirements(records, variant, name));
  SPARSEC_RETURN_IF_ERROR(checkRequiredSections(records, number, name));
  SPARSEC_RETURN_IF_ERROR(checkMostPanels(records, number, name));
  SPARSEC_RETURN_IF_ERROR(checkPacking(records, variant, name));
  SPARSEC_RETURN_IF_ERROR(records.checkRange<sparsec_workspace_info_t>("workspaces of " + name, variant.workspace_first,
                                                                       variant.workspace_count));
  for (const sparsec_workspace_info_t &workspace : info.workspacesOf(variant)) {
    SPARSEC_RETURN_IF_ERROR(checkWorkspace(records, workspace, name));
    SPARSEC_RETURN_IF_ERROR(checkExtents(records, "a workspace of " + name, workspace.extent_first,
                                         workspace.extent_count, {.hasParts = variant.part_keys != 0}));
  }
  SPARSEC_RETURN_IF_ERROR(checkCuts(records, variant, name));
  SPARSEC_RETURN_IF_ERROR(checkPlanCosts(records, variant, name));
  SPARSEC_RETURN_IF_ERROR(
      records.checkRange<sparsec_stage_info_t>("stages of " + name, variant.stage_first, variant.stage_count));
  if (variant.stage_count == 0)
    return records.broken(name, " has no stage");
  SPARSEC_RETURN_IF_ERROR(checkParts(records, number, name));
  bool followsPlan = true; // the first one
  for (const sparsec_stage_info_t &stage : info.stagesOf(variant)) {
    const Surroundings surroundings = {.workspaces = variant.workspace_count,
                                       .requiredSections = variant.required_sections,
                                       .hasStreams = followsPlan && takesStreams(variant),
                                       .hasParts = variant.part_keys != 0};
    SPARSEC_RETURN_IF_ERROR(StageChecker(records, stage, name, surroundings).check());
    SPARSEC_RETURN_IF_ERROR(checkMapsAreAligned(records, variant, stage, name));
    followsPlan = false;
  }
  SPARSEC_RETURN_IF_ERROR(checkJointLists(records, variant, name));
  return takesWindows(variant) || takesStreams(variant) ? WindowChecker(records, variant, name).check() : Status();
}

/// A kernel must have this, so that an auxiliary kernel has something to read and to write.
enum class AuxiliaryNeed { pattern, mask, packedValues, transpose, windows, pairs, fp8, product };

struct AuxiliaryRule {
  uint32_t kind;
  const char *name;
  AuxiliaryNeed need;
  uint32_t inputs;
  uint32_t sections; // that it may take
  uint32_t numbers = 0;
};

constexpr uint32_t windowKernelSections =
    windowSections | streamSections | rowSections | setOf(SPARSEC_PLAN_WINDOW_COUNTS, SPARSEC_PLAN_WINDOW_SIZES);
constexpr AuxiliaryRule auxiliaryRules[] = {
    {SPARSEC_AUXILIARY_PATTERN_BUILDER, "the pattern builder", AuxiliaryNeed::mask, 0, 0},
    {SPARSEC_AUXILIARY_BLOCK_MASK_READER, "the block mask reader", AuxiliaryNeed::pattern, 1, 0},
    {SPARSEC_AUXILIARY_PACK_BLOCKS, "the packer of blocks", AuxiliaryNeed::packedValues, 1,
     setOf(SPARSEC_PLAN_PACKED_SOURCES)},
    {SPARSEC_AUXILIARY_COUNT_COLUMNS, "the counter of columns", AuxiliaryNeed::transpose, 0,
     setOf(SPARSEC_PLAN_COLUMN_COUNTS)},
    {SPARSEC_AUXILIARY_WRITE_INDEX, "the writer of the index", AuxiliaryNeed::transpose, 0,
     rowSections | setOf(SPARSEC_PLAN_COLUMN_COUNTS)},
    {SPARSEC_AUXILIARY_COUNT_WINDOWS, "the counter of windows", AuxiliaryNeed::windows, 0, windowKernelSections},
    {SPARSEC_AUXILIARY_WRITE_WINDOWS, "the writer of windows", AuxiliaryNeed::windows, 0, windowKernelSections},
    {SPARSEC_AUXILIARY_COUNT_PAIRS, "the counter of pairs", AuxiliaryNeed::pairs, 0, setOf(SPARSEC_PLAN_PAIR_COUNTS)},
    {SPARSEC_AUXILIARY_WRITE_PAIRS, "the writer of pairs", AuxiliaryNeed::pairs, 0,
     pairSections | setOf(SPARSEC_PLAN_PAIR_COUNTS)},
    {SPARSEC_AUXILIARY_CONVERT_VALUES, "the converter of values", AuxiliaryNeed::fp8, 5, 0, SPARSEC_CONVERSION_NUMBERS},
    {SPARSEC_AUXILIARY_TOP_K_BLOCKS, "the chooser of the top-k blocks", AuxiliaryNeed::pattern, 3, 0, 1},
    {SPARSEC_AUXILIARY_WRITE_LISTS, "the writer of lists", AuxiliaryNeed::product, 0,
     setOf(SPARSEC_PLAN_WINDOW_SIZES, SPARSEC_PLAN_ROW_STARTS), SPARSEC_LIST_NUMBERS},
};

/// Names what the kernel lacks; null if it lacks nothing.
const char *whatIsMissing(const KernelRecords &records, AuxiliaryNeed need) {
  bool hasPattern = false, hasMask = false, hasPackedValues = false, hasWindows = false, hasFp8 = false;
  for (const sparsec_variant_info_t &variant : records.info.variantsOf(records.kernel)) {
    hasPackedValues |= isPacked(variant);
    hasWindows |= hasWindowsOfBlocks(variant);
  }
  for (const sparsec_argument_info_t &argument : records.arguments()) {
    hasPattern |= argument.kind == SPARSEC_ARGUMENT_PATTERN;
    hasFp8 |= argument.kind == SPARSEC_ARGUMENT_BSR && isF8(argument.dtype);
  }
  for (const sparsec_region_info_t &region : records.info.regionsOf(records.operation()))
    hasMask |= region.slot == SPARSEC_REGION_MASK;
  const bool isGpu = !records.info.isHost();
  switch (need) {
  case AuxiliaryNeed::pattern:
    return isGpu && hasPattern ? nullptr : "a GPU and a pattern";
  case AuxiliaryNeed::mask:
    return isGpu && hasPattern && hasMask ? nullptr : "a GPU, a pattern and a mask region";
  case AuxiliaryNeed::packedValues:
    return hasPackedValues ? nullptr : "a variant with packed values";
  case AuxiliaryNeed::transpose:
    return isGpu && hasTransposedMatrix(records) ? nullptr : "a GPU and the transpose of a matrix";
  case AuxiliaryNeed::pairs:
    return isGpu && findOperation(records.operation().kind)->hasPairs ? nullptr : "a GPU and the pairs of two matrices";
  case AuxiliaryNeed::fp8:
    return isGpu && hasFp8 ? nullptr : "a GPU and a matrix of fp8";
  case AuxiliaryNeed::product:
    return isGpu && records.operation().kind == SPARSEC_OPERATION_SPMM ? nullptr : "a GPU and a product";
  case AuxiliaryNeed::windows:
    return hasWindows ? nullptr : "a variant with windows or streams of stored blocks";
  }
  return "another kind";
}

/// It runs on a GPU, and has something to read and to write.
Status checkAuxiliary(const KernelRecords &records, const sparsec_auxiliary_info_t &auxiliary) {
  const auto *rule = std::find_if(std::begin(auxiliaryRules), std::end(auxiliaryRules),
                                  [&](const AuxiliaryRule &each) { return each.kind == auxiliary.kind; });
  if (rule == std::end(auxiliaryRules))
    return records.unknown("auxiliary kernel", auxiliary.kind);
  const std::string name = rule->name;
  SPARSEC_RETURN_IF_ERROR(records.checkRange<sparsec_stage_info_t>("stage of " + name, auxiliary.stage, 1));
  if (const char *missing = whatIsMissing(records, rule->need))
    return records.broken(name, " expects ", missing);
  const auto &stage = records.info.all<sparsec_stage_info_t>()[auxiliary.stage];
  const Surroundings surroundings = {
      .inputs = rule->inputs, .numbers = rule->numbers, .requiredSections = rule->sections, .isAuxiliary = true};
  return StageChecker(records, stage, name, surroundings).check();
}

} // namespace

Status checkVariants(const KernelRecords &records) {
  bool hasWholeTiles = false;
  for (const sparsec_variant_info_t &variant : records.info.variantsOf(records.kernel))
    hasWholeTiles |= variant.part_keys == 0;
  if (!hasWholeTiles)
    return records.broken("all variants have parts of keys, but one must have whole tiles");
  for (uint32_t i = 0; i < records.kernel.variant_count; ++i)
    SPARSEC_RETURN_IF_ERROR(checkVariant(records, i));
  for (const sparsec_auxiliary_info_t &auxiliary : records.info.auxiliariesOf(records.kernel))
    SPARSEC_RETURN_IF_ERROR(checkAuxiliary(records, auxiliary));
  return {};
}

} // namespace sparsec::runtime
