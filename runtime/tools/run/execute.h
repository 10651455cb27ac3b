// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chooses a device, loads a module, runs and times a kernel.

#ifndef SPARSEC_TOOLS_RUN_EXECUTE_H
#define SPARSEC_TOOLS_RUN_EXECUTE_H

#include "arguments.h"

#include <optional>
#include <string>

namespace sparsec::run {

/// --device.
struct DeviceRequest {
  enum class Kind { automatic, cuda, host } kind = Kind::automatic;
  int32_t ordinal = 0;

  /// auto, host, cuda or cuda:N; nothing for other text.
  static std::optional<DeviceRequest> parse(llvm::StringRef text);
};

/// A compiled file on a device. Members are destroyed last to first: the module before its device.
struct LoadedModule {
  OwnedDevice device;
  OwnedModule module;
  sparsec_device_info_t deviceInfo = sized<sparsec_device_info_t>();
};

/// `auto` takes the first GPU if there is one and the file has an image for it, else the host if the file has an image
/// for it.
llvm::Expected<LoadedModule> loadModule(llvm::StringRef file, DeviceRequest request);

/// --no-plan, --pattern, --load-plan, --save-plan and --pack.
struct PlanRequest {
  enum class Kind { none, forStaticPattern, forDynamicPattern, loaded } kind = Kind::forStaticPattern;
  std::string loadFile; // of a loaded plan
  std::string saveFile; // empty: the plan is not saved
  bool packs = false;   // of a static pattern: launches get packed values, if the plan has some
};

struct Timing {
  double medianMilliseconds, minimumMilliseconds;
  int64_t samples, launchesPerSample;
};

struct Execution {
  const sparsec_variant_info_t *variant = nullptr;
  const sparsec_stage_info_t *stage = nullptr; // its first
  std::optional<sparsec_plan_info_t> plan;
  std::optional<Timing> timing;
};

/// Runs the kernel once into `host`'s results and then, if `samples` is positive, times it: a sample is the wall-clock
/// time of a batch of launches and one synchronisation, divided by the launches. A batch takes about 20 ms, so that the
/// cost of the synchronisation does not count.
///
/// A plan that is to be saved is written before the kernel runs.
llvm::Expected<Execution> execute(const LoadedModule &loaded, sparsec_kernel_t kernel, HostArguments &host,
                                  const PlanRequest &request, int64_t samples);

} // namespace sparsec::run

#endif // SPARSEC_TOOLS_RUN_EXECUTE_H
