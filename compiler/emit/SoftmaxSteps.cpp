// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SoftmaxSteps.h"

#include "CutTiles.h"
#include "JointWalk.h"
#include "KeyWalk.h"
#include "PartSums.h"
#include "RowStore.h"
#include "ScaleRows.h"
#include "Sequences.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr int64_t rowsOfWarp = 16;

bool SoftmaxSteps::emit(Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case([&](TilePartOp op) { return emitTilePart(context, values, op), true; })
      .Case([&](QueryTileOp op) { return emitQueryTile(op), true; })
      .Case([&](PackedTileOp op) { return values.assign(op.getResults(), emitPackedTile(context, values, op)), true; })
      .Case([&](SequenceOp op) { return values.assign(op.getResults(), emitSequence(context, values, op)), true; })
      .Case([&](FindPageOp op) { return values.assign(op.getResults(), emitFindPage(context, values, op)), true; })
      .Case([&](ScaleRowsOp op) { return emitScaleRows(program, op), true; })
      .Case([&](ClearRowsOp op) { return emitClearRows(program, op), true; })
      .Case([&](KeyListsOp op) { return emitKeyLists(op), true; })
      .Case([&](KeyWalkOp op) { return emitKeyWalk(op), true; })
      .Case([&](KeyBlockOp op) { return emitKeyBlock(op), true; })
      .Case([&](JointListOp op) { return emitJointList(op), true; })
      .Case([&](JointWalkOp op) { return program.setWalk(op, std::make_unique<JointWalk>(context, values, op)), true; })
      .Case([&](JointBlockOp op) { return emitJointBlock(op), true; })
      .Case([&](IfStepOp op) { return emitIfStep(op), true; })
      .Case([&](TileSoftmaxOp op) { return emitTileSoftmax(op), true; })
      .Case([&](SoftmaxBeginOp op) { return values.set(op, packState(softmaxOf(op.getSoftmax()).begin())), true; })
      .Case([&](ScoreBiasOp op) { return emitScoreBias(op), true; })
      .Case([&](KeyTermsOp op) { return emitKeyTerms(op), true; })
      .Case([&](RowMaximumOp op) { return emitRowMaximum(op), true; })
      .Case([&](AnyProbabilityOp op) { return emitAnyProbability(op), true; })
      .Case([&](ZeroProbabilitiesOp op) { return emitZeroProbabilities(op), true; })
      .Case([&](ExponentiateOp op) { return emitExponentiate(op), true; })
      .Case([&](RescaleOp op) { return emitRescale(op), true; })
      .Case([&](SumRowsOp op) { return emitSumRows(op), true; })
      .Case([&](StoreRowsOp op) { return emitStore(op), true; })
      .Case([&](StorePartOp op) { return emitPartStore(op), true; })
      .Case([&](WriteSumsOp op) { return emitWriteSums(op), true; })
      .Case([&](ReleaseSumsOp op) { return releaseSums(context, op), true; })
      .Case([&](AcquireSumsOp op) { return acquireSums(context, op), true; })
      .Case([&](ReadSumsOp op) { return emitReadSums(op), true; })
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Tiles and keys
//===----------------------------------------------------------------------===//

void SoftmaxSteps::emitQueryTile(QueryTileOp op) {
  Value panel = values.one(op.getPanel()), block = panel;
  if (!op.getForward()) {
    block = b.sub(b.sub(context.panels(), 1), panel);
  }
  QueryTile tile = context.tile(values.one(op.getTileRow()), block);
  values.assign(op.getResults(), {tile.batch, tile.head, tile.keyHead, tile.first});
}

void SoftmaxSteps::emitKeyLists(KeyListsOp op) {
  QueryTile tile;
  tile.batch = values.one(op.getBatch());
  tile.head = values.one(op.getHead());
  tile.first = values.one(op.getFirst());
  values.set(op, packState(context.keyLists(tile, op.getPacked())));
}

/// `sizes` are the queries and keys of a sequence, or none.
static void setSizes(QueryTile &tile, ArrayRef<Value> sizes) {
  if (sizes.empty())
    return;
  tile.queries = sizes[0];
  tile.keys = sizes[1];
}

/// `part` is a part of the keys and the number of parts, or nothing.
static KeyPart keyPartOf(ArrayRef<Value> part) { return part.empty() ? KeyPart() : KeyPart{part[0], part[1]}; }

void SoftmaxSteps::emitKeyWalk(KeyWalkOp op) {
  QueryTile tile;
  tile.first = values.one(op.getFirst());
  setSizes(tile, values.flat(op.getSizes()));
  KeyLists lists;
  if (op.getLists())
    lists = values.state<KeyLists>(op.getLists());
  KeyPart part = keyPartOf(values.flat(op.getPart()));
  program.setWalk(op, std::make_unique<KeyWalk>(context, op, tile, part, op.getLists() ? &lists : nullptr));
}

void SoftmaxSteps::emitKeyBlock(KeyBlockOp op) {
  Value block = values.one(op.getBlock());
  values.set(op.getKey(), b.mul(b.shiftRight(block, 1), op.getKeys()));
  values.set(op.getPartial(), b.equal(b.bitAnd(block, 1), 1));
}

void SoftmaxSteps::emitJointList(JointListOp op) {
  QueryTile tile;
  tile.batch = values.one(op.getBatch());
  tile.head = values.one(op.getHead());
  tile.first = values.one(op.getFirst());
  values.set(op, packState(context.jointList(tile)));
}

void SoftmaxSteps::emitJointBlock(JointBlockOp op) {
  JointEntry entry(b, values.one(op.getBlock()));
  Value key = b.mul(entry.block(), op.getKeys()), partial = b.boolean(false);
  if (op.getRow()) {
    entry.select(values.one(op.getRow()));
    key = b.bitOr(key, entry.keyIfAbsent());
    partial = entry.isPartial();
  }
  values.set(op.getKey(), key);
  values.set(op.getPartial(), partial);
}

void SoftmaxSteps::emitIfStep(IfStepOp op) {
  Value step = values.one(op.getStep());
  Block &body = op.getBody().front();
  b.ifThen(b.compare(arith::CmpIPredicate::sge, step, b.i32(0)), [&] {
    values.set(body.getArgument(0), b.mul(b.shiftRight(step, 1), op.getKeys()));
    program.emitBlock(body);
  });
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

Value SoftmaxSteps::threadRow() {
  Value thread = program.threadInGroup;
  Value lane = b.bitAnd(thread, 31), warp = b.shiftRight(thread, 5);
  return b.add(b.mul(warp, rowsOfWarp), b.shiftRight(lane, 2));
}

void SoftmaxSteps::emitTileSoftmax(TileSoftmaxOp op) {
  QueryTile tile;
  tile.batch = values.one(op.getBatch());
  tile.head = values.one(op.getHead());
  tile.first = values.one(op.getFirst());
  setSizes(tile, values.flat(op.getSizes()));
  Value row = b.add(values.one(op.getRow()), threadRow());
  TileSoftmax &made = softmaxes[op];
  made = {OnlineSoftmax::create(context, tile), b.add(tile.first, row)};
  made.softmax->computeQueryTerms(made.threadQuery);
}

RowState SoftmaxSteps::rowsOf(Value state) {
  ArrayRef<Value> all = values.of(state);
  return unpackState(all, RowState{/*m=*/Values(2), /*l=*/Values(2), /*hadTwo=*/Values(all.size() - 4)});
}

template <typename Op> ScorePositions SoftmaxSteps::positionsOf(Op op, Value terms) {
  Value column = b.shiftLeft(b.bitAnd(context.thread, 3), 1);
  SmallVector<ScorePositions::Block, 2> blocks;
  for (auto [key, isPartial] : llvm::zip(op.getKeys(), op.getPartial())) {
    ScorePositions::Block block = {values.one(key), b.add(values.one(key), column), values.one(isPartial)};
    if (auto numbered = key.template getDefiningOp<KeyBlockOp>()) {
      block.step = values.one(numbered.getBlock());
      block.keys = numbered.getKeys();
    }
    blocks.push_back(block);
  }
  // A divided step has half of the keys. Words and terms are laid out for a whole step, whose other half nobody uses.
  while (int64_t(blocks.size()) * context.keyBlock < context.tileKeys)
    blocks.push_back(blocks.back());
  const TileSoftmax &tile = softmaxes.find(op.getSoftmax())->second;
  KeyTerms computed = terms ? unpackState(values.of(terms), tile.softmax->noKeyTerms()) : KeyTerms();
  return ScorePositions(context, tile.threadQuery, blocks, computed);
}

void SoftmaxSteps::emitScoreBias(ScoreBiasOp op) {
  int64_t count = values.sumCount(op.getType());
  values.set(op, values.fromSums(softmaxOf(op.getSoftmax()).initialProducts(positionsOf(op), count)));
}

void SoftmaxSteps::emitKeyTerms(KeyTermsOp op) {
  values.set(op, packState(softmaxOf(op.getSoftmax()).computeKeyTerms(positionsOf(op))));
}

void SoftmaxSteps::emitRowMaximum(RowMaximumOp op) {
  Values scores = values.sums(op.getProducts());
  RowState rows = rowsOf(op.getState());
  Rescaling rescaling = softmaxOf(op.getSoftmax()).beginStep(positionsOf(op, op.getTerms()), scores, rows);
  values.set(op.getScores(), values.fromSums(scores));
  values.set(op.getRaised(), packState(rows));
  Values parts{rescaling.isNeeded};
  llvm::append_range(parts, rescaling.alpha);
  values.set(op.getRescaling(), parts);
}

void SoftmaxSteps::emitAnyProbability(AnyProbabilityOp op) {
  Values scores = values.sums(op.getScores());
  values.set(op, softmaxOf(op.getSoftmax()).mayHaveProbabilities(scores, rowsOf(op.getState())));
}

void SoftmaxSteps::emitZeroProbabilities(ZeroProbabilitiesOp op) {
  Values scores = values.sums(op.getScores());
  Value zero = softmaxOf(op.getSoftmax()).firstProbability(scores, rowsOf(op.getState()));
  values.set(op, values.fromSums(Values(scores.size(), zero)));
}

void SoftmaxSteps::emitExponentiate(ExponentiateOp op) {
  RowState rows = rowsOf(op.getState());
  Values scores = values.sums(op.getScores());
  Values probabilities = softmaxOf(op.getSoftmax()).finishStep(positionsOf(op, op.getTerms()), scores, rows);
  values.set(op.getProbabilities(), values.fromSums(probabilities));
  values.set(op.getSummed(), packState(rows));
}

void SoftmaxSteps::emitRescale(RescaleOp op) {
  ArrayRef<Value> parts = values.of(op.getRescaling());
  Rescaling rescaling = {parts.front(), Values(parts.drop_front())};
  Values rescaled = b.ifThenElse(
      rescaling.isNeeded, values.flatTypes(op.getType()),
      [&] { return values.fromSums(rescaling.apply(b, values.sums(op.getOutput()))); },
      [&] { return Values(values.of(op.getOutput())); });
  values.set(op, rescaled);
}

/// A thread has two of the columns of sums, with the same ones, of each row.
void SoftmaxSteps::emitSumRows(SumRowsOp op) {
  RowState rows = rowsOf(op.getState());
  if (!op.getOutput())
    return values.set(op, packState(finishRows(b, rows)));
  Values sums = ValueRange(values.sums(op.getOutput())).take_back(4);
  rows.l = {sums[0], sums[2]};
  values.set(op, packState(rows));
}

void SoftmaxSteps::emitStore(StoreRowsOp op) {
  QueryTile tile;
  tile.batch = values.one(op.getAt()[0]);
  tile.head = values.one(op.getAt()[1]);
  Value query = b.add(values.one(op.getAt()[2]), threadRow());
  Value end = op.getEnd() ? values.one(op.getEnd()) : context.queries();
  emitRowStore(context, tile, query, end, values.sums(op.getOutput()), rowsOf(op.getState()));
}

void SoftmaxSteps::emitPartStore(StorePartOp op) {
  QueryTile tile;
  tile.batch = values.one(op.getBatch());
  tile.head = values.one(op.getHead());
  Value query = b.add(values.one(op.getRow()), threadRow());
  Value end = op.getEnd() ? values.one(op.getEnd()) : context.queries();
  sparsec::emitPartStore(context, tile, query, end, keyPartOf(values.flat(op.getPart())), values.sums(op.getOutput()),
                         rowsOf(op.getState()));
}

/// m and l of the thread's rows are one more vector.
void SoftmaxSteps::emitWriteSums(WriteSumsOp op) {
  Values sums = values.sums(op.getAccumulator());
  if (op.getRows())
    llvm::append_range(sums, packState(rowsOf(op.getRows())));
  writeSums(context, op, sums);
}

void SoftmaxSteps::emitReadSums(ReadSumsOp op) {
  constexpr size_t rowValues = 4;
  const int64_t count = values.sumCount(op.getOutput().getType());
  Values sums = readSums(context, op, count + int64_t(rowValues));
  values.set(op.getRows(), Values(ValueRange(sums).take_back(rowValues)));
  sums.truncate(size_t(count));
  values.set(op.getOutput(), values.fromSums(sums));
}
