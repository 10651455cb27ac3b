// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of a step is that of FlashAttention-3 (Shah et al., 2024, section 3.2): Q K(j), P V(j-1), softmax of j
// while the second product runs. Probabilities go from the accumulator layout of the first product straight into the A
// registers of the second one (PTX ISA 9.7.15.5.1).

#include "AttentionRole.h"

#include "sparsec/launch_info.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

/// The groups of a tile begin their first steps so far apart (bench/notes/attention-stagger.md).
constexpr int64_t nanosecondsApart = 200;

class AttentionConsumer : public AttentionRole {
public:
  AttentionConsumer(ImplicitLocOpBuilder &b, AttentionParts &parts) : AttentionRole(b, parts, rowsOfWarpgroup) {}

  void build();

private:
  /// The messages of the first keys of a tile and, where tiles start ahead, their scores. The block is `noBlock` as
  /// long as the scores have not been computed.
  struct FirstKeys {
    Value block, second, scores;

    Values values() const { return scores ? Values{block, second, scores} : Values{block, second}; }
    static FirstKeys of(ValueRange values);
  };
  /// The loop over tiles carries the cursors, and the messages that came with the queries. Where tiles start ahead, it
  /// also carries the first keys.
  struct NextTile {
    Value queries, keys;
    Value tileRow, panel;
    FirstKeys first;

    Values values() const;
    static NextTile of(ValueRange values);
  };
  /// The loop over steps carries the state between two of them.
  struct Progress {
    Value keys;          // the cursor of the keys of the step
    Value block, second; // the messages of that slot
    Value output;        // the sums of O
    Value probabilities; // of the step before
    Value rows;          // m and l
    Value issuer;        // as it was when the keys arrived; null where no tile yields to another
    /// Where sequences have sizes of their own: for each block of the step before, its number of keys that count.
    Values counts;

    Values values() const;
  };
  /// The keys of a step that a group multiplies: all, or in divided steps those of its own block row.
  struct KeysOfStep {
    Value keyView, valueView;
    int64_t count;
  };
  /// A tile after its last step.
  struct FinishedTile {
    Value keys, output, rows;
    Value end; // where tiles may be cut: the message beside the end of the list

    Values values() const { return end ? Values{keys, output, rows, end} : Values{keys, output, rows}; }
    static FinishedTile of(ValueRange values) {
      return {values[0], values[1], values[2], values.size() > 3 ? values[3] : Value()};
    }
  };

