// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares a result with the reference implementation in double precision.

#ifndef SPARSEC_TOOLS_RUN_CHECK_H
#define SPARSEC_TOOLS_RUN_CHECK_H

#include "arguments.h"
#include "reference/float_format.h"

#include <optional>

namespace sparsec::run {

/// The error that a result element may have:
///
///   |got - exact| <= 2 units in the last place of the result type + 1e-6 * magnitude
///
/// where magnitude is what sparsec_reference_run reports: sum |w x|, carried through the epilogue; of attention what
/// f32 arithmetic and rounded probabilities may be off by. NaN must be NaN in both. A finite exact value may come out
/// as an infinity only if it is within the bound of the largest finite number.
bool isWithinBound(double got, double exact, double magnitude, const runtime::FloatFormat &format);

/// Which rows of the result to compare.
struct CheckRequest {
  enum class Rows { sample, all, count } rows = Rows::sample;
  int64_t count = 0; // Rows::count
};

struct CheckResult {
  int64_t rowsChecked = 0, rows = 0;
  int64_t wrongElements = 0; // of all results
  /// Largest |got - exact| and largest |exact| among the checked elements of the (first) result, infinite and NaN ones
  /// aside.
  double largestError = 0.0, largestExact = 0.0;
  struct Element {
    std::string result;
    int64_t row, column;
    double got, exact;
  };
  std::optional<Element> firstWrong;

  double relativeError() const { return largestExact == 0.0 ? largestError : largestError / largestExact; }
};

/// The inputs of the choice of rows.
struct RowsToCheck {
  int64_t rows;
  double productsPerRow; // that the reference computes, on average
  int64_t longest;       // a row with more work than others
  int64_t group;         // so many rows, from a multiple of it on, share what the reference reads
  int64_t period = 0;    // kernels write the first `written` rows of every `period` rows; 0: they write all rows
  int64_t written = 0;

  bool isWritten(int64_t row) const { return period == 0 || row % period < written; }
};
RowsToCheck rowsToCheck(const readers::BlockMatrix &matrix, int64_t width);

/// The rows of the result that a request selects, ascending. A sample is as large as a few seconds allow; it is drawn
/// evenly over the rows and holds the first, the last and the longest row. `suspects` are checked in any case.
std::vector<int64_t> selectRows(const RowsToCheck &all, const CheckRequest &request, llvm::ArrayRef<int64_t> suspects);

/// Checks the results in `host`.
llvm::Expected<CheckResult> checkResult(sparsec_kernel_t kernel, const HostArguments &host,
                                        const CheckRequest &request);

/// Some rows of the results as the reference has them, to compare several runs on the same inputs with.
class ExpectedRows {
public:
  static llvm::Expected<ExpectedRows> compute(sparsec_kernel_t kernel, const HostArguments &host,
                                              const CheckRequest &request);
  /// Compares the results in `host`, which has the same arguments.
  llvm::Expected<CheckResult> compare(const HostArguments &host) const;

private:
  struct Part {
    size_t result;
    runtime::RowRange rows;
    std::vector<double> values, magnitude;
  };
  std::vector<Part> parts;
};

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_CHECK_H
