// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA merges one row of Q. Part p has the sums O_p and l_p of powers of 2 with the exponents reduced by m_p. With
// m = max m_p the whole row has
//
//   l = sum of 2^(m_p - m) l_p,  O = sum of 2^(m_p - m) O_p / l
//
// Every warp reads all m_p and l_p and takes every eighth O_p; a lane has every 32nd column. The sums of the warps are
// added in their order, so that the result depends on the number of parts alone.

#include "MergeParts.h"

#include "Ptx.h"
#include "RowStore.h"
#include "Sequences.h"
#include "SideKernel.h"

#include <cmath>

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t mergeWarps = 8;
/// A thread stores a column.
constexpr int64_t mostColumns = mergeWarps * warpLanes;

class PartMerge {
public:
  /// With a dependent launch the kernel may start before that of the parts has ended.
  PartMerge(QueryContext &context, bool isDependent)
      : context(context), b(context.b), parts(context.parameters.get(ParameterKind::parts)), row(ptx::blockIndex(b)),
        warp(ptx::broadcastFirstLane(b, b.divide(context.thread, warpLanes))),
        lane(b.modulo(context.thread, warpLanes)), isDependent(isDependent) {}

  void emit();

private:
  /// m, an exponent of 2, and l.
  struct Sum {
    Value m, l;
  };
  void merge();
  Sum sumParts();
  Sum loadSum(Value number);
  Value overLanes(Value value, llvm::function_ref<Value(Value, Value)> combine);
  Values outputOfWarp(Value m);
  Value overWarps(ValueRange output);
  void store(Value output, const FinalRow &sum);
  PartRow part(Value number) { return partRow(context, b.extend(row), {number, parts}); }
  Value sharedElement(Value index) { return b.elementPointer(context.sharedMemory, b.getF32Type(), index); }
  /// Columns of a lane.
  int64_t columns() { return context.valueDimension / warpLanes; }

  QueryContext &context;
  KernelBuilder &b;
  Value parts, row, warp, lane;
  bool isDependent;
};

} // namespace

/// Rows of packed queries that belong to no sequence have no parts, and stay as they are.
void PartMerge::emit() {
  if (isDependent)
    ptx::gridDependencyWait(b);
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

/// m of a part without keys is -inf.
PartMerge::Sum PartMerge::loadSum(Value number) {
  Type f32 = b.getF32Type();
  Value sums = part(number).sums, l = b.load(f32, b.elementPointer(sums, f32, b.i64(1)));
  return {b.select(isNotEmpty(b, l), b.load(f32, sums), b.f32(-INFINITY)), l};
}

Value PartMerge::overLanes(Value value, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = warpLanes / 2; distance > 0; distance /= 2)
    value = combine(value, ptx::exchange(b, value, distance));
  return value;
}

/// Where no part has keys, m is 0 and so is l.
PartMerge::Sum PartMerge::sumParts() {
  auto larger = [&](Value left, Value right) { return b.larger(left, right); };
  Values largest = b.forLoop(lane, parts, b.i32(warpLanes), {b.f32(-INFINITY)}, [&](Value number, ValueRange carried) {
    return Values{larger(carried[0], loadSum(number).m)};
  });
  Value m = overLanes(largest[0], larger);
  m = b.select(b.compareF(arith::CmpFPredicate::OEQ, m, b.f32(-INFINITY)), b.f32(0), m);
  Values sum = b.forLoop(lane, parts, b.i32(warpLanes), {b.f32(0)}, [&](Value number, ValueRange carried) {
    Sum ofPart = loadSum(number);
    return Values{b.fma(ofPart.l, ptx::exp2(b, b.subF(ofPart.m, m)), carried[0])};
  });
  return {m, overLanes(sum[0], [&](Value left, Value right) { return b.addF(left, right); })};
}

/// The sums of the warp's parts, for the columns of the lane. A part without keys has written no output.
Values PartMerge::outputOfWarp(Value m) {
  Values zero(columns(), b.f32(0));
  return b.forLoop(warp, parts, b.i32(mergeWarps), zero, [&](Value number, ValueRange carried) {
    Sum ofPart = loadSum(number);
    Value weight = ptx::exp2(b, b.subF(ofPart.m, m)), output = part(number).output, counts = isNotEmpty(b, ofPart.l);
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
  for (int64_t i = 0; i < mergeWarps; ++i)
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
  const bool isDependent = hasDependentLaunch(program);
  SideKernelShape shape = {"_merge",    mergeWarps,  /*tilesOfCta=*/1,
                           /*tileM=*/1, mostColumns, mergeWarps * mostColumns * 4};
  LLVM::LLVMFuncOp function = emitSideKernel<QueryContext>(
      program, shape, [&](QueryContext &context) { PartMerge(context, isDependent).emit(); });
  auto unit = UnitAttr::get(program.getContext());
  function->setAttr("sparsec.merges_parts", unit);
  if (isDependent)
    function->setAttr("sparsec.dependent_launch", unit);
}
