// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One warp writes the lists of one block of queries. The scores become integers of the same order, and a search finds
// the least one that is chosen: each round counts the blocks from some integer on, and ends the search if the count is
// the wanted one. The rounds go down from the largest score in steps that become longer, until enough blocks are there,
// and then halve the last step. Most integers are those of scores near 0, where a binary search of all would begin. The
// scores that lists want are mostly within a few powers of two of the largest one. For 128 normal numbers and k = 16
// the search takes 7 rounds on average, and a binary search 12. If the blocks at the limit are more than there is room
// for, those with the lowest numbers are chosen.
//
// The first 128 blocks stay in registers. A warp loads the others again in every round.

#include "BlockTopK.h"

#include "PatternLists.h"
#include "Ptx.h"

#include <limits>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t topKWarps = 4;
/// They leave 40 registers for a thread. With 16 CTAs on an SM, as ptxas chooses, it spills.
constexpr int64_t topKCtasPerSm = 12;
/// Blocks of a lane in a round of loads, and in registers.
constexpr int64_t blocksOfRound = 4;
/// This key stands for the score of a block that is never chosen. The keys of all other scores are above it.
constexpr int64_t neverChosen = std::numeric_limits<int32_t>::min();
/// The first step of the search: a power of two has 2^23 f32.
constexpr int64_t firstStep = 1 << 23;

/// A block of a lane. All i32; the state is null where the call has no block mask.
struct ScoredBlock {
  Value block, key, state;
};

/// The result of the search. It chooses the blocks whose keys are at least `least`, and the blocks before `tieEnd`
/// whose key is `tied`. All i32.
struct Choice {
  Value least, tied, tieEnd;
};

/// `fromLow` keys are `low` or more: at least as many as wanted. Fewer than wanted are `high` or more. The next round
/// goes down from `high` by at most `step` (unsigned). All i32.
struct SearchRange {
  Value low, high, fromLow, step;

  auto fields() { return std::tie(low, high, fromLow, step); }
};

class BlockTopKEmitter {
public:
  explicit BlockTopKEmitter(QueryContext &context)
      : context(context), b(context.b), lists(context), lane(b.modulo(context.thread, warpLanes)) {}

  void emit();

private:
  Value input(int64_t number) { return context.parameters.get(ParameterKind::input, 0, number); }
  Values countsOf(Value list);
  Value limitOf(Value list);

  QueryContext &context;
  KernelBuilder &b;
  PatternLists lists;
  Value lane;
};

/// The choice of one list, with a block mask or without one.
class ListChooser {
public:
  ListChooser(KernelBuilder &b, PatternLists &lists, Value lane) : b(b), lists(lists), lane(lane) {}

  /// The blocks that may be chosen, the scores and the states (or null) of the list.
  void load(const KeyBlocks &candidates, Value scoresOfList, Value statesOfList);
  /// Writes the lists, of at most `limit` blocks together. The result: the numbers of entries by kind.
  Values write(Value list, Value limit);

private:
  using Visit = llvm::function_ref<Values(const ScoredBlock &block, ValueRange carried)>;
  Values forEachBlock(ValueRange carried, Visit visit);
  SmallVector<ScoredBlock> loadRound(Value first);
  Value keyOf(Value score);
  Value countFrom(Value least);
  SearchRange wholeRange();
  SearchRange halve(const SearchRange &range, Value wanted);
  Choice choose(Value limit);
  Value endOfTies(const SearchRange &range, Value wanted);
  Values append(Value list, const Choice &choice, const ScoredBlock &block, ValueRange counts);

  KernelBuilder &b;
  PatternLists &lists;
  Value lane, scores, states;
  KeyBlocks blocks;
  SmallVector<ScoredBlock> held;
};

void BlockTopKEmitter::emit() {
  lists.forListOfWarp(topKWarps, [&](Value list) { lists.storeCounts(list, countsOf(list), b.equal(lane, 0)); });
}

