// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "hopper/Products.h"

#include "AttentionSchedule.h"
#include "Ptx.h"
#include "hopper/TensorCopy.h"

using namespace mlir;
using namespace sparsec;

static constexpr int64_t threadsOfWarpgroup = 128;
/// The depth of an instruction whose A operand is in registers.
static constexpr int64_t depthOfFragment = 16;
/// Core matrices have 8 rows of a strip.
static constexpr int64_t rowsOfGroup = 8;
/// Where a descriptor has the leading offset.
static constexpr int64_t leadingOffsetBit = 16;

/// The struct of an accumulator of `rows x columns`.
static Type wgmmaSumType(KernelBuilder &b, int64_t rows, int64_t columns) {
  SmallVector<Type> elements(rows * columns / threadsOfWarpgroup, b.getF32Type());
  return LLVM::LLVMStructType::getLiteral(b.getContext(), elements);
}

Value sparsec::emitWgmmaView(KernelBuilder &b, ViewOp view, Ring &ring, Value row, Value column) {
  int64_t index = view.getIndex(), rows = ring.bufferRows(index), stripBytes = ring.stripBytes(index);
  Value first = ptx::wgmmaAddress(b, ring.slotPointer(index, b.i32(0)));
  if (row)
    first = b.add(first, b.mul(row, stripBytes / vectorBytes));
  if (!column)
    return first;
  // Columns of one strip are neighbours. Strips are all of the buffer's rows apart.
  const int64_t elementBytes = ring.elementBytes(index);
  const bool isOneStrip = ring.bufferColumns(index) * elementBytes == stripBytes;
  return b.add(first, isOneStrip ? b.divide(column, vectorBytes / elementBytes)
                                 : b.mul(column, elementBytes * rows / vectorBytes));
}

/// The address of an operand in its slot, in units of descriptors.
static Value addressOf(KernelBuilder &b, WgmmaOperand operand) {
  int64_t slotBytes = operand.ring.slotBytes(operand.view.getIndex());
  return b.add(operand.address, b.mul(operand.ring.slotOf(operand.slot), slotBytes / vectorBytes));
}

/// K-major: groups of 8 rows are 8 rows of a strip apart. MN-major: so are groups of 8 rows of K, and strips are all of
/// the buffer's rows apart.
static Value descriptorOf(KernelBuilder &b, WgmmaOperand operand, Value address, Value zero) {
  int64_t index = operand.view.getIndex(), stripBytes = operand.ring.stripBytes(index);
  bool isMajorK = operand.view.getType().getMajor() == Major::k;
  int64_t leadingBytes = operand.ones ? 0 : isMajorK ? vectorBytes : operand.ring.bufferRows(index) * stripBytes;
  int64_t bits = ptx::wgmmaDescriptorBits(operand.ring.swizzle(index).bytes(), leadingBytes, rowsOfGroup * stripBytes);
  return zero ? ptx::wgmmaDescriptorInPlace(b, address, bits, zero) : ptx::wgmmaDescriptor(b, address, bits);
}

/// From the first element to element `k` of the depth, in units of descriptors.
static int64_t depthOffset(WgmmaOperand operand, int64_t k) {
  int64_t index = operand.view.getIndex(), stripBytes = operand.ring.stripBytes(index);
  if (operand.view.getType().getMajor() == Major::mn)
    return k * stripBytes / vectorBytes;
  int64_t bytes = k * operand.ring.elementBytes(index);
  int64_t strip = bytes / stripBytes * operand.ring.bufferRows(index) * stripBytes;
  return (strip + bytes % stripBytes) / vectorBytes;
}

/// From the first row or column that is not along K to number `place`, in units of descriptors.
static int64_t placeOffset(WgmmaOperand operand, int64_t place) {
  int64_t index = operand.view.getIndex();
  if (operand.view.getType().getMajor() == Major::k)
    return place * operand.ring.stripBytes(index) / vectorBytes;
  return place * operand.ring.elementBytes(index) * operand.ring.bufferRows(index) / vectorBytes;
}