  /// Groups with parts of the keys wait for memory, not for one another. Bounded scores lose up to 5 %.
  bool staggersGroups() { return schedule.getConsumersM() > 1 && !parts.isSplit && !form.hasFixedShift(); }
  Progress progressOf(ValueRange values);
  SmallVector<StringRef> namesOfProgress();
  KeysOfStep halfOfGroup();
  void stagger(const NextTile &first);
  NextTile waitForTile(Value queries, Value keys);
  NextTile buildTile(const NextTile &tile);
  FirstKeys waitForFirstKeys(const NextTile &tile);
  FirstKeys waitForKeys(const NextTile &tile);
  FirstKeys noFirstKeys(Value scores);
  FinishedTile beginTile(const NextTile &tile);
  NextTile storeAndWait(const NextTile &tile, const FinishedTile &finished);
  FinishedTile buildStepsOfGroup(const NextTile &tile, const FinishedTile &none, const FirstKeys &first);
  Progress buildSteps(const NextTile &tile, const FinishedTile &none, const FirstKeys &first);
  Progress buildDividedSteps(const NextTile &tile, const Progress &shared);
  Values finishSteps(const NextTile &tile, const Progress &progress, ValueRange like,
                     function_ref<Values(const Progress &, Value product)> finish);
  FinishedTile complete(const Progress &progress, Value product, int64_t outstanding);
  Value sumRows(Value rows, Value output);
  Values finishAhead(const NextTile &tile, const Progress &progress, Value product);
  NextTile startNextTile(const NextTile &tile, const Progress &progress, Value product);
  void scaleQueries(Value cursor);
  void store(const FinishedTile &finished);
  FinishedTile passSteps(const NextTile &tile, const FinishedTile &none, ValueRange firstMessages);
  FinishedTile skipSteps(const NextTile &tile, const FinishedTile &none, const FirstKeys &first);
  Values chooseOfTypes(Value condition, TypeRange types, function_ref<Values()> then, function_ref<Values()> otherwise);
  /// The same with the types of `like`.
  Values chooseValues(Value condition, ValueRange like, function_ref<Values()> then, function_ref<Values()> otherwise) {
    return chooseOfTypes(condition, like.getTypes(), then, otherwise);
  }
  Progress firstStep(const NextTile &tile, const FinishedTile &none, const FirstKeys &first);
  Progress nextStep(const NextTile &tile, const Progress &progress, const KeysOfStep &own, const KeysOfStep &before);
  Progress waitForStep(Progress progress, Value cursor);
  /// Null where no linear bias makes all probabilities of far keys zero.
  Value anyProbability(RowMaximumOp maximum) {
    return form.bias ? AnyProbabilityOp::create(b, b.getI1Type(), softmax, maximum.getScores(), maximum.getRaised())
                     : Value();
  }
  Exponentials exponentiateIfAny(RowMaximumOp maximum, Value isAny, const Step &step);
  Value issueScores(Value queries, Value keys, ValueRange messages, const KeysOfStep &own);
  Value issueOutput(const Progress &progress, Value cursor, const KeysOfStep &of);
  void clearValues(const Progress &progress, Value cursor);
  Values countsOf(const Step &step);
  Step stepOf(ValueRange messages, const KeysOfStep &own) {
    return AttentionRole::stepOf(blocksOf(messages, own), parts.keyBlock);
  }
  Value makeTerms(ValueRange messages, const KeysOfStep &own) {
    return AttentionRole::makeTerms(blocksOf(messages, own), parts.keyBlock);
  }
  Values blocksOf(ValueRange messages, const KeysOfStep &own);
  /// Whether all queries of a group may be behind the last one, while another group has some: short sequences are
  /// packed, and decoding has as many as a head of keys has heads of queries. The main program of tensors that are not
  /// packed stays without the choice.
  bool mayHaveNoQueries() { return (parts.hasPackedQueries() || parts.isSplit) && schedule.getConsumersM() > 1; }
  Value queriesOfTile();
  void beginProducts(const Progress &progress);
  void endProducts();
  void release(Value ring, Value cursor) { ReleaseOp::create(b, ring, cursor, /*condition=*/Value()); }
  void releaseQueries(const NextTile &tile);
  Value advance(Value cursor) { return NextOp::create(b, parts.keyRing, cursor); }
  /// `end` is the message beside the end of a list, which has the other bits where tiles may be cut.
  Value anotherFollows(Value end) { return parts.isCut ? hasBit(end, tileFollowsBit) : isNot(end, 0); }
  Value hasBit(Value bits, int64_t bit) { return isNot(arith::AndIOp::create(b, bits, i32(b, bit)), 0); }
  Value isNot(Value value, int64_t number) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, i32(b, number));
  }
  Value sums(Value pending, int64_t outstanding);
  /// One of three tiles side by side lets another that issues products finish: mixed, their products would end at the
  /// same time, and both would exponentiate at the same time. Two tiles lose 2 to 4 % by it, and a soft cap gains
  /// nothing.
  bool yieldsToIssuer() { return schedule.getConcurrentTiles() > 2 && !form.hasFixedShift(); }

  /// Three tiles side by side share the instruction slots of an SM. Windows, lists together with a causal limit,
  /// sequences and regions, but for linear biases, need the uniform registers themselves.
  bool keepsDescriptors() {
    SoftmaxOp softmax = parts.softmax;
    return yieldsToIssuer() && !softmax.getWindow() && !(softmax.getCausal() && parts.keyLoop.getPattern()) &&
           (softmax.getScore().empty() || form.bias) && softmax.getMask().empty() && !parts.hasSequences();
  }
  void keepDescriptors(Value product) {
    if (keepsDescriptors())
      product.getDefiningOp<ProductOp>().setKeepsDescriptors(true);
  }

  SequenceTile sequenceTile;
  Value keptQueries; // of the tile; null where products read queries from shared memory
  KeysOfStep whole;  // all keys of a step
  KeysOfStep half;   // in a divided step; the views are null where there are none
};

