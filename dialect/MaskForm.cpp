// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MaskForm.h"

#include "SparsecDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sparsec;

using Predicate = arith::CmpIPredicate;

/// Values of a query stay in registers, two for a thread and a tile.
static constexpr size_t mostQueryValues = 3;

/// The predicate with operands in the other order, for signed comparisons.
static Predicate swapped(Predicate predicate) {
  switch (predicate) {
  case Predicate::slt:
    return Predicate::sgt;
  case Predicate::sle:
    return Predicate::sge;
  case Predicate::sgt:
    return Predicate::slt;
  case Predicate::sge:
    return Predicate::sle;
  default:
    return predicate;
  }
}

/// Limits of intervals are sums in 32 bits of a position, or a number that counts as one, and a constant. With larger
/// constants, as those that stand for no limit, they might overflow: such values are computed for each score.
static constexpr int64_t largestConstant = int64_t(1) << 28;

/// key `predicate` number + constant
static std::optional<KeyInterval> keysThat(Predicate predicate, KeyInterval interval, int64_t constant) {
  if (std::abs(constant) > largestConstant)
    return std::nullopt;
  switch (predicate) {
  case Predicate::slt:
    interval.end = constant;
    return interval;
  case Predicate::sle:
    interval.end = constant + 1;
    return interval;
  case Predicate::sgt:
    interval.begin = constant + 1;
    return interval;
  case Predicate::sge:
    interval.begin = constant;
    return interval;
  case Predicate::eq:
  case Predicate::ne:
    interval.begin = constant;
    interval.end = constant + 1;
    interval.isOutside = predicate == Predicate::ne;
    return interval;
  default: // unsigned
    return std::nullopt;
  }
}

std::optional<KeyInterval> MaskForm::interval(Value value) const {
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return std::nullopt;
  Predicate predicate = compare.getPredicate();
  // queries * query + keys * key + constant, compared with 0
  if (auto sum = positionDifference(compare.getLhs(), compare.getRhs())) {
    if (sum->keys == 0)
      return std::nullopt;
    KeyInterval interval;
    interval.queries = -sum->keys * sum->queries;
    return keysThat(sum->keys > 0 ? predicate : swapped(predicate), interval, -sum->keys * sum->constant);
  }
  for (auto [position, other, isLeft] :
       {std::tuple(compare.getLhs(), compare.getRhs(), true), std::tuple(compare.getRhs(), compare.getLhs(), false)}) {
    auto sum = positionSum(position);
    if (!sum || sum->queries != 0 || sum->keys != 1 || dependences.lookup(other).onKey)
      continue;
    KeyInterval interval;
    interval.origin = other;
    return keysThat(isLeft ? predicate : swapped(predicate), interval, -sum->constant);
  }
  return std::nullopt;
}

std::optional<TermEquality> MaskForm::equality(Value value) const {
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  if (!compare || (compare.getPredicate() != Predicate::eq && compare.getPredicate() != Predicate::ne))
    return std::nullopt;
  TermEquality terms = {compare.getLhs(), compare.getRhs(), compare.getPredicate() == Predicate::eq};
  if (!isOfQuery(terms.ofQuery))
    std::swap(terms.ofQuery, terms.ofKey);
  return isOfQuery(terms.ofQuery) && isOfKey(terms.ofKey) ? std::optional(terms) : std::nullopt;
}

/// The value of the query that a word of one of these forms takes; null: none.
Value MaskForm::queryValue(Value value) const {
  if (auto keys = interval(value))
    return keys->origin;
  if (isOfQuery(value))
    return value;
  auto terms = isOfKey(value) ? std::nullopt : equality(value);
  return terms ? terms->ofQuery : Value();
}

static bool isLogic(Operation *op) {
  auto isBit = [](Type type) { return type.isInteger(1); };
  return isa_and_nonnull<arith::AndIOp, arith::OrIOp, arith::XOrIOp, arith::SelectOp>(op) &&
         llvm::all_of(op->getOperandTypes(), isBit);
}

bool MaskForm::isMadeOfWords(Value value) const {
  if (!value.getType().isInteger(1))
    return false;
  if (interval(value) || isOfQuery(value) || isOfKey(value) || equality(value))
    return true;
  Operation *op = value.getDefiningOp();
  return isLogic(op) && llvm::all_of(op->getOperands(), [&](Value operand) { return made.contains(operand); });
}

/// All values of the query that the words of a value take.
llvm::SetVector<Value> MaskForm::queryValuesOf(Value value) const {
  llvm::SetVector<Value> needed, ofQuery;
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i) { // grows
    Value word = needed[i];
    if (Value taken = queryValue(word))
      ofQuery.insert(taken);
    else if (!interval(word) && !isOfKey(word))
      needed.insert_range(word.getDefiningOp()->getOperands());
  }
  return ofQuery;
}

MaskForm::MaskForm(Region &mask) {
  if (mask.empty())
    return;
  dependences = dependencesOf(mask);
  for (Operation &op : mask.front().without_terminator())
    if (isMadeOfWords(op.getResult(0)))
      made.insert(op.getResult(0));
  llvm::SetVector<Value> needed;
  needed.insert(yieldedValue(mask));
  for (size_t i = 0; i < needed.size(); ++i) { // grows
    Value value = needed[i];
    llvm::SetVector<Value> together = queryValues;
    if (made.contains(value))
      together.insert_range(queryValuesOf(value));
    if (made.contains(value) && together.size() <= mostQueryValues) {
      queryValues = together;
      words.push_back(value);
    } else if (Operation *op = value.getDefiningOp()) {
      needed.insert_range(op->getOperands());
    }
  }
  isWholeWord = llvm::is_contained(words, yieldedValue(mask));
  rest = RegionSplit(yieldedValue(mask), words);
}
