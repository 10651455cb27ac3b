// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory bounds a merge: it reads 2 D elements and 2 LSE of a row, and writes D elements and 1 LSE. Every element is
// moved once, 16 bytes at a time where the program may. The loads of the first passes are on their way before a thread
// waits for the LSE.

#include "MergeRows.h"

#include "Ptx.h"
#include "ScoreForm.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

/// Passes over a row of a static size that are emitted one after the other. More of them are a loop.
static constexpr int64_t mostUnrolledPasses = 4;
/// Passes whose loads do not wait for the LSE.
static constexpr int64_t earlyPasses = 2;
static constexpr int64_t wordsOfVector = vectorBytes / int64_t(sizeof(uint32_t));

namespace {

/// A tensor of the op.
struct Tensor {
  int64_t argument;
  Type element;

  explicit Tensor(Value operand)
      : argument(cast<BlockArgument>(operand).getArgNumber()),
        element(cast<RankedTensorType>(operand.getType()).getElementType()) {}
};

/// A part of a row: its LSE, the address of its elements, whether it is empty, and its weight in the result.
struct Part {
  Value lse, elements, isEmpty, weight;
};

/// A row of a thread.
struct Row {
  Value exists;
  Values place; // batch, head and query
  Part first, second;
  Value result; // address of its elements
};

/// Elements of a thread in a pass, of all its rows: words of 32 bits as they are in memory, or single elements.
struct RowPass {
  Value column;
  Value isInside; // the row; null: it is
  SmallVector<std::pair<Values, Values>> parts;
};

class RowMerge {
public:
  RowMerge(ProgramContext &context, MergeRowsOp op, Value tile)
      : context(context), b(context.b), op(op), tile(tile), first(op.getFirst()), firstLse(op.getFirstLse()),
        second(op.getSecond()), secondLse(op.getSecondLse()), result(op.getResult()), lse(op.getLse()) {}

  void emit();

private:
  Row findRow(int64_t number);
  Values placeOf(Value row);
  Part findPart(const Tensor &elements, const Tensor &logarithms, ValueRange place);
  Value weigh(Row &row);
  void storeLse(const Row &row, Value merged);

  RowPass loadPass(Value column, bool mayEnd);
  Values load(const Tensor &tensor, Value row, Value column);
  void storePass(const RowPass &pass);
  Values widen(const Tensor &tensor, const Part &part, ValueRange loaded);
  void store(Value pointer, ValueRange elements, Value isWritten);
  void mergeRemaining(int64_t passes);

  int64_t lanes() { return op.getLanes(); }
  int64_t vector() { return op.getVector(); }
  int64_t columnsOfPass() { return lanes() * vector(); }
  /// D, where it is static.
  std::optional<int64_t> columns() {
    int64_t size = op.getResult().getType().getDimSize(3);
    return ShapedType::isDynamic(size) ? std::nullopt : std::optional(size);
  }
  int64_t rowsOfThread() { return int64_t(op.getRows()) * lanes() / threadsOfWarps(context.schedule); }
  Value lane() { return b.modulo(context.thread, lanes()); }
  /// The first column of the lane in a pass.
  Value columnIn(int64_t pass) { return b.add(b.mul(lane(), vector()), pass * columnsOfPass()); }

  ProgramContext &context;
  KernelBuilder &b;
  MergeRowsOp op;
  Value tile;
  const Tensor first, firstLse, second, secondLse, result, lse;
  SmallVector<Row> rows;
};

} // namespace

bool MergeRows::emit(Operation &op) {
  auto merge = dyn_cast<MergeRowsOp>(op);
  if (merge)
    RowMerge(context, merge, values.one(merge.getTile())).emit();
  return bool(merge);
}

