// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionStore.h"

#include "Ptx.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;

static constexpr double ln2 = 0.6931471805599453;

namespace {

/// Writes one row of a thread.
class RowStore {
public:
  RowStore(AttentionContext &context, const QueryTile &tile, Value query, Value maximum, Value sum)
      : context(context), b(context.b), tile(tile), query(query), maximum(maximum), sum(sum),
        exists(b.less(query, context.queries())),
        hasKeys(arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, sum, b.f32(0))) {}

  void storeOutput(ValueRange output, int64_t half);
  void storeLse();

private:
  AttentionContext &context;
  KernelBuilder &b;
  const QueryTile &tile;
  Value query, maximum, sum, exists, hasKeys;
};

void RowStore::storeOutput(ValueRange output, int64_t half) {
  Type element =
      cast<RankedTensorType>(context.program.getBody().getArgument(context.result).getType()).getElementType();
  Value inverse = b.select(hasKeys, arith::DivFOp::create(b, b.f32(1), sum), b.f32(0));
  Value column = b.shiftLeft(b.bitAnd(context.thread, 3), 1);
  Value row = context.elementAddress(context.result, element, {tile.batch, tile.head, query, column});
  for (int64_t group = 0; group < context.headDimension / 8; ++group) {
    Value low = arith::MulFOp::create(b, output[4 * group + 2 * half], inverse);
    Value high = arith::MulFOp::create(b, output[4 * group + 2 * half + 1], inverse);
    Value place = b.elementPointer(row, element, b.i64(8 * group));
    if (element.isF32()) {
      ptx::storeGlobal(b, place, low, exists);
      ptx::storeGlobal(b, b.elementPointer(place, element, b.i64(1)), high, exists);
    } else {
      ptx::storeGlobal(b, place, ptx::pack(b, element, low, high), exists);
    }
  }
}

/// One of the four threads of a row. The sum is one of powers of 2.
void RowStore::storeLse() {
  Value logarithm = arith::AddFOp::create(b, maximum, math::Log2Op::create(b, sum));
  Value lse = b.select(hasKeys, arith::MulFOp::create(b, logarithm, b.f32(ln2)), b.f32(-INFINITY));
  Value isFirst = b.equal(b.bitAnd(context.thread, 3), 0);
  Value place = context.elementAddress(*context.lse, b.getF32Type(), {tile.batch, tile.head, query});
  ptx::storeGlobal(b, place, lse, b.logicalAnd(exists, isFirst));
}

} // namespace

void sparsec::emitAttentionStore(AttentionContext &context, const QueryTile &tile, Value query, ValueRange output,
                                 const SoftmaxState &state) {
  for (int64_t half = 0; half < 2; ++half) {
    Value row = context.b.add(query, 8 * half);
    RowStore store(context, tile, row, state.maximum[half], state.sum[half]);
    store.storeOutput(output, half);
    if (context.lse)
      store.storeLse();
  }
}
