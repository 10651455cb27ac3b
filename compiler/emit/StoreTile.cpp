// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StoreTile.h"

#include "InlineRegion.h"
#include "LongRegion.h"
#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

/// The columns of a block of B in a product of two block-sparse matrices, else 0.
static int64_t columnsOfRightBlock(ProductContext &context) {
  int64_t columns = 0;
  context.program.walk([&](CopyOp copy) {
    if (copy.getDepthRows())
      columns = cast<BsrType>(copy.getSource().getType()).getBlockColumns();
  });
  return columns;
}

ElementCoordinates::ElementCoordinates(ProductContext &context, const TilePosition &position,
                                       AccumulatorFragment &fragment)
    : b(context.b), rowCount(context.rows()), columnCount(context.columns()), blockRows(context.matrix.getBlockRows()),
      groups(fragment.groups), slabRows(fragment.slabRows),
      // Rows of the tile below the end of the block row belong to the next one.
      masksBlockRow(context.crossesBlockRows()) {
  Value firstRow = b.mul(position.blockRow, blockRows), firstInBlock = position.rowInBlock;
  Value firstColumn = position.column;
  if (position.isSwapped) {
    std::swap(rowCount, columnCount);
    firstColumn = b.add(firstRow, position.rowInBlock);
    firstRow = position.column;
    firstInBlock = b.i32(0);
  }
  // Columns of the tile behind those of the block belong to the next one.
  int64_t columnsOfTile = 8 * groups * int64_t(context.schedule.getConsumersN());
  if (int64_t columns = columnsOfRightBlock(context); columns != 0 && columnsOfTile > columns)
    columnCount = b.minimum(columnCount, b.add(firstColumn, columns));
  // Not kept from tile to tile: the registers belong to the accumulators.
  Value lane = ptx::opaque(b, b.bitAnd(context.thread, 31));
  rowInBlock = b.add(b.add(firstInBlock, fragment.row), b.shiftRight(lane, 2));
  row = b.add(firstRow, rowInBlock);
  column = b.add(b.add(firstColumn, fragment.column), b.shiftLeft(b.bitAnd(lane, 3), 1));
}

void ElementCoordinates::beginGroup(int64_t group, Value zero) {
  auto wait = [&](Value value) { return ptx::opaque(b, zero ? b.bitOr(value, zero) : value); };
  groupRow = wait(row);
  groupColumn = wait(b.add(column, 8 * group));
}

/// Element (slab * groups + group) * 4 + 2 * half + index of the fragment.
void ElementCoordinates::beginElement(Value element) {
  Value group = b.divide(element, 4), slab = b.divide(group, groups);
  Value half = b.bitAnd(b.shiftRight(element, 1), 1);
  groupRow = b.add(row, b.add(b.mul(slab, slabRows), b.shiftLeft(half, 3)));
  Value inRow = b.add(b.shiftLeft(b.modulo(group, groups), 3), b.bitAnd(element, 1));
  groupColumn = b.add(column, inRow);
}

Value ElementCoordinates::rowIsValid(int64_t slab, int64_t half) {
  Value valid = b.less(m(slab, half), rowCount);
  if (masksBlockRow)
    valid = b.logicalAnd(valid, b.less(b.add(rowInBlock, slabRows * slab + 8 * half), blockRows));
  return valid;
}

namespace {
/// Columns are blocks side by side. A group of 8 columns is in one block.
class BlockCoordinates : public ElementCoordinates {
public:
  BlockCoordinates(ProductContext &context, const TilePosition &position, AccumulatorFragment &fragment)
      : ElementCoordinates(context, position, fragment), context(context), position(position), productRow(row),
        inColumn(column) {
    rowCount = b.mul(position.endBlock, blockRows);
    columnCount = b.i32(context.matrix.getBlockColumns());
  }

  void beginGroup(int64_t group, Value zero) override {
    beginBlock(b.add(position.firstBlock, 8 * group / position.blockStride), zero);
    groupColumn = ptx::opaque(b, b.add(inColumn, 8 * group % position.blockStride));
  }

  void beginElement(Value element) override {
    ElementCoordinates::beginElement(element);
    Value slabRow = b.sub(groupRow, productRow), inTile = b.sub(groupColumn, inColumn);
    beginBlock(b.add(position.firstBlock, b.divide(inTile, position.blockStride)), Value());
    groupRow = b.add(groupRow, slabRow);
    productGroupRow = b.add(productGroupRow, slabRow);
    groupColumn = b.add(inColumn, b.modulo(inTile, position.blockStride));
  }

