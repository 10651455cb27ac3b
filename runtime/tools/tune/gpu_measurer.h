// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures compiled candidates on a GPU.

#ifndef SPARSEC_TOOLS_TUNE_GPU_MEASURER_H
#define SPARSEC_TOOLS_TUNE_GPU_MEASURER_H

#include "measurements.h"

namespace sparsec::tune {

/// Launches with a plan for a dynamic pattern, one at a time, each after a flush of the L2 cache, between two events. A
/// result is compared with rows of the reference before its launches are timed.
llvm::Expected<std::unique_ptr<Measurer>> openGpuMeasurer(const WorkFolder &folder, int32_t ordinal, int64_t columns,
                                                          int64_t launches);

} // namespace sparsec::tune

#endif // SPARSEC_TOOLS_TUNE_GPU_MEASURER_H
