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
  return b.add(operand.descriptor, b.extend(b.mul(operand.slot, slotBytes / descriptorBytes)));
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

/// `issue(k, accumulates, sum)` issues the instruction at element k of the depth.
static Value issueProduct(KernelBuilder &b, PendingType type, Value sum, int64_t depth,
                          llvm::function_ref<Value(int64_t k, bool accumulates, Value sum)> issue) {
  bool hasSum = bool(sum);
  if (!hasSum)
    sum = LLVM::UndefOp::create(b, wgmmaSumType(b, type.getRows(), type.getColumns()));
  ptx::wgmmaFence(b);
  for (int64_t k = 0; k < depth; k += depthOfInstruction)
    sum = issue(k, hasSum || k > 0, sum);
  ptx::wgmmaCommit(b);
  return sum;
}

Value sparsec::emitWgmmaProduct(KernelBuilder &b, PendingType type, WgmmaOperand a, WgmmaOperand x, Value sum,
                                int64_t depth) {
  ViewType view = x.view.getType();
  Value ofA = descriptorOf(b, a), ofX = descriptorOf(b, x);
  return issueProduct(b, type, sum, depth, [&](int64_t k, bool accumulates, Value sum) {
    return ptx::wgmma(b, type.getColumns(), view.getElementType(), sum, b.add(ofA, depthOffset(a, k)),
                      a.view.getType().getMajor() == Major::mn, b.add(ofX, depthOffset(x, k)),
                      view.getMajor() == Major::mn, accumulates);
  });
}

Value sparsec::emitWgmmaProduct(KernelBuilder &b, PendingType type, ValueRange a, WgmmaOperand x, Value sum,
                                int64_t depth) {
  constexpr int64_t registersOfInstruction = 4;
  ViewType view = x.view.getType();
  Value ofX = descriptorOf(b, x);
  return issueProduct(b, type, sum, depth, [&](int64_t k, bool accumulates, Value sum) {
    ValueRange registers = a.slice(k / depthOfInstruction * registersOfInstruction, registersOfInstruction);
    return ptx::wgmmaFromRegisters(b, type.getColumns(), view.getElementType(), sum, registers,
                                   b.add(ofX, depthOffset(x, k)), view.getMajor() == Major::mn, accumulates);
  });
}
