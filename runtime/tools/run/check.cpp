// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "check.h"

#include "operation_view.h"
#include "progress.h"
#include "reference/numbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <random>
#include <thread>

namespace sparsec::run {

bool isWithinBound(double got, double exact, double magnitude, const runtime::FloatFormat &format) {
  if (std::isnan(exact) || std::isnan(got))
    return std::isnan(exact) && std::isnan(got);
  if (std::isinf(exact))
    return got == exact;
  double bound = 2.0 * format.unitInLastPlace(exact) + 1e-6 * magnitude;
  if (std::isinf(got))
    return std::signbit(got) == std::signbit(exact) && std::fabs(exact) + bound > format.maxFinite();
  return std::fabs(got - exact) <= bound;
}

namespace {
/// A result of the kernel: rows as the reference counts them.
struct ResultView {
  const HostArgument &argument;
  int64_t width;
  runtime::FloatFormat format;
  bool isFirst; // the second one is the LSE

  /// Element (row, column) in its own layout.
  double at(int64_t row, int64_t column) const {
    bool isTransposed = argument.operand->layout == SPARSEC_LAYOUT_TRANSPOSED;
    int64_t index = isTransposed ? column * argument.sizes[1] + row : row * width + column;
    return runtime::readElement(argument.elements.data(), sparsec_dtype_t(argument.info->dtype), index);
  }
};
} // namespace

static llvm::Expected<std::vector<ResultView>> viewResults(const HostArguments &host) {
  std::vector<ResultView> results;
  for (const HostArgument &argument : host.all()) {
    if (!argument.isResult)
      continue;
    auto format = runtime::getFloatFormat(sparsec_dtype_t(argument.info->dtype));
    if (!format)
      return failure("expects a result of a floating-point type");
    bool isFirst = results.empty();
    results.push_back({argument, isFirst ? host.problem().columns : 1, *format, isFirst});
  }
  return results;
}

RowsToCheck rowsToCheck(const readers::BlockMatrix &matrix, int64_t width) {
  double stored = double(matrix.blockCount()) * double(matrix.format.blockRows * matrix.format.blockColumns);
  int64_t longest = 0;
  for (int64_t row = 0; row < matrix.blockRowCount(); ++row)
    if (matrix.rowPtr[row + 1] - matrix.rowPtr[row] > matrix.rowPtr[longest + 1] - matrix.rowPtr[longest])
      longest = row;
  return {matrix.rows, stored / std::max(double(matrix.rows), 1.0) * double(width), longest * matrix.format.blockRows,
          matrix.format.blockRows};
}

std::vector<int64_t> selectRows(const RowsToCheck &all, const CheckRequest &request, llvm::ArrayRef<int64_t> suspects) {
  const int64_t rows = all.rows;
  if (rows == 0)
    return {};
  int64_t count = request.rows == CheckRequest::Rows::all ? rows : request.count;
  if (request.rows == CheckRequest::Rows::sample) {
    // The reference does on the order of 1e8 products a second on one core.
    constexpr double products = 1e9;
    count = int64_t(std::min(double(rows), std::max(16.0, products / std::max(all.productsPerRow, 1.0))));
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
  selected.insert(selected.end(), {0, rows - 1, all.longest});
  std::sort(selected.begin(), selected.end());
  selected.erase(std::unique(selected.begin(), selected.end()), selected.end());
  return selected;
}

/// The first few rows that hold a NaN: either the exact values are NaN too, or the kernel never wrote the element.
static std::vector<int64_t> findSuspects(llvm::ArrayRef<ResultView> results, int64_t rows) {
  constexpr size_t most = 16;
  std::vector<int64_t> suspects;
  auto hasNaN = [&](int64_t row) {
    return llvm::any_of(results, [&](const ResultView &result) {
      return llvm::any_of(llvm::seq(result.width), [&](int64_t column) { return std::isnan(result.at(row, column)); });
    });
  };
  for (int64_t row = 0; row < rows && suspects.size() < most; ++row)
    if (hasNaN(row))
      suspects.push_back(row);
  return suspects;
}

using runtime::RowRange;

/// Consecutive rows of one group.
static std::vector<RowRange> groupRows(llvm::ArrayRef<int64_t> rows, int64_t group) {
  std::vector<RowRange> ranges;
  for (int64_t row : rows) {
    if (!ranges.empty() && ranges.back().end == row && row % group != 0)
      ++ranges.back().end;
    else
      ranges.push_back({row, row + 1});
  }
  return ranges;
}

namespace {
/// The reference for rows of one result.
struct Exact {
  std::vector<double> values, magnitude;
};
} // namespace

/// Rows that kernels do not write keep the NaN that results begin with.
static llvm::Error computeExact(sparsec_kernel_t kernel, const ArgumentArray &views, const ResultView &result,
                                const RowsToCheck &all, RowRange range, Exact &exact) {
  exact.values.resize((range.end - range.begin) * result.width);
  exact.magnitude.resize(exact.values.size());
  auto *run = result.isFirst ? sparsec_reference_run : sparsec_reference_lse;
  llvm::Error error = toError(
      run(kernel, views.data(), views.size(), range.begin, range.end, exact.values.data(), exact.magnitude.data()));
  for (int64_t row = range.begin; row < range.end; ++row)
    if (!all.isWritten(row))
      std::fill_n(exact.values.begin() + (row - range.begin) * result.width, result.width, NAN);
  return error;
}

/// Compares rows and adds what it finds to `total`.
static void compareRows(const ResultView &result, RowRange range, const Exact &exact, CheckResult &total) {
  auto isEarlier = [](const CheckResult::Element &a, const CheckResult::Element &b) {
    return std::pair(a.row, a.column) < std::pair(b.row, b.column);
  };
  size_t index = 0;
  for (int64_t row = range.begin; row < range.end; ++row)
    for (int64_t column = 0; column < result.width; ++column, ++index) {
      double got = result.at(row, column), value = exact.values[index];
      if (result.isFirst && std::isfinite(value))
        total.largestExact = std::max(total.largestExact, std::fabs(value));
      if (result.isFirst && std::isfinite(value) && std::isfinite(got))
        total.largestError = std::max(total.largestError, std::fabs(got - value));
      if (isWithinBound(got, value, exact.magnitude[index], result.format))
        continue;
      ++total.wrongElements;
      CheckResult::Element element = {nameOf(result.argument.info->name).str(), row, column, got, value};
      if (!total.firstWrong || isEarlier(element, *total.firstWrong))
        total.firstWrong = std::move(element);
    }
}

namespace {
/// Takes the exact rows of a result. Calls do not overlap.
using TakeRows = llvm::function_ref<void(size_t result, RowRange range, Exact &exact)>;
} // namespace

/// Computes ranges of rows on all cores. Threads take range after range. An error ends the work. The error of the first
/// range is returned, whichever thread meets one first: ranges are taken in order, so that every range before a failed
/// one is finished.
static llvm::Error computeRanges(sparsec_kernel_t kernel, const HostArguments &host, llvm::ArrayRef<ResultView> results,
                                 const RowsToCheck &all, llvm::ArrayRef<RowRange> ranges, TakeRows take) {
  const std::vector<Argument> hostViews = host.hostViews();
  const ArgumentArray views(hostViews);
  std::atomic<size_t> next = 0;
  std::mutex mutex; // of firstError and the calls of `take`
  llvm::Error firstError = llvm::Error::success();
  size_t rangeOfFirstError = ranges.size();
  auto work = [&] {
    Exact exact;
    for (size_t index = next++; index < ranges.size(); index = next++)
      for (size_t result = 0; result < results.size(); ++result) {
        llvm::Error error = computeExact(kernel, views, results[result], all, ranges[index], exact);
        std::lock_guard lock(mutex);
        if (error) {
          if (index < rangeOfFirstError) {
            std::swap(error, firstError);
            rangeOfFirstError = index;
          }
          llvm::consumeError(std::move(error));
          next = ranges.size();
          return;
        }
        take(result, ranges[index], exact);
      }
  };
  std::vector<std::thread> threads;
  for (unsigned index = 1; index < std::thread::hardware_concurrency(); ++index)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  return firstError;
}

llvm::Expected<CheckResult> checkResult(sparsec_kernel_t kernel, const HostArguments &host,
                                        const CheckRequest &request) {
  auto results = viewResults(host);
  if (!results)
    return results.takeError();
  CheckResult total;
  const RowsToCheck all = operationView(kernel).rowsToCheck(host);
  total.rows = all.rows;
  const std::vector<int64_t> rows = selectRows(all, request, findSuspects(*results, total.rows));
  Progress progress("checking rows");
  auto compare = [&](size_t result, RowRange range, const Exact &exact) {
    compareRows((*results)[result], range, exact, total);
    if (result + 1 < results->size())
      return;
    total.rowsChecked += range.end - range.begin;
    progress.update(total.rowsChecked, int64_t(rows.size()));
  };
  if (llvm::Error error = computeRanges(kernel, host, *results, all, groupRows(rows, all.group), compare))
    return error;
  return total;
}

llvm::Expected<ExpectedRows> ExpectedRows::compute(sparsec_kernel_t kernel, const HostArguments &host,
                                                   const CheckRequest &request) {
  auto results = viewResults(host);
  if (!results)
    return results.takeError();
  const RowsToCheck all = operationView(kernel).rowsToCheck(host);
  ExpectedRows expected;
  auto keep = [&](size_t result, RowRange range, Exact &exact) {
    expected.parts.push_back({result, range, std::move(exact.values), std::move(exact.magnitude)});
  };
  const std::vector<int64_t> rows = selectRows(all, request, /*suspects=*/{});
  if (llvm::Error error = computeRanges(kernel, host, *results, all, groupRows(rows, all.group), keep))
    return error;
  return expected;
}

llvm::Expected<CheckResult> ExpectedRows::compare(const HostArguments &host) const {
  auto results = viewResults(host);
  if (!results)
    return results.takeError();
  CheckResult total;
  for (const Part &part : parts) {
    compareRows((*results)[part.result], part.rows, {part.values, part.magnitude}, total);
    total.rowsChecked += part.rows.end - part.rows.begin;
  }
  return total;
}

} // namespace sparsec::run