AttentionConsumer::Values AttentionConsumer::Progress::values() const {
  Values all{keys, block, second, output, probabilities, rows};
  if (issuer)
    all.push_back(issuer);
  llvm::append_range(all, counts);
  return all;
}

AttentionConsumer::Progress AttentionConsumer::progressOf(ValueRange values) {
  Progress progress = {values[0], values[1], values[2], values[3], values[4], values[5], Value(), Values()};
  values = values.drop_front(6);
  if (yieldsToIssuer()) {
    progress.issuer = values.front();
    values = values.drop_front();
  }
  progress.counts = Values(values);
  return progress;
}

AttentionConsumer::FirstKeys AttentionConsumer::FirstKeys::of(ValueRange values) {
  return {values[0], values[1], values.size() > 2 ? values[2] : Value()};
}

AttentionConsumer::Values AttentionConsumer::NextTile::values() const {
  Values all{queries, keys, tileRow, panel};
  if (first.scores)
    llvm::append_range(all, first.values());
  return all;
}

AttentionConsumer::NextTile AttentionConsumer::NextTile::of(ValueRange values) {
  return {values[0], values[1], values[2], values[3],
          values.size() > 4 ? FirstKeys::of(values.drop_front(4)) : FirstKeys()};
}

void AttentionConsumer::build() {
  makeViews();
  whole = {keyView, valueView, schedule.getTileN()};
  if (parts.hasDividedSteps())
    half = halfOfGroup();
  Value queries = CursorOp::create(b, parts.queryRing), keys = CursorOp::create(b, parts.keyRing);
  NextTile first = waitForTile(queries, keys);
  if (parts.startsAhead())
    first.first = noFirstKeys(UnsetOp::create(b, scoreType()));
  if (staggersGroups())
    stagger(first);
  loopWhile(b, first.values(),
            {"query_slot", "key_slot", "tile_row", "panel", "first_block", "first_second", "first_scores"},
            {/*position=*/2, LoopTest::ne, endOfTiles},
            [&](ValueRange next) { return buildTile(NextTile::of(next)).values(); });
}

/// Group 0 multiplies the first half of the rows of a slot, group 1 the second half.
AttentionConsumer::KeysOfStep AttentionConsumer::halfOfGroup() {
  Value row = multiply(b, group, parts.keyBlock);
  auto view = [&](StringRef name, Value ring, int64_t columns, Major major) -> Value {
    auto type = ViewType::get(context, parts.keyBlock, columns, parts.element, major);
    return named(ViewOp::create(b, type, ring, row, /*column=*/Value(), /*index=*/0), name);
  };
  return {view("k_half", parts.keyRing, parts.headDimension, Major::k),
          view("v_half", parts.valueRing, parts.valueDimension, Major::mn), parts.keyBlock};
}

/// The messages of the blocks that a group multiplies in a step.
AttentionConsumer::Values AttentionConsumer::blocksOf(ValueRange messages, const KeysOfStep &own) {
  if (own.count == int64_t(schedule.getTileN()))
    return Values(messages.take_front(parts.blocksPerStep));
  return {arith::SelectOp::create(b, isNot(group, 0), messages[1], messages[0])};
}

