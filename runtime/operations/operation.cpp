// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "operations/operation.h"
#include "arguments/blocks.h"
#include "arguments/footprint.h"
#include "arguments/overlap.h"
#include "arguments/strides.h"

#include <algorithm>
#include <iterator>
#include <list>
#include <utility>

namespace sparsec::runtime {

static const Operation *const operations[] = {
#define SPARSEC_OPERATION(name, reference) &name##Operation,
#include "operations/operations.def"
};

const Operation &operationOf(const sparsec_kernel_s &kernel) {
  return **std::find_if(std::begin(operations), std::end(operations),
                        [&](const Operation *operation) { return operation->kind == kernel.operation().kind; });
}

Dimensions dimensionsOfEpilogue(const sparsec_operand_info_t &operand, ProblemSize m, ProblemSize n,
                                const Dimensions &result) {
  switch (operand.broadcast) {
  case SPARSEC_BROADCAST_PER_ROW:
    return {m};
  case SPARSEC_BROADCAST_PER_COLUMN:
    return {n};
  case SPARSEC_BROADCAST_SCALAR:
    return {};
  }
  return result;
}

Problem problemOf(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments) {
  const Operation &operation = operationOf(kernel);
  Problem problem = operation.fixedSizes(kernel);
  auto learn = [&](ProblemSize size, int64_t value) {
    if (size && problem.*size == SPARSEC_DYNAMIC)
      problem.*size = value;
  };
  for (const sparsec_operand_info_t &operand : kernel.operands()) {
    if (arguments[operand.argument].kind != SPARSEC_ARGUMENT_BSR)
      continue;
    const sparsec_blocks_t &matrix = blocksOf(arguments[operand.argument]);
    Dimensions dimensions = operation.dimensions(operand);
    learn(dimensions[0], matrix.rows);
    learn(dimensions[1], matrix.columns);
    learn(dimensions[2], matrix.capacity);
  }
  for (const sparsec_operand_info_t &operand : kernel.operands()) {
    if (arguments[operand.argument].kind != SPARSEC_ARGUMENT_DENSE)
      continue;
    Dimensions dimensions = operation.dimensions(operand);
    for (uint32_t d = 0; d < kernel.argument(operand.argument).rank; ++d)
      learn(dimensions[d], denseOf(arguments[operand.argument]).sizes[d]);
  }
  for (const sparsec_operand_info_t &operand : kernel.operands()) {
    const sparsec_argument_info_t &info = kernel.argument(operand.argument);
    Dimensions dimensions = operation.dimensions(operand);
    for (uint32_t d = 0; d < info.rank; ++d)
      learn(dimensions[d], info.sizes[d]);
  }
  if (operation.deriveSizes)
    operation.deriveSizes(kernel, problem);
  return problem;
}

Problem problemOfPlan(const sparsec_kernel_s &kernel, Problem problem) {
  if (const Operation &operation = operationOf(kernel); operation.openSizes)
    operation.openSizes(kernel, problem);
  return problem;
}

std::string describeSizes(const Operation &operation, const Problem &problem) {
  std::string text;
  for (const NamedSize &each : operation.planSizes)
    text += std::string(text.empty() ? "" : ", ") + each.name + " " +
            (isKnown(problem.*each.size) ? std::to_string(problem.*each.size) : "open");
  return text;
}

bool isComplete(const Operation &operation, const Problem &problem) {
  return std::all_of(operation.planSizes.begin(), operation.planSizes.end(),
                     [&](const NamedSize &each) { return isKnown(problem.*each.size); });
}

/// The size that an extent counts the tiles of.
static int64_t sizeOf(const sparsec_kernel_s &kernel, const sparsec_extent_info_t &extent, const Problem &problem) {
  if (extent.field == SPARSEC_FIELD_PARTS)
    return problem.parts;
  for (const sparsec_operand_info_t &operand : kernel.operands())
    if (operand.argument == extent.argument)
      if (ProblemSize size = operationOf(kernel).dimensions(operand)[extent.dimension])
        return problem.*size;
  return SPARSEC_DYNAMIC;
}

static int64_t tilesPerBlock(const sparsec_extent_info_t &extent) {
  return ceilDivide(int64_t(extent.block), int64_t(extent.tile));
}

int64_t extentProduct(const sparsec_kernel_s &kernel, Records<sparsec_extent_info_t> extents, const Problem &problem) {
  int64_t product = 1, joined = 1;
  for (const sparsec_extent_info_t &extent : extents) {
    int64_t size = sizeOf(kernel, extent, problem), block = extent.block;
    if (!isKnown(size))
      return SPARSEC_DYNAMIC;
    if (__builtin_mul_overflow(size, joined, &size))
      size = INT64_MAX;
    const bool isJoined = extent.combination == SPARSEC_EXTENT_JOINED;
    joined = isJoined ? size : 1;
    if (isJoined)
      continue;
    int64_t tiles = size / block * tilesPerBlock(extent) + ceilDivide(size % block, int64_t(extent.tile));
    const bool isTooLarge = extent.combination == SPARSEC_EXTENT_SUMMAND
                                ? __builtin_add_overflow(product, tiles, &product)
                                : __builtin_mul_overflow(product, tiles, &product);
    if (isTooLarge)
      product = INT64_MAX;
  }
  return product;
}

TileGrid tileGrid(const sparsec_kernel_s &kernel, const sparsec_stage_info_t &stage, const Problem &problem) {
  const LaunchInfo &info = kernel.module->info;
  const Records<sparsec_extent_info_t> rows = info.extents(stage.row_first, stage.row_count);
  const Records<sparsec_extent_info_t> panels = info.extents(stage.panel_first, stage.panel_count);
  return {rows.empty() ? 1 : tilesPerBlock(rows[rows.size() - 1]), extentProduct(kernel, rows, problem),
          extentProduct(kernel, panels, problem)};
}

bool hasTilesFor(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem) {
  if (variant.info->most_panels == 0)
    return true;
  const TileGrid grid = tileGrid(kernel, *variant.first().info, problem);
  if (grid.panels <= int64_t(variant.info->most_panels))
    return true;
  const int64_t mostTiles = int64_t(variant.info->most_tiles_per_sm) * kernel.module->device->info.multiprocessors;
  return grid.tileRows == 0 || grid.panels <= mostTiles / grid.tileRows;
}

Status checkBlockMatrix(const Checked &argument) {
  const sparsec_argument_info_t &info = argument.info;
  const sparsec_blocks_t &matrix = argument.blocks();
  SPARSEC_RETURN_IF_ERROR(checkBlocks(matrix, argument.subject()));
  SPARSEC_RETURN_IF_ERROR(argument.checkType(enumValue(matrix.dtype)));
  if (matrix.encoding != SPARSEC_PATTERN_INDEX_ARRAYS)
    return argument.refuse("expects encoding ", int(SPARSEC_PATTERN_INDEX_ARRAYS), " (index arrays), but got ",
                           int(matrix.encoding));
  if (matrix.batches != 1 || matrix.heads != 1)
    return argument.refuse("expects 1 batch and 1 head, but got ", matrix.batches, " and ", matrix.heads);
  if (matrix.partial.starts)
    return argument.refuse("expects partial.starts to be NULL: blocks with values are full");
  if (matrix.rows != 0 && !matrix.full.starts)
    return argument.refuse("full.starts is NULL");
  if (matrix.block_rows != int32_t(info.block_rows) || matrix.block_columns != int32_t(info.block_columns))
    return argument.refuse("expects blocks of ", info.block_rows, " x ", info.block_columns, ", but got ",
                           matrix.block_rows, " x ", matrix.block_columns);
  int64_t sizes[] = {matrix.rows, matrix.columns};
  for (int d = 0; d < 2; ++d)
    if (info.sizes[d] != SPARSEC_DYNAMIC && info.sizes[d] != sizes[d])
      return argument.refuse("expects ", info.sizes[d], d ? " columns" : " rows", ", but got ", sizes[d]);
  return {};
}

Status checkValueRows(const Checked &argument) {
  const sparsec_blocks_t &pattern = argument.blocks();
  if (pattern.capacity > maxSize / pattern.block_rows)
    return argument.refuse("expects at most ", maxSize / pattern.block_rows, " blocks of ", pattern.block_rows,
                           " rows, but got ", pattern.capacity);
  return {};
}

Status checkValueStrides(const CheckedOperand &operand) {
  if (operand.info.rank != 3)
    return checkRowStride(operand);
  const sparsec_dense_t &values = operand.dense();
  const int64_t compact[] = {values.sizes[1] * values.sizes[2], values.sizes[2]};
  for (int d = 0; d < 2; ++d)
    if (usesStride(values, d) && values.strides[d] != compact[d])
      return operand.refuse("expects stride ", d, " to be ", compact[d], " (contiguous blocks), but got ",
                            values.strides[d]);
  return {};
}

Status checkRowStride(const CheckedOperand &operand) {
  if (operand.info.rank != 2)
    return {};
  const sparsec_dense_t &tensor = operand.dense();
  if (usesStride(tensor, 0) && (tensor.strides[0] < tensor.sizes[1] || tensor.strides[0] > INT32_MAX))
    return operand.refuse("expects stride 0 to be at least its width, ", tensor.sizes[1], ", and at most ", INT32_MAX,
                          ", but got ", tensor.strides[0]);
  return {};
}

static Status checkOperand(const sparsec_kernel_s &kernel, const CheckedOperand &operand, const Problem &problem,
                           Use use) {
  const Operation &operation = operationOf(kernel);
  bool isDense = operand.info.kind == SPARSEC_ARGUMENT_DENSE;
  if (isDense) {
    Dimensions dimensions = operation.dimensions(operand.operand);
    int64_t sizes[SPARSEC_MAX_RANK];
    std::transform(dimensions.begin(), dimensions.end(), sizes,
                   [&](ProblemSize size) { return size ? problem.*size : SPARSEC_DYNAMIC; });
    SPARSEC_RETURN_IF_ERROR(operand.checkTensor(sizes, use));
  }
  SPARSEC_RETURN_IF_ERROR(operation.checkSizes(kernel, operand, problem));
  if (use == Use::plan)
    return {};
  if (isDense) {
    SPARSEC_RETURN_IF_ERROR(operand.checkLastStride());
    SPARSEC_RETURN_IF_ERROR(operation.checkStrides(operand));
  }
  bool isUsed =
      operand.operand.slot != operation.unreadSlot && !(use == Use::reference && kernel.isResult(operand.number));
  return isUsed ? operand.checkPointer() : Status();
}

Status checkArguments(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count, Use use,
                      Problem &outProblem) {
  SPARSEC_RETURN_IF_ERROR(checkViews(kernel, arguments, count, use));
  Problem problem = problemOf(kernel, arguments);
  for (const sparsec_operand_info_t &each : kernel.operands())
    if (CheckedOperand operand = checkedOperand(kernel, arguments, each); !operand.isOpen())
      SPARSEC_RETURN_IF_ERROR(checkOperand(kernel, operand, problem, use));
  outProblem = problem;
  return use == Use::launch ? checkOverlaps(kernel, arguments) : Status();
}

Status checkValues(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem) {
  const Operation &operation = operationOf(kernel);
  return operation.checkValues ? operation.checkValues(kernel, arguments, problem) : Status();
}

namespace {

/// Arguments of which some are copied from the memory of a device.
class ValueCopies {
public:
  ValueCopies(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments)
      : kernel(kernel), arguments(arguments, arguments + kernel.info->argument_count), views(this->arguments.size()) {}

