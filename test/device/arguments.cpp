// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "arguments.h"
#include "harness/numeric.h"
#include "harness/parallel.h"
#include "row_check.h"
// The attributes of an operation are no part of the interface.
#include "image/module.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

namespace sparsec::device_test {

using namespace harness;

namespace {

constexpr uint64_t extraSeed = 100; // one random stream per extra operand

const Epilogue &requireEpilogue(const char *kernelName) {
  const Epilogue *epilogue = findEpilogue(kernelName);
  if (!epilogue)
    throw std::runtime_error(fmt::format("kernel '{}' is not from generate_kernels.py", kernelName));
  return *epilogue;
}

} // namespace

ScaleKinds scaleKindsOf(sparsec_kernel_t kernel) {
  ScaleKinds kinds;
  for (size_t i = 0; i < sparsec_kernel_info(kernel)->argument_count; ++i) {
    kinds.ofBlocks |= operandOf(kernel, i).slot == SPARSEC_SPMM_SCALES;
    kinds.ofX |= operandOf(kernel, i).slot == SPARSEC_SPMM_X_SCALE;
  }
  return kinds;
}

KernelArguments::KernelArguments(sparsec_device_t device, sparsec_kernel_t kernel, const Problem &problem,
                                 Placement placement, size_t guardBytes)
    : device(device), kernel(kernel), problem(problem), epilogue(requireEpilogue(sparsec_kernel_info(kernel)->name)) {
  arguments.assign(sparsec_kernel_info(kernel)->argument_count, 0.0);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const sparsec_argument_info_t *info = sparsec_kernel_argument(kernel, i);
    if (operandOf(kernel, i).slot == SPARSEC_SPMM_EXTRA)
      extras.push_back(i);
    if (info->kind == SPARSEC_ARGUMENT_BSR)
      placeMatrix(i, placement, guardBytes);
    else if (uint32_t slot = operandOf(kernel, i).slot; slot == SPARSEC_SPMM_SCALES || slot == SPARSEC_SPMM_X_SCALE)
      placeScales(i, placement, guardBytes);
    else if (info->kind == SPARSEC_ARGUMENT_SCALAR)
      arguments[i] = extraElement(static_cast<int>(extras.size()) - 1, 0, 0);
    else
      placeDense(i, placement, guardBytes);
  }
  if (static_cast<int>(extras.size()) != epilogue.extraCount)
    throw std::runtime_error(fmt::format("epilogue '{}' has {} extra operands, but the kernel has {}", epilogue.name,
                                         epilogue.extraCount, extras.size()));
}

void KernelArguments::placeMatrix(size_t argument, Placement placement, size_t guardBytes) {
  const bool isTransposed = operandOf(kernel, argument).layout == SPARSEC_LAYOUT_TRANSPOSED;
  const StoredMatrix stored = isTransposed ? storeTransposed(problem) : StoredMatrix{problem.pattern, problem.values};
  const BlockPattern &pattern = stored.pattern;
  auto guarded = [&](const std::vector<int32_t> &indices) {
    indexBuffers.push_back(uploadArray(device, withGuard(indices, guardBytes)));
    return static_cast<const int32_t *>(indexBuffers.back().data());
  };
  int64_t valueCount = static_cast<int64_t>(stored.values.size() / sparsec_dtype_bytes(problem.dtype));
  tensors.push_back(
      std::make_unique<PlacedTensor>(device, problem.dtype, std::vector<int64_t>{valueCount}, placement, guardBytes));
  PlacedTensor &values = *tensors.back();
  for (int64_t i = 0; i < valueCount; ++i)
    values.set(0, i, loadElement(problem.dtype, stored.values.data(), i));
  values.upload();

  const int32_t *rowPtr = guarded(pattern.rowPtr), *colIdx = guarded(pattern.colIdx);
  int64_t rows = problem.shape.rows, columns = problem.shape.depth;
  auto blockRows = static_cast<int32_t>(problem.blockRows), blockColumns = static_cast<int32_t>(problem.blockColumns);
  if (isTransposed) {
    std::swap(rows, columns);
    std::swap(blockRows, blockColumns);
  }
  bsr = sparsec_blocks_bsr(rows, columns, blockRows, blockColumns, pattern.blockCount(), rowPtr, colIdx, problem.dtype,
                           values.view().data);
  arguments[argument] = bsr;
}

