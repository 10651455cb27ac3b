// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlanKernel.h"

#include "Ptx.h"
#include "SideKernel.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

PlanKernel::PlanKernel(ProductContext &context)
    : context(context), b(context.b), warp(ptx::broadcastFirstLane(b, b.divide(context.thread, warpLanes))),
      lane(b.modulo(context.thread, warpLanes)) {}

Value PlanKernel::section(PlanSection number) {
  return context.parameters.get(ParameterKind::plan_section, 0, static_cast<int64_t>(number));
}
// The kernel that writes an entry does not read it.
Value PlanKernel::loadEntry(PlanSection number, Value index) {
  return b.loadElement(b.i32Type(), section(number), index);
}
void PlanKernel::storeEntry(PlanSection number, Value index, Value value) {
  LLVM::StoreOp::create(b, value, b.elementPointer(section(number), b.i32Type(), index));
}

Value PlanKernel::reserve(int64_t words) {
  Value array = b.byteOffset(context.sharedMemory, wordBits / 8 * reservedWords);
  reservedWords += words;
  return array;
}
Value PlanKernel::loadWord(Value array, Value index) {
  return b.load(b.i32Type(), b.elementPointer(array, b.i32Type(), index));
}
void PlanKernel::storeWord(Value array, Value index, Value value) {
  LLVM::StoreOp::create(b, value, b.elementPointer(array, b.i32Type(), index));
}

static void forEach(KernelBuilder &b, Value begin, Value end, int64_t step, llvm::function_ref<void(Value)> body) {
  b.forLoop(begin, end, b.i32(step), {}, [&](Value index, ValueRange) {
    body(index);
    return Values();
  });
}
void PlanKernel::forEachOfThread(Value begin, Value end, Body body) {
  forEach(b, b.add(begin, context.thread), end, planThreads, body);
}
void PlanKernel::forEachOfLane(Value begin, Value end, Body body) {
  forEach(b, b.add(begin, lane), end, warpLanes, body);
}
void PlanKernel::forEachOfWarp(Value end, Body body) { forEach(b, warp, end, planWarps, body); }

void PlanKernel::fillWords(Value array, Value count, int64_t value) {
  forEachOfThread(b.i32(0), count, [&](Value index) { storeWord(array, index, b.i32(value)); });
}

void PlanKernel::addUp(Value array, Value count) {
  Value sum = b.forLoop(b.i32(0), count, b.i32(warpLanes), {b.i32(0)}, [&](Value first, ValueRange carried) -> Values {
    Value index = b.add(first, lane), isInside = b.less(index, count);
    Value own = b.ifThenElse(
        isInside, b.i32Type(), [&] { return Values{loadWord(array, index)}; }, [&] { return Values{b.i32(0)}; })[0];
    Value sum = own;
    for (int64_t distance = 1; distance < warpLanes; distance *= 2) {
      Value before = ptx::fromLaneBefore(b, sum, distance);
      sum = b.add(sum, b.select(b.less(lane, distance), b.i32(0), before));
    }
    b.ifThen(isInside, [&] { storeWord(array, index, b.add(carried[0], b.sub(sum, own))); });
    return {b.add(carried[0], ptx::fromLane(b, sum, warpLanes - 1))};
  })[0];
  b.ifThen(b.equal(lane, 0), [&] { storeWord(array, count, sum); });
}

Value PlanKernel::below(Value column) { return b.sub(bitOf(column), 1); }

void sparsec::emitPlanKernel(ProgramOp program, AuxiliaryKind kind, StringRef suffix, int64_t tileM, int64_t words,
                             llvm::function_ref<void(ProductContext &)> emitBody) {
  SideKernelShape shape = {suffix, planWarps, /*tilesOfCta=*/1, tileM, mostColumnsOfPlan, wordBits / 8 * words};
  emitAuxiliaryKernel<ProductContext>(program, kind, shape, emitBody);
}
