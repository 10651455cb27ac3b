// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RowStore.h"

#include "Ptx.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr double ln2 = 0.6931471805599453;
/// The widest store.

Value sparsec::isNotEmpty(KernelBuilder &b, Value l) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, l, b.f32(0));
}

namespace {

/// Writes one row of a thread.
class RowStore {
public:
  /// A row that is not there is not written.
  RowStore(QueryContext &context, Value exists, FinalRow row)
      : context(context), b(context.b), m(row.m), l(row.l), alpha(row.alpha), exists(exists),
        hasKeys(isNotEmpty(b, l)) {}

  /// The half of `output` that belongs to the row. `alignment` is that of rows in memory, in bytes.
  void storeOutput(ValueRange output, int64_t half, Value row, Type element, int64_t alignment);
  void storeLse(Value pointer);
  /// The half as it is, f32, and m and l. A row without keys has no output.
  void storePart(ValueRange output, int64_t half, const PartRow &row);

private:
  using Scaled = llvm::function_ref<Value(int64_t group, int64_t i)>;
  void storeElements(Value row, Type element, Scaled scaled);
  void storeQuads(Value row, Scaled scaled);
  void storeVectors(Value row, Type element, Scaled scaled);
  Values transposed(Values values);
  Value inRow() { return b.bitAnd(context.thread, 3); } // number of the thread among the four of a row

  QueryContext &context;
  KernelBuilder &b;
  Value m, l, alpha, exists, hasKeys;
};

void RowStore::storeOutput(ValueRange output, int64_t half, Value row, Type element, int64_t alignment) {
  Value inverse = b.select(hasKeys, arith::DivFOp::create(b, alpha, l), b.f32(0));
  auto scaled = [&](int64_t group, int64_t i) -> Value {
    return arith::MulFOp::create(b, output[4 * group + 2 * half + i], inverse);
  };
  if (alignment < vectorBytes)
    storeElements(row, element, scaled);
  else if (element.isF32())
    storeQuads(row, scaled);
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

/// f32, four at a time. Two neighbours hold a pair each of these, in every group of eight: of two groups, each of them
/// takes one.
void RowStore::storeQuads(Value row, Scaled scaled) {
  Value isOdd = b.compare(arith::CmpIPredicate::ne, b.bitAnd(context.thread, 1), b.i32(0));
  Value column = b.add(b.mul(b.bitAnd(context.thread, 1), 8), b.shiftLeft(b.bitAnd(context.thread, 2), 1));
  Value first = b.elementPointer(row, b.getF32Type(), b.extend(column));
  for (int64_t group = 0; group < context.valueDimension / 8; group += 2) {
    Values low, high;
    for (int64_t i = 0; i < 2; ++i) {
      Value even = b.bitsOf(scaled(group, i)), odd = b.bitsOf(scaled(group + 1, i));
      Value received = ptx::exchange(b, b.select(isOdd, even, odd), 1);
      low.push_back(b.select(isOdd, received, even));
      high.push_back(b.select(isOdd, odd, received));
    }
    llvm::append_range(low, high);
    ptx::storeGlobal(b, b.elementPointer(first, b.getF32Type(), b.i64(8 * group)), b.vector(low), exists);
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
/// are neighbours in memory. It takes two rounds of exchanges, with the neighbour and with the one after it.
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

void RowStore::storePart(ValueRange output, int64_t half, const PartRow &row) {
  Value isFirst = b.equal(inRow(), 0);
  ptx::storeGlobal(b, row.sums, b.vector({b.bitsOf(m), b.bitsOf(l)}), b.logicalAnd(exists, isFirst));
  exists = b.logicalAnd(exists, hasKeys);
  storeQuads(row.output, [&](int64_t group, int64_t i) { return output[4 * group + 2 * half + i]; });
}

/// One of the four threads of a row writes.
void RowStore::storeLse(Value pointer) {
  Value lse = lseOf(b, m, l);
  ptx::storeGlobal(b, pointer, lse, b.logicalAnd(exists, b.equal(inRow(), 0)));
}

} // namespace

/// m is an exponent of 2 and l a sum of powers of 2.
Value sparsec::lseOf(KernelBuilder &b, Value m, Value l) {
  Value logarithm = arith::AddFOp::create(b, m, math::Log2Op::create(b, l));
  return b.select(isNotEmpty(b, l), arith::MulFOp::create(b, logarithm, b.f32(ln2)), b.f32(-INFINITY));
}

FinalRow sparsec::joinSink(KernelBuilder &b, Value sink, Value m, Value l) {
  Value hasKeys = isNotEmpty(b, l), exponent = b.mulF(sink, b.f32(log2e));
  Value newM = b.select(hasKeys, b.larger(m, exponent), exponent);
  Value alpha = b.select(hasKeys, ptx::exp2(b, b.subF(m, newM)), b.f32(0));
  Value ofSink = b.select(hasKeys, ptx::exp2(b, b.subF(exponent, newM)), b.f32(1));
  return {newM, b.addF(b.mulF(l, alpha), ofSink), alpha};
}

void sparsec::emitRowStore(QueryContext &context, const QueryTile &tile, Value query, Value end, ValueRange output,
                           const RowState &rows) {
  KernelBuilder &b = context.b;
  Type element =
      cast<RankedTensorType>(context.program.getBody().getArgument(context.result).getType()).getElementType();
  Value sink;
  if (context.sinks)
    sink = b.load(b.getF32Type(), context.elementAddress(*context.sinks, b.getF32Type(), {tile.head}));
  for (int64_t half = 0; half < 2; ++half) {
    Value m = rows.m[half], l = rows.l[half];
    FinalRow state = sink ? joinSink(b, sink, m, l) : FinalRow{m, l, b.f32(1)};
    Value row = b.add(query, 8 * half);
    RowStore store(context, b.less(row, end), state);
    Value place = context.elementAddress(context.result, element, {tile.batch, tile.head, row, b.i32(0)});
    store.storeOutput(output, half, place, element, static_cast<int64_t>(context.program.getAlignment()));
    if (context.lse)
      store.storeLse(context.elementAddress(*context.lse, b.getF32Type(), {tile.batch, tile.head, row}));
  }
}

PartRow sparsec::partRow(QueryContext &context, Value row, const KeyPart &part) {
  KernelBuilder &b = context.b;
  Type f32 = b.getF32Type();
  auto workspace = [&](int64_t elements) {
    auto attribute = WorkspaceAttr::get(b.getContext(), WorkspaceKind::scratch, elements * int64_t(sizeof(float)));
    return context.parameters.workspace(attribute);
  };
  Value entry = b.add(b.mul(row, b.extend(part.count)), b.extend(part.number));
  return {b.elementPointer(workspace(context.valueDimension), f32, b.mul(entry, context.valueDimension)),
          b.elementPointer(workspace(2), f32, b.mul(entry, 2))};
}

void sparsec::emitPartStore(QueryContext &context, const QueryTile &tile, Value query, Value end, const KeyPart &part,
                            ValueRange output, const RowState &rows) {
  KernelBuilder &b = context.b;
  Value head = b.add(b.mul(tile.batch, context.heads()), tile.head);
  Value firstRow = b.mul(b.extend(head), b.extend(context.queries()));
  for (int64_t half = 0; half < 2; ++half) {
    Value row = b.add(query, 8 * half);
    RowStore store(context, b.less(row, end), {rows.m[half], rows.l[half], /*alpha=*/Value()});
    store.storePart(output, half, partRow(context, b.add(firstRow, b.extend(row)), part));
  }
}
