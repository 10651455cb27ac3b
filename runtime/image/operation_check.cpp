// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The inside of a launch info: what a kernel computes.

#include "image/operation_rules.h"
#include "image/record_check.h"
#include "operations/kernel_shape.h"

#include <algorithm>

namespace sparsec::runtime {

namespace {

class OperationChecker {
public:
  OperationChecker(const KernelRecords &records, const OperationRule &rule)
      : records(records), rule(rule), operands(records.operands()) {}

  Status check();

private:
  Status checkOperand(uint32_t number);
  Status checkBroadcast(uint32_t number);
  Status checkCounts();
  Status checkUses();
  Status checkAttentionTypes();
  Status checkSequences();
  Status checkPages();
  Status checkAttributes();
  Status checkRegions();
  Status checkRegion(const sparsec_region_info_t &region, const RegionRule &regionRule);
  Status checkStep(const RegionRule &regionRule, uint32_t number, const sparsec_step_info_t &step, uint32_t values);
  Status checkLoad(const RegionRule &regionRule, uint32_t number, const sparsec_step_info_t &step, uint32_t values);

  uint32_t count(uint32_t slot) {
    uint32_t found = 0;
    for (const sparsec_operand_info_t &operand : operands)
      found += operand.slot == slot;
    return found;
  }
  bool isExtra(uint32_t operand) { return operand < operands.size() && operands[operand].slot == rule.extraSlot; }
  const sparsec_argument_info_t &argumentOf(uint32_t operand) {
    return records.arguments()[operands[operand].argument];
  }

