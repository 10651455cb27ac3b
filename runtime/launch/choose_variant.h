// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of a kernel's variants a launch takes.

#ifndef SPARSEC_RUNTIME_CHOOSE_VARIANT_H
#define SPARSEC_RUNTIME_CHOOSE_VARIANT_H

#include "plan/plan.h"

namespace sparsec::runtime {

/// The memory that a launch brings besides its arguments.
struct LaunchMemory {
  int64_t workspaceBytes;
  bool hasPackedValues; // those of the plan
};

/// The first variant that is for the panels of the problem, whose alignment the (checked) arguments have, and whose
/// required sections are in the plan, which may be null. One that splits keys comes first, if the problem has parts and
/// its workspaces fit in the launch's workspace. One that reads packed values needs those.
Status chooseVariant(const sparsec_kernel_s &kernel, const sparsec_plan_s *plan, const sparsec_argument_t *arguments,
                     const Problem &problem, const LaunchMemory &memory, size_t &outVariant);

/// Whether the (checked) arguments meet the requirements of a variant.
Status checkRequirements(const sparsec_kernel_s &kernel, const Variant &variant, const sparsec_argument_t *arguments);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_CHOOSE_VARIANT_H
