// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Partial results of attention that become one: what the compiler knows of sparsec.merge beside its definition. There
// is no block-sparse matrix and no product: memory bounds it, and all rows cost the same.

#include "Family.h"
#include "OperationRecords.h"
#include "ProgramBuilder.h"
#include "RoleBuilding.h"
#include "Selection.h"
#include "TargetInfo.h"

#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t bytesOfVector = 16, lanesOfWarp = 32;
/// Elements of a vector of the host: two registers of eight f32.
constexpr int64_t elementsOnHost = 16, rowsOnHost = 64;

/// The choice of a schedule depends on these.
struct MergeDescription {
  /// The size of the smallest element among O1, O2 and O.
  int64_t elementBytes;
  /// D; a typical one where the kernel leaves D open.
  int64_t columns;
  /// Whether rows of D elements can be whole multiples of 16 bytes in every tensor.
  bool mayBeWhole;
};

MergeDescription descriptionOf(MergeOp merge) {
  MergeDescription description = {/*elementBytes=*/4, /*columns=*/128, /*mayBeWhole=*/true};
  const RankedTensorType types[] = {merge.getFirst().getType(), merge.getSecond().getType(),
                                    merge.getResult().getType()};
  for (RankedTensorType type : types) {
    description.elementBytes = std::min(description.elementBytes, bytesOfType(type.getElementType()));
    setIfStatic(description.columns, type.getDimSize(3));
  }
  // The smallest element has the shortest rows.
  for (RankedTensorType type : types)
    description.mayBeWhole &=
        ShapedType::isDynamic(type.getDimSize(3)) || type.getDimSize(3) * description.elementBytes % bytesOfVector == 0;
  return description;
}

/// The elements that a thread moves at a time: 16 bytes of the smallest ones, and more of others.
int64_t vectorOf(const MergeDescription &description, CopyMethod copy) {
  return copy == CopyMethod::Vector ? bytesOfVector / description.elementBytes : 1;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// A pass over a row takes 128 bytes, a line of the cache, or a warp of single elements. A thread has two vectors of
/// each part on their way, of one row or of two: with eight CTAs on an SM these are 64 KiB, which at 25 bytes in a
/// clock covers a latency of 2600 clocks. CTAs are small, so that few rows have as many SMs as they can fill.
Schedule scheduleFor(const MergeDescription &description, int64_t alignment) {
  constexpr int64_t warps = 4, mostLanes = 8;
  Schedule schedule;
  schedule.instruction = MatrixInstruction::None;
  const bool isAligned = description.mayBeWhole && alignment >= bytesOfVector;
  schedule.copy = isAligned ? CopyMethod::Vector : CopyMethod::Scalar;
  const int64_t vector = vectorOf(description, schedule.copy);
  const int64_t vectors = llvm::divideCeil(description.columns, vector);
  const int64_t lanes = std::min<int64_t>(llvm::PowerOf2Ceil(vectors), isAligned ? mostLanes : lanesOfWarp);
  const int64_t rowsOfThread = vectors > lanes ? 1 : 2;
  schedule.consumersM = warps;
  schedule.tileM = rowsOfThread * warps * lanesOfWarp / lanes;
  schedule.tileN = vector * lanes;
  schedule.tileK = schedule.stages = schedule.groupM = 1;
  schedule.ctasPerSm = 8;
  return schedule;
}

class MergeSelection : public Selection {
public:
  MergeSelection(KernelOp kernel, const MergeDescription &description, const Chip &chip)
      : Selection(kernel, description.elementBytes), description(description), chip(chip) {}

  std::string problem() const override {
    return fmt::format("merge {} bytes, {} columns{}", description.elementBytes, description.columns,
                       description.mayBeWhole ? "" : ", single elements");
  }
  std::vector<Candidate> sweep() const override { return rank(bytesOfVector); }

protected:
  const Chip &target() const override { return chip; }
  /// There is nothing to choose from, unless ptxas finds that registers do not suffice.
  std::vector<Candidate> rank(int64_t alignment) const override {
    std::vector<Candidate> candidates;
    Schedule schedule = scheduleFor(description, alignment);
    for (int64_t least = schedule.ctasPerSm / 2; schedule.ctasPerSm >= least; schedule.ctasPerSm /= 2) {
      candidates.push_back({schedule, {}, {}, consumerBudget(schedule, chip)});
      candidates.back().cost.bound = "memory";
    }
    return candidates;
  }
  Fit check(const Schedule &schedule) const override;

private:
  const MergeDescription description;
  const Chip &chip;
};

Fit expects(bool holds, const std::string &message) {
  return holds ? Fit() : Fit{Limit::Geometry, 0, 0, "expects " + message};
}

Fit MergeSelection::check(const Schedule &schedule) const {
  if (schedule.instruction != MatrixInstruction::None)
    return expects(false, fmt::format("instruction = none, but got {}", infoOf(schedule.instruction).name));
  constexpr int64_t mostRowsOfThread = 8;
  const int64_t vector = vectorOf(description, schedule.copy), lanes = schedule.tileN / vector;
  const bool areLanes = schedule.tileN % vector == 0 && lanes <= lanesOfWarp && llvm::isPowerOf2_64(lanes);
  const int64_t rowsOfPass = schedule.consumersM * lanesOfWarp / std::max<int64_t>(lanes, 1);
  return firstBroken(
      {checkThreads(schedule, chip),
       expects(areLanes, fmt::format("tile_n to be {} elements for each of 1, 2, 4, 8, 16 or 32 lanes, but got {}",
                                     vector, schedule.tileN)),
       expects(areLanes && schedule.tileM % rowsOfPass == 0 && schedule.tileM / rowsOfPass <= mostRowsOfThread,
               fmt::format("tile_m to be 1 to {} times the {} rows that {} warps have at a time, but got {}",
                           mostRowsOfThread, rowsOfPass, schedule.consumersM, schedule.tileM)),
       expects(schedule.tileK == 1 && schedule.stages == 1 && schedule.consumersN == 1 && schedule.cluster == 1 &&
                   schedule.concurrentTiles == 1 && schedule.slices == 1 && schedule.producerRegisters == 0,
               "tile_k, stages, consumers_n, cluster, concurrent_tiles and slices of 1, and no producer_registers")});
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// One op merges the rows of a tile. On a GPU all warps share it.
class MergeBuilder : public ProgramBuilder {
public:
  MergeBuilder(KernelOp kernel, MergeOp merge, ScheduleAttr schedule)
      : ProgramBuilder(kernel, schedule), merge(merge), description(descriptionOf(merge)) {}

private:
  void buildBody(ImplicitLocOpBuilder &b) override {
    if (schedule.isForHost())
      return ProgramBuilder::buildBody(b);
    makeRole(b, "all", RoleUnit::warp, schedule.getConsumersM(), /*registers=*/0,
             [&] { ProgramBuilder::buildBody(b); });
  }
  void buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) override;
  Type elementType() override { return IntegerType::get(kernel.getContext(), unsigned(description.elementBytes * 8)); }

  MergeOp merge;
  const MergeDescription description;
};

void MergeBuilder::buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value /*panel*/) {
  const bool isForHost = schedule.isForHost();
  const int64_t vector = isForHost ? elementsOnHost : vectorOf(description, toSchedule(schedule).copy);
  const int64_t lanes = isForHost ? 1 : int64_t(schedule.getTileN()) / vector;
  MergeRowsOp::create(b, mapping.lookup(merge.getFirst()), mapping.lookup(merge.getFirstLse()),
                      mapping.lookup(merge.getSecond()), mapping.lookup(merge.getSecondLse()), results[0], results[1],
                      tileRow, schedule.getTileM(), lanes, vector);
}