/// Writes the entries of a list, and counts them. The program differs where there is a block mask.
Values BlockTopKEmitter::countsOf(Value list) {
  KeyBlocks candidates = lists.reachableBlocks(list);
  Value first = b.mul(b.extend(list), b.extend(lists.keyBlocks())), mask = input(2);
  Value scores = b.elementPointer(input(0), b.getF32Type(), first);
  Value states = b.elementPointer(mask, b.getI8Type(), first);
  Value zero = b.i32(0);
  auto choose = [&](Value statesOfList) {
    ListChooser chooser(b, lists, lane);
    chooser.load(candidates, scores, statesOfList);
    return chooser.write(list, limitOf(list));
  };
  SmallVector<Type> types(2, b.i32Type());
  return b.ifThenElse(
      b.less(candidates.begin, candidates.end), types,
      [&] {
        return b.ifThenElse(b.isNotNull(mask), types, [&] { return choose(states); }, [&] { return choose(Value()); });
      },
      [&] { return Values{zero, zero}; });
}

/// The most blocks of the list: k, or the list's own number where that is less.
Value BlockTopKEmitter::limitOf(Value list) {
  Value k = arith::TruncIOp::create(b, b.i32Type(), context.parameters.get(ParameterKind::number));
  Value counts = input(1);
  return b.ifThenElse(
      b.isNotNull(counts), b.i32Type(),
      [&] {
        Value own = b.loadElement(b.i32Type(), counts, b.extend(list));
        return Values{b.minimum(k, arith::MaxSIOp::create(b, own, b.i32(0)))};
      },
      [&] { return Values{k}; })[0];
}

void ListChooser::load(const KeyBlocks &candidates, Value scoresOfList, Value statesOfList) {
  blocks = candidates;
  scores = scoresOfList;
  states = statesOfList;
  held = loadRound(blocks.begin);
}

/// The blocks of every lane from a first one on. The loads have no condition, so that several run at once.
SmallVector<ScoredBlock> ListChooser::loadRound(Value first) {
  SmallVector<ScoredBlock> round(blocksOfRound);
  SmallVector<Value> loaded;
  for (auto [i, each] : llvm::enumerate(round)) {
    each.block = b.add(b.add(first, int64_t(i) * warpLanes), lane);
    Value inside = b.extend(b.minimum(each.block, b.sub(blocks.end, 1)));
    loaded.push_back(b.loadElement(b.getF32Type(), scores, inside));
    if (states)
      each.state = arith::ExtUIOp::create(b, b.i32Type(), b.loadElement(b.getI8Type(), states, inside));
  }
  for (auto [each, score] : llvm::zip(round, loaded)) {
    Value counts =
        b.logicalAnd(b.less(each.block, blocks.end),
                     b.compareF(arith::CmpFPredicate::OGT, score, b.f32(-std::numeric_limits<double>::infinity())));
    if (states)
      counts = b.logicalAnd(
          counts, b.logicalOr(b.equal(each.state, SPARSEC_BLOCK_FULL), b.equal(each.state, SPARSEC_BLOCK_PARTIAL)));
    each.key = b.select(counts, keyOf(score), b.i32(neverChosen));
  }
  return round;
}

/// An integer of the score's order: the bits below the sign turn around where it is negative. The sum makes a 0 of -0.
Value ListChooser::keyOf(Value score) {
  Value bits = b.bitsOf(b.addF(score, b.f32(0)));
  Value sign = arith::ShRSIOp::create(b, bits, b.i32(31));
  return b.bitXor(bits, b.bitAnd(sign, std::numeric_limits<int32_t>::max()));
}

Values ListChooser::forEachBlock(ValueRange carried, Visit visit) {
  auto visitAll = [&](ArrayRef<ScoredBlock> round, ValueRange values) {
    Values next(values);
    for (const ScoredBlock &each : round)
      next = visit(each, next);
    return next;
  };
  Values next = visitAll(held, carried);
  const int64_t step = warpLanes * blocksOfRound;
  return b.forLoop(b.add(blocks.begin, step), blocks.end, b.i32(step), next,
                   [&](Value first, ValueRange values) { return visitAll(loadRound(first), values); });
}

/// How many blocks have keys that are at least `least`.
Value ListChooser::countFrom(Value least) {
  Value own = forEachBlock(b.i32(0), [&](const ScoredBlock &each, ValueRange count) {
    Value isCounted = b.logicalNot(b.less(each.key, least));
    return Values{b.add(count[0], arith::ExtUIOp::create(b, b.i32Type(), isCounted))};
  })[0];
  return ptx::sumOfWarp(b, own);
}

