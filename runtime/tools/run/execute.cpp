// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "execute.h"

#include "output.h"
#include "progress.h"
#include "workspace.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace sparsec::run {

std::optional<DeviceRequest> DeviceRequest::parse(llvm::StringRef text) {
  if (text == "auto")
    return DeviceRequest{Kind::automatic, 0};
  if (text == "host")
    return DeviceRequest{Kind::host, 0};
  if (text == "cuda")
    return DeviceRequest{Kind::cuda, 0};
  DeviceRequest request{Kind::cuda, 0};
  if (!text.consume_front("cuda:") || text.getAsInteger(10, request.ordinal) || request.ordinal < 0)
    return std::nullopt;
  return request;
}

//===----------------------------------------------------------------------===//
// Devices and modules
//===----------------------------------------------------------------------===//

static llvm::Expected<LoadedModule> loadOn(llvm::StringRef file, DeviceRequest request) {
  LoadedModule loaded;
  auto options = sized<sparsec_device_options_t>();
  options.kind = request.kind == DeviceRequest::Kind::host ? SPARSEC_TARGET_HOST : SPARSEC_TARGET_CUDA;
  options.ordinal = request.ordinal;
  options.flags = SPARSEC_DEVICE_CHECK_MEMORY;
  sparsec_device_t device = nullptr;
  if (llvm::Error error = toError(sparsec_device_open(&options, &device)))
    return error;
  loaded.device.reset(device);
  if (llvm::Error error = toError(sparsec_device_info(device, &loaded.deviceInfo)))
    return error;
  sparsec_module_t module = nullptr;
  if (llvm::Error error = toError(sparsec_module_load(device, file.data(), file.size(), &module)))
    return error;
  loaded.module.reset(module);
  return loaded;
}

/// The choice of --device=auto.
static llvm::Expected<LoadedModule> loadAnywhere(llvm::StringRef file) {
  auto images = readImages(file);
  if (!images)
    return images.takeError();
  bool hasHostImage =
      llvm::any_of(*images, [](const auto &image) { return image.info->target_kind == SPARSEC_TARGET_HOST; });
  bool hasCudaImage =
      llvm::any_of(*images, [](const auto &image) { return image.info->target_kind == SPARSEC_TARGET_CUDA; });
  int32_t devices = 0;
  if (hasCudaImage)
    if (llvm::Error error = toError(sparsec_cuda_device_count(&devices)))
      return error;
  if (devices == 0) {
    if (hasHostImage)
      return loadOn(file, {DeviceRequest::Kind::host, 0});
    std::string targets =
        llvm::join(llvm::map_range(*images, [](const auto &image) { return nameOf(image.info->target).str(); }), ", ");
    return failure("the file holds images for {} only, and this machine has no CUDA device: compile with --arch=host "
                   "to run on the processor",
                   targets);
  }
  auto loaded = loadOn(file, {DeviceRequest::Kind::cuda, 0});
  if (loaded || !hasHostImage)
    return loaded;
  // A GPU that no image was compiled for leaves the host; every other error is the user's to know.
  llvm::Error error = llvm::handleErrors(loaded.takeError(), [](std::unique_ptr<StatusError> status) -> llvm::Error {
    if (status->code != SPARSEC_STATUS_WRONG_DEVICE)
      return llvm::Error(std::move(status));
    llvm::errs() << "sparsec-run: running on the host: " << status->message << '\n';
    return llvm::Error::success();
  });
  if (error)
    return error;
  return loadOn(file, {DeviceRequest::Kind::host, 0});
}

