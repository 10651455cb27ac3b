// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quantises an operand of a kernel, for sparsec_quantize and for tools.

#ifndef SPARSEC_RUNTIME_QUANTIZE_H
#define SPARSEC_RUNTIME_QUANTIZE_H

#include "arguments/checked_argument.h"

namespace sparsec::runtime {

/// The operand that may be quantised, W or X; null if the argument is another one.
const sparsec_operand_info_t *findQuantizedOperand(const sparsec_kernel_s &kernel, uint32_t argument);

/// The parameters of sparsec_quantize.
struct QuantizeRequest {
  const sparsec_kernel_s &kernel;
  uint32_t argument;
  const sparsec_argument_t &source;
  const sparsec_argument_t &target;
  sparsec_scale_group_t group;
  const sparsec_dense_t &scales;
  void *stream;
};

/// Quantises in host memory, for a kernel of any target.
Status quantizeOnHost(const QuantizeRequest &request, ThreadPool &threads);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_QUANTIZE_H
