// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "quantize_check.h"

#include "harness/gpu.h"
#include "harness/numeric.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace sparsec::device_test {

using namespace harness;

namespace {

constexpr double notANumber = std::numeric_limits<double>::quiet_NaN();

/// All finite numbers of an fp8 type that are not negative, in ascending order: the parity of a number's place is its
/// last bit.
std::vector<double> numbersOf(sparsec_dtype_t dtype) {
  const bool isE4M3 = dtype == SPARSEC_DTYPE_F8E4M3FN;
  const int mantissa = isE4M3 ? 3 : 2, least = isE4M3 ? -6 : -14;
  const double largest = isE4M3 ? 448 : 57344;
  const int units = 1 << mantissa;
  std::vector<double> numbers;
  numbers.reserve(128);
  for (int i = 0; i < units; ++i)
    numbers.push_back(std::ldexp(i, least - mantissa));
  for (int exponent = least; numbers.back() < largest; ++exponent)
    for (int i = 0; i < units && numbers.back() < largest; ++i)
      numbers.push_back(std::ldexp(units + i, exponent - mantissa));
  return numbers;
}

class Fp8 {
public:
  explicit Fp8(sparsec_dtype_t dtype) : hasInfinity(dtype == SPARSEC_DTYPE_F8E5M2), numbers(numbersOf(dtype)) {}

  float largest() const { return float(numbers.back()); }
  /// The nearest number, of two the one whose last bit is even. What is beyond the largest number is an infinity.
  double round(double value) const {
    if (!std::isfinite(value))
      return std::isnan(value) || !hasInfinity ? notANumber : value;
    const double size = std::fabs(value);
    size_t above = std::lower_bound(numbers.begin(), numbers.end(), size) - numbers.begin();
    above = std::min(above, numbers.size() - 1);
    const size_t below = above == 0 ? 0 : above - 1;
    const double toAbove = std::fabs(numbers[above] - size), toBelow = std::fabs(size - numbers[below]);
    const bool takesAbove = toAbove != toBelow ? toAbove < toBelow : above % 2 == 0;
    return std::copysign(numbers[takesAbove ? above : below], value);
  }

private:
  bool hasInfinity;
  std::vector<double> numbers;
};

/// Numbers of very different sizes; some are 0, some no numbers. Every eighth row has nothing but zeros.
double sourceValue(std::mt19937 &generator, int64_t row) {
  std::normal_distribution<double> normal;
  const auto choice = generator() % 64;
  const double value = std::ldexp(normal(generator), int(generator() % 17) - 8);
  if (row % 8 == 3 || choice < 4)
    return 0;
  if (choice == 4)
    return notANumber;
  return choice == 5 ? -std::numeric_limits<double>::infinity() : value;
}

/// The values of an operand by lines: rows of X, or of stored blocks.
struct Lines {
  uint32_t argument;
  int64_t count, width;
  std::vector<int64_t> scales;                                // sizes
  std::function<int64_t(int64_t line, int64_t column)> scale; // its number; -1: the value is beyond the matrix
};

const char *groupNames[] = {"", "tensor", "row", "block", "token"};

class QuantizeCheck {
public:
  explicit QuantizeCheck(const QuantizeCase &which) : which(which) {}

  void run() {
    constexpr sparsec_dtype_t types[] = {SPARSEC_DTYPE_F32, SPARSEC_DTYPE_BF16, SPARSEC_DTYPE_F16};
    size_t type = which.shape.rows % 3;
    for (uint32_t slot : {uint32_t(SPARSEC_SPMM_MATRIX), uint32_t(SPARSEC_SPMM_DENSE)})
      for (auto group : {SPARSEC_SCALE_TENSOR, SPARSEC_SCALE_ROW,
                         slot == SPARSEC_SPMM_MATRIX ? SPARSEC_SCALE_BLOCK : SPARSEC_SCALE_TOKEN}) {
        const sparsec_dtype_t dtype = types[type++ % 3];
        SCOPED_TRACE(fmt::format("quantise {} from {} by {}", slot == SPARSEC_SPMM_MATRIX ? "W" : "X",
                                 sparsec_dtype_name(dtype), groupNames[group]));
        ASSERT_NO_FATAL_FAILURE(
            check(slot == SPARSEC_SPMM_MATRIX ? matrixLines(group) : denseLines(group), group, dtype));
      }
  }

private:
  uint32_t argumentOf(uint32_t slot) const {
    const sparsec_operation_info_t &operation = *sparsec_kernel_operation(which.kernel);
    for (uint32_t i = 0; i < operation.operand_count; ++i)
      if (const sparsec_operand_info_t &operand = *sparsec_kernel_operand(which.kernel, i); operand.slot == slot)
        return operand.argument;
    throw std::runtime_error("the kernel has no such operand");
  }