  /// When what is on the stream is done.
  Status download(std::span<const uint32_t> slots, void *stream);
  const sparsec_argument_t *data() const { return arguments.data(); }

private:
  Status download(uint32_t number, void *stream);

  const sparsec_kernel_s &kernel;
  std::vector<sparsec_argument_t> arguments;
  std::vector<sparsec_dense_t> views;
  std::list<std::vector<std::byte>> elements;
};

/// An argument may be in several slots.
Status ValueCopies::download(uint32_t number, void *stream) {
  sparsec_dense_t &view = views[number];
  if (arguments[number].view == &view)
    return {};
  view = denseOf(arguments[number]);
  std::vector<std::byte> &copy = elements.emplace_back(footprintOf(view).extent());
  const void *source = std::exchange(view.data, copy.data());
  arguments[number].view = &view;
  return kernel.module->device->downloadAsync(copy.data(), source, copy.size(), stream);
}

Status ValueCopies::download(std::span<const uint32_t> slots, void *stream) {
  for (uint32_t slot : slots)
    if (const uint32_t number = kernel.of(slot); number != noArgument)
      SPARSEC_RETURN_IF_ERROR(download(number, stream));
  return kernel.module->device->synchronize(stream);
}

Status checkDeviceValues(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                         void *stream) {
  uint64_t capture = 0;
  SPARSEC_RETURN_IF_ERROR(kernel.module->device->captureOf(stream, capture));
  if (capture != 0)
    return {};
  ValueCopies copies(kernel, arguments);
  SPARSEC_RETURN_IF_ERROR(copies.download(operationOf(kernel).valueSlots, stream));
  return checkValues(kernel, copies.data(), problem);
}

} // namespace

Status checkValuesForLaunch(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                            void *stream) {
  const Device &device = *kernel.module->device;
  if (device.isHost())
    return checkValues(kernel, arguments, problem);
  const std::span<const uint32_t> slots = operationOf(kernel).valueSlots;
  const bool hasValues = device.checksMemory && std::any_of(slots.begin(), slots.end(), [&](uint32_t slot) {
                           return kernel.of(slot) != noArgument;
                         });
  return hasValues ? checkDeviceValues(kernel, arguments, problem, stream) : Status();
}

} // namespace sparsec::runtime