/// The groups begin apart. Groups that begin together wait for their products together and exponentiate together, for
/// ten steps and more (bench/notes/attention-stagger.md).
void AttentionConsumer::stagger(const NextTile &first) {
  Value exists = isNot(first.tileRow, endOfTiles);
  auto branch = scf::IfOp::create(b, arith::AndIOp::create(b, exists, isNot(group, 0)), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  WaitOp::create(b, TypeRange(), parts.keyRing, first.keys);
  SleepOp::create(b, nanosecondsApart);
}

AttentionConsumer::NextTile AttentionConsumer::waitForTile(Value queries, Value keys) {
  auto wait = WaitOp::create(b, TypeRange{b.getI32Type(), b.getI32Type()}, parts.queryRing, queries);
  return {queries, keys, wait.getResult(0), wait.getResult(1), FirstKeys()};
}

AttentionConsumer::FirstKeys AttentionConsumer::waitForKeys(const NextTile &tile) {
  auto wait = WaitOp::create(b, TypeRange{b.getI32Type(), b.getI32Type()}, parts.keyRing, tile.keys);
  return {wait.getResult(0), wait.getResult(1), Value()};
}

/// Stands for the first keys of a tile that does not start ahead, where others do.
AttentionConsumer::FirstKeys AttentionConsumer::noFirstKeys(Value scores) {
  return {i32(b, parts.noBlock()), i32(b, 0), scores};
}

/// Where tiles start ahead, this gives the scores too. A list without blocks has an empty slot: nothing uses its
/// scores.
AttentionConsumer::FirstKeys AttentionConsumer::waitForFirstKeys(const NextTile &tile) {
  if (!parts.startsAhead())
    return waitForKeys(tile);
  Value isNone = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, tile.first.block, i32(b, parts.noBlock()));
  return FirstKeys::of(carryIf(b, isNone, tile.first.values(), [&] {
    FirstKeys found = waitForKeys(tile);
    found.scores = sums(issueScores(tile.queries, tile.keys, found.values(), whole), /*outstanding=*/0);
    return found.values();
  }));
}

/// If the queries move to registers, their slot is released at once.
AttentionConsumer::NextTile AttentionConsumer::buildTile(const NextTile &tile) {
  Value panel = tile.panel;
  if (parts.isCut)
    panel = arith::AndIOp::create(b, panel, i32(b, (int64_t(1) << SPARSEC_CUT_KIND_SHIFT) - 1));
  TilePartOp part = parts.makePart(b, panel);
  sequenceTile = parts.makeTile(b, part, tile.tileRow, panel);
  if (parts.keepsQueries()) {
    keptQueries = LoadFragmentOp::create(b, queryFragmentType(), queryView, tile.queries);
    release(parts.queryRing, tile.queries);
  }
  scaleQueries(tile.queries);
  FirstKeys first = waitForFirstKeys(tile);
  softmax = makeSoftmax(sequenceTile);
  FinishedTile none = beginTile(tile);
  Value hasKeys = isNot(first.block, endOfList);
  if (parts.startsAhead()) {
    auto finish = [&](const Progress &progress, Value product) { return finishAhead(tile, progress, product); };
    return NextTile::of(chooseValues(
        hasKeys, tile.values(), [&] { return finishSteps(tile, buildSteps(tile, none, first), tile.values(), finish); },
        [&] { return storeAndWait(tile, skipSteps(tile, none, first)).values(); }));
  }
  Values finished = chooseValues(
      hasKeys, none.values(), [&] { return buildStepsOfGroup(tile, none, first).values(); },
      [&] { return skipSteps(tile, none, first).values(); });
  return storeAndWait(tile, FinishedTile::of(finished));
}

/// A tile before its first step. The rest of one that is cut goes on where the worker before has stopped.
AttentionConsumer::FinishedTile AttentionConsumer::beginTile(const NextTile &tile) {
  Values begun{ZeroOp::create(b, outputType()), SoftmaxBeginOp::create(b, stateType(), softmax)};
  if (!parts.isCut)
    return {tile.keys, begun[0], begun[1], /*end=*/Value()};
  Value kind = arith::ShRUIOp::create(b, tile.panel, i32(b, SPARSEC_CUT_KIND_SHIFT));
  Value isRest = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, kind, i32(b, SPARSEC_CUT_REST));
  begun = carryIf(b, isRest, begun, [&] {
    AcquireSumsOp::create(b);
    return Values(ReadSumsOp::create(b, outputType(), stateType()).getResults());
  });
  return {tile.keys, begun[0], begun[1], /*end=*/i32(b, 0)};
}

/// Makes small scores of a soft cap those below 2.
void AttentionConsumer::scaleQueries(Value cursor) {
  if (!form.scaled || parts.softmax.getScale() || parts.keepsQueries())
    return;
  if (std::optional<int64_t> exponent = form.scaled->exponentOfQueries(parts.headDimension))
    ScaleRowsOp::create(b, parts.queryRing, cursor, groupRow, rowsOfGroup, *exponent, /*first_barrier=*/IntegerAttr());
}

