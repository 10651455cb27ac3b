// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments of fp8 that are quantised, with the scales that another argument gets.

#ifndef SPARSEC_TOOLS_RUN_QUANTIZE_H
#define SPARSEC_TOOLS_RUN_QUANTIZE_H

#include "arguments.h"

namespace sparsec::run {

/// Quantises the f32 elements of an operand W or X, argument `number` of the kernel. The operand that `scales` is says
/// which of them share a scale.
llvm::Error quantize(sparsec_kernel_t kernel, uint32_t number, HostArgument &source, HostArgument &scales);

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_QUANTIZE_H
