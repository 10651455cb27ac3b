// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StoreTile.h"

#include "InlineRegion.h"
#include "Ptx.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

ElementCoordinates::ElementCoordinates(ProgramContext &context, const TilePosition &position,
                                       AccumulatorFragment &fragment)
    : b(context.b), rowCount(context.rows()), columnCount(context.columns()), blockRows(context.matrix.getBlockRows()),
      // Rows of the tile below the end of the block row belong to the next one.
      masksBlockRow(blockRows % context.schedule.getTileM() != 0) {
  // Not kept from tile to tile: the registers belong to the accumulators.
  Value lane = ptx::opaque(b, b.bitAnd(context.thread, 31));
  rowInBlock = b.add(b.add(position.rowInBlock, fragment.row), b.shiftRight(lane, 2));
  row = b.add(b.mul(position.blockRow, blockRows), rowInBlock);
  column = b.add(b.add(position.column, fragment.column), b.shiftLeft(b.bitAnd(lane, 3), 1));
}

void ElementCoordinates::beginGroup(int64_t group) {
  groupRow = ptx::opaque(b, row);
  groupColumn = ptx::opaque(b, b.add(column, 8 * group));
}

Value ElementCoordinates::rowIsValid(int64_t slab, int64_t half) {
  Value valid = b.less(m(slab, half), rowCount);
  if (masksBlockRow)
    valid = b.logicalAnd(valid, b.less(b.add(rowInBlock, 16 * slab + 8 * half), blockRows));
  return valid;
}

//===----------------------------------------------------------------------===//
// Epilogue
//===----------------------------------------------------------------------===//

ExtraOperand::ExtraOperand(ProgramContext &context, Value operand, Broadcast broadcast, bool transposed)
    : context(context), broadcast(broadcast), transposed(transposed),
      argument(cast<BlockArgument>(operand).getArgNumber()), type(operand.getType()) {}

Value ExtraOperand::element(ElementCoordinates &at, int64_t slab, int64_t half, int64_t index) {
  switch (broadcast) {
  case Broadcast::scalar:
    return cached(inTile, {0, 0}, [&] { return scalar(); });
  case Broadcast::per_row:
    return cached(inTile, {slab, half}, [&] { return load(at.clampedM(slab, half)); });
  case Broadcast::per_column:
    return cached(inGroup, {0, index}, [&] { return load(at.clampedN(index)); });
  case Broadcast::full: {
    KernelBuilder &b = context.b;
    Value outer = b.extend(transposed ? at.clampedN(index) : at.clampedM(slab, half));
    Value inner = b.extend(transposed ? at.clampedM(slab, half) : at.clampedN(index));
    return load(b.add(b.mul(outer, context.parameters.get(ParameterKind::stride, argument, 0)), inner));
  }
  }
  llvm_unreachable("all broadcasts are covered");
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

/// An ordinary load, not one of constant memory: a full operand may be the result's own memory (y = beta * y + ...),
/// and loads that keep their order with the stores do not pile up in registers.
Value ExtraOperand::load(Value index) {
  KernelBuilder &b = context.b;
  Type element = cast<RankedTensorType>(type).getElementType();
  return b.load(element, b.elementPointer(context.parameters.get(ParameterKind::pointer, argument), element, index));
}

TileEpilogue::TileEpilogue(ProgramContext &context, StoreOp store, ElementCoordinates &at,
                           AccumulatorFragment &fragment)
    : context(context), store(store), at(at), fragment(fragment) {
  for (auto [operand, broadcast] : llvm::zip(store.getExtras(), store.getBroadcast()))
    extras.emplace_back(context, operand, cast<BroadcastAttr>(broadcast).getValue(), store.getTransposed());
}

void TileEpilogue::apply(int64_t slab, int64_t group) {
  if (store.getEpilogue().front().without_terminator().empty() && extras.empty())
    return; // the identity
  at.beginGroup(group);
  for (ExtraOperand &extra : extras)
    extra.beginGroup();
  for (int64_t index = 0; index < 4; ++index) {
    SmallVector<Value> elements;
    for (ExtraOperand &extra : extras)
      elements.push_back(extra.element(at, slab, /*half=*/index / 2, index % 2));
    Value &value = fragment.at(slab, group, index);
    value = inlineEpilogue(context.b, store.getEpilogue(), value, elements);
  }
}

//===----------------------------------------------------------------------===//
// Store from registers
//===----------------------------------------------------------------------===//

namespace {

/// Stores pairs of neighbouring results. A result that is contiguous along N and aligned takes the pair at once.
class DirectStore {
public:
  DirectStore(ProgramContext &context, StoreOp store)
      : b(context.b), element(store.getResult().getType().getElementType()), transposed(store.getTransposed()),
        wide(!transposed && context.program.getAlignment() >= 16),
        base(context.parameters.get(ParameterKind::pointer, context.resultArgument)),
        stride(context.parameters.get(ParameterKind::stride, context.resultArgument, 0)) {}

  void storePair(ElementCoordinates &at, int64_t slab, int64_t half, Value first, Value second) {
    Value rowValid = at.rowIsValid(slab, half);
    Value firstValid = b.logicalAnd(rowValid, at.columnIsValid(0));
    Value secondValid = b.logicalAnd(rowValid, at.columnIsValid(1));
    Value m = at.m(slab, half), n = at.n(0);
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
  TileEpilogue epilogue(context, store, at, fragment);
  DirectStore direct(context, store);
  for (int64_t slab = 0; slab < fragment.slabs; ++slab)
    for (int64_t group = 0; group < fragment.groups; ++group) {
      epilogue.apply(slab, group);
      at.beginGroup(group); // again: what the epilogue computed of it does not stay in registers
      for (int64_t half = 0; half < 2; ++half)
        direct.storePair(at, slab, half, fragment.at(slab, group, 2 * half), fragment.at(slab, group, 2 * half + 1));
    }
}
