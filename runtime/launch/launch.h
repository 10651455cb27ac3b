// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of a launch: check and choose the variant, fill its parameters, enqueue.

#ifndef SPARSEC_RUNTIME_LAUNCH_H
#define SPARSEC_RUNTIME_LAUNCH_H

#include "launch/parameters.h"

#include <optional>

namespace sparsec::runtime {

/// A launch that is checked, and has its variant.
struct Launch {
  const sparsec_kernel_s &kernel;
  const Variant &variant;
  const sparsec_argument_t *arguments;
  const VariantPlan *plan; // may be null
  void *workspace;         // may be null
  Problem problem;
  const sparsec_packed_s *packed;   // null: the variant reads the stored values
  std::span<const KnownList> lists; // of the plan
};

/// Checks everything but the lists of blocks, and chooses the variant. `outLaunch` stays empty where there is nothing
/// to compute. It refers to the arguments.
Status prepareLaunch(const sparsec_kernel_s &kernel, sparsec_plan_t plan, const sparsec_argument_t *arguments,
                     size_t count, const sparsec_launch_options_t &options, std::optional<Launch> &outLaunch);

/// One of the variant's machine kernels, which run one after the other. The first one follows the plan.
StageLaunch stageOf(const Launch &launch, const Stage &stage);

/// Enqueues a machine kernel. The device's context must be current.
Status runOnGpu(const StageLaunch &launch, ParameterPack &parameters, void *stream);
void runOnHost(const StageLaunch &launch, const ParameterPack &parameters);

/// Enqueues an auxiliary kernel, with a tile for every list. The (checked) arguments and inputs hold what it takes; see
/// sparsec_auxiliary_kind_t.
Status launchAuxiliary(StageLaunch launch, std::span<const void *const> inputs, int64_t lists, void *stream);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_LAUNCH_H
