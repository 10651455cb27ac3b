// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names in dumps and verification of the tile ops. The labels in the comments are those of SPEC.md.

#include "ElementwiseRegion.h"
#include "OpHelpers.h"
#include "SparsecDialect.h"

using namespace mlir;
using namespace sparsec;

void TileLoopOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"tile"});
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

LogicalResult TileLoopOp::verify() {
  // tile_loop_c1
  return verifyBodyArguments(*this, {TileType::get(getContext())});
}

LogicalResult BlockLoopOp::verify() {
  // block_loop_c1
  if (getBlocksPerStep() < 1 || getChunks() < 1 || (getBlocksPerStep() > 1 && getChunks() > 1))
    return emitOpError("expects blocks_per_step and chunks to be at least 1 and one of them to be 1, but got ")
           << getBlocksPerStep() << " and " << getChunks();
  // block_loop_c2
  if (getInits().getTypes() != getResultTypes())
    return emitOpError("expects results of the types of its inits, (")
           << getInits().getTypes() << "), but got (" << getResultTypes() << ")";
  // block_loop_c3
  SmallVector<Type> arguments{BlockType::get(getContext()), IntegerType::get(getContext(), 32)};
  llvm::append_range(arguments, getInits().getTypes());
  return verifyBodyArguments(*this, arguments);
}

LogicalResult BlockLoopOp::verifyRegions() {
  // block_loop_c4
  TypeRange yielded = getBody().front().getTerminator()->getOperandTypes();
  if (yielded != getResultTypes())
    return emitOpError("expects its body to yield (") << getResultTypes() << "), but got (" << yielded << ")";
  return success();
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
  if (getInits().getTypes() != getResultTypes())
    return emitOpError("expects results of the types of its inits, (")
           << getInits().getTypes() << "), but got (" << getResultTypes() << ")";
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
  TypeRange yielded = getBody().front().getTerminator()->getOperandTypes();
  if (yielded != getResultTypes())
    return emitOpError("expects its body to yield (") << getResultTypes() << "), but got (" << yielded << ")";
  return success();
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
  int64_t buffers = getRing().getType().getBuffers().size();
  if (int64_t(getIndex()) < 0 || int64_t(getIndex()) >= buffers)
    return emitOpError("expects the index of one of the ring's ") << buffers << " buffers, but got " << getIndex();
  return success();
}

LogicalResult WaitOp::verify() {
  // wait_c1
  TypeRange buffers = getRing().getType().getBuffers();
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
