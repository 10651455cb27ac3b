// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a reference puts what it computes.

#ifndef SPARSEC_RUNTIME_REFERENCE_ROWS_H
#define SPARSEC_RUNTIME_REFERENCE_ROWS_H

namespace sparsec::runtime {

/// Rows of the results in double, with their magnitudes (see sparsec_reference_run). Any pointer may be null.
struct ReferenceRows {
  double *y, *magnitude;      // rows x columns
  double *lse, *lseMagnitude; // rows
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_ROWS_H
