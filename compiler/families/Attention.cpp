// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Block-sparse attention: what the compiler knows of sparsec.attention beside its definition. Its programs are in
// tile/Attention*.

#include "Family.h"
#include "OperationRecords.h"
#include "ProgramBuilder.h"
#include "ScoreForm.h"
#include "Selection.h"
#include "TargetInfo.h"

using namespace mlir;
using namespace sparsec;

namespace {

AttentionDescription describeProblem(AttentionOp attention) {
  AttentionDescription problem;
  problem.elementType = toElementType(attention.getQuery().getType().getElementType());
  problem.headDimension = attention.getHeadDimension();
  problem.valueDimension = attention.getValueDimension();
  if (Value pattern = attention.getPattern()) {
    auto type = cast<PatternType>(pattern.getType());
    problem.queryBlock = type.getQueryBlock();
    problem.keyBlock = type.getKeyBlock();
  }
  problem.hasPackedQueries = bool(attention.getQueryStarts());
  ScoreForm form(attention.getScore(), attention.getQuery().getType().getElementType());
  problem.hasFixedShift = form.hasFixedShift();
  bool isDemandingCap = form.isCapped() && (attention.getScale() || !form.hasFixedShift());
  problem.regionsNeedRegisters = attention.hasMask() || loadsByPosition(attention.getScore()) || isDemandingCap;
  return problem;
}

/// Plans know the lists of a pattern, but not those that lengths of sequences leave.
class AttentionSelection : public SelectionFor<AttentionDescription> {
public:
  AttentionSelection(KernelOp kernel, AttentionOp attention, const Chip &chip)
      : SelectionFor(kernel, describeProblem(attention), chip),
        hasPlannedLists(attention.getPattern() && !attention.hasSequences()) {}

private:
  std::vector<Schedule> planned() const override {
    return hasPlannedLists ? jointSchedules(description, chip) : std::vector<Schedule>();
  }

  bool hasPlannedLists;
};

class AttentionFamily : public Family {
public:
  FailureOr<std::unique_ptr<Selection>> select(KernelOp kernel, const Expectations & /*expected*/,
                                               const Chip &chip) const override {
    return std::unique_ptr<Selection>(std::make_unique<AttentionSelection>(kernel, opOf(kernel), chip));
  }
  /// A block of queries. A step has some keys.
  HostTile hostTile(KernelOp kernel) const override {
    Value pattern = opOf(kernel).getPattern();
    int64_t queries = pattern ? cast<PatternType>(pattern.getType()).getQueryBlock() : columnsOfHostTile;
    return {queries, columnsOfHostTile, opOf(kernel).getHeadDimension()};
  }
  std::unique_ptr<ProgramBuilder> makeBuilder(KernelOp kernel, ScheduleAttr schedule) const override {
    return makeAttentionBuilder(kernel, opOf(kernel), schedule);
  }
  bool hasParts() const override { return true; }
  bool mayCutTiles(KernelOp kernel) const override;
  OperationRecord describe(KernelOp kernel) const override;
  void setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr schedule) const override;
  /// Rows are whole units by their static size.
  bool readsSingleElements(uint32_t slot) const override {
    constexpr uint32_t rows[] = {SPARSEC_ATTENTION_QUERY, SPARSEC_ATTENTION_KEY, SPARSEC_ATTENTION_VALUE,
                                 SPARSEC_ATTENTION_RESULT};
    return !llvm::is_contained(rows, slot);
  }
  std::vector<sparsec_plan_cost_info_t> planCosts(const RecordView &kernel, const PlanCosts &costs,
                                                  const VariantShape &variant) const override {
    const auto overhead = uint32_t(costs.attentionTileOverhead);
    if (!variant.schedule || variant.schedule.getWalk() != Walk::joint)
      return {{SPARSEC_PLAN_COST_TILE_OVERHEAD, overhead}};
    // Their steps take twice as many keys, and a tile takes the same time beside them.
    std::vector<sparsec_plan_cost_info_t> all = {{SPARSEC_PLAN_COST_TILE_OVERHEAD, overhead / 2},
                                                 {SPARSEC_PLAN_COST_JOINT_ROWS, uint32_t(costs.jointRows)}};
    if (int64_t(variant.schedule.getTileN()) == 2 * kernel.argumentIn(SPARSEC_ATTENTION_PATTERN).block_columns) {
      all.push_back({SPARSEC_PLAN_COST_DIVIDED_STEP, uint32_t(costs.dividedStep)});
      all.push_back({SPARSEC_PLAN_COST_DIVISION, uint32_t(costs.division)});
    }
    return all;
  }

private:
  static AttentionOp opOf(KernelOp kernel) { return cast<AttentionOp>(kernel.getAnchor()); }
  static std::vector<sparsec_operand_info_t> operandsOf(KernelOp kernel);
};

/// Where a tile sees all blocks of its lists, or all keys: a worker knows then where its part of a tile ends. Regions
/// have no program for it: they take long to compile, and the tiles of partial blocks are many.
bool AttentionFamily::mayCutTiles(KernelOp kernel) const {
  AttentionOp attention = opOf(kernel);
  ScheduleAttr schedule = kernel.getScheduleAttr();
  const bool seesAll = !attention.getCausal() && !attention.getWindowAttr() && !attention.hasSequences();
  return schedule.getInstruction() == Instruction::wgmma && schedule.getCopy() == Copy::tma && seesAll &&
         !attention.hasMask() && isIdentity(attention.getScore());
}

std::vector<sparsec_operand_info_t> AttentionFamily::operandsOf(KernelOp kernel) {
  AttentionOp attention = opOf(kernel);
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

OperationRecord AttentionFamily::describe(KernelOp kernel) const {
  AttentionOp attention = opOf(kernel);
  OperationRecord record;
  record.kind = SPARSEC_OPERATION_ATTENTION;
  record.operands = operandsOf(kernel);
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

void AttentionFamily::setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr /*schedule*/) const {
  stage.rows = {kernel.tilesOf(SPARSEC_ATTENTION_QUERY, 0, 1, 1), kernel.tilesOf(SPARSEC_ATTENTION_QUERY, 1, 1, 1)};
  stage.panels = {kernel.tilesOf(SPARSEC_ATTENTION_QUERY, 2, stage.info.tile_m, stage.info.tile_m)};
  // Every sequence of packed queries may have a panel that is not full.
  if (kernel.operandIn(SPARSEC_ATTENTION_QUERY).layout == SPARSEC_LAYOUT_PACKED) {
    stage.panels.push_back(kernel.tilesOf(SPARSEC_ATTENTION_QUERY_STARTS, 0, 1, 1));
    stage.panels.back().combination = SPARSEC_EXTENT_SUMMAND;
  }
}

} // namespace

const Family &sparsec::attentionFamily() {
  static const AttentionFamily family;
  return family;
}
