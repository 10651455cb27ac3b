// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Evaluates the score and the mask region of an attention kernel, as the launch info lists them, in double.

#ifndef SPARSEC_RUNTIME_REFERENCE_REGION_H
#define SPARSEC_RUNTIME_REFERENCE_REGION_H

#include "image/module.h"

namespace sparsec::runtime {

/// A query and a key of one head of one batch.
struct ScorePosition {
  int64_t batch, head, query, key;
};

/// One region with its operands in host memory. For one thread: it keeps the values of its steps.
class Region {
public:
  static Region score(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments);
  static Region mask(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments);

  bool isEmpty() const { return count == 0; }
  /// Whether a step loads from the argument.
  bool loads(uint32_t argument) const;
  /// Whether a step uses the value: 1 to 4 are batch, head, query and key.
  bool uses(uint32_t value) const;

  /// The last step's value at a position; `score` and `error`, how far it may be off, are replaced. Refuses loads from
  /// beyond a tensor. Where `error` is null, errors are not followed.
  Status evaluate(const ScorePosition &position, double &score, double *error);

private:
  Region(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const char *name, uint32_t first,
         uint32_t count);
  const sparsec_step_info_t &step(uint32_t number) const { return kernel.module->info.step(first + number); }
  Status load(const sparsec_step_info_t &step, double &value) const;

  const sparsec_kernel_s &kernel;
  const sparsec_argument_t *arguments;
  const char *name;
  uint32_t first, count;
  std::vector<double> values, errors;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_REGION_H
