// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// SpmmWindows.cpp and StreamProgram.cpp share this base of programs over windows of a plan: a tile is a window of block
// rows and a panel of columns, and every block row of a window has its own place in the result.

#ifndef SPARSEC_COMPILER_TILE_WINDOWPROGRAM_H
#define SPARSEC_COMPILER_TILE_WINDOWPROGRAM_H

#include "ProgramBuilder.h"
#include "RoleBuilding.h"

namespace sparsec {

class WindowProgram : public ProgramBuilder {
protected:
  WindowProgram(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule)
      : ProgramBuilder(kernel, schedule), spmm(spmm), matrix(spmm.getMatrix().getType()) {}

  /// The values are i32.
  struct Tile {
    mlir::Value window, column; // the number of the window, and the first column of the result
    mlir::Value panel;          // of the grid
    TilePartOp part;            // of K, in a split program; else null
  };
  struct Range {
    mlir::Value first, end;
  };
  using Values = llvm::SmallVector<mlir::Value>;

  mlir::Type elementType() override { return matrix.getElementType(); }
  mlir::Type elementOfX() { return spmm.getDense().getType().getElementType(); }
  /// The tile loop. The body gives what is carried.
  void forEachTile(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange inits,
                   mlir::function_ref<Values(const Tile &, mlir::ValueRange carried)> body);
  /// Whether the CTAs of a cluster have equal shares of a window's rows. Else each has a panel of its own.
  virtual bool sharesWindows() { return false; }
  /// Entries `index` and `index` + 1 of a section.
  Range readRange(mlir::ImplicitLocOpBuilder &b, PlanSection offsets, mlir::Value index);
  /// Stores the sum of a block row of the plan: `row` is its number there. The last window may have fewer rows than
  /// others. See StoreOp for the flags.
  void storeRow(mlir::ImplicitLocOpBuilder &b, mlir::Value row, mlir::Value column, mlir::Value sum, bool isSwapped,
                bool inLines);

  mlir::Value operand(mlir::Value kernelValue) { return mapping.lookup(kernelValue); }
  /// X is N x K.
  bool isTransposed() { return spmm.getXLayout() == DenseLayout::nk; }
  /// Coordinates in X.
  Values coordinatesOfX(mlir::Value k, mlir::Value column);

  SpmmOp spmm;
  BsrType matrix;
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_WINDOWPROGRAM_H
