// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "hopper/Products.h"

#include "Ptx.h"
#include "Swizzle.h"
#include "hopper/TensorCopy.h"

using namespace mlir;
using namespace sparsec;

static constexpr int64_t rowsOfInstruction = 64, threadsOfWarpgroup = 128;
/// The depth of an instruction whose A operand is in registers.
static constexpr int64_t depthOfFragment = 16;
/// The unit of descriptors, and of swizzles.
static constexpr int64_t vectorBytes = 16;
/// Core matrices have 8 rows of a panel.
static constexpr int64_t rowsOfGroup = 8;

/// The struct of an accumulator of `rows x columns`.
static Type wgmmaSumType(KernelBuilder &b, int64_t rows, int64_t columns) {
  SmallVector<Type> elements(rows * columns / threadsOfWarpgroup, b.getF32Type());
  return LLVM::LLVMStructType::getLiteral(b.getContext(), elements);
}

Value sparsec::emitWgmmaView(KernelBuilder &b, ViewOp view, Ring &ring, Value row, Value column) {
  int64_t index = view.getIndex(), rows = ring.bufferRows(index), panelBytes = ring.panelBytes(index);
  Value first = ring.slotPointer(index, b.i32(0));
  if (row)
    first = b.byteOffset(first, b.mul(row, panelBytes));
  if (column)
    first = b.byteOffset(first, b.mul(column, ring.elementBytes(index) * rows));
  return ptx::wgmmaAddress(b, first);
}

/// The address of an operand in its slot, in units of descriptors.
static Value addressOf(KernelBuilder &b, WgmmaOperand operand) {
  int64_t slotBytes = operand.ring.slotBytes(operand.view.getIndex());
  return b.add(operand.address, b.mul(operand.ring.slotOf(operand.slot), slotBytes / vectorBytes));
}

/// K-major: groups of 8 rows are 8 rows of a panel apart. MN-major: so are groups of 8 rows of K, and panels are all of
/// the buffer's rows apart.
static Value descriptorOf(KernelBuilder &b, WgmmaOperand operand, Value address) {
  int64_t index = operand.view.getIndex(), panelBytes = operand.ring.panelBytes(index);
  bool isMajorK = operand.view.getType().getMajor() == Major::k;
  int64_t leadingBytes = isMajorK ? vectorBytes : operand.ring.bufferRows(index) * panelBytes;
  return ptx::wgmmaDescriptor(b, address, ptx::wgmmaDescriptorBits(panelBytes, leadingBytes, rowsOfGroup * panelBytes));
}

/// From the first element to element `k` of the depth, in units of descriptors.
static int64_t depthOffset(WgmmaOperand operand, int64_t k) {
  int64_t index = operand.view.getIndex(), panelBytes = operand.ring.panelBytes(index);
  if (operand.view.getType().getMajor() == Major::mn)
    return k * panelBytes / vectorBytes;
  int64_t bytes = k * operand.ring.elementBytes(index);
  int64_t panel = bytes / panelBytes * operand.ring.bufferRows(index) * panelBytes;
  return (panel + bytes % panelBytes) / vectorBytes;
}

namespace {

/// Loads A operands of 16 x 16 elements of 16 bits by ldmatrix: four registers, two for each half of K with eight rows
/// each. Lane l gives the address of one row of matrix l / 8. A warp has 16 of every 64 rows. The swizzle mixes the
/// number of a 16-byte vector with the row.
class FragmentLoader {
public:
  FragmentLoader(KernelBuilder &b, ViewOp view, Ring &ring, Value slot, Value firstRow, Value threadInGroup)
      : b(b), index(view.getIndex()), panelBytes(ring.panelBytes(index)),
        panelStride(ring.bufferRows(index) * panelBytes), isTransposed(view.getType().getMajor() == Major::mn),
        lane(b.bitAnd(threadInGroup, 31)), warp(b.shiftRight(threadInGroup, 5)) {
    first = ring.slotPointer(index, slot);
    if (firstRow)
      first = b.byteOffset(first, b.mul(firstRow, panelBytes));
  }

  /// Rows from `row` on and K from `k` on.
  KernelBuilder::Values load(int64_t row, int64_t k) { return isTransposed ? loadColumns(row, k) : loadRows(row, k); }

private:
  /// Rows of memory have K: lanes 0 to 15 point to the rows, the others to the same rows 16 bytes on.
  KernelBuilder::Values loadRows(int64_t row, int64_t k) {
    int64_t bytes = 2 * k;
    Value rowInPart = b.add(b.mul(warp, depthOfFragment), b.bitAnd(lane, 15));
    Value vector = b.add(b.shiftRight(lane, 4), bytes % panelBytes / vectorBytes);
    return load(bytes / panelBytes * panelStride + row * panelBytes, rowInPart, vector);
  }

  /// Rows of memory are one element of K each: lanes 0 to 7 and 16 to 23 point to the first eight rows of the operand,
  /// the others to the same 16 bytes on.
  KernelBuilder::Values loadColumns(int64_t row, int64_t k) {
    int64_t bytes = 2 * row;
    Value depth = b.add(b.bitAnd(lane, 7), b.mul(b.shiftRight(lane, 4), 8));
    Value half = b.bitAnd(b.shiftRight(lane, 3), 1);
    Value vector = b.add(b.add(b.mul(warp, 2), half), bytes % panelBytes / vectorBytes);
    return load(bytes / panelBytes * panelStride + k * panelBytes, depth, vector);
  }

  KernelBuilder::Values load(int64_t offset, Value row, Value vector) {
    Value place = Swizzle::ofRow(panelBytes).place(b, row, vector);
    Value inPanel = b.add(b.mul(row, panelBytes), b.shiftLeft(place, 4));
    return ptx::loadMatrix(b, b.byteOffset(b.byteOffset(first, offset), inPanel), 4, isTransposed);
  }

