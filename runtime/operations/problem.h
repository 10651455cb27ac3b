// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sizes of one execution of a kernel.

#ifndef SPARSEC_RUNTIME_PROBLEM_H
#define SPARSEC_RUNTIME_PROBLEM_H

#include "sparsec/launch_info.h"

#include <array>

namespace sparsec::runtime {

/// The (first) result has batches x heads x rows x columns elements, each of them a sum over `depth`. A product has
/// rows M, columns N and depth K. A sampled product has a batch for every stored block, whose rows and columns are
/// those of the block. Attention has the queries of a head as rows, the dimension of its values as columns, and the
/// keys as depth: where keys are paged, as many as the pages of a sequence hold. Where sequences share a tensor, rows
/// and depth are those of all of them, and there is one batch. A size that nothing tells is SPARSEC_DYNAMIC.
struct Problem {
  int64_t batches = SPARSEC_DYNAMIC, heads = SPARSEC_DYNAMIC;
  int64_t rows = SPARSEC_DYNAMIC, columns = SPARSEC_DYNAMIC, depth = SPARSEC_DYNAMIC;
  int64_t keyHeads = SPARSEC_DYNAMIC;      // heads of K and V
  int64_t headDimension = SPARSEC_DYNAMIC; // of Q and K
  int64_t blocks = SPARSEC_DYNAMIC;        // stored ones, of the BSR operand of a product
  int64_t scaledParts = SPARSEC_DYNAMIC;   // of K, for which the dense operand of a product has a scale each
  int64_t patternRows = SPARSEC_DYNAMIC, patternColumns = SPARSEC_DYNAMIC; // M and N of a sampled product
  int64_t sequences = SPARSEC_DYNAMIC, bounds = SPARSEC_DYNAMIC;           // of attention; bounds are sequences + 1
  int64_t pages = SPARSEC_DYNAMIC, pageRows = SPARSEC_DYNAMIC;             // of paged keys, and rows of one page
  int64_t tablePages = SPARSEC_DYNAMIC;                                    // of a sequence in the page table
  int64_t one = 1;                                                         // of tensors that sequences share
  int64_t parts = 1; // into which a launch splits the keys of a tile, or K

  /// Rows of the result as the reference counts them.
  int64_t resultRows() const { return batches * heads * rows; }
  /// Whether nothing is to be computed. Rows of tensors without a sequence belong to nobody.
  bool isEmpty() const { return resultRows() == 0 || columns == 0 || sequences == 0; }
};

inline bool isKnown(int64_t size) { return size != SPARSEC_DYNAMIC; }

using ProblemSize = int64_t Problem::*;

/// The size of the problem that each dimension of an argument has; null for a dimension with a size of its own. Behind
/// the two dimensions of a BSR operand comes its number of stored blocks.
using Dimensions = std::array<ProblemSize, SPARSEC_MAX_RANK>;

/// A size with its name in messages.
struct NamedSize {
  const char *name;
  ProblemSize size;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_PROBLEM_H
