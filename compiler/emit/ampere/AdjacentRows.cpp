// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ampere/AdjacentRows.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

class AdjacentCopy {
public:
  AdjacentCopy(ProgramEmitter &program, CopyOp op)
      : context(program.context), b(program.b), ring(program.ringOf(op.getRing())), index(op.getIndex()),
        number(cast<BlockArgument>(op.getSource()).getArgNumber()), element(ring.elementType(index)),
        thread(program.threadOfCopy()), threads(program.threadsOfCopy()),
        begins{program.values.one(op.getCoordinates()[0])},
        destination(ring.slotPointer(index, program.slotOf(op.getCursor()).slot)) {
    llvm::append_range(begins, program.values.flat(op.getParts()));
  }

  void emit();

private:
  void copyVectors();
  void copyWithGaps();
  void copyVectorsOfRows();
  void copyElements();
  void copyElementsOfRow(Value row, Value firstColumn);
  Value isWithoutGaps();
  Value hasWholeVectors();
  Value isAligned();
  Value rowInMatrix(Value row);

  int64_t rowsOfPart() { return ring.bufferRows(index) / int64_t(begins.size()); }
  int64_t vectorElements() { return vectorBytes / ring.elementBytes(index); }
  Value rows() { return context.size(number, 0); }
  Value columns() { return context.size(number, 1); }
  Value stride() { return context.parameters.get(ParameterKind::stride, number, 0); }
  Value pointer() { return context.parameters.get(ParameterKind::pointer, number); }

  ProgramContext &context;
  KernelBuilder &b;
  Ring &ring;
  int64_t index, number; // of the buffer, of the kernel argument
  Type element;
  Value thread; // among those that share the copy
  int64_t threads;
  Values begins; // of the parts in the matrix, one below the other
  Value destination;
};

} // namespace

void AdjacentCopy::emit() {
  b.ifThenElse(
      isWithoutGaps(), {},
      [&] {
        copyVectors();
        return Values();
      },
      [&] {
        copyWithGaps();
        return Values();
      });
}

/// The other program for as few columns takes whole vectors of such rows, where there is one.
void AdjacentCopy::copyWithGaps() {
  if (ring.bufferColumns(index) <= columnsOfWholeRows)
    return copyElements();
  b.ifThenElse(
      hasWholeVectors(), {},
      [&] {
        copyVectorsOfRows();
        return Values();
      },
      [&] {
        copyElements();
        return Values();
      });
}

Value AdjacentCopy::isAligned() {
  Value address = LLVM::PtrToIntOp::create(b, b.getI64Type(), pointer());
  return b.equal(b.bitAnd(address, vectorBytes - 1), 0);
}

Value AdjacentCopy::isWithoutGaps() {
  Value isAdjacent = b.compare(arith::CmpIPredicate::eq, stride(), b.extend(columns()));
  return b.logicalAnd(isAligned(), isAdjacent);
}

/// Whether every row of the matrix begins and ends at a vector.
Value AdjacentCopy::hasWholeVectors() {
  Value rest = b.bitOr(stride(), b.extend(columns()));
  return b.logicalAnd(isAligned(), b.equal(b.bitAnd(rest, vectorElements() - 1), 0));
}

/// A part begins at a vector, because its rows are a multiple of 8. Its places have room for `columns` of the buffer,
/// and those behind its elements copy nothing.
void AdjacentCopy::copyVectors() {
  const int64_t ofPart = rowsOfPart() * ring.bufferColumns(index) / vectorElements();
  const int64_t total = ofPart * int64_t(begins.size());
  Value elements = b.mul(columns(), rowsOfPart());
  for (int64_t first = 0; first < total; first += threads) {
    Value place = b.add(thread, first), part = b.divide(place, ofPart);
    Value inPart = b.mul(b.modulo(place, ofPart), vectorElements());
    Value begin = b.select(begins, part), rest = b.mul(b.minimum(b.sub(rows(), begin), b.i32(rowsOfPart())), columns());
    Value valid = b.minimum(b.sub(rest, inPart), b.i32(vectorElements()));
    Value exists = b.less(b.i32(0), valid);
    // Nothing is read for a vector that does not exist, but its address must be valid all the same.
    Value source = b.add(b.mul(b.extend(begin), stride()), b.extend(inPart));
    auto copy = [&] {
      ptx::copyAsync16(b, b.elementPointer(destination, element, b.add(b.mul(part, elements), inPart)),
                       b.elementPointer(pointer(), element, b.select(exists, source, b.i64(0))), /*inL1=*/false,
                       b.mul(b.select(exists, valid, b.i32(0)), ring.elementBytes(index)));
    };
    Value isPlace = b.less(inPart, elements);
    b.ifThen(total % threads == 0 ? isPlace : b.logicalAnd(isPlace, b.less(place, total)), copy);
  }
}

/// Rows of whole vectors that are further apart than they are long. Rows beyond the matrix become zeros.
void AdjacentCopy::copyVectorsOfRows() {
  Value ofRow = b.divide(columns(), vectorElements());
  b.forLoop(thread, b.mul(ofRow, ring.bufferRows(index)), b.i32(threads), {}, [&](Value place, ValueRange) {
    Value row = b.divide(place, ofRow), column = b.mul(b.modulo(place, ofRow), vectorElements());
    Value inMatrix = rowInMatrix(row), exists = b.less(inMatrix, rows());
    Value readable = b.minimum(inMatrix, b.sub(rows(), 1));
    Value source = b.add(b.mul(b.extend(readable), stride()), b.extend(column));
    ptx::copyAsync16(b, b.elementPointer(destination, element, b.mul(place, vectorElements())),
                     b.elementPointer(pointer(), element, source), /*inL1=*/false,
                     b.select(exists, b.i32(vectorBytes), b.i32(0)));
    return Values();
  });
}

