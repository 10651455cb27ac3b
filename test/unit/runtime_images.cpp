// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime_images.h"
#include "image/checksum.h"
#include "image/elf_file.h"
#include "runtime_expect.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>

namespace sparsec::test {

namespace {

template <typename Record> void appendRecord(ByteVector &bytes, const Record &record) {
  const auto *begin = reinterpret_cast<const uint8_t *>(&record);
  bytes.insert(bytes.end(), begin, begin + sizeof(record));
}

/// Appends a table and its entry of the directory.
template <typename Record>
void appendTable(ByteVector &bytes, std::vector<sparsec_table_info_t> &directory, const std::vector<Record> &records) {
  directory.push_back({tableOf<Record>, uint32_t(bytes.size()), uint32_t(records.size()), sizeof(Record)});
  for (const Record &record : records)
    appendRecord(bytes, record);
}

void setName(char *field, const char *name) { std::strcpy(field, name); }

void pad(ByteVector &bytes, size_t alignment) {
  while (bytes.size() % alignment)
    bytes.push_back(0);
}

} // namespace

ByteVector LaunchInfoBuilder::build() const {
  sparsec_launch_info_t final = header;
  constexpr uint32_t tableCount = SPARSEC_TABLE_PLAN_COSTS;
  ByteVector bytes(sizeof(final) + tableCount * sizeof(sparsec_table_info_t));
  std::vector<sparsec_table_info_t> directory;
  auto appendAll = [&](const auto &...tables) { (appendTable(bytes, directory, tables), ...); };
  appendAll(kernels, arguments, operations, operands, attributes, regions, inputs, steps, variants, requirements,
            workspaces, stages, parameters, tensorMaps, extents, auxiliaries, planCosts);
  final.total_size = uint32_t(bytes.size());
  final.directory_offset = sizeof(final);
  final.directory_count = tableCount;
  final.directory_size = sizeof(sparsec_table_info_t);
  std::memcpy(bytes.data(), &final, sizeof(final));
  std::memcpy(bytes.data() + sizeof(final), directory.data(), directory.size() * sizeof(sparsec_table_info_t));
  updateChecksum(bytes);
  return bytes;
}

sparsec_operand_info_t &LaunchInfoBuilder::operandOf(uint32_t argument) {
  return *std::find_if(operands.begin(), operands.end(),
                       [&](const auto &operand) { return operand.argument == argument; });
}

sparsec_attribute_info_t &LaunchInfoBuilder::attribute(sparsec_attribute_key_t key) {
  return *std::find_if(attributes.begin(), attributes.end(),
                       [&](const auto &attribute) { return attribute.key == uint32_t(key); });
}

uint32_t &LaunchInfoBuilder::planCost(sparsec_plan_cost_key_t key) {
  return std::find_if(planCosts.begin(), planCosts.end(), [&](const auto &cost) { return cost.key == uint32_t(key); })
      ->value;
}

void LaunchInfoBuilder::setTile(uint32_t stage, uint32_t m, uint32_t n) {
  sparsec_stage_info_t &info = stages[stage];
  info.tile_m = m;
  info.tile_n = n;
  sparsec_extent_info_t &panel = extents[info.panel_first];
  if (operations[0].kind == SPARSEC_OPERATION_ATTENTION) {
    panel.block = panel.tile = m;
    return;
  }
  extents[info.row_first].block = arguments[0].block_rows;
  extents[info.row_first].tile = m;
  panel.block = panel.tile = n * info.cluster;
}

uint32_t LaunchInfoBuilder::addVariant() {
  variants.push_back(variants[0]);
  stages.push_back(stages[0]);
  sparsec_stage_info_t &stage = stages.back();
  for (auto [first, count] : {std::pair(&stage.row_first, stage.row_count), {&stage.panel_first, stage.panel_count}}) {
    const std::vector<sparsec_extent_info_t> copied(extents.begin() + *first, extents.begin() + *first + count);
    *first = uint32_t(extents.size());
    extents.insert(extents.end(), copied.begin(), copied.end());
  }
  variants.back().stage_first = uint32_t(stages.size() - 1);
  kernels[0].variant_count = uint32_t(variants.size());
  return variants.back().stage_first;
}

void LaunchInfoBuilder::requireRowsAligned(uint32_t variant, uint32_t alignment) {
  variants[variant].alignment = alignment;
  variants[variant].requirement_first = uint32_t(requirements.size());
  for (const sparsec_operand_info_t &operand : operands)
    if (operand.slot <= SPARSEC_ATTENTION_RESULT)
      requirements.push_back({operand.argument, alignment, 1, 0});
  variants[variant].requirement_count = uint32_t(requirements.size()) - variants[variant].requirement_first;
}

void updateChecksum(ByteVector &launchInfo) {
  constexpr size_t offset = offsetof(sparsec_launch_info_t, checksum);
  uint32_t checksum = runtime::crc32WithZeros(launchInfo.data(), launchInfo.size(), offset, offset + sizeof(uint32_t));
  std::memcpy(launchInfo.data() + offset, &checksum, sizeof(checksum));
}

bool updateElfChecksums(ByteVector &file) {
  runtime::ElfFile elf;
  sparsec_launch_info_t header;
  if (runtime::ElfFile::parse(file, elf))
    return false;
  const runtime::ElfSymbol *symbol = elf.findSymbol(SPARSEC_LAUNCH_INFO_SYMBOL);
  runtime::Bytes found;
  if (!symbol || elf.symbolContents(*symbol, found) || found.size() < sizeof(header))
    return false;
  const size_t begin = found.data() - file.data();
  std::memcpy(&header, file.data() + begin, sizeof(header));
  const size_t field = begin + offsetof(sparsec_launch_info_t, image_checksum);
  header.image_checksum = runtime::crc32WithZeros(file.data(), file.size(), field, field + 2 * sizeof(uint32_t));
  std::memcpy(file.data() + begin, &header, sizeof(header));
  const size_t size = std::min<size_t>(header.total_size, found.size());
  ByteVector launchInfo(file.begin() + begin, file.begin() + begin + std::max(size, sizeof(header)));
  updateChecksum(launchInfo);
  std::copy(launchInfo.begin(), launchInfo.end(), file.begin() + begin);
  return true;
}

void updateBundleChecksum(ByteVector &bundle) {
  constexpr size_t offset = offsetof(sparsec_bundle_t, checksum);
  uint32_t checksum = runtime::crc32WithZeros(bundle.data(), bundle.size(), offset, offset + sizeof(uint32_t));
  std::memcpy(bundle.data() + offset, &checksum, sizeof(checksum));
}

namespace {

sparsec_argument_info_t makeArgument(const char *name, uint32_t kind, uint32_t dtype, uint32_t rank) {
  sparsec_argument_info_t argument = {};
  setName(argument.name, name);
  argument.kind = kind;
  argument.dtype = dtype;
  argument.rank = rank;
  for (uint32_t d = 0; d < rank; ++d)
    argument.sizes[d] = SPARSEC_DYNAMIC;
  return argument;
}

sparsec_launch_info_t cudaHeader() {
  sparsec_launch_info_t header = {};
  header.magic = SPARSEC_LAUNCH_INFO_MAGIC;
  header.major = SPARSEC_LAUNCH_INFO_MAJOR;
  header.minor = SPARSEC_LAUNCH_INFO_MINOR;
  header.target_kind = SPARSEC_TARGET_CUDA;
  header.compute_capability = 90;
  header.arch_specific = 1;
  setName(header.target, "sm_90a");
  setName(header.compiler, "sparsec test");
  return header;
}

std::vector<sparsec_argument_info_t> linearArguments() {
  auto w = makeArgument("w", SPARSEC_ARGUMENT_BSR, SPARSEC_DTYPE_BF16, 2);
  w.block_rows = w.block_columns = 64;
  return {w, makeArgument("x", SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_BF16, 2),
          makeArgument("bias", SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_F32, 1),
          makeArgument("alpha", SPARSEC_ARGUMENT_SCALAR, SPARSEC_DTYPE_F32, 0),
          makeArgument("y", SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_BF16, 2)};
}

sparsec_stage_info_t makeStage(const char *symbol, uint32_t threads, uint32_t sharedMemory, uint32_t cluster,
                               uint32_t tileN, uint32_t tileK) {
  sparsec_stage_info_t stage = {};
  setName(stage.symbol, symbol);
  stage.threads = threads;
  stage.dynamic_shared_memory = sharedMemory;
  stage.cluster = cluster;
  stage.ctas_per_sm = cluster == 1 ? 2 : 1;
  stage.concurrent_tiles = 1;
  stage.tile_m = 64;
  stage.tile_n = tileN;
  stage.tile_k = tileK;
  stage.registers = 128;
  return stage;
}

constexpr sparsec_parameter_info_t field(uint32_t argument, sparsec_field_t field, uint32_t dimension = 0) {
  return {SPARSEC_SOURCE_ARGUMENT, argument, uint32_t(field), dimension};
}
constexpr sparsec_parameter_info_t other(sparsec_source_t source, uint32_t index = 0) {
  return {uint32_t(source), index, 0, 0};
}

/// Appends a variant with one stage, and the plan costs of its operation.
void addVariant(LaunchInfoBuilder &info, uint32_t alignment, sparsec_stage_info_t stage,
                const std::vector<sparsec_parameter_info_t> &parameters,
                const std::vector<sparsec_requirement_info_t> &requirements) {
  sparsec_variant_info_t variant = {};
  variant.alignment = alignment;
  variant.requirement_first = uint32_t(info.requirements.size());
  variant.requirement_count = uint32_t(requirements.size());
  info.requirements.insert(info.requirements.end(), requirements.begin(), requirements.end());
  stage.parameter_first = uint32_t(info.parameters.size());
  stage.parameter_count = uint32_t(parameters.size());
  info.parameters.insert(info.parameters.end(), parameters.begin(), parameters.end());
  variant.stage_first = uint32_t(info.stages.size());
  variant.stage_count = 1;
  info.stages.push_back(stage);
  variant.plan_cost_first = uint32_t(info.planCosts.size());
  if (info.operations[0].kind != SPARSEC_OPERATION_SDDMM)
    info.planCosts.push_back({SPARSEC_PLAN_COST_TILE_OVERHEAD, 2});
  if (info.operations[0].kind == SPARSEC_OPERATION_SPMM)
    info.planCosts.push_back({SPARSEC_PLAN_COST_GROUPED_DENSITY, 70});
  variant.plan_cost_count = uint32_t(info.planCosts.size()) - variant.plan_cost_first;
  info.variants.push_back(variant);
}

void addKernel(LaunchInfoBuilder &info, const char *name, uint32_t results) {
  sparsec_kernel_info_t kernel = {};
  setName(kernel.name, name);
  kernel.argument_count = uint32_t(info.arguments.size());
  kernel.result_count = results;
  kernel.variant_count = uint32_t(info.variants.size());
  info.kernels = {kernel};
}

} // namespace

LaunchInfoBuilder cudaLinear() {
  enum { w, x, bias, alpha, y };
  LaunchInfoBuilder info;
  info.header = cudaHeader();
  info.arguments = linearArguments();
  info.operands = {{SPARSEC_SPMM_MATRIX, w, SPARSEC_LAYOUT_ROW_MAJOR, 0},
                   {SPARSEC_SPMM_DENSE, x, SPARSEC_LAYOUT_ROW_MAJOR, 0},
                   {SPARSEC_SPMM_EXTRA, bias, 0, SPARSEC_BROADCAST_PER_ROW},
                   {SPARSEC_SPMM_EXTRA, alpha, 0, SPARSEC_BROADCAST_SCALAR},
                   {SPARSEC_SPMM_RESULT, y, SPARSEC_LAYOUT_ROW_MAJOR, 0}};
  info.operations = {{SPARSEC_OPERATION_SPMM, 0, 5, 0, 0, 0, 1, 0}};
  // Values: 0 the accumulator, 1 bias, 2 alpha, 3 = acc * alpha, 4 = value 3 + bias.
  info.regions = {{SPARSEC_REGION_EPILOGUE, 0, 3, 0, 2, 0}};
  info.inputs = {{SPARSEC_INPUT_ACCUMULATOR, 0}, {SPARSEC_INPUT_OPERAND, 2}, {SPARSEC_INPUT_OPERAND, 3}};
  info.steps = {{SPARSEC_STEP_MULTIPLY, 0, 2, 0, 0}, {SPARSEC_STEP_ADD, 3, 1, 0, 0}};

  sparsec_stage_info_t aligned = makeStage("linear_aligned", 384, 200000, 2, 256, 64);
  aligned.row_first = 0, aligned.row_count = 1, aligned.panel_first = 1, aligned.panel_count = 1;
  sparsec_stage_info_t any = makeStage("linear_any", 128, 40000, 1, 128, 32);
  any.row_first = 2, any.row_count = 1, any.panel_first = 3, any.panel_count = 1;
  info.extents = {{w, SPARSEC_FIELD_SIZE, 0, 64, 64, 0},
                  {x, SPARSEC_FIELD_SIZE, 1, 512, 512, 0},
                  {w, SPARSEC_FIELD_SIZE, 0, 64, 64, 0},
                  {x, SPARSEC_FIELD_SIZE, 1, 128, 128, 0}};
  addVariant(info, 16, aligned,
             {other(SPARSEC_SOURCE_TENSOR_MAP, 0), other(SPARSEC_SOURCE_TENSOR_MAP, 1),
              other(SPARSEC_SOURCE_TENSOR_MAP, 2), field(w, SPARSEC_FIELD_FULL_STARTS),
              field(w, SPARSEC_FIELD_FULL_INDICES), field(bias, SPARSEC_FIELD_DATA), field(alpha, SPARSEC_FIELD_SCALAR),
              field(w, SPARSEC_FIELD_SIZE, 0), field(x, SPARSEC_FIELD_SIZE, 1),
              other(SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_TILE_OFFSETS),
              other(SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_TILES), other(SPARSEC_SOURCE_TILE_ROWS),
              other(SPARSEC_SOURCE_PANELS), other(SPARSEC_SOURCE_PERIOD)},
             {{w, 16, 1, 0}, {x, 16, 1, 0}, {bias, 16, 1, 0}, {y, 16, 16, 0}});
  addVariant(info, 2, any,
             {field(w, SPARSEC_FIELD_DATA), field(w, SPARSEC_FIELD_FULL_STARTS), field(w, SPARSEC_FIELD_FULL_INDICES),
              field(x, SPARSEC_FIELD_DATA), field(x, SPARSEC_FIELD_STRIDE, 0), field(y, SPARSEC_FIELD_DATA),
              field(y, SPARSEC_FIELD_STRIDE, 0), field(w, SPARSEC_FIELD_SIZE, 1),
              other(SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_TILE_OFFSETS),
              other(SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_TILES), other(SPARSEC_SOURCE_TILE_ROWS),
              other(SPARSEC_SOURCE_PANELS), other(SPARSEC_SOURCE_PERIOD)},
             {});
  info.tensorMaps = {
      {SPARSEC_TENSOR_MAP_BSR_VALUES, w, 3, SPARSEC_SWIZZLE_128B, {64, 64, 1}, 0},
      {SPARSEC_TENSOR_MAP_DENSE, x, 2, SPARSEC_SWIZZLE_128B, {64, 64}, 0},
      {SPARSEC_TENSOR_MAP_DENSE, y, 2, SPARSEC_SWIZZLE_NONE, {32, 64}, 0},
  };
  addKernel(info, "linear", 1);
  return info;
}

LaunchInfoBuilder cudaSampled() {
  enum { p, a, b, old, alpha, s };
  LaunchInfoBuilder info;
  info.header = cudaHeader();
  auto pattern = makeArgument("p", SPARSEC_ARGUMENT_BSR, SPARSEC_DTYPE_F16, 2);
  pattern.block_rows = 16;
  pattern.block_columns = 32;
  info.arguments = {pattern,
                    makeArgument("a", SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_F16, 2),
                    makeArgument("b", SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_F16, 2),
                    makeArgument("old", SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_F32, 3),
                    makeArgument("alpha", SPARSEC_ARGUMENT_SCALAR, SPARSEC_DTYPE_F32, 0),
                    makeArgument("s", SPARSEC_ARGUMENT_DENSE, SPARSEC_DTYPE_F32, 3)};
  for (uint32_t values : {old, s}) {
    info.arguments[values].sizes[1] = 16;
    info.arguments[values].sizes[2] = 32;
  }
  info.operands = {{SPARSEC_SDDMM_PATTERN, p, 0, 0},
                   {SPARSEC_SDDMM_LEFT, a, SPARSEC_LAYOUT_ROW_MAJOR, 0},
                   {SPARSEC_SDDMM_RIGHT, b, SPARSEC_LAYOUT_TRANSPOSED, 0},
                   {SPARSEC_SDDMM_EXTRA, old, 0, SPARSEC_BROADCAST_FULL},
                   {SPARSEC_SDDMM_EXTRA, alpha, 0, SPARSEC_BROADCAST_SCALAR},
                   {SPARSEC_SDDMM_RESULT, s, 0, 0}};
  info.operations = {{SPARSEC_OPERATION_SDDMM, 0, 6, 0, 0, 0, 1, 0}};
  info.regions = {{SPARSEC_REGION_EPILOGUE, 0, 3, 0, 1, 0}};
  info.inputs = {{SPARSEC_INPUT_ACCUMULATOR, 0}, {SPARSEC_INPUT_OPERAND, 3}, {SPARSEC_INPUT_OPERAND, 4}};
  info.steps = {{SPARSEC_STEP_FMA, 0, 2, 1, 0}}; // acc * alpha + old
  sparsec_stage_info_t stage = makeStage("sampled", 128, 40000, 1, 64, 64);
  stage.tile_m = 16;
  stage.ctas_per_sm = 1;
  stage.group_m = 2;
  stage.row_first = 0, stage.row_count = 1, stage.panel_first = 1, stage.panel_count = 1;
  info.extents = {{p, SPARSEC_FIELD_SIZE, 0, 16, 16, 0}, {p, SPARSEC_FIELD_SIZE, 1, 64, 64, 0}};
  addVariant(info, 16, stage,
             {field(p, SPARSEC_FIELD_FULL_STARTS), field(p, SPARSEC_FIELD_FULL_INDICES), field(a, SPARSEC_FIELD_DATA),
              field(b, SPARSEC_FIELD_DATA), other(SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_TILE_OFFSETS),
              other(SPARSEC_SOURCE_PLAN_SECTION, SPARSEC_PLAN_TILES)},
             {{a, 16, 1, 0}, {b, 16, 1, 0}});
  addKernel(info, "sampled", 1);
  return info;
}

namespace {

std::vector<sparsec_argument_info_t> attentionArguments() {
  auto dense = [](const char *name, uint32_t dtype, uint32_t rank) {
    return makeArgument(name, SPARSEC_ARGUMENT_DENSE, dtype, rank);
  };
  auto pattern = makeArgument("pattern", SPARSEC_ARGUMENT_PATTERN, SPARSEC_DTYPE_I32, 0);
  pattern.block_rows = 64;
  pattern.block_columns = 128;
  std::vector<sparsec_argument_info_t> arguments = {
      dense("q", SPARSEC_DTYPE_BF16, 4),
      dense("k", SPARSEC_DTYPE_BF16, 4),
      dense("v", SPARSEC_DTYPE_BF16, 4),
      pattern,
      makeArgument("scale", SPARSEC_ARGUMENT_SCALAR, SPARSEC_DTYPE_F32, 0),
      dense("slopes", SPARSEC_DTYPE_F32, 1),
      dense("ids", SPARSEC_DTYPE_I32, 2),
      dense("o", SPARSEC_DTYPE_BF16, 4),
      dense("lse", SPARSEC_DTYPE_F32, 3)};
  for (uint32_t i : {0, 1, 2, 7})
    arguments[i].sizes[3] = 64;
  return arguments;
}

/// Values of the score: 0 the score, 1 batch, 2 head, 3 q, 4 k; those of the mask begin with the batch. `slopes` and
/// `ids` are numbers of operands.
std::vector<sparsec_step_info_t> attentionSteps(uint32_t slopes, uint32_t ids) {
  return {{SPARSEC_STEP_LOAD, slopes, 2, 0, 0},    // 5 = slopes[head]
          {SPARSEC_STEP_I32_SUBTRACT, 4, 3, 0, 0}, // 6 = k - q
          {SPARSEC_STEP_I32_TO_F32, 6, 0, 0, 0},   // 7
          {SPARSEC_STEP_FMA, 5, 7, 0, 0},          // 8 = slopes[head] * (k - q) + score
          {SPARSEC_STEP_COPY, 0, 0, 0, 0},         // 4 = batch: the indices of a load are consecutive values
          {SPARSEC_STEP_COPY, 2, 0, 0, 0},         // 5 = q
          {SPARSEC_STEP_LOAD, ids, 4, 0, 0},       // 6 = ids[batch, q]
          {SPARSEC_STEP_COPY, 0, 0, 0, 0},         // 7 = batch
          {SPARSEC_STEP_COPY, 3, 0, 0, 0},         // 8 = k
          {SPARSEC_STEP_LOAD, ids, 7, 0, 0},       // 9 = ids[batch, k]
          {SPARSEC_STEP_I32_COMPARE, 6, 9, 0, 0}}; // 10 = equal
}

/// As the compiler writes them for the host (see the order there).
std::vector<sparsec_parameter_info_t> attentionParameters() {
  enum { q, k, v, pattern, scale, slopes, ids, o, lse };
  std::vector<sparsec_parameter_info_t> parameters;
  for (uint32_t tensor : {q, k, v, o}) {
    parameters.push_back(field(tensor, SPARSEC_FIELD_DATA));
    for (uint32_t d = 0; d < 3; ++d)
      parameters.push_back(field(tensor, SPARSEC_FIELD_STRIDE, d));
  }
  for (uint32_t tensor : {q, k})
    for (uint32_t d : {1, 2})
      parameters.push_back(field(tensor, SPARSEC_FIELD_SIZE, d));
  parameters.push_back(field(lse, SPARSEC_FIELD_DATA));
  parameters.push_back(field(lse, SPARSEC_FIELD_STRIDE, 0));
  parameters.push_back(field(lse, SPARSEC_FIELD_STRIDE, 1));
  parameters.push_back(field(scale, SPARSEC_FIELD_SCALAR));
  for (sparsec_field_t each : {SPARSEC_FIELD_ENCODING, SPARSEC_FIELD_BATCHES, SPARSEC_FIELD_HEADS,
                               SPARSEC_FIELD_CAPACITY, SPARSEC_FIELD_PARTIAL_STARTS, SPARSEC_FIELD_PARTIAL_INDICES,
                               SPARSEC_FIELD_FULL_STARTS, SPARSEC_FIELD_FULL_INDICES})
    parameters.push_back(field(pattern, each));
  parameters.push_back(field(slopes, SPARSEC_FIELD_DATA));
  parameters.push_back(field(ids, SPARSEC_FIELD_DATA));
  parameters.push_back(field(ids, SPARSEC_FIELD_STRIDE, 0));
  return parameters;
}

} // namespace

LaunchInfoBuilder cudaAttention() {
  enum { q, k, v, pattern, scale, slopes, ids, o, lse };
  LaunchInfoBuilder info;
  info.header = cudaHeader();
  info.arguments = attentionArguments();
  // An operand has the number of its argument.
  info.operands = {{SPARSEC_ATTENTION_QUERY, q, 0, 0},     {SPARSEC_ATTENTION_KEY, k, 0, 0},
                   {SPARSEC_ATTENTION_VALUE, v, 0, 0},     {SPARSEC_ATTENTION_PATTERN, pattern, 0, 0},
                   {SPARSEC_ATTENTION_SCALE, scale, 0, 0}, {SPARSEC_ATTENTION_EXTRA, slopes, 0, 0},
                   {SPARSEC_ATTENTION_EXTRA, ids, 0, 0},   {SPARSEC_ATTENTION_RESULT, o, 0, 0},
                   {SPARSEC_ATTENTION_LSE, lse, 0, 0}};
  info.attributes = {{SPARSEC_ATTRIBUTE_HEAD_DIMENSION, 0, 64},
                     {SPARSEC_ATTRIBUTE_CAUSAL, 0, 0},
                     {SPARSEC_ATTRIBUTE_WINDOW_LEFT, 0, -1},
                     {SPARSEC_ATTRIBUTE_WINDOW_RIGHT, 0, -1}};
  info.inputs = {{SPARSEC_INPUT_SCORE, 0},
                 {SPARSEC_INPUT_BATCH, 0},
                 {SPARSEC_INPUT_HEAD, 0},
                 {SPARSEC_INPUT_QUERY, 0},
                 {SPARSEC_INPUT_KEY, 0}};
  info.regions = {{SPARSEC_REGION_SCORE, 0, 5, 0, 4, 0}, {SPARSEC_REGION_MASK, 1, 4, 4, 7, 0}};
  info.operations = {{SPARSEC_OPERATION_ATTENTION, 0, 9, 0, 4, 0, 2, 0}};
  info.steps = attentionSteps(slopes, ids);
  sparsec_stage_info_t stage = makeStage("attention_any", 128, 100000, 1, 64, 64);
  stage.row_first = 0, stage.row_count = 2, stage.panel_first = 2, stage.panel_count = 1;
  info.extents = {
      {q, SPARSEC_FIELD_SIZE, 0, 1, 1, 0}, {q, SPARSEC_FIELD_SIZE, 1, 1, 1, 0}, {q, SPARSEC_FIELD_SIZE, 2, 64, 64, 0}};
  addVariant(info, 2, stage, attentionParameters(), {});
  addKernel(info, "attention", 2);
  return info;
}

/// Appends an auxiliary kernel, which is stage 0 but for what is given.
static void addAuxiliary(LaunchInfoBuilder &info, sparsec_auxiliary_kind_t kind, const char *symbol, uint32_t threads,
                         uint32_t sharedMemory, uint32_t concurrentTiles,
                         const std::vector<sparsec_parameter_info_t> &parameters) {
  sparsec_stage_info_t stage = info.stages[0];
  std::strcpy(stage.symbol, symbol);
  stage.threads = threads;
  stage.dynamic_shared_memory = sharedMemory;
  stage.ctas_per_sm = 0;
  stage.concurrent_tiles = concurrentTiles;
  stage.parameter_first = uint32_t(info.parameters.size());
  stage.parameter_count = uint32_t(parameters.size());
  info.parameters.insert(info.parameters.end(), parameters.begin(), parameters.end());
  info.auxiliaries.push_back({uint32_t(kind), uint32_t(info.stages.size())});
  info.stages.push_back(stage);
  info.kernels[0].auxiliary_count = uint32_t(info.auxiliaries.size());
}

LaunchInfoBuilder cudaAttentionWithBuilder() {
  enum { q, k, v, pattern, scale, slopes, ids };
  const sparsec_parameter_info_t capacity = field(pattern, SPARSEC_FIELD_CAPACITY),
                                 partialStarts = field(pattern, SPARSEC_FIELD_PARTIAL_STARTS),
                                 partialIndices = field(pattern, SPARSEC_FIELD_PARTIAL_INDICES),
                                 fullStarts = field(pattern, SPARSEC_FIELD_FULL_STARTS),
                                 fullIndices = field(pattern, SPARSEC_FIELD_FULL_INDICES);
  LaunchInfoBuilder info = cudaAttention();
  addAuxiliary(info, SPARSEC_AUXILIARY_PATTERN_BUILDER, "attention_pattern", 512, 64, 1,
               {field(q, SPARSEC_FIELD_SIZE, 2), field(k, SPARSEC_FIELD_SIZE, 2), field(pattern, SPARSEC_FIELD_HEADS),
                capacity, partialStarts, partialIndices, fullStarts, fullIndices, field(ids, SPARSEC_FIELD_DATA)});
  addAuxiliary(info, SPARSEC_AUXILIARY_BLOCK_MASK_READER, "attention_block_mask", 128, 0, 4,
               {other(SPARSEC_SOURCE_INPUT), field(k, SPARSEC_FIELD_SIZE, 2), capacity, partialStarts, partialIndices,
                fullStarts, fullIndices, other(SPARSEC_SOURCE_TILE_ROWS)});
  addAuxiliary(info, SPARSEC_AUXILIARY_TOP_K_BLOCKS, "attention_top_k", 128, 0, 4,
               {other(SPARSEC_SOURCE_INPUT, 0), other(SPARSEC_SOURCE_INPUT, 1), other(SPARSEC_SOURCE_INPUT, 2),
                other(SPARSEC_SOURCE_NUMBER), field(k, SPARSEC_FIELD_SIZE, 2), capacity, partialStarts, partialIndices,
                fullStarts, fullIndices, other(SPARSEC_SOURCE_TILE_ROWS)});
  return info;
}

void addTileCounter(LaunchInfoBuilder &info) {
  info.workspaces = {{0, 0, 4, SPARSEC_LIFETIME_LAUNCHES, 1, SPARSEC_WORKSPACE_TILE_COUNTER}};
  info.variants[0].workspace_count = 1;
}

void removeArgument(LaunchInfoBuilder &info, uint32_t number) {
  info.arguments.erase(info.arguments.begin() + number);
  info.operands.erase(info.operands.begin() + number);
  auto isOfIt = [&](const sparsec_parameter_info_t &p) {
    return p.source == SPARSEC_SOURCE_ARGUMENT && p.index == number;
  };
  std::erase_if(info.parameters, isOfIt);
  for (sparsec_parameter_info_t &parameter : info.parameters)
    if (parameter.source == SPARSEC_SOURCE_ARGUMENT)
      parameter.index -= parameter.index > number;
  for (sparsec_operand_info_t &operand : info.operands)
    operand.argument -= operand.argument > number;
  for (sparsec_step_info_t &step : info.steps)
    if (step.op == SPARSEC_STEP_LOAD)
      step.a -= step.a > number;
  info.stages[0].parameter_count = uint32_t(info.parameters.size());
  info.kernels[0].result_count -= number >= info.kernels[0].argument_count - info.kernels[0].result_count;
  info.kernels[0].argument_count = info.operations[0].operand_count = uint32_t(info.arguments.size());
}

void makeHostInfo(LaunchInfoBuilder &info) {
  info.header.target_kind = SPARSEC_TARGET_HOST;
  info.header.compute_capability = info.header.arch_specific = 0;
  setName(info.header.target, "host");
}

LaunchInfoBuilder hostProduct() {
  LaunchInfoBuilder info = cudaLinear();
  makeHostInfo(info);
  info.tensorMaps.clear();
  info.arguments = {info.arguments[0], info.arguments[1], info.arguments[4]};
  for (sparsec_argument_info_t &argument : info.arguments)
    argument.dtype = SPARSEC_DTYPE_F32;
  info.arguments[0].block_rows = info.arguments[0].block_columns = 16;
  info.operands = {info.operands[0], info.operands[1], info.operands[4]};
  info.operands[2].argument = 2;
  info.operations[0].operand_count = 3;
  info.steps = {{SPARSEC_STEP_TANH, 0, 0, 0, 0}};
  info.inputs = {{SPARSEC_INPUT_ACCUMULATOR, 0}};
  info.regions = {{SPARSEC_REGION_EPILOGUE, 0, 1, 0, 1, 0}};
  info.variants.resize(1);
  info.variants[0].requirement_count = 0;
  info.variants[0].alignment = 1;
  std::strcpy(info.stages[0].symbol, "sparsec_test_tanh_product");
  info.stages[0].cluster = 1;
  info.setTile(0, 16, 8);
  info.parameters = {{SPARSEC_SOURCE_ARGUMENT, 0, SPARSEC_FIELD_DATA, 0},
                     {SPARSEC_SOURCE_ARGUMENT, 0, SPARSEC_FIELD_FULL_STARTS, 0},
                     {SPARSEC_SOURCE_ARGUMENT, 0, SPARSEC_FIELD_FULL_INDICES, 0},
                     {SPARSEC_SOURCE_ARGUMENT, 1, SPARSEC_FIELD_DATA, 0},
                     {SPARSEC_SOURCE_ARGUMENT, 1, SPARSEC_FIELD_STRIDE, 0},
                     {SPARSEC_SOURCE_ARGUMENT, 2, SPARSEC_FIELD_DATA, 0},
                     {SPARSEC_SOURCE_ARGUMENT, 2, SPARSEC_FIELD_STRIDE, 0},
                     {SPARSEC_SOURCE_ARGUMENT, 0, SPARSEC_FIELD_SIZE, 0},
                     {SPARSEC_SOURCE_ARGUMENT, 1, SPARSEC_FIELD_SIZE, 1},
                     {SPARSEC_SOURCE_ARGUMENT, 0, SPARSEC_FIELD_SIZE, 1},
                     {SPARSEC_SOURCE_PANELS, 0, 0, 0}};
  info.stages[0].parameter_count = uint32_t(info.parameters.size());
  info.kernels[0].argument_count = 3;
  info.kernels[0].variant_count = 1;
  return info;
}

namespace {

/// Strings one after the other, each found again by its offset.
struct StringTable {
  ByteVector bytes = {0};
  uint32_t add(const std::string &text) {
    auto offset = uint32_t(bytes.size());
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.push_back(0);
    return offset;
  }
};

ElfSectionSpec symbolTable(const ElfSpec &spec, StringTable &names) {
  ByteVector contents(sizeof(Elf64_Sym));
  for (const ElfSymbolSpec &symbol : spec.symbols) {
    Elf64_Sym entry = {};
    entry.st_name = names.add(symbol.name);
    entry.st_info = symbol.info;
    entry.st_shndx = symbol.section;
    entry.st_value = symbol.value;
    entry.st_size = symbol.size;
    appendRecord(contents, entry);
  }
  ElfSectionSpec table = {".symtab", SHT_SYMTAB, 0, contents};
  table.entrySize = sizeof(Elf64_Sym);
  table.link = uint32_t(spec.sections.size()) + 2;
  return table;
}

} // namespace

ByteVector makeElf(const ElfSpec &spec) {
  StringTable symbolNames, sectionNames;
  std::vector<ElfSectionSpec> sections = {{"", SHT_NULL, 0, {}}};
  sections.insert(sections.end(), spec.sections.begin(), spec.sections.end());
  sections.push_back(symbolTable(spec, symbolNames));
  sections.push_back({".strtab", SHT_STRTAB, 0, symbolNames.bytes});
  for (const ElfSectionSpec &section : sections)
    sectionNames.add(section.name);
  sectionNames.add(".shstrtab");
  sections.push_back({".shstrtab", SHT_STRTAB, 0, sectionNames.bytes});

  ByteVector file(sizeof(Elf64_Ehdr)), headers;
  uint32_t nameOffset = 1;
  for (const ElfSectionSpec &section : sections) {
    Elf64_Shdr header = {};
    header.sh_name = nameOffset;
    nameOffset += uint32_t(section.name.size()) + 1;
    header.sh_type = section.type;
    header.sh_flags = section.flags;
    header.sh_addr = section.address;
    header.sh_offset = file.size();
    header.sh_size = section.type == SHT_NOBITS ? section.sizeWithoutContents : section.contents.size();
    header.sh_link = section.link;
    header.sh_info = section.info;
    header.sh_addralign = section.alignment;
    header.sh_entsize = section.entrySize;
    appendRecord(headers, header);
    file.insert(file.end(), section.contents.begin(), section.contents.end());
    pad(file, 8);
  }
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = spec.type;
  header.e_machine = spec.machine;
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = uint16_t(sections.size());
  header.e_shstrndx = uint16_t(sections.size() - 1);
  std::memcpy(file.data(), &header, sizeof(header));
  file.insert(file.end(), headers.begin(), headers.end());
  return file;
}

#ifdef SPARSEC_HAS_TEST_HOST_OBJECT

ByteVector hostObject(const LaunchInfoBuilder &info) {
  std::ifstream file(SPARSEC_TEST_HOST_OBJECT, std::ios::binary);
  ByteVector object{std::istreambuf_iterator<char>(file), {}};
  runtime::ElfFile elf;
  EXPECT_OK(runtime::ElfFile::parse(object, elf));
  runtime::Bytes place;
  EXPECT_OK(elf.symbolContents(*elf.findSymbol(SPARSEC_LAUNCH_INFO_SYMBOL), place));
  ByteVector bytes = info.build();
  EXPECT_LE(bytes.size(), place.size());
  std::copy(bytes.begin(), bytes.end(), object.begin() + (place.data() - object.data()));
  EXPECT_TRUE(updateElfChecksums(object));
  return object;
}

#endif

ByteVector makeCubin(const ByteVector &launchInfo) {
  // Eight bytes before the launch info and an address of the section: offsets and addresses must not be mixed up.
  ByteVector contents(8);
  contents.insert(contents.end(), launchInfo.begin(), launchInfo.end());
  ElfSectionSpec section = {".nv.global.init", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, contents};
  section.address = 4096;
  ByteVector cubin = makeElf({ET_EXEC, 190, {section}, {{SPARSEC_LAUNCH_INFO_SYMBOL, 1, 4096 + 8, launchInfo.size()}}});
  updateElfChecksums(cubin);
  return cubin;
}

ByteVector makeBundle(const std::vector<BundleEntrySpec> &entries) {
  sparsec_bundle_t header = {SPARSEC_BUNDLE_MAGIC,
                             SPARSEC_BUNDLE_MAJOR,
                             SPARSEC_BUNDLE_MINOR,
                             uint32_t(entries.size()),
                             sizeof(sparsec_bundle_t),
                             sizeof(sparsec_bundle_entry_t),
                             0,
                             0,
                             0};
  ByteVector file(sizeof(header) + entries.size() * sizeof(sparsec_bundle_entry_t));
  size_t entryOffset = sizeof(header);
  for (const BundleEntrySpec &spec : entries) {
    sparsec_bundle_entry_t entry = {};
    setName(entry.target, spec.target.c_str());
    entry.format = spec.format;
    pad(file, 16);
    entry.image_offset = file.size();
    entry.image_size = spec.image.size();
    file.insert(file.end(), spec.image.begin(), spec.image.end());
    if (!spec.launchInfo.empty()) {
      pad(file, 16);
      entry.launch_info_offset = file.size();
      entry.launch_info_size = spec.launchInfo.size();
      file.insert(file.end(), spec.launchInfo.begin(), spec.launchInfo.end());
    }
    std::memcpy(file.data() + entryOffset, &entry, sizeof(entry));
    entryOffset += sizeof(entry);
  }
  header.total_size = file.size();
  std::memcpy(file.data(), &header, sizeof(header));
  updateBundleChecksum(file);
  return file;
}

BundleEntrySpec ptxEntry(const LaunchInfoBuilder &info) {
  const char text[] = ".version 8.1 // stands for PTX text";
  LaunchInfoBuilder sealed = info;
  sealed.header.image_checksum = runtime::crc32(reinterpret_cast<const uint8_t *>(text), sizeof(text));
  return {info.header.target, SPARSEC_IMAGE_PTX, ByteVector(text, text + sizeof(text)), sealed.build()};
}

BundleEntrySpec cubinEntry(const LaunchInfoBuilder &info) {
  return {info.header.target, SPARSEC_IMAGE_ELF, makeCubin(info.build()), {}};
}

} // namespace sparsec::test
