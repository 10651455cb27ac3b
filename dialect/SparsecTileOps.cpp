// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names in dumps and verification of the tile ops. The labels in the comments are those of SPEC.md.

#include "ElementwiseRegion.h"
#include "OpHelpers.h"
#include "SparsecDialect.h"

using namespace mlir;
using namespace sparsec;

void TileLoopOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"tile_row", "panel", "carried"});
}

void WalkBlocksOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"block", "column", "carried"});
}

void BlockLoopOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"block", "chunk", "acc"});
}

void StoreOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"acc", "extra"});
}

void KeyLoopOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"block", "carried"});
}

void SoftmaxOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  SmallVector<StringRef> names{"s", "batch", "head", "query", "key", "extra"};
  nameArguments(region, setName, ArrayRef(names).drop_front(&region == &getMask()));
}

void PrefetchOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"block", "chunk"});
}

void TileOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "tile"); }
void RingOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "ring"); }
void GroupOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "group"); }
void ClusterRankOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "rank"); }
void CursorOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "begin"); }
void NextOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "next"); }

void RowBlocksOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getFirst(), "first");
  setName(getEnd(), "end");
}

/// Checks the types of the arguments of an op's block.
static LogicalResult verifyBodyArguments(Operation *op, ArrayRef<Type> expected) {
  TypeRange got = op->getRegion(0).getArgumentTypes();
  if (got != TypeRange(expected))
    return op->emitOpError("expects the arguments of its body to be (") << expected << "), but got (" << got << ")";
  return success();
}

