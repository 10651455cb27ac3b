// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPARSEC_BENCH_HARNESS_GPU_H
#define SPARSEC_BENCH_HARNESS_GPU_H

#include "harness/cuda_driver.h"
#include "harness/handles.h"

namespace sparsec::harness {

/// Opens GPU 0 for the runtime, and makes it current for calls of the driver. There must be a driver.
inline Device openGpu() {
  CudaDriver::get()->useDevice(0);
  sparsec_device_t device = nullptr;
  check(sparsec_device_open_cuda(0, &device));
  return Device(device);
}

} // namespace sparsec::harness

#endif // SPARSEC_BENCH_HARNESS_GPU_H
