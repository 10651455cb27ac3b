// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/packed_matrix.h"
#include "plan/plan_reason.h"

#include <utility>

namespace sparsec::runtime {

namespace {

/// The number of the block-sparse operand. A kernel with packed values has one.
uint32_t matrixOf(const sparsec_kernel_s &kernel) {
  uint32_t argument = 0;
  while (kernel.argument(argument).kind != SPARSEC_ARGUMENT_BSR)
    ++argument;
  return argument;
}

/// The lists of a matrix as the caller stores it, in host memory.
BlockPattern storedPattern(const sparsec_blocks_t &blocks) {
  return {blocks.full.starts, blocks.full.indices, ceilDivide(blocks.rows, blocks.block_rows),
          ceilDivide(blocks.columns, blocks.block_columns)};
}

/// Why a plan packs nothing, whatever the pattern; empty if it may.
std::string whyNotPacked(const HostLists &lists, uint32_t flags) {
  if ((flags & SPARSEC_PLAN_PACK) == 0)
    return "not asked for";
  if (!lists.matrix())
    return "the matrix is open";
  return "";
}

} // namespace

const Variant *findPackedVariant(const sparsec_kernel_s &kernel) {
  for (const Variant &variant : kernel.variants)
    if (isPacked(*variant.info))
      return &variant;
  return nullptr;
}

PackedShape packedShape(const sparsec_kernel_s &kernel, const sparsec_variant_info_t &variant, uint32_t argument) {
  const sparsec_argument_info_t &stored = kernel.argument(argument);
  return {variant.packed_block_rows / stored.block_rows, variant.packed_block_columns / stored.block_columns};
}

size_t packedBytes(const sparsec_kernel_s &kernel, const Variant &variant, const VariantPlan &part) {
  if (!isPacked(*variant.info) || !part.sections[SPARSEC_PLAN_PACKED_COLUMNS])
    return 0;
  const size_t blocks = part.sectionBytes[SPARSEC_PLAN_PACKED_COLUMNS] / sizeof(int32_t);
  return blocks * variant.info->packed_block_rows * variant.info->packed_block_columns *
         dtypeBytes(kernel.argument(matrixOf(kernel)).dtype);
}

void PackedMatrix::make(const sparsec_kernel_s &kernel, const Problem &problem, const HostLists &lists,
                        uint32_t flags) {
  const Variant *variant = findPackedVariant(kernel);
  if (!variant)
    return;
  if (const std::string reason = whyNotPacked(lists, flags); !reason.empty()) {
    text = "no packed values: " + reason;
    return;
  }
  const uint32_t argument = matrixOf(kernel);
  const BlockPattern stored = storedPattern(*lists.blocks());
  const PackedShape shape = packedShape(kernel, *variant->info, argument);
  const int64_t count = countPackedBlocks(stored, shape);
  const uint32_t leastFill = kernel.planCost(*variant->info, SPARSEC_PLAN_COST_PACKED_FILL);
  const double fill = count == 0 ? 0 : double(stored.count()) / (double(count) * double(shape.blocks()));
  if (count == 0 || 100 * fill < leastFill || !canPack(count, shape)) {
    text = count == 0 ? "no packed values: there are no blocks" : "no packed values: " + fillReason(fill, leastFill);
    return;
  }
  packed = packBlocks(stored, shape);
  int64_t rowsOfBlock = variant->info->packed_block_rows, columnsOfBlock = variant->info->packed_block_columns;
  BlockPattern pattern = packed.pattern();
  if (isTransposed(kernel, argument)) {
    index = transpose(pattern);
    pattern = index.pattern();
    std::swap(rowsOfBlock, columnsOfBlock);
  }
  matrix = {pattern, rowsOfBlock, columnsOfBlock, problem.depth};
  text = "packed values: " + fillReason(fill, leastFill);
}

} // namespace sparsec::runtime
