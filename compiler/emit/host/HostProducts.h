// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops of products on the host: loads, chains and stores. Sums have the order of the result: what is contiguous
// there, columns or rows, are neighbours in vectors. The operands of a step become f32 on the stack: the one with these
// columns or rows as vectors, one for each k, the other one as elements. No layout of X or of the result needs more
// than a transpose of one operand of a step. HostOperands.cpp has the loads. The loops of a store are plain, for LLVM
// to vectorise.

#ifndef SPARSEC_EMIT_HOST_HOST_PRODUCTS_H
#define SPARSEC_EMIT_HOST_HOST_PRODUCTS_H

#include "host/HostProgram.h"

namespace sparsec {

class HostProducts : public HostProgram {
public:
  explicit HostProducts(ProgramOp program);

private:
  bool translateOther(mlir::Operation &op) override;
  Value panels() override;
  Value tileRows() override;

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

  /// The operands of a chain: one has vectors, the other one lines of elements.
  struct Product {
    Factor vectors, lines;
    Sum sum;
    Value depth;
    Value factors; // of the columns; null without scales
    int64_t vectorsOfLine;
  };

  Part partOfTensor(Value tensor, mlir::ValueRange coordinates);
  Part partOfBlock(mlir::TypedValue<BsrType> matrix, mlir::ValueRange coordinates);
  /// The operand that a chain takes. K is its last dimension or its first one.
  Factor factorOf(const Part &part, bool isDepthLast);
  Factor loadLeft(LoadOp op);
  Factor loadRight(LoadOp op);

  // Operands as f32 (HostOperands.cpp).
  /// Whether rows of A or columns of X are neighbours in vectors.
  bool isInVectors(Operand operand) { return (operand == Operand::x) != isTransposed; }
  void unpack(mlir::Operation *op, Factor &factor, Operand operand);
  void copyLines(const Factor &factor);
  void transposeLines(const Factor &factor);
  void copyLine(const Factor &factor, Value outer, Value k, llvm::function_ref<Value(Value vector)> to);
  void transposeSquare(Value from, int64_t stride, Value to);
  /// The vectors of a group of sixteen follow one another.
  Value vectorNumber(const Factor &factor, Value group, Value k) {
    return add(multiply(group, constant(factor.depthSize)), k);
  }
  Value elementOf(const Factor &factor, Value outer, Value k);

  /// The elements of a line of sums, which are neighbours in vectors.
  int64_t widthOfLine(AccumulatorType type) { return isTransposed ? type.getRows() : type.getColumns(); }
  Value emitFactors(ChainOp op, const Factor &a, const Factor &x);
  void emitLines(const Product &product, Value group, Value first, int64_t count);

  void forElements(bool isRowInner, Value rows, Value columns, llvm::function_ref<void(Value row, Value column)> body);
  void storeDense(StoreOp op);
  void storeBlocks(StoreOp op);
  void storeElements(StoreOp op, const Target &target);
  Value sumOf(StoreOp op, const Target &target, Value row, Value column);

  /// Lines of sums in a loop over k: with two registers of a vector for each, twelve sums. Eight would have to wait for
  /// one another where a multiply-add takes four cycles and two begin in each, and more do not fit the registers.
  static constexpr int64_t linesOfLoop = 6;
  /// Elements of a register.
  static constexpr int64_t registerSize = vectorSize / 2;
  /// Whether rows of the result are contiguous in memory, and so neighbours in vectors, instead of columns.
  bool isTransposed = false;
  /// Sixteen lines of an operand before they are transposed. All operands of a program have the same depth.
  Value lineBuffer;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_HOST_PRODUCTS_H
