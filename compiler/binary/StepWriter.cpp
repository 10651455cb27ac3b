// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StepWriter.h"

#include "ElementwiseRegion.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

static uint32_t getStepOpcode(Operation &op) {
  if (auto round = dyn_cast<arith::TruncFOp>(op))
    return isa<BFloat16Type>(round.getType()) ? SPARSEC_STEP_ROUND_BF16 : SPARSEC_STEP_ROUND_F16;
  if (hasIntegers(op) || isa<ElementOp>(op)) {
    uint32_t opcode = TypeSwitch<Operation *, uint32_t>(&op)
#define SPARSEC_INTEGER_OP(op, opcode) .Case([](op) { return SPARSEC_STEP_##opcode; })
#include "ElementwiseOps.def"
                          .Default(0u);
    if (opcode)
      return opcode;
  }
  return TypeSwitch<Operation *, uint32_t>(&op)
#define SPARSEC_ELEMENTWISE_OP(op, opcode) .Case([](op) { return SPARSEC_STEP_##opcode; })
#include "ElementwiseOps.def"
      .Default(0u);
}

static double getImmediate(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  if (auto flag = dyn_cast<BoolAttr>(value))
    return flag.getValue();
  return cast<IntegerAttr>(value).getInt();
}

/// Returns the number of the step's value.
uint32_t StepWriter::add(const sparsec_step_info_t &step) {
  steps.push_back(step);
  return firstStep + steps.size() - 1;
}

sparsec_step_info_t StepWriter::describe(Operation &op) {
  if (auto element = dyn_cast<ElementOp>(op))
    return describeElement(element);
  sparsec_step_info_t step = {};
  step.op = getStepOpcode(op);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    step.immediate = getImmediate(constant.getValue());
  uint32_t *operands[] = {&step.a, &step.b, &step.c};
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    *operands[index] = numbers.lookup(operand);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    step.c = static_cast<uint32_t>(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    step.c = static_cast<uint32_t>(compare.getPredicate());
  return step;
}

/// The indices of a load have consecutive numbers: copies where they have not.
sparsec_step_info_t StepWriter::describeElement(ElementOp element) {
  SmallVector<uint32_t> indices;
  for (Value index : element.getIndices())
    indices.push_back(numbers.lookup(index));
  uint32_t first = indices.empty() ? 0 : indices.front();
  bool areConsecutive =
      llvm::all_of(llvm::enumerate(indices), [&](auto index) { return index.value() == first + index.index(); });
  if (!areConsecutive) {
    first = firstStep + steps.size();
    for (uint32_t index : indices)
      add({SPARSEC_STEP_COPY, index, 0, 0, 0.0});
  }
  return {getStepOpcode(*element), tensors.lookup(element.getTensor()), first, 0, 0.0};
}

std::vector<sparsec_step_info_t> StepWriter::write(Region &region) {
  Block &body = region.front();
  for (Operation &op : body.without_terminator()) {
    sparsec_step_info_t step = describe(op);
    numbers[op.getResult(0)] = add(step);
  }
  // The last step is the result: repeat the yielded value where it is another one.
  uint32_t yielded = numbers.lookup(body.getTerminator()->getOperand(0));
  if (steps.empty() || yielded != firstStep + steps.size() - 1)
    add({SPARSEC_STEP_COPY, yielded, 0, 0, 0.0});
  return std::move(steps);
}
