// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A CTA merges some rows of Q. Part p has the sums O_p and l_p of powers of 2 with the exponents reduced by m_p. With
// m = max m_p the whole row has
//
//   l = sum of 2^(m_p - m) l_p,  O = sum of 2^(m_p - m) O_p / l
//
// A row has some warps of the CTA. Each of them reads all m_p and l_p and takes every n-th O_p; a lane has four
// columns. The sums of the warps are added in their order, so that the result depends on the number of parts alone.
// Memory takes most of the time: the outputs of the first parts are on their way before the sums are known.

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

/// More warps merge a row of many parts sooner. Fewer warps for each row need fewer CTAs where there are many rows.
constexpr int64_t warpsOfRow = 4, rowsOfCta = 2, mergeWarps = warpsOfRow * rowsOfCta,
                  threadsOfRow = warpsOfRow * warpLanes;
/// A warp loads the outputs of so many parts at a time. Few parts have a branch of their own: a batch takes time for
/// parts that are not there, .9 us for 8 parts in batches of 8 (bench/notes/attention-decode.md).
constexpr int64_t partsOfSmallBatch = 2, partsOfBatch = 6, fewParts = partsOfSmallBatch * warpsOfRow;
constexpr int64_t mostColumns = 256, columnsOfVector = 4;

class PartMerge {
public:
  /// With a dependent launch the kernel may start before that of the parts has ended.
  PartMerge(QueryContext &context, bool isDependent);

  void emit();

private:
  /// m, an exponent of 2, and l.
  struct Sum {
    Value m, l;
  };
  /// A lane holds the sum of a part and some elements of its output.
  struct Part {
    Sum sum;
    Values output;
  };
  void merge();
  void mergeInBatches(int64_t batch);
  Sum sumParts();
  Sum loadSum(Value number);
  Value overLanes(Value value, llvm::function_ref<Value(Value, Value)> combine);
  llvm::SmallVector<Part> loadParts(Value first, int64_t batch);
  Values addParts(llvm::ArrayRef<Part> loaded, Value m, Values output);
  void store(ValueRange output, const FinalRow &sum);
  PartRow part(Value number) { return partRow(context, b.extend(row), {number, parts}); }
  Value sharedElement(Value index) { return b.elementPointer(context.sharedMemory, b.getF32Type(), index); }
  /// The number of vector i of the lane in a row; lanes behind the last one take that one too.
  Value vectorAt(int64_t i) {
    return b.minimum(b.add(lane, i * warpLanes), b.i32(context.valueDimension / columnsOfVector - 1));
  }
  int64_t vectorsOfLane() { return llvm::divideCeil(context.valueDimension, columnsOfVector * warpLanes); }

  QueryContext &context;
  KernelBuilder &b;
  Value parts;
  Value thread, warp, lane; // among those of the row
  Value rowOfCta, row;
  Value batch, head, query;
  bool isDependent;
};

} // namespace

PartMerge::PartMerge(QueryContext &context, bool isDependent)
    : context(context), b(context.b), parts(context.parameters.get(ParameterKind::parts)), isDependent(isDependent) {
  Value warpOfCta = ptx::broadcastFirstLane(b, b.divide(context.thread, warpLanes));
  lane = b.modulo(context.thread, warpLanes);
  rowOfCta = b.divide(warpOfCta, warpsOfRow);
  warp = b.modulo(warpOfCta, warpsOfRow);
  thread = b.add(b.mul(warp, warpLanes), lane);
  row = b.add(b.mul(ptx::blockIndex(b), rowsOfCta), rowOfCta);
  query = b.modulo(row, context.queries());
  head = b.divide(row, context.queries());
  batch = b.divide(head, context.heads());
  head = b.modulo(head, context.heads());
}

/// The last CTA may have rows behind Q. Rows of packed queries that belong to no sequence have no parts, and stay as
/// they are. All threads of a row go the same way. The kernel behind this one may start at once: CTAs of other parts
/// fit an SM only when those of the merge have left it.
void PartMerge::emit() {
  if (isDependent) {
    ptx::gridDependencyWait(b);
    ptx::gridDependentsLaunch(b);
  }
  Value exists = b.less(batch, context.size(context.query, 0));
  PackedTileOp packed;
  context.program.walk([&](PackedTileOp op) { packed = op; });
  if (packed)
    exists = b.logicalAnd(exists, emitIsInSequence(context, packed.getStarts(), query));
  b.ifThen(exists, [&] { merge(); });
}

