// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime_heap_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<size_t> allocationCount = 0;

size_t sparsec::test::heapAllocations() { return allocationCount; }

/// Orders nothing between threads, so that ThreadSanitizer sees races around allocations.
static void count() { allocationCount.fetch_add(1, std::memory_order_relaxed); }

void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  count();
  return std::malloc(bytes);
}
void *operator new(size_t bytes) {
  if (void *memory = operator new(bytes, std::nothrow))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