//===----------------------------------------------------------------------===//
// The family
//===----------------------------------------------------------------------===//

class MergeFamily : public Family {
public:
  FailureOr<std::unique_ptr<Selection>> select(KernelOp kernel, const Expectations & /*expected*/,
                                               const Chip &chip) const override {
    return std::unique_ptr<Selection>(std::make_unique<MergeSelection>(kernel, descriptionOf(opOf(kernel)), chip));
  }
  /// Rows, a vector at a time. There is no depth; 16 is the least that a schedule may have.
  HostTile hostTile(KernelOp /*kernel*/) const override { return {rowsOnHost, elementsOnHost, 16}; }
  std::unique_ptr<ProgramBuilder> makeBuilder(KernelOp kernel, ScheduleAttr schedule) const override {
    return std::make_unique<MergeBuilder>(kernel, opOf(kernel), schedule);
  }
  OperationRecord describe(KernelOp kernel) const override;
  void setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr schedule) const override;
  bool readsSingleElements(uint32_t slot) const override {
    return slot == SPARSEC_MERGE_FIRST_LSE || slot == SPARSEC_MERGE_SECOND_LSE || slot == SPARSEC_MERGE_LSE;
  }
  bool movesWholeUnits(uint32_t /*kind*/, uint32_t slot, bool /*hasTensorMap*/) const override {
    return !readsSingleElements(slot);
  }

private:
  static MergeOp opOf(KernelOp kernel) { return cast<MergeOp>(kernel.getAnchor()); }
};

OperationRecord MergeFamily::describe(KernelOp kernel) const {
  MergeOp merge = opOf(kernel);
  OperandList list(kernel);
  list.add(SPARSEC_MERGE_FIRST, merge.getFirst());
  list.add(SPARSEC_MERGE_FIRST_LSE, merge.getFirstLse());
  list.add(SPARSEC_MERGE_SECOND, merge.getSecond());
  list.add(SPARSEC_MERGE_SECOND_LSE, merge.getSecondLse());
  list.addResult(SPARSEC_MERGE_RESULT, 0);
  list.addResult(SPARSEC_MERGE_LSE, 1);
  OperationRecord record;
  record.kind = SPARSEC_OPERATION_MERGE;
  record.operands = list.take();
  return record;
}

/// Tiles of rows, one batch and head after the other.
void MergeFamily::setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr /*schedule*/) const {
  stage.rows = {kernel.tilesOf(SPARSEC_MERGE_RESULT, 0, 1, 1), kernel.tilesOf(SPARSEC_MERGE_RESULT, 1, 1, 1),
                kernel.tilesOf(SPARSEC_MERGE_RESULT, 2, stage.info.tile_m, stage.info.tile_m)};
  for (size_t i = 0; i < 2; ++i)
    stage.rows[i].combination = SPARSEC_EXTENT_JOINED;
}

} // namespace

const Family &sparsec::mergeFamily() {
  static const MergeFamily family;
  return family;
}
