// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ElementwiseRegion.h"

#include "SparsecDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace sparsec;

LogicalResult sparsec::verifyRegionSignature(Operation *op, Region &region, StringRef name, TypeRange argumentTypes,
                                             Type yieldedType) {
  // spmm_c16
  if (region.getNumArguments() != argumentTypes.size())
    return op->emitOpError("expects the argument count of the ")
           << name << " region to be " << argumentTypes.size() << ", but got " << region.getNumArguments();
  for (auto [index, argument, expected] : llvm::enumerate(region.getArguments(), argumentTypes))
    if (argument.getType() != expected)
      return op->emitOpError("expects argument ")
             << index << " of the " << name << " region to be " << expected << ", but got " << argument.getType();
  // spmm_c17
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield.getNumOperands() != 1 || yield.getOperand(0).getType() != yieldedType)
    return op->emitOpError("expects the ") << name << " region to end with sparsec.yield of one " << yieldedType;
  return success();
}

/// The type that the operands (or results) of `op` have in an epilogue: half-precision values are converted, nothing
/// else is done with them.
static bool isEpilogueType(Operation &op, Type type, bool isResult) {
  if (type.isF16() || type.isBF16())
    return isResult ? isa<arith::TruncFOp>(op) : isa<arith::ExtFOp>(op);
  return type.isF32() || type.isInteger(1);
}

static LogicalResult verifyEpilogueOp(Operation &op) {
  // spmm_c18
  bool hasLowering = isa<
#define SPARSEC_EPILOGUE_OP(OP, STEP) OP,
#include "EpilogueOps.def"
      YieldOp>(op);
  if (!hasLowering)
    return op.emitOpError("has no lowering in an epilogue");
  if (auto truncate = dyn_cast<arith::TruncFOp>(op))
    if (truncate.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) !=
        arith::RoundingMode::to_nearest_even)
      return op.emitOpError("expects rounding to_nearest_even in an epilogue, but got ")
             << stringifyRoundingMode(*truncate.getRoundingmode());
  // spmm_c20
  for (auto [index, type] : llvm::enumerate(op.getOperandTypes()))
    if (!isEpilogueType(op, type, /*isResult=*/false))
      return op.emitOpError("expects operand ") << index << " to be f32 or i1 in an epilogue, but got " << type;
  for (Type type : op.getResultTypes())
    if (!isEpilogueType(op, type, /*isResult=*/true))
      return op.emitOpError("expects its result to be f32 or i1 in an epilogue, but got ") << type;
  return success();
}

LogicalResult sparsec::verifyEpilogueOps(Region &region) {
  for (Operation &op : region.front())
    if (failed(verifyEpilogueOp(op)))
      return failure();
  return success();
}