void PartMerge::merge() {
  auto inBatches = [&](int64_t batch) {
    mergeInBatches(batch);
    return Values();
  };
  b.ifThenElse(
      b.less(parts, fewParts + 1), TypeRange(), [&] { return inBatches(partsOfSmallBatch); },
      [&] { return inBatches(partsOfBatch); });
}

void PartMerge::mergeInBatches(int64_t batch) {
  llvm::SmallVector<Part> first = loadParts(warp, batch);
  Sum sum = sumParts();
  FinalRow final = {sum.m, sum.l, b.f32(1)};
  if (context.sinks) {
    Value sink = b.load(b.getF32Type(), context.elementAddress(*context.sinks, b.getF32Type(), {head}));
    final = joinSink(b, sink, sum.m, sum.l);
  }
  Values zero(vectorsOfLane() * columnsOfVector, b.f32(0));
  const int64_t step = warpsOfRow * batch;
  Values output = addParts(first, sum.m, zero);
  if (batch == partsOfBatch)
    output = b.forLoop(b.add(warp, step), parts, b.i32(step), output, [&](Value number, ValueRange carried) {
      return addParts(loadParts(number, batch), sum.m, Values(carried));
    });
  store(output, final);
}

/// m of a part without keys is -inf.
PartMerge::Sum PartMerge::loadSum(Value number) {
  Value both = b.load(VectorType::get(2, b.getF32Type()), part(number).sums);
  Value l = LLVM::ExtractElementOp::create(b, both, b.i32(1));
  return {b.select(isNotEmpty(b, l), LLVM::ExtractElementOp::create(b, both, b.i32(0)), b.f32(-INFINITY)), l};
}

Value PartMerge::overLanes(Value value, llvm::function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = warpLanes / 2; distance > 0; distance /= 2)
    value = combine(value, ptx::exchange(b, value, distance));
  return value;
}

/// A lane sums every 32nd part, with the largest m so far. Where no part has keys, m is 0 and so is l.
PartMerge::Sum PartMerge::sumParts() {
  auto larger = [&](Value left, Value right) { return b.larger(left, right); };
  auto finite = [&](Value m) {
    return b.select(b.compareF(arith::CmpFPredicate::OEQ, m, b.f32(-INFINITY)), b.f32(0), m);
  };
  Values ofLane =
      b.forLoop(lane, parts, b.i32(warpLanes), {b.f32(-INFINITY), b.f32(0)}, [&](Value number, ValueRange carried) {
        Sum ofPart = loadSum(number);
        Value m = b.larger(carried[0], ofPart.m), from = finite(m);
        Value before = b.mulF(carried[1], ptx::exp2(b, b.subF(carried[0], from)));
        return Values{m, b.fma(ofPart.l, ptx::exp2(b, b.subF(ofPart.m, from)), before)};
      });
  Value m = finite(overLanes(ofLane[0], larger));
  Value l = b.mulF(ofLane[1], ptx::exp2(b, b.subF(ofLane[0], m)));
  return {m, overLanes(l, [&](Value left, Value right) { return b.addF(left, right); })};
}

/// Every n-th part from `first` on. Those behind the last one have no keys.
llvm::SmallVector<PartMerge::Part> PartMerge::loadParts(Value first, int64_t batch) {
  auto type = VectorType::get(columnsOfVector, b.getF32Type());
  Value zeros = b.vector(Values(columnsOfVector, b.f32(0)));
  llvm::SmallVector<Part> loaded;
  for (int64_t i = 0; i < batch; ++i) {
    Value number = b.add(first, i * warpsOfRow);
    SmallVector<Type> types{b.getF32Type(), b.getF32Type()};
    types.append(vectorsOfLane(), type);
    Values values = b.ifThenElse(
        b.less(number, parts), types,
        [&] {
          Sum sum = loadSum(number);
          Values made{sum.m, sum.l};
          Value output = part(number).output;
          for (int64_t j = 0; j < vectorsOfLane(); ++j)
            made.push_back(b.load(type, b.byteOffset(output, b.extend(b.mul(vectorAt(j), vectorBytes)))));
          return made;
        },
        [&] {
          Values made{b.f32(-INFINITY), b.f32(0)};
          made.append(vectorsOfLane(), zeros);
          return made;
        });
    loaded.push_back({{values[0], values[1]}, Values(llvm::drop_begin(values, 2))});
  }
  return loaded;
}

