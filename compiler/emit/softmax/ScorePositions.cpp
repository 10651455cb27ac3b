// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScorePositions.h"

using namespace mlir;
using namespace sparsec;

ScorePosition ScorePositions::at(Value index) const {
  KernelBuilder &b = context->b;
  Value column = b.shiftLeft(b.divide(index, 4), 3), row = b.bitAnd(b.shiftRight(index, 1), 1);
  ScorePosition position = {b.add(query, b.shiftLeft(row, 3)), blocks[0].firstKey, blocks[0].isPartial};
  Value inBlock = column;
  if (blocks.size() > 1) {
    Value isFirst = b.less(column, context->keyBlock);
    position.key = b.select(isFirst, position.key, blocks[1].firstKey);
    position.isPartial = b.select(isFirst, position.isPartial, blocks[1].isPartial);
    inBlock = b.modulo(column, context->keyBlock);
  }
  position.key = b.add(position.key, b.add(inBlock, b.bitAnd(index, 1)));
  return position;
}

/// A zero that is made of the score is added. The sign of a size is a zero, but no compiler knows that.
ScorePositions ScorePositions::knownAfter(Value score) const {
  KernelBuilder &b = context->b;
  Value zero = arith::AndIOp::create(b, arith::ShRSIOp::create(b, context->keys(), b.i32(31)), b.bitsOf(score));
  ScorePositions later = *this;
  later.query = b.bitOr(query, zero);
  for (Block &block : later.blocks)
    block.firstKey = b.bitOr(block.firstKey, zero);
  return later;
}

Value ScorePositions::firstAsFloat(const PositionSum &sum, int64_t index) const {
  KernelBuilder &b = context->b;
  Value queries = b.mul(query, sum.queries), keys = b.mul(blockOf(index).firstKey, sum.keys);
  return arith::SIToFPOp::create(b, b.getF32Type(), b.add(b.add(queries, keys), sum.constant));
}

Value ScorePositions::asFloat(const PositionSum &sum, int64_t index) const {
  KernelBuilder &b = context->b;
  return b.addF(firstAsFloat(sum, index), b.f32(distanceFromFirst(sum, index)));
}
