// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HostSchedule.h"

#include "sparsec/launch_info.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

namespace {

struct TileSizes {
  int64_t m, n, k;
};

/// Columns of a tile, or keys of a step: eight registers of eight f32, enough independent sums to hide the latency of a
/// multiply-add.
constexpr int64_t columnsOfTile = 64;
/// Elements of K of a step of sddmm, whose operands are dense.
constexpr int64_t depthOfSampledStep = 256;

/// A block row by some columns. A step is a block, or the part of it that one scale of X is for.
TileSizes sizesOf(SpmmOp spmm) {
  BsrType matrix = spmm.getMatrix().getType();
  int64_t depth = matrix.getBlockColumns();
  return {matrix.getBlockRows(), columnsOfTile,
          spmm.getXScale() ? std::min<int64_t>(depth, SPARSEC_X_SCALE_DEPTH) : depth};
}

/// One stored block.
TileSizes sizesOf(SddmmOp sddmm) {
  BsrType pattern = sddmm.getPattern().getType();
  return {pattern.getBlockRows(), pattern.getBlockColumns(), depthOfSampledStep};
}

/// One block of the result.
TileSizes sizesOf(SpgemmOp spgemm) {
  BsrType left = spgemm.getLeft().getType();
  return {left.getBlockRows(), spgemm.getRight().getType().getBlockColumns(), left.getBlockColumns()};
}

/// A block of queries. A step has some keys.
TileSizes sizesOf(AttentionOp attention) {
  Value pattern = attention.getPattern();
  int64_t queries = pattern ? cast<PatternType>(pattern.getType()).getQueryBlock() : columnsOfTile;
  return {queries, columnsOfTile, attention.getHeadDimension()};
}

} // namespace

void sparsec::setHostSchedule(KernelOp kernel) {
  const TileSizes sizes =
      TypeSwitch<Operation *, TileSizes>(kernel.getAnchor()).Case<SpmmOp, SddmmOp, SpgemmOp, AttentionOp>([](auto op) {
        return sizesOf(op);
      });
  kernel.setScheduleAttr(
      ScheduleAttr::get(kernel.getContext(), Instruction::multiply_add, Copy::unpack, sizes.m, sizes.n, sizes.k,
                        /*stages=*/1, /*consumers_m=*/1, /*consumers_n=*/1, /*cluster=*/1,
                        /*producer_registers=*/0, /*consumer_registers=*/0, /*group_m=*/1,
                        /*ctas_per_sm=*/1, /*concurrent_tiles=*/1, Walk::blocks, /*block_stages=*/0));
  kernel.removeFallbackScheduleAttr();
  kernel.removePlannedSchedulesAttr();
  kernel.removeNarrowSchedulesAttr();
  kernel.removePackedSchedulesAttr();
  kernel.removePackedBlockAttr();
}
