// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The index of a block-sparse matrix by its block rows: the arrays of the argument, or for a transposed matrix, whose
// argument is indexed by block columns, sections of the plan.

#ifndef SPARSEC_EMIT_BLOCK_INDEX_H
#define SPARSEC_EMIT_BLOCK_INDEX_H

#include "ProgramContext.h"

namespace sparsec {

class BlockIndex {
public:
  BlockIndex(ProgramContext &context, mlir::Value matrix)
      : context(context), b(context.b), type(mlir::cast<BsrType>(matrix.getType())),
        argument(mlir::cast<mlir::BlockArgument>(matrix).getArgNumber()) {}

  /// The position of the first block of a block row, and of the one after the last row.
  mlir::Value start(mlir::Value blockRow) { return load(ParameterKind::row_ptr, PlanSection::row_starts, blockRow); }
  /// The block column of the block at a position.
  mlir::Value column(mlir::Value position) { return load(ParameterKind::col_idx, PlanSection::row_columns, position); }
  /// The number that the block at a position has in memory.
  mlir::Value block(mlir::Value position) {
    return type.getTransposed() ? loadSection(PlanSection::row_blocks, position) : position;
  }
  /// M or K of a matrix.
  mlir::Value rows() { return context.parameters.get(ParameterKind::size, argument, type.getStoredRowDimension()); }
  mlir::Value depth() { return context.parameters.get(ParameterKind::size, argument, type.getStoredColumnDimension()); }
  /// The numbers of block rows and of block columns.
  mlir::Value blockRows() { return blocksIn(rows(), type.getBlockRows()); }
  mlir::Value blockColumns() { return blocksIn(depth(), type.getBlockColumns()); }

private:
  mlir::Value blocksIn(mlir::Value size, int64_t block) { return b.divide(b.add(size, block - 1), block); }
  mlir::Value load(ParameterKind array, PlanSection section, mlir::Value index) {
    if (type.getTransposed())
      return loadSection(section, index);
    return b.loadElement(b.i32Type(), context.parameters.get(array, argument), index);
  }
  mlir::Value loadSection(PlanSection section, mlir::Value index) {
    mlir::Value array = context.parameters.get(ParameterKind::plan_section, 0, static_cast<int64_t>(section));
    return b.loadElement(b.i32Type(), array, index);
  }

  ProgramContext &context;
  KernelBuilder &b;
  BsrType type;
  int64_t argument;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_BLOCK_INDEX_H