  KernelBuilder &b;
  int64_t index, panelBytes, panelStride;
  bool isTransposed;
  Value lane, warp, first;
};

} // namespace

KernelBuilder::Values sparsec::emitWgmmaFragment(KernelBuilder &b, ViewOp view, Ring &ring, Value slot, Value firstRow,
                                                 Value threadInGroup) {
  ViewType type = view.getType();
  int64_t rows = type.getRows(), depth = type.getColumns();
  if (type.getMajor() == Major::mn)
    std::swap(rows, depth);
  FragmentLoader loader(b, view, ring, slot, firstRow, threadInGroup);
  KernelBuilder::Values fragment;
  for (int64_t row = 0; row < rows; row += rowsOfInstruction)
    for (int64_t k = 0; k < depth; k += depthOfFragment)
      llvm::append_range(fragment, loader.load(row, k));
  return fragment;
}

/// From the first row or column that is not along K to number `place`, in units of descriptors.
static int64_t placeOffset(WgmmaOperand operand, int64_t place) {
  int64_t index = operand.view.getIndex();
  if (operand.view.getType().getMajor() == Major::k)
    return place * operand.ring.panelBytes(index) / vectorBytes;
  return place * operand.ring.elementBytes(index) * operand.ring.bufferRows(index) / vectorBytes;
}

namespace {
/// The parts of a sum that one instruction each has: by rows, then by columns.
class SumParts {
public:
  SumParts(KernelBuilder &b, WgmmaShape shape, Value sum)
      : b(b), columnParts(shape.columns / shape.instructionColumns) {
    int64_t parts = shape.rows / rowsOfInstruction * columnParts;
    if (!sum)
      sums.assign(parts, LLVM::UndefOp::create(b, wgmmaSumType(b, rowsOfInstruction, shape.instructionColumns)));
    else if (parts == 1)
      sums.push_back(sum);
    else
      for (Values rest = b.unpack(sum); !rest.empty(); rest.erase(rest.begin(), rest.begin() + registersOf(shape)))
        sums.push_back(b.pack(ValueRange(rest).take_front(registersOf(shape))));
  }

  Value &at(int64_t rowPart, int64_t columnPart) { return sums[rowPart * columnParts + columnPart]; }

  Value whole() {
    if (sums.size() == 1)
      return sums.front();
    Values all;
    for (Value sum : sums)
      llvm::append_range(all, b.unpack(sum));
    return b.pack(all);
  }

private:
  using Values = KernelBuilder::Values;
  static int64_t registersOf(WgmmaShape shape) {
    return rowsOfInstruction * shape.instructionColumns / threadsOfWarpgroup;
  }

  KernelBuilder &b;
  int64_t columnParts;
  Values sums;
};

/// One instruction of a product: 64 rows from `row` on, columns from `column` on, and K from `k` on.
struct WgmmaPart {
  int64_t row, column, k;
  bool accumulates;
};
} // namespace

static Value issueProduct(KernelBuilder &b, WgmmaShape shape, Type element, Value sum,
                          llvm::function_ref<Value(const WgmmaPart &part, Value sum)> issue) {
  SumParts parts(b, shape, sum);
  ptx::wgmmaFence(b);
  for (int64_t row = 0; row < shape.rows; row += rowsOfInstruction)
    for (int64_t column = 0; column < shape.columns; column += shape.instructionColumns)
      for (int64_t k = 0; k < shape.depth; k += ptx::matrixDepth(element)) {
        Value &part = parts.at(row / rowsOfInstruction, column / shape.instructionColumns);
        part = issue({row, column, k, sum || k > 0}, part);
      }
  ptx::wgmmaCommit(b);
  return parts.whole();
}

Value sparsec::emitWgmmaProduct(KernelBuilder &b, WgmmaShape shape, WgmmaOperand a, WgmmaOperand x, Value sum) {
  Value ofA = addressOf(b, a), ofX = addressOf(b, x);
  auto matrixOf = [&](WgmmaOperand operand, Value address) -> ptx::WgmmaMatrix {
    ViewType view = operand.view.getType();
    return {view.getElementType(), descriptorOf(b, operand, address), view.getMajor() == Major::k};
  };
  return issueProduct(b, shape, a.view.getType().getElementType(), sum, [&](const WgmmaPart &part, Value sum) {
    auto partOfA = matrixOf(a, b.add(ofA, depthOffset(a, part.k) + placeOffset(a, part.row)));
    auto partOfX = matrixOf(x, b.add(ofX, depthOffset(x, part.k) + placeOffset(x, part.column)));
    return ptx::wgmma(b, shape.instructionColumns, sum, partOfA, partOfX, part.accumulates);
  });
}

Value sparsec::emitWgmmaProduct(KernelBuilder &b, WgmmaShape shape, ValueRange a, WgmmaOperand x, Value sum) {
  constexpr int64_t registersOfInstruction = 4;
  int64_t registersOfRows = a.size() / (shape.rows / rowsOfInstruction);
  ViewType view = x.view.getType();
  Value ofX = addressOf(b, x);
  return issueProduct(b, shape, view.getElementType(), sum, [&](const WgmmaPart &part, Value sum) {
    int64_t first = part.row / rowsOfInstruction * registersOfRows;
    ValueRange registers = a.slice(first + part.k / depthOfFragment * registersOfInstruction, registersOfInstruction);
    Value partOfX = descriptorOf(b, x, b.add(ofX, depthOffset(x, part.k) + placeOffset(x, part.column)));
    return ptx::wgmmaFromRegisters(b, shape.instructionColumns, view.getElementType(), sum, registers, partOfX,
                                   view.getMajor() == Major::mn, part.accumulates);
  });
}
