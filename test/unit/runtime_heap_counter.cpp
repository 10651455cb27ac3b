// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime_heap_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<size_t> allocationCount = 0;

size_t sparsec::test::heapAllocations() { return allocationCount; }

void *operator new(size_t bytes, const std::nothrow_t &) noexcept {
  ++allocationCount;
  return std::malloc(bytes);
}
void *operator new(size_t bytes) {
  if (void *memory = operator new(bytes, std::nothrow))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