/// A part without keys has written no output.
Values PartMerge::addParts(llvm::ArrayRef<Part> loaded, Value m, Values output) {
  for (const Part &part : loaded) {
    Value counts = isNotEmpty(b, part.sum.l);
    Value weight = b.select(counts, ptx::exp2(b, b.subF(part.sum.m, m)), b.f32(0));
    for (int64_t i = 0; i < int64_t(output.size()); ++i) {
      Value element = LLVM::ExtractElementOp::create(b, part.output[i / columnsOfVector], b.i32(i % columnsOfVector));
      output[i] = b.fma(weight, b.select(counts, element, b.f32(0)), output[i]);
    }
  }
  return output;
}

/// The sums of all warps. A thread stores every n-th column, and the first one the LSE.
void PartMerge::store(ValueRange output, const FinalRow &sum) {
  const int64_t width = context.valueDimension;
  assert(width <= mostColumns && "the shared memory has room for so many");
  Value memory = b.mul(b.mul(rowOfCta, warpsOfRow), width);
  for (int64_t i = 0; i < vectorsOfLane(); ++i) {
    Value index = b.add(b.add(memory, b.mul(warp, width)), b.mul(vectorAt(i), columnsOfVector));
    LLVM::StoreOp::create(b, b.vector(output.slice(i * columnsOfVector, columnsOfVector)), sharedElement(index),
                          /*alignment=*/vectorBytes);
  }
  ptx::barrierNamed(b, b.add(rowOfCta, 1), threadsOfRow); // 0 is that of the CTA
  Type element =
      cast<RankedTensorType>(context.program.getBody().getArgument(context.result).getType()).getElementType();
  Value scale = b.select(isNotEmpty(b, sum.l), b.divF(sum.alpha, sum.l), b.f32(0));
  for (int64_t first = 0; first < width; first += threadsOfRow) {
    Value column = b.add(thread, first), exists = b.less(column, width), total = b.f32(0);
    column = b.minimum(column, b.i32(width - 1));
    for (int64_t i = 0; i < warpsOfRow; ++i)
      total = b.addF(total, b.load(b.getF32Type(), sharedElement(b.add(b.add(memory, column), i * width))));
    Value pointer = context.elementAddress(context.result, element, {batch, head, query, column});
    ptx::storeGlobal(b, pointer, ptx::toElement(b, element, b.mulF(total, scale)), exists);
  }
  if (context.lse)
    ptx::storeGlobal(b, context.elementAddress(*context.lse, b.getF32Type(), {batch, head, query}),
                     lseOf(b, sum.m, sum.l), b.equal(thread, 0));
}

/// 64 rows of Q on 16 heads of keys are 512 CTAs, which an H200 has at once if an SM has 4. A lane that has two vectors
/// of a row takes more registers. Without a limit ptxas takes even fewer, and spills.
static int64_t mergeCtasPerSm(ProgramOp program) {
  int64_t columns = 0;
  program.walk([&](StorePartOp store) { columns = store.getOutput().getType().getColumns(); });
  return columns <= columnsOfVector * warpLanes ? 4 : 2;
}

void sparsec::emitPartMerge(ProgramOp program) {
  const bool isDependent = hasDependentLaunch(program);
  SideKernelShape shape = {"_merge",
                           mergeWarps,
                           /*tilesOfCta=*/1,
                           /*tileM=*/rowsOfCta,
                           mostColumns,
                           mergeWarps * mostColumns * 4,
                           mergeCtasPerSm(program)};
  LLVM::LLVMFuncOp function = emitSideKernel<QueryContext>(
      program, shape, [&](QueryContext &context) { PartMerge(context, isDependent).emit(); });
  auto unit = UnitAttr::get(program.getContext());
  function->setAttr("sparsec.merges_parts", unit);
  if (isDependent)
    function->setAttr("sparsec.dependent_launch", unit);
}
