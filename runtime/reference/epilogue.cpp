// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "epilogue.h"
#include "arguments/views.h"
#include "numbers.h"
#include "steps.h"

namespace sparsec::runtime {

double Epilogue::readExtra(const sparsec_operand_info_t &operand, const ExtraPosition &at) const {
  const sparsec_argument_t &argument = arguments[operand.argument];
  if (argument.kind == SPARSEC_ARGUMENT_SCALAR)
    return scalarOf(argument);
  const sparsec_dense_t &tensor = denseOf(argument);
  int64_t index = 0;
  switch (operand.broadcast) {
  case SPARSEC_BROADCAST_PER_ROW:
    index = at.row;
    break;
  case SPARSEC_BROADCAST_PER_COLUMN:
    index = at.column;
    break;
  case SPARSEC_BROADCAST_FULL:
    index = at.fullIndex(operand, tensor, at.fullRow, at.fullColumn);
    break;
  }
  return readElement(tensor.data, tensor.dtype, index);
}

Status Epilogue::apply(const ExtraPosition &at, double &value, double *magnitude) {
  for (uint32_t i = 0; i < operands.size(); ++i)
    if (operands[i].slot == extraSlot)
      elements[i] = readExtra(operands[i], at);
  RegionInputs inputs;
  inputs.operands = elements.data();
  double error = magnitude ? referenceTolerance * *magnitude : 0.0;
  SPARSEC_RETURN_IF_ERROR(region.evaluate(inputs, value, magnitude ? &error : nullptr));
  if (magnitude)
    *magnitude = error / referenceTolerance;
  return {};
}

} // namespace sparsec::runtime
