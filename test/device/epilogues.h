// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The epilogues of generate_kernels.py once more, in double: independent of the compiler and of the runtime.

#ifndef SPARSEC_TEST_DEVICE_EPILOGUES_H
#define SPARSEC_TEST_DEVICE_EPILOGUES_H

#include <string_view>

namespace sparsec::device_test {

constexpr int maxExtras = 5;

struct Epilogue {
  std::string_view name;
  int extraCount;
  /// The result for one accumulator and one element of every extra operand, in the kernel's order.
  double (*value)(double accumulator, const double *extras);
  /// The sum of the magnitudes of all terms, times a bound of the epilogue's slope: a result may be off by a millionth
  /// of it. `magnitude` is the sum of |w x|.
  double (*scale)(double magnitude, const double *extras);
};

/// The epilogue whose name ends the kernel's name, or null.
const Epilogue *findEpilogue(std::string_view kernelName);

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_EPILOGUES_H
