// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ElementwiseRegion.h"

#include "SparsecDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace sparsec;

LogicalResult sparsec::verifyRegionSignature(Operation *op, Region &region, StringRef name, TypeRange argumentTypes,
                                             Type yieldedType) {
  // spmm_c16, attention_c14, attention_c16
  if (region.getNumArguments() != argumentTypes.size())
    return op->emitOpError("expects the argument count of the ")
           << name << " region to be " << argumentTypes.size() << ", but got " << region.getNumArguments();
  for (auto [index, argument, expected] : llvm::enumerate(region.getArguments(), argumentTypes))
    if (argument.getType() != expected)
      return op->emitOpError("expects argument ")
             << index << " of the " << name << " region to be " << expected << ", but got " << argument.getType();
  // spmm_c17, attention_c15, attention_c17
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield || yield.getNumOperands() != 1 || yield.getOperand(0).getType() != yieldedType)
    return op->emitOpError("expects the ") << name << " region to end with sparsec.yield of one " << yieldedType;
  return success();
}

bool sparsec::hasIntegers(Operation &op) {
  auto isInteger = [](Type type) { return type.isInteger(32); };
  return llvm::any_of(op.getOperandTypes(), isInteger) || llvm::any_of(op.getResultTypes(), isInteger);
}

/// Ops of f32 and i1; some of them, such as arith.select, know i32 as well.
static bool isElementwiseOp(Operation &op) {
  return isa<
#define SPARSEC_ELEMENTWISE_OP(OP, STEP) OP,
#include "ElementwiseOps.def"
      YieldOp>(op);
}

static bool isIntegerOp(Operation &op) {
  return isa<
#define SPARSEC_INTEGER_OP(OP, STEP) OP,
#include "ElementwiseOps.def"
      YieldOp>(op);
}

/// The type that the operands (or results) of `op` may have: half-precision values are converted, nothing else is done
/// with them, and a tensor is only read by element.
static bool isRegionType(Operation &op, Type type, bool isResult, RegionOps ops) {
  if (type.isF16() || type.isBF16())
    return isResult ? isa<arith::TruncFOp, ElementOp>(op) : isa<arith::ExtFOp>(op);
  if (type.isInteger(1))
    return isElementwiseOp(op) || (isResult && isa<arith::CmpIOp>(op));
  if (type.isInteger(32))
    return ops == RegionOps::FloatsAndIntegers;
  return type.isF32() || (!isResult && isa<ElementOp>(op) && isa<RankedTensorType>(type));
}

static LogicalResult verifyRegionOp(Operation &op, StringRef place, RegionOps ops) {
  // spmm_c18, attention_c18
  if (!isElementwiseOp(op) && !(ops == RegionOps::FloatsAndIntegers && isIntegerOp(op)))
    return op.emitOpError("has no lowering in ") << place;
  if (auto truncate = dyn_cast<arith::TruncFOp>(op))
    if (truncate.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) !=
        arith::RoundingMode::to_nearest_even)
      return op.emitOpError("expects rounding to_nearest_even in ")
             << place << ", but got " << stringifyRoundingMode(*truncate.getRoundingmode());
  // spmm_c20, attention_c20
  StringRef allowed = ops == RegionOps::Floats ? " to be f32 or i1 in "
                      : isElementwiseOp(op)    ? " to be f32, i32 or i1 in "
                                               : " to be f32 or i32 in ";
  for (auto [index, type] : llvm::enumerate(op.getOperandTypes()))
    if (!isRegionType(op, type, /*isResult=*/false, ops))
      return op.emitOpError("expects operand ") << index << allowed << place << ", but got " << type;
  for (Type type : op.getResultTypes())
    if (!isRegionType(op, type, /*isResult=*/true, ops))
      return op.emitOpError("expects its result") << allowed << place << ", but got " << type;
  return success();
}

LogicalResult sparsec::verifyRegionOps(Region &region, StringRef place, RegionOps ops) {
  for (Operation &op : region.front())
    if (failed(verifyRegionOp(op, place, ops)))
      return failure();
  return success();
}

int64_t sparsec::placeOfIndex(Value index) {
  auto argument = dyn_cast<BlockArgument>(index);
  if (!argument)
    return -1;
  // The score, which the mask does not get, comes before the places, the extra operands after them.
  auto types = argument.getOwner()->getArgumentTypes();
  return argument.getArgNumber() - (types.front().isF32() ? 1 : 0);
}

Value sparsec::yieldedValue(Region &region) { return cast<YieldOp>(region.front().getTerminator()).getOperand(0); }

bool sparsec::isLoadOfTile(ElementOp element) {
  return llvm::all_of(element.getIndices(), [](Value index) {
    int64_t place = placeOfIndex(index);
    return place == 0 || place == 1;
  });
}

bool sparsec::loadsByPosition(Region &region) {
  return llvm::any_of(region.getOps<ElementOp>(), [](ElementOp element) { return !isLoadOfTile(element); });
}

static std::optional<PositionSum> positionSumWithin(Value value, int64_t depth);

static std::optional<PositionSum> combined(Value left, Value right, int64_t sign, int64_t depth) {
  constexpr int64_t largestConstant = int64_t(1) << 28;
  auto a = positionSumWithin(left, depth), b = positionSumWithin(right, depth);
  if (!a || !b)
    return std::nullopt;
  PositionSum sum = {a->queries + sign * b->queries, a->keys + sign * b->keys, a->constant + sign * b->constant};
  if (std::abs(sum.queries) > 1 || std::abs(sum.keys) > 1 || std::abs(sum.constant) > largestConstant)
    return std::nullopt;
  return sum;
}

/// Bounds the sums of sums: operands may be shared, so that there can be many more of them than ops.
static constexpr int64_t mostDepth = 4;

static std::optional<PositionSum> positionSumWithin(Value value, int64_t depth) {
  if (int64_t place = placeOfIndex(value); place == 2 || place == 3)
    return PositionSum{place == 2, place == 3, 0};
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return std::nullopt;
  if (auto constant = dyn_cast<arith::ConstantIntOp>(op))
    return PositionSum{0, 0, constant.value()};
  if (auto addition = dyn_cast<arith::AddIOp>(op))
    return combined(addition.getLhs(), addition.getRhs(), 1, depth - 1);
  if (auto subtraction = dyn_cast<arith::SubIOp>(op))
    return combined(subtraction.getLhs(), subtraction.getRhs(), -1, depth - 1);
  return std::nullopt;
}

static std::optional<PositionSum> withPosition(std::optional<PositionSum> sum) {
  bool hasPosition = sum && (sum->queries != 0 || sum->keys != 0);
  return hasPosition ? sum : std::nullopt;
}

std::optional<PositionSum> sparsec::positionSum(Value value) {
  return withPosition(positionSumWithin(value, mostDepth));
}

std::optional<PositionSum> sparsec::positionDifference(Value left, Value right) {
  return withPosition(combined(left, right, -1, mostDepth));
}