Value AdjacentCopy::rowInMatrix(Value row) {
  return b.add(b.select(begins, b.divide(row, rowsOfPart())), b.modulo(row, rowsOfPart()));
}

void AdjacentCopy::copyElements() {
  const int64_t ofRow = llvm::divideCeil(ring.bufferColumns(index), vectorElements());
  b.forLoop(thread, b.i32(ring.bufferRows(index) * ofRow), b.i32(threads), {}, [&](Value place, ValueRange) {
    Value firstColumn = b.mul(b.modulo(place, ofRow), vectorElements());
    b.ifThen(b.less(firstColumn, columns()), [&] { copyElementsOfRow(b.divide(place, ofRow), firstColumn); });
    return Values();
  });
}

/// As many elements as a vector has. The last column takes the place of columns that do not exist.
void AdjacentCopy::copyElementsOfRow(Value row, Value firstColumn) {
  Type bits = b.getIntegerType(element.getIntOrFloatBitWidth());
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(bits, 0));
  Value inMatrix = rowInMatrix(row);
  Value exists = b.less(inMatrix, rows()), readable = b.minimum(inMatrix, b.sub(rows(), 1));
  Value source = b.elementPointer(pointer(), element, b.mul(b.extend(readable), stride()));
  Value inBuffer = b.mul(row, columns());
  Values numbers, places;
  for (int64_t i = 0; i < vectorElements(); ++i) {
    places.push_back(b.minimum(b.add(firstColumn, i), b.sub(columns(), 1)));
    numbers.push_back(b.select(exists, b.loadElement(bits, source, b.extend(places.back())), zero));
  }
  for (auto [place, stored] : llvm::zip(places, numbers))
    LLVM::StoreOp::create(b, stored, b.elementPointer(destination, element, b.add(inBuffer, place)));
}

void sparsec::emitAdjacentCopy(ProgramEmitter &program, CopyOp op) { AdjacentCopy(program, op).emit(); }

Value sparsec::elementsOfAdjacentRow(ProgramContext &context, ViewOp view, Ring &ring) {
  if (!ring.isAdjacent(view.getIndex()))
    return Value();
  for (Operation *user : view.getRing().getUsers())
    if (auto copy = dyn_cast<CopyOp>(user); copy && copy.getIndex() == view.getIndex())
      return context.size(cast<BlockArgument>(copy.getSource()).getArgNumber(), 1);
  llvm_unreachable("a copy fills the buffer of a view");
}

Value sparsec::hasVectorsOfColumns(KernelBuilder &b, MmaOperand x) {
  const int64_t elements = vectorBytes / x.ring.elementBytes(x.view.getIndex());
  return b.equal(b.bitAnd(x.elementsOfRow, elements - 1), 0);
}

/// Lanes 0 to 15 address the rows of the first 8 columns, the others those of the next 8.
Values sparsec::loadVectorsOfAdjacentB(KernelBuilder &b, MmaOperand x, int64_t pair, int64_t k) {
  const int64_t index = x.view.getIndex(), bytes = x.ring.elementBytes(index), elements = vectorBytes / bytes;
  Value rowBytes = b.mul(x.elementsOfRow, bytes);
  Value column = b.add(x.column, b.add(b.mul(b.shiftRight(x.lane, 4), elements), 16 * pair));
  column = b.minimum(column, b.sub(x.elementsOfRow, elements));
  Value ofLane = b.add(b.mul(b.bitAnd(x.lane, 15), rowBytes), b.mul(column, bytes));
  Value place = b.byteOffset(x.ring.slotPointer(index, x.slot), ofLane);
  return ptx::loadMatrix(b, b.byteOffset(place, b.mul(rowBytes, 16 * k)), 4, /*transposed=*/true);
}

/// A lane has two neighbours in K of one column in each register.
Values sparsec::loadAdjacentB(KernelBuilder &b, MmaOperand x, int64_t pair, int64_t k, int64_t groups) {
  const int64_t index = x.view.getIndex(), bytes = x.ring.elementBytes(index);
  Type bits = b.getIntegerType(8 * bytes), both = VectorType::get(2, bits);
  Value depthOfLane = b.shiftLeft(b.bitAnd(x.lane, 3), 1), rowBytes = b.mul(x.elementsOfRow, bytes);
  Value slot = x.ring.slotPointer(index, x.slot);
  Values registers;
  for (int64_t group = 0; group < groups; ++group) {
    Value column = b.add(b.add(x.column, b.shiftRight(x.lane, 2)), 8 * (2 * pair + group));
    column = b.minimum(column, b.sub(x.elementsOfRow, 1));
    Value first = b.byteOffset(slot, b.add(b.mul(depthOfLane, rowBytes), b.mul(column, bytes)));
    for (int64_t half : {0, 8}) {
      Value loaded = LLVM::PoisonOp::create(b, both);
      for (int64_t i : {0, 1}) {
        Value number = b.load(bits, b.byteOffset(first, b.mul(rowBytes, 16 * k + half + i)));
        loaded = LLVM::InsertElementOp::create(b, loaded, number, b.i32(i));
      }
      registers.push_back(LLVM::BitcastOp::create(b, b.i32Type(), loaded));
    }
  }
  return registers;
}
