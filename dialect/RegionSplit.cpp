// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RegionSplit.h"

#include "SparsecDialect.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sparsec;

/// Terms stay in registers: of a query two for a thread and a tile, of a key four for a thread and a step of 128 keys.
static constexpr size_t mostTerms = 3;

void Dependence::add(const Dependence &other) {
  onQuery |= other.onQuery;
  onKey |= other.onKey;
  loads |= other.loads;
}

static Dependence dependenceOf(BlockArgument argument) {
  bool isScore = argument.getType().isF32();
  int64_t place = placeOfIndex(argument);
  return {isScore || place == 2, isScore || place == 3, /*loads=*/false};
}

static bool isLoadByPosition(Operation &op) {
  auto element = dyn_cast<ElementOp>(op);
  return element && !isLoadOfTile(element);
}

llvm::DenseMap<Value, Dependence> sparsec::dependencesOf(Region &region) {
  llvm::DenseMap<Value, Dependence> dependences;
  for (BlockArgument argument : region.getArguments())
    dependences[argument] = dependenceOf(argument);
  for (Operation &op : region.front().without_terminator()) {
    Dependence dependence;
    for (Value operand : op.getOperands())
      dependence.add(dependences.lookup(operand));
    dependence.loads |= isLoadByPosition(op);
    dependences[op.getResult(0)] = dependence;
  }
  return dependences;
}

RegionSplit::RegionSplit(Value wanted, ArrayRef<Value> known) {
  llvm::DenseMap<Value, Dependence> dependences = dependencesOf(*wanted.getParentRegion());
  llvm::SetVector<Value> needed;
  needed.insert(wanted);
  for (size_t i = 0; i < needed.size(); ++i) { // grows
    Value value = needed[i];
    if (llvm::is_contained(known, value))
      continue;
    Dependence dependence = dependences.lookup(value);
    SmallVector<Value> &terms = dependence.onKey ? ofKey : ofQuery;
    if (dependence.loads && !dependence.onBoth() && terms.size() < mostTerms) {
      terms.push_back(value);
    } else if (Operation *op = value.getDefiningOp()) {
      loadsForScore |= isLoadByPosition(*op);
      needed.insert_range(op->getOperands());
    }
  }
}

RegionSplit RegionSplit::ofScore(const ScoreForm &form) {
  return form.scaled ? RegionSplit(form.scaled->value) : RegionSplit();
}
