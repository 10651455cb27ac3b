// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values of a tile program, and what they are in the kernel: each becomes no, one or several values. A cursor is a
// slot and the parity of its phase, an accumulator the registers of a thread. Loops and branches carry them side by
// side.

#ifndef SPARSEC_EMIT_PROGRAM_VALUES_H
#define SPARSEC_EMIT_PROGRAM_VALUES_H

#include "KernelBuilder.h"
#include "SparsecDialect.h"

#include "llvm/ADT/DenseMap.h"

namespace sparsec {

class ProgramValues {
public:
  ProgramValues(KernelBuilder &b, ProgramOp program, Instruction instruction);

  mlir::ArrayRef<mlir::Value> of(mlir::Value value) const { return values.find(value)->second; }
  /// The value of one that has exactly one; null for null.
  mlir::Value one(mlir::Value value) const { return value ? of(value).front() : mlir::Value(); }
  KernelBuilder::Values flat(mlir::ValueRange of) const;
  llvm::SmallVector<mlir::Type> flatTypes(mlir::TypeRange types) const;
  template <CarriedState State> State state(mlir::Value value) const { return unpackState<State>(of(value)); }

  void set(mlir::Value value, mlir::ValueRange emitted) { values[value] = KernelBuilder::Values(emitted); }
  /// Gives values of the program their parts of `emitted`, each as many as its type has.
  void assign(mlir::ValueRange of, mlir::ValueRange emitted);

  // The f32 of a thread of an accumulator or a pending one. wgmma takes them as one struct, mma.sync one by one.
  int64_t sumCount(mlir::Type type) const;
  KernelBuilder::Values sums(mlir::Value accumulator) const;
  KernelBuilder::Values zeroSums(mlir::Type type) const;
  KernelBuilder::Values unsetSums(mlir::Type type) const;
  /// The f32 of a thread of scales of columns.
  int64_t columnScaleCount(ColumnScalesType type) const;
  static int64_t threadScaleCount(ThreadScalesType type);
  /// Those of a slab follow one another: rows of which a thread of each warp has two.
  int64_t slabs(AccumulatorType type) const { return slabs(type.getRows()); }
  int64_t slabs(int64_t rows) const;
  /// An accumulator that has these f32.
  KernelBuilder::Values fromSums(mlir::ValueRange sums) const;

private:
  /// Threads that share an accumulator or a fragment.
  int64_t threadsOfGroup() const { return instruction == Instruction::wgmma ? 128 : 32; }
  bool areSumsInStruct() const { return instruction == Instruction::wgmma; }

  KernelBuilder &b;
  Instruction instruction;
  bool statesHaveHints = false; // a softmax state has one more value (RowState)
  llvm::DenseMap<mlir::Value, KernelBuilder::Values> values;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_PROGRAM_VALUES_H
