// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of the command line, and the devices that the tests share.

#ifndef SPARSEC_TEST_DEVICE_OPTIONS_H
#define SPARSEC_TEST_DEVICE_OPTIONS_H

#include "kernel_files.h"

namespace sparsec::device_test {

enum class Subset {
  All,       ///< every kernel, size and pattern
  Quick,     ///< every kernel, few and small sizes and patterns: for the host
  Simulator, ///< as Quick, with sizes for which the fast variants of products run: for the simulator
  Sanitizer, ///< bf16 kernels, fewer still, memory without guards: for compute-sanitizer
};

struct Session {
  Subset cudaSubset = Subset::All;
  Subset hostSubset = Subset::Quick;
  std::vector<KernelFile> files;
  harness::Device cuda; // null without a GPU, or when only the host is asked for
  harness::Device host; // null when only CUDA is asked for
  int cudaCapability = 0;

  /// The device that runs the file's kind of code; null without one.
  sparsec_device_t deviceFor(const KernelFile &file) const { return file.isForHost() ? host.get() : cuda.get(); }
  Subset subsetFor(const KernelFile &file) const { return file.isForHost() ? hostSubset : cudaSubset; }
  bool runsHere(const KernelFile &file) const {
    return file.isForHost() || file.runsOn(SPARSEC_TARGET_CUDA, cudaCapability);
  }
};

extern Session session;

/// Registers one test for every kernel of every file for these devices (kernel_test.cpp). Returns their number.
int registerKernelTests(bool forCuda, bool forHost);

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_OPTIONS_H
