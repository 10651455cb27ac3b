// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A warp writes its sums to scratch memory of the launch. It then increments a counter that it shares with the warps of
// the same number in the other parts of the tile. The warp that increments it last reads the sums of all parts in their
// order, and its increment sets the counter to zero, as the next launch expects it. No CTA waits for another one, so
// that a launch comes to an end also where only one CTA runs at a time.

#include "PartSums.h"

#include "Ptx.h"
#include "WarpSums.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr int64_t bytesOfCounter = 4;

void sparsec::emitTilePart(ProgramContext &context, ProgramValues &values, TilePartOp op) {
  KernelBuilder &b = context.b;
  Value tilePanel = values.one(op.getTilePanel()), parts = context.parameters.get(ParameterKind::parts);
  Value panel = b.divide(tilePanel, parts);
  values.assign(op.getResults(), {panel, b.sub(tilePanel, b.mul(panel, parts)), parts});
}

/// Each lane counts the bits of every 32nd stage, and the warp adds up.
void sparsec::emitCountProducts(ProgramEmitter &program, CountProductsOp op) {
  KernelBuilder &b = program.b;
  Value words =
      program.context.parameters.get(ParameterKind::plan_section, 0, static_cast<int64_t>(PlanSection::stage_products));
  Value first = b.add(program.values.one(op.getFirst()), program.threadInGroup);
  Value word = program.values.one(op.getWord());
  Values counted = b.forLoop(first, program.values.one(op.getEnd()), b.i32(warpLanes), {b.i32(0)},
                             [&](Value stage, ValueRange carried) {
                               Value place = b.add(b.mul(stage, int64_t(op.getWords())), word);
                               Value bits = b.loadElement(b.i32Type(), words, place);
                               return Values{b.add(carried[0], LLVM::CtPopOp::create(b, bits.getType(), bits))};
                             });
  program.values.set(op, ptx::sumOfWarp(b, counted[0]));
}

namespace {

/// The sums of the warps with one number in all parts of a tile.
class PartSums {
public:
  PartSums(ProgramEmitter &program, JoinPartsOp op, ValueRange sums);

  void write(ValueRange sums) { storeSums(b, ofPart(part), sums); }
  /// Increments the counter. Returns whether the warp is the last one (i1).
  Value countItself();
  Values addAll();

private:
  int64_t groups() { return int64_t(context.schedule.getConsumersM()) * int64_t(context.schedule.getCluster()); }
  Value ofPart(Value number);
  Values read(Value number) { return loadSums(b, ofPart(number), count); }

  ProgramContext &context;
  KernelBuilder &b;
  Value lane, group, parts, part, tile;
  int64_t count; // of sums of a lane
};

} // namespace

/// Parts of a tile follow one another in the grid.
PartSums::PartSums(ProgramEmitter &program, JoinPartsOp op, ValueRange sums)
    : context(program.context), b(program.b), lane(program.threadInGroup), count(int64_t(sums.size())) {
  parts = context.parameters.get(ParameterKind::parts);
  Value panel = program.values.one(op.getPanel());
  Value ofGrid =
      b.add(b.mul(program.values.one(op.getTileRow()), context.parameters.get(ParameterKind::tile_panels)), panel);
  tile = b.divide(ofGrid, parts);
  part = b.sub(ofGrid, b.mul(tile, parts));
  group = program.groupOfCta(op->getParentOfType<RoleOp>());
  if (int64_t cluster = context.schedule.getCluster(); cluster > 1)
    group = b.add(group, b.mul(ptx::clusterRank(b), groups() / cluster));
}

/// Where the lane has its first vector of the sums of a part.
Value PartSums::ofPart(Value number) {
  Value sums = context.parameters.workspace(
      WorkspaceAttr::get(b.getContext(), WorkspaceKind::scratch, bytesOfWarpSums(count) * groups()));
  return placeOfSums(b, sums, b.add(b.mul(b.add(b.mul(tile, parts), number), groups()), group), lane, count);
}

/// Lane 0 releases what all lanes wrote before the first barrier. What it acquires is visible to all behind the second.
Value PartSums::countItself() {
  Value counters = context.parameters.workspace(
      WorkspaceAttr::get(b.getContext(), WorkspaceKind::sum_flags, bytesOfCounter * groups()));
  Value counter = b.elementPointer(counters, b.i32Type(), b.add(b.mul(tile, groups()), group));
  Value last = b.sub(parts, 1);
  ptx::barrierWarp(b);
  Values before = b.ifThenElse(
      b.equal(lane, 0), b.i32Type(), [&] { return Values{ptx::countToLast(b, counter, last)}; },
      [&] { return Values{b.i32(0)}; });
  ptx::barrierWarp(b);
  return b.compare(arith::CmpIPredicate::eq, ptx::broadcastFirstLane(b, before[0]), last);
}

/// The sums of the next part are on their way while those of one are added.
Values PartSums::addAll() {
  Values first = read(b.i32(0)), second = read(b.i32(1));
  auto add = [&](ValueRange sums, ValueRange more) {
    Values all;
    for (auto [sum, other] : llvm::zip(sums, more))
      all.push_back(b.addF(sum, other));
    return all;
  };
  Values carried(first);
  llvm::append_range(carried, second);
  Values result = b.forLoop(b.i32(2), parts, b.i32(1), carried, [&](Value number, ValueRange state) {
    Values next = read(number), sums = add(state.take_front(count), state.drop_front(count));
    llvm::append_range(sums, next);
    return sums;
  });
  return add(ValueRange(result).take_front(count), ValueRange(result).drop_front(count));
}

/// Returns the sums of all parts, and whether the warp is the last one.
static Values joinParts(PartSums &sums, KernelBuilder &b, const Values &own) {
  sums.write(own);
  Value isLast = sums.countItself();
  Values all = b.ifThenElse(isLast, ValueRange(own).getTypes(), [&] { return sums.addAll(); }, [&] { return own; });
  all.push_back(isLast);
  return all;
}

/// The sums of a tile that is whole stay in registers.
void sparsec::emitJoinParts(ProgramEmitter &program, JoinPartsOp op) {
  KernelBuilder &b = program.b;
  Values own = program.values.sums(op.getSum()), whole(own);
  PartSums sums(program, op, own);
  Value isWhole = b.equal(program.context.parameters.get(ParameterKind::parts), 1);
  whole.push_back(isWhole); // the only part is the last one
  Values joined = b.ifThenElse(
      isWhole, ValueRange(whole).getTypes(), [&] { return whole; }, [&] { return joinParts(sums, b, own); });
  program.values.set(op.getTotal(), program.values.fromSums(ValueRange(joined).drop_back()));
  program.values.set(op.getIsLast(), joined.back());
}
