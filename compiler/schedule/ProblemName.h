// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of problems. Two kernels have the same name where a schedule table may give them the same schedule: op, types,
// blocks, layouts and what an epilogue reads. Sizes and densities are not part of it.

#ifndef SPARSEC_COMPILER_SCHEDULE_PROBLEMNAME_H
#define SPARSEC_COMPILER_SCHEDULE_PROBLEMNAME_H

#include "AttentionSchedule.h"

namespace sparsec {

/// "spmm bf16 128x128, w mk, x kn, y mn, 2 bytes", then what else there is: ", epilogue of 4 bytes", ", two levels",
/// ", scales".
std::string problemName(const ProblemDescription &problem);
/// "sddmm bf16 64x64, a mk, b nk, 2 bytes", and so on.
std::string problemName(const SampledDescription &problem);
/// "attention bf16 128/128, blocks 128x128", and ", regions".
std::string problemName(const AttentionDescription &problem);

} // namespace sparsec

#endif // SPARSEC_COMPILER_SCHEDULE_PROBLEMNAME_H
