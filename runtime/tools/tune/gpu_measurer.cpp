// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "gpu_measurer.h"

#include "check.h"
#include "timer.h"
#include "workspace.h"

namespace sparsec::tune {

using run::toError;

namespace {
/// The kernel of one candidate.
struct LoadedKernel {
  run::OwnedModule module;
  sparsec_kernel_t kernel = nullptr;
};

/// Inputs for a pattern, in host memory and on the device. The kernel is that of any candidate: their arguments are the
/// same.
struct PatternInputs {
  LoadedKernel owner;
  run::HostArguments host;
  run::DeviceArguments device;
  run::ExpectedRows expected;

  PatternInputs(sparsec_device_t device, LoadedKernel owner, run::HostArguments host)
      : owner(std::move(owner)), host(std::move(host)), device(device) {}

  const readers::BlockMatrix &matrix() const { return host.of(SPARSEC_SPMM_MATRIX)->matrix; }
};

/// The launches of a candidate need these.
struct Launch {
  sparsec_kernel_t kernel;
  run::OwnedPlan plan;
  ArgumentArray arguments;
  run::Workspace workspace;
  sparsec_launch_options_t options = {};

  Launch(sparsec_device_t device, sparsec_kernel_t kernel, llvm::ArrayRef<Argument> views)
      : kernel(kernel), arguments(views.data(), views.size()), workspace(device) {}

  llvm::Error run() const {
    return toError(sparsec_launch_with_options(kernel, plan.get(), arguments.data(), arguments.size(), &options));
  }
};

class GpuMeasurer : public Measurer {
public:
  GpuMeasurer(const WorkFolder &folder, run::OwnedDevice device, Setting setting)
      : folder(folder), ownSetting(std::move(setting)), device(std::move(device)),
        timer(this->device.get(), stream, int(ownSetting.launches)) {}

  const Setting &setting() const override { return ownSetting; }
  llvm::Error begin(const Pattern &pattern, const Candidate &first) override;
  llvm::Error measure(const Candidate &candidate, Measurement &measurement) override;

private:
  llvm::Expected<LoadedKernel> load(const Candidate &candidate) const;
  llvm::Expected<std::unique_ptr<Launch>> prepare(sparsec_kernel_t kernel) const;
  llvm::Expected<std::string> checkVariant(const Launch &launch, const Candidate &candidate) const;
  llvm::Expected<std::string> findError(const Launch &launch);
  llvm::Expected<bench::Timing> time(const Launch &launch) const;
  void poisonResults() const;

