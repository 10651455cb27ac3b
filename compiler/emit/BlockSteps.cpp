// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockSteps.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

Values BlockSteps::first() { return at(firstBlock, b.i32(0)); }

Values BlockSteps::next(ValueRange values) {
  State step = unpackState(values, State{{}, {}, Values(blocks())});
  if (int64_t(op.getChunks()) == 1)
    return at(b.add(step.block, blocks()), step.chunk);
  Value chunk = b.add(step.chunk, 1);
  Value wraps = b.equal(chunk, op.getChunks());
  return at(b.select(wraps, b.add(step.block, 1), step.block), b.select(wraps, b.i32(0), chunk));
}

Values BlockSteps::read(ValueRange values) {
  State step = unpackState(values, State{{}, {}, Values(blocks())});
  Values result{step.block, b.mul(step.chunk, op.getChunkColumns())};
  for (auto [i, column] : llvm::enumerate(step.columns))
    // The first block of a step that is read exists.
    result.push_back(i == 0 ? column : b.select(b.less(b.add(step.block, i), end), column, columnBeyondMatrix()));
  return result;
}

Values BlockSteps::at(Value block, Value chunk) {
  State step{block, chunk, {}};
  for (int64_t i = 0; i < blocks(); ++i)
    step.columns.push_back(columnOf(b.add(block, i)));
  return packState(step);
}

/// The number is in range for blocks from the end on, too.
Value BlockSteps::columnOf(Value block) {
  Value columns = context.parameters.get(ParameterKind::col_idx, matrix());
  return b.loadElement(b.i32Type(), columns, b.minimum(block, b.sub(end, 1)));
}

Value BlockSteps::columnBeyondMatrix() {
  int64_t columnsOfBlock = op.getMatrix().getType().getBlockColumns();
  Value depth = context.parameters.get(ParameterKind::size, matrix(), 1);
  return b.divide(b.add(depth, columnsOfBlock - 1), columnsOfBlock);
}
