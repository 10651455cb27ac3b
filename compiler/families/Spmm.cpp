// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of a block-sparse and a dense matrix: what the compiler knows of sparsec.spmm beside its definition. Its
// programs are in tile/Spmm*.

#include "Family.h"
#include "OperationRecords.h"
#include "ProgramBuilder.h"
#include "Selection.h"
#include "TargetInfo.h"

using namespace mlir;
using namespace sparsec;

namespace {

ProblemDescription describeProblem(SpmmOp spmm) {
  auto matrix = cast<BsrType>(spmm.getMatrix().getType());
  auto dense = cast<RankedTensorType>(spmm.getDense().getType());
  auto result = cast<RankedTensorType>(spmm.getResult().getType());
  bool xTransposed = spmm.getXLayout() == DenseLayout::nk;

  ProblemDescription problem;
  problem.elementType = toElementType(matrix.getElementType());
  problem.outputBytes = bytesOfType(result.getElementType());
  problem.blockRows = matrix.getBlockRows();
  problem.blockColumns = matrix.getBlockColumns();
  problem.wTransposed = matrix.getTransposed();
  problem.xTransposed = xTransposed;
  problem.yTransposed = spmm.getYLayout() == ResultLayout::nm;
  problem.hasEpilogue = spmm.hasEpilogue();
  problem.hasTwoLevels = spmm.hasTwoLevels();
  problem.hasXScale = spmm.getXScale() != Value();
  problem.hasScales = spmm.getScales() || problem.hasXScale;
  setIfStatic(problem.m, matrix.getRows());
  setIfStatic(problem.k, matrix.getColumns());
  setIfStatic(problem.n, dense.getDimSize(xTransposed ? 0 : 1));
  setIfStatic(problem.leastN, dense.getDimSize(xTransposed ? 0 : 1));
  problem.epilogueBytes = epilogueBytesOf(spmm);
  return problem;
}

ProblemDescription describeProblem(SpmmOp spmm, const Expectations &expected) {
  ProblemDescription problem = describeProblem(spmm);
  problem.density = expected.density;
  if (expected.columns > 0)
    problem.n = expected.columns;
  return problem;
}

/// Says why a chip has no schedule for a product: only some chips multiply fp8.
LogicalResult refuse(KernelOp kernel, const ProblemDescription &problem, const Chip &chip) {
  const char *type = nameOf(problem.elementType);
  if (problem.wTransposed)
    return kernel.emitOpError("expects W as M x K for products of ") << type << " on a GPU, but got transposed";
  if (!problem.xTransposed)
    return kernel.emitOpError("expects x_layout(nk), X as N x K, for products of ") << type << " on a GPU, but got kn";
  if (problem.hasScales && problem.blockColumns < depthOf(infoOf(MatrixInstruction::MmaSync), problem.elementType))
    return kernel.emitOpError("expects blocks of at least 32 columns for scales on a GPU, but got ")
           << problem.blockColumns;
  return kernel.emitOpError("expects the host or a chip that multiplies ") << type << ", but got " << chip.name;
}

/// The op has schedules of all kinds.
class ProductSelection : public SelectionFor<ProblemDescription> {
public:
  using SelectionFor::SelectionFor;

private:
  std::vector<Schedule> planned() const override { return plannedSchedules(description, chip); }
  std::vector<Schedule> narrow() const override { return narrowSchedules(description, chip); }
  std::vector<Schedule> splitBeside(const Schedule &planned) const override {
    return splitSchedules(planned, description, chip);
  }
  std::optional<PackedBlock> packed() const override { return packedBlock(description); }
  std::vector<Schedule> packedWith(PackedBlock block) const override {
    return packedSchedules(withPackedBlocks(description, block), chip);
  }
  Fit checkPacked(const Schedule &schedule, PackedBlock block) const override {
    return checkFit(schedule, withPackedBlocks(description, block), chip, Origin::HandWritten);
  }
};

class SpmmFamily : public Family {
public:
  FailureOr<std::unique_ptr<Selection>> select(KernelOp kernel, const Expectations &expected,
                                               const Chip &chip) const override {
    const ProblemDescription problem = describeProblem(opOf(kernel), expected);
    if (candidateSchedules(problem, chip, /*alignment=*/16).empty())
      return refuse(kernel, problem, chip);
    return std::unique_ptr<Selection>(std::make_unique<ProductSelection>(kernel, problem, chip));
  }
  /// A block row by some columns. A step is a block, or a part of it with as many columns as one scale of X is for.
  /// Larger steps would take too much of the stack, where their operands are.
  HostTile hostTile(KernelOp kernel) const override {
    BsrType matrix = opOf(kernel).getMatrix().getType();
    return {matrix.getBlockRows(), columnsOfHostTile,
            std::min<int64_t>(matrix.getBlockColumns(), SPARSEC_X_SCALE_DEPTH)};
  }
  std::unique_ptr<ProgramBuilder> makeBuilder(KernelOp kernel, ScheduleAttr schedule) const override;
  /// Measured on an H200, in bf16 and fp8 (bench/notes/small-widths-rows.md).
  uint32_t leastNarrowBlocks() const override { return 17000; }
  bool hasRowsOfResultColumns(KernelOp kernel) const override { return opOf(kernel).getXLayout() == DenseLayout::kn; }
  bool mayCutTiles(KernelOp kernel) const override;
  TypedValue<BsrType> packedMatrix(KernelOp kernel) const override { return opOf(kernel).getMatrix(); }
  OperationRecord describe(KernelOp kernel) const override;
  void setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr schedule) const override;
  bool readsSingleElements(uint32_t slot) const override {
    return slot == SPARSEC_SPMM_SCALES || slot == SPARSEC_SPMM_X_SCALE;
  }
  /// Tensor stores move whole units, tensor loads do not. The copies of X without a tensor map do.
  bool movesWholeUnits(uint32_t /*kind*/, uint32_t slot, bool hasTensorMap) const override {
    return (slot == SPARSEC_SPMM_RESULT && hasTensorMap) || (slot == SPARSEC_SPMM_DENSE && !hasTensorMap);
  }
  /// K is the width of X as N x K.
  uint32_t widthOfWholeBlocks(const RecordView &kernel, const sparsec_operand_info_t &operand) const override {
    if (operand.slot != SPARSEC_SPMM_DENSE || operand.layout != SPARSEC_LAYOUT_TRANSPOSED)
      return 1;
    const sparsec_argument_info_t &matrix = kernel.argumentIn(SPARSEC_SPMM_MATRIX);
    return matrix.block_columns * uint32_t(dtypeBytes(matrix.dtype));
  }
  std::vector<sparsec_plan_cost_info_t> planCosts(const RecordView &kernel, const PlanCosts &costs,
                                                  const VariantShape &variant) const override;

private:
  static SpmmOp opOf(KernelOp kernel) { return cast<SpmmOp>(kernel.getAnchor()); }
};

