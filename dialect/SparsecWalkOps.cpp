// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks: what their steps visit, names in dumps and verification. The labels in the comments are those of SPEC.md.

#include "OpHelpers.h"
#include "SparsecDialect.h"

#include "SparsecInterfaces.cpp.inc"

using namespace mlir;
using namespace sparsec;

static SmallVector<Type> i32Types(MLIRContext *context, size_t count) {
  return SmallVector<Type>(count, IntegerType::get(context, 32));
}

//===----------------------------------------------------------------------===//
// sparsec.block_walk
//===----------------------------------------------------------------------===//

SmallVector<StringRef> BlockWalkOp::getVisitedNames() {
  bool isTransposed = getMatrix().getType().getTransposed();
  SmallVector<StringRef> names{isTransposed ? "position" : "block"};
  names.append(getBlocks(), "column");
  if (isTransposed)
    names.append(getBlocks(), "block");
  if (getScales())
    names.push_back("scale");
  if (getChunkColumns())
    names.push_back("k");
  return names;
}

SmallVector<Type> BlockWalkOp::getVisitedTypes() {
  SmallVector<Type> types = i32Types(getContext(), getVisitedNames().size());
  if (getScales())
    types.back() = Float32Type::get(getContext());
  return types;
}

bool BlockWalkOp::hasLoop() { return !getChunkColumns(); }

/// The position, the chunk, and what is loaded of each block: the column, and the number where that is another one.
int64_t BlockWalkOp::getStepValues() {
  if (getRotated() || getScales())
    return 0;
  int64_t loaded = getMatrix().getType().getTransposed() ? 2 : 1;
  return (getChunkColumns() ? 2 : 1) + loaded * int64_t(getBlocks());
}

void BlockWalkOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "walk"); }

LogicalResult BlockWalkOp::verify() {
  // block_walk_c1
  if (int64_t(getBlocks()) < 1 || (getBlocks() > 1 && getChunkColumns()))
    return emitOpError("expects blocks to be at least 1, and 1 where there are chunk_columns, but got ")
           << int64_t(getBlocks());
  // block_walk_c2
  int64_t columns = getMatrix().getType().getBlockColumns();
  if (std::optional<uint64_t> ofChunk = getChunkColumns();
      ofChunk && (int64_t(*ofChunk) < 1 || int64_t(*ofChunk) > columns))
    return emitOpError("expects chunk_columns to be from 1 to the ")
           << columns << " columns of a block, but got " << int64_t(*ofChunk);
  // block_walk_c3
  if (getRotated() && (getBlocks() > 1 || !hasLoop()))
    return emitOpError("expects a rotated walk to be by whole blocks, one by one, but got ")
           << int64_t(getBlocks()) << " blocks in each step" << (getChunkColumns() ? ", with chunk_columns" : "");
  // block_walk_c4
  if (getScales() && (!hasLoop() || int64_t(getBlocks()) != 1))
    return emitOpError("expects a walk that visits scales to be by whole blocks, one by one, but got ")
           << int64_t(getBlocks()) << " blocks in each step" << (getChunkColumns() ? ", with chunk_columns" : "");
  return success();
}

//===----------------------------------------------------------------------===//
// sparsec.key_walk
//===----------------------------------------------------------------------===//

SmallVector<StringRef> KeyWalkOp::getVisitedNames() {
  SmallVector<StringRef> names{"block", "second"};
  names.truncate(getBlocks());
  return names;
}

SmallVector<Type> KeyWalkOp::getVisitedTypes() { return i32Types(getContext(), getBlocks()); }

bool KeyWalkOp::hasLoop() { return true; }

/// The step, the position in the lists, and the entry there.
int64_t KeyWalkOp::getStepValues() { return getBlocks() == 1 ? 3 : 0; }

void KeyWalkOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "walk"); }

LogicalResult KeyWalkOp::verify() {
  // key_walk_c1
  if (int64_t(getBlocks()) != 1 && int64_t(getBlocks()) != 2)
    return emitOpError("expects steps of 1 or 2 blocks, but got ") << int64_t(getBlocks());
  // key_walk_c2
  if (int64_t(getChunks()) < 1 || (getBlocks() != 1 && getChunks() != 1))
    return emitOpError("expects steps of one block or more, or parts of one, but got ")
           << getBlocks() << " blocks in " << int64_t(getChunks()) << " chunks";
  return failed(verifySequenceSizes(*this, getSizes())) ? failure() : verifyPart(*this, getPart());
}

//===----------------------------------------------------------------------===//
// sparsec.joint_walk
//===----------------------------------------------------------------------===//

SmallVector<StringRef> JointWalkOp::getVisitedNames() {
  SmallVector<StringRef> names{"block", "second"};
  names.truncate(getBlocks());
  return names;
}

SmallVector<Type> JointWalkOp::getVisitedTypes() { return i32Types(getContext(), getBlocks()); }

