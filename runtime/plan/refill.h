// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plans with SPARSEC_PLAN_REFILL: machine kernels write their sections again. Such a plan begins as that of a matrix
// without blocks, and its sections have room for as many blocks as the caller says.

#ifndef SPARSEC_RUNTIME_REFILL_H
#define SPARSEC_RUNTIME_REFILL_H

#include "plan/host_lists.h"
#include "plan/plan.h"

namespace sparsec::runtime {

/// Whether the plans of a kernel can be refilled: it takes block-sparse matrices, the plan knows their sizes, and the
/// kernels that write the index of a transposed one, or pairs, are there and take these sizes.
Status checkRefill(const sparsec_kernel_s &kernel, const HostLists &lists);

/// Whether the streams of one variant are those of the other: their tiles may have other columns.
bool haveSameStreams(const Variant &left, const Variant &right);

/// Whether the windows, streams and lists of tiles that refills write are those of this variant: the first one with
/// windows or streams of stored blocks and those that share its streams, or where none has them the first one for any
/// number of panels.
bool isVariantOfRefills(const sparsec_kernel_s &kernel, const Variant &variant);

/// Why a variant with windows or streams of stored blocks gets none; empty where kernels can write them: they do so for
/// the first such variant.
std::string whyNoRefill(const sparsec_kernel_s &kernel, const Variant &variant, const MatrixRows &matrix);

/// These give the arrays of a plan without blocks room for so many. False where kernels could not count the entries.
bool makeRoom(Windows &windows, const WindowInput &input, int64_t blocks);
bool makeRoom(Streams &streams, const StreamInput &input, int64_t blocks);

/// The blocks of a sparse matrix at most, and how it is cut into blocks.
struct MatrixRoom {
  int64_t blocks, blockRows, blockColumns;
};
/// The same for the pairs of two matrices. `result` is the pattern of their product; null: it has all blocks.
Status makeRoom(PairIndex &pairs, const MatrixRoom &left, const MatrixRoom &right, const MatrixRoom *result);

/// Whether refills write the lists of tiles that the plan of a variant has.
bool refillsLists(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem,
                  const VariantPlan &part);

/// Entries of SPARSEC_PLAN_COLUMN_COUNTS, for a matrix as the argument has it.
int64_t columnCountEntries(int64_t blockRows, int64_t blockColumns);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFILL_H
