// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan: sections of device memory that kernels read, one set for every variant of the kernel.

#ifndef SPARSEC_RUNTIME_PLAN_H
#define SPARSEC_RUNTIME_PLAN_H

#include "tile_grid.h"

namespace sparsec::runtime {

/// What one variant gets. A kernel family that needs more adds sections; kernels name those they read.
struct VariantPlan {
  int64_t workers = 0, tiles = 0;
  double balance = 1;
  const void *sections[planSectionCount] = {}; // by sparsec_plan_section_t; null when absent
};

} // namespace sparsec::runtime

struct sparsec_plan_s {
  ~sparsec_plan_s();

  sparsec_kernel_t kernel = nullptr;
  std::shared_ptr<sparsec::runtime::Module> module; // keeps the kernel and the device
  sparsec::runtime::ProblemSizes sizes = {};
  int64_t blockCount = 0;
  std::vector<sparsec::runtime::VariantPlan> variants;
  void *memory = nullptr; // holds all sections
  double milliseconds = 0;
};

#endif // SPARSEC_RUNTIME_PLAN_H