AttentionConsumer::NextTile AttentionConsumer::storeAndWait(const NextTile &tile, const FinishedTile &finished) {
  store(finished);
  NextTile next = waitForTile(NextOp::create(b, parts.queryRing, tile.queries), finished.keys);
  // The assembler would keep registers for unset scores through all steps, so that these are zeros.
  if (parts.startsAhead())
    next.first = noFirstKeys(ZeroOp::create(b, scoreType()));
  return next;
}

void AttentionConsumer::store(const FinishedTile &finished) {
  auto storeRows = [&](Value rows) {
    Value query = add(b, sequenceTile.tile.getFirst(), groupRow);
    parts.makeStore(b, sequenceTile, query, finished.output, rows);
  };
  if (!parts.isCut)
    return storeRows(finished.rows);
  auto branch = scf::IfOp::create(b, TypeRange(), hasBit(finished.end, firstPartBit), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  WriteSumsOp::create(b, finished.output, finished.rows);
  ReleaseSumsOp::create(b);
  b.setInsertionPointToStart(branch.elseBlock());
  storeRows(sumRows(finished.rows, finished.output));
}

/// Gives the values of the branch that is taken.
AttentionConsumer::Values AttentionConsumer::chooseOfTypes(Value condition, TypeRange types,
                                                           function_ref<Values()> then,
                                                           function_ref<Values()> otherwise) {
  auto branch = scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise());
  return Values(branch.getResults());
}

/// The number of queries of the tile's sequence.
Value AttentionConsumer::queriesOfTile() {
  SequenceOp sequence = sequenceTile.sequence;
  if (!sequence)
    sequence = SequenceOp::create(b, parts.query, parts.key, sequenceTile.tile.getBatch(), /*query_starts=*/Value(),
                                  /*key_starts=*/Value(), /*key_lengths=*/Value(), /*page_table=*/Value());
  return sequence.getQueries();
}

/// The steps of a list that has blocks, for a group that may have no queries.
AttentionConsumer::FinishedTile AttentionConsumer::buildStepsOfGroup(const NextTile &tile, const FinishedTile &none,
                                                                     const FirstKeys &first) {
  auto finish = [&](const Progress &progress, Value product) {
    return complete(progress, product, /*outstanding=*/0).values();
  };
  auto compute = [&] { return finishSteps(tile, buildSteps(tile, none, first), none.values(), finish); };
  if (!mayHaveNoQueries())
    return FinishedTile::of(compute());
  Value query = add(b, sequenceTile.tile.getFirst(), groupRow);
  Value hasQueries = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, query, queriesOfTile());
  return FinishedTile::of(
      chooseValues(hasQueries, none.values(), compute, [&] { return passSteps(tile, none, first.values()).values(); }));
}

SmallVector<StringRef> AttentionConsumer::namesOfProgress() {
  SmallVector<StringRef> names{"slot", "block", "second", "output", "probabilities", "rows"};
  if (yieldsToIssuer())
    names.push_back("issuer");
  names.push_back("count");
  return names;
}

/// The steps of a list that has blocks, up to the product with the last values, or to the first divided step; the slot
/// of the first keys is full.
AttentionConsumer::Progress AttentionConsumer::buildSteps(const NextTile &tile, const FinishedTile &none,
                                                          const FirstKeys &first) {
  const LoopCondition isShared = {/*position=*/1, LoopTest::sge, 0};
  const LoopCondition hasBlock = {/*position=*/1, LoopTest::ne, endOfList};
  return progressOf(loopWhile(
      b, firstStep(tile, none, first).values(), namesOfProgress(), parts.hasDividedSteps() ? isShared : hasBlock,
      [&](ValueRange progress) { return nextStep(tile, progressOf(progress), whole, whole).values(); }));
}

/// The divided steps of a list, of which there is one at least, up to the product with the last values. The first one
/// multiplies the values of a step that is not divided.
AttentionConsumer::Progress AttentionConsumer::buildDividedSteps(const NextTile &tile, const Progress &shared) {
  return progressOf(loopWhile(
      b, nextStep(tile, shared, half, whole).values(), namesOfProgress(), {/*position=*/1, LoopTest::ne, endOfList},
      [&](ValueRange progress) { return nextStep(tile, progressOf(progress), half, half).values(); }));
}

