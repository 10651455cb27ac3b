// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowState.h"

#include "RowReduction.h"

using namespace mlir;
using namespace sparsec;

RowState sparsec::emptyRows(KernelBuilder &b, double m) {
  Value first = b.f32(m);
  return {{first, first}, {b.f32(0), b.f32(0)}, /*hadTwo=*/{}};
}

RowState sparsec::finishRows(KernelBuilder &b, RowState rows) {
  for (Value &sum : rows.l)
    sum = reduceOverThreads(b, sum, [&](Value x, Value y) { return b.addF(x, y); });
  return rows;
}