std::unique_ptr<ProgramBuilder> SpmmFamily::makeBuilder(KernelOp kernel, ScheduleAttr schedule) const {
  switch (schedule.getWalk()) {
  case Walk::blocks:
    return makeSpmmBuilder(kernel, opOf(kernel), schedule);
  case Walk::windows:
    return makeWindowBuilder(kernel, opOf(kernel), schedule);
  case Walk::streams:
    return makeStreamBuilder(kernel, opOf(kernel), schedule);
  case Walk::joint:
    break; // the verifier refuses it
  }
  llvm_unreachable("all walks are covered");
}

/// Large blocks whose tiles take long: those of small ones are walked by windows, and are level as they are
/// (bench/notes/level-tiles.md).
bool SpmmFamily::mayCutTiles(KernelOp kernel) const {
  constexpr int64_t leastSide = 128, leastColumns = 256;
  SpmmOp spmm = opOf(kernel);
  BsrType matrix = spmm.getMatrix().getType();
  ScheduleAttr schedule = kernel.getScheduleAttr();
  const bool isWide = matrix.getBlockRows() >= leastSide && matrix.getBlockColumns() >= leastSide &&
                      schedule.getTileN() >= leastColumns;
  return schedule.getInstruction() == Instruction::wgmma && schedule.getCopy() == Copy::tma &&
         int64_t(schedule.getSlices()) == 1 && isWide && !matrix.getTransposed() && !matrix.hasF8();
}

OperationRecord SpmmFamily::describe(KernelOp kernel) const {
  SpmmOp spmm = opOf(kernel);
  OperandList list(kernel);
  auto yLayout = static_cast<uint32_t>(spmm.getYLayout());
  bool isTransposed = spmm.getMatrix().getType().getTransposed();
  list.add(SPARSEC_SPMM_MATRIX, spmm.getMatrix(), isTransposed ? SPARSEC_LAYOUT_TRANSPOSED : SPARSEC_LAYOUT_ROW_MAJOR);
  if (spmm.getScales())
    list.add(SPARSEC_SPMM_SCALES, spmm.getScales());
  list.add(SPARSEC_SPMM_DENSE, spmm.getDense(), static_cast<uint32_t>(spmm.getXLayout()));
  if (spmm.getXScale())
    list.add(SPARSEC_SPMM_X_SCALE, spmm.getXScale());
  list.addExtras(SPARSEC_SPMM_EXTRA, spmm, yLayout);
  list.addResult(SPARSEC_SPMM_RESULT, 0, yLayout);
  OperationRecord record;
  record.kind = SPARSEC_OPERATION_SPMM;
  record.operands = list.take();
  if (spmm.getMatrix().getType().hasF8())
    record.attributes = {{SPARSEC_ATTRIBUTE_ACCUMULATION, 0, int64_t(spmm.getAccumulation())}};
  addEpilogue(record, spmm.getEpilogue(), SPARSEC_SPMM_EXTRA);
  return record;
}

