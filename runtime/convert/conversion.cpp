// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "convert/conversion.h"

#include "reference/float_format.h"
#include "reference/numbers.h"

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <cmath>

namespace sparsec::runtime {

namespace {

class HostConversion {
public:
  explicit HostConversion(const Conversion &conversion)
      : conversion(conversion), sourceType(sparsec_dtype_t(conversion[SPARSEC_CONVERSION_SOURCE_TYPE])),
        format(*getFloatFormat(sparsec_dtype_t(conversion[SPARSEC_CONVERSION_TARGET_TYPE]))) {}

  int64_t lines() const {
    return conversion[SPARSEC_CONVERSION_VECTORS] / conversion[SPARSEC_CONVERSION_VECTORS_OF_LINE];
  }
  void measureLine(int64_t line) const;
  void convertLine(int64_t line) const;

private:
  /// Where a line is: the row of scales that it takes, and the end of its columns in the matrix.
  struct Line {
    int64_t scaleRow, end;
  };
  Line find(int64_t line) const;
  int64_t scaleOf(const Line &line, int64_t column) const {
    const int64_t vector = column / SPARSEC_CONVERSION_VECTOR;
    return line.scaleRow * conversion[SPARSEC_CONVERSION_SCALES_OF_LINE] +
           vector / conversion[SPARSEC_CONVERSION_VECTORS_OF_SCALE];
  }
  /// Exact: the types of sources are parts of f32.
  float valueAt(int64_t line, int64_t column) const {
    return float(
        readElement(conversion.source, sourceType, line * conversion[SPARSEC_CONVERSION_SOURCE_STRIDE] + column));
  }

  const Conversion &conversion;
  const sparsec_dtype_t sourceType;
  const FloatFormat format;
};

} // namespace

HostConversion::Line HostConversion::find(int64_t line) const {
  const int64_t columns = conversion[SPARSEC_CONVERSION_COLUMNS];
  const int64_t ofLines = line / conversion[SPARSEC_CONVERSION_LINES_OF_SCALE];
  if (!conversion.starts)
    return {ofLines, columns};
  const int64_t blockRows = conversion[SPARSEC_CONVERSION_BLOCK_ROWS], block = line / blockRows;
  const int32_t *ends = conversion.starts + 1;
  // The first block row that ends behind the block.
  const int64_t blockRow = std::upper_bound(ends, ends + conversion[SPARSEC_CONVERSION_BLOCK_ROW_COUNT], block) - ends;
  const int64_t row = blockRow * blockRows + line % blockRows;
  const int64_t left = conversion[SPARSEC_CONVERSION_MATRIX_COLUMNS] - int64_t(conversion.indices[block]) * columns;
  return {conversion[SPARSEC_CONVERSION_IS_BY_ROW] ? row : ofLines,
          row < conversion[SPARSEC_CONVERSION_MATRIX_ROWS] ? std::clamp<int64_t>(left, 0, columns) : 0};
}

/// Scales are positive: their order is that of the largest values, whichever thread comes first.
void HostConversion::measureLine(int64_t number) const {
  const Line line = find(number);
  for (int64_t column = 0; column < line.end; ++column) {
    const float size = std::fabs(valueAt(number, column));
    if (size == 0 || !std::isfinite(size))
      continue;
    const float scale = std::max(size / float(format.maxFinite()), FLT_MIN);
    std::atomic_ref<float> known(conversion.scales[scaleOf(line, column)]);
    for (float old = known.load(); old < scale && !known.compare_exchange_weak(old, scale);) {
    }
  }
}

void HostConversion::convertLine(int64_t number) const {
  const Line line = find(number);
  const int64_t target = number * conversion[SPARSEC_CONVERSION_TARGET_STRIDE];
  for (int64_t column = 0; column < conversion[SPARSEC_CONVERSION_COLUMNS]; ++column) {
    const bool isInMatrix = column < line.end;
    const float scale = isInMatrix ? conversion.scales[scaleOf(line, column)] : 1;
    const float value = isInMatrix ? valueAt(number, column) / scale : 0;
    storeElement(conversion.target, size_t(target + column), value, format);
  }
}

void convertOnHost(const Conversion &conversion, ThreadPool &threads) {
  const HostConversion host(conversion);
  float *end = conversion.scales + conversion[SPARSEC_CONVERSION_SCALES];
  std::fill(conversion.scales, end, 0.0f);
  threads.run(host.lines(), [&](int64_t begin, int64_t last) {
    for (int64_t line = begin; line < last; ++line)
      host.measureLine(line);
  });
  std::replace(conversion.scales, end, 0.0f, 1.0f);
  threads.run(host.lines(), [&](int64_t begin, int64_t last) {
    for (int64_t line = begin; line < last; ++line)
      host.convertLine(line);
  });
}

} // namespace sparsec::runtime