PlacedTensor &KernelArguments::placeTensor(size_t argument, const std::vector<int64_t> &sizes, Placement placement,
                                           size_t guardBytes) {
  auto dtype = static_cast<sparsec_dtype_t>(sparsec_kernel_argument(kernel, argument)->dtype);
  tensors.push_back(std::make_unique<PlacedTensor>(device, dtype, sizes, placement, guardBytes));
  arguments[argument] = tensors.back()->view();
  return *tensors.back();
}

/// Those of blocks have rank 1, those of X rank 2.
void KernelArguments::placeScales(size_t argument, Placement placement, size_t guardBytes) {
  const bool isOfX = operandOf(kernel, argument).slot == SPARSEC_SPMM_X_SCALE;
  const std::vector<float> &scales = isOfX ? problem.xScale : problem.scales;
  const int64_t rows = isOfX ? problem.shape.columns : 1;
  const int64_t width = isOfX ? problem.partsOfK() : problem.pattern.blockCount();
  std::vector<int64_t> sizes = isOfX ? std::vector{rows, width} : std::vector{width};
  PlacedTensor &tensor = placeTensor(argument, sizes, placement, guardBytes);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; ++j)
      tensor.set(i, j, scales[i * width + j]);
  tensor.upload();
}

void KernelArguments::placeDense(size_t argument, Placement placement, size_t guardBytes) {
  const sparsec_argument_info_t *info = sparsec_kernel_argument(kernel, argument);
  const sparsec_operand_info_t &operand = operandOf(kernel, argument);
  bool isX = operand.slot == SPARSEC_SPMM_DENSE;
  bool transposed = operand.layout == SPARSEC_LAYOUT_TRANSPOSED;
  int64_t rows = isX ? problem.shape.depth : problem.shape.rows, columns = problem.shape.columns;
  std::vector<int64_t> sizes = {transposed ? columns : rows, transposed ? rows : columns};
  if (info->rank == 1)
    sizes = {operand.broadcast == SPARSEC_BROADCAST_PER_ROW ? rows : columns};
  else if (info->rank == 0)
    sizes = {};
  PlacedTensor &tensor = placeTensor(argument, sizes, placement, guardBytes);

  if (operand.slot == SPARSEC_SPMM_RESULT) {
    result = &tensor;
    resultArgument = argument;
    poisonResult();
    return;
  }
  int extra = static_cast<int>(extras.size()) - 1;
  auto element = [&](int64_t row, int64_t column) {
    return isX ? problem.x[row * columns + column] : extraElement(extra, row, column);
  };
  if (info->rank == 0)
    tensor.set(0, 0, element(0, 0));
  for (int64_t i = 0; info->rank == 1 && i < sizes[0]; ++i)
    tensor.set(0, i, operand.broadcast == SPARSEC_BROADCAST_PER_ROW ? element(i, 0) : element(0, i));
  if (info->rank == 2)
    parallelFor(sizes[0], 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < sizes[1]; ++j)
          tensor.set(i, j, transposed ? element(j, i) : element(i, j));
    });
  tensor.upload();
}

double KernelArguments::extraElement(int extra, int64_t m, int64_t n) const {
  auto dtype = static_cast<sparsec_dtype_t>(sparsec_kernel_argument(kernel, extras[extra])->dtype);
  switch (operandOf(kernel, extras[extra]).broadcast) {
  case SPARSEC_BROADCAST_PER_ROW:
    return roundToDtype(dtype, randomNormal(extraSeed + extra, m));
  case SPARSEC_BROADCAST_PER_COLUMN:
    return roundToDtype(dtype, randomNormal(extraSeed + extra, n));
  case SPARSEC_BROADCAST_FULL:
    return roundToDtype(dtype, randomNormal(extraSeed + extra, m * problem.shape.columns + n));
  default:
    return 0.5 + 0.25 * extra; // a scalar: the same for all, and different from its neighbours
  }
}

std::vector<Argument> KernelArguments::matrixOnly() const {
  std::vector<Argument> open(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].kind == SPARSEC_ARGUMENT_BSR)
      open[i] = arguments[i];
  return open;
}

/// Whether the result has at most as many tiles of a narrow variant as it is for.
bool KernelArguments::hasFewTiles(size_t variant) const {
  const sparsec_stage_info_t &stage = *sparsec_kernel_stage(kernel, variant, 0);
  auto info = sized<sparsec_device_info_t>();
  check(sparsec_device_info(device, &info));
  auto ceiling = [](int64_t size, int64_t tile) { return (size + tile - 1) / tile; };
  // A tile crosses no block row.
  const int64_t fullRows = problem.shape.rows / problem.blockRows * ceiling(problem.blockRows, stage.tile_m);
  const int64_t rows = fullRows + ceiling(problem.shape.rows % problem.blockRows, stage.tile_m);
  return rows * ceiling(problem.shape.columns, stage.tile_n) <=
         int64_t(sparsec_kernel_variant(kernel, variant)->most_tiles_per_sm) * info.multiprocessors;
}

