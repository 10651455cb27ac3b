// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan/section_check.h"

#include "operations/operation.h"
#include "plan/pairs.h"

#include <utility>

namespace sparsec::runtime {

namespace {

/// A block-sparse operand of the product, and the blocks that its sizes have room for.
struct Factor {
  int64_t blocks = 0, blockRows = 0, blockColumns = 0;
};

Status readFactor(const SectionCheck &check, uint32_t slot, Factor &outFactor) {
  const sparsec_kernel_s &kernel = check.kernel;
  const uint32_t argument = kernel.of(slot);
  const KnownList *list = findList(check.lists, argument);
  if (!list)
    return invalidPlan("variant ", check.number,
                       " has pairs of blocks, but the plan does not know the lists of argument ", argument);
  for (const sparsec_operand_info_t &operand : kernel.operands()) {
    if (operand.slot != slot)
      continue;
    const Dimensions sizes = operationOf(kernel).dimensions(operand);
    const int64_t rows = check.problem.*sizes[0], columns = check.problem.*sizes[1];
    if (!isKnown(rows) || !isKnown(columns))
      return invalidPlan("variant ", check.number, " has pairs of blocks, but sizes of argument ", argument,
                         " are open");
    const sparsec_argument_info_t &info = kernel.argument(argument);
    outFactor = {list->blocks, ceilDivide(rows, info.block_rows), ceilDivide(columns, info.block_columns)};
  }
  return {};
}

/// The block row or column that a block of an operand is in, as far as the pairs have told it.
class BlockPlaces {
public:
  explicit BlockPlaces(int64_t blocks) : places(size_t(blocks), -1) {}
  /// Whether the block exists, and is where it was before.
  bool set(int32_t block, int32_t place) {
    if (block < 0 || block >= int64_t(places.size()))
      return false;
    if (places[block] < 0)
      places[block] = place;
    return places[block] == place;
  }

private:
  std::vector<int32_t> places;
};

} // namespace

/// A pair that is in range may still be of the wrong blocks: only the lists of the operands tell where a block is.
Status checkPairs(const SectionCheck &check) {
  const PairSlots &slots = operationOf(check.kernel).pairSlots;
  Factor left, right, result;
  SPARSEC_RETURN_IF_ERROR(readFactor(check, slots.left, left));
  SPARSEC_RETURN_IF_ERROR(readFactor(check, slots.right, right));
  if (slots.result != 0)
    SPARSEC_RETURN_IF_ERROR(readFactor(check, slots.result, result));
  const int64_t blocks = slots.result != 0 ? result.blocks : left.blockRows * right.blockColumns;
  std::span<const int32_t> starts;
  std::span<const BlockPair> pairs;
  SPARSEC_RETURN_IF_ERROR(check.readOffsets(SPARSEC_PLAN_PAIR_STARTS, blocks, starts));
  SPARSEC_RETURN_IF_ERROR(check.read(SPARSEC_PLAN_PAIRS, uint64_t(starts.back()) + 1, pairs));
  BlockPlaces columnOfLeft(left.blocks), rowOfRight(right.blocks);
  std::vector<int32_t> lastResult(left.blocks, -1); // in which a block of A has a pair
  for (int64_t block = 0; block < blocks; ++block)
    for (int32_t i = starts[block]; i < starts[block + 1]; ++i) {
      const BlockPair &pair = pairs[i];
      if (pair.k < 0 || pair.k >= left.blockColumns || !columnOfLeft.set(pair.left, pair.k) ||
          !rowOfRight.set(pair.right, pair.k) || std::exchange(lastResult[pair.left], int32_t(block)) == block)
        return check.broken(SPARSEC_PLAN_PAIRS, "blocks ", pair.left, " and ", pair.right, " with k ", pair.k, " at ",
                            i, " are out of range, elsewhere, or there twice");
    }
  if (const BlockPair &end = pairs.back(); end.left != 0 || end.right != 0 || end.k != 0)
    return check.broken(SPARSEC_PLAN_PAIRS, "expects zeros behind the end");
  return {};
}

} // namespace sparsec::runtime
