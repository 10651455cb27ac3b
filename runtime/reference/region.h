// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluates a region of a kernel, as the launch info lists it, in double.

#ifndef SPARSEC_RUNTIME_REFERENCE_REGION_H
#define SPARSEC_RUNTIME_REFERENCE_REGION_H

#include "image/module.h"

namespace sparsec::runtime {

/// The inputs of a region besides its first value.
struct RegionInputs {
  // Score and mask regions read these.
  int64_t batch = 0, head = 0, query = 0, key = 0;
  // An epilogue reads one element of each operand that it takes, by the number of the operand.
  const double *operands = nullptr;
};

/// One region with its operands in host memory. For one thread: it keeps the values of its steps.
class Region {
public:
  /// The region of a slot; an empty one where the kernel has none.
  Region(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, sparsec_region_slot_t slot);

  bool isEmpty() const { return steps.empty(); }
  /// Whether a step loads from the operand.
  bool loads(uint32_t operand) const;
  /// Whether a step uses an input of this kind.
  bool uses(sparsec_input_kind_t kind) const;

  /// Replaces `value`, the accumulator or the score, and `error`, how far it may be off, by those of the last step; an
  /// empty region leaves them. Refuses loads from beyond a tensor. Where `error` is null, errors are not followed.
  Status evaluate(const RegionInputs &inputs, double &value, double *error);

private:
  bool usesValue(const sparsec_step_info_t &step, uint32_t number) const;
  void setInputs(const RegionInputs &from, double value, const double *error);
  Status load(const sparsec_step_info_t &step, const RegionInputs &at, double &value) const;

  const sparsec_kernel_s &kernel;
  const sparsec_argument_t *arguments;
  const char *name = "";
  Records<sparsec_operand_info_t> operands;
  Records<sparsec_input_info_t> inputs;
  Records<sparsec_step_info_t> steps;
  std::vector<double> values, errors;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_REGION_H
