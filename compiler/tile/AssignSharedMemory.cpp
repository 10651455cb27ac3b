// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pass sparsec-assign-shared-memory: offsets of buffers, barriers and staging, by the formula of SharedMemory.h.

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
constexpr int64_t firstTurnBarrier = 1;

class AssignSharedMemory : public sparsec::impl::AssignSharedMemoryPassBase<AssignSharedMemory> {
public:
  using AssignSharedMemoryPassBase::AssignSharedMemoryPassBase;

  void runOnOperation() override {
    if (getOperation().isAttention())
      assignAttention(getOperation());
    else
      assignProduct(getOperation());
  }

private:
  void assignAttention(ProgramOp program) {
    Builder b(&getContext());
    auto rings = llvm::to_vector(program.getBody().getOps<RingOp>());
    int64_t elementBits = cast<BufferType>(rings[0].getType().getBuffers()[0]).getElementType().getIntOrFloatBitWidth();
    AttentionSharedMemory layout = attentionSharedMemory(toSchedule(program.getSchedule()), elementBits / 8);
    rings[0].setOffsetsAttr(b.getDenseI64ArrayAttr({layout.queryOffset}));
    rings[1].setOffsetsAttr(b.getDenseI64ArrayAttr({layout.keyOffset}));
    if (program.getSchedule().getCopy() == Copy::tma) {
      rings[0].setBarrierOffsetAttr(b.getI64IntegerAttr(layout.queryBarrierOffset));
      rings[1].setBarrierOffsetAttr(b.getI64IntegerAttr(layout.keyBarrierOffset));
      program.setTileBytesAttr(b.getI64IntegerAttr(layout.tileBytes));
      program.walk([&](IssueBeginOp op) { op.setOffset(layout.issuerOffset); });
      program.walk([&](IssueEndOp op) { op.setOffset(layout.issuerOffset); });
      program.walk([&](TurnWaitOp op) { op.setFirstBarrier(firstTurnBarrier); });
      program.walk([&](TurnPassOp op) { op.setFirstBarrier(firstTurnBarrier); });
    } else {
      rings[2].setOffsetsAttr(b.getDenseI64ArrayAttr({layout.valueOffset}));
    }
    program.setSharedMemoryAttr(b.getI64IntegerAttr(layout.total));
  }

  static BsrType matrixOf(ProgramOp program) {
    TypeRange types = program.getBody().front().getArgumentTypes();
    return cast<BsrType>(*llvm::find_if(types, llvm::IsaPred<BsrType>));
  }

  void assignProduct(ProgramOp program) {
    Builder b(&getContext());
    auto rings = llvm::to_vector(program.getBody().getOps<RingOp>());
    RingOp ring = rings.front();
    auto element = cast<BufferType>(ring.getType().getBuffers().front()).getElementType();

    SmallVector<StoreOp> stores;
    program.walk([&](StoreOp store) { stores.push_back(store); });
    StoreOp store = stores.front();

    int64_t blockColumns = matrixOf(program).getBlockColumns();
    SharedMemoryLayout layout = sharedMemoryLayout(toSchedule(program.getSchedule()), blockColumns,
                                                   element.getIntOrFloatBitWidth() / 8, store.getStaged());
    if (rings.size() > 1) { // of X, and of blocks
      ring.setOffsetsAttr(b.getDenseI64ArrayAttr({layout.xOffset}));
      rings[1].setOffsetsAttr(b.getDenseI64ArrayAttr({layout.aOffset}));
      rings[1].setBarrierOffset(layout.aBarrierOffset);
    } else {
      ring.setOffsetsAttr(b.getDenseI64ArrayAttr({layout.aOffset, layout.xOffset}));
    }
    if (layout.barrierBytes > 0)
      ring.setBarrierOffsetAttr(b.getI64IntegerAttr(layout.barrierOffset));
    for (StoreOp each : stores)
      if (each.getStaged())
        each.setStagingAttr(
            b.getDenseI64ArrayAttr({layout.stagingOffset, layout.stagingColumns, layout.stagingBuffers}));
    program.setSharedMemoryAttr(b.getI64IntegerAttr(layout.total));
  }
};

} // namespace
