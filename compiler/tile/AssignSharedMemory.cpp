// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pass sparsec-assign-shared-memory: offsets of buffers, barriers and staging areas from the allocator in
// SharedMemory.h, and the numbers of named barriers.

#include "AttentionSchedule.h"
#include "Passes.h"
#include "ScheduleAttribute.h"
#include "SharedMemory.h"

namespace sparsec {
#define GEN_PASS_DEF_ASSIGNSHAREDMEMORYPASS
#include "Passes.h.inc"
} // namespace sparsec

using namespace mlir;
using namespace sparsec;

namespace {

/// Barrier 0 is that of the whole CTA.
constexpr int64_t firstBarrierOfTiles = 1;

int64_t bytesOf(Type type) {
  auto buffer = cast<BufferType>(type);
  return buffer.getRows() * buffer.getColumns() * buffer.getElementType().getIntOrFloatBitWidth() / 8;
}

/// Whether a ring is for the copies of a warp to itself.
bool isOfWarps(RingOp ring) { return llvm::any_of(ring->getUsers(), llvm::IsaPred<CopyBlocksOp>); }

/// A ring between roles has barriers.
RingNeeds needsOf(RingOp ring, bool isBetweenRoles) {
  RingType type = ring.getType();
  RingNeeds needs;
  needs.slots = type.getStages();
  for (Type buffer : type.getBuffers())
    needs.bufferBytes.push_back(bytesOf(buffer));
  needs.barriers = isBetweenRoles ? needs.slots + ring.getFullBarriers() : 0;
  needs.hasMessages = ring.getMessages();
  return needs;
}

class AssignSharedMemory : public sparsec::impl::AssignSharedMemoryPassBase<AssignSharedMemory> {
public:
  using AssignSharedMemoryPassBase::AssignSharedMemoryPassBase;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    Schedule schedule = toSchedule(program.getSchedule());
    auto rings = llvm::to_vector(program.getBody().getOps<RingOp>());
    SmallVector<StoreOp> stores;
    program.walk([&](StoreOp store) {
      if (store.getStaged())
        stores.push_back(store);
    });

    SharedMemoryNeeds needs;
    for (RingOp ring : rings)
      needs.rings.push_back(needsOf(ring, hasProducer(schedule) && !isOfWarps(ring)));
    needs.stagingBytes = stores.empty() ? 0 : stagingBytes(schedule);
    needs.sumsBytes = bytesOfSums(schedule);
    needs.tiles = schedule.concurrentTiles;
    needs.slices = schedule.slices;
    SmallVector<ProductOp> productsOfOnes;
    program.walk([&](ProductOp op) {
      if (op.getOnes())
        productsOfOnes.push_back(op);
    });
    needs.onesBytes = productsOfOnes.empty() ? 0 : bytesOfOnes;
    SharedMemoryPlaces places = placeSharedMemory(needs);

    Builder b(&getContext());
    for (auto [ring, needed, place] : llvm::zip(rings, needs.rings, places.rings)) {
      ring.setOffsetsAttr(b.getDenseI64ArrayAttr(place.buffers));
      if (needed.barriers > 0)
        ring.setBarrierOffset(place.barriers);
    }
    StagingShape staging = stagingShape(schedule);
    for (StoreOp store : stores)
      store.setStagingAttr(b.getDenseI64ArrayAttr({places.staging, staging.columns, staging.buffers}));
    if (needs.tiles * needs.slices > 1)
      program.setTileBytes(places.tileBytes);
    if (bytesOfSums(schedule) > 0)
      program.walk([&](AddSlicesOp op) { op.setOffset(places.sums); });
    for (ProductOp product : productsOfOnes)
      product.setOnes(places.ones);
    program.setSharedMemory(places.total);
    program.walk([&](IssuerOp op) { op.setOffset(places.issuer); });
    program.walk([&](IssueBeginOp op) { op.setOffset(places.issuer); });
    program.walk([&](IssueEndOp op) { op.setOffset(places.issuer); });
    program.walk([&](ClearRowsOp op) { op.setFirstBarrier(firstBarrierOfTiles); });
    program.walk([&](ScaleRowsOp op) { op.setFirstBarrier(firstBarrierOfTiles + needs.tiles); });
  }
};

} // namespace