bool JointWalkOp::hasLoop() { return true; }

int64_t JointWalkOp::getStepValues() { return 0; }

void JointWalkOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "walk"); }

LogicalResult JointWalkOp::verify() {
  // joint_walk_c1
  if (int64_t(getBlocks()) != 1 && int64_t(getBlocks()) != 2)
    return emitOpError("expects steps of 1 or 2 blocks, but got ") << int64_t(getBlocks());
  return success();
}

//===----------------------------------------------------------------------===//
// sparsec.walk
//===----------------------------------------------------------------------===//

void WalkOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  SmallVector<StringRef> names;
  if (auto walk = getWalk().getDefiningOp<WalkOpInterface>())
    names = walk.getVisitedNames();
  names.push_back("carried");
  nameArguments(region, setName, names);
}

void WalkOp::build(OpBuilder &builder, OperationState &state, Value walk, ValueRange inits) {
  build(builder, state, inits.getTypes(), walk, inits);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types = walk.getDefiningOp<WalkOpInterface>().getVisitedTypes();
  llvm::append_range(types, inits.getTypes());
  builder.createBlock(state.regions.front().get(), {}, types, SmallVector<Location>(types.size(), state.location));
}

/// The definition of a walk, for an op that takes its result.
static FailureOr<WalkOpInterface> definitionOf(Operation *op, Value walk) {
  if (auto definition = walk.getDefiningOp<WalkOpInterface>())
    return definition;
  return op->emitOpError("expects a walk from the op that defines it");
}

LogicalResult WalkOp::verify() {
  // walk_c1
  if (failed(verifyResultsOfInits(*this, getInits().getTypes())))
    return failure();
  // walk_c2
  FailureOr<WalkOpInterface> walk = definitionOf(*this, getWalk());
  if (failed(walk))
    return failure();
  // walk_c3
  if (!walk->hasLoop())
    return emitOpError("expects a walk that has a loop: without chunk_columns");
  // walk_c4
  SmallVector<Type> arguments = walk->getVisitedTypes();
  llvm::append_range(arguments, getInits().getTypes());
  return verifyBodyArguments(*this, arguments);
}

LogicalResult WalkOp::verifyRegions() {
  // walk_c5
  return verifyYield(*this);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static void nameStep(Value step, StringRef name, ValueRange visited, OpAsmSetValueNameFn setName) {
  setName(step, name);
  for (Value value : visited)
    setName(value, "visited");
}

void FirstStepOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameStep(getResult(), "first_step", getVisited(), setName);
}
void NextStepOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  nameStep(getResult(), "next_step", getVisited(), setName);
}

/// The types of the values that a step of a walk visits; none for an op that does not read them.
static SmallVector<Type> typesToRead(Value walk, bool reads = true) {
  return reads ? walk.getDefiningOp<WalkOpInterface>().getVisitedTypes() : SmallVector<Type>();
}

void FirstStepOp::build(OpBuilder &builder, OperationState &state, Value walk, bool reads) {
  int64_t values = walk.getDefiningOp<WalkOpInterface>().getStepValues();
  build(builder, state, StepType::get(builder.getContext(), values), typesToRead(walk, reads), walk);
}

void NextStepOp::build(OpBuilder &builder, OperationState &state, Value walk, Value step, bool reads) {
  build(builder, state, step.getType(), typesToRead(walk, reads), walk, step);
}

void ReadStepOp::build(OpBuilder &builder, OperationState &state, Value walk, Value step) {
  build(builder, state, typesToRead(walk), walk, step);
}

static LogicalResult verifyStepOf(Operation *op, Value of, StepType step, TypeRange visited, bool mustRead) {
  // step_c1
  FailureOr<WalkOpInterface> walk = definitionOf(op, of);
  if (failed(walk))
    return failure();
  // step_c4
  if (walk->getStepValues() == 0)
    return op->emitOpError(
        "expects a walk that has steps: one block of keys, or a chunk, in each, not rotated and without scales");
  // step_c2
  if (step.getValues() != walk->getStepValues())
    return op->emitOpError("expects a step of ") << walk->getStepValues() << " values, but got " << step;
  // step_c3
  SmallVector<Type> types = walk->getVisitedTypes();
  if ((mustRead || !visited.empty()) && visited != TypeRange(types))
    return op->emitOpError("expects that a step visits (") << types << "), but got (" << visited << ")";
  return success();
}

LogicalResult FirstStepOp::verify() {
  return verifyStepOf(*this, getWalk(), getResult().getType(), getVisited().getTypes(), /*mustRead=*/false);
}
LogicalResult NextStepOp::verify() {
  return verifyStepOf(*this, getWalk(), getResult().getType(), getVisited().getTypes(), /*mustRead=*/false);
}
LogicalResult ReadStepOp::verify() {
  return verifyStepOf(*this, getWalk(), getStep().getType(), getVisited().getTypes(), /*mustRead=*/true);
}