void RowMerge::emit() {
  for (int64_t i = 0; i < rowsOfThread(); ++i)
    rows.push_back(findRow(i));
  const int64_t passes = columns() ? llvm::divideCeil(*columns(), columnsOfPass()) : 1;
  SmallVector<RowPass> early;
  for (int64_t pass = 0; pass < std::min(passes, earlyPasses); ++pass)
    early.push_back(loadPass(columnIn(pass), !columns() || (pass + 1) * columnsOfPass() > *columns()));
  // The new LSE may be where that of a part is, which all lanes of the row have read now.
  ptx::barrierWarp(b);
  for (Row &row : rows)
    storeLse(row, weigh(row));
  for (const RowPass &pass : early)
    storePass(pass);
  mergeRemaining(int64_t(early.size()));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// A thread behind the last row reads that one, so that all threads of a warp do the same, and writes nothing.
Row RowMerge::findRow(int64_t number) {
  const int64_t rowsOfPass = threadsOfWarps(context.schedule) / lanes();
  Value begin = b.add(b.mul(tile, int64_t(op.getRows())), number * rowsOfPass);
  Value index = b.add(begin, b.divide(context.thread, lanes()));
  Value end = b.mul(b.mul(context.size(result.argument, 0), context.size(result.argument, 1)),
                    context.size(result.argument, 2));
  Row row;
  row.exists = b.less(index, end);
  row.place = placeOf(b.minimum(index, b.sub(end, 1)));
  row.first = findPart(first, firstLse, row.place);
  row.second = findPart(second, secondLse, row.place);
  Values begins = row.place;
  begins.push_back(b.i32(0));
  row.result = context.elementAddress(result.argument, result.element, begins);
  return row;
}

/// Rows follow one another in the order of the result's memory, in which its heads or its queries are closer together.
Values RowMerge::placeOf(Value row) {
  Value heads = context.size(result.argument, 1), queries = context.size(result.argument, 2);
  auto stride = [&](int64_t dimension) {
    return context.parameters.get(ParameterKind::stride, result.argument, dimension);
  };
  Value areHeadsInner = b.less(stride(1), stride(2)), inner = b.select(areHeadsInner, heads, queries);
  Value rowsOfBatch = b.mul(heads, queries), batch = b.divide(row, rowsOfBatch);
  Value inBatch = b.sub(row, b.mul(batch, rowsOfBatch)), high = b.divide(inBatch, inner);
  Value low = b.sub(inBatch, b.mul(high, inner));
  return {batch, b.select(areHeadsInner, low, high), b.select(areHeadsInner, high, low)};
}

Part RowMerge::findPart(const Tensor &elements, const Tensor &logarithms, ValueRange place) {
  Part part;
  part.lse = b.load(b.getF32Type(), context.elementAddress(logarithms.argument, b.getF32Type(), place));
  part.isEmpty = b.compareF(arith::CmpFPredicate::OEQ, part.lse, b.f32(-INFINITY));
  Values begin(place);
  begin.push_back(b.i32(0));
  part.elements = context.elementAddress(elements.argument, elements.element, begin);
  return part;
}

/// Sets the weights of the parts and gives the LSE. With m the larger LSE no exponential overflows, and one is 1. The
/// elements of an empty part count as 0 (see widen). Its weight is then -0: what it adds is -0, which changes no
/// number, not even 0 or -0. Where both are empty, both weights are 0.
Value RowMerge::weigh(Row &row) {
  Part &one = row.first, &other = row.second;
  Value m = b.larger(one.lse, other.lse);
  auto power = [&](const Part &part) { return ptx::exp2(b, b.mulF(b.subF(part.lse, m), b.f32(log2e))); };
  Value ofOne = power(one), ofOther = power(other), sum = b.addF(ofOne, ofOther);
  Value ofEmpty = b.select(b.logicalAnd(one.isEmpty, other.isEmpty), b.f32(0), b.f32(-0.0));
  auto weightOf = [&](const Part &part, const Part &beside, Value powerOfPart) {
    Value ofFull = b.select(beside.isEmpty, b.f32(1), b.divF(powerOfPart, sum));
    return b.select(part.isEmpty, ofEmpty, ofFull);
  };
  one.weight = weightOf(one, other, ofOne);
  other.weight = weightOf(other, one, ofOther);
  Value merged = b.addF(m, math::LogOp::create(b, sum));
  return b.select(other.isEmpty, one.lse, b.select(one.isEmpty, other.lse, merged));
}

void RowMerge::storeLse(const Row &row, Value merged) {
  Value pointer = context.elementAddress(lse.argument, b.getF32Type(), row.place);
  ptx::storeGlobal(b, pointer, merged, b.logicalAnd(row.exists, b.equal(lane(), 0)));
}

//===----------------------------------------------------------------------===//
// Passes over the columns
//===----------------------------------------------------------------------===//

/// Where the row may end in front of the lane, the lane reads the last columns, and writes nothing.
RowPass RowMerge::loadPass(Value column, bool mayEnd) {
  RowPass pass = {column, Value(), {}};
  if (mayEnd) {
    Value end = columns() ? b.i32(*columns()) : context.size(result.argument, 3);
    pass.isInside = b.less(column, end);
    pass.column = b.minimum(column, b.sub(end, vector()));
  }
  for (const Row &row : rows)
    pass.parts.emplace_back(load(first, row.first.elements, pass.column),
                            load(second, row.second.elements, pass.column));
  return pass;
}

Values RowMerge::load(const Tensor &tensor, Value row, Value column) {
  Value begin = b.elementPointer(row, tensor.element, b.extend(column));
  if (vector() == 1)
    return {b.load(tensor.element, begin)};
  const int64_t bytes = vector() * tensor.element.getIntOrFloatBitWidth() / 8;
  Values words;
  for (int64_t offset = 0; offset < bytes; offset += vectorBytes) {
    Value loaded = b.load(VectorType::get({wordsOfVector}, b.i32Type()), b.byteOffset(begin, offset));
    for (int64_t i = 0; i < wordsOfVector; ++i)
      words.push_back(LLVM::ExtractElementOp::create(b, loaded, b.i32(i)));
  }
  return words;
}

void RowMerge::storePass(const RowPass &pass) {
  for (auto [row, parts] : llvm::zip_equal(rows, pass.parts)) {
    Values merged;
    for (auto [ofFirst, ofSecond] :
         llvm::zip_equal(widen(first, row.first, parts.first), widen(second, row.second, parts.second)))
      merged.push_back(b.fma(ofFirst, row.first.weight, b.mulF(ofSecond, row.second.weight)));
    Value isWritten = pass.isInside ? b.logicalAnd(row.exists, pass.isInside) : row.exists;
    store(b.elementPointer(row.result, result.element, b.extend(pass.column)), merged, isWritten);
  }
}

/// Converts the loaded elements to f32. An empty part gives zeros, whatever its memory holds.
Values RowMerge::widen(const Tensor &tensor, const Part &part, ValueRange loaded) {
  if (vector() == 1)
    return {b.select(part.isEmpty, b.f32(0), b.widen(loaded.front()))};
  Value mask = b.select(part.isEmpty, b.i32(0), b.i32(-1));
  Values elements;
  for (Value word : loaded) {
    Value kept = b.bitAnd(word, mask);
    if (tensor.element.isF32()) {
      elements.push_back(b.fromBits(kept));
      continue;
    }
    Value pair = LLVM::BitcastOp::create(b, VectorType::get({2}, tensor.element), kept);
    for (int64_t i = 0; i < 2; ++i)
      elements.push_back(b.widen(LLVM::ExtractElementOp::create(b, pair, b.i32(i))));
  }
  return elements;
}

void RowMerge::store(Value pointer, ValueRange elements, Value isWritten) {
  if (vector() == 1)
    return ptx::storeGlobal(b, pointer, ptx::toElement(b, result.element, elements.front()), isWritten);
  Values words = result.element.isF32()
                     ? llvm::map_to_vector(elements, [&](Value element) { return b.bitsOf(element); })
                     : ptx::packPairs(b, result.element, elements);
  for (int64_t i = 0; i < int64_t(words.size()); i += wordsOfVector)
    ptx::storeGlobal(b, b.byteOffset(pointer, i * int64_t(sizeof(uint32_t))),
                     b.vector(ValueRange(words).slice(i, wordsOfVector)), isWritten);
}

/// From a pass on.
void RowMerge::mergeRemaining(int64_t pass) {
  if (columns() && *columns() <= mostUnrolledPasses * columnsOfPass()) {
    for (; pass * columnsOfPass() < *columns(); ++pass)
      storePass(loadPass(columnIn(pass), (pass + 1) * columnsOfPass() > *columns()));
    return;
  }
  b.forLoop(columnIn(pass), context.size(result.argument, 3), b.i32(columnsOfPass()), ValueRange(),
            [&](Value column, ValueRange) { return storePass(loadPass(column, /*mayEnd=*/false)), Values(); });
}
