// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "image/operation_rules.h"
#include "image/launch_info_reader.h"

namespace sparsec::runtime {

namespace {

constexpr uint32_t bsr = setOf(SPARSEC_ARGUMENT_BSR), dense = setOf(SPARSEC_ARGUMENT_DENSE),
                   scalar = setOf(SPARSEC_ARGUMENT_SCALAR), pattern = setOf(SPARSEC_ARGUMENT_PATTERN);
constexpr uint32_t f32 = setOf(SPARSEC_DTYPE_F32);
constexpr uint32_t floats =
    setOf(SPARSEC_DTYPE_F32, SPARSEC_DTYPE_F16, SPARSEC_DTYPE_BF16, SPARSEC_DTYPE_F8E4M3FN, SPARSEC_DTYPE_F8E5M2);
constexpr uint32_t many = SPARSEC_MAX_PARAMETERS;
constexpr uint32_t noLayout = setOf(SPARSEC_LAYOUT_NONE),
                   matrixOrders = setOf(SPARSEC_LAYOUT_ROW_MAJOR, SPARSEC_LAYOUT_TRANSPOSED);

constexpr SlotRule spmmSlots[] = {
    {SPARSEC_SPMM_MATRIX, "block-sparse operand", 1, 1, bsr, floats, 2, false, matrixOrders, false},
    {SPARSEC_SPMM_DENSE, "dense operand", 1, 1, dense, floats, 2, false, matrixOrders, false},
    {SPARSEC_SPMM_RESULT, "result", 1, 1, dense, floats, 2, true, matrixOrders, false},
    {SPARSEC_SPMM_SCALES, "block scales", 0, 1, dense, f32, 1, false, noLayout, false},
    {SPARSEC_SPMM_X_SCALE, "scales of X", 0, 1, dense, f32, 2, false, noLayout, false},
    {SPARSEC_SPMM_EXTRA, "epilogue operand", 0, many, dense | scalar, floats, anyRank, false, noLayout, true},
};
constexpr AttributeRule spmmAttributes[] = {
    {SPARSEC_ATTRIBUTE_ACCUMULATION, "accumulation", SPARSEC_ACCUMULATION_TWO_LEVEL, SPARSEC_ACCUMULATION_FAST, true},
};
constexpr RegionRule epilogueRegions[] = {
    {SPARSEC_REGION_EPILOGUE, "epilogue", setOf(SPARSEC_INPUT_ACCUMULATOR, SPARSEC_INPUT_OPERAND), false},
};

constexpr SlotRule sddmmSlots[] = {
    {SPARSEC_SDDMM_PATTERN, "pattern", 1, 1, bsr, floats, 2, false, noLayout, false},
    {SPARSEC_SDDMM_LEFT, "left operand", 1, 1, dense, floats, 2, false, matrixOrders, false},
    {SPARSEC_SDDMM_RIGHT, "right operand", 1, 1, dense, floats, 2, false, matrixOrders, false},
    {SPARSEC_SDDMM_RESULT, "result", 1, 1, dense, floats, 3, true, noLayout, false},
    {SPARSEC_SDDMM_EXTRA, "epilogue operand", 0, many, dense | scalar, floats, anyRank, false, noLayout, true},
};

constexpr SlotRule spgemmSlots[] = {
    {SPARSEC_SPGEMM_LEFT, "left operand", 1, 1, bsr, floats, 2, false, noLayout, false},
    {SPARSEC_SPGEMM_RIGHT, "right operand", 1, 1, bsr, floats, 2, false, noLayout, false},
    {SPARSEC_SPGEMM_RESULT, "result", 1, 1, dense, floats, 2, true, matrixOrders, false},
    {SPARSEC_SPGEMM_EXTRA, "epilogue operand", 0, many, dense | scalar, floats, anyRank, false, noLayout, true},
};
constexpr SlotRule sampledSpgemmSlots[] = {
    {SPARSEC_SPGEMM_LEFT, "left operand", 1, 1, bsr, floats, 2, false, noLayout, false},
    {SPARSEC_SPGEMM_RIGHT, "right operand", 1, 1, bsr, floats, 2, false, noLayout, false},
    {SPARSEC_SPGEMM_PATTERN, "pattern", 1, 1, bsr, floats, 2, false, noLayout, false},
    {SPARSEC_SPGEMM_RESULT, "result", 1, 1, dense, floats, 3, true, noLayout, false},
    {SPARSEC_SPGEMM_EXTRA, "epilogue operand", 0, many, dense | scalar, floats, anyRank, false, noLayout, true},
};

// Plans compare costs in 16 bits.
constexpr PlanCostRule tileOverhead = {SPARSEC_PLAN_COST_TILE_OVERHEAD, "tile overhead in steps", 0, UINT16_MAX,
                                       PlanCostUse::all};
constexpr PlanCostRule spmmPlanCosts[] = {
    tileOverhead,
    {SPARSEC_PLAN_COST_GROUPED_DENSITY, "grouped density in percent", 0, 101, PlanCostUse::all},
    {SPARSEC_PLAN_COST_COLUMN, "column cost in percent", 0, UINT16_MAX, PlanCostUse::windowsOrStreams},
    {SPARSEC_PLAN_COST_WINDOW_DENSITY, "window density in percent", 0, 101, PlanCostUse::windowsOrStreams},
    {SPARSEC_PLAN_COST_PACKED_FILL, "packed fill in percent", 0, 101, PlanCostUse::packedValues},
    {SPARSEC_PLAN_COST_WINDOW_SHARING, "window sharing in percent", 0, UINT16_MAX, PlanCostUse::none},
    {SPARSEC_PLAN_COST_DENSE_DENSITY, "dense density in percent", 1, 100, PlanCostUse::none},
    {SPARSEC_PLAN_COST_PANEL_CACHE, "cache for panels in percent", 1, 100, PlanCostUse::none},
};

constexpr uint32_t integers = setOf(SPARSEC_DTYPE_I64, SPARSEC_DTYPE_I32, SPARSEC_DTYPE_I8);
constexpr uint32_t i32 = setOf(SPARSEC_DTYPE_I32);
constexpr uint32_t rowLayouts = setOf(SPARSEC_LAYOUT_NONE, SPARSEC_LAYOUT_PACKED),
                   keyLayouts = rowLayouts | setOf(SPARSEC_LAYOUT_PAGED);
constexpr SlotRule attentionSlots[] = {
    {SPARSEC_ATTENTION_QUERY, "query", 1, 1, dense, floats, 4, false, rowLayouts, false},
    {SPARSEC_ATTENTION_KEY, "key", 1, 1, dense, floats, 4, false, keyLayouts, false},
    {SPARSEC_ATTENTION_VALUE, "value", 1, 1, dense, floats, 4, false, keyLayouts, false},
    {SPARSEC_ATTENTION_RESULT, "result", 1, 1, dense, floats, 4, true, rowLayouts, false},
    {SPARSEC_ATTENTION_LSE, "log-sum-exp", 0, 1, dense, f32, 3, true, rowLayouts, false},
    {SPARSEC_ATTENTION_PATTERN, "block pattern", 0, 1, pattern, anyType, 0, false, noLayout, false},
    {SPARSEC_ATTENTION_SCALE, "scale", 0, 1, scalar, f32, 0, false, noLayout, false},
    {SPARSEC_ATTENTION_SINKS, "sinks", 0, 1, dense, f32, 1, false, noLayout, false},
    {SPARSEC_ATTENTION_QUERY_STARTS, "query starts", 0, 1, dense, i32, 1, false, noLayout, false},
    {SPARSEC_ATTENTION_KEY_STARTS, "key starts", 0, 1, dense, i32, 1, false, noLayout, false},
    {SPARSEC_ATTENTION_KEY_LENGTHS, "key lengths", 0, 1, dense, i32, 1, false, noLayout, false},
    {SPARSEC_ATTENTION_PAGE_TABLE, "page table", 0, 1, dense, i32, 2, false, noLayout, false},
    {SPARSEC_ATTENTION_EXTRA, "region operand", 0, many, dense | scalar, floats | integers, anyRank, false, noLayout,
     false},
};
constexpr AttributeRule attentionAttributes[] = {
    {SPARSEC_ATTRIBUTE_HEAD_DIMENSION, "head dimension", 1, maxTile, false},
    {SPARSEC_ATTRIBUTE_CAUSAL, "causal", 0, 1, false},
    {SPARSEC_ATTRIBUTE_WINDOW_LEFT, "window to the left", -1, INT32_MAX, false},
    {SPARSEC_ATTRIBUTE_WINDOW_RIGHT, "window to the right", -1, INT32_MAX, false},
    {SPARSEC_ATTRIBUTE_VALUE_DIMENSION, "dimension of values", 1, maxTile, true},
};
constexpr uint32_t positions = setOf(SPARSEC_INPUT_BATCH, SPARSEC_INPUT_HEAD, SPARSEC_INPUT_QUERY, SPARSEC_INPUT_KEY);
constexpr RegionRule attentionRegions[] = {
    {SPARSEC_REGION_SCORE, "score", positions | setOf(SPARSEC_INPUT_SCORE), true},
    {SPARSEC_REGION_MASK, "mask", positions, true},
};

/// The cost of a list of 2^24 blocks is then below 2^32.
constexpr uint32_t mostTimeOfJointLists = 250;
constexpr PlanCostRule attentionPlanCosts[] = {
    tileOverhead,
    {SPARSEC_PLAN_COST_JOINT_ROWS, "time of joint rows in percent", 1, mostTimeOfJointLists, PlanCostUse::jointLists},
    {SPARSEC_PLAN_COST_DIVIDED_STEP, "time of a divided step in percent", 1, mostTimeOfJointLists, PlanCostUse::none},
    {SPARSEC_PLAN_COST_DIVISION, "time of a division in percent", 0, UINT16_MAX, PlanCostUse::none}};

constexpr uint32_t wideFloats = setOf(SPARSEC_DTYPE_F32, SPARSEC_DTYPE_F16, SPARSEC_DTYPE_BF16);
constexpr SlotRule mergeSlots[] = {
    {SPARSEC_MERGE_FIRST, "first part", 1, 1, dense, wideFloats, 4, false, noLayout, false},
    {SPARSEC_MERGE_FIRST_LSE, "log-sum-exp of the first part", 1, 1, dense, f32, 3, false, noLayout, false},
    {SPARSEC_MERGE_SECOND, "second part", 1, 1, dense, wideFloats, 4, false, noLayout, false},
    {SPARSEC_MERGE_SECOND_LSE, "log-sum-exp of the second part", 1, 1, dense, f32, 3, false, noLayout, false},
    {SPARSEC_MERGE_RESULT, "result", 1, 1, dense, wideFloats, 4, true, noLayout, false},
    {SPARSEC_MERGE_LSE, "log-sum-exp", 1, 1, dense, f32, 3, true, noLayout, false},
};

constexpr OperationRule operations[] = {
    {SPARSEC_OPERATION_SPMM, "spmm", SPARSEC_SPMM_EXTRA, spmmSlots, spmmAttributes, epilogueRegions, spmmPlanCosts},
    {SPARSEC_OPERATION_SDDMM, "sddmm", SPARSEC_SDDMM_EXTRA, sddmmSlots, {}, epilogueRegions, {}},
    {SPARSEC_OPERATION_SPGEMM, "spgemm", SPARSEC_SPGEMM_EXTRA, spgemmSlots, {}, epilogueRegions, {}, true},
    {SPARSEC_OPERATION_SAMPLED_SPGEMM,
     "sampled spgemm",
     SPARSEC_SPGEMM_EXTRA,
     sampledSpgemmSlots,
     {},
     epilogueRegions,
     {},
     true},
    {SPARSEC_OPERATION_ATTENTION, "attention", SPARSEC_ATTENTION_EXTRA, attentionSlots, attentionAttributes,
     attentionRegions, attentionPlanCosts},
    {SPARSEC_OPERATION_MERGE, "merge", noSlot, mergeSlots, {}, {}, {}},
};

} // namespace

const OperationRule *findOperation(uint32_t kind) {
  for (const OperationRule &operation : operations)
    if (operation.kind == kind)
      return &operation;
  return nullptr;
}

const SlotRule *findSlot(const OperationRule &operation, uint32_t slot) {
  for (const SlotRule &rule : operation.slots)
    if (rule.slot == slot)
      return &rule;
  return nullptr;
}

const RegionRule *findRegion(const OperationRule &operation, uint32_t slot) {
  for (const RegionRule &rule : operation.regions)
    if (rule.slot == slot)
      return &rule;
  return nullptr;
}

const PlanCostRule *findPlanCost(const OperationRule &operation, uint32_t key) {
  for (const PlanCostRule &rule : operation.planCosts)
    if (rule.key == key)
      return &rule;
  return nullptr;
}

} // namespace sparsec::runtime
