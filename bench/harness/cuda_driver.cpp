// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "harness/cuda_driver.h"

#include <dlfcn.h>
#include <stdexcept>

namespace sparsec::harness {

namespace {

constexpr unsigned nonBlockingStream = 1; // CU_STREAM_NON_BLOCKING
constexpr int threadLocalCapture = 1;     // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

template <typename Function> bool load(void *library, const char *symbol, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

bool loadAll(void *library, CudaDriver &driver) {
  return load(library, "cuInit", driver.init) && load(library, "cuDriverGetVersion", driver.driverGetVersion) &&
         load(library, "cuDeviceGetCount", driver.deviceGetCount) && load(library, "cuDeviceGet", driver.deviceGet) &&
         load(library, "cuDeviceGetAttribute", driver.deviceGetAttribute) &&
         load(library, "cuDevicePrimaryCtxRetain", driver.primaryContextRetain) &&
         load(library, "cuCtxSetCurrent", driver.contextSetCurrent) &&
         load(library, "cuCtxGetDevice", driver.contextGetDevice) &&
         load(library, "cuCtxSynchronize", driver.contextSynchronize) &&
         load(library, "cuGetErrorName", driver.getErrorName) && load(library, "cuStreamCreate", driver.streamCreate) &&
         load(library, "cuStreamDestroy_v2", driver.streamDestroy) &&
         load(library, "cuStreamSynchronize", driver.streamSynchronize) &&
         load(library, "cuStreamBeginCapture_v2", driver.streamBeginCapture) &&
         load(library, "cuStreamEndCapture", driver.streamEndCapture) &&
         load(library, "cuGraphInstantiateWithFlags", driver.graphInstantiate) &&
         load(library, "cuGraphLaunch", driver.graphLaunch) &&
         load(library, "cuGraphExecDestroy", driver.graphExecutableDestroy) &&
         load(library, "cuGraphDestroy", driver.graphDestroy) && load(library, "cuEventCreate", driver.eventCreate) &&
         load(library, "cuEventDestroy_v2", driver.eventDestroy) &&
         load(library, "cuEventRecord", driver.eventRecord) &&
         load(library, "cuEventElapsedTime", driver.eventElapsedTime) &&
         load(library, "cuMemsetD8Async", driver.memsetAsync) &&
         load(library, "cuMemcpyDtoDAsync_v2", driver.copyAsync) &&
         load(library, "cuModuleLoadDataEx", driver.moduleLoadDataEx) &&
         load(library, "cuModuleUnload", driver.moduleUnload) &&
         load(library, "cuModuleGetFunction", driver.moduleGetFunction) &&
         load(library, "cuLaunchKernel", driver.launchKernel);
}

const CudaDriver &requireDriver() {
  const CudaDriver *driver = CudaDriver::get();
  if (!driver)
    throw std::runtime_error("no CUDA driver or no CUDA device");
  return *driver;
}

} // namespace

const CudaDriver *CudaDriver::get() {
  static CudaDriver driver;
  static const bool available = [] {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    int count = 0;
    return library && loadAll(library, driver) && driver.init(0) == 0 && driver.deviceGetCount(&count) == 0 &&
           count > 0;
  }();
  return available ? &driver : nullptr;
}

void CudaDriver::check(int result, const char *call) const {
  if (result == 0)
    return;
  const char *name = nullptr;
  if (getErrorName(result, &name) != 0 || !name)
    name = "unknown error";
  throw std::runtime_error(std::string(call) + ": " + name + " (" + std::to_string(result) + ")");
}

void CudaDriver::useDevice(int ordinal) const {
  int device = 0;
  void *context = nullptr;
  check(deviceGet(&device, ordinal), "cuDeviceGet");
  check(primaryContextRetain(&context, device), "cuDevicePrimaryCtxRetain");
  check(contextSetCurrent(context), "cuCtxSetCurrent");
}

CudaStream::CudaStream() {
  const CudaDriver &driver = requireDriver();
  driver.check(driver.streamCreate(&stream, nonBlockingStream), "cuStreamCreate");
}

CudaStream::~CudaStream() { CudaDriver::get()->streamDestroy(stream); }

void CudaStream::synchronize() const {
  const CudaDriver &driver = requireDriver();
  driver.check(driver.streamSynchronize(stream), "cuStreamSynchronize");
}

CudaEvent::CudaEvent() {
  const CudaDriver &driver = requireDriver();
  driver.check(driver.eventCreate(&event, 0), "cuEventCreate");
}

CudaEvent::~CudaEvent() { CudaDriver::get()->eventDestroy(event); }

void CudaEvent::record(const CudaStream &stream) const {
  const CudaDriver &driver = requireDriver();
  driver.check(driver.eventRecord(event, stream.handle()), "cuEventRecord");
}

double CudaEvent::millisecondsSince(const CudaEvent &start) const {
  const CudaDriver &driver = requireDriver();
  float milliseconds = 0;
  driver.check(driver.eventElapsedTime(&milliseconds, start.event, event), "cuEventElapsedTime");
  return milliseconds;
}

CudaGraph::CudaGraph(const CudaStream &stream, const std::function<void()> &enqueue) {
  const CudaDriver &driver = requireDriver();
  void *graph = nullptr;
  driver.check(driver.streamBeginCapture(stream.handle(), threadLocalCapture), "cuStreamBeginCapture");
  try {
    enqueue();
  } catch (...) {
    driver.streamEndCapture(stream.handle(), &graph);
    throw;
  }
  driver.check(driver.streamEndCapture(stream.handle(), &graph), "cuStreamEndCapture");
  int result = driver.graphInstantiate(&executable, graph, 0);
  driver.graphDestroy(graph);
  driver.check(result, "cuGraphInstantiateWithFlags");
}

CudaGraph::~CudaGraph() { CudaDriver::get()->graphExecutableDestroy(executable); }

void CudaGraph::launch(const CudaStream &stream) const {
  const CudaDriver &driver = requireDriver();
  driver.check(driver.graphLaunch(executable, stream.handle()), "cuGraphLaunch");
}

} // namespace sparsec::harness