  Lines matrixLines(sparsec_scale_group_t group) const {
    const uint32_t argument = argumentOf(SPARSEC_SPMM_MATRIX);
    const sparsec_argument_info_t &info = *sparsec_kernel_argument(which.kernel, argument);
    const int64_t rows = info.block_rows, columns = info.block_columns, blocks = which.pattern.blockCount();
    Lines lines = {argument, blocks * rows, columns, {}, {}};
    if (group != SPARSEC_SCALE_TENSOR)
      lines.scales = {group == SPARSEC_SCALE_ROW ? which.shape.rows : blocks};
    lines.scale = [this, rows, columns, group](int64_t line, int64_t column) -> int64_t {
      const int64_t block = line / rows;
      int64_t blockRow = 0;
      while (which.pattern.rowPtr[blockRow + 1] <= block)
        ++blockRow;
      const int64_t m = blockRow * rows + line % rows, k = which.pattern.colIdx[block] * columns + column;
      if (m >= which.shape.rows || k >= which.shape.depth)
        return -1;
      return group == SPARSEC_SCALE_TENSOR ? 0 : group == SPARSEC_SCALE_ROW ? m : block;
    };
    return lines;
  }

  Lines denseLines(sparsec_scale_group_t group) const {
    const int64_t parts = roundUp(which.shape.depth, depthOfXScale) / depthOfXScale;
    Lines lines = {argumentOf(SPARSEC_SPMM_DENSE), which.shape.columns, which.shape.depth, {}, {}};
    if (group != SPARSEC_SCALE_TENSOR)
      lines.scales = {which.shape.columns};
    if (group == SPARSEC_SCALE_TOKEN)
      lines.scales.push_back(parts);
    lines.scale = [group, parts](int64_t line, int64_t column) -> int64_t {
      const int64_t part = line * parts + column / depthOfXScale;
      return group == SPARSEC_SCALE_TENSOR ? 0 : group == SPARSEC_SCALE_ROW ? line : part;
    };
    return lines;
  }

  /// A tensor as the argument that it holds the values of.
  Argument asArgument(const Lines &lines, const PlacedTensor &tensor) const {
    const sparsec_argument_info_t &info = *sparsec_kernel_argument(which.kernel, lines.argument);
    if (info.kind == SPARSEC_ARGUMENT_DENSE)
      return tensor.view();
    return sparsec_blocks_bsr(which.shape.rows, which.shape.depth, int32_t(info.block_rows),
                              int32_t(info.block_columns), which.pattern.blockCount(),
                              static_cast<const int32_t *>(starts.data()), static_cast<const int32_t *>(indices.data()),
                              tensor.view().dtype, tensor.view().data);
  }

  void check(const Lines &lines, sparsec_scale_group_t group, sparsec_dtype_t dtype) {
    const sparsec_argument_info_t &info = *sparsec_kernel_argument(which.kernel, lines.argument);
    const bool isMatrix = info.kind == SPARSEC_ARGUMENT_BSR;
    const Placement placement = isMatrix ? Placement::Tight : which.shape.placement;
    const std::vector<int64_t> sizes = {lines.count, lines.width};
    PlacedTensor source(which.device, dtype, sizes, placement, which.guardBytes);
    PlacedTensor target(which.device, sparsec_dtype_t(info.dtype), sizes, placement, which.guardBytes);
    PlacedTensor scales(which.device, SPARSEC_DTYPE_F32, lines.scales, Placement::Tight, which.guardBytes);
    fill(lines, source);
    const std::vector<char> first = run(lines, group, source, target, scales, /*inGraph=*/false);
    ASSERT_NO_FATAL_FAILURE(compare(lines, source, target, scales));
    auto device = sized<sparsec_device_info_t>();
    harness::check(sparsec_device_info(which.device, &device));
    const bool isGpu = device.kind == SPARSEC_TARGET_CUDA;
    const std::vector<char> second = run(lines, group, source, target, scales, /*inGraph=*/isGpu);
    ASSERT_TRUE(first == second) << "a second run gives other bits";
  }

