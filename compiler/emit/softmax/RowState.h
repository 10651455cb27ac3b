// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of the softmax for the two rows of a thread.

#ifndef SPARSEC_EMIT_SOFTMAX_ROW_STATE_H
#define SPARSEC_EMIT_SOFTMAX_ROW_STATE_H

#include "KernelBuilder.h"

namespace sparsec {

/// m and l of the two rows, f32. Probabilities are 2^(exponent - m).
struct RowState {
  KernelBuilder::Values m; // the row maximum, lazily replaced, or a fixed shift
  KernelBuilder::Values l; // the row sum; until finishRows that of this thread's keys alone

  auto fields() { return std::tie(m, l); }
};

/// Two rows without keys.
RowState emptyRows(KernelBuilder &b, double m);
/// Adds the sums of the four threads that share a row.
RowState finishRows(KernelBuilder &b, RowState rows);

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_ROW_STATE_H
