// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Rescaling.h"

#include "RowReduction.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

Rescaling Rescaling::none(KernelBuilder &b) { return {b.boolean(false), Values(2, b.f32(1))}; }

Values Rescaling::apply(KernelBuilder &b, ValueRange output) const {
  Values rescaled(output);
  for (auto [index, value] : llvm::enumerate(rescaled))
    value = b.mulF(value, alpha[rowOfScore(index)]);
  return rescaled;
}
