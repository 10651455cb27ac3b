// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Building the program of one kernel under one schedule, in values form or of roles. What is the same for every anchor
// op is here.

#ifndef SPARSEC_COMPILER_TILE_PROGRAMBUILDER_H
#define SPARSEC_COMPILER_TILE_PROGRAMBUILDER_H

#include "SparsecDialect.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/SymbolTable.h"

namespace sparsec {

/// cp.async and TMA copy at least so many bytes at a time.
inline constexpr int64_t bytesOfVector = 16;

/// The calls that a program is for.
enum class Use {
  any,                 // of any width
  narrow,              // with one panel, or with few tiles
  narrowAndMisaligned, // with one panel, and dense operands of any alignment
  parts,               // with few tiles, whose K or keys are split into parts
  cut,                 // with a plan that cuts tiles along K or the keys
  packed               // with packed values; the kernel's matrix has packed blocks
};

class ProgramBuilder {
public:
  ProgramBuilder(KernelOp kernel, ScheduleAttr schedule) : kernel(kernel), schedule(schedule) {}
  virtual ~ProgramBuilder() = default;

  /// A kernel may have the name that a variant of another one would get, so `programs` makes names unique.
  void build(mlir::OpBuilder &moduleBuilder, mlir::SymbolTable &programs, int64_t variant, Use wanted);

protected:
  /// The ops of the program: in values form a loop over tiles.
  virtual void buildBody(mlir::ImplicitLocOpBuilder &b);
  /// Builds the ops of one tile, in values form.
  virtual void buildTile(mlir::ImplicitLocOpBuilder & /*b*/, mlir::Value /*tileRow*/, mlir::Value /*panel*/) {}
  /// Gives a store the epilogue of its kernel, the identity where it has none.
  void setEpilogue(mlir::OpBuilder &b, StoreOp store, mlir::Region &epilogue);
  /// The bytes of which rows of dense operands have to be multiples where cp.async or TMA copy them.
  virtual int64_t unitOfRows() { return bytesOfVector; }
  /// The element type that is copied to shared memory.
  virtual mlir::Type elementType() = 0;

  KernelOp kernel;
  ScheduleAttr schedule;
  Use use = Use::any;
  mlir::IRMapping mapping;                // values of the kernel to values of the program
  llvm::SmallVector<mlir::Value> results; // the result operands of the program

private:
  int64_t alignment();
  bool runsFewTiles();
  int64_t fewTiles();
};

std::unique_ptr<ProgramBuilder> makeAttentionBuilder(KernelOp kernel, AttentionOp attention, ScheduleAttr schedule);
std::unique_ptr<ProgramBuilder> makeSpmmBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule);
/// For a schedule that walks windows of a plan.
std::unique_ptr<ProgramBuilder> makeWindowBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule);
/// For one that walks streams.
std::unique_ptr<ProgramBuilder> makeStreamBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule);

} // namespace sparsec

#endif // SPARSEC_COMPILER_TILE_PROGRAMBUILDER_H
