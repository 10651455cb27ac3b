// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OnlineSoftmax.h"

#include "FixedShift.h"
#include "Ptx.h"
#include "RunningMaximum.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

std::unique_ptr<OnlineSoftmax> OnlineSoftmax::create(QueryContext &context, const QueryTile &tile) {
  context.loadForTile(tile);
  if (context.scoreForm.hasFixedShift())
    return std::make_unique<FixedShift>(context, tile);
  return std::make_unique<RunningMaximum>(context, tile);
}

Value OnlineSoftmax::mayHaveProbabilities(ValueRange, const RowState &) { return b.boolean(true); }

Value OnlineSoftmax::firstProbability(ValueRange scores, const RowState &rows) {
  return ptx::exp2(b, scale.exponent(scores.front(), b.negateF(rows.m.front())));
}

/// How many partial sums a thread computes side by side. Measured: short rows lose 2 % with four, long ones 1 % with
/// two.
static size_t chainsOfSum(size_t scores) { return scores >= 32 ? 4 : 2; }

Values OnlineSoftmax::exponentiate(ValueRange scores, RowState &rows, Exponent exponent) {
  Values probabilities(scores);
  for (int64_t row = 0; row < 2; ++row) {
    Values values = scoresOfRow(scores, row);
    Value negativeM = b.negateF(rows.m[row]);
    for (Value &value : values)
      value = ptx::exp2(b, exponent(value, negativeM));
    if (!context.hasSumsInProducts) {
      Value sum = reduceInThread(values, chainsOfSum(values.size()), [&](Value x, Value y) { return b.addF(x, y); });
      rows.l[row] = b.addF(rows.l[row], sum);
    }
    setScoresOfRow(probabilities, row, values);
  }
  return probabilities;
}

Values OnlineSoftmax::exponentiate(ValueRange scores, RowState &rows) {
  return exponentiate(scores, rows, [&](Value score, Value negativeM) { return scale.exponent(score, negativeM); });
}
