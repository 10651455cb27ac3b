// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The translation of a program in values form to a function for the host, op by op. This class has the ops that all
// programs have: loops and coordinates. Its subclasses have those of products and of attention.

#ifndef SPARSEC_EMIT_HOST_HOST_PROGRAM_H
#define SPARSEC_EMIT_HOST_HOST_PROGRAM_H

#include "host/HostValues.h"

namespace sparsec {

class HostProgram : public HostValues {
public:
  explicit HostProgram(ProgramOp program) : HostValues(program) {}

  /// The function of type sparsec_host_kernel_t, in front of the program. Null if an op has no translation: the error
  /// is at that op.
  mlir::LLVM::LLVMFuncOp emit();

protected:
  using HostValues::translate;
  void translate(mlir::Operation &op) final;
  /// Translates an op that not all programs have. Returns whether there is a translation.
  virtual bool translateOther(mlir::Operation &op) = 0;
  /// The panels of a tile row.
  virtual Value panels() = 0;
  /// The tile rows, if all tiles of a panel follow one another; null if all tiles of a tile row do.
  virtual Value tileRows() { return {}; }

  /// A tensor in memory: the last dimension is contiguous, `strides` has the others.
  struct Tensor {
    Value data;
    Type elementType;
    llvm::SmallVector<Value> strides;
  };
  Tensor tensorOf(Value argument);
  Value elementAddress(const Tensor &tensor, llvm::ArrayRef<Value> indices);
  using HostBuilder::elementAddress;

  Value sectionParameter(PlanSection section);
  Value sizeOf(Value source, int64_t dimension) { return sizeParameter(argumentOf(source), dimension); }

private:
  void emit(TileLoopOp op);
  void emit(mlir::scf::ForOp op);
  void emit(mlir::scf::IfOp op);
  void emit(ReadPlanOp op);
  void emit(SizeOp op);
  void emit(mlir::arith::ConstantOp op);
  void emitArithmetic(mlir::Operation &op);

  bool isComplete = true;
};

/// The translation of a program: that of attention where it walks keys, of a merge where it merges rows, else that of
/// products.
std::unique_ptr<HostProgram> makeHostProgram(ProgramOp program);

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_HOST_PROGRAM_H
