// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names and verification of the tile ops that only attention needs. The labels in the comments are those of SPEC.md.

#include "OpHelpers.h"
#include "SparsecDialect.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void KeyLoopOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"block", "carried"});
}

void SoftmaxOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  SmallVector<StringRef> names{"s", "batch", "head", "query", "key", "extra"};
  nameArguments(region, setName, ArrayRef(names).drop_front(&region == &getMask()));
}

void IfStepOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"key"});
}

void TileSoftmaxOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  SmallVector<StringRef> names{"s", "batch", "head", "query", "key", "extra"};
  nameArguments(region, setName, ArrayRef(names).drop_front(&region == &getMask()));
}

void QueryTileOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBatch(), "batch");
  setName(getHead(), "head");
  setName(getKeyHead(), "key_head");
  setName(getFirst(), "query");
}

void KeyListsOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "lists"); }
void JointListOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "list"); }
void TileSoftmaxOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "softmax"); }

void KeyTermsOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "terms"); }

void KeyBlockOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getKey(), "key");
  setName(getPartial(), "partial");
}

void JointBlockOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getKey(), "key");
  setName(getPartial(), "partial");
}

void PackedTileOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getTileRow(), "row");
  setName(getBlock(), "block");
}

void TilePartOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getPanel(), "panel");
  setName(getPart(), "part");
  setName(getParts(), "parts");
}

void SequenceOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getQueryRow(), "query_row");
  setName(getQueries(), "queries");
  setName(getKeyRow(), "key_row");
  setName(getKeys(), "keys");
}

void FindPageOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getPage(), "page");
  setName(getPageRow(), "page_row");
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult sparsec::verifySequenceSizes(Operation *op, ValueRange sizes) {
  // sequence_c1
  if (sizes.empty() || sizes.size() == 2)
    return success();
  return op->emitOpError("expects the queries and the keys of a sequence as sizes, but got ")
         << sizes.size() << " numbers";
}

LogicalResult sparsec::verifyPart(Operation *op, ValueRange part) {
  // part_c1
  if (part.empty() || part.size() == 2)
    return success();
  return op->emitOpError("expects a part and the number of parts, but got ") << part.size() << " numbers";
}

LogicalResult IfStepOp::verify() {
  // if_step_c1
  if (int64_t(getKeys()) < 1)
    return emitOpError("expects steps of at least 1 key, but got ") << getKeys();
  // if_step_c2
  return verifyBodyArguments(*this, {IntegerType::get(getContext(), 32)});
}

LogicalResult StorePartOp::verify() { return verifyPart(*this, getPart()); }
LogicalResult TileSoftmaxOp::verify() { return verifySequenceSizes(*this, getSizes()); }

LogicalResult ClearRowsOp::verify() {
  // clear_rows_c1
  int64_t rows = cast<BufferType>(getRing().getType().getBuffers()[0]).getRows();
  if (getFrom().empty() || rows % int64_t(getFrom().size()) != 0)
    return emitOpError("expects numbers for equal parts of ") << rows << " rows, but got " << getFrom().size();
  return success();
}

LogicalResult ScaleRowsOp::verify() {
  auto buffer = cast<BufferType>(getRing().getType().getBuffers()[0]);
  // scale_rows_c1
  if (!buffer.getElementType().isBF16())
    return emitOpError("expects elements of bf16, but got ") << buffer.getElementType();
  // scale_rows_c2
  constexpr int64_t rowsOfUnit = 64;
  int64_t rows = getRows();
  if (rows < 1 || rows % rowsOfUnit != 0 || rows > buffer.getRows())
    return emitOpError("expects a multiple of 64 rows, of the ") << buffer.getRows() << " of a slot, but got " << rows;
  return success();
}

/// The blocks of a step: one or two, each with its first key and whether the mask region applies.
template <typename Op> static LogicalResult verifyStep(Op op) {
  size_t keys = op.getKeys().size(), partial = op.getPartial().size();
  if ((keys == 1 || keys == 2) && keys == partial)
    return success();
  return op.emitOpError("expects the first keys of 1 or 2 blocks and as many conditions, but got ")
         << keys << " and " << partial;
}

// score_step_c1
LogicalResult ScoreBiasOp::verify() { return verifyStep(*this); }
LogicalResult KeyTermsOp::verify() { return verifyStep(*this); }
LogicalResult RowMaximumOp::verify() { return verifyStep(*this); }
LogicalResult ExponentiateOp::verify() { return verifyStep(*this); }

LogicalResult StoreRowsOp::verify() {
  // store_rows_c1
  TypeRange at = getAt().getTypes();
  bool isTile = at.size() == 1 && isa<TileType>(at[0]);
  bool isQuery = at.size() == 3 && llvm::all_of(at, [](Type type) { return isa<IntegerType>(type); });
  if (!isTile && !isQuery)
    return emitOpError("expects a tile, or the batch, the head and the first query, but got (") << at << ")";
  return success();
}

LogicalResult MergeRowsOp::verify() {
  constexpr int64_t warpLanes = 32;
  // merge_rows_c1
  int64_t lanes = getLanes(), vector = getVector(), rows = getRows();
  if (lanes < 1 || lanes > warpLanes || !llvm::isPowerOf2_64(lanes))
    return emitOpError("expects a row to have 1, 2, 4, 8, 16 or 32 lanes, but got ") << lanes;
  // merge_rows_c2
  if (vector < 1 || vector > 16 || !llvm::isPowerOf2_64(vector))
    return emitOpError("expects vectors of 1, 2, 4, 8 or 16 elements, but got ") << vector;
  // merge_rows_c3
  if (rows < 1)
    return emitOpError("expects tiles of at least 1 row, but got ") << rows;
  auto role = (*this)->getParentOfType<RoleOp>();
  if (!role)
    return success();
  // merge_rows_c4
  int64_t threads = role.getThreadsOfGroup() * int64_t(role.getCount());
  if (role.getUnit() != RoleUnit::warp || rows % (threads / lanes) != 0)
    return emitOpError("expects a role of warps, whose threads have equally many rows, but got ")
           << rows << " rows for " << threads << " threads";
  return success();
}
