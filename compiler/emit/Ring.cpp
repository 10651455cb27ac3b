// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ring.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;

static constexpr int64_t barrierBytes = 8;

Ring::State Ring::advance(State state, int64_t step) {
  Value next = b.add(state.slot, step);
  Value wraps = step == 1 ? b.equal(next, fullBarriers())
                          : arith::CmpIOp::create(b, arith::CmpIPredicate::uge, next, b.i32(fullBarriers()));
  Value wrapped = step == 1 ? b.i32(0) : b.sub(next, fullBarriers());
  return {b.select(wraps, wrapped, next), b.select(wraps, b.bitXor(state.phase, 1), state.phase)};
}

Ring::State Ring::at(Value position) {
  return {b.modulo(position, fullBarriers()), b.bitAnd(b.divide(position, fullBarriers()), 1)};
}

Value Ring::slotOf(Value slot) {
  if (!op.getSkips())
    return slot;
  return b.select(b.less(slot, stages()), slot, b.sub(slot, stages()));
}

int64_t Ring::slotBytes(int64_t buffer) { return bufferRows(buffer) * bufferColumns(buffer) * elementBytes(buffer); }

Value Ring::slotPointer(int64_t buffer, Value slot) {
  Value first = b.byteOffset(base, (*op.getOffsets())[buffer]);
  return b.byteOffset(first, b.mul(slotOf(slot), slotBytes(buffer)));
}

Value Ring::barrier(Value number, int64_t first) {
  int64_t offset = *op.getBarrierOffset() + barrierBytes * first;
  return b.byteOffset(b.byteOffset(base, offset), b.mul(number, barrierBytes));
}

void Ring::initBarriers(int64_t posts, int64_t releases) {
  for (int64_t slot = 0; slot < stages(); ++slot) {
    ptx::mbarrierInit(b, fullBarrier(b.i32(slot)), posts);
    ptx::mbarrierInit(b, emptyBarrier(b.i32(slot)), releases);
  }
  for (int64_t second = stages(); second < fullBarriers(); ++second)
    ptx::mbarrierInit(b, fullBarrier(b.i32(second)), posts);
}

/// The empty barrier's first phase completes with the first release, so the producer waits for the phase before. Where
/// states go through the slots twice, the empty barriers complete two phases meanwhile.
void Ring::waitUntilFree(State state) {
  Value phase = op.getSkips() ? b.select(b.less(state.slot, stages()), b.i32(0), b.i32(1)) : state.phase;
  ptx::mbarrierWait(b, emptyBarrier(state.slot), b.bitXor(phase, 1));
}

void Ring::expect(State state, Value bytes) {
  int64_t all = 0;
  for (size_t buffer = 0; buffer < op.getType().getBuffers().size(); ++buffer)
    all += slotBytes(buffer);
  Value barrier = fullBarrier(state.slot);
  ptx::mbarrierExpectBytes(b, barrier, bytes ? bytes : b.i32(all));
}

void Ring::setMessages(Value slot, ValueRange messages) {
  LLVM::StoreOp::create(b, b.vector(messages), messagePointer(slot));
}

KernelBuilder::Values Ring::messages(Value slot) {
  Value pair = b.load(VectorType::get(2, b.i32Type()), messagePointer(slot));
  return {LLVM::ExtractElementOp::create(b, pair, b.i32(0)), LLVM::ExtractElementOp::create(b, pair, b.i32(1))};
}

Value Ring::isFull(State state) { return ptx::mbarrierTest(b, fullBarrier(state.slot), state.phase); }

void Ring::wait(State state) { ptx::mbarrierWait(b, fullBarrier(state.slot), state.phase); }
