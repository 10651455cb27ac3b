// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions that compute one element: the epilogue of spmm, the score and the mask of attention.

#ifndef SPARSEC_DIALECT_ELEMENTWISEREGION_H
#define SPARSEC_DIALECT_ELEMENTWISEREGION_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace sparsec {

class ElementOp;

/// A unit attribute of a math.tanh: as a soft cap of attention it is as precise as anywhere else.
inline constexpr llvm::StringLiteral exactAttribute = "sparsec.exact";

/// Which ops of ElementwiseOps.def a region may hold.
enum class RegionOps {
  Floats,           // f32 and i1
  FloatsAndIntegers // also i32, and elements of tensors
};

/// Verifies the types of a region of `op`: one block with arguments of `argumentTypes` that yields one `yieldedType`.
/// `name` is what the messages call the region.
llvm::LogicalResult verifyRegionSignature(mlir::Operation *op, mlir::Region &region, llvm::StringRef name,
                                          mlir::TypeRange argumentTypes, mlir::Type yieldedType);

/// Verifies that every op of a region has a lowering: it is in ElementwiseOps.def and has the types that `ops` allows.
/// `place` is where the messages say that an op stands, "an epilogue".
llvm::LogicalResult verifyRegionOps(mlir::Region &region, llvm::StringRef place, RegionOps ops);

/// The value that a region yields.
mlir::Value yieldedValue(mlir::Region &region);

/// Whether all indices of an element are the batch or the head: it is loaded once a tile.
bool isLoadOfTile(ElementOp element);

/// Whether a region of attention has a sparsec.element with an index that is anything but a batch or a head.
bool loadsByPosition(mlir::Region &region);

/// The meaning of such an index: argument 0 of a region's places is the batch, 1 the head, 2 the query, 3 the key; else
/// -1.
int64_t placeOfIndex(mlir::Value index);

/// queries * query + keys * key + constant, with factors of -1, 0 and 1.
struct PositionSum {
  int64_t queries = 0, keys = 0, constant = 0;
};
/// A value of a region of attention as such a sum with a query or a key, where it is a short one that does not overflow
/// for any tensor that fits into memory.
std::optional<PositionSum> positionSum(mlir::Value value);
/// The same of left - right.
std::optional<PositionSum> positionDifference(mlir::Value left, mlir::Value right);

/// Whether an op of a region works on i32: SPARSEC_INTEGER_OP then says its opcode, if it is there.
bool hasIntegers(mlir::Operation &op);

} // namespace sparsec

#endif // SPARSEC_DIALECT_ELEMENTWISEREGION_H
