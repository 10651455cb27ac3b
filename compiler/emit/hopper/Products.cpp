// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "hopper/Products.h"

#include "Ptx.h"
#include "hopper/TensorCopy.h"

using namespace mlir;
using namespace sparsec;

static constexpr int64_t depthOfInstruction = 16, threadsOfWarpgroup = 128;
/// The unit of descriptors.
static constexpr int64_t descriptorBytes = 16;
/// Core matrices are 8 rows of a panel.
static constexpr int64_t groupBytes = 8 * panelBytes;

/// The struct of an accumulator of `rows x columns`.
static Type wgmmaSumType(KernelBuilder &b, int64_t rows, int64_t columns) {
  SmallVector<Type> elements(rows * columns / threadsOfWarpgroup, b.getF32Type());
  return LLVM::LLVMStructType::getLiteral(b.getContext(), elements);
}

/// K-major: groups of 8 rows are 1024 bytes apart. MN-major: so are groups of 8 rows of K, and panels of 64 columns are
/// the buffer's rows of 128 bytes apart.
Value sparsec::emitWgmmaView(KernelBuilder &b, ViewOp view, Ring &ring, Value row, Value column) {
  int64_t index = view.getIndex(), rows = ring.bufferRows(index);
  Value first = ring.slotPointer(index, b.i32(0));
  if (row)
    first = b.byteOffset(first, b.mul(row, panelBytes));
  if (column)
    first = b.byteOffset(first, b.mul(column, ring.elementBytes(index) * rows));
  int64_t leadingBytes = view.getType().getMajor() == Major::k ? descriptorBytes : rows * panelBytes;
  return ptx::wgmmaDescriptor(b, first, ptx::wgmmaDescriptorBits(leadingBytes, groupBytes));
}

/// The descriptor of an operand in its slot.
static Value descriptorOf(KernelBuilder &b, WgmmaOperand operand) {
  int64_t slotBytes = operand.ring.slotBytes(operand.view.getIndex());
  Value slot = operand.ring.slotOf(operand.slot);
  return b.add(operand.descriptor, b.extend(b.mul(slot, slotBytes / descriptorBytes)));
}

/// From the first element to element `k` of the depth, in units of descriptors.
static int64_t depthOffset(WgmmaOperand operand, int64_t k) {
  int64_t index = operand.view.getIndex();
  if (operand.view.getType().getMajor() == Major::mn)
    return k * panelBytes / descriptorBytes;
  int64_t bytes = k * operand.ring.elementBytes(index);
  int64_t panel = bytes / panelBytes * operand.ring.bufferRows(index) * panelBytes;
  return (panel + bytes % panelBytes) / descriptorBytes;
}

/// Each warp has 16 rows; 16 x 16 elements are four registers. Lanes 0 to 15 point to the rows, the others to the same
/// rows 16 bytes on. The swizzle mixes the number of a 16-byte vector with the row.
KernelBuilder::Values sparsec::emitWgmmaFragment(KernelBuilder &b, ViewOp view, Ring &ring, Value slot, Value firstRow,
                                                 Value threadInGroup) {
  constexpr int64_t stepsOfPanel = panelBytes / (depthOfInstruction * 2);
  int64_t index = view.getIndex();
  Value lane = b.bitAnd(threadInGroup, 31), warp = b.shiftRight(threadInGroup, 5);
  Value row = b.add(b.mul(warp, depthOfInstruction), b.bitAnd(lane, 15)), half = b.shiftRight(lane, 4);
  Value rowInBuffer = firstRow ? b.add(firstRow, row) : row;
  Value rowPointer = b.byteOffset(ring.slotPointer(index, slot), b.mul(rowInBuffer, panelBytes));
  KernelBuilder::Values fragment;
  for (int64_t k = 0; k < view.getType().getColumns() / depthOfInstruction; ++k) {
    Value vector = b.bitXor(b.add(half, k % stepsOfPanel * 2), b.bitAnd(row, 7));
    Value panel = b.byteOffset(rowPointer, k / stepsOfPanel * ring.bufferRows(index) * panelBytes);
    llvm::append_range(fragment, ptx::loadMatrix(b, b.byteOffset(panel, b.shiftLeft(vector, 4)), 4, false));
  }
  return fragment;
}

