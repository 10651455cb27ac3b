// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies of one step's operands from global to shared memory by all threads of a CTA, 8 elements (one unit) at a time:
// cp.async where the operands are aligned, element by element where they are not.

#ifndef SPARSEC_EMIT_TILE_COPY_H
#define SPARSEC_EMIT_TILE_COPY_H

#include "UnitLayout.h"

namespace sparsec {

class TileCopy {
public:
  TileCopy(SpmmContext &context, Ring ring);

  /// The next step whose copies start: its first block, its chunk of K, and the block columns it needs, already loaded.
  struct Step {
    mlir::Value block, chunk;
    KernelBuilder::Values columns;

    Step() = default;
    explicit Step(mlir::ValueRange values) : block(values[0]), chunk(values[1]), columns(values.drop_front(2)) {}
    KernelBuilder::Values values() const;
  };

  void beginTile(const TilePosition &position, RowBlocks range, BlockLoopOp loop);
  mlir::Value stepCount();
  Step firstStep();
  Step nextStep(const Step &step);

  /// Starts all copies of a step into a slot. Rows, columns and blocks that do not exist become zero; a step where all
  /// of them exist skips the checks.
  void emit(const Step &step, mlir::Value slot);

private:
  /// A place along K inside a step: lane + constant, where 0 <= lane < range. The split lets the block be known at
  /// compile time where all lanes agree.
  struct DepthInStep {
    mlir::Value lane;
    int64_t constant, range;
  };
  /// One unit that this thread copies.
  struct Unit {
    mlir::Value row, unit; // in the buffer
    DepthInStep depth;     // of its first element (A, X as N x K), or of its row (X as K x N)
    mlir::Value exists;    // null when the threads divide the buffer evenly
  };
  /// Where a place along K lies: which of the step's blocks, and the column inside the block.
  struct DepthInBlock {
    mlir::Value blockInStep, column;
  };

  /// How the threads cover a buffer: pass i of a thread copies unit `unit` of row `row + i * rows`.
  struct Passes {
    int64_t count, rows;
    mlir::Value row, unit;
  };

  // Steps that lie wholly inside the operands.
  bool canSkipChecks();
  mlir::Value isWholeTile();
  mlir::Value isWholeStep(const Step &step);
  Passes passesOf(int64_t buffer);
  mlir::Value columnAt(const Step &step, mlir::Value blockInStep);
  void emitWhole(const Step &step, mlir::Value slot);
  KernelBuilder::Values wholeA(const Step &step, const Passes &passes);
  KernelBuilder::Values wholeX(const Step &step, const Passes &passes);
  KernelBuilder::Values wholeTransposedX(const Step &step, const Passes &passes);

  // Any step.
  void emitChecked(const Step &step, mlir::Value slot);
  int64_t threads() { return threadsOfWarps(context.schedule); }
  llvm::SmallVector<Unit> unitsOf(int64_t buffer);
  mlir::Value columnOf(mlir::Value block);
  KernelBuilder::Values columnsOf(mlir::Value block);

  DepthInBlock locate(const Step &step, DepthInStep depth);
  mlir::Value isInBlock(const Step &step, DepthInBlock depth);
  void copyA(const Step &step, mlir::Value destination, const Unit &unit);
  void copyX(const Step &step, mlir::Value destination, const Unit &unit);
  /// The first `valid` of 8 elements from base[index], then zeros.
  void copyUnit(mlir::Value destination, mlir::Value base, mlir::Value index, mlir::Value valid);
  void copyScalars(mlir::Value destination, mlir::Value base, mlir::Value index, mlir::Value valid);

  SpmmContext &context;
  KernelBuilder &b;
  Ring ring;
  UnitLayout layout;
  TilePosition position;
  RowBlocks range;
  int64_t blocksPerStep = 1, chunks = 1;
  mlir::Value wholeTile; // i1: rows and columns of the tile all exist
};

} // namespace sparsec

#endif // SPARSEC_EMIT_TILE_COPY_H
