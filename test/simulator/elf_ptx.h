// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the PTX of an image is: the image itself, or a section of a cubin that simulated_ptxas.py writes.

#ifndef SPARSEC_TEST_SIMULATOR_ELF_PTX_H
#define SPARSEC_TEST_SIMULATOR_ELF_PTX_H

#include <string_view>

namespace sparsec::simulator {

/// Empty where there is none.
std::string_view findPtx(const void *image);

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_ELF_PTX_H
