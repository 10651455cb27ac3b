// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sequences of attention: what the operands say that give them sizes and places of their own.

#ifndef SPARSEC_RUNTIME_OPERATIONS_SEQUENCES_H
#define SPARSEC_RUNTIME_OPERATIONS_SEQUENCES_H

#include "arguments/checked_argument.h"
#include "operations/problem.h"

namespace sparsec::runtime {

/// Whether sequences have numbers of queries or keys of their own, which memory tells.
bool hasOwnLengths(const sparsec_kernel_s &kernel);

/// Rows of a tensor, or of a sequence in it.
struct SequenceRows {
  int64_t first, count;
};

/// The arrays of (checked) operands, in host memory; null where the kernel does not take one, or where it is empty.
struct SequenceArrays {
  const int32_t *queryStarts = nullptr, *keyStarts = nullptr, *keyLengths = nullptr, *pageTable = nullptr;
  int64_t tableStride = 0; // elements between the pages of two sequences

  SequenceArrays() = default;
  SequenceArrays(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments);

  SequenceRows queriesOf(int64_t sequence, const Problem &problem) const {
    return rowsOf(queryStarts, sequence, problem.rows);
  }
  /// The rows of K that a sequence may have, of which its length takes the first ones.
  SequenceRows capacityOf(int64_t sequence, const Problem &problem) const {
    return rowsOf(keyStarts, sequence, problem.depth);
  }
  SequenceRows keysOf(int64_t sequence, const Problem &problem) const {
    const SequenceRows all = capacityOf(sequence, problem);
    return {all.first, keyLengths ? keyLengths[sequence] : all.count};
  }

private:
  static SequenceRows rowsOf(const int32_t *starts, int64_t sequence, int64_t rows) {
    return starts ? SequenceRows{starts[sequence], starts[sequence + 1] - starts[sequence]} : SequenceRows{0, rows};
  }
};

/// Starts, lengths and the page numbers that are used: whether all rows that they name are there. The arguments are
/// checked and in host memory.
Status checkSequences(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_OPERATIONS_SEQUENCES_H
