// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MaskWords.h"

#include "Ptx.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// `query` and `key` may be null where the values do not depend on them.
Values MaskWords::compute(ValueRange wanted, Value query, Value key) {
  Value none = b.i32(0);
  return context.computeValues(*context.softmax.mask, {tile.batch, tile.head, query ? query : none, key ? key : none},
                               wanted);
}

void MaskWords::computeQueryValues(Value query) {
  if (form.queryValues.empty())
    return;
  for (int64_t distance : {0, 8})
    llvm::append_range(queryValues, compute(form.queryValues.getArrayRef(), b.add(query, distance), /*key=*/Value()));
}

Value MaskWords::ofQuery(Value value, int64_t row) const {
  size_t count = form.queryValues.size();
  return queryValues[row * count + (llvm::find(form.queryValues, value) - form.queryValues.begin())];
}

Values MaskWords::compute(const ScorePositions &positions) {
  known.clear();
  Values computed;
  for (Value value : form.words)
    llvm::append_range(computed, wordsOf(value, positions));
  return computed;
}

SmallVector<std::pair<Value, Value>> MaskWords::valuesOf(ValueRange computed, int64_t index) const {
  SmallVector<std::pair<Value, Value>> values;
  for (auto [i, value] : llvm::enumerate(form.words))
    values.push_back({value, words.bit(computed.slice(i * words.count(), words.count()), index)});
  return values;
}

Values MaskWords::wordsOf(Value value, const ScorePositions &positions) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  Values made = makeWords(value, positions);
  known[value] = made;
  return made;
}

Values MaskWords::makeWords(Value value, const ScorePositions &positions) {
  if (auto interval = form.interval(value))
    return wordsOfInterval(*interval, positions);
  if (form.isOfQuery(value))
    return wordsOfQuery(value);
  if (form.isOfKey(value))
    return wordsOfKey(value, positions);
  if (auto terms = form.equality(value))
    return wordsOfEquality(*terms, positions);
  return wordsOfLogic(*value.getDefiningOp(), positions);
}

Values MaskWords::wordsOfQuery(Value value) {
  Values all;
  for (int64_t row : {0, 1})
    all.append(words.count() / 2, b.select(ofQuery(value, row), b.i32(-1), b.i32(0)));
  return all;
}

/// The terms of the keys of a step, in registers of KeyTermLayout.
Values MaskWords::termsOfKeys(Value term, const ScorePositions &positions) {
  Value lane = b.bitAnd(context.thread, warpLanes - 1);
  return KeyTermLayout(b, context.tileKeys, term).compute(lane, [&](Value index) {
    return compute(term, /*query=*/Value(), positions.at(index).key);
  });
}

Values MaskWords::wordsOfKey(Value value, const ScorePositions &positions) {
  return words.ofKeys(termsOfKeys(value, positions));
}

Values MaskWords::wordsOfInterval(const KeyInterval &interval, const ScorePositions &positions) {
  Values all;
  if (interval.end)
    all = keysBefore(interval, *interval.end, positions);
  if (interval.begin) {
    Values from = inverse(keysBefore(interval, *interval.begin, positions));
    all = all.empty() ? from : words.combine(all, from, [&](Value x, Value y) { return b.bitAnd(x, y); });
  }
  return interval.isOutside ? inverse(all) : all;
}

/// The keys before `limit`, counted from the number of the query. A number that a region computes may be any: no key
/// is before the least one that counts here, and every key is before the largest one.
Values MaskWords::keysBefore(const KeyInterval &interval, int64_t limit, const ScorePositions &positions) {
  constexpr int64_t largest = int64_t(1) << 30;
  auto limitOf = [&](int64_t row) {
    Value number;
    if (interval.origin)
      number = b.minimum(arith::MaxSIOp::create(b, ofQuery(interval.origin, row), b.i32(-largest)), b.i32(largest));
    else
      number = b.mul(positions.queryOf(2 * row), interval.queries);
    return b.add(number, limit);
  };
  return words.before(positions, limitOf(0), limitOf(1));
}