/// Does the divided steps, if the list has any, and issues the product with the last values, which `finish` gets.
/// `finish` gives values of the types of `like`. The queries are free when the last scores are there, so that the next
/// tile's arrive while this one is finished.
AttentionConsumer::Values AttentionConsumer::finishSteps(const NextTile &tile, const Progress &progress,
                                                         ValueRange like,
                                                         function_ref<Values(const Progress &, Value product)> finish) {
  auto finishLast = [&](const Progress &last, const KeysOfStep &of) {
    releaseQueries(tile);
    clearValues(last, last.keys); // the messages are those of the last values
    return finish(last, issueOutput(last, last.keys, of));
  };
  if (!parts.hasDividedSteps())
    return finishLast(progress, whole);
  return chooseValues(
      isNot(progress.block, endOfList), like, [&] { return finishLast(buildDividedSteps(tile, progress), half); },
      [&] { return finishLast(progress, whole); });
}

/// The sums of the tile, of which `product` is the last one. Where tiles may be cut, those of rows are still to be
/// summed, because the rest of a tile goes on with them.
AttentionConsumer::FinishedTile AttentionConsumer::complete(const Progress &progress, Value product,
                                                            int64_t outstanding) {
  Value output = sums(product, outstanding);
  release(parts.keyRing, progress.keys);
  Value keys = advance(progress.keys);
  if (parts.isCut)
    return {keys, output, progress.rows, progress.second};
  return {keys, output, sumRows(progress.rows, output), /*end=*/Value()};
}

/// m and l of rows that have seen their last key.
Value AttentionConsumer::sumRows(Value rows, Value output) {
  return SumRowsOp::create(b, stateType(), rows, sumsRows() ? output : Value());
}

/// The message beside the last values says whether another tile follows, which then starts ahead. Else the store waits
/// for nothing: the end of tiles may come late.
AttentionConsumer::Values AttentionConsumer::finishAhead(const NextTile &tile, const Progress &progress,
                                                         Value product) {
  return chooseValues(
      anotherFollows(progress.second), tile.values(), [&] { return startNextTile(tile, progress, product).values(); },
      [&] { return storeAndWait(tile, complete(progress, product, /*outstanding=*/0)).values(); });
}

/// Stores the tile while the first scores of the next one are multiplied.
AttentionConsumer::NextTile AttentionConsumer::startNextTile(const NextTile &tile, const Progress &progress,
                                                             Value product) {
  Value queries = NextOp::create(b, parts.queryRing, tile.queries), keys = advance(progress.keys);
  NextTile next = waitForTile(queries, keys);
  next.first = waitForKeys(next);
  Value scores = issueScores(next.queries, next.keys, next.first.values(), whole);
  store(complete(progress, product, /*outstanding=*/1));
  next.first.scores = sums(scores, /*outstanding=*/0);
  return next;
}

/// A group without queries computes nothing, which leaves the SM to the other one. It comes to every slot, because a
/// slot is free when all groups have released it, and to the barriers that the groups share.
AttentionConsumer::FinishedTile AttentionConsumer::passSteps(const NextTile &tile, const FinishedTile &none,
                                                             ValueRange firstMessages) {
  releaseQueries(tile);
  // The step after the one of `messages`, whose last slot is `cursor`.
  auto nextStep = [&](Value cursor, ValueRange messages) -> SmallVector<Value> {
    Progress next = waitForStep({}, cursor);
    SmallVector<Value> carried{next.keys, next.block, next.second};
    llvm::append_range(carried, countsOf(stepOf(messages, whole)));
    return carried;
  };
  auto passedOf = [](ValueRange carried) {
    Progress progress;
    progress.keys = carried[0];
    progress.counts = Values(carried.drop_front(3));
    return progress;
  };
  release(parts.keyRing, tile.keys);
  SmallVector<Value> last = loopWhile(b, nextStep(tile.keys, firstMessages), {"slot", "block", "second", "count"},
                                      {/*position=*/1, LoopTest::ne, endOfList}, [&](ValueRange carried) {
                                        Value keys = carried[0], values = advance(keys);
                                        clearValues(passedOf(carried), values);
                                        release(parts.keyRing, keys);
                                        WaitOp::create(b, TypeRange(), parts.keyRing, values);
                                        release(parts.keyRing, values);
                                        return nextStep(values, carried.slice(1, 2));
                                      });
  Progress progress = passedOf(last);
  clearValues(progress, progress.keys);
  release(parts.keyRing, progress.keys);
  return {advance(progress.keys), none.output, none.rows, none.end};
}

