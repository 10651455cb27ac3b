// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operations that the runtime knows. What sets one apart from the others is in its row of one table; nothing else
// in the runtime asks which operation a kernel is.

#ifndef SPARSEC_RUNTIME_OPERATION_H
#define SPARSEC_RUNTIME_OPERATION_H

#include "arguments/checked_argument.h"
#include "operations/problem.h"
#include "plan/cut_lists.h"
#include "plan/pairs.h"
#include "plan/streams.h"
#include "plan/tile_lists.h"
#include "plan/transpose.h"
#include "plan/windows.h"
#include "reference/rows.h"

namespace sparsec::runtime {

/// The input of an operation that makes the tile lists of one variant.
struct TileListRequest {
  const sparsec_kernel_s &kernel;
  const sparsec_variant_info_t &variant;
  const sparsec_stage_info_t &stage; // of the variant, the one that follows the plan
  const Problem &problem;
  bool isStatic; // the lists of blocks stay as they are
  bool inRounds; // makeRoundLists() makes the lists
  TileGrid grid;
  int64_t workers;                // 1 to the number of tiles
  const sparsec_blocks_t *blocks; // checked, with its lists in host memory; null where the kernel takes none
  const MatrixRows *matrix;       // the same of a block-sparse operand, by the block rows of the product; else null
  const MatrixRows *result;       // of the pattern of a sampled product of block-sparse matrices; else null
  const PairIndex *pairs;         // of a product of block-sparse matrices; else null
  const Windows *windows;         // the tile rows of a variant that takes windows; null for others
  const Streams *streams;         // the same of a variant that takes streams
};

/// A variant of a product whose sizes are known: the input of an operation that says how many panels run at once.
struct PanelRequest {
  const sparsec_kernel_s &kernel;
  const sparsec_variant_info_t &variant;
  const sparsec_stage_info_t &stage;
  TileGrid grid;
  int64_t workers;
  int64_t elementsOfBlock;
  int64_t depth; // K
};

/// The rows [begin, end) of the results, as the reference counts them.
struct RowRange {
  int64_t begin, end;
};

/// The slots of two block-sparse operands whose blocks a plan pairs, and of a pattern of their product; 0: there is
/// none.
struct PairSlots {
  uint32_t left = 0, right = 0, result = 0;
};

/// The slots of operands that sparsec_quantize writes, where they are of fp8; 0: there is none.
struct QuantizedSlots {
  uint32_t matrix = 0, dense = 0;
};

/// The slots of an operand and of a result that may be the same memory, element for element: kernels read an element
/// before they write it.
struct SameMemory {
  uint32_t operand, result;
};

/// Computes rows of the results of (checked) arguments in host memory. On failure nothing is written.
using Reference = Status(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                         RowRange rows, const ReferenceRows &out);

struct Operation {
  uint32_t kind; // sparsec_operation_kind_t
  /// The sizes that a launch must have in common with its plan.
  std::span<const NamedSize> planSizes;
  bool hasLse;          // there is a second result, whether or not a kernel writes it
  bool skipsEmptyTiles; // lists of a static pattern lack the tiles that have nothing to compute
  uint32_t unreadSlot;  // of an operand whose values no kernel reads, so that they may be absent; 0: there is none
  PairSlots pairSlots;
  QuantizedSlots quantizedSlots = {};
  /// Beside full operands of an epilogue, which may be the memory of the result.
  std::span<const SameMemory> sameMemory = {};

