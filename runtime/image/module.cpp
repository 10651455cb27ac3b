// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image/module.h"

#include <algorithm>
#include <cstring>

using sparsec::Records;
using sparsec::runtime::noArgument;

const sparsec_argument_info_t &sparsec_kernel_s::argument(uint32_t number) const {
  return module->info.argumentsOf(*info)[number];
}

const sparsec_operation_info_t &sparsec_kernel_s::operation() const { return module->info.operationOf(*info); }

const sparsec::runtime::OperationRule &sparsec_kernel_s::rule() const {
  return *sparsec::runtime::findOperation(operation().kind);
}

Records<sparsec_operand_info_t> sparsec_kernel_s::operands() const { return module->info.operandsOf(operation()); }

const sparsec_operand_info_t *sparsec_kernel_s::operand(uint32_t slot) const {
  for (const sparsec_operand_info_t &operand : operands())
    if (operand.slot == slot)
      return &operand;
  return nullptr;
}

uint32_t sparsec_kernel_s::of(uint32_t slot) const {
  const sparsec_operand_info_t *found = operand(slot);
  return found ? found->argument : noArgument;
}

int64_t sparsec_kernel_s::attribute(sparsec_attribute_key_t key) const {
  for (const sparsec_attribute_info_t &attribute : module->info.attributesOf(operation()))
    if (attribute.key == uint32_t(key))
      return attribute.value;
  return 0;
}

uint32_t sparsec_kernel_s::planCost(const sparsec_variant_info_t &variant, sparsec_plan_cost_key_t key) const {
  for (const sparsec_plan_cost_info_t &cost : module->info.planCostsOf(variant))
    if (cost.key == uint32_t(key))
      return cost.value;
  return 0;
}

const sparsec::runtime::Stage *sparsec_kernel_s::auxiliary(sparsec_auxiliary_kind_t kind) const {
  const auto found = auxiliaries.find(kind);
  return found == auxiliaries.end() ? nullptr : &found->second;
}

const sparsec_region_info_t *sparsec_kernel_s::region(sparsec_region_slot_t slot) const {
  for (const sparsec_region_info_t &region : module->info.regionsOf(operation()))
    if (region.slot == uint32_t(slot))
      return &region;
  return nullptr;
}

