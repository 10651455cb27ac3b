// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ampere/ThreadCopy.h"

#include "Ptx.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

ThreadCopy::ThreadCopy(ProgramEmitter &program, CopyOp op)
    : context(program.context), b(program.b), values(program.values), op(op), ring(program.ringOf(op.getRing())),
      layout(b, ring, op.getIndex()), slot(program.slotOf(op.getCursor()).slot),
      number(cast<BlockArgument>(op.getSource()).getArgNumber()), element(ring.elementType(op.getIndex())),
      vectorElements(layout.vectorElements()), thread(program.threadOfCopy()), threads(program.threadsOfCopy()),
      firstRow(0), rowCount(layout.rows()) {
  if (std::optional<ArrayRef<int64_t>> part = op.getRows()) {
    firstRow = (*part)[0];
    rowCount = (*part)[1];
  }
}

bool ThreadCopy::goesByElement() { return context.schedule.getCopy() == Copy::scalar; }

/// Each copy of a group has a branch of its own: one for all was up to 18 % slower (bench/notes/cp-async-roles.md).
void ThreadCopy::emit() {
  if (!hasWholePasses())
    return emitChecked();
  Value whole = isWhole();
  if (!whole)
    return emitWhole();
  b.ifThenElse(
      whole, {},
      [&] {
        emitWhole();
        return Values();
      },
      [&] {
        emitChecked();
        return Values();
      });
}

ThreadCopy::InPart ThreadCopy::locate(const Position &position, int64_t extent, int64_t parts) {
  Value place = b.add(position.lane, position.constant);
  if (parts == 1)
    return {b.i32(0), place};
  int64_t inPart = position.constant % extent;
  if (inPart + position.range <= extent)
    return {b.i32(position.constant / extent), b.add(position.lane, inPart)};
  return {b.divide(place, extent), b.modulo(place, extent)};
}

Value ThreadCopy::maximum(ValueRange all) {
  Value greatest = all[0];
  for (Value value : all.drop_front())
    greatest = arith::MaxSIOp::create(b, greatest, value);
  return greatest;
}

//===----------------------------------------------------------------------===//
// Whole copies
//===----------------------------------------------------------------------===//

/// Passes must cover whole rows whose number is a power of two, so that a row's swizzle key is that of its first pass
/// xor a constant, and fill the buffer without a rest.
bool ThreadCopy::hasWholePasses() {
  if (goesByElement())
    return false;
  int64_t vectors = vectorsOfPart(), rowsOfPass = threads / vectors;
  bool fills = rowsOfPass > rows() || rows() % rowsOfPass == 0;
  return threads % vectors == 0 && llvm::isPowerOf2_64(rowsOfPass) && fills;
}

/// Rows of 12 or 24 vectors are no power of two: their passes go over 4 or 8 vectors at a time.
int64_t ThreadCopy::vectorsOfPart() {
  int64_t vectors = layout.vectorsOfRow();
  return hasContiguousRows() ? vectors & -vectors : vectors;
}

ThreadCopy::Passes ThreadCopy::passes() {
  int64_t vectors = vectorsOfPart(), rowsOfPass = threads / vectors;
  return {static_cast<int64_t>(llvm::divideCeil(rows(), rowsOfPass)),
          rowsOfPass,
          vectors,
          layout.vectorsOfRow() / vectors,
          b.divide(thread, vectors),
          b.modulo(thread, vectors)};
}

void ThreadCopy::emitWhole() {
  Passes all = passes();
  auto copyAll = [&] {
    for (auto [i, source] : llvm::enumerate(wholeSources(all)))
      for (int64_t vector = 0; vector < all.parts * all.vectors; vector += all.vectors)
        ptx::copyAsync16(
            b, layout.address(slot, {all.row, all.vector, firstRow + static_cast<int64_t>(i) * all.rows, vector}),
            vector == 0 ? source : b.byteOffset(source, vector * vectorBytes), staysInL1());
  };
  if (all.rows > rows())
    b.ifThen(b.less(all.row, rows()), copyAll);
  else
    copyAll();
}

//===----------------------------------------------------------------------===//
// Any copy
//===----------------------------------------------------------------------===//

void ThreadCopy::emitChecked() {
  int64_t vectors = layout.vectorsOfRow(), total = rows() * vectors;
  bool even = threads % vectors == 0; // each pass covers whole rows
  for (int64_t first = 0; first < total; first += threads) {
    Value index = even ? thread : b.add(thread, first);
    Value vector = b.modulo(index, vectors);
    Position row{b.divide(index, vectors), even ? first / vectors : 0, even ? threads / vectors : rows()};
    Position column{b.mul(vector, vectorElements), 0, vectors * vectorElements};
    auto copyOne = [&] {
      copyVector(layout.address(slot, {row.lane, vector, firstRow + row.constant}), source(row, column));
    };
    if (first + threads > total)
      b.ifThen(b.less(b.add(thread, first), total), copyOne);
    else
      copyOne();
  }
}

void ThreadCopy::copyVector(Value destination, const Source &source) {
  if (goesByElement())
    return copyElements(destination, source);
  int64_t elementBytes = vectorBytes / vectorElements;
  // Nothing is read for a vector that does not exist, but its address must be valid all the same.
  Value safeIndex = source.isReadable ? source.index : b.select(b.less(b.i32(0), source.valid), source.index, b.i64(0));
  ptx::copyAsync16(b, destination, b.elementPointer(source.base, element, safeIndex), staysInL1(),
                   b.mul(source.valid, elementBytes));
}

/// Elements that are not valid are read from a place that is, and replaced.
void ThreadCopy::copyElements(Value destination, const Source &source) {
  Type bits = b.getIntegerType(element.getIntOrFloatBitWidth());
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(bits, 0));
  Value any = b.less(b.i32(0), source.valid);
  Value start = source.isReadable ? source.index : b.select(any, source.index, b.i64(0));
  Value lastValid = b.select(any, b.sub(source.valid, 1), b.i32(0));
  Value vector = LLVM::PoisonOp::create(b, VectorType::get(vectorElements, bits));
  for (int64_t i = 0; i < vectorElements; ++i) {
    Value place = source.isReadable ? b.add(start, i) : b.add(start, b.extend(b.minimum(b.i32(i), lastValid)));
    Value exists = source.isReadable ? any : b.less(b.i32(i), source.valid);
    Value number = b.select(exists, b.loadElement(bits, source.base, place), zero);
    vector = LLVM::InsertElementOp::create(b, vector, number, b.i32(i));
  }
  LLVM::StoreOp::create(b, vector, destination, /*alignment=*/vectorBytes);
}
