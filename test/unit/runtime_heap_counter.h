// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts what the C++ code of the test program allocates, by replacing operator new.

#ifndef SPARSEC_TEST_UNIT_RUNTIME_HEAP_COUNTER_H
#define SPARSEC_TEST_UNIT_RUNTIME_HEAP_COUNTER_H

#include <cstddef>

namespace sparsec::test {
/// Allocations since the program started.
size_t heapAllocations();
} // namespace sparsec::test

#endif // SPARSEC_TEST_UNIT_RUNTIME_HEAP_COUNTER_H
