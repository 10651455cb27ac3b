// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "QueryContext.h"

#include "ElementwiseRegion.h"
#include "Ptx.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static int64_t argumentNumber(Value value) { return cast<BlockArgument>(value).getArgNumber(); }

static Value maximum(KernelBuilder &b, Value left, Value right) { return arith::MaxSIOp::create(b, left, right); }

/// A limit that no tensor reaches is none: positions plus or minus it need not fit 32 bits. 2^30 rows of 64 elements of
/// K are 128 GiB.
static int64_t limit(int64_t limit) { return limit < (int64_t(1) << 30) ? limit : -1; }

Value sparsec::patternOf(ProgramOp program) {
  Value pattern;
  program.walk([&](KeyListsOp lists) { pattern = lists.getPattern(); });
  program.walk([&](JointListOp list) { pattern = list.getPattern(); });
  return pattern;
}

void QueryContext::describeSoftmax(TileSoftmaxOp op) {
  softmax = {&op.getScore(), &op.getMask(), op.getExtras(), op.getScale()};
  if (auto window = op.getWindow()) {
    windowLeft = limit((*window)[0]);
    windowRight = limit((*window)[1]);
  }
  if (op.getCausal())
    windowRight = 0;
}

QueryContext::QueryContext(ProgramOp program, LLVM::LLVMFuncOp function, KernelBuilder &b)
    : ProgramContext(program, function, b) {
  program.walk([&](TileSoftmaxOp op) { describeSoftmax(op); });
  program.walk([&](SequenceOp) { hasSequences = true; });
  SmallVector<int64_t> sources; // Q, K and V in this order
  RingType queries;
  program.walk([&](CopyOp copy) {
    if (sources.empty())
      queries = copy.getRing().getType();
    sources.push_back(argumentNumber(copy.getSource()));
  });
  query = sources[0];
  key = sources[1];
  value = sources.back();
  auto type = cast<BufferType>(queries.getBuffers()[0]);
  element = type.getElementType();
  scoreForm = ScoreForm(*softmax.score, element);
  headDimension = type.getColumns();
  tileRows = queryBlock = schedule.getTileM();
  tileKeys = keyBlock = schedule.getTileN();

  if (Value operand = patternOf(program)) {
    pattern = argumentNumber(operand);
    auto type = cast<PatternType>(operand.getType());
    queryBlock = type.getQueryBlock();
    keyBlock = type.getKeyBlock();
  }
  program.walk([&](StoreRowsOp store) { describeStore(store); });
  program.walk([&](StorePartOp store) { describeStore(store); });
  program.walk([&](ProductOp product) { hasSumsInProducts |= product.getOnes().has_value(); });
  program.walk([&](ScaleRowsOp scale) { queryExponent = int64_t(scale.getExponent()); });
}

template <typename Op> void QueryContext::describeStore(Op store) {
  result = argumentNumber(store.getResult());
  if (Value operand = store.getLse())
    lse = argumentNumber(operand);
  if (Value operand = store.getSinks())
    sinks = argumentNumber(operand);
  valueDimension = cast<RankedTensorType>(store.getResult().getType()).getShape().back();
}

Value QueryContext::panels() {
  if (!program.getSplit())
    return parameters.get(ParameterKind::tile_panels);
  return b.divide(b.add(queries(), tileRows - 1), tileRows);
}

Value QueryContext::firstInReach(const QueryTile &tile, Value query) {
  return windowLeft < 0 ? Value() : b.sub(b.add(query, queryOffset(tile)), windowLeft);
}

Value QueryContext::endOfReach(const QueryTile &tile, Value query) {
  if (windowRight < 0)
    return keys(tile);
  return b.minimum(keys(tile), b.add(b.add(query, queryOffset(tile)), windowRight + 1));
}

Value QueryContext::isInReach(const QueryTile &tile, Value query, Value key) {
  Value reach = b.less(key, endOfReach(tile, query));
  if (Value first = firstInReach(tile, query))
    reach = b.logicalAnd(reach, b.compare(arith::CmpIPredicate::sge, key, first));
  return reach;
}

