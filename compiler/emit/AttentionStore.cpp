// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AttentionStore.h"

#include "Ptx.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr double ln2 = 0.6931471805599453;
/// The widest store.
static constexpr int64_t vectorBytes = 16;

/// Whether a row has seen a key.
static Value isNotEmpty(KernelBuilder &b, Value l) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, l, b.f32(0));
}

namespace {

/// The state of a row after its last key. The output counts `alpha` times.
struct FinalRow {
  Value m, l, alpha;
};

/// Writes one row of a thread.
class RowStore {
public:
  /// Rows of the result from `end` on are not there.
  RowStore(AttentionContext &context, const QueryTile &tile, Value query, Value end, FinalRow row)
      : context(context), b(context.b), tile(tile), query(query), m(row.m), l(row.l), alpha(row.alpha),
        exists(b.less(query, end)), hasKeys(isNotEmpty(b, l)) {}

  void storeOutput(ValueRange output, int64_t half);
  void storeLse();

private:
  using Scaled = llvm::function_ref<Value(int64_t group, int64_t i)>;
  void storeElements(Value row, Type element, Scaled scaled);
  void storePairs(Value row, Type element, Scaled scaled);
  void storeVectors(Value row, Type element, Scaled scaled);
  Values transposed(Values values);
  Value inRow() { return b.bitAnd(context.thread, 3); } // number of the thread among the four of a row

  AttentionContext &context;
  KernelBuilder &b;
  const QueryTile &tile;
  Value query, m, l, alpha, exists, hasKeys;
};

void RowStore::storeOutput(ValueRange output, int64_t half) {
  Type element =
      cast<RankedTensorType>(context.program.getBody().getArgument(context.result).getType()).getElementType();
  Value inverse = b.select(hasKeys, arith::DivFOp::create(b, alpha, l), b.f32(0));
  Value row = context.elementAddress(context.result, element, {tile.batch, tile.head, query, b.i32(0)});
  auto scaled = [&](int64_t group, int64_t i) -> Value {
    return arith::MulFOp::create(b, output[4 * group + 2 * half + i], inverse);
  };
  if (context.program.getAlignment() < vectorBytes)
    storeElements(row, element, scaled);
  else if (element.isF32())
    storePairs(row, element, scaled);
  else
    storeVectors(row, element, scaled);
}

/// Where rows are aligned to one element only.
void RowStore::storeElements(Value row, Type element, Scaled scaled) {
  Value first = b.elementPointer(row, element, b.extend(b.shiftLeft(inRow(), 1)));
  for (int64_t group = 0; group < context.valueDimension / 8; ++group)
    for (int64_t i = 0; i < 2; ++i)
      ptx::storeGlobal(b, b.elementPointer(first, element, b.i64(8 * group + i)),
                       ptx::toElement(b, element, scaled(group, i)), exists);
}

void RowStore::storePairs(Value row, Type element, Scaled scaled) {
  Value first = b.elementPointer(row, element, b.extend(b.shiftLeft(inRow(), 1)));
  for (int64_t group = 0; group < context.valueDimension / 8; ++group) {
    Values bits;
    for (int64_t i = 0; i < 2; ++i)
      bits.push_back(arith::BitcastOp::create(b, b.i32Type(), scaled(group, i)));
    ptx::storeGlobal(b, b.elementPointer(first, element, b.i64(8 * group)), b.vector(bits), exists);
  }
}

void RowStore::storeVectors(Value row, Type element, Scaled scaled) {
  Value first = b.elementPointer(row, element, b.extend(b.shiftLeft(inRow(), 3)));
  for (int64_t group = 0; group < context.valueDimension / 8; group += 4) {
    Values packed;
    for (int64_t i = 0; i < 4; ++i)
      packed.push_back(ptx::pack(b, element, scaled(group + i, 0), scaled(group + i, 1)));
    ptx::storeGlobal(b, b.elementPointer(first, element, b.i64(8 * group)), b.vector(transposed(packed)), exists);
  }
}

/// The four threads of a row hold pair t of each of four groups. Afterwards thread t holds all pairs of group t, which
/// lie side by side in memory: two rounds of exchanges, with the neighbour and with the one after it.
Values RowStore::transposed(Values values) {
  for (int64_t distance : {1, 2}) {
    Value isHigh = b.compare(arith::CmpIPredicate::ne, b.bitAnd(context.thread, distance), b.i32(0));
    for (int64_t low : {0, distance == 1 ? 2 : 1}) {
      Value &first = values[low], &second = values[low + distance];
      Value received = ptx::exchange(b, b.select(isHigh, first, second), distance);
      first = b.select(isHigh, received, first);
      second = b.select(isHigh, second, received);
    }
  }
  return values;
}

/// One of the four threads of a row writes. m is an exponent of 2 and l a sum of powers of 2; LSE is a natural
/// logarithm.
void RowStore::storeLse() {
  Value logarithm = arith::AddFOp::create(b, m, math::Log2Op::create(b, l));
  Value lse = b.select(hasKeys, arith::MulFOp::create(b, logarithm, b.f32(ln2)), b.f32(-INFINITY));
  Value isFirst = b.equal(inRow(), 0);
  Value pointer = context.elementAddress(*context.lse, b.getF32Type(), {tile.batch, tile.head, query});
  ptx::storeGlobal(b, pointer, lse, b.logicalAnd(exists, isFirst));
}

} // namespace

/// The sink joins the sum as the score of a key without a value. m rises to it where it is larger, so that nothing
/// overflows. A row without keys has the sink alone.
static FinalRow joinSink(KernelBuilder &b, Value sink, Value m, Value l) {
  Value hasKeys = isNotEmpty(b, l), exponent = b.mulF(sink, b.f32(log2e));
  Value newM = b.select(hasKeys, b.larger(m, exponent), exponent);
  Value alpha = b.select(hasKeys, ptx::exp2(b, b.subF(m, newM)), b.f32(0));
  Value ofSink = b.select(hasKeys, ptx::exp2(b, b.subF(exponent, newM)), b.f32(1));
  return {newM, b.addF(b.mulF(l, alpha), ofSink), alpha};
}

void sparsec::emitAttentionStore(AttentionContext &context, const QueryTile &tile, Value query, Value end,
                                 ValueRange output, const RowState &rows) {
  KernelBuilder &b = context.b;
  Value sink;
  if (context.sinks)
    sink = b.load(b.getF32Type(), context.elementAddress(*context.sinks, b.getF32Type(), {tile.head}));
  for (int64_t half = 0; half < 2; ++half) {
    Value m = rows.m[half], l = rows.l[half];
    FinalRow state = sink ? joinSink(b, sink, m, l) : FinalRow{m, l, b.f32(1)};
    RowStore store(context, tile, b.add(query, 8 * half), end, state);
    store.storeOutput(output, half);
    if (context.lse)
      store.storeLse();
  }
}
