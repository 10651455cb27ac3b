// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionContext.h"

#include "Ptx.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static int64_t argumentNumber(Value value) { return cast<BlockArgument>(value).getArgNumber(); }

/// A limit that no tensor reaches is none: positions plus or minus it need not fit 32 bits. 2^30 rows of 64 elements of
/// K are 128 GiB.
static int64_t limit(int64_t limit) { return limit < (int64_t(1) << 30) ? limit : -1; }

AttentionContext::AttentionContext(ProgramOp program, LLVM::LLVMFuncOp function, KernelBuilder &b)
    : ProgramContext(program, function, b) {
  program.walk([&](SoftmaxOp op) { softmax = op; });
  SmallVector<CopyRowsOp> copies;
  program.walk([&](CopyRowsOp copy) { copies.push_back(copy); });
  query = argumentNumber(copies[0].getSource());
  key = argumentNumber(copies[1].getSource());
  value = argumentNumber(copies[2].getSource());
  auto type = cast<BufferType>(copies[0].getRing().getType().getBuffers()[0]);
  element = type.getElementType();
  headDimension = type.getColumns();
  tileRows = schedule.getTileM();
  keyBlock = schedule.getTileN();

  program.walk([&](KeyLoopOp loop) {
    if (Value operand = loop.getPattern()) {
      pattern = argumentNumber(operand);
      keyBlock = cast<PatternType>(operand.getType()).getKeyBlock();
    }
  });
  program.walk([&](StoreRowsOp store) {
    result = argumentNumber(store.getResult());
    if (Value operand = store.getLse())
      lse = argumentNumber(operand);
  });
  if (auto window = softmax.getWindow()) {
    windowLeft = limit((*window)[0]);
    windowRight = limit((*window)[1]);
  }
  if (softmax.getCausal())
    windowRight = 0;
}

Value AttentionContext::elementAddress(int64_t argument, Type type, ValueRange indices) {
  Value offset = b.i64(0);
  for (auto [dimension, index] : llvm::enumerate(indices)) {
    Value term = b.extend(index);
    if (dimension + 1 < indices.size())
      term = b.mul(term, parameters.get(ParameterKind::stride, argument, dimension));
    offset = b.add(offset, term);
  }
  return b.elementPointer(parameters.get(ParameterKind::pointer, argument), type, offset);
}

/// The last block of queries, which sees most with causal, comes first.
QueryTile AttentionContext::tile(Value tileRow, Value panel) {
  QueryTile tile;
  tile.block = b.sub(b.sub(queryBlocks(), 1), panel);
  tile.batch = b.divide(tileRow, heads());
  tile.head = b.sub(tileRow, b.mul(tile.batch, heads()));
  tile.keyHead = b.divide(tile.head, b.divide(heads(), size(key, 1)));
  tile.first = b.mul(tile.block, tileRows);
  return tile;
}

static Value maximum(KernelBuilder &b, Value left, Value right) { return arith::MaxSIOp::create(b, left, right); }

KeyBlocks AttentionContext::reachableBlocks(const QueryTile &tile) {
  Value zero = b.i32(0), begin = zero, end = keys();
  Value firstPosition = b.add(tile.first, queryOffset());
  Value lastQuery = b.sub(b.minimum(b.add(tile.first, tileRows), queries()), 1);
  if (windowLeft >= 0)
    begin = maximum(b, zero, b.sub(firstPosition, windowLeft));
  if (windowRight >= 0)
    end = b.minimum(end, b.add(b.add(lastQuery, queryOffset()), windowRight + 1));
  Value endBlock = b.divide(b.add(maximum(b, end, zero), keyBlock - 1), keyBlock);
  return {b.divide(begin, keyBlock), b.select(b.less(begin, end), endBlock, zero)};
}

Values AttentionContext::forEachKeyBlock(const QueryTile &tile, ValueRange carried, Visit visit) {
  KeyBlocks reachable = reachableBlocks(tile);
  if (!pattern)
    return b.forLoop(reachable.begin, reachable.end, b.i32(1), carried,
                     [&](Value block, ValueRange state) { return visit(block, /*isPartial=*/true, state); });
  Values state = forEachInList(tile, reachable, /*isPartial=*/true, carried, visit);
  return forEachInList(tile, reachable, /*isPartial=*/false, state, visit);
}

KeyList AttentionContext::list(const QueryTile &tile, bool isPartial) {
  Value starts = patternField(isPartial ? SPARSEC_PATTERN_FIELD_PARTIAL_STARTS : SPARSEC_PATTERN_FIELD_FULL_STARTS);
  Value indices = patternField(isPartial ? SPARSEC_PATTERN_FIELD_PARTIAL_INDICES : SPARSEC_PATTERN_FIELD_FULL_INDICES);
  Value patternHeads = patternField(SPARSEC_PATTERN_FIELD_HEADS);
  Value batch = b.select(b.equal(patternField(SPARSEC_PATTERN_FIELD_BATCHES), 1), b.i32(0), tile.batch);
  Value head = b.select(b.equal(patternHeads, 1), b.i32(0), tile.head);
  Value list = b.add(b.mul(b.add(b.mul(batch, patternHeads), head), queryBlocks()), tile.block);

  Type i32 = b.i32Type(), i64 = b.getI64Type();
  Value null = LLVM::ZeroOp::create(b, starts.getType());
  Value hasLists = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, starts, null);
  Value isPadded = b.equal(patternField(SPARSEC_PATTERN_FIELD_ENCODING), SPARSEC_PATTERN_PADDED_LISTS);
  auto range = b.ifThenElse(
      hasLists, {i64, i32},
      [&] {
        Value start = b.loadElement(i32, starts, list);
        return b.ifThenElse(
            isPadded, {i64, i32},
            [&] { return Values{b.mul(b.extend(list), patternField(SPARSEC_PATTERN_FIELD_CAPACITY)), start}; },
            [&] { return Values{b.extend(start), b.sub(b.loadElement(i32, starts, b.add(list, 1)), start)}; });
      },
      [&] { return Values{b.i64(0), b.i32(0)}; });
  return {b.elementPointer(indices, i32, range[0]), range[1]};
}

/// An index that is out of range is not reachable, so that lists of a device that nobody has checked do no harm.
Value AttentionContext::isReachable(const KeyBlocks &reachable, Value block) {
  return b.logicalAnd(b.compare(arith::CmpIPredicate::sge, block, reachable.begin), b.less(block, reachable.end));
}

Values AttentionContext::forEachInList(const QueryTile &tile, KeyBlocks reachable, bool isPartial, ValueRange carried,
                                       Visit visit) {
  KeyList list = this->list(tile, isPartial);
  return b.forLoop(b.i32(0), list.count, b.i32(1), carried, [&](Value i, ValueRange state) {
    Value block = b.loadElement(b.i32Type(), list.first, i);
    return b.ifThenElse(
        isReachable(reachable, block), state.getTypes(), [&] { return visit(block, isPartial, state); },
        [&] { return Values(state); });
  });
}

Values AttentionContext::packPairs(ValueRange values) {
  Values pairs;
  for (size_t i = 0; i < values.size(); i += 2)
    pairs.push_back(ptx::pack(b, element, values[i], values[i + 1]));
  return pairs;
}