/// From the first column to column `column`, in units of descriptors.
static int64_t columnOffset(WgmmaOperand operand, int64_t column) {
  if (operand.view.getType().getMajor() == Major::k)
    return column * panelBytes / descriptorBytes;
  int64_t index = operand.view.getIndex();
  return column * operand.ring.elementBytes(index) * operand.ring.bufferRows(index) / descriptorBytes;
}

namespace {
/// The parts of a sum that one instruction each has.
class SumParts {
public:
  SumParts(KernelBuilder &b, WgmmaShape shape, Value sum) : b(b) {
    int64_t parts = shape.columns / shape.instructionColumns;
    if (!sum)
      sums.assign(parts, LLVM::UndefOp::create(b, wgmmaSumType(b, shape.rows, shape.instructionColumns)));
    else if (parts == 1)
      sums.push_back(sum);
    else
      for (Values rest = b.unpack(sum); !rest.empty(); rest.erase(rest.begin(), rest.begin() + registersOf(shape)))
        sums.push_back(b.pack(ValueRange(rest).take_front(registersOf(shape))));
  }

  Value &operator[](int64_t part) { return sums[part]; }

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
  static int64_t registersOf(WgmmaShape shape) { return shape.rows * shape.instructionColumns / threadsOfWarpgroup; }

  KernelBuilder &b;
  Values sums;
};
} // namespace

/// `issue(k, column, accumulates, sum)` issues the instruction at element k of the depth for the columns from `column`
/// on.
static Value issueProduct(KernelBuilder &b, WgmmaShape shape, Value sum,
                          llvm::function_ref<Value(int64_t k, int64_t column, bool accumulates, Value sum)> issue) {
  SumParts parts(b, shape, sum);
  ptx::wgmmaFence(b);
  for (int64_t column = 0; column < shape.columns; column += shape.instructionColumns)
    for (int64_t k = 0; k < shape.depth; k += depthOfInstruction) {
      Value &part = parts[column / shape.instructionColumns];
      part = issue(k, column, sum || k > 0, part);
    }
  ptx::wgmmaCommit(b);
  return parts.whole();
}

Value sparsec::emitWgmmaProduct(KernelBuilder &b, WgmmaShape shape, WgmmaOperand a, WgmmaOperand x, Value sum) {
  ViewType view = x.view.getType();
  Value ofA = descriptorOf(b, a), ofX = descriptorOf(b, x);
  return issueProduct(b, shape, sum, [&](int64_t k, int64_t column, bool accumulates, Value sum) {
    return ptx::wgmma(b, shape.instructionColumns, view.getElementType(), sum, b.add(ofA, depthOffset(a, k)),
                      a.view.getType().getMajor() == Major::mn, b.add(ofX, depthOffset(x, k) + columnOffset(x, column)),
                      view.getMajor() == Major::mn, accumulates);
  });
}

Value sparsec::emitWgmmaProduct(KernelBuilder &b, WgmmaShape shape, ValueRange a, WgmmaOperand x, Value sum) {
  constexpr int64_t registersOfInstruction = 4;
  ViewType view = x.view.getType();
  Value ofX = descriptorOf(b, x);
  return issueProduct(b, shape, sum, [&](int64_t k, int64_t column, bool accumulates, Value sum) {
    ValueRange registers = a.slice(k / depthOfInstruction * registersOfInstruction, registersOfInstruction);
    return ptx::wgmmaFromRegisters(b, shape.instructionColumns, view.getElementType(), sum, registers,
                                   b.add(ofX, depthOffset(x, k) + columnOffset(x, column)),
                                   view.getMajor() == Major::mn, accumulates);
  });
}
