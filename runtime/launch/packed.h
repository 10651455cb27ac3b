// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values of a matrix in packed blocks, which launches read in place of the stored ones.

#ifndef SPARSEC_RUNTIME_PACKED_H
#define SPARSEC_RUNTIME_PACKED_H

#include "plan/plan.h"

struct sparsec_packed_s {
  const sparsec_plan_s &plan; // that packed them
  const sparsec::runtime::Variant &variant;
  const sparsec::runtime::VariantPlan &part; // of the variant
  uint32_t number;                           // of the block-sparse argument
  sparsec::runtime::Allocation memory;
  sparsec_blocks_t view = {}; // the matrix in packed blocks
  sparsec_argument_t argument = {};
};

namespace sparsec::runtime {

/// Whether launches of the kernel with the plan may use the packed values, which may be null.
Status checkPacked(const sparsec_kernel_s &kernel, const sparsec_plan_s *plan, const sparsec_packed_s *packed);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PACKED_H