Values QueryContext::computeValues(Region &region, ValueRange arguments, ValueRange wanted, KnownValues known,
                                   ReplaceOp replace) {
  auto load = [&](ElementOp element, ValueRange indices) {
    Value loaded = tileElements.lookup(element);
    return loaded ? loaded : loadExtra(element, indices);
  };
  return inlineValues(b, region, arguments, wanted, load, known, replace);
}

/// The regions also run for queries and keys that are not visible, or beyond the tensors, for which indices may be
/// anything: read an element that is there instead.
Value QueryContext::loadExtra(ElementOp element, ValueRange indices) {
  auto tensor = cast<BlockArgument>(element.getTensor());
  int64_t extra = tensor.getArgNumber() - (tensor.getOwner()->getNumArguments() - softmax.extras.size());
  int64_t number = argumentNumber(softmax.extras[extra]);
  Values inside;
  for (auto [dimension, index] : llvm::enumerate(indices)) {
    Value last = b.sub(size(number, dimension), 1);
    inside.push_back(arith::MaxSIOp::create(b, b.minimum(index, last), b.i32(0)));
  }
  Type stored = cast<RankedTensorType>(tensor.getType()).getElementType();
  return b.load(stored, elementAddress(number, stored, inside));
}

void QueryContext::loadForTile(const QueryTile &tile) {
  for (Region *region : {softmax.score, softmax.mask})
    for (ElementOp element : region->getOps<ElementOp>()) {
      if (!isLoadOfTile(element))
        continue;
      auto indices = llvm::map_to_vector(
          element.getIndices(), [&](Value index) { return placeOfIndex(index) == 0 ? tile.batch : tile.head; });
      tileElements[element] = loadExtra(element, indices);
    }
}

QueryTile QueryContext::tile(Value tileRow, Value block) {
  QueryTile tile;
  tile.batch = b.divide(tileRow, heads());
  tile.head = b.sub(tileRow, b.mul(tile.batch, heads()));
  tile.keyHead = b.divide(tile.head, b.divide(heads(), size(key, 1)));
  tile.first = b.mul(block, tileRows);
  return tile;
}

KeyBlocks QueryContext::reachableBlocks(const QueryTile &tile) {
  Value zero = b.i32(0), begin = zero, end = keys(tile);
  Value firstPosition = b.add(tile.first, queryOffset(tile));
  Value lastQuery = b.sub(b.minimum(b.add(tile.first, tileRows), queries(tile)), 1);
  if (windowLeft >= 0)
    begin = maximum(b, zero, b.sub(firstPosition, windowLeft));
  if (windowRight >= 0)
    end = b.minimum(end, b.add(b.add(lastQuery, queryOffset(tile)), windowRight + 1));
  // A tile of packed queries may be behind its sequence.
  if (tile.queries)
    end = b.select(b.less(tile.first, tile.queries), end, zero);
  Value endBlock = b.divide(b.add(maximum(b, end, zero), keyBlock - 1), keyBlock);
  return {b.divide(begin, keyBlock), b.select(b.less(begin, end), endBlock, zero)};
}

JointList QueryContext::jointList(const QueryTile &tile) {
  Value head = b.add(b.mul(tile.batch, heads()), tile.head);
  Value number = b.add(b.mul(head, panels()), b.divide(tile.first, tileRows));
  Value ranges = parameters.get(ParameterKind::plan_section, 0, SPARSEC_PLAN_JOINT_RANGES);
  auto type = VectorType::get(2, b.i32Type());
  Value range = b.loadInvariant(type, b.elementPointer(ranges, type, number));
  auto field = [&](int64_t place) { return LLVM::ExtractElementOp::create(b, range, b.i32(place)); };
  return {field(0), field(1)};
}