/// A list without blocks has one slot, which says so.
AttentionConsumer::FinishedTile AttentionConsumer::skipSteps(const NextTile &tile, const FinishedTile &none,
                                                             const FirstKeys &first) {
  releaseQueries(tile);
  release(parts.keyRing, tile.keys);
  return {advance(tile.keys), none.output, none.rows, parts.isCut ? first.second : Value()};
}

/// Goes to the next slot, of keys or of the last values.
AttentionConsumer::Progress AttentionConsumer::waitForStep(Progress progress, Value cursor) {
  progress.keys = advance(cursor);
  auto wait = WaitOp::create(b, TypeRange{b.getI32Type(), b.getI32Type()}, parts.keyRing, progress.keys);
  progress.block = wait.getResult(0);
  progress.second = wait.getResult(1);
  if (yieldsToIssuer())
    progress.issuer = IssuerOp::create(b, b.getI32Type(), IntegerAttr());
  return progress;
}

/// Computes the probabilities of the first step. Output and rows begin as those of a tile without keys.
AttentionConsumer::Progress AttentionConsumer::firstStep(const NextTile &tile, const FinishedTile &none,
                                                         const FirstKeys &first) {
  Values messages{first.block, first.second};
  Value scores = first.scores, terms;
  if (!scores) {
    Value product = issueScores(tile.queries, tile.keys, messages, whole);
    terms = makeTerms(messages, whole);
    scores = sums(product, /*outstanding=*/0);
  }
  release(parts.keyRing, tile.keys);
  Step step = stepOf(messages, whole);
  step.terms = terms;
  Progress progress;
  progress.rows = none.rows;
  progress.output = none.output;
  if (!form.hasFixedShift()) {
    RowMaximumOp maximum = raiseMaximum(scores, progress.rows, step);
    scores = maximum.getScores();
    progress.rows = maximum.getRaised();
    if (parts.isCut) // the output of a rest is not zero
      progress.output = RescaleOp::create(b, outputType(), none.output, maximum.getRescaling());
  }
  Exponentials exponentials = exponentiate(scores, progress.rows, step);
  progress.probabilities = fragmentOf(exponentials.probabilities);
  progress.rows = exponentials.rows;
  progress.counts = countsOf(step);
  return waitForStep(progress, tile.keys);
}

/// Computes the scores of a step, and multiplies the values of the step before.
AttentionConsumer::Progress AttentionConsumer::nextStep(const NextTile &tile, const Progress &progress,
                                                        const KeysOfStep &own, const KeysOfStep &before) {
  Value keys = progress.keys, values = advance(keys);
  SmallVector<Value> messages{progress.block, progress.second};
  clearValues(progress, values);
  beginProducts(progress);
  Value product = issueScores(tile.queries, keys, messages, own);
  WaitOp::create(b, TypeRange(), parts.keyRing, values);
  Value output = issueOutput(progress, values, before);
  keepDescriptors(product);
  keepDescriptors(output);
  endProducts();
  Value terms = makeTerms(messages, own), scores = sums(product, /*outstanding=*/1);
  release(parts.keyRing, keys);

  Step step = stepOf(messages, own);
  step.terms = terms;
  Progress next;
  Exponentials exponentials;
  auto complete = [&] {
    next.output = sums(output, /*outstanding=*/0);
    release(parts.keyRing, values);
  };
  // Where exponentials are behind a branch, they hide the product. Else the assembler would move the wait up before
  // them anyhow, and conversions share the instruction slots with them instead. Conversions replace the operands of the
  // product, which must be complete.
  if (form.hasFixedShift()) {
    exponentials = exponentiate(scores, progress.rows, step);
    complete();
    exponentials.probabilities = fragmentOf(exponentials.probabilities);
  } else {
    RowMaximumOp maximum = raiseMaximum(scores, progress.rows, step);
    Value isAny = anyProbability(maximum);
    complete();
    next.output = RescaleOp::create(b, outputType(), next.output, maximum.getRescaling());
    exponentials = exponentiateIfAny(maximum, isAny, step);
  }
  next.rows = exponentials.rows;
  next.probabilities = exponentials.probabilities;
  next.counts = countsOf(step);
  return waitForStep(next, values);
}

