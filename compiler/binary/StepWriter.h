// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions of one element as the steps of a launch info.

#ifndef SPARSEC_COMPILER_BINARY_STEPWRITER_H
#define SPARSEC_COMPILER_BINARY_STEPWRITER_H

#include "SparsecDialect.h"

#include "sparsec/launch_info.h"

namespace sparsec {

/// A region as a list of steps. Values get numbers: first the arguments of the region, then the steps.
class StepWriter {
public:
  explicit StepWriter(uint32_t firstStep) : firstStep(firstStep) {}

  void number(mlir::Value value, uint32_t number) { numbers[value] = number; }
  /// `tensor`, an argument of the region, is operand `operand` of the operation.
  void nameTensor(mlir::Value tensor, uint32_t operand) { tensors[tensor] = operand; }
  std::vector<sparsec_step_info_t> write(mlir::Region &region);

private:
  uint32_t add(const sparsec_step_info_t &step);
  sparsec_step_info_t describe(mlir::Operation &op);
  sparsec_step_info_t describeElement(ElementOp element);

  uint32_t firstStep;
  llvm::DenseMap<mlir::Value, uint32_t> numbers, tensors;
  std::vector<sparsec_step_info_t> steps;
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_BINARY_STEPWRITER_H
