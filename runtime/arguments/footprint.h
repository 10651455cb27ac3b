// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which bytes of memory an argument has.

#ifndef SPARSEC_RUNTIME_FOOTPRINT_H
#define SPARSEC_RUNTIME_FOOTPRINT_H

#include "sparsec/runtime.h"

namespace sparsec::runtime {

/// Runs of contiguous bytes at begin + i * steps[0].bytes + j * steps[1].bytes + ..., with i < steps[0].count and so
/// on.
struct Footprint {
  struct Step {
    int64_t count; // at least 2
    int64_t bytes; // more than a run has; ascending from step to step
  };

  uintptr_t begin = 0;
  uint64_t run = 0; // 0: no memory at all
  uint32_t stepCount = 0;
  Step steps[SPARSEC_MAX_RANK]; // of which stepCount are there

  /// The bytes from the first one to the last one, gaps included; UINT64_MAX where they are more than that.
  uint64_t extent() const;
};

/// The elements of a tensor whose strides are not negative.
Footprint footprintOf(const sparsec_dense_t &tensor);
Footprint footprintOf(const void *data, uint64_t bytes);

/// All memory that an argument points to.
class ArgumentMemory {
public:
  struct Piece {
    const char *member; // the name of the pointer
    Footprint footprint;
  };

  /// The footprint of a checked argument. Pieces without memory are left out.
  explicit ArgumentMemory(const sparsec_argument_t &argument);

  const Piece *begin() const { return pieces; }
  const Piece *end() const { return pieces + count; }

private:
  void add(const char *member, const Footprint &footprint) {
    if (footprint.run != 0)
      pieces[count++] = {member, footprint};
  }
  void addLists(const sparsec_blocks_t &pattern);

  uint32_t count = 0;
  Piece pieces[5];
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_FOOTPRINT_H
