// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of a launch info: what its records say.

#include "image/enum_values.h"
#include "image/launch_info_reader.h"
#include "operations/kernel_shape.h"

#include <cstring>

namespace sparsec::runtime {

namespace {

template <size_t size> bool isName(const char (&text)[size]) { return text[0] != 0 && std::memchr(text, 0, size); }

/// [first, first + count) inside a table of `available` records.
bool isRange(uint32_t first, uint32_t count, uint32_t available) {
  return first <= available && count <= available - first;
}

bool isPowerOfTwo(uint32_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// Checks one kernel and all records that it refers to.
class KernelChecker {
public:
  KernelChecker(const LaunchInfo &info, uint32_t index) : info(info), kernel(info.kernel(index)), index(index) {}

  Status check();

private:
  Status checkRanges();
  Status checkArgument(uint32_t number);
  Status checkArgumentNames();
  Status checkArgumentRole(uint32_t number, const sparsec_argument_info_t &argument);
  Status checkBlocks(uint32_t number, const sparsec_argument_info_t &argument);
  Status checkRoles();
  Status checkSpmmRoles();
  Status checkAttentionRoles();
  Status checkAttention();
  Status checkEpilogue();
  Status checkRegion(const char *name, uint32_t first, uint32_t count);
  Status checkStep(const char *region, uint32_t number, const sparsec_step_info_t &step, uint32_t values);
  Status checkLoad(const char *region, uint32_t number, const sparsec_step_info_t &step, uint32_t values);
  Status checkPatternBuilder();
  Status checkVariant(const sparsec_variant_info_t &variant, const std::string &name);
  Status checkCudaVariant(const sparsec_variant_info_t &variant, const std::string &name);
  Status checkParameter(const sparsec_variant_info_t &variant, uint32_t number);
  Status checkParameterArgument(const sparsec_parameter_info_t &parameter, uint32_t number);
  Status checkTensorMap(const sparsec_variant_info_t &variant, uint32_t record);

  template <typename... Pieces> Status broken(const Pieces &...pieces) {
    return invalidImage("launch info: kernel ", index, ": ", pieces...);
  }
  /// A number that this version gives no meaning: a newer compiler's if the file is newer.
  Status unknown(const std::string &what, uint32_t value) {
    const sparsec_launch_info_t &header = info.header();
    if (header.minor > SPARSEC_LAUNCH_INFO_MINOR)
      return makeStatus(SPARSEC_STATUS_VERSION_MISMATCH, "launch info has version ", header.major, ".", header.minor,
                        " and kernel ", index, " uses ", what, " ", value, ", which this runtime, version ",
                        SPARSEC_LAUNCH_INFO_MAJOR, ".", SPARSEC_LAUNCH_INFO_MINOR, ", does not know");
    return broken("unknown ", what, " ", value);
  }
  bool isAttention() const { return kernel.family == SPARSEC_FAMILY_ATTENTION; }
  const sparsec_argument_info_t &argument(uint32_t number) { return info.argument(kernel.argument_first + number); }

  const LaunchInfo &info;
  const sparsec_kernel_info_t &kernel;
  uint32_t index;
};

Status KernelChecker::check() {
  SPARSEC_RETURN_IF_ERROR(checkRanges());
  for (uint32_t i = 0; i < kernel.argument_count; ++i)
    SPARSEC_RETURN_IF_ERROR(checkArgument(i));
  SPARSEC_RETURN_IF_ERROR(checkArgumentNames());
  SPARSEC_RETURN_IF_ERROR(checkRoles());
  SPARSEC_RETURN_IF_ERROR(isAttention() ? checkAttention() : checkEpilogue());
  for (uint32_t i = 0; i < kernel.variant_count; ++i)
    SPARSEC_RETURN_IF_ERROR(checkVariant(info.variant(kernel.variant_first + i), "variant " + std::to_string(i)));
  return {};
}

Status KernelChecker::checkRanges() {
  const sparsec_launch_info_t &header = info.header();
  if (!isName(kernel.name))
    return broken("its name is empty or has no end");
  for (uint32_t i = 0; i < index; ++i)
    if (std::strcmp(info.kernel(i).name, kernel.name) == 0)
      return broken("its name '", kernel.name, "' is also that of kernel ", i);
  if (kernel.family != SPARSEC_FAMILY_SPMM && !isAttention())
    return unknown("kernel family", kernel.family);
  if (!isRange(kernel.argument_first, kernel.argument_count, header.argument_count))
    return broken("arguments ", kernel.argument_first, " + ", kernel.argument_count, " of ", header.argument_count);
  if (kernel.variant_count == 0 || !isRange(kernel.variant_first, kernel.variant_count, header.variant_count))
    return broken("variants ", kernel.variant_first, " + ", kernel.variant_count, " of ", header.variant_count);
  if (!isRange(kernel.step_first, kernel.step_count, header.step_count))
    return broken("steps ", kernel.step_first, " + ", kernel.step_count, " of ", header.step_count);
  if (isAttention() && kernel.detail >= header.attention_count)
    return broken("attention record ", kernel.detail, " of ", header.attention_count);
  return {};
}

Status KernelChecker::checkArgument(uint32_t number) {
  const sparsec_argument_info_t &argument = this->argument(number);
  if (!isName(argument.name))
    return broken("the name of argument ", number, " is empty or has no end");
  bool isPattern = argument.kind == SPARSEC_ARGUMENT_PATTERN;
  if (dtypeBytes(argument.dtype) == 0 && !(isPattern && argument.dtype == SPARSEC_DTYPE_NONE))
    return unknown("element type", argument.dtype);
  if (argument.dtype == SPARSEC_DTYPE_I32 && !isPattern && argument.role != SPARSEC_ROLE_REGION)
    return broken("argument ", number, " of role ", argument.role, " has elements of type i32");
  if (argument.layout > SPARSEC_LAYOUT_TRANSPOSED)
    return unknown("layout", argument.layout);
  if (argument.broadcast > SPARSEC_BROADCAST_FULL)
    return unknown("broadcast", argument.broadcast);
  uint32_t maxRank = isAttention() ? SPARSEC_MAX_RANK : 2;
  if (argument.rank > maxRank)
    return broken("argument ", number, " has rank ", argument.rank, ", at most ", maxRank, " is expected");
  for (uint32_t d = 0; d < argument.rank; ++d)
    if (argument.sizes[d] != SPARSEC_DYNAMIC && (argument.sizes[d] < 0 || argument.sizes[d] > maxSize))
      return broken("argument ", number, " has size ", argument.sizes[d], " in dimension ", d);
  return checkArgumentRole(number, argument);
}

Status KernelChecker::checkArgumentNames() {
  for (uint32_t i = 0; i < kernel.argument_count; ++i)
    for (uint32_t j = 0; j < i; ++j)
      if (std::strcmp(argument(i).name, argument(j).name) == 0)
        return broken("arguments ", j, " and ", i, " have the same name '", argument(i).name, "'");
  return {};
}

Status KernelChecker::checkArgumentRole(uint32_t number, const sparsec_argument_info_t &argument) {
  auto mismatch = [&] {
    return broken("argument ", number, " of role ", argument.role, " has kind ", argument.kind, ", rank ",
                  argument.rank, ", layout ", argument.layout, " and broadcast ", argument.broadcast);
  };
  bool hasLayout = argument.layout == SPARSEC_LAYOUT_ROW_MAJOR || argument.layout == SPARSEC_LAYOUT_TRANSPOSED;
  bool isDense = argument.kind == SPARSEC_ARGUMENT_DENSE;
  bool isScalar = argument.kind == SPARSEC_ARGUMENT_SCALAR && argument.dtype == SPARSEC_DTYPE_F32 && argument.rank == 0;
  switch (argument.role) {
  case SPARSEC_ROLE_MATRIX:
    if (argument.kind != SPARSEC_ARGUMENT_BSR || argument.rank != 2)
      return mismatch();
    return checkBlocks(number, argument);
  case SPARSEC_ROLE_RESULT:
    if (isAttention())
      return isDense && argument.rank == 4 ? Status() : mismatch();
    [[fallthrough]];
  case SPARSEC_ROLE_DENSE:
    return isDense && argument.rank == 2 && hasLayout ? Status() : mismatch();
  case SPARSEC_ROLE_EPILOGUE:
    switch (argument.broadcast) {
    case SPARSEC_BROADCAST_PER_ROW:
    case SPARSEC_BROADCAST_PER_COLUMN:
      return isDense && argument.rank == 1 ? Status() : mismatch();
    case SPARSEC_BROADCAST_SCALAR:
      return isScalar || (isDense && argument.rank == 0) ? Status() : mismatch();
    case SPARSEC_BROADCAST_FULL:
      return isDense && argument.rank == 2 && hasLayout ? Status() : mismatch();
    }
    return mismatch();
  case SPARSEC_ROLE_QUERY:
  case SPARSEC_ROLE_KEY:
  case SPARSEC_ROLE_VALUE:
    return isDense && argument.rank == 4 ? Status() : mismatch();
  case SPARSEC_ROLE_LSE:
    return isDense && argument.rank == 3 && argument.dtype == SPARSEC_DTYPE_F32 ? Status() : mismatch();
  case SPARSEC_ROLE_SCALE:
    return isScalar ? Status() : mismatch();
  case SPARSEC_ROLE_REGION:
    return isDense || isScalar ? Status() : mismatch();
  case SPARSEC_ROLE_PATTERN:
    if (argument.kind != SPARSEC_ARGUMENT_PATTERN || argument.rank != 0)
      return mismatch();
    return checkBlocks(number, argument);
  }
  return unknown("argument role", argument.role);
}

Status KernelChecker::checkBlocks(uint32_t number, const sparsec_argument_info_t &argument) {
  if (argument.block_rows == 0 || argument.block_rows > maxTile || argument.block_columns == 0 ||
      argument.block_columns > maxTile)
    return broken("argument ", number, " has blocks of ", argument.block_rows, " x ", argument.block_columns);
  return {};
}

Status KernelChecker::checkRoles() {
  for (uint32_t i = 0; i < kernel.argument_count; ++i) {
    uint32_t role = argument(i).role;
    bool isOfSpmm = role == SPARSEC_ROLE_MATRIX || role == SPARSEC_ROLE_DENSE || role == SPARSEC_ROLE_EPILOGUE;
    if (role != SPARSEC_ROLE_RESULT && isOfSpmm == isAttention())
      return broken("argument ", i, " has role ", role, ", which a kernel of family ", kernel.family, " does not have");
  }
  return isAttention() ? checkAttentionRoles() : checkSpmmRoles();
}

Status KernelChecker::checkSpmmRoles() {
  uint32_t matrices = 0, denses = 0, results = 0;
  for (uint32_t i = 0; i < kernel.argument_count; ++i) {
    matrices += argument(i).role == SPARSEC_ROLE_MATRIX;
    denses += argument(i).role == SPARSEC_ROLE_DENSE;
    results += argument(i).role == SPARSEC_ROLE_RESULT;
  }
  if (matrices != 1 || denses != 1 || results != 1)
    return broken("expects 1 block-sparse operand, 1 dense operand and 1 result, but got ", matrices, ", ", denses,
                  " and ", results);
  if (argument(kernel.argument_count - 1).role != SPARSEC_ROLE_RESULT)
    return broken("expects the result to be the last argument");
  return {};
}

Status KernelChecker::checkAttentionRoles() {
  uint32_t counts[SPARSEC_ROLE_LSE + 1] = {}, dtypes[SPARSEC_ROLE_LSE + 1] = {};
  for (uint32_t i = 0; i < kernel.argument_count; ++i) {
    ++counts[argument(i).role];
    dtypes[argument(i).role] = argument(i).dtype;
  }
  uint32_t lses = counts[SPARSEC_ROLE_LSE];
  if (counts[SPARSEC_ROLE_QUERY] != 1 || counts[SPARSEC_ROLE_KEY] != 1 || counts[SPARSEC_ROLE_VALUE] != 1 ||
      counts[SPARSEC_ROLE_RESULT] != 1)
    return broken("expects 1 query, 1 key, 1 value and 1 result, but got ", counts[SPARSEC_ROLE_QUERY], ", ",
                  counts[SPARSEC_ROLE_KEY], ", ", counts[SPARSEC_ROLE_VALUE], " and ", counts[SPARSEC_ROLE_RESULT]);
  if (counts[SPARSEC_ROLE_PATTERN] > 1 || counts[SPARSEC_ROLE_SCALE] > 1 || lses > 1)
    return broken("expects at most 1 pattern, 1 scale and 1 LSE, but got ", counts[SPARSEC_ROLE_PATTERN], ", ",
                  counts[SPARSEC_ROLE_SCALE], " and ", lses);
  if (dtypes[SPARSEC_ROLE_KEY] != dtypes[SPARSEC_ROLE_QUERY] ||
      dtypes[SPARSEC_ROLE_VALUE] != dtypes[SPARSEC_ROLE_QUERY])
    return broken("query, key and value have different types: ", dtypeName(dtypes[SPARSEC_ROLE_QUERY]), ", ",
                  dtypeName(dtypes[SPARSEC_ROLE_KEY]), " and ", dtypeName(dtypes[SPARSEC_ROLE_VALUE]));
  if (argument(kernel.argument_count - 1 - lses).role != SPARSEC_ROLE_RESULT ||
      (lses != 0 && argument(kernel.argument_count - 1).role != SPARSEC_ROLE_LSE))
    return broken("expects the result, then the LSE, to be the last arguments");
  return {};
}

Status KernelChecker::checkAttention() {
  const sparsec_attention_info_t &attention = info.attention(kernel.detail);
  if (attention.head_dimension == 0 || attention.head_dimension > maxTile)
    return broken("head dimension ", attention.head_dimension);
  if (attention.causal > 1)
    return broken("causal is ", attention.causal, ", 0 or 1 is expected");
  if (attention.window_left < -1 || attention.window_right < -1)
    return broken("window of ", attention.window_left, " to the left and ", attention.window_right, " to the right");
  if (kernel.step_count != 0)
    return broken("an attention kernel has ", kernel.step_count, " epilogue steps");
  SPARSEC_RETURN_IF_ERROR(checkRegion("score", attention.score_step_first, attention.score_step_count));
  SPARSEC_RETURN_IF_ERROR(checkRegion("mask", attention.mask_step_first, attention.mask_step_count));
  return checkPatternBuilder();
}

/// It runs on a GPU, and has something to evaluate and somewhere to write.
Status KernelChecker::checkPatternBuilder() {
  const sparsec_attention_info_t &attention = info.attention(kernel.detail);
  if (attention.builder_count == 0)
    return {};
  bool hasPattern = false;
  for (uint32_t i = 0; i < kernel.argument_count; ++i)
    hasPattern |= argument(i).role == SPARSEC_ROLE_PATTERN;
  if (attention.builder_count != 1 || info.isHost() || attention.mask_step_count == 0 || !hasPattern)
    return broken(attention.builder_count, " pattern builders, ", attention.mask_step_count, " mask steps and ",
                  hasPattern ? "a" : "no", " pattern");
  if (!isRange(attention.builder_first, 1, info.header().variant_count))
    return broken("pattern builder ", attention.builder_first, " of ", info.header().variant_count, " variants");
  return checkVariant(info.variant(attention.builder_first), "the pattern builder");
}

Status KernelChecker::checkEpilogue() {
  uint32_t values = 1; // the accumulator
  for (uint32_t i = 0; i < kernel.argument_count; ++i)
    values += argument(i).role == SPARSEC_ROLE_EPILOGUE;
  for (uint32_t i = 0; i < kernel.step_count; ++i, ++values) {
    const sparsec_step_info_t &step = info.step(kernel.step_first + i);
    if (isIntegerStep(step.op))
      return unknown("epilogue step", step.op);
    SPARSEC_RETURN_IF_ERROR(checkStep("epilogue", i, step, values));
  }
  return {};
}

Status KernelChecker::checkRegion(const char *name, uint32_t first, uint32_t count) {
  if (!isRange(first, count, info.header().step_count))
    return broken(name, " steps ", first, " + ", count, " of ", info.header().step_count);
  for (uint32_t i = 0; i < count; ++i) {
    const sparsec_step_info_t &step = info.step(first + i);
    bool isLoad = step.op == SPARSEC_STEP_LOAD;
    SPARSEC_RETURN_IF_ERROR(isLoad ? checkLoad(name, i, step, regionInputCount + i)
                                   : checkStep(name, i, step, regionInputCount + i));
  }
  return {};
}

/// `values` is how many values are defined before the step.
Status KernelChecker::checkStep(const char *region, uint32_t number, const sparsec_step_info_t &step, uint32_t values) {
  uint32_t operands = stepOperandCount(step.op);
  if (operands == unknownStep)
    return unknown(std::string(region) + " step", step.op);
  uint32_t used[] = {step.a, step.b, step.c};
  for (uint32_t operand = 0; operand < operands; ++operand)
    if (used[operand] >= values)
      return broken(region, " step ", number, " uses value ", used[operand], ", but only ", values, " are defined");
  if (step.op == SPARSEC_STEP_COMPARE && step.c > SPARSEC_COMPARE_TRUE)
    return unknown("comparison", step.c);
  if (step.op == SPARSEC_STEP_I32_COMPARE && step.c > maxIntegerCompare)
    return unknown("integer comparison", step.c);
  return {};
}

Status KernelChecker::checkLoad(const char *region, uint32_t number, const sparsec_step_info_t &step, uint32_t values) {
  if (step.a >= kernel.argument_count || argument(step.a).role != SPARSEC_ROLE_REGION)
    return broken(region, " step ", number, " loads from argument ", step.a, ", which is no operand of a region");
  if (uint32_t rank = argument(step.a).rank; rank != 0 && !isRange(step.b, rank, values))
    return broken(region, " step ", number, " uses values ", step.b, " + ", rank, ", but only ", values,
                  " are defined");
  return {};
}

Status KernelChecker::checkVariant(const sparsec_variant_info_t &variant, const std::string &name) {
  if (!isName(variant.symbol) || !std::memchr(variant.schedule, 0, sizeof(variant.schedule)))
    return broken("the symbol or schedule of ", name, " is empty or has no end");
  if (!isPowerOfTwo(variant.alignment) || variant.alignment > 256)
    return broken(name, " has alignment ", variant.alignment);
  if (variant.tile_m == 0 || variant.tile_m > maxTile || variant.tile_n == 0 || variant.cluster == 0 ||
      uint64_t(variant.tile_n) * variant.cluster > maxTile)
    return broken(name, " has tiles of ", variant.tile_m, " x ", variant.tile_n, " and clusters of ", variant.cluster);
  if (variant.parameter_count > maxParameters ||
      !isRange(variant.parameter_first, variant.parameter_count, info.header().parameter_count))
    return broken(name, " has parameters ", variant.parameter_first, " + ", variant.parameter_count, " of ",
                  info.header().parameter_count, ", at most ", maxParameters, " are expected");
  if (!info.isHost())
    SPARSEC_RETURN_IF_ERROR(checkCudaVariant(variant, name));

  uint32_t tensorMaps = 0;
  for (uint32_t i = 0; i < variant.parameter_count; ++i) {
    SPARSEC_RETURN_IF_ERROR(checkParameter(variant, variant.parameter_first + i));
    tensorMaps += info.parameter(variant.parameter_first + i).kind == SPARSEC_PARAMETER_TENSOR_MAP;
  }
  if (tensorMaps > maxTensorMaps)
    return broken(name, " has ", tensorMaps, " tensor maps, at most ", maxTensorMaps, " are expected");
  return {};
}

Status KernelChecker::checkCudaVariant(const sparsec_variant_info_t &variant, const std::string &name) {
  if (variant.threads == 0 || variant.threads > 1024 || variant.threads % 32 != 0)
    return broken(name, " has ", variant.threads, " threads");
  if (variant.cluster > 8)
    return broken(name, " has clusters of ", variant.cluster, ", at most 8 are expected");
  if (variant.ctas_per_sm == 0 || variant.ctas_per_sm > 32)
    return broken(name, " has ", variant.ctas_per_sm, " CTAs per SM");
  if (variant.tiles_per_cta == 0 || variant.tiles_per_cta > 4)
    return broken(name, " has ", variant.tiles_per_cta, " tiles per CTA");
  if (variant.tile_k == 0 || variant.tile_k > maxTile)
    return broken(name, " has a tile depth of ", variant.tile_k);
  return {};
}

Status KernelChecker::checkParameter(const sparsec_variant_info_t &variant, uint32_t number) {
  const sparsec_parameter_info_t &parameter = info.parameter(number);
  if (parameter.argument >= kernel.argument_count)
    return broken("parameter ", number, " is from argument ", parameter.argument, " of ", kernel.argument_count);
  switch (parameter.kind) {
  case SPARSEC_PARAMETER_TENSOR_MAP:
    if (info.isHost() || parameter.index >= info.header().tensor_map_count)
      return broken("parameter ", number, " is tensor map ", parameter.index, " of ", info.header().tensor_map_count);
    return checkTensorMap(variant, parameter.index);
  case SPARSEC_PARAMETER_POINTER:
  case SPARSEC_PARAMETER_ROW_PTR:
  case SPARSEC_PARAMETER_COL_IDX:
  case SPARSEC_PARAMETER_SIZE:
  case SPARSEC_PARAMETER_STRIDE:
  case SPARSEC_PARAMETER_SCALAR:
    return checkParameterArgument(parameter, number);
  case SPARSEC_PARAMETER_PATTERN_FIELD:
    if (parameter.index < SPARSEC_PATTERN_FIELD_ENCODING || parameter.index > SPARSEC_PATTERN_FIELD_FULL_INDICES)
      return unknown("pattern field", parameter.index);
    return checkParameterArgument(parameter, number);
  case SPARSEC_PARAMETER_PLAN_SECTION:
    return parameter.index < planSectionCount ? Status() : unknown("plan section", parameter.index);
  case SPARSEC_PARAMETER_TILE_ROWS:
  case SPARSEC_PARAMETER_TILE_PANELS:
    return {};
  }
  return unknown("parameter kind", parameter.kind);
}

Status KernelChecker::checkParameterArgument(const sparsec_parameter_info_t &parameter, uint32_t number) {
  const sparsec_argument_info_t &from = argument(parameter.argument);
  bool isBsr = from.kind == SPARSEC_ARGUMENT_BSR, isDense = from.kind == SPARSEC_ARGUMENT_DENSE;
  bool fits = false;
  switch (parameter.kind) {
  case SPARSEC_PARAMETER_POINTER:
    fits = isBsr || isDense;
    break;
  case SPARSEC_PARAMETER_ROW_PTR:
  case SPARSEC_PARAMETER_COL_IDX:
    fits = isBsr;
    break;
  case SPARSEC_PARAMETER_SIZE:
    fits = (isBsr || isDense) && parameter.index < from.rank;
    break;
  case SPARSEC_PARAMETER_STRIDE:
    fits = isDense && parameter.index < from.rank;
    break;
  case SPARSEC_PARAMETER_SCALAR:
    fits = from.kind == SPARSEC_ARGUMENT_SCALAR;
    break;
  case SPARSEC_PARAMETER_PATTERN_FIELD:
    fits = from.kind == SPARSEC_ARGUMENT_PATTERN;
    break;
  }
  if (!fits)
    return broken("parameter ", number, " of kind ", parameter.kind, " and index ", parameter.index,
                  " does not fit argument '", from.name, "' of kind ", from.kind, " and rank ", from.rank);
  return {};
}

Status KernelChecker::checkTensorMap(const sparsec_variant_info_t &variant, uint32_t record) {
  const sparsec_tensor_map_info_t &map = info.tensorMap(record);
  if (map.argument >= kernel.argument_count)
    return broken("tensor map ", record, " is of argument ", map.argument, " of ", kernel.argument_count);
  const sparsec_argument_info_t &of = argument(map.argument);
  bool isDense = map.kind == SPARSEC_TENSOR_MAP_DENSE && of.kind == SPARSEC_ARGUMENT_DENSE && of.rank >= 2;
  bool isValues = (map.kind == SPARSEC_TENSOR_MAP_BSR_VALUES || map.kind == SPARSEC_TENSOR_MAP_BSR_EDGE_VALUES) &&
                  of.kind == SPARSEC_ARGUMENT_BSR;
  if (!isDense && !isValues)
    return broken("tensor map ", record, " of kind ", map.kind, " does not fit argument '", of.name, "'");
  if (map.rank != (isDense ? of.rank : 3u))
    return broken("tensor map ", record, " has rank ", map.rank);
  for (uint32_t d = 0; d < map.rank; ++d)
    if (map.box[d] == 0 || map.box[d] > 256)
      return broken("tensor map ", record, " has box size ", map.box[d], " in dimension ", d);
  if (map.swizzle > SPARSEC_SWIZZLE_128B)
    return unknown("swizzle", map.swizzle);
  // The hardware's rules: whole 16-byte units, and a swizzled row no longer than the swizzle.
  size_t rowBytes = map.box[0] * dtypeBytes(of.dtype);
  size_t limit = map.swizzle == SPARSEC_SWIZZLE_NONE ? SIZE_MAX : size_t(16) << map.swizzle;
  if (rowBytes % 16 != 0 || rowBytes > limit)
    return broken("tensor map ", record, " has boxes of ", rowBytes, " bytes with swizzle ", map.swizzle);
  if (variant.alignment % 16 != 0)
    return broken("tensor map ", record, " needs alignment 16, but its variant has ", variant.alignment);
  return {};
}

} // namespace

Status checkRecords(const LaunchInfo &info) {
  const sparsec_launch_info_t &header = info.header();
  if (!isName(header.target) || !std::memchr(header.compiler, 0, sizeof(header.compiler)))
    return invalidImage("launch info: its target or compiler name is empty or has no end");
  if (header.target_kind != SPARSEC_TARGET_CUDA && header.target_kind != SPARSEC_TARGET_HOST)
    return invalidImage("launch info: unknown target kind ", header.target_kind);
  if ((header.target_kind == SPARSEC_TARGET_CUDA) != (header.compute_capability != 0) || header.arch_specific > 1)
    return invalidImage("launch info: target kind ", header.target_kind, " has compute capability ",
                        header.compute_capability, " and arch_specific ", header.arch_specific);
  if (header.kernel_count == 0)
    return invalidImage("launch info has no kernel");
  for (uint32_t i = 0; i < header.kernel_count; ++i)
    SPARSEC_RETURN_IF_ERROR(KernelChecker(info, i).check());
  return {};
}

} // namespace sparsec::runtime
