// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device memory from a caller's allocator, or from the device where there is none.

#ifndef SPARSEC_RUNTIME_ALLOCATION_H
#define SPARSEC_RUNTIME_ALLOCATION_H

#include "device/device.h"

#include <optional>

namespace sparsec::runtime {

/// Refuses an allocator that lacks one of its functions. `allocator` may be null.
Status checkAllocator(const sparsec_allocator_t *allocator, const Subject &subject);

class Allocation {
public:
  Allocation() = default;
  Allocation(const Allocation &) = delete;
  Allocation &operator=(const Allocation &) = delete;
  ~Allocation();

  /// Once. The device must outlive the memory. The (checked) allocator is copied; it may be null.
  Status allocate(const Device &device, const sparsec_allocator_t *allocator, size_t bytes, void *stream);
  void *data() const { return memory; }

private:
  const Device *device = nullptr;
  std::optional<sparsec_allocator_t> allocator;
  void *memory = nullptr, *stream = nullptr;
  size_t bytes = 0;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_ALLOCATION_H
