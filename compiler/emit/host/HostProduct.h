// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts that the host kernels of products share: a panel of f32 that holds a part of the right operand, an
// accumulator of f32 rows, their multiplication, and the epilogue.

#ifndef SPARSEC_EMIT_HOST_HOST_PRODUCT_H
#define SPARSEC_EMIT_HOST_HOST_PRODUCT_H

#include "host/HostBuilder.h"

namespace sparsec {

class HostProduct : protected HostBuilder {
protected:
  using HostBuilder::HostBuilder;
  using Element = llvm::function_ref<void(Value row, Value column)>;

  /// At most `rowSize` columns of one block of a pattern.
  struct BlockPart {
    Value number;                // of the block
    Value firstRow, firstColumn; // in the product
    Value columnInBlock;
    Value columns;            // of the block
    Value rows, validColumns; // those inside the product
  };

  // Parameters.
  Value sectionParameter(PlanSection section);
  /// The extra operands of the epilogue of `op`, which writes `result`.
  template <typename Op> void emitExtraParameters(Op op) {
    for (unsigned index = 0; index < op.getExtras().size(); ++index)
      extras.push_back(extraParameter(op.getExtras()[index], op.getBroadcastOf(index), result));
  }
  /// The values of all blocks of a pattern: a matrix whose rows are those of the blocks.
  Matrix blockValuesParameter(int64_t argument, int64_t blockColumns, Type elementType);

  // Loops.
  /// Visits rows x columns elements of a matrix, the contiguous dimension in the inner loop.
  void forElements(const Matrix &matrix, Value rows, Value columns, Element body);
  /// Visits the stored block that the tile of a block row and a panel is, if the row has so many blocks.
  void forBlockOfPanel(Value rowPtr, Value blockRow, Value panelIndex, Body body);
  /// Visits the parts of a block whose first column in the product is `firstOfBlock`.
  void forParts(Value number, Value blockRow, Value firstOfBlock, int64_t blockRows, int64_t blockColumns,
                llvm::function_ref<void(const BlockPart &)> body);

  // The computation.
  /// panel[k, column] = the element at `source`, as f32.
  void storeInPanel(Value k, Value column, Type elementType, Value source);
  void clearRows(Value buffer, Value rows);
  /// init + the sum of weight(k) * panel[k] for k in [begin, end), with the sum in registers.
  Value multiplyRow(Value init, Value begin, Value end, llvm::function_ref<Value(Value k)> weight);
  /// Applies the epilogue to a sum and stores the element at the place that a full operand has.
  void storeResult(mlir::Region &epilogue, Value sum, const ExtraPosition &at);

  Matrix result;
  llvm::SmallVector<Extra> extras;
  Value rowCount, columnCount; // of the product
  Value depth, panels;
  Value accumulator, panel, zeroRow;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_HOST_PRODUCT_H
