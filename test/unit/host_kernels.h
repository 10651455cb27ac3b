// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host kernels in tests: from text to object, from object to code that can be called, and the numbers that they work
// on.

#ifndef SPARSEC_TEST_UNIT_HOST_KERNELS_H
#define SPARSEC_TEST_UNIT_HOST_KERNELS_H

#include "sparsec/launch_info.hpp"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <memory>
#include <string>

namespace sparsec::test {

/// The object of a kernel, empty when it does not compile.
std::string compile(const std::string &text);
std::unique_ptr<llvm::orc::LLJIT> load(const std::string &object);

struct Format {
  const char *name;
  int bytes, fractionBits, exponentBits; // without the hidden one
  bool hasInfinity = true;               // without: only all ones are NaN
};
constexpr Format f32{"f32", 4, 23, 8}, f16{"f16", 2, 10, 5}, bf16{"bf16", 2, 7, 8};
constexpr Format f8E4M3FN{"f8E4M3FN", 1, 3, 4, false}, f8E5M2{"f8E5M2", 1, 2, 5};

/// The nearest value of the format, ties to even; for values in its normal range.
double round(double value, const Format &format);
/// Sign, exponent and fraction of a value that the format holds, low bits first.
uint32_t encode(double value, const Format &format);
double decode(uint32_t bits, const Format &format);

} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_HOST_KERNELS_H
