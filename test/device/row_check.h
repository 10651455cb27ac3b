// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How results are compared with double precision.

#ifndef SPARSEC_TEST_DEVICE_ROW_CHECK_H
#define SPARSEC_TEST_DEVICE_ROW_CHECK_H

#include "harness/numeric.h"
#include "harness/parallel.h"

#include <mutex>
#include <string>

namespace sparsec::device_test {

/// The error that is allowed beside `exact`: two units in the last place of the result's type, and a millionth of
/// `magnitude`, which is as large as what f32 arithmetic adds up (see sparsec_reference_run).
inline double allowedError(sparsec_dtype_t dtype, double exact, double magnitude) {
  return 2 * harness::unitInLastPlace(dtype, exact) + 1e-6 * magnitude;
}

/// The factor by which matrix instructions lose more than f32 arithmetic: sums of fp8 products have an error of 2^-9 of
/// their magnitude (dialect/SPEC.md, two_level).
inline double lossOfInstruction(sparsec_dtype_t dtype) { return sparsec_dtype_bytes(dtype) == 1 ? 0x1p-9 / 1e-6 : 1; }

/// The text of check(row), which is empty for a good row, for the first bad one. Rows are checked on all cores.
template <typename Check> std::string findRowError(int64_t rows, const Check &check) {
  std::mutex mutex;
  std::string firstError;
  int64_t firstRow = rows;
  harness::parallelFor(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::string error = check(row);
      std::lock_guard lock(mutex);
      if (!error.empty() && row < firstRow) {
        firstRow = row;
        firstError = error;
      }
    }
  });
  return firstError;
}

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_ROW_CHECK_H