void SpmmFamily::setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr schedule) const {
  uint32_t width = kernel.operandIn(SPARSEC_SPMM_DENSE).layout == SPARSEC_LAYOUT_TRANSPOSED ? 0 : 1;
  const bool hasStreams = stage.info.consumer_rows != 0; // the CTAs of a cluster then share a panel
  uint32_t panel = (hasStreams ? 1 : stage.info.cluster) * stage.info.tile_n;
  const sparsec_argument_info_t &stored = kernel.argumentIn(SPARSEC_SPMM_MATRIX);
  bool isTransposed = kernel.operandIn(SPARSEC_SPMM_MATRIX).layout == SPARSEC_LAYOUT_TRANSPOSED;
  uint32_t blockRows = isTransposed ? stored.block_columns : stored.block_rows;
  if (hasStreams)
    stage.info.chunk_products =
        streamShape(toSchedule(schedule), isTransposed ? stored.block_rows : stored.block_columns).chunkProducts;
  uint32_t rowsOfUnit = hasWindows(stage) ? stage.info.tile_m : blockRows;
  stage.rows = {kernel.tilesOf(SPARSEC_SPMM_MATRIX, isTransposed ? 1 : 0, rowsOfUnit, stage.info.tile_m)};
  stage.panels = {kernel.tilesOf(SPARSEC_SPMM_DENSE, width, panel, panel)};
}

/// Packed values and transposed matrices were not measured.
int64_t denseDensity(const RecordView &kernel, const VariantShape &variant) {
  const sparsec_argument_info_t &stored = kernel.argumentIn(SPARSEC_SPMM_MATRIX);
  bool isTransposed = kernel.operandIn(SPARSEC_SPMM_MATRIX).layout == SPARSEC_LAYOUT_TRANSPOSED;
  bool isMeasured = stored.dtype == SPARSEC_DTYPE_BF16 && stored.block_rows == stored.block_columns && !isTransposed &&
                    variant.stored.rows == 0 && variant.chip;
  return isMeasured ? variant.chip->denseDensities.of(stored.block_rows) : 0;
}

bool hasTwoLevels(const RecordView &kernel) {
  return kernel.attribute(SPARSEC_ATTRIBUTE_ACCUMULATION) == SPARSEC_ACCUMULATION_TWO_LEVEL;
}

/// Stored blocks of 16 bits that have a side of 64 take windows or long streams.
uint32_t packedFill(const RecordView &kernel, const PlanCosts &costs, BlockSides stored) {
  constexpr uint32_t smallSide = 32;
  const uint32_t side = std::min(stored.rows, stored.columns);
  if (dtypeBytes(kernel.argumentIn(SPARSEC_SPMM_MATRIX).dtype) == 1)
    return uint32_t((hasTwoLevels(kernel) ? costs.packedFillsOfF8 : costs.packedFillsOfFastF8).of(side));
  if (side < smallSide)
    return uint32_t(costs.packedFillOfSmallest);
  if (stored.rows == stored.columns)
    return uint32_t(costs.packedFill);
  return uint32_t(stored.rows > stored.columns ? costs.packedFillOfTall : costs.packedFillOfLong);
}

std::vector<sparsec_plan_cost_info_t> SpmmFamily::planCosts(const RecordView &kernel, const PlanCosts &costs,
                                                            const VariantShape &variant) const {
  std::vector<sparsec_plan_cost_info_t> keys = {{SPARSEC_PLAN_COST_TILE_OVERHEAD, uint32_t(costs.spmmTileOverhead)},
                                                {SPARSEC_PLAN_COST_GROUPED_DENSITY, uint32_t(costs.groupedDensity)}};
  if (variant.hasWindows) {
    bool hasStreams = variant.schedule && variant.schedule.getWalk() == Walk::streams;
    int64_t column = hasStreams ? costs.streamColumn : costs.windowColumn;
    const int64_t depth = variant.schedule ? variant.schedule.getTileK() : 0;
    const bool isShort = hasShortProducts(depth * dtypeBytes(kernel.argumentIn(SPARSEC_SPMM_MATRIX).dtype));
    int64_t windowDensity = isShort ? costs.windowDensityOfShortProducts : costs.windowDensity;
    int64_t density = hasStreams ? costs.streamDensity : windowDensity;
    keys.push_back({SPARSEC_PLAN_COST_COLUMN, uint32_t(column)});
    keys.push_back({SPARSEC_PLAN_COST_WINDOW_DENSITY, uint32_t(density)});
    if (!hasStreams && hasTwoLevels(kernel))
      keys.push_back({SPARSEC_PLAN_COST_WINDOW_SHARING, uint32_t(costs.windowSharingOfTwoLevels)});
  }
  if (variant.stored.rows != 0)
    keys.push_back({SPARSEC_PLAN_COST_PACKED_FILL, packedFill(kernel, costs, variant.stored)});
  if (costs.panelCache != 0)
    keys.push_back({SPARSEC_PLAN_COST_PANEL_CACHE, uint32_t(costs.panelCache)});
  if (int64_t density = denseDensity(kernel, variant))
    keys.push_back({SPARSEC_PLAN_COST_DENSE_DENSITY, uint32_t(density)});
  return keys;
}

} // namespace

const Family &sparsec::spmmFamily() {
  static const SpmmFamily family;
  return family;
}