/// Whether all tiles of streams run at once, a CTA or cluster on each multiprocessor, and no variant for few columns
/// takes the call: in these tests matrices have too few blocks to pass over one.
bool KernelArguments::runsAtOnce(size_t variant) const {
  const sparsec_stage_info_t &stage = *sparsec_kernel_stage(kernel, variant, 0);
  auto info = sized<sparsec_device_info_t>();
  check(sparsec_device_info(device, &info));
  auto ceiling = [](int64_t size, int64_t tile) { return (size + tile - 1) / tile; };
  for (size_t v = variant; v < sparsec_kernel_info(kernel)->variant_count; ++v)
    if (sparsec_kernel_variant(kernel, v)->most_panels != 0 &&
        problem.shape.columns <= sparsec_kernel_stage(kernel, v, 0)->tile_n)
      return false;
  const int64_t panels = ceiling(problem.shape.columns, stage.tile_n);
  return ceiling(problem.shape.rows, stage.tile_m) * panels <= info.multiprocessors / stage.cluster;
}

size_t KernelArguments::expectedVariant(bool hasWindows) const {
  size_t count = sparsec_kernel_info(kernel)->variant_count;
  bool hasTransposedBlocks = false, hasTransposedX = false;
  for (size_t index = 0; index < arguments.size(); ++index) {
    const sparsec_operand_info_t &operand = operandOf(kernel, index);
    bool isTransposed = operand.layout == SPARSEC_LAYOUT_TRANSPOSED;
    hasTransposedBlocks |= arguments[index].kind == SPARSEC_ARGUMENT_BSR && isTransposed;
    hasTransposedX |= operand.slot == SPARSEC_SPMM_DENSE && isTransposed;
  }
  for (size_t v = 0; v < count; ++v) {
    const sparsec_stage_info_t &stage = *sparsec_kernel_stage(kernel, v, 0);
    const std::string_view symbol = stage.symbol;
    const std::string_view schedule = sparsec_kernel_variant(kernel, v)->schedule;
    const bool isWgmma = schedule.starts_with("wgmma");
    const bool hasSlices = isWgmma && schedule.find(" slices ") != std::string_view::npos;
    // Widths may have to be multiples of more than 16 bytes. Slices have rows of X of whole sectors or pieces of L2.
    const bool hasUnits = schedule.find(" slices ") != std::string_view::npos && !hasTransposedX;
    const uint64_t most = hasUnits ? 64 : 16;
    uint64_t alignment = std::min<uint64_t>(sparsec_kernel_variant(kernel, v)->alignment, most);
    bool fits = bsr.capacity == 0 || reinterpret_cast<uintptr_t>(bsr.values) % alignment == 0;
    if (symbol.find("_narrow") != std::string::npos)
      fits &= problem.shape.columns <= stage.tile_n || hasFewTiles(v);
    if (symbol.ends_with("_unaligned")) // dense operands of any alignment
      alignment = 1;
    fits &= sparsec_kernel_variant(kernel, v)->packed_block_rows == 0;
    fits &= hasWindows || (sparsec_kernel_variant(kernel, v)->required_sections & 1u << SPARSEC_PLAN_WINDOW_ROWS) == 0;
    fits &= !symbol.ends_with("_cut");
    if (symbol.find("_parts") != std::string::npos)
      fits &= hasWindows && runsAtOnce(v);
    for (const Argument &argument : arguments) {
      size_t index = size_t(&argument - arguments.data());
      uint32_t slot = operandOf(kernel, index).slot;
      const bool isSingle = slot == SPARSEC_SPMM_SCALES || (slot == SPARSEC_SPMM_X_SCALE && !hasSlices);
      if (argument.kind != SPARSEC_ARGUMENT_DENSE || isSingle)
        continue; // kernels read scales one by one, but for tiles of those of X
      fits &= reinterpret_cast<uintptr_t>(argument.dense.data) % alignment == 0;
      if (argument.dense.rank == 2 && argument.dense.sizes[0] > 1) // nothing steps from a single row to the next
        fits &= argument.dense.strides[0] * sparsec_dtype_bytes(argument.dense.dtype) % alignment == 0;
      // Slices with X as N x K copy blocks with rows of 64 bytes as lines, and no block that K cuts. So do tiles of few
      // rows those with rows of 32 bytes. Wide tiles of elements of 16 bits copy the rows.
      const int64_t rowBytes = int64_t(problem.blockColumns) * int64_t(sparsec_dtype_bytes(argument.dense.dtype));
      const bool copiesRows = stage.tile_n >= 128 && sparsec_dtype_bytes(argument.dense.dtype) == 2;
      if (slot == SPARSEC_SPMM_DENSE && hasSlices && hasTransposedX && !hasTransposedBlocks && !copiesRows &&
          (rowBytes == 64 || (rowBytes == 32 && stage.tile_m < 64)))
        fits &= argument.dense.sizes[1] % problem.blockColumns == 0;
      // The staged store of 16-bit results and cp.async move whole units of 16 bytes.
      bool isStream = schedule.find(" streams ") != std::string_view::npos;
      uint32_t rows = isStream ? 32 : 64; // of a box
      bool isStaged = isWgmma && problem.blockRows % rows == 0 && sparsec_dtype_bytes(argument.dense.dtype) == 2;
      if ((slot == SPARSEC_SPMM_RESULT && isStaged) || (slot == SPARSEC_SPMM_DENSE && !isWgmma))
        fits &= argument.dense.sizes[1] * sparsec_dtype_bytes(argument.dense.dtype) % alignment == 0;
    }
    if (fits)
      return v;
  }
  return count;
}