namespace sparsec::runtime {

Status Module::load(std::shared_ptr<Device> device, Bytes file, std::shared_ptr<Module> &outModule) {
  Image image;
  SPARSEC_RETURN_IF_ERROR(selectImage(file, device->info, image));
  auto module = std::make_shared<Module>();
  module->device = std::move(device);
  module->info = std::move(image.info);
  module->makeKernels();
  if (module->device->isHost()) {
    SPARSEC_RETURN_IF_ERROR(module->loadHostCode(image));
  } else {
    SPARSEC_RETURN_IF_ERROR(module->checkLimits());
    SPARSEC_RETURN_IF_ERROR(module->loadCudaCode(image));
  }
  outModule = std::move(module);
  return {};
}

Module::~Module() {
  if (!cudaModule)
    return;
  if (ContextScope current(*device); current.ok())
    device->cuda->cuModuleUnload(cudaModule);
}

void Module::makeKernels() {
  auto stages = info.all<sparsec_stage_info_t>();
  for (const sparsec_kernel_info_t &kernelInfo : info.all<sparsec_kernel_info_t>()) {
    sparsec_kernel_s kernel = {this, &kernelInfo, {}, {}};
    for (const sparsec_variant_info_t &variant : info.variantsOf(kernelInfo)) {
      kernel.variants.push_back({.info = &variant, .stages = {}});
      for (const sparsec_stage_info_t &stage : info.stagesOf(variant))
        kernel.variants.back().stages.push_back({.info = &stage});
    }
    for (const sparsec_auxiliary_info_t &auxiliary : info.auxiliariesOf(kernelInfo))
      kernel.auxiliaries[auxiliary.kind] = {.info = &stages[auxiliary.stage]};
    kernels.push_back(std::move(kernel));
  }
}

Status Module::forEachStage(const std::function<Status(Stage &)> &body) {
  for (sparsec_kernel_s &kernel : kernels) {
    for (Variant &variant : kernel.variants)
      for (Stage &stage : variant.stages)
        SPARSEC_RETURN_IF_ERROR(body(stage));
    for (auto &[kind, stage] : kernel.auxiliaries)
      SPARSEC_RETURN_IF_ERROR(body(stage));
  }
  return {};
}

Status Module::checkLimits() {
  return forEachStage([&](const Stage &stage) { return checkLimits(*stage.info); });
}

Status Module::checkLimits(const sparsec_stage_info_t &stage) const {
  auto exceeds = [&](int64_t needed, const char *what, int64_t limit) {
    return makeStatus(SPARSEC_STATUS_DEVICE_LIMIT, "kernel '", stage.symbol, "' needs ", needed, " ", what, ", but '",
                      device->info.name, "' has ", limit);
  };
  int64_t sharedMemory = int64_t(stage.dynamic_shared_memory) + stage.static_shared_memory;
  if (sharedMemory > device->info.shared_memory_per_block)
    return exceeds(sharedMemory, "bytes of shared memory per block", device->info.shared_memory_per_block);
  if (int64_t(stage.threads) > device->threadsPerBlock)
    return exceeds(stage.threads, "threads per block", device->threadsPerBlock);
  int64_t registers = int64_t(stage.registers) * stage.threads;
  if (registers > device->registersPerBlock)
    return exceeds(registers, "registers per block", device->registersPerBlock);
  if (stage.cluster > 1 && !device->clusterLaunch)
    return makeStatus(SPARSEC_STATUS_DEVICE_LIMIT, "kernel '", stage.symbol, "' needs clusters of ", stage.cluster,
                      " blocks, but '", device->info.name, "' has no clusters");
  return {};
}

Status Module::loadCudaCode(const Image &image) {
  const CudaTable &cuda = *device->cuda;
  ContextScope current(*device);
  SPARSEC_RETURN_IF_ERROR(current.status());

  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  CUresult result = cuda.cuModuleLoadDataEx(&cudaModule, image.code.data(), 2, options, values);
  if (result != CUDA_SUCCESS) {
    cudaModule = nullptr;
    log[sizeof(log) - 1] = 0;
    Status status = cudaStatus(
        cuda, result, image.format == SPARSEC_IMAGE_PTX ? "compiling the PTX for the device" : "loading the cubin");
    if (log[0] == 0)
      return status;
    return makeStatus(status->code, status->message, "; driver log: ", log);
  }
  return forEachStage([&](Stage &stage) { return loadCudaStage(stage); });
}

Status Module::loadCudaStage(Stage &stage) {
  const CudaTable &cuda = *device->cuda;
  const char *symbol = stage.info->symbol;
  CUresult result = cuda.cuModuleGetFunction(&stage.cudaFunction, cudaModule, symbol);
  if (result == CUDA_ERROR_NOT_FOUND)
    return invalidImage("the image has no kernel '", symbol, "', although its launch info names it");
  SPARSEC_RETURN_IF_ERROR(cudaStatus(cuda, result, "looking up a kernel"));
  SPARSEC_RETURN_IF_ERROR(
      cudaStatus(cuda,
                 cuda.cuFuncSetAttribute(stage.cudaFunction, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                         int(stage.info->dynamic_shared_memory)),
                 "setting the kernel's dynamic shared memory"));
  // The code that the driver's own compiler made of PTX may need more registers. The query also makes the driver load
  // the function now instead of at the first launch.
  int threads = 0;
  SPARSEC_RETURN_IF_ERROR(
      cudaStatus(cuda, cuda.cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, stage.cudaFunction),
                 "reading the kernel's limits"));
  if (threads < int64_t(stage.info->threads))
    return makeStatus(SPARSEC_STATUS_DEVICE_LIMIT, "kernel '", symbol, "' needs ", stage.info->threads,
                      " threads per block, but as loaded it can have ", threads);
  return countResidentWorkers(stage);
}

Status Module::countResidentWorkers(Stage &stage) {
  const sparsec_stage_info_t &info = *stage.info;
  if (info.ctas_per_sm == 0) {
    stage.residentWorkers = maxSize;
    return {};
  }
  int64_t ctas = int64_t(device->info.multiprocessors) * info.ctas_per_sm;
  stage.residentWorkers = ctas / info.cluster * info.concurrent_tiles;
  if (info.cluster == 1)
    return {};
  // Clusters live inside one group of SMs: fewer fit than the number of SMs suggests.
  CUlaunchConfig config = {};
  config.gridDimX = info.cluster;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = info.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = info.dynamic_shared_memory;
  int clusters = 0;
  SPARSEC_RETURN_IF_ERROR(cudaStatus(*device->cuda,
                                     device->cuda->cuOccupancyMaxActiveClusters(&clusters, stage.cudaFunction, &config),
                                     "counting the clusters that fit the device"));
  if (clusters < 1)
    return makeStatus(SPARSEC_STATUS_DEVICE_LIMIT, "kernel '", info.symbol, "' needs clusters of ", info.cluster,
                      " blocks, but none fits '", device->info.name, "'");
  stage.residentWorkers = std::min<int64_t>(stage.residentWorkers, clusters);
  return {};
}