  const KernelRecords &records;
  const OperationRule &rule;
  Records<sparsec_operand_info_t> operands;
};

Status OperationChecker::check() {
  for (uint32_t i = 0; i < operands.size(); ++i)
    SPARSEC_RETURN_IF_ERROR(checkOperand(i));
  SPARSEC_RETURN_IF_ERROR(checkCounts());
  SPARSEC_RETURN_IF_ERROR(checkUses());
  if (rule.kind == SPARSEC_OPERATION_ATTENTION) {
    SPARSEC_RETURN_IF_ERROR(checkAttentionTypes());
    SPARSEC_RETURN_IF_ERROR(checkSequences());
  }
  SPARSEC_RETURN_IF_ERROR(checkAttributes());
  return checkRegions();
}

Status OperationChecker::checkOperand(uint32_t number) {
  const sparsec_operand_info_t &operand = operands[number];
  const SlotRule *slot = findSlot(rule, operand.slot);
  if (!slot)
    return records.unknown(std::string("slot of ") + rule.name, operand.slot);
  if (operand.argument >= records.kernel.argument_count)
    return records.broken(slot->name, " is argument ", operand.argument, " of ", records.kernel.argument_count);
  if (operand.layout > SPARSEC_LAYOUT_PAGED)
    return records.unknown("layout", operand.layout);
  if (operand.broadcast > SPARSEC_BROADCAST_FULL)
    return records.unknown("broadcast", operand.broadcast);
  const sparsec_argument_info_t &argument = argumentOf(number);
  if (!isIn(slot->kinds, argument.kind) || (slot->types != anyType && !isIn(slot->types, argument.dtype)) ||
      (slot->rank != anyRank && slot->rank != argument.rank) || slot->isResult != records.isResult(operand.argument) ||
      (!slot->hasBroadcast && !isIn(slot->layouts, operand.layout)) ||
      (operand.broadcast != SPARSEC_BROADCAST_NONE) != slot->hasBroadcast ||
      (argument.kind == SPARSEC_ARGUMENT_SCALAR && (argument.dtype != SPARSEC_DTYPE_F32 || argument.rank != 0)))
    return records.broken("argument ", operand.argument, " is no ", slot->name, ": it has kind ", argument.kind,
                          ", element type ", argument.dtype, ", rank ", argument.rank, ", layout ", operand.layout,
                          " and broadcast ", operand.broadcast);
  return slot->hasBroadcast ? checkBroadcast(number) : Status();
}

Status OperationChecker::checkBroadcast(uint32_t number) {
  const sparsec_operand_info_t &operand = operands[number];
  const sparsec_argument_info_t &argument = argumentOf(number);
  const SlotRule &result =
      *std::find_if(rule.slots.begin(), rule.slots.end(), [](auto &slot) { return slot.isResult; });
  bool isDense = argument.kind == SPARSEC_ARGUMENT_DENSE, hasLayout = operand.layout != SPARSEC_LAYOUT_NONE;
  bool isGood = false;
  switch (operand.broadcast) {
  case SPARSEC_BROADCAST_PER_ROW:
  case SPARSEC_BROADCAST_PER_COLUMN:
    isGood = isDense && argument.rank == 1 && !hasLayout;
    break;
  case SPARSEC_BROADCAST_SCALAR:
    isGood = argument.rank == 0 && !hasLayout;
    break;
  case SPARSEC_BROADCAST_FULL:
    isGood = isDense && argument.rank == result.rank && isIn(result.layouts, operand.layout);
    break;
  }
  if (isGood)
    return {};
  return records.broken("argument ", operand.argument, " with broadcast ", operand.broadcast, " has kind ",
                        argument.kind, ", rank ", argument.rank, " and layout ", operand.layout);
}

Status OperationChecker::checkCounts() {
  for (const SlotRule &slot : rule.slots)
    if (uint32_t found = count(slot.slot); found < slot.least || found > slot.most)
      return records.broken("expects ", slot.least, " to ", slot.most, " operands in slot '", slot.name, "' of ",
                            rule.name, ", but got ", found);
  return {};
}

/// Every argument is some operand.
Status OperationChecker::checkUses() {
  for (uint32_t argument = 0; argument < records.kernel.argument_count; ++argument) {
    bool isUsed = false;
    for (const sparsec_operand_info_t &operand : operands)
      isUsed |= operand.argument == argument;
    if (!isUsed)
      return records.broken("argument ", argument, " is no operand");
  }
  return {};
}

Status OperationChecker::checkAttentionTypes() {
  uint32_t types[3] = {};
  for (uint32_t i = 0; i < operands.size(); ++i)
    if (operands[i].slot <= SPARSEC_ATTENTION_VALUE)
      types[operands[i].slot - SPARSEC_ATTENTION_QUERY] = argumentOf(i).dtype;
  if (types[1] != types[0] || types[2] != types[0])
    return records.broken("query, key and value have different element types: ", types[0], ", ", types[1], " and ",
                          types[2]);
  return {};
}

/// The layout of a tensor says how sequences share it. The operand that tells where they are in it is there exactly
/// then.
Status OperationChecker::checkSequences() {
  const bool hasQueryStarts = count(SPARSEC_ATTENTION_QUERY_STARTS) != 0,
             hasKeyStarts = count(SPARSEC_ATTENTION_KEY_STARTS) != 0,
             hasPages = count(SPARSEC_ATTENTION_PAGE_TABLE) != 0;
  if (hasPages && (hasKeyStarts || count(SPARSEC_ATTENTION_KEY_LENGTHS) == 0))
    return records.broken("a page table expects key lengths and no key starts");
  for (const sparsec_operand_info_t &operand : operands) {
    uint32_t expected = SPARSEC_LAYOUT_NONE;
    switch (operand.slot) {
    case SPARSEC_ATTENTION_QUERY:
    case SPARSEC_ATTENTION_RESULT:
    case SPARSEC_ATTENTION_LSE:
      expected = hasQueryStarts ? SPARSEC_LAYOUT_PACKED : SPARSEC_LAYOUT_NONE;
      break;
    case SPARSEC_ATTENTION_KEY:
    case SPARSEC_ATTENTION_VALUE:
      expected = hasKeyStarts ? SPARSEC_LAYOUT_PACKED : hasPages ? SPARSEC_LAYOUT_PAGED : SPARSEC_LAYOUT_NONE;
      break;
    }
    if (operand.layout != expected)
      return records.broken("the ", findSlot(rule, operand.slot)->name, " has layout ", operand.layout, ", ", expected,
                            " is expected with ", hasQueryStarts ? "" : "no ", "query starts, ",
                            hasKeyStarts ? "" : "no ", "key starts and ", hasPages ? "a" : "no", " page table");
  }
  return hasPages ? checkPages() : Status();
}

/// Kernels copy whole tiles from a page, or several pages into a tile.
Status OperationChecker::checkPages() {
  constexpr int64_t leastRows = 16, mostRows = 256;
  int64_t rowsOfPage = SPARSEC_DYNAMIC;
  for (uint32_t i = 0; i < operands.size(); ++i) {
    if (operands[i].layout != SPARSEC_LAYOUT_PAGED)
      continue;
    const int64_t rows = argumentOf(i).sizes[2];
    if (rows < leastRows || rows > mostRows || (rows & (rows - 1)) != 0)
      return records.broken("the ", findSlot(rule, operands[i].slot)->name, " has pages of ", rows, " rows, a power ",
                            "of two from ", leastRows, " to ", mostRows, " is expected");
    if (rowsOfPage != SPARSEC_DYNAMIC && rows != rowsOfPage)
      return records.broken("key and value have pages of different sizes: ", rowsOfPage, " and ", rows, " rows");
    rowsOfPage = rows;
  }
  return {};
}

Status OperationChecker::checkAttributes() {
  auto attributes = records.info.attributesOf(records.operation());
  for (const sparsec_attribute_info_t &attribute : attributes) {
    const AttributeRule *known = nullptr;
    for (const AttributeRule &candidate : rule.attributes)
      if (candidate.key == attribute.key)
        known = &candidate;
    if (!known)
      return records.unknown(std::string("attribute of ") + rule.name, attribute.key);
    if (attribute.value < known->least || attribute.value > known->most)
      return records.broken(known->name, " is ", attribute.value, ", ", known->least, " to ", known->most,
                            " is expected");
  }
  for (const AttributeRule &known : rule.attributes) {
    uint32_t found = 0;
    for (const sparsec_attribute_info_t &attribute : attributes)
      found += attribute.key == known.key;
    if (found != 1 && !(known.isOptional && found == 0))
      return records.broken("attribute '", known.name, "' is there ", found, " times");
  }
  return {};
}

Status OperationChecker::checkRegions() {
  auto regions = records.info.regionsOf(records.operation());
  for (uint32_t i = 0; i < regions.size(); ++i) {
    const sparsec_region_info_t &region = regions[i];
    const RegionRule *known = findRegion(rule, region.slot);
    if (!known)
      return records.unknown(std::string("region of ") + rule.name, region.slot);
    for (uint32_t other = 0; other < i; ++other)
      if (regions[other].slot == region.slot)
        return records.broken("region '", known->name, "' is there twice");
    SPARSEC_RETURN_IF_ERROR(checkRegion(region, *known));
  }
  return {};
}

Status OperationChecker::checkRegion(const sparsec_region_info_t &region, const RegionRule &regionRule) {
  const std::string name = regionRule.name;
  SPARSEC_RETURN_IF_ERROR(
      records.checkRange<sparsec_input_info_t>(name + " inputs", region.input_first, region.input_count));
  SPARSEC_RETURN_IF_ERROR(
      records.checkRange<sparsec_step_info_t>(name + " steps", region.step_first, region.step_count));
  if (region.step_count == 0)
    return records.broken("region '", name, "' has no steps");
  for (const sparsec_input_info_t &input : records.info.inputsOf(region)) {
    if (!isIn(regionRule.inputs, input.kind))
      return records.unknown(name + " input", input.kind);
    if (input.kind == SPARSEC_INPUT_OPERAND && !isExtra(input.operand))
      return records.broken(name, " takes operand ", input.operand, " of ", operands.size(),
                            ", which is none for regions");
  }
  uint32_t number = 0;
  for (const sparsec_step_info_t &step : records.info.stepsOf(region)) {
    uint32_t values = region.input_count + number;
    bool isLoad = step.op == SPARSEC_STEP_LOAD && regionRule.hasIntegers;
    SPARSEC_RETURN_IF_ERROR(isLoad ? checkLoad(regionRule, number, step, values)
                                   : checkStep(regionRule, number, step, values));
    ++number;
  }
  return {};
}

/// `values` is how many values are defined before the step.
Status OperationChecker::checkStep(const RegionRule &regionRule, uint32_t number, const sparsec_step_info_t &step,
                                   uint32_t values) {
  uint32_t used = stepOperandCount(step.op);
  if (used == unknownStep || (isIntegerStep(step.op) && !regionRule.hasIntegers))
    return records.unknown(std::string(regionRule.name) + " step", step.op);
  const uint32_t numbers[] = {step.a, step.b, step.c};
  for (uint32_t i = 0; i < used; ++i)
    if (numbers[i] >= values)
      return records.broken(regionRule.name, " step ", number, " uses value ", numbers[i], ", but only ", values,
                            " are defined");
  if (step.op == SPARSEC_STEP_COMPARE && step.c > SPARSEC_COMPARE_TRUE)
    return records.unknown("comparison", step.c);
  if (step.op == SPARSEC_STEP_I32_COMPARE && step.c > maxIntegerCompare)
    return records.unknown("integer comparison", step.c);
  return {};
}

Status OperationChecker::checkLoad(const RegionRule &regionRule, uint32_t number, const sparsec_step_info_t &step,
                                   uint32_t values) {
  if (!isExtra(step.a))
    return records.broken(regionRule.name, " step ", number, " loads from operand ", step.a,
                          ", which is none for regions");
  uint32_t rank = argumentOf(step.a).rank;
  if (rank != 0 && (step.b > values || rank > values - step.b))
    return records.broken(regionRule.name, " step ", number, " uses values ", step.b, " + ", rank, ", but only ",
                          values, " are defined");
  return {};
}

} // namespace

Status checkOperation(const KernelRecords &records) {
  const sparsec_operation_info_t &operation = records.operation();
  const OperationRule *rule = findOperation(operation.kind);
  if (!rule)
    return records.unknown("operation", operation.kind);
  SPARSEC_RETURN_IF_ERROR(
      records.checkRange<sparsec_operand_info_t>("operands", operation.operand_first, operation.operand_count));
  SPARSEC_RETURN_IF_ERROR(
      records.checkRange<sparsec_attribute_info_t>("attributes", operation.attribute_first, operation.attribute_count));
  SPARSEC_RETURN_IF_ERROR(
      records.checkRange<sparsec_region_info_t>("regions", operation.region_first, operation.region_count));
  return OperationChecker(records, *rule).check();
}

} // namespace sparsec::runtime
