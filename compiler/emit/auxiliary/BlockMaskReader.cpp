// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One warp writes the two lists (padded, in ascending order) of one block of queries: every lane looks at the states of
// a few key blocks, and the votes of the warp tell it how many blocks of a kind come before its own. A CTA has several
// warps, so that the SMs are full although each may hold few CTAs.

#include "BlockMaskReader.h"

#include "PatternLists.h"
#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t readerWarps = 4;
/// Blocks of a lane whose states are on their way at once.
constexpr int64_t blocksOfLane = 4;

class BlockMaskReaderEmitter {
public:
  explicit BlockMaskReaderEmitter(QueryContext &context)
      : context(context), b(context.b), lists(context), lane(b.modulo(context.thread, warpLanes)) {}

  void emit();

private:
  void writeLists(Value list);
  Value loadState(Value states, Value block, Value end);
  Values appendRound(Value list, Value state, Value block, ValueRange counts);

  QueryContext &context;
  KernelBuilder &b;
  PatternLists lists;
  Value lane;
};

} // namespace

void BlockMaskReaderEmitter::emit() {
  lists.forListOfWarp(readerWarps, [&](Value list) { writeLists(list); });
}

void BlockMaskReaderEmitter::writeLists(Value list) {
  Value end = lists.keyBlocks();
  Value mask = context.parameters.get(ParameterKind::input);
  Value states = b.elementPointer(mask, b.getI8Type(), b.mul(b.extend(list), b.extend(end)));
  Value zero = b.i32(0);
  Values counts =
      b.forLoop(zero, end, b.i32(warpLanes * blocksOfLane), {zero, zero}, [&](Value first, ValueRange carried) {
        Values blocks, loaded, next(carried);
        for (int64_t i = 0; i < blocksOfLane; ++i) {
          blocks.push_back(b.add(b.add(first, i * warpLanes), lane));
          loaded.push_back(loadState(states, blocks.back(), end));
        }
        for (auto [block, state] : llvm::zip(blocks, loaded))
          next = appendRound(list, state, block, next);
        return next;
      });
  lists.storeCounts(list, counts, b.equal(lane, 0));
}

/// Beyond the last block the state is that of an empty one. The load has no condition, so that several run at once.
Value BlockMaskReaderEmitter::loadState(Value states, Value block, Value end) {
  Value inside = b.minimum(block, b.sub(end, 1));
  Value state = b.loadElement(b.getI8Type(), states, b.extend(inside));
  Value word = arith::ExtUIOp::create(b, b.i32Type(), state);
  return b.select(b.less(block, end), word, b.i32(SPARSEC_BLOCK_EMPTY));
}

/// Appends one block of every lane to the lists, of which `counts` are the numbers of entries.
Values BlockMaskReaderEmitter::appendRound(Value list, Value state, Value block, ValueRange counts) {
  Values next;
  for (ListKind kind : listKinds) {
    Value isOfKind = b.equal(state, stateOfKind[kind]);
    Value votes = ptx::ballot(b, isOfKind);
    Value before = arith::AndIOp::create(b, votes, ptx::lanesBefore(b));
    lists.append(kind, list, b.add(counts[kind], b.countBits(before)), block, isOfKind);
    next.push_back(b.add(counts[kind], b.countBits(votes)));
  }
  return next;
}

void sparsec::emitBlockMaskReader(ProgramOp program) {
  emitAuxiliary(program, {AuxiliaryKind::block_mask_reader, "_block_mask", readerWarps, /*listsPerCta=*/readerWarps, 0},
                [](QueryContext &context) { BlockMaskReaderEmitter(context).emit(); });
}
