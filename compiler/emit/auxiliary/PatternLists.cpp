// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PatternLists.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;

// By ListKind.
static constexpr int64_t startsFields[] = {SPARSEC_FIELD_PARTIAL_STARTS, SPARSEC_FIELD_FULL_STARTS};
static constexpr int64_t indicesFields[] = {SPARSEC_FIELD_PARTIAL_INDICES, SPARSEC_FIELD_FULL_INDICES};

QueryTile PatternLists::tileOf(Value list) {
  Value rows = context.queryBlocks(context.queries()), heads = context.patternField(SPARSEC_FIELD_HEADS);
  Value headNumber = b.divide(list, rows);
  QueryTile tile;
  tile.head = b.modulo(headNumber, heads);
  tile.batch = b.divide(headNumber, heads);
  tile.first = b.mul(b.modulo(list, rows), context.queryBlock);
  return tile;
}

KeyBlocks PatternLists::reachableBlocks(Value list) {
  const bool isLimited = context.windowLeft >= 0 || context.windowRight >= 0;
  if (context.hasSequences || !isLimited)
    return {b.i32(0), keyBlocks()};
  return context.reachableBlocks(tileOf(list));
}

void PatternLists::forListOfWarp(int64_t warps, llvm::function_ref<void(Value)> body) {
  Value warp = ptx::broadcastFirstLane(b, b.divide(context.thread, warpLanes));
  Value list = b.add(b.mul(ptx::blockIndex(b), warps), warp);
  b.ifThen(b.less(list, context.parameters.get(ParameterKind::tile_rows)), [&] { body(list); });
}

void PatternLists::append(ListKind kind, Value list, Value position, Value block, Value condition) {
  Value first = b.mul(b.extend(list), context.patternField(SPARSEC_FIELD_CAPACITY));
  Value indices = context.patternField(indicesFields[kind]);
  Value entry = b.elementPointer(indices, b.i32Type(), b.add(first, b.extend(position)));
  ptx::storeGlobal(b, entry, block, condition);
}

void PatternLists::storeCounts(Value list, ValueRange counts, Value condition) {
  b.ifThen(condition, [&] {
    for (ListKind kind : listKinds)
      LLVM::StoreOp::create(b, counts[kind],
                            b.elementPointer(context.patternField(startsFields[kind]), b.i32Type(), b.extend(list)));
  });
}

bool sparsec::hasPattern(ProgramOp program) { return bool(patternOf(program)); }

void sparsec::emitAuxiliary(ProgramOp program, const AuxiliaryShape &shape,
                            llvm::function_ref<void(QueryContext &)> emitBody) {
  auto pattern = cast<PatternType>(patternOf(program).getType());
  SideKernelShape side = {shape.suffix,          shape.warps,        shape.listsPerCta, pattern.getQueryBlock(),
                          pattern.getKeyBlock(), shape.sharedMemory, shape.ctasPerSm};
  emitAuxiliaryKernel<QueryContext>(program, shape.kind, side, [&](QueryContext &context) {
    context.tileRows = context.queryBlock; // a list is for a whole block of queries
    emitBody(context);
  });
}
