// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of attention that pattern builders call, besides its row in the table of operations.

#ifndef SPARSEC_RUNTIME_OPERATIONS_ATTENTION_H
#define SPARSEC_RUNTIME_OPERATIONS_ATTENTION_H

#include "arguments/checked_argument.h"

namespace sparsec::runtime {

/// Type, shape, strides and pointer of an extra operand of the score and mask regions.
Status checkRegionOperand(const Checked &argument);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_OPERATIONS_ATTENTION_H
