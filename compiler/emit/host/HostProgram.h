// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The translation of a program in values form to a function for the host, op by op.

#ifndef SPARSEC_EMIT_HOST_HOST_PROGRAM_H
#define SPARSEC_EMIT_HOST_HOST_PROGRAM_H

#include "host/HostQueries.h"

namespace sparsec {

class HostProgram : HostQueries {
public:
  explicit HostProgram(ProgramOp program) : HostQueries(program) {}

  /// The function of type sparsec_host_kernel_t, in front of the program. Null if an op has no translation: the error
  /// is at that op.
  mlir::LLVM::LLVMFuncOp emit();

private:
  using HostValues::translate;
  void translate(mlir::Operation &op) override;

  using HostQueries::emit;
  void emit(TileLoopOp op);
  void emit(TileOp op);
  void emit(BlockLoopOp op);
  void emit(RowBlocksOp op);
  void emit(BlockColumnOp op);
  void emit(ReadPlanOp op);
  void emit(SizeOp op);
  void emit(mlir::scf::ForOp op);
  void emit(mlir::scf::IfOp op);
  void emit(mlir::arith::ConstantOp op);
  void emitArithmetic(mlir::Operation &op);

  void emitBlock(BlockLoopOp op, Value position);
  void emitStep(BlockLoopOp op, const Step &step);

  bool isComplete = true;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_HOST_HOST_PROGRAM_H
