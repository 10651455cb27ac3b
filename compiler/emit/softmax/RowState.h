// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of the softmax for the two rows of a thread.

#ifndef SPARSEC_EMIT_SOFTMAX_ROW_STATE_H
#define SPARSEC_EMIT_SOFTMAX_ROW_STATE_H

#include "KernelBuilder.h"

namespace sparsec {

/// The state of two rows. Probabilities are 2^(exponent - m).
struct RowState {
  KernelBuilder::Values m; // of each row, f32: the row maximum, lazily replaced, or a fixed shift
  KernelBuilder::Values l; // the row sum; until finishRows that of this thread's keys alone
  // Where queries have been multiplied for a soft cap: whether the warp's last step had scores of 2 or more, i1, the
  // same for all of its threads. Else nothing.
  KernelBuilder::Values hadTwo;

  auto fields() { return std::tie(m, l, hadTwo); }
};

/// Two rows without keys.
RowState emptyRows(KernelBuilder &b, double m);
/// Adds the sums of the four threads that share a row.
RowState finishRows(KernelBuilder &b, RowState rows);

} // namespace sparsec

#endif // SPARSEC_EMIT_SOFTMAX_ROW_STATE_H
