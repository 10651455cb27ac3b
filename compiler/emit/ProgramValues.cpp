// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProgramValues.h"

#include "QueryContext.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

constexpr int64_t rowsOfThread = 2, elementsOfRegister = 2;

/// Elements of a value that a group of threads shares.
static int64_t elementCount(Type type) {
  return TypeSwitch<Type, int64_t>(type).Case<AccumulatorType, PendingType, FragmentType>(
      [](auto shared) { return shared.getRows() * shared.getColumns(); });
}

ProgramValues::ProgramValues(KernelBuilder &b, ProgramOp program, Instruction instruction)
    : b(b), instruction(instruction) {
  program.walk([&](ScaleRowsOp) { statesHaveHints = true; });
}

Values ProgramValues::flat(ValueRange all) const {
  Values result;
  for (Value value : all)
    llvm::append_range(result, of(value));
  return result;
}

SmallVector<Type> ProgramValues::flatTypes(TypeRange types) const {
  SmallVector<Type> result;
  Type i32 = b.i32Type(), f32 = b.getF32Type();
  for (Type type : types)
    TypeSwitch<Type>(type)
        .Case([&](CursorType) { result.append(2, i32); })
        .Case([&](BlockNumbersType) { result.push_back(i32); })
        .Case<AccumulatorType, PendingType>([&](Type sum) {
          SmallVector<Type> registers(sumCount(sum), f32);
          if (areSumsInStruct())
            result.push_back(LLVM::LLVMStructType::getLiteral(b.getContext(), registers));
          else
            llvm::append_range(result, registers);
        })
        .Case([&](FragmentType fragment) {
          result.append(elementCount(fragment) / threadsOfGroup() / elementsOfRegister, i32);
        })
        .Case([&](ColumnScalesType scales) { result.append(columnScaleCount(scales), f32); })
        .Case([&](ThreadScalesType scales) { result.append(threadScaleCount(scales), f32); })
        .Case([&](RowScalesType scales) { result.append(slabs(scales.getRows()) * rowsOfThread, f32); })
        .Case([&](StepType step) { result.append(step.getValues(), i32); })
        .Case([&](SoftmaxStateType) {
          result.append(2 * rowsOfThread, f32); // m and l
          if (statesHaveHints)
            result.push_back(b.getI1Type());
        })
        .Case([&](RescalingType) { // whether it is needed, and alpha
          result.push_back(b.getI1Type());
          result.append(rowsOfThread, f32);
        })
        .Case([&](KeyListsType) { result.append(packState(KeyLists()).size(), i32); })
        .Case([&](JointListType) { result.append(packState(JointList()).size(), i32); })
        .Default([&](Type same) { result.push_back(same); });
  return result;
}

void ProgramValues::assign(ValueRange all, ValueRange emitted) {
  for (Value value : all) {
    size_t count = flatTypes(value.getType()).size();
    set(value, emitted.take_front(count));
    emitted = emitted.drop_front(count);
  }
}

int64_t ProgramValues::sumCount(Type type) const { return elementCount(type) / threadsOfGroup(); }

Values ProgramValues::sums(Value accumulator) const {
  return areSumsInStruct() ? b.unpack(one(accumulator)) : Values(of(accumulator));
}

int64_t ProgramValues::columnScaleCount(ColumnScalesType type) const {
  return llvm::divideCeil(type.getColumns(), warpLanes);
}

int64_t ProgramValues::threadScaleCount(ThreadScalesType type) {
  constexpr int64_t threadsOfColumns = 4;
  return type.getColumns() / threadsOfColumns;
}

int64_t ProgramValues::slabs(int64_t rows) const {
  constexpr int64_t threadsOfRow = 4;
  return rows / (rowsOfThread * threadsOfGroup() / threadsOfRow);
}

Values ProgramValues::zeroSums(Type type) const {
  if (areSumsInStruct())
    return {LLVM::ZeroOp::create(b, flatTypes(type)[0])};
  return Values(sumCount(type), b.f32(0));
}

Values ProgramValues::unsetSums(Type type) const {
  Values unset;
  for (Type part : flatTypes(type))
    unset.push_back(LLVM::UndefOp::create(b, part));
  return unset;
}

Values ProgramValues::fromSums(ValueRange sums) const {
  return areSumsInStruct() ? Values{b.pack(sums)} : Values(sums);
}
