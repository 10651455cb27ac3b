// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Merges of two partial results of attention, by their LSE. A plan knows nothing that helps: all rows cost the same.
#include "operations/head_rows.h"
#include "operations/operation.h"

namespace sparsec::runtime {

namespace {

bool isLse(const sparsec_operand_info_t &operand) {
  return operand.slot == SPARSEC_MERGE_FIRST_LSE || operand.slot == SPARSEC_MERGE_SECOND_LSE ||
         operand.slot == SPARSEC_MERGE_LSE;
}

Problem fixedSizes(const sparsec_kernel_s & /*kernel*/) { return {}; }

Dimensions dimensions(const sparsec_operand_info_t &operand) {
  return {&Problem::batches, &Problem::heads, &Problem::rows, isLse(operand) ? nullptr : &Problem::columns};
}

/// A row without elements would have an LSE that no launch computes, because there is nothing else to compute.
Status checkSizes(const sparsec_kernel_s & /*kernel*/, const CheckedOperand &operand, const Problem &problem) {
  if (operand.operand.slot != SPARSEC_MERGE_FIRST)
    return {};
  if (problem.columns == 0)
    return operand.refuse("expects size 3 to be at least 1, but got 0");
  return checkRowCount(operand, problem);
}

Status checkStrides(const CheckedOperand &operand) {
  SPARSEC_RETURN_IF_ERROR(checkStrideRange(operand));
  if (!isLse(operand.operand))
    SPARSEC_RETURN_IF_ERROR(checkRows(operand));
  const bool isResult = operand.operand.slot == SPARSEC_MERGE_RESULT || operand.operand.slot == SPARSEC_MERGE_LSE;
  return isResult ? checkApart(operand) : Status();
}

TileLists tileLists(const TileListRequest & /*request*/) { return {}; }

const char *whyNoLists(const sparsec_kernel_s & /*kernel*/) { return "all tiles cost the same"; }

constexpr NamedSize planSizes[] = {
    {"batches", &Problem::batches}, {"heads", &Problem::heads}, {"queries", &Problem::rows}, {"D", &Problem::columns}};

/// A thread reads its elements of a row before it writes them.
constexpr SameMemory sameMemory[] = {{SPARSEC_MERGE_FIRST, SPARSEC_MERGE_RESULT},
                                     {SPARSEC_MERGE_SECOND, SPARSEC_MERGE_RESULT},
                                     {SPARSEC_MERGE_FIRST_LSE, SPARSEC_MERGE_LSE},
                                     {SPARSEC_MERGE_SECOND_LSE, SPARSEC_MERGE_LSE}};

} // namespace

constexpr Operation mergeOperation = {
    .kind = SPARSEC_OPERATION_MERGE,
    .planSizes = planSizes,
    .hasLse = true,
    .skipsEmptyTiles = false,
    .unreadSlot = 0,
    .pairSlots = {},
    .sameMemory = sameMemory,
    .fixedSizes = fixedSizes,
    .dimensions = dimensions,
    .checkSizes = checkSizes,
    .checkStrides = checkStrides,
    .tileLists = tileLists,
    .whyNoLists = whyNoLists,
    .periodicLists = nullptr,
    .reference = runMergeReference,
};

} // namespace sparsec::runtime
