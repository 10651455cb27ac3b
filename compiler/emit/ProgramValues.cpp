// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProgramValues.h"

#include "AttentionContext.h"
#include "hopper/Products.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

constexpr int64_t rowsOfThread = 2;

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
        .Case<AccumulatorType, PendingType>(
            [&](auto sum) { result.push_back(wgmmaSumType(b, sum.getRows(), sum.getColumns())); })
        .Case([&](FragmentType fragment) { result.append(wgmmaFragmentRegisters(fragment), i32); })
        .Case([&](SoftmaxStateType) { result.append(2 * rowsOfThread, f32); }) // m and l
        .Case([&](RescalingType) {                                             // whether it is needed, and alpha
          result.push_back(b.getI1Type());
          result.append(rowsOfThread, f32);
        })
        .Case([&](KeyListsType) { result.append(packState(KeyLists()).size(), i32); })
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
