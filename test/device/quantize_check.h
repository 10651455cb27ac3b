// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands that sparsec_quantize writes, against numbers of the fp8 types by their definition.

#ifndef SPARSEC_TEST_DEVICE_QUANTIZE_CHECK_H
#define SPARSEC_TEST_DEVICE_QUANTIZE_CHECK_H

#include "problem.h"

namespace sparsec::device_test {

/// A matrix with this pattern, and an X, are quantised.
struct QuantizeCase {
  sparsec_device_t device;
  sparsec_kernel_t kernel;
  const Shape &shape;
  const harness::BlockPattern &pattern;
  size_t guardBytes;
};

/// Quantises W and X of a kernel with all groups, from all types. Reports with GoogleTest what is wrong.
void checkQuantize(const QuantizeCase &which);

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_QUANTIZE_CHECK_H
