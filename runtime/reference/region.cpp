// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "region.h"
#include "arguments/views.h"
#include "image/operation_rules.h"
#include "numbers.h"
#include "operations/kernel_shape.h"
#include "steps.h"

#include <algorithm>

namespace sparsec::runtime {

Region::Region(const sparsec_kernel_s &kernel, const sparsec_argument_t *arguments, sparsec_region_slot_t slot)
    : kernel(kernel), arguments(arguments), operands(kernel.operands()) {
  const sparsec_region_info_t *region = kernel.region(slot);
  if (!region)
    return;
  name = findRegion(kernel.rule(), slot)->name;
  inputs = kernel.module->info.inputsOf(*region);
  steps = kernel.module->info.stepsOf(*region);
  values.resize(inputs.size() + steps.size());
  errors.resize(values.size());
}

bool Region::loads(uint32_t operand) const {
  for (const sparsec_step_info_t &step : steps)
    if (step.op == SPARSEC_STEP_LOAD && step.a == operand)
      return true;
  return false;
}

bool Region::usesValue(const sparsec_step_info_t &step, uint32_t number) const {
  if (step.op == SPARSEC_STEP_LOAD)
    return number >= step.b && number - step.b < kernel.argument(operands[step.a].argument).rank;
  const uint32_t used[] = {step.a, step.b, step.c};
  return std::count(used, used + stepOperandCount(step.op), number) != 0;
}

bool Region::uses(sparsec_input_kind_t kind) const {
  for (uint32_t number = 0; number < inputs.size(); ++number)
    for (const sparsec_step_info_t &step : steps)
      if (inputs[number].kind == uint32_t(kind) && usesValue(step, number))
        return true;
  return false;
}

void Region::setInputs(const RegionInputs &from, double value, const double *error) {
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    errors[i] = 0.0;
    switch (inputs[i].kind) {
    case SPARSEC_INPUT_ACCUMULATOR:
    case SPARSEC_INPUT_SCORE:
      values[i] = value;
      errors[i] = error ? *error : 0.0;
      break;
    case SPARSEC_INPUT_OPERAND:
      values[i] = from.operands[inputs[i].operand];
      break;
    case SPARSEC_INPUT_BATCH:
      values[i] = double(from.batch);
      break;
    case SPARSEC_INPUT_HEAD:
      values[i] = double(from.head);
      break;
    case SPARSEC_INPUT_QUERY:
      values[i] = double(from.query);
      break;
    case SPARSEC_INPUT_KEY:
      values[i] = double(from.key);
      break;
    }
  }
}

Status Region::evaluate(const RegionInputs &from, double &value, double *error) {
  if (isEmpty())
    return {};
  setInputs(from, value, error);
  uint32_t number = inputs.size();
  for (const sparsec_step_info_t &step : steps) {
    double &result = values[number], &resultError = errors[number];
    ++number;
    if (step.op == SPARSEC_STEP_LOAD) {
      SPARSEC_RETURN_IF_ERROR(load(step, from, result));
      continue; // its error stays 0
    }
    result = evaluateStep(step, values.data());
    if (error)
      resultError = stepError(step, values.data(), errors.data(), result);
  }
  value = values.back();
  if (error)
    *error = errors.back();
  return {};
}

Status Region::load(const sparsec_step_info_t &step, const RegionInputs &at, double &value) const {
  const uint32_t argument = operands[step.a].argument;
  const sparsec_argument_info_t &info = kernel.argument(argument);
  if (info.kind == SPARSEC_ARGUMENT_SCALAR) {
    value = scalarOf(arguments[argument]);
    return {};
  }
  const sparsec_dense_t &tensor = denseOf(arguments[argument]);
  int64_t offset = 0;
  for (uint32_t d = 0; d < info.rank; ++d) {
    double index = values[step.b + d];
    if (!(index >= 0 && index < double(tensor.sizes[d])))
      return invalidArgument(Subject{info.name, argument}, ": the ", name, " region at batch ", at.batch, ", head ",
                             at.head, ", q ", at.query, ", k ", at.key, " reads index ", std::to_string(index),
                             " of dimension ", d, ", whose size is ", tensor.sizes[d]);
    offset += int64_t(index) * tensor.strides[d];
  }
  value = readElement(tensor.data, tensor.dtype, offset);
  return {};
}

} // namespace sparsec::runtime
