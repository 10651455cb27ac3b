// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host/HostMerge.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;

bool HostMerge::translateOther(Operation &op) {
  auto merge = dyn_cast<MergeRowsOp>(op);
  if (merge)
    emit(merge);
  return bool(merge);
}

void HostMerge::emit(MergeRowsOp op) {
  const int64_t rowsOfTile = op.getRows();
  Value rows = multiply(multiply(sizeOf(op.getResult(), 0), sizeOf(op.getResult(), 1)), sizeOf(op.getResult(), 2));
  Value first = multiply(number(op.getTile()), constant(rowsOfTile));
  loop(constant(0), inside(rows, first, rowsOfTile), [&](Value row) { emitRow(op, add(first, row)); });
}

void HostMerge::emitRow(MergeRowsOp op, Value row) {
  Value queries = sizeOf(op.getResult(), 2), heads = sizeOf(op.getResult(), 1), width = sizeOf(op.getResult(), 3);
  Value head = arith::DivSIOp::create(b, row, queries);
  SmallVector<Value> place = {arith::DivSIOp::create(b, head, heads), arith::RemSIOp::create(b, head, heads),
                              arith::RemSIOp::create(b, row, queries)};
  const Weights weights = weigh(op, place);
  place.push_back(constant(0));
  Tensor first = tensorOf(op.getFirst()), second = tensorOf(op.getSecond()), result = tensorOf(op.getResult());
  const Addresses addresses = {elementAddress(first, place),
                               elementAddress(second, place),
                               elementAddress(result, place),
                               first.elementType,
                               second.elementType,
                               result.elementType};
  const int64_t vector = op.getVector();
  Value behindVectors = multiply(arith::DivSIOp::create(b, width, constant(vector)), constant(vector));
  loop(constant(0), behindVectors, constant(vector),
       [&](Value column) { mergeElements(addresses, weights, column, vector); });
  loop(behindVectors, width, [&](Value column) { mergeElements(addresses, weights, column, 1); });
}

/// With m the larger LSE no exponential overflows, and one is 1. The elements of an empty part count as 0, and its
/// weight is -0: what it adds is -0, which changes no number, not even 0 or -0. Where both are empty, both weights are
/// 0.
HostMerge::Weights HostMerge::weigh(MergeRowsOp op, ArrayRef<Value> place) {
  auto logarithm = [&](Value tensor) { return load(f32, elementAddress(tensorOf(tensor), place), constant(0)); };
  Value first = logarithm(op.getFirstLse()), second = logarithm(op.getSecondLse());
  auto isEmpty = [&](Value lse) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, lse, f32Constant(-INFINITY));
  };
  auto select = [&](Value condition, Value x, Value y) -> Value { return arith::SelectOp::create(b, condition, x, y); };
  Weights weights;
  weights.isFirstEmpty = isEmpty(first);
  weights.isSecondEmpty = isEmpty(second);
  Value m = select(arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, first, second), first, second);
  auto power = [&](Value lse) -> Value { return math::ExpOp::create(b, arith::SubFOp::create(b, lse, m)); };
  Value ofFirst = power(first), ofSecond = power(second), sum = arith::AddFOp::create(b, ofFirst, ofSecond);
  Value areBothEmpty = arith::AndIOp::create(b, weights.isFirstEmpty, weights.isSecondEmpty);
  Value ofEmpty = select(areBothEmpty, f32Constant(0), f32Constant(-0.0f));
  auto weightOf = [&](Value isPartEmpty, Value isOtherEmpty, Value powerOfPart) {
    Value share = arith::DivFOp::create(b, powerOfPart, sum);
    return select(isPartEmpty, ofEmpty, select(isOtherEmpty, f32Constant(1), share));
  };
  weights.ofFirst = weightOf(weights.isFirstEmpty, weights.isSecondEmpty, ofFirst);
  weights.ofSecond = weightOf(weights.isSecondEmpty, weights.isFirstEmpty, ofSecond);
  Value merged = arith::AddFOp::create(b, m, math::LogOp::create(b, sum));
  store(select(weights.isSecondEmpty, first, select(weights.isFirstEmpty, second, merged)),
        elementAddress(tensorOf(op.getLse()), place), constant(0));
  return weights;
}

void HostMerge::mergeElements(const Addresses &row, const Weights &weights, Value column, int64_t count) {
  auto typeOf = [&](Type element) { return count == 1 ? element : VectorType::get(count, element); };
  auto wide = [&](Value scalar) { return count == 1 ? scalar : splat(scalar, VectorType::get(count, f32)); };
  auto loadElements = [&](Value base, Type element, Value isEmpty) -> Value {
    const unsigned alignment = element.getIntOrFloatBitWidth() / 8;
    Value loaded = LLVM::LoadOp::create(b, typeOf(element), address(element, base, column), alignment);
    Value widened = element == f32 ? loaded : arith::ExtFOp::create(b, typeOf(f32), loaded).getResult();
    return arith::SelectOp::create(b, isEmpty, wide(f32Constant(0)), widened);
  };
  Value first = loadElements(row.first, row.firstType, weights.isFirstEmpty);
  Value second = loadElements(row.second, row.secondType, weights.isSecondEmpty);
  Value ofSecond = arith::MulFOp::create(b, second, wide(weights.ofSecond));
  Value element = LLVM::FMAOp::create(b, first, wide(weights.ofFirst), ofSecond);
  if (row.resultType != f32)
    element = arith::TruncFOp::create(b, typeOf(row.resultType), element);
  LLVM::StoreOp::create(b, element, address(row.resultType, row.result, column),
                        row.resultType.getIntOrFloatBitWidth() / 8);
}
