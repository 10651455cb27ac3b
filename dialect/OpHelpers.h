// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Helpers for the syntax and the verification of several ops.

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

/// Checks the sizes of an op for a tile of a sequence: none, or its queries and keys.
mlir::LogicalResult verifySequenceSizes(mlir::Operation *op, mlir::ValueRange sizes);
/// A part of the keys is its number and the number of parts, or nothing.
mlir::LogicalResult verifyPart(mlir::Operation *op, mlir::ValueRange part);

/// Checks the types of the arguments of an op's block.
mlir::LogicalResult verifyBodyArguments(mlir::Operation *op, llvm::ArrayRef<mlir::Type> expected);
/// Checks that the results of a loop have the types of its inits, and that its body yields values of these types.
mlir::LogicalResult verifyResultsOfInits(mlir::Operation *op, mlir::TypeRange inits);
mlir::LogicalResult verifyYield(mlir::Operation *op);

/// Parses a region that ends with `Terminator`. One that does not is refused here: the message of MLIR's verifier
/// prints the last op without the names of its operands, and names no op that would be right.
template <typename Terminator>
mlir::ParseResult parseTerminatedRegion(mlir::OpAsmParser &parser, mlir::Region &region,
                                        llvm::ArrayRef<mlir::OpAsmParser::Argument> arguments) {
  auto location = parser.getEncodedSourceLoc(parser.getCurrentLocation());
  if (parser.parseRegion(region, arguments))
    return mlir::failure();
  mlir::Operation *last = region.empty() || region.back().empty() ? nullptr : &region.back().back();
  if (last && last->mightHaveTrait<mlir::OpTrait::IsTerminator>())
    return mlir::success();
  return mlir::emitError(last ? last->getLoc() : location)
         << "expects " << Terminator::getOperationName() << " at the end of the region, but got "
         << (last ? last->getName().getStringRef() : "nothing");
}

} // namespace sparsec

#endif // SPARSEC_DIALECT_OPHELPERS_H