  /// The sizes that the kernel itself fixes; the others are open.
  Problem (*fixedSizes)(const sparsec_kernel_s &kernel);
  Dimensions (*dimensions)(const sparsec_operand_info_t &operand);
  /// Fills in the sizes that follow from others. Null where there are none.
  void (*deriveSizes)(const sparsec_kernel_s &kernel, Problem &problem) = nullptr;
  /// Opens the sizes in which launches with one plan may differ, whatever the plan was made with. Null where there are
  /// none.
  void (*openSizes)(const sparsec_kernel_s &kernel, Problem &problem) = nullptr;
  /// Checks an operand for this operation's own rules: how sizes go together, blocks, scalars. Its view and type are
  /// good, and so are the sizes of a tensor. Sizes of the problem may be open.
  Status (*checkSizes)(const sparsec_kernel_s &kernel, const CheckedOperand &operand, const Problem &problem);
  /// The slots of operands whose elements say where others have theirs.
  std::span<const uint32_t> valueSlots = {};
  /// Checks these elements; the arguments are checked and in host memory. Null where there are none.
  Status (*checkValues)(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments,
                        const Problem &problem) = nullptr;
  /// Checks the strides of a tensor for this operation's own rules.
  Status (*checkStrides)(const CheckedOperand &operand);
  /// Who computes which tiles in which order, balanced by what the tiles cost.
  TileLists (*tileLists)(const TileListRequest &request);
  /// Why plans of a kernel have no tile lists, whatever is known; null for a kernel whose plans may have them. Null
  /// where all may.
  const char *(*whyNoLists)(const sparsec_kernel_s &kernel) = nullptr;
  /// The same for every number of panels (see makePeriodicLists); those of the request's grid are open. Null where an
  /// operation has no such lists.
  TileLists (*periodicLists)(const TileListRequest &request);
  /// Lists in which tiles are cut along K or the keys, for a variant that takes them; empty where whole tiles are as
  /// fast. Null where an operation has no such variants.
  CutLists (*cutLists)(const TileListRequest &request) = nullptr;
  /// How many panels run at once in the lists that refills write. Null where an operation has no such lists.
  PanelLimits (*panelLimits)(const PanelRequest &request) = nullptr;
  Reference *reference;
};

#define SPARSEC_OPERATION(name, reference)                                                                             \
  extern const Operation name##Operation;                                                                              \
  Reference reference;
#include "operations/operations.def"

const Operation &operationOf(const sparsec_kernel_s &kernel);

/// The sizes of the result of an M x N product, which full operands of its epilogue share, and those of other operands
/// of the epilogue.
Dimensions dimensionsOfEpilogue(const sparsec_operand_info_t &operand, ProblemSize m, ProblemSize n,
                                const Dimensions &result);

/// A block-sparse matrix against its record: block, sizes, and one full list for every block row.
Status checkBlockMatrix(const Checked &argument);

/// The pattern of values that are a result: kernels count the rows of all its blocks in 32 bits.
Status checkValueRows(const Checked &argument);

/// Values of a pattern's blocks are contiguous, block after block. Matrices are as below.
Status checkValueStrides(const CheckedOperand &operand);

/// Rows of a matrix that do not reach into each other. Other ranks have no such rule.
Status checkRowStride(const CheckedOperand &operand);

/// The number that extents make together, at most INT64_MAX; SPARSEC_DYNAMIC where the problem leaves one
/// of their sizes open.
int64_t extentProduct(const sparsec_kernel_s &kernel, Records<sparsec_extent_info_t> extents, const Problem &problem);

/// How a machine kernel cuts the result into tiles. What depends on an open size is SPARSEC_DYNAMIC.
TileGrid tileGrid(const sparsec_kernel_s &kernel, const sparsec_stage_info_t &stage, const Problem &problem);

/// Whether the problem, whose sizes are known, has at most as many panels as the variant is for, or at most as many
/// tiles.
bool hasTilesFor(const sparsec_kernel_s &kernel, const Variant &variant, const Problem &problem);

/// The sizes that the views of arguments tell. Each comes from the first argument that has it, block-sparse operands
/// before dense tensors. What they leave open is the kernel's own size, where it has one.
Problem problemOf(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments);

/// The same for a plan: without the sizes in which its launches may differ.
Problem problemOfPlan(const sparsec_kernel_s &kernel, Problem problem);

/// The sizes that the operation's plans are for, for a message: "M 5, N open".
std::string describeSizes(const Operation &operation, const Problem &problem);

/// Whether all sizes are known that plans are for.
bool isComplete(const Operation &operation, const Problem &problem);

/// View, type, block, shape, strides and pointers of every argument, as far as they are used. Allocates nothing when
/// all is well.
Status checkArguments(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, size_t count, Use use,
                      Problem &outProblem);

/// Checks the elements in host memory that describe other arguments (starts, lengths, pages). It expects arguments that
/// checkArguments accepted.
Status checkValues(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem);

/// The same for a launch. It reads the memory of a GPU only in the checking mode, and only where the stream is not
/// captured: then it waits for the stream and copies the elements.
Status checkValuesForLaunch(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const Problem &problem,
                            void *stream);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_OPERATION_H