llvm::Expected<LoadedModule> loadModule(llvm::StringRef file, DeviceRequest request) {
  return request.kind == DeviceRequest::Kind::automatic ? loadAnywhere(file) : loadOn(file, request);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
/// One kernel with its arguments on the device.
struct Launcher {
  sparsec_device_t device;
  sparsec_kernel_t kernel;
  sparsec_plan_t plan;
  const ArgumentArray &arguments;
  sparsec_launch_options_t options;

  /// Launches `count` times, waits, and gives the milliseconds of all.
  llvm::Expected<double> run(int64_t count) const {
    auto start = std::chrono::steady_clock::now();
    for (int64_t index = 0; index < count; ++index)
      if (llvm::Error error =
              toError(sparsec_launch_with_options(kernel, plan, arguments.data(), arguments.size(), &options)))
        return error;
    if (llvm::Error error = toError(sparsec_synchronize(device, nullptr)))
      return error;
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
};
} // namespace

static llvm::Expected<Timing> measure(const Launcher &launcher, int64_t samples) {
  constexpr double batchMilliseconds = 20.0;
  auto single = launcher.run(1);
  if (!single)
    return single.takeError();
  int64_t launches = int64_t(std::clamp(std::ceil(batchMilliseconds / std::max(*single, 1e-3)), 1.0, 1000.0));
  std::vector<double> times;
  Progress progress("timing samples");
  for (int64_t sample = 0; sample < samples; ++sample) {
    auto time = launcher.run(launches);
    if (!time)
      return time.takeError();
    times.push_back(*time / double(launches));
    progress.update(sample + 1, samples);
  }
  std::sort(times.begin(), times.end());
  double median = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2.0;
  return Timing{median, times.front(), samples, launches};
}

static llvm::Expected<OwnedPlan> createPlan(sparsec_kernel_t kernel, sparsec_plan_options_t options, uint32_t flags) {
  Progress progress("making the plan");
  options.flags = flags;
  options.progress_data = &progress;
  options.progress = [](void *data, int64_t done, int64_t total) -> int32_t {
    static_cast<Progress *>(data)->update(done, total);
    return 0;
  };
  sparsec_plan_t created = nullptr;
  if (llvm::Error error = toError(sparsec_plan_create(kernel, &options, &created)))
    return error;
  return OwnedPlan(created);
}

static llvm::Expected<OwnedPlan> loadPlan(sparsec_kernel_t kernel, const sparsec_plan_options_t &options,
                                          const std::string &path) {
  auto file = readers::readFile(path);
  if (!file)
    return file.takeError();
  const llvm::StringRef bytes = (*file)->getBuffer();
  sparsec_plan_t loaded = nullptr;
  if (llvm::Error error =
          toError(sparsec_plan_load(kernel, bytes.data(), bytes.size(), &options, &loaded), fmt::format("'{}'", path)))
    return error;
  return OwnedPlan(loaded);
}

static llvm::Error savePlan(sparsec_plan_t plan, const std::string &path) {
  size_t size = 0;
  if (llvm::Error error = toError(sparsec_plan_save(plan, nullptr, 0, &size)))
    return error;
  std::string bytes(size, 0);
  if (llvm::Error error = toError(sparsec_plan_save(plan, bytes.data(), bytes.size(), &size)))
    return error;
  return writeFile(path, bytes);
}

/// The plan that is asked for; null: none.
static llvm::Expected<OwnedPlan> makePlan(sparsec_kernel_t kernel, const ArgumentArray &arguments,
                                          const PlanRequest &request) {
  auto options = sized<sparsec_plan_options_t>();
  options.arguments = arguments.data();
  options.argument_count = arguments.size();
  switch (request.kind) {
  case PlanRequest::Kind::none:
    return OwnedPlan();
  case PlanRequest::Kind::loaded:
    return loadPlan(kernel, options, request.loadFile);
  case PlanRequest::Kind::forStaticPattern:
    return createPlan(kernel, options, SPARSEC_PLAN_STATIC_PATTERN | (request.packs ? SPARSEC_PLAN_PACK : 0));
  case PlanRequest::Kind::forDynamicPattern:
    return createPlan(kernel, options, 0);
  }
  llvm_unreachable("unknown kind");
}

/// The values of the block-sparse argument, as far as the plan packs them; null: it does not, or there is no plan.
static llvm::Expected<OwnedPacked> packValues(sparsec_plan_t plan, const ArgumentArray &arguments) {
  const auto *matrix = llvm::find_if(llvm::ArrayRef(arguments.data(), arguments.size()),
                                     [](const auto &argument) { return argument.kind == SPARSEC_ARGUMENT_BSR; });
  if (!plan || matrix == arguments.data() + arguments.size())
    return OwnedPacked();
  const auto options = sized<sparsec_pack_options_t>();
  sparsec_packed_t packed = nullptr;
  if (llvm::Error error =
          toError(sparsec_plan_pack(plan, static_cast<const sparsec_blocks_t *>(matrix->view), &options, &packed)))
    return error;
  return OwnedPacked(packed);
}

llvm::Expected<Execution> execute(const LoadedModule &loaded, sparsec_kernel_t kernel, HostArguments &host,
                                  const PlanRequest &request, int64_t samples) {
  Execution execution;
  DeviceArguments arguments(loaded.device.get());
  if (llvm::Error error = arguments.upload(host))
    return error;
  const ArgumentArray views(arguments.views().data(), arguments.views().size());
  auto plan = makePlan(kernel, views, request);
  if (!plan)
    return plan.takeError();
  if (!request.saveFile.empty())
    if (llvm::Error error = savePlan(plan->get(), request.saveFile))
      return error;
  size_t variant = 0;
  if (llvm::Error error = toError(sparsec_launch_variant(kernel, plan->get(), views.data(), views.size(), &variant)))
    return error;
  execution.variant = sparsec_kernel_variant(kernel, variant);
  execution.stage = sparsec_kernel_stage(kernel, variant, 0);
  if (*plan) {
    execution.plan = sized<sparsec_plan_info_t>();
    if (llvm::Error error = toError(sparsec_plan_info(plan->get(), variant, &*execution.plan)))
      return error;
  }

  auto packed = packValues(plan->get(), views);
  if (!packed)
    return packed.takeError();
  Workspace workspace(loaded.device.get());
  if (llvm::Error error = workspace.allocate(plan->get(), views))
    return error;
  Launcher launcher{loaded.device.get(), kernel, plan->get(), views, workspace.options()};
  launcher.options.packed = packed->get();
  auto first = launcher.run(1);
  if (!first)
    return first.takeError();
  if (llvm::Error error = arguments.downloadResults(host))
    return error;
  if (samples > 0) {
    auto timing = measure(launcher, samples);
    if (!timing)
      return timing.takeError();
    execution.timing = *timing;
  }
  return execution;
}

} // namespace sparsec::run
