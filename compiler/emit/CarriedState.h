// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops and branches carry a flat list of values. An emitter writes its state as a struct that lists its fields once:
//
//   struct Walk {
//     mlir::Value position;
//     Ring::State ring;
//     KernelBuilder::Values sums;
//     auto fields() { return std::tie(position, ring, sums); }
//   };
//
// A field is a value, a list of values, or another such struct.

#ifndef SPARSEC_EMIT_CARRIED_STATE_H
#define SPARSEC_EMIT_CARRIED_STATE_H

#include "mlir/IR/ValueRange.h"

#include <tuple>

namespace sparsec {

template <typename State>
concept CarriedState = requires(State state) { state.fields(); };

/// Calls `visit` with every value of a field.
template <typename Field, typename Visit> void forEachValue(Field &field, Visit visit) {
  if constexpr (CarriedState<Field>)
    std::apply([&](auto &...fields) { (forEachValue(fields, visit), ...); }, field.fields());
  else if constexpr (std::is_same_v<Field, mlir::Value>)
    visit(field);
  else
    for (mlir::Value &value : field)
      visit(value);
}

/// The values of a state in the order of its fields.
template <CarriedState State> llvm::SmallVector<mlir::Value> packState(State state) {
  llvm::SmallVector<mlir::Value> values;
  forEachValue(state, [&](mlir::Value &value) { values.push_back(value); });
  return values;
}

/// The state whose values in the order of its fields are `values`. A state with lists needs `like`, from which it takes
/// their lengths.
template <CarriedState State> State unpackState(mlir::ValueRange values, State like = {}) {
  size_t count = 0;
  forEachValue(like, [&](mlir::Value &value) { value = values[count++]; });
  assert(count == values.size() && "expects as many values as the state has");
  return like;
}

} // namespace sparsec

#endif // SPARSEC_EMIT_CARRIED_STATE_H
