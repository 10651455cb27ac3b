// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The context that all emitters share: the parameters of the machine kernel, the walk over its tiles, and how
// accumulators are in registers.

#ifndef SPARSEC_EMIT_PROGRAM_CONTEXT_H
#define SPARSEC_EMIT_PROGRAM_CONTEXT_H

#include "KernelBuilder.h"
#include "SparsecDialect.h"

namespace sparsec {

/// The parameters of a machine kernel. Asking for one adds it to the function and to the recipe in the launch info.
class ParameterList {
public:
  explicit ParameterList(mlir::LLVM::LLVMFuncOp function) : function(function) {}

  mlir::Value get(ParameterKind kind, int64_t argument = 0, int64_t index = 0);
  mlir::Value tensorMap(TensorMapAttr map);
  /// A pointer, which is null where a launch brings no workspace.
  mlir::Value workspace(WorkspaceAttr workspace);
  /// Writes the function's type, argument attributes and recipe.
  void finish();

private:
  mlir::Type typeOf(ParameterKind kind, int64_t index);

  mlir::LLVM::LLVMFuncOp function;
  llvm::SmallVector<ParameterAttr> recipe;
  llvm::SmallVector<TensorMapAttr> tensorMaps;
  llvm::SmallVector<WorkspaceAttr> workspaces;
};

/// The external array that represents dynamic shared memory.
inline constexpr llvm::StringRef sharedMemorySymbol = "dynamic_shared_memory";

/// Threads of a CTA whose warps all have the same role: one warp for each consumer.
int64_t threadsOfWarps(ScheduleAttr schedule);

/// The tiles side by side in a CTA, or the slices of its tile: each has rings and roles of its own.
int64_t partsOfCta(ScheduleAttr schedule);

/// Whether the program's kernels wait by themselves for the kernel in front of them, so that launches may start early.
bool hasDependentLaunch(ProgramOp program);

/// One program being emitted into one function.
struct ProgramContext {
  ProgramContext(ProgramOp program, mlir::LLVM::LLVMFuncOp function, KernelBuilder &b);

  ProgramOp program;
  ScheduleAttr schedule;
  KernelBuilder &b;
  ParameterList parameters;
  mlir::Value sharedMemory; // base of dynamic shared memory
  mlir::Value thread;       // index in the CTA
  // The block-sparse argument whose index arrays the program may read before the kernel in front of it has ended.
  std::optional<int64_t> earlyPattern;

  mlir::Value size(int64_t argument, int64_t dimension) {
    return parameters.get(ParameterKind::size, argument, dimension);
  }
  /// base + sum of index * stride; the last dimension is contiguous.
  mlir::Value elementAddress(int64_t argument, mlir::Type element, mlir::ValueRange indices);

  /// Waits for the kernel in front of this one, or lets the kernel behind it start if launches may read the pattern
  /// early.
  void waitForKernelInFront();
  /// Waits for the kernel in front, unless the program has waited for it at its beginning. What stands in front of this
  /// reads the index arrays of `earlyPattern` alone.
  void waitBehindPattern();

  /// Memory of this thread for `count` f32, which is the same at every call.
  mlir::Value localMemory(int64_t count);

private:
  mlir::LLVM::AllocaOp local;
};

/// The program of a product. Operand numbers are kernel argument numbers. The matrix is the operand that has the rows
/// of the tiles, and the pattern where there is one: W of a spmm, the pattern of a sddmm, the pattern or A of a spgemm.
/// The other operand, which has the columns, is called dense: X, or B.
struct ProductContext : ProgramContext {
  ProductContext(ProgramOp program, mlir::LLVM::LLVMFuncOp function, KernelBuilder &b);

  BsrType matrix;
  int64_t matrixArgument, denseArgument, resultArgument;
  bool denseTransposed; // X is N x K
  mlir::Type element;   // of W and X

  /// Whether a tile may reach below the end of its block row.
  bool crossesBlockRows() {
    return schedule.getWalk() == Walk::blocks && matrix.getBlockRows() % schedule.getTileM() != 0;
  }
  mlir::Value rows() { return parameters.get(ParameterKind::size, matrixArgument, matrix.getStoredRowDimension()); }
  mlir::Value columns() { return parameters.get(ParameterKind::size, denseArgument, denseTransposed ? 0 : 1); }
  mlir::Value depth() { return parameters.get(ParameterKind::size, matrixArgument, matrix.getStoredColumnDimension()); }
};

/// Where a tile is. All i32.
struct TilePosition {
  mlir::Value blockRow;   // index of the block row
  mlir::Value rowInBlock; // first row of the tile inside the block row
  mlir::Value column;     // first column of this CTA
  // The columns of a sddmm are blocks of the pattern: their numbers, and the columns from one to the next. Else null.
  mlir::Value firstBlock, endBlock;
  int64_t blockStride = 0;
  // The accumulators' rows are columns of the result.
  bool isSwapped = false;
};

using TileRowBody =
    llvm::function_ref<KernelBuilder::Values(mlir::Value tileRow, mlir::Value panel, mlir::ValueRange carried)>;

/// The tiles of a worker: those of the plan's list where there is one, else every `workers`-th tile of a raster that
/// keeps `group_m` tile rows together. All i32.
struct TileRange {
  mlir::Value begin, end, step;
  mlir::Value planned, tiles; // i1 and the plan's list; null where launches of the program have no lists
};
TileRange emitTileRange(ProgramContext &context, mlir::Value worker, mlir::Value workers);
/// Tile row and panel of a tile of the range.
KernelBuilder::Values emitTileCoordinates(ProgramContext &context, const TileRange &range, mlir::Value tile);

/// The tile loop over them. All threads of a CTA (or of one of its roles) call it alike.
KernelBuilder::Values emitTileRows(ProgramContext &context, mlir::ValueRange carried, TileRowBody body);
/// The same where lists may hold the tiles of a period of panels: they are then run again and again, each time a period
/// further on.
KernelBuilder::Values emitRounds(ProgramContext &context, mlir::ValueRange carried, TileRowBody body);

/// `follows` gives, where it is called, whether the worker has another tile behind this one (i1).
using FollowedTileBody = llvm::function_ref<KernelBuilder::Values(
    mlir::Value tileRow, mlir::Value panel, mlir::ValueRange carried, llvm::function_ref<mlir::Value()> follows)>;
/// The same for tiles side by side in a CTA, of which each is a worker. Where the launch has a counter, workers take
/// tiles as they become free.
KernelBuilder::Values emitTilesByCounter(ProgramContext &context, mlir::Value tileOfCta, mlir::ValueRange carried,
                                         FollowedTileBody body);

/// The accumulators of one warp: 16-row slabs x groups of 8 columns x 4 values, in the register layout that mma.sync
/// m16n8 and wgmma share (PTX ISA 9.7.14.5.8): values 0, 1 are in row lane / 4, columns 2 * (lane % 4) + {0, 1}, values
/// 2, 3 eight rows below. Slabs are `slabRows` apart: those of a warpgroup's warps are between them.
struct AccumulatorFragment {
  int64_t slabs, groups, slabRows;
  KernelBuilder::Values values;
  mlir::Value row, column; // of the warp's first element in the tile, i32

  mlir::Value &at(int64_t slab, int64_t group, int64_t index) { return values[(slab * groups + group) * 4 + index]; }
};

} // namespace sparsec

#endif // SPARSEC_EMIT_PROGRAM_CONTEXT_H
