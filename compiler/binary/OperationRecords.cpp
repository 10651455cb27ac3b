// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OperationRecords.h"
#include "ElementwiseRegion.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

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

namespace {
/// Collects the operands of an anchor.
class OperandList {
public:
  explicit OperandList(KernelOp kernel) : firstResult(kernel.getArgumentTypes().size()) {}

  void add(uint32_t slot, Value operand, uint32_t layout = SPARSEC_LAYOUT_NONE,
           uint32_t broadcast = SPARSEC_BROADCAST_NONE) {
    operands.push_back({slot, cast<BlockArgument>(operand).getArgNumber(), layout, broadcast});
  }
  /// Result `number` of the kernel.
  void addResult(uint32_t slot, uint32_t number, uint32_t layout = SPARSEC_LAYOUT_NONE) {
    operands.push_back({slot, firstResult + number, layout, SPARSEC_BROADCAST_NONE});
  }
  std::vector<sparsec_operand_info_t> take() { return std::move(operands); }

private:
  uint32_t firstResult;
  std::vector<sparsec_operand_info_t> operands;
};
} // namespace

static std::vector<sparsec_operand_info_t> describeOperands(KernelOp kernel, SpmmOp spmm) {
  OperandList list(kernel);
  auto yLayout = static_cast<uint32_t>(spmm.getYLayout());
  bool isTransposed = spmm.getMatrix().getType().getTransposed();
  list.add(SPARSEC_SPMM_MATRIX, spmm.getMatrix(), isTransposed ? SPARSEC_LAYOUT_TRANSPOSED : SPARSEC_LAYOUT_ROW_MAJOR);
  if (spmm.getScales())
    list.add(SPARSEC_SPMM_SCALES, spmm.getScales());
  list.add(SPARSEC_SPMM_DENSE, spmm.getDense(), static_cast<uint32_t>(spmm.getXLayout()));
  if (spmm.getXScale())
    list.add(SPARSEC_SPMM_X_SCALE, spmm.getXScale());
  for (auto [index, extra] : llvm::enumerate(spmm.getExtras())) {
    auto broadcast = static_cast<uint32_t>(spmm.getBroadcastOf(index));
    list.add(SPARSEC_SPMM_EXTRA, extra, broadcast == SPARSEC_BROADCAST_FULL ? yLayout : 0, broadcast);
  }
  list.addResult(SPARSEC_SPMM_RESULT, 0, yLayout);
  return list.take();
}

static std::vector<sparsec_operand_info_t> describeOperands(KernelOp kernel, SddmmOp sddmm) {
  OperandList list(kernel);
  list.add(SPARSEC_SDDMM_PATTERN, sddmm.getPattern());
  list.add(SPARSEC_SDDMM_LEFT, sddmm.getLeft(), static_cast<uint32_t>(sddmm.getALayout()));
  list.add(SPARSEC_SDDMM_RIGHT, sddmm.getRight(), static_cast<uint32_t>(sddmm.getBLayout()));
  for (auto [index, extra] : llvm::enumerate(sddmm.getExtras()))
    list.add(SPARSEC_SDDMM_EXTRA, extra, SPARSEC_LAYOUT_NONE, static_cast<uint32_t>(sddmm.getBroadcastOf(index)));
  list.addResult(SPARSEC_SDDMM_RESULT, 0);
  return list.take();
}

static std::vector<sparsec_operand_info_t> describeOperands(KernelOp kernel, SpgemmOp spgemm) {
  OperandList list(kernel);
  // The values of a pattern's blocks have one layout.
  uint32_t layout = spgemm.getPattern() ? uint32_t(SPARSEC_LAYOUT_NONE) : static_cast<uint32_t>(spgemm.getCLayout());
  list.add(SPARSEC_SPGEMM_LEFT, spgemm.getLeft());
  list.add(SPARSEC_SPGEMM_RIGHT, spgemm.getRight());
  if (spgemm.getPattern())
    list.add(SPARSEC_SPGEMM_PATTERN, spgemm.getPattern());
  for (auto [index, extra] : llvm::enumerate(spgemm.getExtras())) {
    auto broadcast = static_cast<uint32_t>(spgemm.getBroadcastOf(index));
    list.add(SPARSEC_SPGEMM_EXTRA, extra, broadcast == SPARSEC_BROADCAST_FULL ? layout : 0, broadcast);
  }
  list.addResult(SPARSEC_SPGEMM_RESULT, 0, layout);
  return list.take();
}