/// The probabilities of a step as a fragment, and the state after it. Where a linear bias may leave a warp nothing, it
/// does without exponentials.
AttentionConsumer::Exponentials AttentionConsumer::exponentiateIfAny(RowMaximumOp maximum, Value isAny,
                                                                     const Step &step) {
  Value scores = maximum.getScores(), raised = maximum.getRaised();
  auto compute = [&]() -> Values {
    Exponentials exponentials = exponentiate(scores, raised, step);
    return {fragmentOf(exponentials.probabilities), exponentials.rows};
  };
  auto zero = [&]() -> Values { return {fragmentOf(ZeroProbabilitiesOp::create(b, softmax, scores, raised)), raised}; };
  Values found = isAny ? chooseOfTypes(isAny, {fragmentTypeOf(scores), raised.getType()}, compute, zero) : compute();
  return {found[0], found[1]};
}

/// Q K of a step. A linear bias is what the sums start from.
Value AttentionConsumer::issueScores(Value queries, Value keys, ValueRange messages, const KeysOfStep &own) {
  Value bias = biasOf(stepOf(messages, own));
  auto type = PendingType::get(context, rowsOfGroup, own.count);
  return ProductOp::create(b, type, parts.keepsQueries() ? keptQueries : queryView,
                           parts.keepsQueries() ? Value() : queries, own.keyView, keys, bias, parts.headDimension);
}

/// Makes the values of the step before zero that are behind the last key. All groups wait for each other there.
void AttentionConsumer::clearValues(const Progress &progress, Value cursor) {
  if (progress.counts.empty())
    return;
  Value keys = i32(b, parts.keyBlock), isNeeded;
  for (Value count : progress.counts) {
    Value isShort = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, count, keys);
    isNeeded = isNeeded ? Value(arith::OrIOp::create(b, isNeeded, isShort)) : isShort;
  }
  auto branch = scf::IfOp::create(b, isNeeded, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  WaitOp::create(b, TypeRange(), parts.keyRing, cursor);
  ClearRowsOp::create(b, parts.valueRing, cursor, progress.counts, /*first_barrier=*/IntegerAttr());
}

/// O + P V of the step before, whose values are in the slot.
Value AttentionConsumer::issueOutput(const Progress &progress, Value cursor, const KeysOfStep &of) {
  auto type = PendingType::get(context, rowsOfGroup, outputColumns());
  auto product = ProductOp::create(b, type, progress.probabilities, /*a_cursor=*/Value(), of.valueView, cursor,
                                   progress.output, of.count);
  if (sumsRows())
    product.setOnes(0);
  return product;
}

AttentionConsumer::Values AttentionConsumer::countsOf(const Step &step) {
  Values counts;
  if (SequenceOp sequence = sequenceTile.sequence)
    for (Value key : step.keys)
      counts.push_back(arith::SubIOp::create(b, sequence.getKeys(), key));
  return counts;
}

Value AttentionConsumer::sums(Value pending, int64_t outstanding) {
  auto type = cast<PendingType>(pending.getType());
  return AwaitOp::create(b, AccumulatorType::get(context, type.getRows(), type.getColumns()), pending, outstanding);
}

void AttentionConsumer::beginProducts(const Progress &progress) {
  if (yieldsToIssuer())
    IssueBeginOp::create(b, progress.issuer, IntegerAttr());
}

void AttentionConsumer::endProducts() {
  if (yieldsToIssuer())
    IssueEndOp::create(b, IntegerAttr());
}

/// Releases the queries' slot, if that has not been done when they moved to registers.
void AttentionConsumer::releaseQueries(const NextTile &tile) {
  if (!parts.keepsQueries())
    release(parts.queryRing, tile.queries);
}

} // namespace

void sparsec::buildAttentionConsumer(ImplicitLocOpBuilder &b, AttentionParts &parts) {
  AttentionConsumer(b, parts).build();
}