  const WorkFolder &folder;
  const Setting ownSetting;
  run::OwnedDevice device;
  harness::CudaStream stream;
  bench::FlushedTimer timer;
  std::unique_ptr<PatternInputs> inputs;
};
} // namespace

llvm::Expected<LoadedKernel> GpuMeasurer::load(const Candidate &candidate) const {
  const std::string path = folder.cubin(candidate);
  auto file = readers::readFile(path);
  if (!file)
    return file.takeError();
  LoadedKernel loaded;
  sparsec_module_t module = nullptr;
  if (llvm::Error error = toError(
          sparsec_module_load(device.get(), (*file)->getBufferStart(), (*file)->getBufferSize(), &module), path))
    return error;
  loaded.module.reset(module);
  if (llvm::Error error = toError(sparsec_module_kernel(module, candidate.kernel.c_str(), &loaded.kernel), path))
    return error;
  return loaded;
}

llvm::Error GpuMeasurer::begin(const Pattern &pattern, const Candidate &first) {
  inputs.reset(); // before there are others: they may fill the memory
  auto owner = load(first);
  if (!owner)
    return owner.takeError();
  sparsec_kernel_t kernel = owner->kernel;
  auto host = run::HostArguments::makeForMatrix(kernel, pattern.text, ownSetting.columns, readers::Limits());
  if (!host)
    return host.takeError();
  inputs = std::make_unique<PatternInputs>(device.get(), std::move(*owner), std::move(*host));
  if (llvm::Error error = inputs->device.upload(inputs->host))
    return error;
  constexpr int64_t rowsToCompare = 8;
  auto expected = run::ExpectedRows::compute(kernel, inputs->host, {run::CheckRequest::Rows::count, rowsToCompare});
  if (!expected)
    return expected.takeError();
  inputs->expected = std::move(*expected);
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<Launch>> GpuMeasurer::prepare(sparsec_kernel_t kernel) const {
  auto launch = std::make_unique<Launch>(device.get(), kernel, inputs->device.views());
  auto options = sized<sparsec_plan_options_t>();
  options.arguments = launch->arguments.data();
  options.argument_count = launch->arguments.size();
  options.stream = stream.handle();
  sparsec_plan_t plan = nullptr;
  if (llvm::Error error = toError(sparsec_plan_create(kernel, &options, &plan)))
    return error;
  launch->plan.reset(plan);
  if (llvm::Error error = launch->workspace.allocate(plan, launch->arguments))
    return error;
  launch->options = launch->workspace.options();
  launch->options.stream = stream.handle();
  return launch;
}

/// Says which other schedule launches have; empty where it is that of the candidate. ptxas may have refused that, or
/// the result may be narrow, or have few tiles.
llvm::Expected<std::string> GpuMeasurer::checkVariant(const Launch &launch, const Candidate &candidate) const {
  size_t variant = 0;
  if (llvm::Error error = toError(sparsec_launch_variant(launch.kernel, launch.plan.get(), launch.arguments.data(),
                                                         launch.arguments.size(), &variant)))
    return error;
  const std::string schedule = sparsec_kernel_variant(launch.kernel, variant)->schedule;
  return schedule == candidate.name ? "" : "launches have the schedule " + schedule;
}

/// Fills the results with NaN, so that an element that is never written is seen.
void GpuMeasurer::poisonResults() const {
  const harness::CudaDriver &driver = *harness::CudaDriver::get();
  for (const auto &[argument, view] : llvm::zip(inputs->host.all(), inputs->device.views()))
    if (argument.isResult)
      driver.check(driver.memsetAsync(reinterpret_cast<uint64_t>(view.dense.data), 0xff, argument.elements.size(),
                                      stream.handle()),
                   "cuMemsetD8Async");
}

/// Launches once, and says what is wrong with the result.
llvm::Expected<std::string> GpuMeasurer::findError(const Launch &launch) {
  poisonResults();
  if (llvm::Error error = launch.run())
    return error;
  if (llvm::Error error = toError(sparsec_synchronize(device.get(), stream.handle())))
    return error;
  if (llvm::Error error = inputs->device.downloadResults(inputs->host))
    return error;
  auto result = inputs->expected.compare(inputs->host);
  if (!result)
    return result.takeError();
  if (result->wrongElements == 0)
    return "";
  return fmt::format("{} elements of {} rows are wrong, the first one ({}, {}): {}, but should be {}",
                     result->wrongElements, result->rowsChecked, result->firstWrong->row, result->firstWrong->column,
                     result->firstWrong->got, result->firstWrong->exact);
}

llvm::Error GpuMeasurer::measure(const Candidate &candidate, Measurement &measurement) {
  const readers::BlockMatrix &matrix = inputs->matrix();
  measurement.rows = matrix.rows;
  measurement.depth = matrix.columns;
  measurement.blocks = matrix.blockCount();
  measurement.density =
      double(matrix.blockCount()) / std::max(1.0, double(matrix.blockRowCount() * matrix.blockColumnCount()));
  auto loaded = load(candidate);
  if (!loaded)
    return loaded.takeError();
  auto launch = prepare(loaded->kernel);
  if (!launch)
    return launch.takeError();
  // Where a launch fails, the context of the device has ended. The next run goes on with other candidates.
  auto fail = [&](llvm::Error error) {
    measurement.error = llvm::toString(std::move(error));
    return failure("candidate {} ({}): {}", candidate.number, candidate.name, measurement.error);
  };
  auto mistake = checkVariant(**launch, candidate);
  if (mistake && mistake->empty())
    mistake = findError(**launch);
  if (!mistake)
    return fail(mistake.takeError());
  measurement.error = *mistake;
  if (!measurement.error.empty())
    return llvm::Error::success();
  auto timing = time(**launch);
  if (!timing)
    return fail(timing.takeError());
  measurement.milliseconds = timing->medianMilliseconds;
  measurement.bestMilliseconds = timing->bestMilliseconds;
  const double flops = 2.0 * double(matrix.blockCount() * matrix.format.blockRows * matrix.format.blockColumns) *
                       double(inputs->host.problem().columns);
  measurement.teraflops = flops / timing->medianMilliseconds * 1e-9;
  return llvm::Error::success();
}

llvm::Expected<bench::Timing> GpuMeasurer::time(const Launch &launch) const {
  try {
    return timer.measure([&] {
      if (llvm::Error error = launch.run())
        throw std::runtime_error(llvm::toString(std::move(error)));
    });
  } catch (const std::exception &exception) {
    return failure("{}", exception.what());
  }
}

llvm::Expected<std::unique_ptr<Measurer>> openGpuMeasurer(const WorkFolder &folder, int32_t ordinal, int64_t columns,
                                                          int64_t launches) {
  sparsec_device_t handle = nullptr;
  if (llvm::Error error = toError(sparsec_device_open_cuda(ordinal, &handle)))
    return error;
  run::OwnedDevice device(handle);
  auto info = sized<sparsec_device_info_t>();
  if (llvm::Error error = toError(sparsec_device_info(handle, &info)))
    return error;
  const harness::CudaDriver *driver = harness::CudaDriver::get();
  if (!driver)
    return failure("the CUDA driver lacks functions that measurements need");
  driver->useDevice(ordinal);
  int version = 0;
  driver->check(driver->driverGetVersion(&version), "cuDriverGetVersion");
  return std::make_unique<GpuMeasurer>(folder, std::move(device), Setting{info.name, version, columns, launches});
}

} // namespace sparsec::tune
