// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionRole.h"

#include "ScheduleAttribute.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sparsec;

void AttentionRole::makeViews() {
  auto part = GroupPartOp::create(b, rowsOfGroup, schedule.getTileN(), /*across=*/1);
  group = part.getGroup();
  groupRow = part.getRow();
  auto view = [&](StringRef name, Value ring, Value row, int64_t rows, int64_t columns, Major major) -> Value {
    auto type = ViewType::get(context, rows, columns, parts.element, major);
    return named(ViewOp::create(b, type, ring, row, /*column=*/Value(), /*index=*/0), name);
  };
  queryView = view("q_view", parts.queryRing, groupRow, rowsOfGroup, parts.headDimension, Major::k);
  keyView = view("k_view", parts.keyRing, Value(), schedule.getTileN(), parts.headDimension, Major::k);
  valueView = view("v_view", parts.valueRing, Value(), schedule.getTileN(), parts.valueDimension, Major::mn);
}

/// Parts of the keys, and kernels that hide keys, have no registers for the four more sums: they would spill with three
/// tiles side by side, which gain more.
bool AttentionRole::sumsRows() const {
  SoftmaxOp softmax = parts.softmax;
  if (parts.isSplit || parts.hasSequences() || parts.keyLoop.getPattern() || softmax.getCausal() ||
      softmax.getWindowAttr() || !softmax.getMask().empty())
    return false;
  AttentionDescription problem;
  problem.valueDimension = parts.valueDimension;
  problem.hasFixedShift = form.hasFixedShift();
  return sumsRowsByProducts(toSchedule(schedule), problem);
}

Value AttentionRole::makeSoftmax(SequenceTile tile) {
  SoftmaxOp op = parts.softmax;
  QueryTileOp at = tile.tile;
  auto made = TileSoftmaxOp::create(b, at.getBatch(), at.getHead(), at.getFirst(), groupRow, tile.sizes(),
                                    op.getScale(), op.getExtras(), op.getCausal(), op.getWindowAttr());
  IRMapping mapping;
  op.getScore().cloneInto(&made.getScore(), mapping);
  op.getMask().cloneInto(&made.getMask(), mapping);
  return made;
}

AttentionRole::Step AttentionRole::stepOf(ValueRange blocks, int64_t keys) {
  Step step;
  for (Value message : blocks) {
    AttentionParts::KeyBlock block = parts.makeKeyBlock(b, message, group, keys);
    step.keys.push_back(block.key);
    step.partial.push_back(block.partial);
  }
  return step;
}

Value AttentionRole::makeTerms(ValueRange blocks, int64_t keys) {
  if (RegionSplit::ofScore(form).ofKey.empty() && !MaskForm(parts.softmax.getMask()).hasKeyTerms())
    return Value();
  Step step = stepOf(blocks, keys);
  return KeyTermsOp::create(b, softmax, step.keys, step.partial);
}

RowMaximumOp AttentionRole::raiseMaximum(Value scores, Value rows, const Step &step) {
  return RowMaximumOp::create(b, softmax, scores, rows, step.keys, step.partial, step.terms);
}

AttentionRole::Exponentials AttentionRole::exponentiate(Value scores, Value rows, const Step &step) {
  Value terms = form.hasFixedShift() ? step.terms : Value();
  auto exponentials = ExponentiateOp::create(b, softmax, scores, rows, step.keys, step.partial, terms);
  return {exponentials.getProbabilities(), exponentials.getSummed()};
}

Type AttentionRole::fragmentTypeOf(Value probabilities) {
  const int64_t keys = cast<AccumulatorType>(probabilities.getType()).getColumns();
  return FragmentType::get(context, rowsOfGroup, keys, parts.element);
}

Value AttentionRole::fragmentOf(Value probabilities) {
  return ToFragmentOp::create(b, fragmentTypeOf(probabilities), probabilities);
}

Value AttentionRole::biasOf(const Step &step) {
  const auto keys = int64_t(step.keys.size()) * parts.keyBlock;
  auto type = AccumulatorType::get(context, rowsOfGroup, keys);
  return form.bias ? ScoreBiasOp::create(b, type, softmax, step.keys, step.partial) : Value();
}
