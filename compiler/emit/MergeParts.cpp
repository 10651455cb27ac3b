// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA merges one row of Q. Part p has the output O_p and LSE_p, so with m = max LSE_p
//
//   l = sum of exp(LSE_p - m),  O = sum of exp(LSE_p - m) O_p / l,  LSE = m + log l
//
// Every warp reads all LSE and takes every eighth part of the output; a lane has every 32nd column. The sums of the
// warps are added in their order, so that the result depends on the number of parts alone.

#include "MergeParts.h"

#include "AttentionStore.h"
#include "PatternLists.h"
#include "Ptx.h"
#include "Sequences.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t warps = 8;
/// A thread stores a column.
constexpr int64_t mostColumns = warps * warpLanes;

class PartMerge {
public:
  explicit PartMerge(AttentionContext &context)
      : context(context), b(context.b), parts(context.parameters.get(ParameterKind::parts)), row(ptx::blockIndex(b)),
        warp(ptx::broadcastFirstLane(b, b.divide(context.thread, warpLanes))),
        lane(b.modulo(context.thread, warpLanes)) {}

  void emit();

private:
  /// m, an exponent of 2, and l of all parts together.
  struct Sum {
    Value m, l;
  };
  void merge();
  Sum sumParts();
  Value exponentOf(Value part);
  Value overLanes(Value value, llvm::function_ref<Value(Value, Value)> combine);
  Values outputOfWarp(Value m);
  Value overWarps(ValueRange output);
  void store(Value output, const FinalRow &sum);
  PartRow part(Value number) { return partRow(context, b.extend(row), {number, parts}); }
  Value sharedElement(Value index) { return b.elementPointer(context.sharedMemory, b.getF32Type(), index); }
  /// Columns of a lane.
  int64_t columns() { return context.valueDimension / warpLanes; }

  AttentionContext &context;
  KernelBuilder &b;
  Value parts, row, warp, lane;
};

} // namespace

/// Rows of packed queries that belong to no sequence have no parts, and stay as they are.
void PartMerge::emit() {
  PackedTileOp packed;
  context.program.walk([&](PackedTileOp op) { packed = op; });
  if (!packed)
    return merge();
  Value query = b.modulo(row, context.queries());
  b.ifThen(emitIsInSequence(context, packed.getStarts(), query), [&] { merge(); });
}

void PartMerge::merge() {
  Sum sum = sumParts();
  FinalRow final = {sum.m, sum.l, b.f32(1)};
  if (context.sinks) {
    Value head = b.modulo(b.divide(row, context.queries()), context.heads());
    Value sink = b.load(b.getF32Type(), context.elementAddress(*context.sinks, b.getF32Type(), {head}));
    final = joinSink(b, sink, sum.m, sum.l);
  }
  store(overWarps(outputOfWarp(sum.m)), final);
}

/// Of a part without keys -inf.
Value PartMerge::exponentOf(Value number) { return b.mulF(b.load(b.getF32Type(), part(number).lse), b.f32(log2e)); }

Value PartMerge::overLanes(Value value, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = warpLanes / 2; distance > 0; distance /= 2)
    value = combine(value, ptx::exchange(b, value, distance));
  return value;
}

/// Where no part has keys, m is 0 and so is l.
PartMerge::Sum PartMerge::sumParts() {
  constexpr double none = -std::numeric_limits<double>::infinity();
  auto larger = [&](Value left, Value right) { return b.larger(left, right); };
  Values largest = b.forLoop(lane, parts, b.i32(warpLanes), {b.f32(none)}, [&](Value number, ValueRange carried) {
    return Values{larger(carried[0], exponentOf(number))};
  });
  Value m = overLanes(largest[0], larger);
  m = b.select(b.compareF(arith::CmpFPredicate::OEQ, m, b.f32(none)), b.f32(0), m);
  Values sum = b.forLoop(lane, parts, b.i32(warpLanes), {b.f32(0)}, [&](Value number, ValueRange carried) {
    return Values{b.addF(carried[0], ptx::exp2(b, b.subF(exponentOf(number), m)))};
  });
  return {m, overLanes(sum[0], [&](Value left, Value right) { return b.addF(left, right); })};
}

/// The sums of the warp's parts, for the columns of the lane. A part without keys has written no output.
Values PartMerge::outputOfWarp(Value m) {
  Values zero(columns(), b.f32(0));
  return b.forLoop(warp, parts, b.i32(warps), zero, [&](Value number, ValueRange carried) {
    Value weight = ptx::exp2(b, b.subF(exponentOf(number), m)), output = part(number).output;
    Value counts = b.compareF(arith::CmpFPredicate::OGT, weight, b.f32(0));
    Values sums;
    for (int64_t i = 0; i < columns(); ++i) {
      Value pointer = b.elementPointer(output, b.getF32Type(), b.extend(b.add(lane, i * warpLanes)));
      Value element = b.select(counts, b.load(b.getF32Type(), pointer), b.f32(0));
      sums.push_back(b.fma(weight, element, carried[i]));
    }
    return sums;
  });
}

/// The sum of all warps, for the column of the thread; threads behind the last column get that of the last one.
Value PartMerge::overWarps(ValueRange output) {
  const int64_t width = context.valueDimension;
  for (int64_t i = 0; i < columns(); ++i) {
    Value index = b.add(b.add(b.mul(warp, width), lane), i * warpLanes);
    LLVM::StoreOp::create(b, output[i], sharedElement(index));
  }
  ptx::barrierCta(b);
  Value column = b.minimum(context.thread, b.i32(width - 1)), sum = b.f32(0);
  for (int64_t i = 0; i < warps; ++i)
    sum = b.addF(sum, b.load(b.getF32Type(), sharedElement(b.add(column, i * width))));
  return sum;
}

/// A thread stores one column, and the first one the LSE.
void PartMerge::store(Value output, const FinalRow &sum) {
  assert(context.valueDimension <= mostColumns && "a thread stores one column");
  Value query = b.modulo(row, context.queries()), head = b.divide(row, context.queries());
  Value batch = b.divide(head, context.heads());
  head = b.modulo(head, context.heads());
  Type element =
      cast<RankedTensorType>(context.program.getBody().getArgument(context.result).getType()).getElementType();
  Value scale = b.select(isNotEmpty(b, sum.l), b.divF(sum.alpha, sum.l), b.f32(0));
  Value pointer = context.elementAddress(context.result, element, {batch, head, query, context.thread});
  ptx::storeGlobal(b, pointer, ptx::toElement(b, element, b.mulF(output, scale)),
                   b.less(context.thread, context.valueDimension));
  if (context.lse)
    ptx::storeGlobal(b, context.elementAddress(*context.lse, b.getF32Type(), {batch, head, query}),
                     lseOf(b, sum.m, sum.l), b.equal(context.thread, 0));
}

void sparsec::emitPartMerge(ProgramOp program) {
  SideKernelShape shape = {"_merge", warps, /*tilesOfCta=*/1, /*tileM=*/1, mostColumns, warps * mostColumns * 4};
  LLVM::LLVMFuncOp function = emitBeside(program, shape, [](AttentionContext &context) { PartMerge(context).emit(); });
  function->setAttr("sparsec.merges_parts", UnitAttr::get(program.getContext()));
}
