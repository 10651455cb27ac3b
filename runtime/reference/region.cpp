// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "region.h"
#include "arguments/views.h"
#include "numbers.h"
#include "operations/kernel_shape.h"
#include "steps.h"

#include <algorithm>

namespace sparsec::runtime {

Region::Region(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, const char *name, uint32_t first,
               uint32_t count)
    : kernel(kernel), arguments(arguments), name(name), first(first), count(count), values(regionInputCount + count),
      errors(regionInputCount + count) {}

Region Region::score(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments) {
  const sparsec_attention_info_t &info = kernel.attention();
  return {kernel, arguments, "score", info.score_step_first, info.score_step_count};
}

Region Region::mask(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments) {
  const sparsec_attention_info_t &info = kernel.attention();
  return {kernel, arguments, "mask", info.mask_step_first, info.mask_step_count};
}

bool Region::loads(uint32_t argument) const {
  for (uint32_t i = 0; i < count; ++i)
    if (step(i).op == SPARSEC_STEP_LOAD && step(i).a == argument)
      return true;
  return false;
}

bool Region::uses(uint32_t value) const {
  for (uint32_t i = 0; i < count; ++i) {
    const sparsec_step_info_t &step = this->step(i);
    if (step.op == SPARSEC_STEP_LOAD) {
      if (value >= step.b && value - step.b < kernel.argument(step.a).rank)
        return true;
      continue;
    }
    const uint32_t operands[] = {step.a, step.b, step.c};
    if (std::count(operands, operands + stepOperandCount(step.op), value) != 0)
      return true;
  }
  return false;
}

Status Region::evaluate(const ScorePosition &position, double &score, double *error) {
  const double inputs[regionInputCount] = {score, double(position.batch), double(position.head), double(position.query),
                                           double(position.key)};
  std::copy_n(inputs, regionInputCount, values.begin());
  errors[0] = error ? *error : 0.0;
  for (uint32_t i = 0; i < count; ++i) {
    const sparsec_step_info_t &step = this->step(i);
    double &value = values[regionInputCount + i], &valueError = errors[regionInputCount + i];
    if (step.op == SPARSEC_STEP_LOAD) {
      SPARSEC_RETURN_IF_ERROR(load(step, value));
      continue; // its error stays 0
    }
    value = evaluateStep(step, values.data());
    if (error)
      valueError = stepError(step, values.data(), errors.data(), value);
  }
  if (count == 0)
    return {};
  score = values.back();
  if (error)
    *error = errors.back();
  return {};
}

Status Region::load(const sparsec_step_info_t &step, double &value) const {
  const sparsec_argument_info_t &info = kernel.argument(step.a);
  if (info.kind == SPARSEC_ARGUMENT_SCALAR) {
    value = scalarOf(arguments[step.a]);
    return {};
  }
  const sparsec_dense_t &tensor = denseOf(arguments[step.a]);
  int64_t offset = 0;
  for (uint32_t d = 0; d < info.rank; ++d) {
    double index = values[step.b + d];
    if (!(index >= 0 && index < double(tensor.sizes[d])))
      return invalidArgument(Subject{info.name, step.a}, ": the ", name, " region at batch ", int64_t(values[1]),
                             ", head ", int64_t(values[2]), ", q ", int64_t(values[3]), ", k ", int64_t(values[4]),
                             " reads index ", std::to_string(index), " of dimension ", d, ", whose size is ",
                             tensor.sizes[d]);
    offset += int64_t(index) * tensor.strides[d];
  }
  value = readElement(tensor.data, tensor.dtype, offset);
  return {};
}

} // namespace sparsec::runtime
