// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of a tile, for every emitter: the epilogue on the accumulators in registers, and the store from registers.

#include "Epilogue.h"
#include "ProgramContext.h"
#include "Ptx.h"

using namespace mlir;
using namespace sparsec;

namespace {

/// Coordinates of the elements that this thread holds.
class ElementCoordinates {
public:
  ElementCoordinates(ProgramContext &context, const TilePosition &position, AccumulatorFragment &fragment)
      : b(context.b), rowCount(context.rows()), columnCount(context.columns()) {
    // Not kept from tile to tile: the registers belong to the accumulators.
    Value lane = ptx::opaque(b, b.bitAnd(context.thread, 31));
    rowInBlock = b.add(b.add(position.rowInBlock, fragment.row), b.shiftRight(lane, 2));
    row = b.add(b.mul(position.blockRow, context.matrix.getBlockRows()), rowInBlock);
    column = b.add(b.add(position.column, fragment.column), b.shiftLeft(b.bitAnd(lane, 3), 1));
    // Rows of the tile below the end of the block row belong to the next one.
    masksBlockRow = context.matrix.getBlockRows() % context.schedule.getTileM() != 0;
    blockRows = context.matrix.getBlockRows();
  }

  Value m(int64_t slab, int64_t half) { return b.add(row, 16 * slab + 8 * half); }
  Value n(int64_t group, int64_t element) { return b.add(column, 8 * group + element); }
  /// Inside the matrix, for loads whose value is not used otherwise.
  Value clampedM(int64_t slab, int64_t half) { return b.minimum(m(slab, half), b.sub(rowCount, 1)); }
  Value clampedN(int64_t group, int64_t element) { return b.minimum(n(group, element), b.sub(columnCount, 1)); }
  Value rowIsValid(int64_t slab, int64_t half) {
    Value valid = b.less(m(slab, half), rowCount);
    if (masksBlockRow)
      valid = b.logicalAnd(valid, b.less(b.add(rowInBlock, 16 * slab + 8 * half), blockRows));
    return valid;
  }
  Value columnIsValid(int64_t group, int64_t element) { return b.less(n(group, element), columnCount); }

private:
  KernelBuilder &b;
  Value rowCount, columnCount, rowInBlock, row, column;
  bool masksBlockRow;
  int64_t blockRows;
};

/// Loads the elements of one extra operand. What depends only on the row, only on the column or on neither is loaded
/// once: loads are built for a key and reused.
class ExtraOperand {
public:
  ExtraOperand(ProgramContext &context, Value operand, Broadcast broadcast, bool transposed)
      : context(context), broadcast(broadcast), transposed(transposed),
        argument(cast<BlockArgument>(operand).getArgNumber()), type(operand.getType()) {}

  Value element(ElementCoordinates &at, int64_t slab, int64_t half, int64_t group, int64_t index) {
    switch (broadcast) {
    case Broadcast::scalar:
      return cached({0, 0}, [&] { return scalar(); });
    case Broadcast::per_row:
      return cached({slab, half}, [&] { return load(at.clampedM(slab, half)); });
    case Broadcast::per_column:
      return cached({group, index}, [&] { return load(at.clampedN(group, index)); });
    case Broadcast::full: {
      KernelBuilder &b = context.b;
      Value outer = b.extend(transposed ? at.clampedN(group, index) : at.clampedM(slab, half));
      Value inner = b.extend(transposed ? at.clampedM(slab, half) : at.clampedN(group, index));
      return load(b.add(b.mul(outer, context.parameters.get(ParameterKind::stride, argument, 0)), inner));
    }
    }
    llvm_unreachable("all broadcasts are covered");
  }

private:
  Value cached(std::pair<int64_t, int64_t> key, function_ref<Value()> make) {
    Value &value = values[key];
    if (!value)
      value = make();
    return value;
  }
  Value scalar() {
    if (type.isF32())
      return context.parameters.get(ParameterKind::scalar, argument);
    return load(context.b.i32(0));
  }
  Value load(Value index) {
    Type element = cast<RankedTensorType>(type).getElementType();
    return context.b.loadElement(element, context.parameters.get(ParameterKind::pointer, argument), index);
  }