static std::vector<sparsec_operand_info_t> describeOperands(KernelOp kernel, AttentionOp attention) {
  OperandList list(kernel);
  const uint32_t queries = attention.getQueryStarts() ? SPARSEC_LAYOUT_PACKED : SPARSEC_LAYOUT_NONE;
  const uint32_t keys = attention.getPageTable()   ? SPARSEC_LAYOUT_PAGED
                        : attention.getKeyStarts() ? SPARSEC_LAYOUT_PACKED
                                                   : SPARSEC_LAYOUT_NONE;
  list.add(SPARSEC_ATTENTION_QUERY, attention.getQuery(), queries);
  list.add(SPARSEC_ATTENTION_KEY, attention.getKey(), keys);
  list.add(SPARSEC_ATTENTION_VALUE, attention.getValue(), keys);
  if (attention.getPattern())
    list.add(SPARSEC_ATTENTION_PATTERN, attention.getPattern());
  if (attention.getScale())
    list.add(SPARSEC_ATTENTION_SCALE, attention.getScale());
  if (attention.getSinks())
    list.add(SPARSEC_ATTENTION_SINKS, attention.getSinks());
  for (auto [slot, sizes] : {std::pair(SPARSEC_ATTENTION_QUERY_STARTS, attention.getQueryStarts()),
                             std::pair(SPARSEC_ATTENTION_KEY_STARTS, attention.getKeyStarts()),
                             std::pair(SPARSEC_ATTENTION_KEY_LENGTHS, attention.getKeyLengths()),
                             std::pair(SPARSEC_ATTENTION_PAGE_TABLE, attention.getPageTable())})
    if (sizes)
      list.add(slot, sizes);
  for (Value extra : attention.getExtras())
    list.add(SPARSEC_ATTENTION_EXTRA, extra);
  list.addResult(SPARSEC_ATTENTION_RESULT, 0, queries);
  if (attention.getLse())
    list.addResult(SPARSEC_ATTENTION_LSE, 1, queries);
  return list.take();
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
static bool isIdentity(Region &region) {
  return region.empty() || region.front().getTerminator()->getOperand(0) == region.getArgument(0);
}

/// The epilogue of a product, if it is not the identity. Its operands are those in `extraSlot`.
static void addEpilogue(OperationRecord &record, Region &region, uint32_t extraSlot) {
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

static OperationRecord describe(KernelOp kernel, SpmmOp spmm) {
  OperationRecord record;
  record.kind = SPARSEC_OPERATION_SPMM;
  record.operands = describeOperands(kernel, spmm);
  if (spmm.getMatrix().getType().hasF8())
    record.attributes = {{SPARSEC_ATTRIBUTE_ACCUMULATION, 0, int64_t(spmm.getAccumulation())}};
  addEpilogue(record, spmm.getEpilogue(), SPARSEC_SPMM_EXTRA);
  return record;
}

static OperationRecord describe(KernelOp kernel, SddmmOp sddmm) {
  OperationRecord record;
  record.kind = SPARSEC_OPERATION_SDDMM;
  record.operands = describeOperands(kernel, sddmm);
  addEpilogue(record, sddmm.getEpilogue(), SPARSEC_SDDMM_EXTRA);
  return record;
}

static OperationRecord describe(KernelOp kernel, SpgemmOp spgemm) {
  OperationRecord record;
  record.kind = spgemm.getPattern() ? SPARSEC_OPERATION_SAMPLED_SPGEMM : SPARSEC_OPERATION_SPGEMM;
  record.operands = describeOperands(kernel, spgemm);
  addEpilogue(record, spgemm.getEpilogue(), SPARSEC_SPGEMM_EXTRA);
  return record;
}

/// A region of attention: its values come first, then the tensors that it loads from.
static RegionRecord describeRegion(Region &region, sparsec_region_slot_t slot,
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

static OperationRecord describe(KernelOp kernel, AttentionOp attention) {
  OperationRecord record;
  record.kind = SPARSEC_OPERATION_ATTENTION;
  record.operands = describeOperands(kernel, attention);
  record.attributes = {{SPARSEC_ATTRIBUTE_HEAD_DIMENSION, 0, attention.getHeadDimension()},
                       {SPARSEC_ATTRIBUTE_CAUSAL, 0, attention.getCausal()},
                       {SPARSEC_ATTRIBUTE_WINDOW_LEFT, 0, attention.getWindowLeft()},
                       {SPARSEC_ATTRIBUTE_WINDOW_RIGHT, 0, attention.getWindowRight()}};
  if (attention.getValueDimension() != attention.getHeadDimension())
    record.attributes.push_back({SPARSEC_ATTRIBUTE_VALUE_DIMENSION, 0, attention.getValueDimension()});
  if (!isIdentity(attention.getScore()))
    record.regions.push_back(describeRegion(attention.getScore(), SPARSEC_REGION_SCORE, record.operands));
  if (!attention.getMask().empty())
    record.regions.push_back(describeRegion(attention.getMask(), SPARSEC_REGION_MASK, record.operands));
  return record;
}

OperationRecord sparsec::describeOperation(KernelOp kernel) {
  return TypeSwitch<Operation *, OperationRecord>(kernel.getAnchor())
      .Case<SpmmOp, SddmmOp, SpgemmOp, AttentionOp>([&](auto anchor) { return describe(kernel, anchor); });
}
