// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "check.h"

#include "progress.h"
#include "reference/numbers.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <random>
#include <thread>

namespace sparsec::run {

bool isWithinBound(double got, double exact, double magnitude, const readers::FloatFormat &format) {
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got);
  if (std::isinf(exact))
    return got == exact;
  double bound = 2.0 * format.unitInLastPlace(exact) + 1e-6 * magnitude;
  if (std::isinf(got))
    return std::signbit(got) == std::signbit(exact) && std::fabs(exact) + bound > format.maxFinite();
  return std::fabs(got - exact) <= bound;
}

/// Reads element (row, column) of the result in its own layout.
static double resultElement(const HostArgument &result, int64_t row, int64_t column) {
  int64_t index = result.info->layout == SPARSEC_LAYOUT_TRANSPOSED ? column * result.sizes[1] + row
                                                                   : row * result.sizes[1] + column;
  return runtime::readElement(result.elements.data(), sparsec_dtype_t(result.info->dtype), index);
}

std::vector<int64_t> selectRows(const readers::BlockMatrix &matrix, int64_t width, const CheckRequest &request,
                                llvm::ArrayRef<int64_t> suspects) {
  const int64_t rows = matrix.rows;
  if (rows == 0)
    return {};
  int64_t count = request.rows == CheckRequest::Rows::all ? rows : request.count;
  if (request.rows == CheckRequest::Rows::sample) {
    // The reference does on the order of 1e8 products a second on one core.
    constexpr double products = 1e9;
    double stored = double(matrix.blockCount()) * double(matrix.format.blockRows * matrix.format.blockColumns);
    double productsPerRow = stored / double(rows) * double(width);
    count = int64_t(std::min(double(rows), std::max(16.0, products / std::max(productsPerRow, 1.0))));
  }
  std::vector<int64_t> selected(suspects.begin(), suspects.end());
  if (count >= rows) {
    selected.resize(rows);
    for (int64_t row = 0; row < rows; ++row)
      selected[row] = row;
    return selected;
  }
  // One row from each of `count` equal parts, so that no residue of the tile or block size is favoured.
  std::mt19937_64 generator(1);
  for (int64_t part = 0; part < count; ++part) {
    int64_t begin = part * rows / count, end = (part + 1) * rows / count;
    selected.push_back(begin + int64_t(generator() % uint64_t(end - begin)));
  }
  int64_t longest = 0;
  for (int64_t row = 0; row < matrix.blockRowCount(); ++row)
    if (matrix.rowPtr[row + 1] - matrix.rowPtr[row] > matrix.rowPtr[longest + 1] - matrix.rowPtr[longest])
      longest = row;
  selected.insert(selected.end(), {0, rows - 1, longest * matrix.format.blockRows});
  std::sort(selected.begin(), selected.end());
  selected.erase(std::unique(selected.begin(), selected.end()), selected.end());
  return selected;
}

/// The first few rows that hold a NaN: either the exact values are NaN too, or the kernel never wrote the element.
static std::vector<int64_t> findSuspects(const HostArguments &host) {
  constexpr size_t most = 16;
  std::vector<int64_t> suspects;
  for (int64_t row = 0; row < host.shape().m && suspects.size() < most; ++row)
    for (int64_t column = 0; column < host.shape().n; ++column)
      if (std::isnan(resultElement(host.result(), row, column))) {
        suspects.push_back(row);
        break;
      }
  return suspects;
}

namespace {
/// Consecutive rows of one block row: the reference widens the dense operand once for all of them.
struct RowRange {
  int64_t begin, end;
};
} // namespace

static std::vector<RowRange> groupRows(llvm::ArrayRef<int64_t> rows, int64_t blockRows) {
  std::vector<RowRange> ranges;
  for (int64_t row : rows) {
    if (!ranges.empty() && ranges.back().end == row && row % blockRows != 0)
      ++ranges.back().end;
    else
      ranges.push_back({row, row + 1});
  }
  return ranges;
}

/// Compares rows and adds what it finds to `total`.
static void compareRows(const HostArguments &host, RowRange range, llvm::ArrayRef<double> exact,
                        llvm::ArrayRef<double> magnitude, const readers::FloatFormat &format, CheckResult &total) {
  total.rowsChecked += range.end - range.begin;
  size_t index = 0;
  for (int64_t row = range.begin; row < range.end; ++row)
    for (int64_t column = 0; column < host.shape().n; ++column, ++index) {
      double got = resultElement(host.result(), row, column);
      if (std::isfinite(exact[index]))
        total.largestExact = std::max(total.largestExact, std::fabs(exact[index]));
      if (std::isfinite(exact[index]) && std::isfinite(got))
        total.largestError = std::max(total.largestError, std::fabs(got - exact[index]));
      if (isWithinBound(got, exact[index], magnitude[index], format))
        continue;
      ++total.wrongElements;
      if (!total.firstWrong || std::pair(row, column) < std::pair(total.firstWrong->row, total.firstWrong->column))
        total.firstWrong = {row, column, got, exact[index]};
    }
}

llvm::Expected<CheckResult> checkResult(sparsec_kernel_t kernel, const HostArguments &host,
                                        const CheckRequest &request) {
  auto format = readers::getFloatFormat(sparsec_dtype_t(host.result().info->dtype));
  if (!format)
    return failure("expects a result of type f32, f16 or bf16");
  CheckResult total;
  total.rows = host.shape().m;
  const std::vector<int64_t> rows = selectRows(host.matrix().matrix, host.shape().n, request, findSuspects(host));
  const std::vector<RowRange> ranges = groupRows(rows, host.matrix().matrix.format.blockRows);
  const std::vector<sparsec_argument_t> views = host.hostViews();

  // Threads take range after range. The first error ends the work.
  std::atomic<size_t> next = 0;
  std::mutex mutex; // of total, firstError and progress
  llvm::Error firstError = llvm::Error::success();
  Progress progress("checking rows");
  auto work = [&] {
    std::vector<double> exact, magnitude;
    for (size_t index = next++; index < ranges.size(); index = next++) {
      RowRange range = ranges[index];
      exact.resize((range.end - range.begin) * host.shape().n);
      magnitude.resize(exact.size());
      llvm::Error error = toError(sparsec_reference_run(kernel, views.data(), views.size(), range.begin, range.end,
                                                        exact.data(), magnitude.data()));
      std::lock_guard lock(mutex);
      if (error) {
        firstError = llvm::joinErrors(std::move(firstError), std::move(error));
        next = ranges.size();
        return;
      }
      compareRows(host, range, exact, magnitude, *format, total);
      progress.update(total.rowsChecked, int64_t(rows.size()));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned index = 1; index < std::thread::hardware_concurrency(); ++index)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  if (firstError)
    return firstError;
  return total;
}

} // namespace sparsec::run
