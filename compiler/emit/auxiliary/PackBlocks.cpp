// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA writes one packed block, in vectors of 16 bytes. Every vector is in one row of one stored block, whose number
// the plan tells (SPARSEC_PLAN_PACKED_SOURCES), or is zero.

#include "PackBlocks.h"

#include "Family.h"
#include "ProgramContext.h"
#include "Ptx.h"
#include "SideKernel.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t packWarps = 8;

/// A stored or a packed block as it is in memory: its rows are those of the matrix as the caller stores it.
struct BlockInMemory {
  explicit BlockInMemory(BsrType type)
      : rows(type.getTransposed() ? type.getBlockColumns() : type.getBlockRows()),
        vectors(type.getBlockRows() * type.getBlockColumns() / rows * type.getElementType().getIntOrFloatBitWidth() /
                8 / vectorBytes) {}

  int64_t rows, vectors; // of a row

  int64_t count() const { return rows * vectors; }
};

class BlockPacker {
public:
  BlockPacker(ProductContext &context, BsrType stored)
      : context(context), b(context.b), packed(context.matrix), source(stored), number(ptx::blockIndex(b)) {}

  void emit();

private:
  void moveVector(Value vector);
  Value sourceOf(Value row, Value column);

  ProductContext &context;
  KernelBuilder &b;
  const BlockInMemory packed, source;
  Value number; // of the packed block
};

} // namespace

void BlockPacker::emit() {
  constexpr int64_t threads = packWarps * warpLanes;
  for (int64_t first = 0; first < packed.count(); first += threads) {
    Value vector = b.add(context.thread, first);
    if (packed.count() - first >= threads)
      moveVector(vector);
    else
      b.ifThen(b.less(vector, packed.count()), [&] { moveVector(vector); });
  }
}

/// The number of the stored block at a row and a vector of the packed block; -1: there is none.
Value BlockPacker::sourceOf(Value row, Value column) {
  const int64_t down = packed.rows / source.rows, across = packed.vectors / source.vectors;
  Value place = b.add(b.mul(b.divide(row, source.rows), across), b.divide(column, source.vectors));
  Value index = b.add(b.mul(b.extend(number), down * across), b.extend(place));
  Value sources = context.parameters.get(ParameterKind::plan_section, 0, SPARSEC_PLAN_PACKED_SOURCES);
  return b.loadElement(b.i32Type(), sources, index);
}

void BlockPacker::moveVector(Value vector) {
  Type type = VectorType::get({vectorBytes / 4}, b.i32Type());
  Value row = b.divide(vector, packed.vectors), column = b.modulo(vector, packed.vectors);
  Value block = sourceOf(row, column), exists = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, block, b.i32(0));
  Value place = b.add(b.mul(b.modulo(row, source.rows), source.vectors), b.modulo(column, source.vectors));
  Value zero = arith::ConstantOp::create(b, DenseElementsAttr::get(cast<ShapedType>(type), b.getI32IntegerAttr(0)));
  Values moved = b.ifThenElse(
      exists, type,
      [&]() -> Values {
        Value values = context.parameters.get(ParameterKind::pointer, context.matrixArgument);
        Value index = b.add(b.mul(b.extend(block), source.count()), b.extend(place));
        return {b.loadInvariant(type, b.elementPointer(values, type, index))};
      },
      [&]() -> Values { return {zero}; });
  Value target = context.parameters.get(ParameterKind::input);
  Value index = b.add(b.mul(b.extend(number), packed.count()), b.extend(vector));
  LLVM::StoreOp::create(b, moved[0], b.elementPointer(target, type, index), /*alignment=*/vectorBytes);
}

/// The matrix of the program's kernel, with its stored blocks.
static BsrType storedMatrix(ProgramOp program) {
  auto kernel = program->getParentOfType<ModuleOp>().lookupSymbol<KernelOp>(program.getKernelAttr());
  return familyOf(kernel).packedMatrix(kernel).getType();
}

void sparsec::emitPackBlocks(ProgramOp program) {
  const BsrType stored = storedMatrix(program);
  SideKernelShape shape = {"_pack", packWarps, /*tilesOfCta=*/1, /*tileM=*/1, /*tileN=*/1, /*sharedMemory=*/0};
  emitAuxiliaryKernel<ProductContext>(program, AuxiliaryKind::pack_blocks, shape,
                                      [&](ProductContext &context) { BlockPacker(context, stored).emit(); });
}
