// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/allocation.h"
#include "arguments/views.h"

namespace sparsec::runtime {

Status checkAllocator(const sparsec_allocator_t *allocator, const Subject &subject) {
  if (!allocator)
    return {};
  SPARSEC_RETURN_IF_ERROR(checkStructSize(*allocator, subject));
  if (!allocator->allocate || !allocator->free)
    return invalidArgument(subject, ": ", allocator->allocate ? "free" : "allocate", " is NULL");
  return {};
}

Status Allocation::allocate(const Device &onDevice, const sparsec_allocator_t *from, size_t wanted, void *onStream) {
  if (wanted == 0)
    return {};
  device = &onDevice;
  bytes = wanted;
  stream = onStream;
  if (!from)
    return device->allocate(bytes, memory);
  allocator = *from;
  memory = allocator->allocate(allocator->user_data, bytes, stream);
  if (!memory)
    return makeStatus(SPARSEC_STATUS_OUT_OF_MEMORY, "the allocator has no ", bytes, " bytes of device memory");
  if (reinterpret_cast<uintptr_t>(memory) % SPARSEC_ALLOCATION_ALIGNMENT != 0)
    return invalidArgument("allocator: expects memory that is aligned to ", SPARSEC_ALLOCATION_ALIGNMENT, " bytes");
  return {};
}

Allocation::~Allocation() {
  if (!memory)
    return;
  if (allocator)
    allocator->free(allocator->user_data, memory, bytes, stream);
  else
    device->free(memory);
}

} // namespace sparsec::runtime
