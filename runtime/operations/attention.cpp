// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention: softmax(score(scale * Q K^T)) V for every head of every batch.
#include "operations/attention.h"
#include "operations/operation.h"

#include "arguments/blocks.h"
#include "arguments/strides.h"
#include "operations/head_rows.h"
#include "operations/sequences.h"
#include "plan/attention_tiles.h"

#include <algorithm>
#include <cmath>

namespace sparsec::runtime {

namespace {

constexpr int64_t anySizes[SPARSEC_MAX_RANK] = {SPARSEC_DYNAMIC, SPARSEC_DYNAMIC, SPARSEC_DYNAMIC, SPARSEC_DYNAMIC,
                                                SPARSEC_DYNAMIC};

Problem fixedSizes(const sparsec_kernel_s &kernel) {
  Problem problem;
  problem.headDimension = kernel.attribute(SPARSEC_ATTRIBUTE_HEAD_DIMENSION);
  int64_t valueDimension = kernel.attribute(SPARSEC_ATTRIBUTE_VALUE_DIMENSION);
  problem.columns = valueDimension == 0 ? problem.headDimension : valueDimension;
  problem.blocks = 0; // of no BSR operand
  return problem;
}

Dimensions dimensionsOfRows(const sparsec_operand_info_t &operand, ProblemSize width) {
  const bool isPacked = operand.layout == SPARSEC_LAYOUT_PACKED;
  return {isPacked ? &Problem::one : &Problem::batches, &Problem::heads, &Problem::rows, width};
}

Dimensions dimensionsOfKeys(const sparsec_operand_info_t &operand, ProblemSize width) {
  switch (operand.layout) {
  case SPARSEC_LAYOUT_PACKED:
    return {&Problem::one, &Problem::keyHeads, &Problem::depth, width};
  case SPARSEC_LAYOUT_PAGED:
    return {&Problem::pages, &Problem::keyHeads, &Problem::pageRows, width};
  }
  return {&Problem::sequences, &Problem::keyHeads, &Problem::depth, width};
}

Dimensions dimensions(const sparsec_operand_info_t &operand) {
  switch (operand.slot) {
  case SPARSEC_ATTENTION_QUERY:
    return dimensionsOfRows(operand, &Problem::headDimension);
  case SPARSEC_ATTENTION_RESULT:
    return dimensionsOfRows(operand, &Problem::columns);
  case SPARSEC_ATTENTION_LSE:
    return dimensionsOfRows(operand, nullptr);
  case SPARSEC_ATTENTION_KEY:
    return dimensionsOfKeys(operand, &Problem::headDimension);
  case SPARSEC_ATTENTION_VALUE:
    return dimensionsOfKeys(operand, &Problem::columns);
  case SPARSEC_ATTENTION_SINKS:
    return {&Problem::heads};
  case SPARSEC_ATTENTION_QUERY_STARTS:
  case SPARSEC_ATTENTION_KEY_STARTS:
    return {&Problem::bounds};
  case SPARSEC_ATTENTION_KEY_LENGTHS:
    return {&Problem::sequences};
  case SPARSEC_ATTENTION_PAGE_TABLE:
    return {&Problem::sequences, &Problem::tablePages};
  }
  return {};
}

bool isPacked(const sparsec_kernel_s &kernel, uint32_t slot) {
  return kernel.operand(slot)->layout == SPARSEC_LAYOUT_PACKED;
}

/// Batches of queries tell how many sequences there are, else the starts, else what has one element for each of them.
void deriveSizes(const sparsec_kernel_s &kernel, Problem &problem) {
  const bool hasBatches = !isPacked(kernel, SPARSEC_ATTENTION_QUERY);
  if (hasBatches && isKnown(problem.batches))
    problem.sequences = problem.batches;
  else if (isKnown(problem.bounds))
    problem.sequences = std::max<int64_t>(problem.bounds, 1) - 1;
  problem.batches = hasBatches ? problem.sequences : 1;
  // Sizes that are no number of elements are refused later.
  problem.bounds = isKnown(problem.sequences) ? std::min(problem.sequences, maxSize) + 1 : SPARSEC_DYNAMIC;
  if (isKnown(problem.tablePages) && isKnown(problem.pageRows) &&
      __builtin_mul_overflow(problem.tablePages, problem.pageRows, &problem.depth))
    problem.depth = SPARSEC_DYNAMIC;
}

/// Lengths of sequences are data of a launch. One plan serves all of them, and so all sizes of the tensors that hold
/// sequences.
void openSizes(const sparsec_kernel_s &kernel, Problem &problem) {
  if (!hasOwnLengths(kernel))
    return;
  for (ProblemSize size : {&Problem::depth, &Problem::pages, &Problem::tablePages})
    problem.*size = SPARSEC_DYNAMIC;
  if (!isPacked(kernel, SPARSEC_ATTENTION_QUERY))
    return;
  for (ProblemSize size : {&Problem::rows, &Problem::sequences, &Problem::bounds})
    problem.*size = SPARSEC_DYNAMIC;
}

const char *whyNoLists(const sparsec_kernel_s &kernel) {
  return hasOwnLengths(kernel) ? "the lengths of sequences are known on the device alone" : nullptr;
}

Status checkKey(const sparsec_kernel_s &kernel, const Checked &key, const Problem &problem) {
  if (!isKnown(problem.heads) || !isKnown(problem.keyHeads))
    return {};
  if (problem.keyHeads == 0 ? problem.heads != 0 : problem.heads % problem.keyHeads != 0)
    return key.refuse("expects size 1 (heads) to divide the ", problem.heads, " heads of '",
                      kernel.argument(kernel.of(SPARSEC_ATTENTION_QUERY)).name, "', but got ", problem.keyHeads);
  return {};
}

Status checkScale(const Checked &argument) {
  if (float scale = scalarOf(argument.value); !std::isfinite(scale))
    return argument.refuse("expects a finite scale, but got ", std::to_string(scale));
  return {};
}

/// Kernels count the keys of a row of the table in 32 bits.
Status checkPageTable(const Checked &argument, const Problem &problem) {
  if (!isKnown(problem.depth) || problem.depth <= maxSize)
    return {};
  return argument.refuse("expects at most ", maxSize / problem.pageRows, " pages of ", problem.pageRows,
                         " keys in a row, but got ", problem.tablePages);
}

/// Rows and columns of a pattern for packed tensors are those of the longest sequence, which may be any number.
Status checkPattern(const sparsec_kernel_s &kernel, const Checked &argument, const Problem &problem) {
  const sparsec_blocks_t &pattern = argument.blocks();
  SPARSEC_RETURN_IF_ERROR(checkBlocks(pattern, argument.subject()));
  if (pattern.block_rows != int32_t(argument.info.block_rows) ||
      pattern.block_columns != int32_t(argument.info.block_columns))
    return argument.refuse("expects blocks of ", argument.info.block_rows, " queries x ", argument.info.block_columns,
                           " keys, but got ", pattern.block_rows, " x ", pattern.block_columns);
  if (isKnown(problem.sequences) && pattern.batches != 1 && pattern.batches != problem.sequences)
    return argument.refuse("expects batches to be 1 or ", problem.sequences, ", but got ", pattern.batches);
  if (isKnown(problem.heads) && pattern.heads != 1 && pattern.heads != problem.heads)
    return argument.refuse("expects heads to be 1 or ", problem.heads, ", but got ", pattern.heads);
  if (int64_t rows = ceilDivide(problem.rows, pattern.block_rows);
      !isPacked(kernel, SPARSEC_ATTENTION_QUERY) && isKnown(problem.rows) && blockRowCount(pattern) != rows)
    return argument.refuse("expects ", rows, " block rows, the blocks of ", pattern.block_rows, " in ", problem.rows,
                           " queries, but its ", pattern.rows, " rows have ", blockRowCount(pattern));
  if (int64_t columns = ceilDivide(problem.depth, pattern.block_columns);
      !isPacked(kernel, SPARSEC_ATTENTION_KEY) && isKnown(problem.depth) && blockColumnCount(pattern) != columns)
    return argument.refuse("expects ", columns, " block columns, the blocks of ", pattern.block_columns, " in ",
                           problem.depth, " keys, but its ", pattern.columns, " columns have ",
                           blockColumnCount(pattern));
  return {};
}

Status checkSizes(const sparsec_kernel_s &kernel, const CheckedOperand &operand, const Problem &problem) {
  switch (operand.operand.slot) {
  case SPARSEC_ATTENTION_QUERY:
    return checkRowCount(operand, problem);
  case SPARSEC_ATTENTION_KEY:
    return checkKey(kernel, operand, problem);
  case SPARSEC_ATTENTION_PATTERN:
    return checkPattern(kernel, operand, problem);
  case SPARSEC_ATTENTION_SCALE:
    return checkScale(operand);
  case SPARSEC_ATTENTION_PAGE_TABLE:
    return checkPageTable(operand, problem);
  }
  return {};
}

Status checkStrides(const CheckedOperand &operand) {
  SPARSEC_RETURN_IF_ERROR(checkStrideRange(operand));
  switch (operand.operand.slot) {
  case SPARSEC_ATTENTION_QUERY:
  case SPARSEC_ATTENTION_KEY:
  case SPARSEC_ATTENTION_VALUE:
    return checkRows(operand);
  case SPARSEC_ATTENTION_RESULT:
    SPARSEC_RETURN_IF_ERROR(checkRows(operand));
    return checkApart(operand);
  case SPARSEC_ATTENTION_LSE:
    return checkApart(operand);
  }
  return {};
}

constexpr uint32_t sequenceSlots[] = {SPARSEC_ATTENTION_QUERY_STARTS, SPARSEC_ATTENTION_KEY_STARTS,
                                      SPARSEC_ATTENTION_KEY_LENGTHS, SPARSEC_ATTENTION_PAGE_TABLE};

constexpr NamedSize planSizes[] = {
    {"batches", &Problem::batches}, {"heads", &Problem::heads}, {"queries", &Problem::rows}, {"keys", &Problem::depth}};

} // namespace

Status checkRegionOperand(const Checked &argument) {
  if (argument.info.kind == SPARSEC_ARGUMENT_SCALAR)
    return {};
  SPARSEC_RETURN_IF_ERROR(argument.checkTensor(anySizes, Use::launch));
  SPARSEC_RETURN_IF_ERROR(argument.checkLastStride());
  SPARSEC_RETURN_IF_ERROR(checkStrideRange(argument));
  return argument.checkPointer();
}

constexpr Operation attentionOperation = {
    .kind = SPARSEC_OPERATION_ATTENTION,
    .planSizes = planSizes,
    .hasLse = true,
    .skipsEmptyTiles = false,
    .unreadSlot = 0,
    .pairSlots = {},
    .fixedSizes = fixedSizes,
    .dimensions = dimensions,
    .deriveSizes = deriveSizes,
    .openSizes = openSizes,
    .checkSizes = checkSizes,
    .valueSlots = sequenceSlots,
    .checkValues = checkSequences,
    .checkStrides = checkStrides,
    .tileLists = attentionTileLists,
    .whyNoLists = whyNoLists,
    .periodicLists = nullptr,
    .cutLists = attentionCutLists,
    .reference = runAttentionReference,
};

} // namespace sparsec::runtime
