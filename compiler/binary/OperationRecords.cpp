// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OperationRecords.h"
#include "ElementwiseRegion.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

// The dialect's enums and those of the launch info have the same numbers.
static_assert(uint32_t(Broadcast::per_row) == SPARSEC_BROADCAST_PER_ROW &&
              uint32_t(Broadcast::per_column) == SPARSEC_BROADCAST_PER_COLUMN &&
              uint32_t(Broadcast::scalar) == SPARSEC_BROADCAST_SCALAR &&
              uint32_t(Broadcast::full) == SPARSEC_BROADCAST_FULL);
static_assert(uint32_t(Accumulation::two_level) == SPARSEC_ACCUMULATION_TWO_LEVEL &&
              uint32_t(Accumulation::fast) == SPARSEC_ACCUMULATION_FAST);
static_assert(uint32_t(DenseLayout::kn) == SPARSEC_LAYOUT_ROW_MAJOR &&
              uint32_t(DenseLayout::nk) == SPARSEC_LAYOUT_TRANSPOSED &&
              uint32_t(LeftLayout::mk) == SPARSEC_LAYOUT_ROW_MAJOR &&
              uint32_t(LeftLayout::km) == SPARSEC_LAYOUT_TRANSPOSED &&
              uint32_t(ResultLayout::mn) == SPARSEC_LAYOUT_ROW_MAJOR &&
              uint32_t(ResultLayout::nm) == SPARSEC_LAYOUT_TRANSPOSED);

const sparsec_operand_info_t &RecordView::operandIn(uint32_t slot) const {
  return *llvm::find_if(record.operation.operands, [&](const auto &operand) { return operand.slot == slot; });
}

int64_t RecordView::attribute(sparsec_attribute_key_t key) const {
  const auto &attributes = record.operation.attributes;
  auto found = llvm::find_if(attributes, [&](const auto &attribute) { return attribute.key == uint32_t(key); });
  return found == attributes.end() ? 0 : found->value;
}

sparsec_extent_info_t RecordView::tilesOf(uint32_t slot, uint32_t dimension, uint32_t block, uint32_t tile) const {
  return {operandIn(slot).argument, SPARSEC_FIELD_SIZE, dimension, block, tile, 0};
}

uint32_t sparsec::requiredSections(const StageRecord &stage) {
  constexpr uint32_t optional = 1u << SPARSEC_PLAN_TILE_OFFSETS | 1u << SPARSEC_PLAN_TILES;
  uint32_t sections = 0;
  for (const sparsec_parameter_info_t &parameter : stage.parameters)
    if (parameter.source == SPARSEC_SOURCE_PLAN_SECTION)
      sections |= 1u << parameter.index;
  return sections & ~optional;
}

bool sparsec::hasWindows(const StageRecord &stage) {
  return (requiredSections(stage) & 1u << SPARSEC_PLAN_WINDOW_ROWS) != 0;
}

/// Number of the first extra among the operands.
static uint32_t firstExtra(ArrayRef<sparsec_operand_info_t> operands, uint32_t slot) {
  const auto *found = llvm::find_if(operands, [&](const auto &operand) { return operand.slot == slot; });
  return found - operands.begin();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

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

namespace {

/// A region as a list of steps. Values get numbers: first the arguments of the region, then the steps.
class StepWriter {
public:
  explicit StepWriter(uint32_t firstStep) : firstStep(firstStep) {}

  void number(Value value, uint32_t number) { numbers[value] = number; }
  /// `tensor`, an argument of the region, is operand `operand` of the operation.
  void nameTensor(Value tensor, uint32_t operand) { tensors[tensor] = operand; }
  std::vector<sparsec_step_info_t> write(Region &region);

private:
  uint32_t add(const sparsec_step_info_t &step);
  sparsec_step_info_t describe(Operation &op);
  sparsec_step_info_t describeElement(ElementOp element);

  uint32_t firstStep;
  DenseMap<Value, uint32_t> numbers, tensors;
  std::vector<sparsec_step_info_t> steps;
};

} // namespace

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

/// Whether a region gives back its first value.
bool sparsec::isIdentity(Region &region) {
  return region.empty() || region.front().getTerminator()->getOperand(0) == region.getArgument(0);
}

/// The epilogue of a product, if it is not the identity. Its operands are those in `extraSlot`.
void sparsec::addEpilogue(OperationRecord &record, Region &region, uint32_t extraSlot) {
  if (isIdentity(region))
    return;
  RegionRecord epilogue;
  epilogue.slot = SPARSEC_REGION_EPILOGUE;
  epilogue.inputs.push_back({SPARSEC_INPUT_ACCUMULATOR, 0});
  for (uint32_t index : llvm::seq<uint32_t>(region.getNumArguments() - 1))
    epilogue.inputs.push_back({SPARSEC_INPUT_OPERAND, firstExtra(record.operands, extraSlot) + index});
  StepWriter writer(epilogue.inputs.size());
  for (BlockArgument argument : region.getArguments())
    writer.number(argument, argument.getArgNumber());
  epilogue.steps = writer.write(region);
  record.regions.push_back(std::move(epilogue));
}

/// A region of attention: its values come first, then the tensors that it loads from.
RegionRecord sparsec::describeRegion(Region &region, sparsec_region_slot_t slot,
                                     ArrayRef<sparsec_operand_info_t> operands) {
  static constexpr sparsec_input_info_t values[] = {{SPARSEC_INPUT_SCORE, 0},
                                                    {SPARSEC_INPUT_BATCH, 0},
                                                    {SPARSEC_INPUT_HEAD, 0},
                                                    {SPARSEC_INPUT_QUERY, 0},
                                                    {SPARSEC_INPUT_KEY, 0}};
  ArrayRef inputs = ArrayRef(values).drop_front(slot == SPARSEC_REGION_MASK ? 1 : 0);
  uint32_t extra = firstExtra(operands, SPARSEC_ATTENTION_EXTRA);
  RegionRecord record;
  record.slot = slot;
  record.inputs = inputs;
  StepWriter writer(inputs.size());
  for (BlockArgument argument : region.getArguments()) {
    uint32_t number = argument.getArgNumber();
    if (number < inputs.size())
      writer.number(argument, number);
    else
      writer.nameTensor(argument, extra + number - inputs.size());
  }
  record.steps = writer.write(region);
  return record;
}