  /// Elements of edge blocks beyond the matrix are large: they must not count.
  void fill(const Lines &lines, PlacedTensor &source) const {
    std::mt19937 generator(uint32_t(lines.count * 31 + lines.width));
    for (int64_t i = 0; i < lines.count; ++i)
      for (int64_t j = 0; j < lines.width; ++j)
        source.set(i, j, lines.scale(i, j) < 0 ? 30000 : sourceValue(generator, i));
    source.upload();
  }

  /// The bytes of the target and of the scales.
  std::vector<char> run(const Lines &lines, sparsec_scale_group_t group, const PlacedTensor &source,
                        PlacedTensor &target, PlacedTensor &scales, bool inGraph) {
    for (PlacedTensor *each : {&target, &scales}) {
      each->poisonAll();
      each->upload();
    }
    const Argument from = asArgument(lines, source), to = asArgument(lines, target);
    const sparsec_argument_t fromView = from.handle(), toView = to.handle();
    auto enqueue = [&](void *stream) {
      harness::check(sparsec_quantize(which.kernel, lines.argument, &fromView, &toView, group, &scales.view(), stream));
    };
    if (inGraph) {
      CudaDriver::get()->useDevice(0);
      CudaStream stream;
      CudaGraph graph(stream, [&] { enqueue(stream.handle()); });
      graph.launch(stream);
      stream.synchronize();
    } else {
      enqueue(nullptr);
      harness::check(sparsec_synchronize(which.device, nullptr));
    }
    target.download();
    scales.download();
    std::vector<char> bytes = target.bytes();
    bytes.insert(bytes.end(), scales.bytes().begin(), scales.bytes().end());
    return bytes;
  }

  void compare(const Lines &lines, const PlacedTensor &source, const PlacedTensor &target,
               const PlacedTensor &scales) const {
    const Fp8 fp8(target.view().dtype);
    const std::vector<float> expected = scalesOf(lines, source, fp8);
    const int64_t width = lines.scales.empty() ? 1 : lines.scales.back();
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(scales.get(int64_t(i) / width, int64_t(i) % width), expected[i]) << "scale " << i;
    for (int64_t i = 0; i < lines.count; ++i)
      for (int64_t j = 0; j < lines.width; ++j) {
        const int64_t scale = lines.scale(i, j);
        const double wanted = scale < 0 ? 0 : fp8.round(float(source.get(i, j)) / expected[scale]);
        const double got = target.get(i, j);
        ASSERT_TRUE(got == wanted || (std::isnan(got) && std::isnan(wanted)))
            << "value " << j << " of line " << i << " is " << got << ", but " << wanted << " is expected";
      }
    ASSERT_TRUE(target.surroundingsIntact() && scales.surroundingsIntact());
  }

  std::vector<float> scalesOf(const Lines &lines, const PlacedTensor &source, const Fp8 &fp8) const {
    int64_t count = 1;
    for (int64_t size : lines.scales)
      count *= size;
    std::vector<double> largest(count);
    for (int64_t i = 0; i < lines.count; ++i)
      for (int64_t j = 0; j < lines.width; ++j)
        if (const int64_t scale = lines.scale(i, j); scale >= 0 && std::isfinite(source.get(i, j)))
          largest[scale] = std::max(largest[scale], std::fabs(source.get(i, j)));
    std::vector<float> scales;
    scales.reserve(largest.size());
    for (double each : largest)
      scales.push_back(each == 0 ? 1 : std::max(float(each) / fp8.largest(), std::numeric_limits<float>::min()));
    return scales;
  }

  const QuantizeCase &which;
  const DeviceBuffer starts = uploadArray(which.device, which.pattern.rowPtr);
  const DeviceBuffer indices = uploadArray(which.device, which.pattern.colIdx);
};

} // namespace

void checkQuantize(const QuantizeCase &which) { QuantizeCheck(which).run(); }

} // namespace sparsec::device_test
