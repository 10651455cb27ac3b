// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans that are refilled on the device, next to those that the host makes from the same lists.

#ifndef SPARSEC_TEST_DEVICE_REFILL_CHECK_H
#define SPARSEC_TEST_DEVICE_REFILL_CHECK_H

#include "arguments.h"

namespace sparsec::device_test {

/// Refills a plan with half of the matrix's blocks, then with all, and a third time inside a CUDA graph where the
/// device is a GPU. Reports with GoogleTest each section that differs from that of the host's plan, and results that
/// are wrong or have other bits.
void checkRefill(sparsec_device_t device, sparsec_kernel_t kernel, KernelArguments &arguments);

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_REFILL_CHECK_H
