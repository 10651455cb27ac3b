// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CutTiles.h"

#include "Ptx.h"
#include "WarpSums.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr int64_t warpsOfGroup = 4, bytesOfFlag = 1;

/// Tiles side by side follow one another, so that a worker waits for one of its own CTA or of the CTA before: a launch
/// comes to an end also where only one CTA runs at a time.
static Value workerOfTile(ProgramContext &context, Value tileOfCta) {
  KernelBuilder &b = context.b;
  const auto tiles = int64_t(context.schedule.getConcurrentTiles());
  Value cluster = b.divide(ptx::blockIndex(b), context.schedule.getCluster());
  return tiles == 1 ? cluster : b.add(b.mul(cluster, tiles), tileOfCta);
}

Values sparsec::emitCutTiles(ProgramContext &context, Value tileOfCta, ValueRange carried, FollowedTileBody body) {
  KernelBuilder &b = context.b;
  Type i32 = b.i32Type();
  Value offsets = context.parameters.get(ParameterKind::plan_section, 0, SPARSEC_PLAN_CUT_OFFSETS);
  Value tiles = context.parameters.get(ParameterKind::plan_section, 0, SPARSEC_PLAN_CUT_TILES);
  Value worker = workerOfTile(context, tileOfCta);
  Value begin = b.loadElement(i32, offsets, worker), end = b.loadElement(i32, offsets, b.add(worker, 1));
  auto type = VectorType::get(sizeof(sparsec_cut_tile_t) / sizeof(uint32_t), i32);
  return b.forLoop(begin, end, b.i32(1), carried, [&](Value number, ValueRange state) {
    Value entry = b.loadInvariant(type, b.elementPointer(tiles, type, number));
    auto field = [&](int64_t place) { return LLVM::ExtractElementOp::create(b, entry, b.i32(place)); };
    Values all{field(2), field(3)};
    llvm::append_range(all, state);
    return body(field(0), field(1), all, [&] { return b.less(b.add(number, 1), end); });
  });
}

namespace {
/// The number of a warp of the first role, counted over the workers of the launch, and the lane of the thread.
struct WarpPlace {
  Value number, lane;
};
} // namespace

static int64_t warpsOfRole(Operation *op) { return warpsOfGroup * int64_t(op->getParentOfType<RoleOp>().getCount()); }

/// The place of the thread's warp, or that of the same warp in the worker before. It is computed once a tile: kept from
/// tile to tile it would take registers that the accumulators need.
static WarpPlace placeOfWarp(ProgramContext &context, Operation *op, bool isOfWorkerBefore) {
  KernelBuilder &b = context.b;
  Value thread = ptx::opaque(b, context.thread), cta = ptx::opaque(b, ptx::blockIndex(b));
  Value number =
      b.add(b.mul(cta, warpsOfRole(op) * int64_t(context.schedule.getConcurrentTiles())), b.shiftRight(thread, 5));
  if (isOfWorkerBefore)
    number = b.sub(number, warpsOfRole(op) * int64_t(context.schedule.getCluster()));
  return {number, b.bitAnd(thread, warpLanes - 1)};
}

/// A workspace with so many bytes for each worker.
static Value workspaceOf(ProgramContext &context, WorkspaceKind kind, int64_t bytes) {
  const int64_t bytesOfCta = bytes * int64_t(context.schedule.getConcurrentTiles());
  return context.parameters.workspace(WorkspaceAttr::get(context.b.getContext(), kind, bytesOfCta));
}

/// Where a thread has its first vector of sums.
static Value placeOfThread(ProgramContext &context, Operation *op, int64_t count, bool isOfWorkerBefore) {
  Value sums = workspaceOf(context, WorkspaceKind::tile_sums, bytesOfWarpSums(count) * warpsOfRole(op));
  WarpPlace place = placeOfWarp(context, op, isOfWorkerBefore);
  return placeOfSums(context.b, sums, place.number, place.lane, count);
}

static Value flagOf(ProgramContext &context, Operation *op, const WarpPlace &place) {
  Value flags = workspaceOf(context, WorkspaceKind::sum_flags, bytesOfFlag * warpsOfRole(op));
  return context.b.byteOffset(flags, context.b.extend(place.number));
}

void sparsec::writeSums(ProgramContext &context, WriteSumsOp op, ValueRange sums) {
  storeSums(context.b, placeOfThread(context, op, int64_t(sums.size()), /*isOfWorkerBefore=*/false), sums);
}

void sparsec::releaseSums(ProgramContext &context, ReleaseSumsOp op) {
  KernelBuilder &b = context.b;
  WarpPlace place = placeOfWarp(context, op, /*isOfWorkerBefore=*/false);
  ptx::barrierWarp(b);
  b.ifThen(b.equal(place.lane, 0), [&] { ptx::storeFlag(b, flagOf(context, op, place), b.i32(1)); });
}

void sparsec::acquireSums(ProgramContext &context, AcquireSumsOp op) {
  KernelBuilder &b = context.b;
  WarpPlace place = placeOfWarp(context, op, /*isOfWorkerBefore=*/true);
  Value flag = flagOf(context, op, place);
  // A vote lets the lanes leave the loop together. Otherwise the assembler takes all that follows for divergent, and
  // keeps nothing of it in uniform registers.
  b.whileLoop(
      {b.i32(0)}, [&](ValueRange) { return ptx::anyInWarp(b, b.equal(ptx::loadFlag(b, flag), 0)); },
      [&](ValueRange carried) { return Values(carried); });
  ptx::barrierWarp(b);
  b.ifThen(b.equal(place.lane, 0), [&] { ptx::storeFlag(b, flag, b.i32(0)); });
}

Values sparsec::addSums(ProgramContext &context, AddSumsOp op, ValueRange sums) {
  Values all = readSums(context, op, int64_t(sums.size()));
  for (auto [sum, own] : llvm::zip(all, sums))
    sum = context.b.addF(sum, own);
  return all;
}

Values sparsec::readSums(ProgramContext &context, Operation *op, int64_t count) {
  return loadSums(context.b, placeOfThread(context, op, count, /*isOfWorkerBefore=*/true), count);
}