Values MaskWords::inverse(ValueRange all) const {
  return llvm::map_to_vector(all, [&](Value word) { return b.bitXor(word, -1); });
}

/// The words of the keys whose term is `term`.
Values MaskWords::keysEqualTo(Value term, ValueRange terms) {
  Values ballots;
  Value column = b.bitAnd(context.thread, 3);
  for (Value ofKey : terms)
    ballots.push_back(
        arith::ShRUIOp::create(b, ptx::ballot(b, b.compare(arith::CmpIPredicate::eq, ofKey, term)), column));
  return words.ofKeys(ballots);
}

/// The queries of a warp are neighbours, and most often have one term. So the keys are compared with one term after the
/// other, by all lanes, until each row has found its own: once, instead of once for every score.
Values MaskWords::wordsOfEquality(const TermEquality &terms, const ScorePositions &positions) {
  Values ofKeys = termsOfKeys(terms.ofKey, positions);
  std::array<Value, 2> ofRows = {ofQuery(terms.ofQuery, 0), ofQuery(terms.ofQuery, 1)};
  struct Search {
    Value isFirstOpen, isSecondOpen; // rows whose term has not come yet
    Values found;
    auto fields() { return std::tie(isFirstOpen, isSecondOpen, found); }
  };
  Value yes = b.boolean(true);
  Search begin = {yes, yes, words.all(b.i32(0))};
  Values carried = packState(begin);
  Values results = b.whileLoop(
      carried, b.i32Type(),
      [&](ValueRange values) {
        Search search = unpackState(values, begin);
        Value open = ptx::ballot(b, b.logicalOr(search.isFirstOpen, search.isSecondOpen));
        return std::pair(b.compare(arith::CmpIPredicate::ne, open, b.i32(0)), Values{open});
      },
      [&](ValueRange values, ValueRange made) {
        Search search = unpackState(values, begin);
        Value wanted = b.select(search.isFirstOpen, ofRows[0], ofRows[1]);
        Value term = ptx::fromLane(b, wanted, b.lowestBit(made[0]));
        Values equal = keysEqualTo(term, ofKeys);
        size_t half = equal.size() / 2;
        for (auto [row, isOpen] : {std::pair(0, &search.isFirstOpen), std::pair(1, &search.isSecondOpen)}) {
          Value isOwn = b.compare(arith::CmpIPredicate::eq, ofRows[row], term);
          for (size_t i = row * half; i < (row + 1) * half; ++i)
            search.found[i] = b.select(isOwn, equal[i], search.found[i]);
          *isOpen = b.logicalAnd(*isOpen, b.logicalNot(isOwn));
        }
        return packState(search);
      });
  Values found = unpackState(results, begin).found;
  return terms.isEqual ? found : inverse(found);
}

Values MaskWords::wordsOfLogic(Operation &op, const ScorePositions &positions) {
  SmallVector<Values> operands =
      llvm::map_to_vector(op.getOperands(), [&](Value operand) { return wordsOf(operand, positions); });
  auto both = [&](const Values &x, const Values &y) {
    return words.combine(x, y, [&](Value left, Value right) { return b.bitAnd(left, right); });
  };
  auto either = [&](const Values &x, const Values &y) {
    return words.combine(x, y, [&](Value left, Value right) { return b.bitOr(left, right); });
  };
  return TypeSwitch<Operation *, Values>(&op)
      .Case([&](arith::AndIOp) { return both(operands[0], operands[1]); })
      .Case([&](arith::OrIOp) { return either(operands[0], operands[1]); })
      .Case([&](arith::XOrIOp) {
        return words.combine(operands[0], operands[1], [&](Value x, Value y) { return b.bitXor(x, y); });
      })
      .Case([&](arith::SelectOp) {
        return either(both(operands[0], operands[1]), both(inverse(operands[0]), operands[2]));
      });
}
