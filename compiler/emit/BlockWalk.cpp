// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockWalk.h"

#include "Ptx.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// The column of a block, its number where that is not the position, and its scale where the walk visits scales.
Values BlockWalk::load(Value position) {
  Values loaded{index.column(position)};
  if (hasNumbers())
    loaded.push_back(index.block(position));
  if (Value scales = op.getScales()) {
    int64_t argument = cast<BlockArgument>(scales).getArgNumber();
    Value array = context.parameters.get(ParameterKind::pointer, argument);
    loaded.push_back(b.loadElement(b.getF32Type(), array, hasNumbers() ? loaded.back() : position));
  }
  return loaded;
}

/// Loads what a visit of the step at a position sees of its blocks. The position exists.
Values BlockWalk::loadStep(Value position) {
  if (blocks() == 1)
    return load(position);
  Values visited = read(packState(at(position, {})));
  return Values(llvm::drop_begin(visited));
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Zeros of the same types, where there is no block.
Values BlockWalk::nothingLoaded() {
  Values zeros(blocks() * (hasNumbers() ? 2 : 1), b.i32(0));
  if (op.getScales())
    zeros.push_back(b.f32(0));
  return zeros;
}

/// A loop that uses what is loaded of a block loads it for the next block while it works on this one.
Values BlockWalk::loop(ArrayRef<bool> isUsed, ValueRange carried, Visit visit) {
  size_t loadedCount = isUsed.size() - 1; // all but the position
  if (llvm::none_of(isUsed.drop_front(), [](bool used) { return used; }))
    return b.forLoop(firstBlock, end, b.i32(blocks()), carried, [&](Value position, ValueRange state) {
      Values visited(isUsed.size());
      visited.front() = position;
      return visit(visited, state);
    });
  if (op.getRotated())
    return rotatedLoop(int64_t(loadedCount), carried, visit);
  if (op->getParentOfType<RoleOp>().getUnit() == RoleUnit::warp && blocks() == 1)
    return loopByLanes(carried, visit);
  Value last = b.sub(end, 1);
  Value isEmpty = b.compare(arith::CmpIPredicate::sge, firstBlock, end);
  Values firstLoaded = b.ifThenElse(
      isEmpty, llvm::to_vector(llvm::drop_begin(op.getVisitedTypes())), [&] { return nothingLoaded(); },
      [&] { return loadStep(firstBlock); });
  context.waitBehindPattern();
  Values inits(carried);
  llvm::append_range(inits, firstLoaded);
  Values results = b.forLoop(firstBlock, end, b.i32(blocks()), inits, [&](Value position, ValueRange state) {
    Values nextLoaded = loadStep(b.minimum(b.add(position, blocks()), last));
    Values visited{position};
    llvm::append_range(visited, state.take_back(loadedCount));
    Values next = visit(visited, state.drop_back(loadedCount));
    llvm::append_range(next, nextLoaded);
    return next;
  });
  results.truncate(carried.size());
  return results;
}

/// Each lane loads for a block of its own, so that a row of up to 32 blocks waits for memory once.
Values BlockWalk::loopByLanes(ValueRange carried, Visit visit) {
  Value lane = b.bitAnd(context.thread, warpLanes - 1), last = b.sub(end, 1);
  context.waitBehindPattern();
  return b.forLoop(firstBlock, end, b.i32(warpLanes), carried, [&](Value first, ValueRange state) {
    Values ofLane = load(b.minimum(b.add(first, lane), last));
    Value count = b.minimum(b.sub(end, first), b.i32(warpLanes));
    return b.forLoop(b.i32(0), count, b.i32(1), state, [&](Value number, ValueRange state) {
      Values visited{b.add(first, number)};
      for (Value loaded : ofLane)
        visited.push_back(ptx::fromLane(b, loaded, number));
      return visit(visited, state);
    });
  });
}

/// The position and what is loaded of its block are carried: the producer has no register for one more position.
Values BlockWalk::rotatedLoop(int64_t loadedCount, ValueRange carried, Visit visit) {
  const int64_t visitedCount = 1 + loadedCount;
  Value isEmpty = b.compare(arith::CmpIPredicate::sge, firstBlock, end);
  Values state(carried);
  llvm::append_range(state, b.ifThenElse(
                                isEmpty, SmallVector<Type>(visitedCount, b.i32Type()),
                                [&] { return Values(visitedCount, b.i32(0)); }, [&] { return beginOfRotation(); }));
  context.waitBehindPattern();
  Values results = b.forLoop(firstBlock, end, b.i32(1), state, [&](Value, ValueRange state) {
    ValueRange visited = state.take_back(visitedCount);
    Values nextVisited = visitedAt(wrap(b.add(visited.front(), 1)));
    Values next = visit(visited, state.drop_back(visitedCount));
    llvm::append_range(next, nextVisited);
    return next;
  });
  results.truncate(carried.size());
  return results;
}

/// There is a block at least. Rows that are not rotated wait for no more loads than without all this.
Values BlockWalk::beginOfRotation() {
  Values first = visitedAt(firstBlock);
  Value count = b.sub(end, firstBlock), column = first[1], last = index.column(b.sub(end, 1));
  Value areNeighbours = b.compare(arith::CmpIPredicate::eq, b.sub(last, column), b.sub(count, 1));
  return b.ifThenElse(
      areNeighbours, SmallVector<Type>(first.size(), b.i32Type()),
      [&] { return visitedAt(wrap(b.sub(end, b.modulo(column, count)))); }, [&] { return first; });
}

/// The position, and the values that a visit loads of its block.
Values BlockWalk::visitedAt(Value position) {
  Values visited{position};
  llvm::append_range(visited, load(position));
  return visited;
}

Value BlockWalk::wrap(Value position) {
  return b.select(b.compare(arith::CmpIPredicate::eq, position, end), firstBlock, position);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Values BlockWalk::first() { return packState(at(firstBlock, hasChunks() ? Values{b.i32(0)} : Values())); }

Values BlockWalk::next(ValueRange values) {
  State step = unpack(values);
  if (!hasChunks())
    return packState(at(b.add(step.position, blocks()), {}));
  int64_t chunks = llvm::divideCeil(columnsOfBlock(), *op.getChunkColumns());
  Value chunk = b.add(step.chunk.front(), 1), wraps = b.equal(chunk, chunks);
  Value nextChunk = b.select(wraps, b.i32(0), chunk);
  Value position = b.select(wraps, b.add(step.position, 1), step.position);
  return packState(at(position, {nextChunk}));
}

Values BlockWalk::read(ValueRange values) {
  State step = unpack(values);
  Values visited{step.position};
  for (auto [i, column] : llvm::enumerate(step.columns))
    // The first block of a step that is read exists.
    visited.push_back(i == 0 ? column : b.select(b.less(b.add(step.position, i), end), column, columnBeyondMatrix()));
  llvm::append_range(visited, step.numbers);
  if (hasChunks())
    visited.push_back(b.mul(step.chunk.front(), *op.getChunkColumns()));
  return visited;
}

BlockWalk::State BlockWalk::unpack(ValueRange values) {
  return unpackState(values,
                     State{{}, Values(hasChunks() ? 1 : 0), Values(blocks()), Values(hasNumbers() ? blocks() : 0)});
}

/// Columns and numbers are in range for positions from the end on, too.
BlockWalk::State BlockWalk::at(Value position, const Values &chunk) {
  State step{position, chunk, {}, {}};
  for (int64_t i = 0; i < blocks(); ++i) {
    Values loaded = load(b.minimum(b.add(position, i), b.sub(end, 1)));
    step.columns.push_back(loaded.front());
    step.numbers.append(loaded.begin() + 1, loaded.end());
  }
  return step;
}

Value BlockWalk::columnBeyondMatrix() { return b.divide(b.add(index.depth(), columnsOfBlock() - 1), columnsOfBlock()); }
