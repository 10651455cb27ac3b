// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowReduction.h"

#include "Ptx.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

Values sparsec::scoresOfRow(ValueRange scores, int64_t row) {
  Values values;
  for (size_t index = 2 * row; index < scores.size(); index += 4)
    values.append({scores[index], scores[index + 1]});
  return values;
}

void sparsec::setScoresOfRow(Values &scores, int64_t row, ValueRange values) {
  for (auto [index, value] : llvm::enumerate(values))
    scores[4 * (index / 2) + 2 * row + index % 2] = value;
}

Value sparsec::reduceInThread(ValueRange values, size_t chains, Combine combine) {
  Values partial(values.take_front(chains));
  for (auto [index, value] : llvm::enumerate(values.drop_front(chains)))
    partial[index % chains] = combine(partial[index % chains], value);
  for (size_t count = chains / 2; count > 0; count /= 2)
    for (size_t i = 0; i < count; ++i)
      partial[i] = combine(partial[2 * i], partial[2 * i + 1]);
  return partial[0];
}

Value sparsec::largestByBits(KernelBuilder &b, ValueRange values) {
  Values bits = llvm::map_to_vector(values, [&](Value value) { return b.bitsOf(value); });
  auto largerBits = [&](Value x, Value y) -> Value { return arith::MaxSIOp::create(b, x, y); };
  Values partial(ValueRange(bits).take_front(chainsOfMaximum));
  for (size_t index = chainsOfMaximum; index < bits.size(); index += 2) {
    Value &chain = partial[index / 2 % chainsOfMaximum];
    chain = largerBits(largerBits(chain, bits[index]), bits[index + 1]);
  }
  return b.fromBits(reduceInThread(partial, chainsOfMaximum, largerBits));
}

Value sparsec::reduceOverThreads(KernelBuilder &b, Value value, Combine combine) {
  for (int64_t distance : {1, 2})
    value = combine(value, b.fromBits(ptx::exchange(b, b.bitsOf(value), distance)));
  return value;
}
