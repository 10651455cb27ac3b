// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockRows.h"

#include "BlockSteps.h"
#include "Ptx.h"
#include "StagedStore.h"
#include "StoreTile.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr int64_t rowsOfSlab = 16, rowsOfWarpgroup = 64;

bool BlockRows::emit(Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](RowBlocksOp blocks) { return emitRowBlocks(blocks), true; })
      .Case([&](WalkBlocksOp walk) { return emitWalk(walk), true; })
      .Case([&](BlockStepsOp op) {
        Value first = values.one(op.getFirst()), end = values.one(op.getEnd());
        return program.setWalk(op, std::make_unique<BlockSteps>(context, op, first, end)), true;
      })
      .Case([&](StoreOp store) { return emitStore(store), true; })
      .Default(false);
}

void BlockRows::emitRowBlocks(RowBlocksOp op) {
  int64_t matrix = cast<BlockArgument>(op.getMatrix()).getArgNumber();
  Value rowPtr = context.parameters.get(ParameterKind::row_ptr, matrix), row = values.one(op.getBlockRow());
  values.set(op.getFirst(), b.loadElement(b.i32Type(), rowPtr, row));
  values.set(op.getEnd(), b.loadElement(b.i32Type(), rowPtr, b.add(row, 1)));
}

/// A loop that uses columns loads the one of the next block while it works on this one.
void BlockRows::emitWalk(WalkBlocksOp walk) {
  Block &body = walk.getBody().front();
  Value first = values.one(walk.getFirst()), end = values.one(walk.getEnd());
  Values inits = values.flat(walk.getInits());
  if (body.getArgument(1).use_empty()) {
    Values results = b.forLoop(first, end, b.i32(1), inits, [&](Value block, ValueRange carried) {
      values.set(body.getArgument(0), block);
      values.assign(body.getArguments().drop_front(2), carried);
      return program.emitBlock(body);
    });
    return values.assign(walk.getResults(), results);
  }
  int64_t matrix = cast<BlockArgument>(walk.getMatrix()).getArgNumber();
  Value columns = context.parameters.get(ParameterKind::col_idx, matrix);
  auto columnOf = [&](Value block) { return b.loadElement(b.i32Type(), columns, block); };
  Value last = b.sub(end, 1);
  Value isEmpty = b.compare(arith::CmpIPredicate::sge, first, end);
  Value firstColumn = b.ifThenElse(
      isEmpty, {b.i32Type()}, [&] { return Values{b.i32(0)}; }, [&] { return Values{columnOf(first)}; })[0];
  inits.push_back(firstColumn);
  Values results = b.forLoop(first, end, b.i32(1), inits, [&](Value block, ValueRange carried) {
    Value nextColumn = columnOf(b.minimum(b.add(block, 1), last));
    values.assign(body.getArguments().take_front(2), {block, carried.back()});
    values.assign(body.getArguments().drop_front(2), carried.drop_back());
    Values next = program.emitBlock(body);
    next.push_back(nextColumn);
    return next;
  });
  values.assign(walk.getResults(), ValueRange(results).drop_back());
}

/// Rows of blocks that came in lines are columns of the accumulators here: neighbours have changed places in every
/// other group of 8.
static void restoreOrder(AccumulatorFragment &fragment) {
  for (int64_t slab = 0; slab < fragment.slabs; ++slab)
    for (int64_t group = 1; group < fragment.groups; group += 2)
      for (int64_t index : {0, 2})
        std::swap(fragment.at(slab, group, index), fragment.at(slab, group, index + 1));
}

void BlockRows::emitStore(StoreOp op) {
  TilePosition position{values.one(op.getBlockRow()),
                        values.one(op.getRow()),
                        values.one(op.getColumn()),
                        values.one(op.getFirstBlock()),
                        values.one(op.getEndBlock()),
                        int64_t(op.getBlockStride().value_or(0)),
                        op.getSwapped()};
  AccumulatorType type = op.getAccumulator().getType();
  bool isWarp = op->getParentOfType<RoleOp>().getUnit() == RoleUnit::warp;
  AccumulatorFragment fragment;
  fragment.slabRows = isWarp ? rowsOfSlab : rowsOfWarpgroup;
  fragment.slabs = type.getRows() / fragment.slabRows;
  fragment.groups = type.getColumns() / 8;
  fragment.values = values.sums(op.getAccumulator());
  if (op.getLines())
    restoreOrder(fragment);
  fragment.row = values.one(op.getGroupRow());
  if (!isWarp) {
    // The store's thread coordinates are computed here, once per tile: kept from tile to tile they would take registers
    // that the accumulators need. Each warp of a warpgroup has a slab of every 64 rows.
    Value warp = b.shiftRight(ptx::opaque(b, program.threadInGroup), 5);
    fragment.row = b.add(fragment.row, b.mul(warp, rowsOfSlab));
  }
  fragment.column = values.one(op.getGroupColumn());
  if (op.getStaged())
    emitStagedStore(context, op, position, fragment, values.one(op.getGroup()), values.one(op.getGroupRow()));
  else
    emitDirectStore(context, op, position, fragment);
}
