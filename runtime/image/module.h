// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled file loaded for one device, and its kernels.

#ifndef SPARSEC_RUNTIME_MODULE_H
#define SPARSEC_RUNTIME_MODULE_H

#include "device/device.h"
#include "image/host_image.h"
#include "image/image.h"
#include "operations/kernel_shape.h"

#include <optional>

namespace sparsec::runtime {

class Module;

constexpr uint32_t noArgument = UINT32_MAX;

/// One machine kernel, ready to run.
struct Variant {
  const sparsec_variant_info_t *info = nullptr;
  /// CUDA: workers (CTAs, clusters, or teams in a CTA) that are resident at once; the largest grid.
  int64_t residentWorkers = 0;
  CUfunction cudaFunction = nullptr;
  sparsec_host_kernel_t hostFunction = nullptr;
};

} // namespace sparsec::runtime

struct sparsec_kernel_s {
  sparsec::runtime::Module *module;
  const sparsec_kernel_info_t *info;
  std::vector<sparsec::runtime::Variant> variants;
  std::optional<sparsec::runtime::Variant> patternBuilder;

  const sparsec_argument_info_t &argument(uint32_t number) const;
  /// The number of the (first) argument of a role; noArgument if the kernel has none.
  uint32_t of(sparsec_argument_role_t role) const;
  /// What is special about an attention kernel.
  const sparsec_attention_info_t &attention() const;
};

namespace sparsec::runtime {

class Module : public std::enable_shared_from_this<Module> {
public:
  static Status load(std::shared_ptr<Device> device, Bytes file, std::shared_ptr<Module> &outModule);
  ~Module();

  std::shared_ptr<Device> device;
  LaunchInfo info;
  std::vector<sparsec_kernel_s> kernels;

private:
  void makeKernels();
  /// Calls `body` with every machine kernel, as long as it succeeds.
  Status forEachVariant(const std::function<Status(Variant &)> &body);
  Status checkLimits();
  Status checkLimits(const sparsec_variant_info_t &variant) const;
  Status loadCudaCode(const Image &image);
  Status loadCudaVariant(Variant &variant);
  Status countResidentWorkers(Variant &variant);
  Status loadHostCode(const Image &image);

  CUmodule cudaModule = nullptr;
  HostImage hostImage;
};

} // namespace sparsec::runtime

struct sparsec_module_s {
  std::shared_ptr<sparsec::runtime::Module> module;
};

#endif // SPARSEC_RUNTIME_MODULE_H