  Value ofRow(int64_t slab, int64_t half) override {
    return b.minimum(b.add(productGroupRow, slabRows * slab + 8 * half), b.sub(context.rows(), 1));
  }
  Value ofColumn(int64_t element) override {
    return b.minimum(b.add(firstColumnOfBlock(), clampedN(element)), b.sub(context.columns(), 1));
  }
  Value isInProduct(int64_t slab, int64_t half, int64_t element) override {
    Value isRow = b.less(b.add(productGroupRow, slabRows * slab + 8 * half), context.rows());
    return b.logicalAnd(isRow, b.less(b.add(firstColumnOfBlock(), n(element)), context.columns()));
  }
  Value rowIsValid(int64_t slab, int64_t half) override {
    Value valid = b.less(block, position.endBlock);
    Value inBlock = b.less(b.add(rowInBlock, slabRows * slab + 8 * half), blockRows);
    return masksBlockRow ? b.logicalAnd(valid, inBlock) : valid;
  }

private:
  /// In the product.
  Value firstColumnOfBlock() {
    Value columns = context.parameters.get(ParameterKind::col_idx, context.matrixArgument);
    Value blockColumn = b.loadElement(b.i32Type(), columns, b.minimum(block, b.sub(position.endBlock, 1)));
    return b.mul(blockColumn, context.matrix.getBlockColumns());
  }
  void beginBlock(Value number, Value zero) {
    block = ptx::opaque(b, zero ? b.bitOr(number, zero) : number);
    groupRow = b.add(b.mul(block, blockRows), rowInBlock);
    productGroupRow = productRow;
  }

  ProductContext &context;
  TilePosition position;
  Value productRow, inColumn; // of the product, and in the tile
  Value block, productGroupRow;
};
} // namespace

