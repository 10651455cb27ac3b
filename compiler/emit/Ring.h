// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ring of shared-memory slots between copies and products, as the emitter sees it: where a slot is, and for two
// roles the barriers by which it changes hands. Slot s has a full barrier (its copies have arrived) and an empty
// barrier (all consumers are done with it). A slot and the parity of its phase are all the state of a role. Where
// consumers may skip positions, a slot has two full barriers in turn, and the state counts through all of them.

#ifndef SPARSEC_EMIT_RING_H
#define SPARSEC_EMIT_RING_H

#include "ProgramContext.h"
#include "Swizzle.h"

namespace sparsec {

class Ring {
public:
  /// Where a CTA works on several tiles, each has a part of shared memory, from `base` on.
  Ring(ProgramContext &context, RingOp op, mlir::Value base) : b(context.b), op(op), base(base) {}

  /// A slot and the parity of the phase that it is in. Both i32, carried from step to step.
  struct State {
    mlir::Value slot, phase;

    auto fields() { return std::tie(slot, phase); }
  };
  State begin() { return {b.i32(0), b.i32(0)}; }
  /// That of a position, counted from the begin.
  State at(mlir::Value position);
  /// So many slots further. The number of stages is a multiple of `step`.
  State advance(State state, int64_t step = 1);

  int64_t bufferRows(int64_t buffer) { return bufferType(buffer).getRows(); }
  int64_t bufferColumns(int64_t buffer) { return bufferType(buffer).getColumns(); }
  mlir::Type elementType(int64_t buffer) { return bufferType(buffer).getElementType(); }
  int64_t elementBytes(int64_t buffer) { return bufferType(buffer).getElementBytes(); }
  /// The slot of a state whose consumers may skip positions: such states go through the slots twice.
  mlir::Value slotOf(mlir::Value slot);
  /// Bytes of one slot's part of a buffer.
  int64_t slotBytes(int64_t buffer);
  // The layout of a buffer (BufferType).
  bool isAdjacent(int64_t buffer) { return bufferType(buffer).getAdjacent(); }
  int64_t stripBytes(int64_t buffer) { return bufferType(buffer).getStripBytes(); }
  Swizzle swizzle(int64_t buffer) { return Swizzle::ofBytes(bufferType(buffer).getSwizzle()); }
  mlir::Value slotPointer(int64_t buffer, mlir::Value slot);

  /// Whether slots change hands between roles, by barriers.
  bool hasBarriers() { return op.getBarrierOffset().has_value(); }
  /// Makes the barriers, by one thread: `posts` threads arrive at a full barrier, `releases` at an empty one.
  void initBarriers(int64_t posts, int64_t releases);
  mlir::Value fullBarrier(mlir::Value slot) { return barrier(slot, 0); }
  mlir::Value emptyBarrier(mlir::Value slot) { return barrier(slotOf(slot), fullBarriers()); }
  /// Producer: waits until the slot is free.
  void waitUntilFree(State state);
  /// Producer: tells the slot's full barrier the bytes to expect, or those of all buffers where `bytes` is null.
  void expect(State state, mlir::Value bytes);
  /// Two messages (i32) beside the slot, from the producer to the consumers: written before `expect`, read after
  /// `wait`.
  void setMessages(mlir::Value slot, mlir::ValueRange messages);
  KernelBuilder::Values messages(mlir::Value slot);
  /// Consumer: waits for the copies of the slot.
  void wait(State state);
  /// Consumer: whether the copies of the slot have arrived.
  mlir::Value isFull(State state);

private:
  BufferType bufferType(int64_t buffer) { return mlir::cast<BufferType>(op.getType().getBuffers()[buffer]); }
  /// Barrier `number` of those from barrier `first` on.
  mlir::Value barrier(mlir::Value number, int64_t first);
  mlir::Value messagePointer(mlir::Value slot) { return barrier(slotOf(slot), fullBarriers() + stages()); }
  int64_t fullBarriers() { return op.getFullBarriers(); }
  int64_t stages() { return op.getType().getStages(); }

  KernelBuilder &b;
  RingOp op;
  mlir::Value base;
};

} // namespace sparsec

#endif // SPARSEC_EMIT_RING_H
