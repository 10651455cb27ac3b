// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockSteps.h"

#include "BlockIndex.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

Values BlockSteps::first() { return at(firstBlock, b.i32(0)); }

Values BlockSteps::next(ValueRange values) {
  State step = unpack(values);
  if (int64_t(op.getChunks()) == 1)
    return at(b.add(step.position, blocks()), step.chunk);
  Value chunk = b.add(step.chunk, 1);
  Value wraps = b.equal(chunk, op.getChunks());
  return at(b.select(wraps, b.add(step.position, 1), step.position), b.select(wraps, b.i32(0), chunk));
}

Values BlockSteps::read(ValueRange values) {
  State step = unpack(values);
  Values result{hasNumbers() ? step.numbers.front() : step.position, b.mul(step.chunk, op.getChunkColumns())};
  for (auto [i, column] : llvm::enumerate(step.columns))
    // The first block of a step that is read exists.
    result.push_back(i == 0 ? column : b.select(b.less(b.add(step.position, i), end), column, columnBeyondMatrix()));
  if (hasNumbers())
    llvm::append_range(result, ValueRange(step.numbers).drop_front());
  return result;
}

BlockSteps::State BlockSteps::unpack(ValueRange values) {
  return unpackState(values, State{{}, {}, Values(blocks()), Values(hasNumbers() ? blocks() : 0)});
}

/// Columns and numbers are in range for positions from the end on, too.
Values BlockSteps::at(Value position, Value chunk) {
  BlockIndex index(context, op.getMatrix());
  State step{position, chunk, {}, {}};
  for (int64_t i = 0; i < blocks(); ++i) {
    Value stored = b.minimum(b.add(position, i), b.sub(end, 1));
    step.columns.push_back(index.column(stored));
    if (hasNumbers())
      step.numbers.push_back(index.block(stored));
  }
  return packState(step);
}

Value BlockSteps::columnBeyondMatrix() {
  int64_t columnsOfBlock = op.getMatrix().getType().getBlockColumns();
  Value depth = BlockIndex(context, op.getMatrix()).depth();
  return b.divide(b.add(depth, columnsOfBlock - 1), columnsOfBlock);
}