std::unique_ptr<ElementCoordinates> sparsec::makeCoordinates(ProductContext &context, const TilePosition &position,
                                                             AccumulatorFragment &fragment) {
  if (position.firstBlock)
    return std::make_unique<BlockCoordinates>(context, position, fragment);
  return std::make_unique<ElementCoordinates>(context, position, fragment);
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

/// That of the transpose of the result.
static Broadcast swapped(Broadcast broadcast) {
  if (broadcast == Broadcast::per_row)
    return Broadcast::per_column;
  return broadcast == Broadcast::per_column ? Broadcast::per_row : broadcast;
}

ExtraOperand::ExtraOperand(ProductContext &context, StoreOp store, Value operand, Broadcast ofResult)
    : context(context), broadcast(store.getSwapped() ? swapped(ofResult) : ofResult),
      transposed(store.isContiguousAlongRows()),
      inPairs(context.program.getAlignment() >= 16 && ((broadcast == Broadcast::per_column && !store.getPattern()) ||
                                                       (broadcast == Broadcast::full && !transposed))),
      // A tensor store takes only rows of whole 16-byte units; those of an N x M result are not along N.
      maybeOddWidth(!store.getStaged() || transposed), argument(cast<BlockArgument>(operand).getArgNumber()),
      type(operand.getType()) {}

int64_t ExtraOperand::registersPerGroup() {
  int64_t elements = broadcast == Broadcast::full ? 4 : broadcast == Broadcast::per_column ? 2 : 0;
  bool sharesRegister = inPairs && !elementType().isF32();
  return sharesRegister ? elements / 2 : elements;
}

Value ExtraOperand::element(ElementCoordinates &at, int64_t slab, int64_t half, int64_t index) {
  switch (broadcast) {
  case Broadcast::scalar:
    return cached(inTile, {0, 0}, [&] { return scalar(); });
  case Broadcast::per_row:
    return cached(inTile, {slab, half}, [&] { return load(at.ofRow(slab, half)); });
  case Broadcast::per_column:
    return inPairs ? pair(at, slab, 0)[index] : cached(inGroup, {0, index}, [&] { return load(at.ofColumn(index)); });
  case Broadcast::full:
    return inPairs ? pair(at, slab, half)[index] : full(at, slab, half, index);
  }
  llvm_unreachable("all broadcasts are covered");
}

Value ExtraOperand::element(ElementCoordinates &at) {
  switch (broadcast) {
  case Broadcast::scalar:
    return scalar();
  case Broadcast::per_row:
    return load(at.ofRow(0, 0));
  case Broadcast::per_column:
    return load(at.ofColumn(0));
  case Broadcast::full:
    return full(at, 0, 0, 0);
  }
  llvm_unreachable("all broadcasts are covered");
}

/// One of four elements, of which no two are neighbours in memory or none may be loaded together.
Value ExtraOperand::full(ElementCoordinates &at, int64_t slab, int64_t half, int64_t index) {
  Value m = at.clampedM(slab, half), n = at.clampedN(index);
  return load(transposed ? offset(n, m) : offset(m, n));
}

/// The two neighbours in a row. Columns are even here, so that the pair is aligned where the operand is.
ArrayRef<Value> ExtraOperand::pair(ElementCoordinates &at, int64_t slab, int64_t half) {
  KernelBuilder &b = context.b;
  Values &values = pairs[half];
  if (!values.empty())
    return values;
  Value second = at.columnIsValid(1), first = at.columnIsValid(0), index = at.n(0);
  if (broadcast == Broadcast::full) {
    Value row = at.rowIsValid(slab, half);
    first = b.logicalAnd(row, first);
    second = b.logicalAnd(row, second);
    index = offset(at.m(slab, half), index);
  }
  Value onlyFirst = maybeOddWidth ? b.logicalAnd(first, b.logicalNot(second)) : Value();
  values = ptx::loadGlobalPair(b, pointer(index), elementType(), /*both=*/second, onlyFirst);
  return values;
}

Value ExtraOperand::offset(Value outer, Value inner) {
  KernelBuilder &b = context.b;
  Value stride = context.parameters.get(ParameterKind::stride, argument, cast<RankedTensorType>(type).getRank() - 2);
  return b.add(b.mul(b.extend(outer), stride), b.extend(inner));
}

Value ExtraOperand::cached(Cache &cache, std::pair<int64_t, int64_t> key, function_ref<Value()> make) {
  Value &value = cache[key];
  if (!value)
    value = make();
  return value;
}

Value ExtraOperand::scalar() {
  if (type.isF32())
    return context.parameters.get(ParameterKind::scalar, argument);
  return load(context.b.i32(0));
}

Type ExtraOperand::elementType() { return cast<RankedTensorType>(type).getElementType(); }

Value ExtraOperand::pointer(Value index) {
  return context.b.elementPointer(context.parameters.get(ParameterKind::pointer, argument), elementType(), index);
}

/// An ordinary load, not one of constant memory: a full operand may be the result's own memory (y = beta * y + ...),
/// and loads that keep their order with the stores do not pile up in registers.
Value ExtraOperand::load(Value index) { return context.b.load(elementType(), pointer(index)); }

/// The registers that loads ahead of the arithmetic may take beside those of the accumulators, and how many groups
/// they are ahead at most. That is enough to hide their latency.
constexpr int64_t registersForLoads = 32, mostGroupsAhead = 8;

/// Tensor copies of dense operands bring zeros beyond M and N. Stored blocks may hold anything there.
static bool multipliesStoredEdges(ProductContext &context, StoreOp store) {
  bool copiesBlocks = false;
  context.program.walk([&](CopyOp copy) { copiesBlocks |= isa<BsrType>(copy.getSource().getType()); });
  return store.getPattern() && copiesBlocks;
}

TileEpilogue::TileEpilogue(ProductContext &context, StoreOp store, ElementCoordinates &at,
                           AccumulatorFragment &fragment)
    : context(context), store(store), at(at), fragment(fragment), hasMask(multipliesStoredEdges(context, store)) {
  for (auto [operand, broadcast] : llvm::zip(store.getExtras(), store.getBroadcast()))
    extras.emplace_back(context, store, operand, cast<BroadcastAttr>(broadcast).getValue());
  int64_t registers = 0;
  for (ExtraOperand &extra : extras)
    registers += extra.registersPerGroup();
  groupsAhead = std::clamp<int64_t>(registersForLoads / std::max<int64_t>(registers, 1), 1, mostGroupsAhead);
}

/// ptxas sees through every move and starts the arithmetic and the loads of many groups at once, whose half-done values
/// would take the registers of accumulators. What keeps it in order is a true dependence: a zero made of the results of
/// an earlier group. The sign of a size is a zero too, but no compiler knows that.
Value TileEpilogue::zeroAfter(ValueRange results) {
  KernelBuilder &b = context.b;
  Value zero = arith::ShRSIOp::create(b, context.rows(), b.i32(31));
  for (Value result : results)
    zero = arith::AndIOp::create(b, zero, arith::BitcastOp::create(b, b.i32Type(), result));
  return zero;
}

/// `value`, known only when `zero` is.
Value TileEpilogue::startAfter(Value value, Value zero) {
  KernelBuilder &b = context.b;
  Value bits = b.bitOr(arith::BitcastOp::create(b, b.i32Type(), value), zero);
  return arith::BitcastOp::create(b, value.getType(), bits);
}

/// The accumulator, or zero for an element beyond the product.
Value TileEpilogue::masked(Value accumulator, int64_t slab, int64_t half, int64_t element) {
  if (!hasMask)
    return accumulator;
  KernelBuilder &b = context.b;
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  return b.select(at.isInProduct(slab, half, element), accumulator, zero);
}

bool TileEpilogue::isIdentity() {
  return !hasMask && store.getEpilogue().front().without_terminator().empty() && extras.empty();
}

void TileEpilogue::begin() {
  if (isIdentity() || !isLong(store.getEpilogue()))
    return;
  fragment.values = changeInLoop(context, store.getEpilogue(), fragment.values, [&](Value index, Value value) {
    at.beginElement(index);
    SmallVector<Value> elements;
    for (ExtraOperand &extra : extras)
      elements.push_back(extra.element(at));
    return inlineEpilogue(context.b, store.getEpilogue(), masked(value, 0, 0, 0), elements);
  });
}

void TileEpilogue::apply(int64_t slab, int64_t group) {
  if (isIdentity() || isLong(store.getEpilogue()))
    return;
  int64_t count = zeros.size();
  at.beginGroup(group, count < groupsAhead ? Value() : zeros[count - groupsAhead]);
  for (ExtraOperand &extra : extras)
    extra.beginGroup();
  Values results;
  for (int64_t index = 0; index < 4; ++index) {
    SmallVector<Value> elements;
    for (ExtraOperand &extra : extras)
      elements.push_back(extra.element(at, slab, /*half=*/index / 2, index % 2));
    Value &value = fragment.at(slab, group, index);
    Value start = masked(value, slab, index / 2, index % 2);
    start = zeros.empty() ? start : startAfter(start, zeros.back());
    value = inlineEpilogue(context.b, store.getEpilogue(), start, elements);
    results.push_back(value);
  }
  zeros.push_back(zeroAfter(results));
}

//===----------------------------------------------------------------------===//
// Store from registers
//===----------------------------------------------------------------------===//

namespace {

/// Stores pairs of neighbouring results. A result that is contiguous along N and aligned takes the pair at once.
class DirectStore {
public:
  DirectStore(ProductContext &context, StoreOp store)
      : b(context.b), element(store.getResult().getType().getElementType()), transposed(store.isContiguousAlongRows()),
        wide(!transposed && context.program.getAlignment() >= 16),
        base(context.parameters.get(ParameterKind::pointer, context.resultArgument)),
        stride(context.parameters.get(ParameterKind::stride, context.resultArgument,
                                      store.getResult().getType().getRank() - 2)) {}

  void storePair(ElementCoordinates &at, int64_t slab, int64_t half, Value first, Value second) {
    Value rowValid = at.rowIsValid(slab, half);
    Value firstValid = b.logicalAnd(rowValid, at.columnIsValid(0));
    Value secondValid = b.logicalAnd(rowValid, at.columnIsValid(1));
    Value m = at.m(slab, half), n = at.n(0);
    if (wide) {
      ptx::storeGlobal(b, pointer(m, n), pairOf(first, second), secondValid);
      Value onlyFirst = b.logicalAnd(firstValid, b.logicalNot(secondValid));
      ptx::storeGlobal(b, pointer(m, n), single(first), onlyFirst);
      return;
    }
    ptx::storeGlobal(b, pointer(m, n), single(first), firstValid);
    ptx::storeGlobal(b, pointer(m, b.add(n, 1)), single(second), secondValid);
  }

private:
  Value pointer(Value m, Value n) {
    Value outer = b.extend(transposed ? n : m), inner = b.extend(transposed ? m : n);
    return b.elementPointer(base, element, b.add(b.mul(outer, stride), inner));
  }
  Value single(Value value) { return ptx::toElement(b, element, value); }
  Value pairOf(Value first, Value second) {
    if (!element.isF32())
      return ptx::pack(b, element, first, second);
    Value pair = LLVM::PoisonOp::create(b, VectorType::get(2, element));
    pair = LLVM::InsertElementOp::create(b, pair, first, b.i32(0));
    return LLVM::InsertElementOp::create(b, pair, second, b.i32(1));
  }

  KernelBuilder &b;
  Type element;
  bool transposed, wide;
  Value base, stride;
};

} // namespace

void sparsec::emitDirectStore(ProductContext &context, StoreOp store, const TilePosition &position,
                              AccumulatorFragment &fragment) {
  std::unique_ptr<ElementCoordinates> coordinates = makeCoordinates(context, position, fragment);
  ElementCoordinates &at = *coordinates;
  TileEpilogue epilogue(context, store, at, fragment);
  DirectStore direct(context, store);
  epilogue.begin();
  for (int64_t slab = 0; slab < fragment.slabs; ++slab)
    for (int64_t group = 0; group < fragment.groups; ++group) {
      epilogue.apply(slab, group);
      at.beginGroup(group); // again: what the epilogue computed of it does not stay in registers
      for (int64_t half = 0; half < 2; ++half)
        direct.storePair(at, slab, half, fragment.at(slab, group, 2 * half), fragment.at(slab, group, 2 * half + 1));
    }
}
