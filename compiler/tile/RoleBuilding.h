// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The builders of tile programs share these: coordinates (i32 values of arith ops), constants, names and roles.

#ifndef SPARSEC_COMPILER_TILE_ROLEBUILDING_H
#define SPARSEC_COMPILER_TILE_ROLEBUILDING_H

#include "SparsecDialect.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace sparsec {

/// A constant. A role has each constant once, at its start.
mlir::Value i32(mlir::ImplicitLocOpBuilder &b, int64_t value);
/// Makes a role at the insertion point, whose ops `body` makes.
void makeRole(mlir::ImplicitLocOpBuilder &b, mlir::StringRef name, RoleUnit unit, int64_t count, int64_t registers,
              mlir::function_ref<void()> body);

/// Removes ops that nothing uses, and moves the constants of every role to its start, each once.
void tidy(ProgramOp program);

/// Gives a value its name in dumps.
mlir::Value named(mlir::Value value, mlir::StringRef name);

// i32 arithmetic on values that are not negative. Arithmetic without effect makes no op.
mlir::Value add(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value y);
mlir::Value add(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t y);
mlir::Value multiply(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t y);
mlir::Value divide(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t y);
mlir::Value remainder(mlir::ImplicitLocOpBuilder &b, mlir::Value x, int64_t y);

/// Where a tile of a product begins. All i32.
struct TileCoordinates {
  mlir::Value blockRow; // number of its block row
  mlir::Value row;      // its first row inside the block row
  mlir::Value column;   // its first column
};

/// A block row has ceil(block rows / tile_m) tile rows; a panel has one tile for every CTA of the cluster.
TileCoordinates tileCoordinates(mlir::ImplicitLocOpBuilder &b, ScheduleAttr schedule, BsrType matrix,
                                mlir::Value tileRow, mlir::Value panel);

/// A buffer of a ring, in the layout in which the copies of the schedule fill it. Tensor copies write strips, the
/// longest of 128, 64 and 32 bytes that divide the row, in the swizzle of that length. Threads write whole rows, whose
/// swizzle has the same length. With `columnsOfStrip` threads write strips of so many columns, each from its own place
/// in memory.
BufferType bufferOf(ScheduleAttr schedule, int64_t rows, int64_t columns, mlir::Type element,
                    int64_t columnsOfStrip = 0);
/// A buffer for a tile of few columns, whose rows follow one another as they do in memory.
BufferType adjacentBufferOf(BufferType tile);
/// A ring with these buffers and the stages of the schedule, without messages.
mlir::Value makeRing(mlir::ImplicitLocOpBuilder &b, ScheduleAttr schedule, llvm::ArrayRef<mlir::Type> buffers);

/// Makes the loop over the tiles of a product, in every period of the plan's lists. The body makes the ops of a tile
/// and returns the values that the next tile gets as `carried`.
void walkTiles(
    mlir::ImplicitLocOpBuilder &b, mlir::ValueRange inits,
    mlir::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value tileRow, mlir::Value panel, mlir::ValueRange carried)>
        body);

/// Makes the ops of `body` where the condition holds. Returns the values that the body returns there, and the carried
/// ones elsewhere.
llvm::SmallVector<mlir::Value> carryIf(mlir::ImplicitLocOpBuilder &b, mlir::Value condition, mlir::ValueRange carried,
                                       mlir::function_ref<llvm::SmallVector<mlir::Value>()> body);

/// Makes the ops of `then` where the condition holds, and those of `otherwise` elsewhere. Returns the value of this
/// type that they give.
mlir::Value choose(mlir::ImplicitLocOpBuilder &b, mlir::Type type, mlir::Value condition,
                   mlir::function_ref<mlir::Value()> then, mlir::function_ref<mlir::Value()> otherwise);

/// A loop goes on while the carried value at a position compares like this with a number.
struct LoopCondition {
  int64_t position;
  LoopTest test;
  int64_t number;
};
/// A loop that carries `inits` while the condition holds. The last name is that of all further values. Gives the values
/// behind the loop.
llvm::SmallVector<mlir::Value> loopWhile(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange inits,
                                         mlir::ArrayRef<mlir::StringRef> names, LoopCondition condition,
                                         mlir::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> body);

/// The rows of a tile that a warpgroup multiplies (PTX ISA, "wgmma.mma_async": m64).
inline constexpr int64_t rowsOfWarpgroup = 64;

/// A group of the role that multiplies, and the first row and column of its part of the tile.
struct GroupPart {
  mlir::Value group, row, column;
};
/// The parts have so many rows and columns.
GroupPart partOf(mlir::ImplicitLocOpBuilder &b, ScheduleAttr schedule, int64_t rows, int64_t columns);

/// Whether K may end inside a block of the matrix, whose product with X has this type.
bool mayCutBlocks(BsrType matrix, mlir::RankedTensorType dense, bool isTransposed);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_ROLEBUILDING_H
