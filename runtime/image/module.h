// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled file loaded for one device, and its kernels.

#ifndef SPARSEC_RUNTIME_MODULE_H
#define SPARSEC_RUNTIME_MODULE_H

#include "device/device.h"
#include "image/host_image.h"
#include "image/image.h"
#include "image/operation_rules.h"
#include "operations/kernel_shape.h"

#include <map>

namespace sparsec::runtime {

class Module;

constexpr uint32_t noArgument = UINT32_MAX;

/// One machine kernel, ready to run.
struct Stage {
  const sparsec_stage_info_t *info = nullptr;
  /// CUDA: workers (CTAs, clusters, or teams in a CTA) that are resident at once; the largest grid.
  int64_t residentWorkers = 0;
  CUfunction cudaFunction = nullptr;
  sparsec_host_kernel_t hostFunction = nullptr;
};

struct Variant {
  const sparsec_variant_info_t *info = nullptr;
  std::vector<Stage> stages; // at least one

  /// The one that follows the plan.
  const Stage &first() const { return stages.front(); }
};

} // namespace sparsec::runtime

struct sparsec_kernel_s {
  sparsec::runtime::Module *module;
  const sparsec_kernel_info_t *info;
  std::vector<sparsec::runtime::Variant> variants;
  std::map<uint32_t, sparsec::runtime::Stage> auxiliaries; // by sparsec_auxiliary_kind_t

  const sparsec_argument_info_t &argument(uint32_t number) const;
  bool isResult(uint32_t argument) const { return argument >= info->argument_count - info->result_count; }
  const sparsec_operation_info_t &operation() const;
  /// The row of the rules' table for the kernel's operation.
  const sparsec::runtime::OperationRule &rule() const;
  sparsec::Records<sparsec_operand_info_t> operands() const;
  /// The (first) operand in a slot of the operation; null if the kernel has none.
  const sparsec_operand_info_t *operand(uint32_t slot) const;
  /// Its argument, or noArgument.
  uint32_t of(uint32_t slot) const;
  /// An attribute of the operation; 0 if it does not have the optional one.
  int64_t attribute(sparsec_attribute_key_t key) const;
  /// A plan cost that every variant of the operation has.
  uint32_t planCost(const sparsec_variant_info_t &variant, sparsec_plan_cost_key_t key) const;
  /// Null if the kernel has no such machine kernel beside those of its variants.
  const sparsec::runtime::Stage *auxiliary(sparsec_auxiliary_kind_t kind) const;
  /// Null if the kernel has no such region.
  const sparsec_region_info_t *region(sparsec_region_slot_t slot) const;
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
  Status forEachStage(const std::function<Status(Stage &)> &body);
  Status checkLimits();
  Status checkLimits(const sparsec_stage_info_t &stage) const;
  Status loadCudaCode(const Image &image);
  Status loadCudaStage(Stage &stage);
  Status countResidentWorkers(Stage &stage);
  Status loadHostCode(const Image &image);

  CUmodule cudaModule = nullptr;
  HostImage hostImage;
};

} // namespace sparsec::runtime

struct sparsec_module_s {
  std::shared_ptr<sparsec::runtime::Module> module;
};

#endif // SPARSEC_RUNTIME_MODULE_H
