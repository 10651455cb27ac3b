// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that become fp8 with scales: what the auxiliary kernel gets (SPARSEC_AUXILIARY_CONVERT_VALUES), and the same
// on the host.

#ifndef SPARSEC_RUNTIME_CONVERSION_H
#define SPARSEC_RUNTIME_CONVERSION_H

#include "device/thread_pool.h"

#include <array>

namespace sparsec::runtime {

/// Memory and numbers of one conversion. Pointers to the index arrays of blocks may be null, see
/// sparsec_conversion_number_t.
struct Conversion {
  const void *source = nullptr;
  void *target = nullptr;
  float *scales = nullptr;
  const int32_t *starts = nullptr, *indices = nullptr;
  std::array<int64_t, SPARSEC_CONVERSION_NUMBERS> numbers = {};

  int64_t &operator[](sparsec_conversion_number_t number) { return numbers[number]; }
  int64_t operator[](sparsec_conversion_number_t number) const { return numbers[number]; }
};

/// Runs all phases. All memory is the host's.
void convertOnHost(const Conversion &conversion, ThreadPool &threads);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_CONVERSION_H
