// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of products on the host: loads, chains and stores. X of a step becomes rows of 64 f32. A
// chain reads A where it is, element by element, and computes a row of the sum at a time: vectors of 64 f32, which LLVM
// splits to the width of the processor. The other loops are plain, for LLVM to vectorise.

#ifndef SPARSEC_EMIT_HOST_HOST_PRODUCTS_H
#define SPARSEC_EMIT_HOST_HOST_PRODUCTS_H

#include "host/HostProgram.h"

namespace sparsec {

class HostProducts : public HostProgram {
public:
  explicit HostProducts(ProgramOp program) : HostProgram(program) {}

private:
  bool translateOther(mlir::Operation &op) override;
  Value panels() override;

  void emit(TileOp op);
  void emit(BlockLoopOp op);
  void emit(RowBlocksOp op);
  void emit(BlockColumnOp op);
  void emit(LoadOp op);
  void emit(LoadPartOp op);
  void emit(ZeroOp op);
  void emit(ChainOp op);
  void emit(StoreOp op);

  void emitBlock(BlockLoopOp op, Value position);
  void emitStep(BlockLoopOp op, const Step &step);

  // The index of a matrix in the order of its block rows.
  Value rowStarts(mlir::TypedValue<BsrType> matrix);
  Value blockColumns(mlir::TypedValue<BsrType> matrix);

  /// Where a part of a matrix or of a block begins, and the distance of neighbours in both dimensions.
  struct Part {
    Value data, start;
    Type elementType;
    std::array<Value, 2> strides;
  };

  /// A part of the result.
  struct Target {
    Matrix matrix;
    Value rows, columns;                // that are written
    Value insideRows, insideColumns;    // those inside the result, if others are written too; they get sums of zero
    Value firstRow, firstColumn;        // in the product
    Value firstOfMatrix, firstOfColumn; // in the matrix that is written
    Value columnOfSum;
  };

  Part partOfTensor(Value tensor, mlir::ValueRange coordinates);
  Part partOfBlock(mlir::TypedValue<BsrType> matrix, mlir::ValueRange coordinates);
  /// The operand that a chain takes. K is its last dimension or its first one.
  Factor factorOf(const Part &part, bool isDepthLast);
  Factor loadLeft(LoadOp op);
  Factor loadRight(LoadOp op);

  Value elementOf(const Factor &factor, Value outer, Value k);
  Value unpack(mlir::Operation *op, const Factor &factor, int64_t depth);
  Value emitFactors(ChainOp op, const Factor &a, const Factor &x);

  void forElements(bool isRowInner, Value rows, Value columns, llvm::function_ref<void(Value row, Value column)> body);
  void storeDense(StoreOp op);
  void storeBlocks(StoreOp op);
  void storeElements(StoreOp op, const Target &target);
  Value sumOf(StoreOp op, const Target &target, Value row, Value column);
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_HOST_PRODUCTS_H