void KernelArguments::poisonResult() { result->poisonAll(); }

void KernelArguments::launch(sparsec_plan_t plan, void *stream, sparsec_packed_t packed) const {
  const ArgumentArray array(arguments);
  auto options = sized<sparsec_launch_options_t>();
  options.stream = stream;
  options.packed = packed;
  options.workspace = workspace ? workspace->data() : nullptr;
  options.workspace_bytes = workspace ? workspace->bytes() : 0;
  check(sparsec_launch_with_options(kernel, plan, array.data(), array.size(), &options));
}

void KernelArguments::run(sparsec_plan_t plan, sparsec_packed_t packed) {
  poisonResult();
  launch(plan, nullptr, packed);
  check(sparsec_synchronize(device, nullptr));
  downloadResult();
}

/// Sums of one level lose up to 2^-10 of all magnitudes for each 32 columns of stored blocks.
double KernelArguments::lossOfRow(int64_t m) const {
  const double loss = lossOfInstruction(problem.dtype);
  if (kernel->attribute(SPARSEC_ATTRIBUTE_ACCUMULATION) != SPARSEC_ACCUMULATION_FAST)
    return loss;
  const int64_t blockRow = m / problem.blockRows;
  const int64_t blocks = problem.pattern.rowPtr[blockRow + 1] - problem.pattern.rowPtr[blockRow];
  return std::max(loss, std::ceil(double(blocks * problem.blockColumns) / 32) * 0x1p-10 / 1e-6);
}

std::string KernelArguments::checkRow(int64_t m) const {
  auto dtype = static_cast<sparsec_dtype_t>(sparsec_kernel_argument(kernel, resultArgument)->dtype);
  bool transposed = operandOf(kernel, resultArgument).layout == SPARSEC_LAYOUT_TRANSPOSED;
  double e[maxExtras] = {};
  const double loss = lossOfRow(m);
  for (int64_t n = 0; n < problem.shape.columns; ++n) {
    for (int i = 0; i < epilogue.extraCount; ++i)
      e[i] = extraElement(i, m, n);
    int64_t position = m * problem.shape.columns + n;
    double exact = epilogue.value(problem.product[position], e);
    double magnitude = problem.productMagnitude[position] * loss;
    double allowed = allowedError(dtype, exact, epilogue.scale(magnitude, e));
    double got = transposed ? result->get(n, m) : result->get(m, n);
    // The negation catches NaN.
    if (!(std::abs(got - exact) <= allowed))
      return fmt::format("y[{}, {}] is {}, but should be {} within {}", m, n, got, exact, allowed);
  }
  return {};
}

std::string KernelArguments::findError() const {
  std::string firstError = findRowError(problem.shape.rows, [&](int64_t m) { return checkRow(m); });
  if (firstError.empty() && !result->surroundingsIntact())
    return "bytes beside the result were written";
  return firstError;
}

} // namespace sparsec::device_test
