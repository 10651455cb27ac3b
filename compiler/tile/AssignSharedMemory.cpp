// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pass sparsec-assign-shared-memory: offsets of buffers, barriers and staging, by the formula of SharedMemory.h.

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

class AssignSharedMemory : public sparsec::impl::AssignSharedMemoryPassBase<AssignSharedMemory> {
public:
  using AssignSharedMemoryPassBase::AssignSharedMemoryPassBase;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    Builder b(&getContext());
    RingOp ring = *program.getBody().getOps<RingOp>().begin();
    auto element = cast<BufferType>(ring.getType().getBuffers().front()).getElementType();

    SmallVector<StoreOp> stores;
    program.walk([&](StoreOp store) { stores.push_back(store); });
    StoreOp store = stores.front();

    SharedMemoryLayout layout =
        sharedMemoryLayout(toSchedule(program.getSchedule()), element.getIntOrFloatBitWidth() / 8, store.getStaged());
    ring.setOffsetsAttr(b.getDenseI64ArrayAttr({layout.aOffset, layout.xOffset}));
    ring.setBarrierOffsetAttr(b.getI64IntegerAttr(layout.barrierOffset));
    if (store.getStaged())
      store.setStagingAttr(
          b.getDenseI64ArrayAttr({layout.stagingOffset, layout.stagingColumns, layout.stagingBuffers}));
    program.setSharedMemoryAttr(b.getI64IntegerAttr(layout.total));
  }
};

} // namespace
