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

Type sparsec::wgmmaSumType(KernelBuilder &b, int64_t rows, int64_t columns) {
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

Value sparsec::emitWgmmaProduct(KernelBuilder &b, WgmmaOperand a, WgmmaOperand x, Value sum, int64_t depth) {
  ViewType type = x.view.getType();
  bool isNMajor = type.getMajor() == Major::mn;
  Value ofA = descriptorOf(b, a), ofX = descriptorOf(b, x);
  ptx::wgmmaFence(b);
  for (int64_t k = 0; k < depth; k += depthOfInstruction)
    sum = ptx::wgmma(b, isNMajor ? type.getColumns() : type.getRows(), type.getElementType(), sum,
                     b.add(ofA, depthOffset(a, k)), b.add(ofX, depthOffset(x, k)), isNMajor);
  ptx::wgmmaCommit(b);
  return sum;
}