Status Module::loadHostCode(const Image &image) {
  SPARSEC_RETURN_IF_ERROR(hostImage.load(image.code));
  for (sparsec_kernel_s &kernel : kernels)
    for (Variant &variant : kernel.variants)
      for (Stage &stage : variant.stages)
        SPARSEC_RETURN_IF_ERROR(hostImage.function(stage.info->symbol, stage.hostFunction));
  return {};
}

namespace {

std::string kernelNames(const Module &module) {
  std::string names;
  for (const sparsec_kernel_s &kernel : module.kernels)
    names += std::string(names.empty() ? "'" : ", '") + kernel.info->name + "'";
  return names;
}

Status findKernel(Module &module, const char *name, sparsec_kernel_t &outKernel) {
  if (!name && module.kernels.size() != 1)
    return invalidArgument("name is NULL, but the module has ", module.kernels.size(),
                           " kernels: ", kernelNames(module));
  for (sparsec_kernel_s &kernel : module.kernels)
    if (!name || std::strcmp(kernel.info->name, name) == 0) {
      outKernel = &kernel;
      return {};
    }
  return makeStatus(SPARSEC_STATUS_NOT_FOUND, "no kernel '", name, "': the module has ", kernelNames(module));
}

} // namespace

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_module_load(sparsec_device_t device, const void *data, size_t bytes,
                                     sparsec_module_t *out_module) {
  return guarded([&]() -> Status {
    if (!out_module)
      return invalidArgument("out_module is NULL");
    *out_module = nullptr;
    if (!device || !data)
      return invalidArgument(device ? "data" : "device", " is NULL");
    std::shared_ptr<Module> module;
    SPARSEC_RETURN_IF_ERROR(Module::load(device->device, {static_cast<const uint8_t *>(data), bytes}, module));
    *out_module = new sparsec_module_s{std::move(module)};
    return {};
  });
}

void sparsec_module_destroy(sparsec_module_t module) { delete module; }

size_t sparsec_module_kernel_count(sparsec_module_t module) { return module ? module->module->kernels.size() : 0; }

sparsec_status_t sparsec_module_kernel(sparsec_module_t module, const char *name, sparsec_kernel_t *out_kernel) {
  return guarded([&]() -> Status {
    if (!out_kernel)
      return invalidArgument("out_kernel is NULL");
    *out_kernel = nullptr;
    if (!module)
      return invalidArgument("module is NULL");
    return findKernel(*module->module, name, *out_kernel);
  });
}

sparsec_status_t sparsec_module_kernel_at(sparsec_module_t module, size_t index, sparsec_kernel_t *out_kernel) {
  return guarded([&]() -> Status {
    if (!out_kernel)
      return invalidArgument("out_kernel is NULL");
    *out_kernel = nullptr;
    if (!module)
      return invalidArgument("module is NULL");
    std::vector<sparsec_kernel_s> &kernels = module->module->kernels;
    if (index >= kernels.size())
      return makeStatus(SPARSEC_STATUS_NOT_FOUND, "no kernel ", index, ": the module has ", kernels.size());
    *out_kernel = &kernels[index];
    return {};
  });
}

const sparsec_launch_info_t *sparsec_module_launch_info(sparsec_module_t module) {
  return module ? &module->module->info.header() : nullptr;
}

const sparsec_kernel_info_t *sparsec_kernel_info(sparsec_kernel_t kernel) { return kernel ? kernel->info : nullptr; }

const sparsec_argument_info_t *sparsec_kernel_argument(sparsec_kernel_t kernel, size_t index) {
  return kernel && index < kernel->info->argument_count ? &kernel->argument(uint32_t(index)) : nullptr;
}

const sparsec_operation_info_t *sparsec_kernel_operation(sparsec_kernel_t kernel) {
  return kernel ? &kernel->operation() : nullptr;
}

const sparsec_operand_info_t *sparsec_kernel_operand(sparsec_kernel_t kernel, size_t index) {
  return kernel && index < kernel->operands().size() ? &kernel->operands()[uint32_t(index)] : nullptr;
}

const sparsec_variant_info_t *sparsec_kernel_variant(sparsec_kernel_t kernel, size_t index) {
  return kernel && index < kernel->variants.size() ? kernel->variants[index].info : nullptr;
}

const sparsec_stage_info_t *sparsec_kernel_stage(sparsec_kernel_t kernel, size_t variant, size_t index) {
  if (!kernel || variant >= kernel->variants.size() || index >= kernel->variants[variant].stages.size())
    return nullptr;
  return kernel->variants[variant].stages[index].info;
}
