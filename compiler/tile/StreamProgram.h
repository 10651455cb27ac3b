// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two programs by the streams of a plan share this base: SpmmStreams.cpp with wgmma, SpmmWarpStreams.cpp with
// mma.sync. A tile is a window of block rows, of which every group of consumers has an equal share. The columns of X
// that any of the window's rows needs are loaded once. The CTAs of a cluster share a window, and each copies its part
// of a column for all of them:
//
//   producer "x" copies the columns of the window, several to a stage;
//   a group takes every stage. It loads a column of X into registers and multiplies it by the blocks that its rows have
//   there. Its blocks come in the order of its products, in chunks.

#ifndef SPARSEC_COMPILER_TILE_STREAMPROGRAM_H
#define SPARSEC_COMPILER_TILE_STREAMPROGRAM_H

#include "ScheduleAttribute.h"
#include "WindowProgram.h"

namespace sparsec {

class StreamProgram : public WindowProgram {
protected:
  StreamProgram(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule)
      : WindowProgram(kernel, spmm, schedule), shape(streamShape(toSchedule(schedule), matrix.getBlockColumns())) {}

  /// The block ring has a share of slots for every group. A ring that a group fills itself has no releases.
  void makeRings(mlir::ImplicitLocOpBuilder &b, mlir::IntegerAttr releasesOfBlocks);
  /// The roles "x". Several producers take turns with the stages.
  void makeColumnProducers(mlir::ImplicitLocOpBuilder &b, int64_t count);
  /// Part `number` of a section whose parts have `count` entries each.
  Values readEntries(mlir::ImplicitLocOpBuilder &b, PlanSection section, mlir::Value number, int64_t count);

  /// Where the next product is in the stream of its group.
  struct Position {
    mlir::Value place; // in its chunk; with mma.sync among those of its group
    mlir::Value chunk; // the cursor of that chunk in the ring of blocks; null with mma.sync

    Values pack() const { return chunk ? Values{place, chunk} : Values{place}; }
  };
  /// The values that the loops of a group carry: the sums of its rows, the position of its next product, and others
  /// that its program needs.
  struct Progress {
    Values sums;
    Position next;
    Values others;

    Values pack(mlir::ValueRange more = {}) const;
    /// The first values are those of pack(); behind them there may be more.
    Progress unpack(mlir::ValueRange values) const;
    size_t count() const { return sums.size() + next.pack().size() + others.size(); }
  };
  /// The stages of a tile: those of its window, or of its part of them.
  Range stagesOf(mlir::ImplicitLocOpBuilder &b, const Tile &tile);
  /// Walks the stages of a tile. `slot` becomes the one behind the last stage.
  Progress walkStages(mlir::ImplicitLocOpBuilder &b, const Tile &tile, mlir::Value &slot, Progress progress);

  /// Waits for the columns of a stage, and walks those in which the group has products. `word` has bits for all columns
  /// of the stage, those of the first one lowest, and a bit of a column for each row.
  virtual Progress walkColumns(mlir::ImplicitLocOpBuilder &b, mlir::Value slot, mlir::Value word,
                               Progress progress) = 0;
  void awaitColumns(mlir::ImplicitLocOpBuilder &b, mlir::Value slot);
  /// A column of the stage as an operand, X^T: `count` of its rows from `first` on.
  mlir::Value loadColumn(mlir::ImplicitLocOpBuilder &b, mlir::Value slot, mlir::Value column, int64_t first,
                         int64_t count);

  bool sharesWindows() override { return true; }
  int64_t groups() { return schedule.getConsumersM(); }
  /// The index of a group of this CTA in a section of the plan that has an entry for each group of a window. The
  /// section has these entries for every window, or for every stage: `number` is that of the window or the stage.
  mlir::Value entryOf(mlir::ImplicitLocOpBuilder &b, mlir::Value number, mlir::Value groupOfCta);
  int64_t columns() { return schedule.getTileN(); }
  int64_t rows() { return shape.productsOfColumn(); }
  int64_t depth() { return matrix.getBlockColumns(); }
  bool isOfWarps() { return schedule.getInstruction() == Instruction::mma_sync; }
  bool isF8() { return elementType().getIntOrFloatBitWidth() == 8; }
  /// The elements of fragments. mma.sync multiplies fp8 as f16: its instructions of fp8 are deeper than a block
  /// of 16 columns, and Hopper has them only by conversions to f16.
  mlir::Type elementOfFragment(mlir::Type stored);
  /// Whether the plan gives a stage adjacent columns: rows of X that are K are then copied as long as they are.
  bool areColumnsAdjacent() { return isTransposed() && (isOfWarps() || isF8()); }
  /// Rows of the buffer that a column of X fills, if it fills rows of its own.
  int64_t rowsOfColumn() { return isTransposed() ? columns() : depth(); }
  /// The same for the blocks of a product.
  int64_t rowsOfBlock() { return matrix.getTransposed() ? depth() : shape.productRows; }
  /// The part of a slot with the blocks of the product at a place of it.
  mlir::Value viewOfBlock(mlir::ImplicitLocOpBuilder &b, mlir::Value place);

  StreamShape shape;
  mlir::Value columnRing, blockRing;
  mlir::Value group; // of the consumer role

private:
  void buildColumnProducer(mlir::ImplicitLocOpBuilder &b, int64_t producer, int64_t count);
  void copyColumns(mlir::ImplicitLocOpBuilder &b, const Tile &tile, mlir::Value slot, mlir::ValueRange stageColumns);
};

/// The program with mma.sync.
std::unique_ptr<ProgramBuilder> makeWarpStreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_STREAMPROGRAM_H
