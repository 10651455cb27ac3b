// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SPARSEC_BENCH_CANDIDATE_H
#define SPARSEC_BENCH_CANDIDATE_H

#include "harness/handles.h"

#include <memory>
#include <string>
#include <vector>

namespace sparsec::bench {

/// A kernel that can be timed, with its module.
struct Candidate {
  std::shared_ptr<sparsec_module_s> module;
  sparsec_kernel_t kernel;
  std::string label, target, layouts;
  int64_t blockRows, blockColumns; // of the M x K matrix
  sparsec_dtype_t dtype, resultDtype;
  std::string type; // "bf16", "f8E4M3FN", "f8E4M3FN fast", "f8E4M3FN scales", or "f8E4M3FN scales x_scale"
  bool hasScales;   // a factor for each block, between the matrix and X
  bool hasXScale;   // one for each column and 128 of K, behind X
  bool matrixTransposed, denseTransposed, resultTransposed;
};

/// The kernels of all .cubin files below a folder. Files that this device refuses are left out with a message.
std::vector<Candidate> loadCandidates(sparsec_device_t device, const std::string &folder);

} // namespace sparsec::bench

#endif // SPARSEC_BENCH_CANDIDATE_H
