// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the syntax and the verification of several ops need.

#ifndef SPARSEC_DIALECT_OPHELPERS_H
#define SPARSEC_DIALECT_OPHELPERS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"

#include <optional>

namespace sparsec {

/// Names the arguments of a block in order; the last name also goes to all that follow.
inline void nameArguments(mlir::Region &region, mlir::OpAsmSetValueNameFn setName,
                          llvm::ArrayRef<llvm::StringRef> names) {
  for (mlir::BlockArgument argument : region.getArguments())
    setName(argument, names[std::min<size_t>(argument.getArgNumber(), names.size() - 1)]);
}

/// The size that two types agree on, kDynamic if none is static, or nothing if two static ones differ.
inline std::optional<int64_t> agree(int64_t first, int64_t second) {
  if (mlir::ShapedType::isDynamic(first))
    return second;
  if (mlir::ShapedType::isDynamic(second) || first == second)
    return first;
  return std::nullopt;
}

} // namespace sparsec

#endif // SPARSEC_DIALECT_OPHELPERS_H