  ProgramContext &context;
  Broadcast broadcast;
  bool transposed;
  int64_t argument;
  Type type;
  llvm::DenseMap<std::pair<int64_t, int64_t>, Value> values;
};

} // namespace

void sparsec::emitEpilogue(ProgramContext &context, StoreOp store, const TilePosition &position,
                           AccumulatorFragment &fragment) {
  if (store.getEpilogue().front().without_terminator().empty() && store.getExtras().empty())
    return;
  ElementCoordinates at(context, position, fragment);
  SmallVector<ExtraOperand> extras;
  for (auto [operand, broadcast] : llvm::zip(store.getExtras(), store.getBroadcast()))
    extras.emplace_back(context, operand, cast<BroadcastAttr>(broadcast).getValue(), store.getTransposed());

  for (int64_t slab = 0; slab < fragment.slabs; ++slab)
    for (int64_t group = 0; group < fragment.groups; ++group)
      for (int64_t index = 0; index < 4; ++index) {
        SmallVector<Value> elements;
        for (ExtraOperand &extra : extras)
          elements.push_back(extra.element(at, slab, /*half=*/index / 2, group, index % 2));
        Value &value = fragment.at(slab, group, index);
        value = inlineEpilogue(context.b, store.getEpilogue(), value, elements);
      }
}

namespace {

/// Stores pairs of neighbouring results. A result that is contiguous along N and aligned takes the pair at once.
class DirectStore {
public:
  DirectStore(ProgramContext &context, StoreOp store)
      : b(context.b), element(store.getResult().getType().getElementType()), transposed(store.getTransposed()),
        wide(!transposed && context.program.getAlignment() >= 16),
        base(context.parameters.get(ParameterKind::pointer, context.resultArgument)),
        stride(context.parameters.get(ParameterKind::stride, context.resultArgument, 0)) {}

  void storePair(ElementCoordinates &at, int64_t slab, int64_t half, int64_t group, Value first, Value second) {
    Value rowValid = at.rowIsValid(slab, half);
    Value firstValid = b.logicalAnd(rowValid, at.columnIsValid(group, 0));
    Value secondValid = b.logicalAnd(rowValid, at.columnIsValid(group, 1));
    Value m = at.m(slab, half), n = at.n(group, 0);
    if (wide) {
      ptx::storeGlobal(b, pointer(m, n), pairOf(first, second), secondValid);
      Value onlyFirst = b.logicalAnd(firstValid, b.bitXor(secondValid, trueValue()));
      ptx::storeGlobal(b, pointer(m, n), single(first), onlyFirst);
      return;
    }
    ptx::storeGlobal(b, pointer(m, n), single(first), firstValid);
    ptx::storeGlobal(b, pointer(m, b.add(n, 1)), single(second), secondValid);
  }

private:
  Value trueValue() { return arith::ConstantOp::create(b, b.getBoolAttr(true)); }
  Value pointer(Value m, Value n) {
    Value outer = b.extend(transposed ? n : m), inner = b.extend(transposed ? m : n);
    return b.elementPointer(base, element, b.add(b.mul(outer, stride), inner));
  }
  Value single(Value value) {
    if (element.isF32())
      return value;
    return arith::TruncIOp::create(b, b.getIntegerType(16), ptx::pack(b, element, value, b.f32(0)));
  }
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

void sparsec::emitDirectStore(ProgramContext &context, StoreOp store, const TilePosition &position,
                              AccumulatorFragment &fragment) {
  ElementCoordinates at(context, position, fragment);
  DirectStore direct(context, store);
  for (int64_t slab = 0; slab < fragment.slabs; ++slab)
    for (int64_t half = 0; half < 2; ++half)
      for (int64_t group = 0; group < fragment.groups; ++group)
        direct.storePair(at, slab, half, group, fragment.at(slab, group, 2 * half),
                         fragment.at(slab, group, 2 * half + 1));
}