bool ProgramOp::isAttention() {
  return walk([](KeyLoopOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

static LogicalResult verifyResultsOfInits(Operation *op, TypeRange inits) {
  if (inits == op->getResultTypes())
    return success();
  return op->emitOpError("expects results of the types of its inits, (")
         << inits << "), but got (" << op->getResultTypes() << ")";
}

static LogicalResult verifyYield(Operation *op) {
  TypeRange yielded = op->getRegion(0).front().getTerminator()->getOperandTypes();
  if (yielded == op->getResultTypes())
    return success();
  return op->emitOpError("expects its body to yield (") << op->getResultTypes() << "), but got (" << yielded << ")";
}

/// The body of a loop: `coordinates` of i32, then what is carried.
static LogicalResult verifyCoordinates(Operation *op, int64_t coordinates, TypeRange carried) {
  SmallVector<Type> arguments(coordinates, IntegerType::get(op->getContext(), 32));
  llvm::append_range(arguments, carried);
  return verifyBodyArguments(op, arguments);
}

LogicalResult TileLoopOp::verify() {
  // tile_loop_c2
  if (failed(verifyResultsOfInits(*this, getInits().getTypes())))
    return failure();
  // tile_loop_c1
  return verifyCoordinates(*this, 2, getInits().getTypes());
}

LogicalResult TileLoopOp::verifyRegions() {
  // tile_loop_c3
  return verifyYield(*this);
}

void TileLoopOp::build(OpBuilder &builder, OperationState &state, ValueRange inits) {
  build(builder, state, inits.getTypes(), inits);
  OpBuilder::InsertionGuard guard(builder);
  Type i32 = builder.getI32Type();
  Block *body = builder.createBlock(state.regions.front().get());
  body->addArguments({i32, i32}, {state.location, state.location});
  for (Value init : inits)
    body->addArgument(init.getType(), state.location);
  if (inits.empty())
    ensureTerminator(*state.regions.front(), builder, state.location);
}

LogicalResult RoleOp::verify() {
  // role_c1
  if (int64_t(getCount()) < 1 || (getUnit() == RoleUnit::thread && int64_t(getCount()) != 1))
    return emitOpError("expects 1 thread or at least 1 warpgroup, but got ") << getCount();
  return success();
}

LogicalResult WalkBlocksOp::verify() {
  // walk_blocks_c1
  if (failed(verifyResultsOfInits(*this, getInits().getTypes())))
    return failure();
  // walk_blocks_c2
  return verifyCoordinates(*this, 2, getInits().getTypes());
}

LogicalResult WalkBlocksOp::verifyRegions() {
  // walk_blocks_c3
  return verifyYield(*this);
}

/// The buffer of an op that names one by its index.
static FailureOr<BufferType> bufferAt(Operation *op, RingType ring, int64_t index) {
  int64_t buffers = ring.getBuffers().size();
  if (index < 0 || index >= buffers)
    return op->emitOpError("expects the index of one of the ring's ") << buffers << " buffers, but got " << index;
  return cast<BufferType>(ring.getBuffers()[index]);
}

LogicalResult ViewOp::verify() {
  // view_c1
  FailureOr<BufferType> buffer = bufferAt(*this, getRing().getType(), getIndex());
  if (failed(buffer))
    return failure();
  // view_c2
  ViewType view = getType();
  if (view.getElementType() != buffer->getElementType() || view.getRows() > buffer->getRows() ||
      view.getColumns() > buffer->getColumns())
    return emitOpError("expects a part of ") << *buffer << ", but got " << view;
  return success();
}

/// Rows and columns of an accumulator or a pending one.
static std::pair<int64_t, int64_t> shapeOf(Type sum) {
  if (auto pending = dyn_cast<PendingType>(sum))
    return {pending.getRows(), pending.getColumns()};
  auto accumulator = cast<AccumulatorType>(sum);
  return {accumulator.getRows(), accumulator.getColumns()};
}

LogicalResult ProductOp::verify() {
  ViewType a = getA().getType(), b = getB().getType();
  Type sum = getAccumulator().getType();
  bool isTransposed = b.getMajor() == Major::k;
  int64_t depth = isTransposed ? b.getColumns() : b.getRows(), columns = isTransposed ? b.getRows() : b.getColumns();
  // product_c1
  if (a.getMajor() != Major::k || a.getColumns() != depth || shapeOf(sum) != std::pair(a.getRows(), columns) ||
      shapeOf(getType()) != shapeOf(sum))
    return emitOpError("expects A of M x K, B of K x N, an accumulator and a result of M x N, but got ")
           << a << ", " << b << ", " << sum << " and " << getType();
  // product_c2
  if (int64_t(getDepth()) < 1 || int64_t(getDepth()) > depth)
    return emitOpError("expects a depth from 1 to ") << depth << ", but got " << getDepth();
  return success();
}

LogicalResult AwaitOp::verify() {
  // await_c1
  if (int64_t(getOutstanding()) < 0 || int64_t(getOutstanding()) > 7)
    return emitOpError("expects outstanding to be from 0 to 7, but got ") << getOutstanding();
  // await_c2
  if (shapeOf(getType()) != shapeOf(getPending().getType()))
    return emitOpError("expects a result of the size of its operand, ")
           << getPending().getType() << ", but got " << getType();
  return success();
}

LogicalResult BlockLoopOp::verify() {
  // block_loop_c1
  if (getBlocksPerStep() < 1 || getChunks() < 1 || (getBlocksPerStep() > 1 && getChunks() > 1))
    return emitOpError("expects blocks_per_step and chunks to be at least 1 and one of them to be 1, but got ")
           << getBlocksPerStep() << " and " << getChunks();
  // block_loop_c2
  if (failed(verifyResultsOfInits(*this, getInits().getTypes())))
    return failure();
  // block_loop_c3
  SmallVector<Type> arguments{BlockType::get(getContext()), IntegerType::get(getContext(), 32)};
  llvm::append_range(arguments, getInits().getTypes());
  return verifyBodyArguments(*this, arguments);
}

LogicalResult BlockLoopOp::verifyRegions() {
  // block_loop_c4
  return verifyYield(*this);
}

LogicalResult ChainOp::verify() {
  BufferType a = getA().getType(), x = getX().getType();
  AccumulatorType accumulator = getAccumulator().getType();
  int64_t xDepth = getXTransposed() ? x.getColumns() : x.getRows();
  int64_t xColumns = getXTransposed() ? x.getRows() : x.getColumns();
  // chain_c1
  if (a.getRows() != accumulator.getRows() || xColumns != accumulator.getColumns() || a.getColumns() != xDepth)
    return emitOpError("expects A of M x K, X of K x N and an accumulator of M x N, but got ")
           << a.getRows() << " x " << a.getColumns() << ", " << xDepth << " x " << xColumns << " and "
           << accumulator.getRows() << " x " << accumulator.getColumns();
  // chain_c2
  for (int64_t depth : getDepth())
    if (depth < 1 || depth > xDepth)
      return emitOpError("expects every depth to be from 1 to ") << xDepth << ", but got " << depth;
  return success();
}

LogicalResult KeyLoopOp::verify() {
  // key_loop_c1
  if (failed(verifyResultsOfInits(*this, getInits().getTypes())))
    return failure();
  // key_loop_c4
  if (getChunks() < 1)
    return emitOpError("expects chunks to be at least 1, but got ") << getChunks();
  // key_loop_c2
  SmallVector<Type> arguments{BlockType::get(getContext())};
  llvm::append_range(arguments, getInits().getTypes());
  return verifyBodyArguments(*this, arguments);
}

LogicalResult KeyLoopOp::verifyRegions() {
  // key_loop_c3
  return verifyYield(*this);
}

LogicalResult StoreOp::verifyRegions() {
  // store_c1
  Type f32 = Float32Type::get(getContext());
  SmallVector<Type> argumentTypes{f32};
  for (Type type : getExtras().getTypes())
    argumentTypes.push_back(getElementTypeOrSelf(type));
  if (failed(verifyRegionSignature(*this, getEpilogue(), "epilogue", argumentTypes, f32)))
    return failure();
  // store_c2
  if (getBroadcast().size() != getExtras().size())
    return emitOpError("expects one broadcast per extra operand, but got ")
           << getBroadcast().size() << " for " << getExtras().size();
  return success();
}

LogicalResult CopyOp::verify() {
  // copy_c1
  if (failed(bufferAt(*this, getRing().getType(), getIndex())))
    return failure();
  // copy_c2
  auto tensor = dyn_cast<RankedTensorType>(getSource().getType());
  size_t rank = tensor ? tensor.getRank() : 3;
  if (getCoordinates().size() != rank)
    return emitOpError("expects ") << rank << " coordinates, but got " << getCoordinates().size();
  // copy_c3
  if (tensor && getBlockColumn())
    return emitOpError("expects a block column only for blocks of a matrix, but got one for ") << tensor;
  return success();
}

LogicalResult PrefetchOperandOp::verify() {
  // prefetch_operand_c1
  return bufferAt(*this, getRing().getType(), getIndex());
}

LogicalResult WaitOp::verify() {
  // wait_c1
  TypeRange buffers = getCursor() ? TypeRange() : TypeRange(getRing().getType().getBuffers());
  if (getResultTypes() != buffers)
    return emitOpError("expects the buffers of the ring, (") << buffers << "), but got (" << getResultTypes() << ")";
  return success();
}

LogicalResult PrefetchOp::verify() {
  // prefetch_c1
  int64_t stages = getRing().getType().getStages();
  if (int64_t(getAhead()) < 0 || int64_t(getAhead()) >= stages)
    return emitOpError("expects ahead to be from 0 to stages - 1 = ") << stages - 1 << ", but got " << getAhead();
  // prefetch_c2
  SmallVector<Type> arguments{BlockType::get(getContext())};
  if (!isa<KeyLoopOp>((*this)->getParentOp()))
    arguments.push_back(IntegerType::get(getContext(), 32));
  return verifyBodyArguments(*this, arguments);
}

LogicalResult RingType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t stages, ArrayRef<Type> buffers) {
  // ring_c1
  if (stages < 1)
    return emitError() << "expects at least 1 stage, but got " << stages;
  // ring_c2
  for (Type buffer : buffers)
    if (!isa<BufferType>(buffer))
      return emitError() << "expects a list of buffers, but got " << buffer;
  return success();
}