KeyLists QueryContext::keyLists(const QueryTile &tile, bool isPacked) {
  Value patternHeads = patternField(SPARSEC_FIELD_HEADS);
  Value batch = b.select(b.equal(patternField(SPARSEC_FIELD_BATCHES), 1), b.i32(0), tile.batch);
  Value head = b.select(b.equal(patternHeads, 1), b.i32(0), tile.head);
  Value rows = queryBlocks(isPacked ? size(*pattern, 0) : queries()), row = b.divide(tile.first, queryBlock);
  Value number = b.add(b.mul(b.add(b.mul(batch, patternHeads), head), rows), row);
  // A packed sequence may have more queries than the pattern has rows.
  Value exists = isPacked ? b.less(row, rows) : Value();
  KeyList partial = keyList(number, SPARSEC_FIELD_PARTIAL_STARTS, exists);
  KeyList full = keyList(number, SPARSEC_FIELD_FULL_STARTS, exists);
  KeyLists lists;
  lists.partial = partial.first;
  lists.partialCount = partial.count;
  lists.count = b.add(partial.count, full.count);
  lists.full = b.sub(full.first, partial.count);
  lists.firstBlock = firstBlockOf(lists);
  return lists;
}

Value QueryContext::firstBlockOf(const KeyLists &lists) {
  return b.ifThenElse(
      b.less(b.i32(0), lists.count), b.i32Type(), [&] { return Values{keyBlockAt(lists, b.i32(0))}; },
      [&] { return Values{b.i32(0)}; })[0];
}

/// Where the tile sees no blocks, all parts are empty.
KeyBlocks QueryContext::partOf(const KeyBlocks &all, const KeyPart &part, int64_t leastBlocks) {
  if (!part.number)
    return all;
  if (program.getCut()) {
    Value begin = b.minimum(b.add(all.begin, part.number), all.end);
    return {begin, b.minimum(b.add(begin, part.count), all.end)};
  }
  Value count = maximum(b, b.sub(all.end, all.begin), b.i32(0));
  Value equal = b.divide(b.sub(b.add(count, part.count), 1), part.count);
  Value share = maximum(b, equal, b.i32(leastBlocks));
  Value begin = b.minimum(b.add(all.begin, b.mul(part.number, share)), all.end);
  return {begin, b.minimum(b.add(begin, share), all.end)};
}

KeyLists QueryContext::partOf(const KeyLists &all, const KeyPart &part, int64_t leastBlocks) {
  if (!part.number)
    return all;
  KeyBlocks entries = partOf(KeyBlocks{b.i32(0), all.count}, part, leastBlocks);
  KeyLists lists;
  lists.partial = b.add(all.partial, entries.begin);
  lists.full = b.add(all.full, entries.begin);
  lists.partialCount = b.sub(all.partialCount, entries.begin);
  lists.count = b.sub(entries.end, entries.begin);
  lists.firstBlock = firstBlockOf(lists);
  return lists;
}

QueryContext::KeyList QueryContext::keyList(Value number, int64_t startsField, Value exists) {
  Value starts = patternField(startsField), hasLists = b.isNotNull(starts);
  Value isPadded = b.equal(patternField(SPARSEC_FIELD_ENCODING), SPARSEC_PATTERN_PADDED_LISTS);
  Type i32 = b.i32Type();
  Value capacity = arith::TruncIOp::create(b, i32, patternField(SPARSEC_FIELD_CAPACITY));
  auto range = b.ifThenElse(
      exists ? b.logicalAnd(hasLists, exists) : hasLists, {i32, i32},
      [&] {
        Value start = b.loadElement(i32, starts, number);
        return b.ifThenElse(
            isPadded, {i32, i32}, [&] { return Values{b.mul(number, capacity), start}; },
            [&] { return Values{start, b.sub(b.loadElement(i32, starts, b.add(number, 1)), start)}; });
      },
      [&] { return Values{b.i32(0), b.i32(0)}; });
  return {range[0], range[1]};
}

Value QueryContext::keyBlockAt(const KeyLists &lists, Value i) {
  Value isPartial = b.less(i, lists.partialCount);
  Value indices =
      b.select(isPartial, patternField(SPARSEC_FIELD_PARTIAL_INDICES), patternField(SPARSEC_FIELD_FULL_INDICES));
  return b.loadElement(b.i32Type(), indices, b.add(b.select(isPartial, lists.partial, lists.full), i));
}

Value QueryContext::isReachable(const KeyBlocks &reachable, Value block) {
  return b.logicalAnd(b.compare(arith::CmpIPredicate::sge, block, reachable.begin), b.less(block, reachable.end));
}
