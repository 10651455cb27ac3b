// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "harness/pattern.h"
#include "harness/numeric.h"

namespace sparsec::harness {

BlockPattern bernoulliPattern(int64_t blockRows, int64_t blockColumns, double density, uint64_t seed) {
  return makePattern(blockRows, blockColumns,
                     [&](int64_t i, int64_t j) { return randomUnit(seed, i * blockColumns + j) < density; });
}

} // namespace sparsec::harness
