// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plan: sections of device memory that kernels read, one set for every variant of the kernel.

#ifndef SPARSEC_RUNTIME_PLAN_H
#define SPARSEC_RUNTIME_PLAN_H

#include "operations/operation.h"

namespace sparsec::runtime {

/// What one variant gets. A kernel family that needs more adds sections; kernels name those they read.
struct VariantPlan {
  int64_t workers = 0, tiles = 0;
  double balance = 1;
  const void *sections[planSectionCount] = {}; // by sparsec_plan_section_t; null when absent
  const void *counter = nullptr;               // a workspace, where nothing is known of the lists
};

/// The sections of all variants, to lie in one piece of device memory. Their host memory must stay until upload().
class SectionList {
public:
  template <typename Element> void add(const void *&section, const std::vector<Element> &elements) {
    constexpr size_t alignment = 256;
    places.push_back({&section, totalBytes, elements.data(), elements.size() * sizeof(Element)});
    totalBytes += (places.back().bytes + alignment - 1) / alignment * alignment;
  }
  Status upload(const Device &device, void *&outMemory) const;

private:
  struct Place {
    const void **section;
    size_t offset;
    const void *source;
    size_t bytes;
  };
  std::vector<Place> places;
  size_t totalBytes = 0;
};

} // namespace sparsec::runtime

struct sparsec_plan_s {
  ~sparsec_plan_s();

  sparsec_kernel_t kernel = nullptr;
  std::shared_ptr<sparsec::runtime::Module> module; // keeps the kernel and the device
  sparsec::runtime::Problem problem;                // of its launches
  std::vector<sparsec::runtime::VariantPlan> variants;
  void *memory = nullptr; // holds all sections
  double milliseconds = 0;
};

#endif // SPARSEC_RUNTIME_PLAN_H
