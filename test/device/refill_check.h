// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans that are refilled on the device, next to those that the host makes from the same lists.

#ifndef SPARSEC_TEST_DEVICE_REFILL_CHECK_H
#define SPARSEC_TEST_DEVICE_REFILL_CHECK_H

#include "harness/handles.h"

#include <functional>

namespace sparsec::device_test {

/// The launches of a kernel with arguments that stay.
struct RefilledLaunch {
  std::vector<sparsec::Argument> arguments;
  /// Poisons the result, launches, waits and downloads the result.
  std::function<void(sparsec_plan_t plan)> run;
  std::function<std::string()> findError;
  std::function<std::vector<char>()> resultBytes;
  /// The same in parts, for a launch inside a CUDA graph; may be null.
  std::function<void()> poison, download;
  std::function<void(sparsec_plan_t plan, void *stream)> enqueue;
};

/// Those of arguments that are launched as a whole.
template <typename Arguments> RefilledLaunch refilledLaunch(Arguments &arguments) {
  RefilledLaunch launch;
  launch.arguments = arguments.list();
  launch.run = [&](sparsec_plan_t plan) { arguments.run(plan); };
  launch.findError = [&] { return arguments.findError(); };
  launch.resultBytes = [&] { return arguments.resultBytes(); };
  return launch;
}

/// Refills a plan with half of the first matrix's blocks, then with all, and again inside a CUDA graph where the device
/// is a GPU. Reports with GoogleTest each section that differs from that of the host's plan, and results that are
/// wrong or have other bits.
void checkRefill(sparsec_device_t device, sparsec_kernel_t kernel, const RefilledLaunch &launch);

/// The same of the sections alone: nothing but refills is launched. `launch` needs no functions.
void checkRefilledSections(sparsec_device_t device, sparsec_kernel_t kernel, const RefilledLaunch &launch);

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_REFILL_CHECK_H