/// The range of all keys.
SearchRange ListChooser::wholeRange() {
  Value none = b.i32(neverChosen);
  Values found = forEachBlock({b.i32(0), none}, [&](const ScoredBlock &each, ValueRange values) {
    Value isCandidate = b.compare(arith::CmpIPredicate::ne, each.key, none);
    return Values{b.add(values[0], arith::ExtUIOp::create(b, b.i32Type(), isCandidate)),
                  arith::MaxSIOp::create(b, values[1], each.key)};
  });
  return {b.i32(neverChosen + 1), b.add(ptx::largestOfWarp(b, found[1]), 1), ptx::sumOfWarp(b, found[0]),
          b.i32(firstStep)};
}

/// One round: the part of an open range in which the least chosen key is. Differences of keys are unsigned.
SearchRange ListChooser::halve(const SearchRange &range, Value wanted) {
  Value half = b.shiftRight(b.sub(range.high, range.low), 1);
  Value middle = b.sub(range.high, arith::MinUIOp::create(b, half, range.step));
  Value count = countFrom(middle), isFew = b.less(count, wanted);
  return {b.select(isFew, range.low, middle), b.select(isFew, middle, range.high),
          b.select(isFew, range.fromLow, count), b.bitOr(range.step, b.shiftLeft(range.step, 1))};
}

/// Without candidates the range has no key, and nothing is above its begin.
Choice ListChooser::choose(Value limit) {
  SearchRange range = wholeRange();
  Value wanted = b.minimum(limit, range.fromLow);
  range = b.whileLoop(
      range,
      [&](const SearchRange &now) {
        Value isOpen = b.compare(arith::CmpIPredicate::ne, b.sub(now.high, now.low), b.i32(1));
        return b.logicalAnd(isOpen, b.less(wanted, now.fromLow));
      },
      [&](const SearchRange &now) { return halve(now, wanted); });
  Value hasTies = b.less(wanted, range.fromLow);
  Value tieEnd = b.ifThenElse(
      hasTies, b.i32Type(), [&] { return Values{endOfTies(range, wanted)}; }, [&] { return Values{blocks.begin}; })[0];
  return {b.select(hasTies, range.high, range.low), range.low, tieEnd};
}

/// The end of the first blocks with the least key for which there is room beside the ones above; 0 without room.
Value ListChooser::endOfTies(const SearchRange &range, Value wanted) {
  Value room = b.sub(wanted, countFrom(range.high)), zero = b.i32(0);
  Value own = forEachBlock({zero, zero}, [&](const ScoredBlock &each, ValueRange values) {
    Value isTied = b.compare(arith::CmpIPredicate::eq, each.key, range.low), votes = ptx::ballot(b, isTied);
    Value before = b.add(values[0], b.countBits(b.bitAnd(votes, ptx::lanesBefore(b))));
    Value isInside = b.logicalAnd(isTied, b.less(before, room));
    return Values{b.add(values[0], b.countBits(votes)), b.select(isInside, b.add(each.block, 1), values[1])};
  })[1];
  return ptx::largestOfWarp(b, own);
}

Values ListChooser::write(Value list, Value limit) {
  Choice choice = choose(limit);
  Value zero = b.i32(0);
  return forEachBlock({zero, zero},
                      [&](const ScoredBlock &each, ValueRange counts) { return append(list, choice, each, counts); });
}

/// Appends one block of every lane to the lists, of which `counts` are the numbers of entries.
Values ListChooser::append(Value list, const Choice &choice, const ScoredBlock &block, ValueRange counts) {
  Value isTied = b.compare(arith::CmpIPredicate::eq, block.key, choice.tied);
  Value isChosen = b.logicalOr(b.logicalNot(b.less(block.key, choice.least)),
                               b.logicalAnd(isTied, b.less(block.block, choice.tieEnd)));
  Values next(counts);
  for (ListKind kind : listKinds) {
    if (!states && kind == partialList)
      continue;
    Value isOfKind = states ? b.logicalAnd(isChosen, b.equal(block.state, stateOfKind[kind])) : isChosen;
    Value votes = ptx::ballot(b, isOfKind);
    Value before = b.countBits(b.bitAnd(votes, ptx::lanesBefore(b)));
    lists.append(kind, list, b.add(counts[kind], before), block.block, isOfKind);
    next[kind] = b.add(counts[kind], b.countBits(votes));
  }
  return next;
}

} // namespace

void sparsec::emitBlockTopK(ProgramOp program) {
  emitAuxiliary(program,
                {AuxiliaryKind::top_k_blocks, "_top_k", topKWarps, /*listsPerCta=*/topKWarps, 0, topKCtasPerSm},
                [](QueryContext &context) { BlockTopKEmitter(context).emit(); });
}