namespace {
/// The parts of a sum that one instruction each has: by rows, then by columns.
class SumParts {
public:
  SumParts(KernelBuilder &b, WgmmaShape shape, Value sum)
      : b(b), columnParts(shape.columns / shape.instructionColumns) {
    int64_t parts = shape.rows / rowsOfWgmma * columnParts;
    if (!sum)
      sums.assign(parts, LLVM::UndefOp::create(b, wgmmaSumType(b, rowsOfWgmma, shape.instructionColumns)));
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
  static int64_t registersOf(WgmmaShape shape) { return rowsOfWgmma * shape.instructionColumns / threadsOfWarpgroup; }

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

/// The instructions of a product in their order.
static SmallVector<WgmmaPart> partsOf(WgmmaShape shape, Type element) {
  SmallVector<WgmmaPart> parts;
  for (int64_t row = 0; row < shape.rows; row += rowsOfWgmma)
    for (int64_t column = 0; column < shape.columns; column += shape.instructionColumns)
      for (int64_t k = 0; k < shape.depth; k += ptx::matrixDepth(element))
        parts.push_back({row, column, k, !shape.startsAtZero || k > 0});
  return parts;
}

WgmmaDescriptors sparsec::describeLeft(KernelBuilder &b, WgmmaShape shape, WgmmaOperand a, ZeroMaker &zeros) {
  Value first = addressOf(b, a);
  return llvm::map_to_vector(partsOf(shape, a.view.getType().getElementType()), [&](const WgmmaPart &part) {
    Value address = b.add(first, depthOffset(a, part.k) + placeOffset(a, part.row)), zero = zeros.next(b);
    return descriptorOf(b, a, zero ? b.bitOr(address, zero) : address, zero);
  });
}

WgmmaDescriptors sparsec::describeRight(KernelBuilder &b, WgmmaShape shape, WgmmaOperand x, ZeroMaker &zeros) {
  Value first = addressOf(b, x);
  // The leading offset, from one strip to the next, goes from the rows of each step to the same ones.
  if (x.ones)
    first = b.add(first, b.shiftLeft(b.sub(x.ones, first), leadingOffsetBit));
  return llvm::map_to_vector(partsOf(shape, x.view.getType().getElementType()), [&](const WgmmaPart &part) {
    int64_t offset = depthOffset(x, part.k) + placeOffset(x, part.column);
    return descriptorOf(b, x, b.add(first, x.ones ? offset - (offset << leadingOffsetBit) : offset), zeros.next(b));
  });
}

static Value issueProduct(KernelBuilder &b, WgmmaShape shape, Type element, Value sum,
                          llvm::function_ref<Value(int64_t number, const WgmmaPart &part, Value sum)> issue) {
  SumParts sums(b, shape, sum);
  ptx::wgmmaFence(b);
  for (auto [number, part] : llvm::enumerate(partsOf(shape, element))) {
    Value &partOfSum = sums.at(part.row / rowsOfWgmma, part.column / shape.instructionColumns);
    partOfSum = issue(int64_t(number), part, partOfSum);
  }
  ptx::wgmmaCommit(b);
  return sums.whole();
}

Value sparsec::emitWgmmaProduct(KernelBuilder &b, WgmmaShape shape, ViewType aType, ValueRange a, ViewType xType,
                                ValueRange x, Value sum) {
  auto matrixOf = [](ViewType type, Value descriptor) -> ptx::WgmmaMatrix {
    return {type.getElementType(), descriptor, type.getMajor() == Major::k};
  };
  return issueProduct(b, shape, aType.getElementType(), sum, [&](int64_t number, const WgmmaPart &part, Value sum) {
    return ptx::wgmma(b, shape.instructionColumns, sum, matrixOf(aType, a[number]), matrixOf(xType, x[number]),
                      part.accumulates);
  });
}

Value sparsec::emitWgmmaProduct(KernelBuilder &b, WgmmaShape shape, ValueRange a, ViewType xType, ValueRange x,
                                Value sum) {
  constexpr int64_t registersOfInstruction = 4;
  int64_t registersOfRows = a.size() / (shape.rows / rowsOfWgmma);
  return issueProduct(b, shape, xType.getElementType(), sum, [&](int64_t number, const WgmmaPart &part, Value sum) {
    int64_t first = part.row / rowsOfWgmma * registersOfRows;
    ValueRange registers = a.slice(first + part.k / depthOfFragment * registersOfInstruction, registersOfInstruction);
    return ptx::wgmmaFromRegisters(b, shape.instructionColumns, xType.getElementType(), sum, registers, x[number],
                                   xType.getMajor() == Major::mn, part.accumulates);
  });
}

void sparsec::writeOnes(ProgramContext &context) {
  KernelBuilder &b = context.b;
  constexpr int32_t pairOfOnes = 0x3f803f80; // bf16
  ProductOp product;
  context.program.walk([&](ProductOp op) {
    if (op.getOnes())
      product = op;
  });
  if (!product)
    return;
  b.ifThen(b.less(context.thread, b.i32(bytesOfOnes / vectorBytes)), [&] {
    Value pointer = b.byteOffset(context.sharedMemory, b.add(b.mul(context.thread, vectorBytes), *product.getOnes()));
    LLVM::StoreOp::create(b, b.vector(KernelBuilder::Values(4, b.i32(pairOfOnes))), pointer, /*alignment=*/vectorBytes);
  });
  ptx::proxyFence(b);
}
