// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names in dumps and verification of the tile ops. The labels in the comments are those of SPEC.md.

#include "ElementwiseRegion.h"
#include "OpHelpers.h"
#include "SparsecDialect.h"

using namespace mlir;
using namespace sparsec;

void TileLoopOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (getCut())
    return nameArguments(region, setName, {"tile_row", "panel", "first_block", "count", "carried"});
  nameArguments(region, setName, {"tile_row", "panel", "carried"});
}

void BlockLoopOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"block", "chunk", "acc"});
}

void StoreOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"acc", "extra"});
}

void TileOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "tile"); }
void RingOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), getName().value_or("ring")); }
void SliceOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "slice"); }
void GroupOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "group"); }
void GroupPartOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getGroup(), "group");
  setName(getRow(), "group_row");
  setName(getColumn(), "group_column");
}
void ClusterRankOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "rank"); }
void CursorOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), getPosition() ? "slot" : "begin");
}
void NextOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "next"); }

LogicalResult NextOp::verify() {
  int64_t stages = getRing().getType().getStages(), step = getStep();
  // next_c1
  if (stages % step != 0)
    return emitOpError("expects a step that divides the stages, ") << stages << ", but got " << step;
  return success();
}

void SizeOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "size"); }

void BlockColumnOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getColumn(), "column"); }

void RowBlocksOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getFirst(), "first");
  setName(getEnd(), "end");
}

void TestOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getIsFull(), "is_full"); }

void WaitOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  for (Value result : getResults())
    setName(result, "message");
}

LogicalResult sparsec::verifyBodyArguments(Operation *op, ArrayRef<Type> expected) {
  TypeRange got = op->getRegion(0).getArgumentTypes();
  if (got != TypeRange(expected))
    return op->emitOpError("expects the arguments of its body to be (") << expected << "), but got (" << got << ")";
  return success();
}

LogicalResult sparsec::verifyResultsOfInits(Operation *op, TypeRange inits) {
  if (inits == op->getResultTypes())
    return success();
  return op->emitOpError("expects results of the types of its inits, (")
         << inits << "), but got (" << op->getResultTypes() << ")";
}

LogicalResult sparsec::verifyYield(Operation *op) {
  TypeRange yielded = op->getRegion(0).front().getTerminator()->getOperandTypes();
  if (yielded == op->getResultTypes())
    return success();
  return op->emitOpError("expects its body to yield (") << op->getResultTypes() << "), but got (" << yielded << ")";
}

LogicalResult TileLoopOp::verify() {
  // tile_loop_c2
  if (failed(verifyResultsOfInits(*this, getInits().getTypes())))
    return failure();
  // tile_loop_c4
  if (getPeriodic() && getCounter())
    return emitOpError("expects periodic or counter, but not both");
  // tile_loop_c5
  if (getCut() && (getPeriodic() || getCounter()))
    return emitOpError("expects cut alone, without periodic and counter");
  // tile_loop_c6
  if (auto program = (*this)->getParentOfType<ProgramOp>(); getCut() && program && !program.getCut())
    return emitOpError("expects cut in a program that is cut");
  // tile_loop_c1
  SmallVector<Type> arguments(getCoordinateCount(), IntegerType::get(getContext(), 32));
  llvm::append_range(arguments, getInits().getTypes());
  return verifyBodyArguments(*this, arguments);
}

LogicalResult TileLoopOp::verifyRegions() {
  // tile_loop_c3
  return verifyYield(*this);
}

LogicalResult SleepOp::verify() {
  // sleep_c1
  if (int64_t(getNanoseconds()) < 1)
    return emitOpError("expects at least 1 nanosecond, but got ") << getNanoseconds();
  return success();
}

LogicalResult TileFollowsOp::verify() {
  auto loop = cast<TileLoopOp>((*this)->getParentOp());
  // tile_follows_c1
  if (!loop.getCounter() && !loop.getCut())
    return emitOpError("expects a tile loop with counter or cut");
  // tile_follows_c2
  if (!llvm::hasSingleElement(loop.getBody().front().getOps<TileFollowsOp>()))
    return emitOpError("expects to be the only one of its loop");
  return success();
}

void TileLoopOp::build(OpBuilder &builder, OperationState &state, ValueRange inits, bool cut) {
  build(builder, state, inits.getTypes(), inits, /*periodic=*/false, /*counter=*/false, cut);
  OpBuilder::InsertionGuard guard(builder);
  const size_t coordinates = cut ? 4 : 2;
  Block *body = builder.createBlock(state.regions.front().get());
  body->addArguments(SmallVector<Type>(coordinates, builder.getI32Type()),
                     SmallVector<Location>(coordinates, state.location));
  for (Value init : inits)
    body->addArgument(init.getType(), state.location);
  if (inits.empty())
    ensureTerminator(*state.regions.front(), builder, state.location);
}

int64_t RoleOp::getWarpgroups(int64_t tiles) {
  int64_t groups = tiles * int64_t(getCount());
  switch (getUnit()) {
  case RoleUnit::warpgroup:
    return groups;
  case RoleUnit::warp:
    return groups / warpsOfWarpgroup;
  case RoleUnit::thread:
    return 1;
  }
  llvm_unreachable("all units are covered");
}

LogicalResult RoleOp::verify() {
  // role_c1
  if (int64_t(getCount()) < 1 || (getUnit() == RoleUnit::thread && int64_t(getCount()) != 1))
    return emitOpError("expects 1 thread, or at least 1 warp or warpgroup, but got ") << getCount();
  return success();
}

int64_t RoleOp::getWarps() { return int64_t(getCount()) * (getUnit() == RoleUnit::warpgroup ? warpsOfWarpgroup : 1); }

size_t RoleOp::countSharers(ArrayRef<RoleOp> roles) {
  if (RoleOp first = roles.front(); first.getUnit() != RoleUnit::thread)
    return 1;
  return roles.take_while([](RoleOp role) { return role.getUnit() != RoleUnit::warpgroup; }).size();
}

LogicalResult GroupPartOp::verify() {
  // group_part_c1
  if (int64_t(getRows()) < 1 || int64_t(getColumns()) < 1 || int64_t(getAcross()) < 1)
    return emitOpError("expects rows, columns and across to be at least 1, but got ")
           << getRows() << ", " << getColumns() << " and " << getAcross();
  return success();
}

LogicalResult SizeOp::verify() {
  // size_c1
  auto tensor = dyn_cast<RankedTensorType>(getSource().getType());
  if (!tensor && !isa<BsrType>(getSource().getType()))
    return emitOpError("expects a tensor or a !sparsec.bsr, but got ") << getSource().getType();
  // size_c2
  int64_t rank = tensor ? tensor.getRank() : 2;
  if (int64_t(getDimension()) < 0 || int64_t(getDimension()) >= rank)
    return emitOpError("expects a dimension from 0 to ") << rank - 1 << ", but got " << getDimension();
  return success();
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

/// The elements of an operand along the result, and along K. Fragments, and views with `k`, have K as columns.
static std::pair<int64_t, int64_t> extentsOf(Type operand) {
  if (auto fragment = dyn_cast<FragmentType>(operand))
    return {fragment.getRows(), fragment.getColumns()};
  auto view = cast<ViewType>(operand);
  std::pair<int64_t, int64_t> extents = {view.getRows(), view.getColumns()};
  if (view.getMajor() == Major::mn)
    std::swap(extents.first, extents.second);
  return extents;
}

/// The columns of B that a strip of shared memory has, and those of ones behind them.
static constexpr int64_t columnsBesideOnes = 64, columnsOfOnes = 8;

LogicalResult ProductOp::verify() {
  Type b = getB().getType();
  auto [rows, depthOfA] = extentsOf(getA().getType());
  auto [columns, depth] = extentsOf(b);
  // product_c9
  if (getOnes() && (columns != columnsBesideOnes || isa<ViewType>(getA().getType()) || !isa<PendingType>(getType())))
    return emitOpError("expects a fragment as A, a B of ")
           << columnsBesideOnes << " columns and a pending result beside ones, but got " << getA().getType() << ", "
           << b << " and " << getType();
  if (getOnes())
    columns += columnsOfOnes;
  // product_c1
  bool fits = depthOfA == depth && shapeOf(getType()) == std::pair(rows, columns) &&
              (!getAccumulator() || shapeOf(getAccumulator().getType()) == std::pair(rows, columns));
  if (!fits) {
    auto error = emitOpError("expects A of M x K, B of K x N, an accumulator and a result of M x N, but got ")
                 << getA().getType() << ", " << b << ", ";
    if (getAccumulator())
      error << getAccumulator().getType() << " and ";
    return error << getType();
  }
  // product_c2
  if (int64_t(getDepth()) < 1 || int64_t(getDepth()) > depth)
    return emitOpError("expects a depth from 1 to ") << depth << ", but got " << getDepth();
  // product_c3
  bool isViewOfA = isa<ViewType>(getA().getType()), isViewOfB = isa<ViewType>(b);
  if (isViewOfA != bool(getACursor()) || isViewOfB != bool(getBCursor()))
    return emitOpError("expects a cursor for a view, and none for a fragment");
  // product_c4
  auto program = (*this)->getParentOfType<ProgramOp>();
  bool isPending = isa<PendingType>(getType());
  if (program && isPending != (program.getSchedule().getInstruction() == Instruction::wgmma))
    return emitOpError("expects a pending result with wgmma and an accumulator with mma_sync, but got ") << getType();
  // product_c5
  if (std::optional<uint64_t> part = getColumns();
      part && (!isPending || int64_t(*part) < 8 || int64_t(*part) % 8 != 0 || columns % int64_t(*part) != 0))
    return emitOpError("expects columns to be a multiple of 8 that divides the ")
           << columns << " of a pending accumulator, but got " << *part;
  // product_c7
  auto shapeOfRegisters = getRegisters() ? shapeOf(getRegisters().getType()) : shapeOf(getType());
  if (getRegisters() && (getAccumulator() || !isPending || shapeOfRegisters != shapeOf(getType())))
    return emitOpError("expects registers of ")
           << getType() << " for a pending product without an accumulator, but got " << getRegisters().getType();
  // product_c6
  if (!isViewOfB && (isPending || isViewOfA))
    return emitOpError("expects a fragment as B only with mma_sync and a fragment as A");
  auto load = getB().getDefiningOp<LoadFragmentOp>();
  if (load && !load.getAsB())
    return emitOpError("expects a fragment as B to be loaded as_b");
  // product_c8
  auto viewOfA = dyn_cast<ViewType>(getA().getType());
  if (getWidened() && (isPending || !viewOfA || viewOfA.getElementType().getIntOrFloatBitWidth() != 8))
    return emitOpError("expects a view of fp8 as A of a widened product by mma_sync, but got ") << getA().getType();
  return success();
}

LogicalResult LoadFragmentOp::verify() {
  // load_fragment_c1
  ViewType view = getView().getType();
  FragmentType fragment = getType();
  int64_t rows = view.getRows(), depth = view.getColumns();
  if (view.getMajor() == Major::mn)
    std::swap(rows, depth);
  const bool isWidened = view.getElementType().getIntOrFloatBitWidth() == 8 && view.getMajor() == Major::k &&
                         fragment.getElementType().isF16();
  if (rows != fragment.getRows() || depth != fragment.getColumns() ||
      (view.getElementType() != fragment.getElementType() && !isWidened))
    return emitOpError("expects a fragment of M x K for a view of M x K (k) or K x M (mn), but got ")
           << fragment << " of " << view;
  // load_fragment_c2
  auto program = (*this)->getParentOfType<ProgramOp>();
  const bool isOfWarps = !program || program.getSchedule().getInstruction() == Instruction::mma_sync;
  if (getAsB() && !isOfWarps)
    return emitOpError("expects as_b only with mma_sync");
  // load_fragment_c3
  if (isWidened && !isOfWarps)
    return emitOpError("expects f16 from fp8 only with mma_sync");
  return success();
}

LogicalResult AwaitOp::verify() {
  // await_c1
  if (int64_t(getOutstanding()) < 0 || int64_t(getOutstanding()) > 7)
    return emitOpError("expects outstanding to be from 0 to 7, but got ") << getOutstanding();
  // await_c3
  auto program = (*this)->getParentOfType<ProgramOp>();
  if (program && program.getSchedule().getInstruction() != Instruction::wgmma)
    return emitOpError("expects a product by wgmma, which completes later: one of mma_sync is complete at once");
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

LogicalResult LoadPartOp::verify() {
  auto tensor = dyn_cast<RankedTensorType>(getSource().getType());
  bool isMatrix = isa<BsrType>(getSource().getType());
  // load_part_c1
  if (!isMatrix && !(tensor && tensor.getRank() == 2))
    return emitOpError("expects a tensor of rank 2 or a !sparsec.bsr, but got ") << getSource().getType();
  // load_part_c2
  if (size_t expected = isMatrix ? 3 : 2; getCoordinates().size() != expected)
    return emitOpError("expects ") << expected << " coordinates, but got " << getCoordinates().size();
  // load_part_c3
  if (getDepth() && !isMatrix)
    return emitOpError("expects a depth only for a block, but got ") << getSource().getType();
  return success();
}

LogicalResult ChainOp::verify() {
  BufferType a = getA().getType(), x = getX().getType();
  AccumulatorType accumulator = getAccumulator().getType();
  int64_t aRows = getATransposed() ? a.getColumns() : a.getRows();
  int64_t aDepth = getATransposed() ? a.getRows() : a.getColumns();
  int64_t xDepth = getXTransposed() ? x.getColumns() : x.getRows();
  int64_t xColumns = getXTransposed() ? x.getRows() : x.getColumns();
  // chain_c1
  if (aRows != accumulator.getRows() || xColumns != accumulator.getColumns() || aDepth != xDepth)
    return emitOpError("expects A of M x K, X of K x N and an accumulator of M x N, but got ")
           << aRows << " x " << aDepth << ", " << xDepth << " x " << xColumns << " and " << accumulator.getRows()
           << " x " << accumulator.getColumns();
  // chain_c2
  for (int64_t depth : getDepth())
    if (depth < 1 || depth > xDepth)
      return emitOpError("expects every depth to be from 1 to ") << xDepth << ", but got " << depth;
  // chain_c3
  if (getWidened() && a.getElementBytes() != 1)
    return emitOpError("expects A of fp8 for a widened product, but got ") << a.getElementType();
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

LogicalResult StoreOp::verify() {
  // store_c3
  int64_t rank = getPattern() ? 3 : 2;
  if (getResult().getType().getRank() != rank)
    return emitOpError("expects a result of rank ")
           << rank << (getPattern() ? " for blocks" : "") << ", but got " << getResult().getType();
  // store_c4
  if (bool(getPattern()) != getBlockStride().has_value())
    return emitOpError("expects a block_stride for blocks, and none without them");
  // store_c5
  if (getLines() && getPattern())
    return emitOpError("expects lines only for a dense result");
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

/// Whether A or X may be gathered from several blocks: by threads, but not by a tensor copy.
static bool mayGather(Operation *op) {
  auto program = op->getParentOfType<ProgramOp>();
  return !program || program.getSchedule().getCopy() != Copy::tma;
}

/// How many blocks of a matrix a copy gathers.
static int64_t blocksOfCopy(CopyOp op, BufferType buffer) {
  auto matrix = dyn_cast<BsrType>(op.getSource().getType());
  if (!matrix || (!mayGather(op) && matrix.getTransposed()))
    return 1;
  int64_t depth = matrix.getTransposed() ? buffer.getRows() : buffer.getColumns();
  return std::max<int64_t>(depth / matrix.getBlockColumns(), 1);
}

static LogicalResult verifyBlockColumns(CopyOp op, BufferType buffer) {
  size_t columns = op.getBlockColumns().size();
  auto matrix = dyn_cast<BsrType>(op.getSource().getType());
  if (!matrix && columns > 0)
    return op.emitOpError("expects block columns only for blocks of a matrix, but got some for ")
           << op.getSource().getType();
  int64_t blocks = blocksOfCopy(op, buffer);
  if (blocks > 1 ? int64_t(columns) != blocks : columns > 1)
    return op.emitOpError("expects the columns of its ") << blocks << " blocks, but got " << columns;
  return success();
}

static LogicalResult verifyParts(CopyOp op, BufferType buffer) {
  std::optional<uint64_t> dimension = op.getPartDimension();
  if (auto matrix = dyn_cast<BsrType>(op.getSource().getType()); matrix && matrix.getTransposed()) {
    int64_t others = blocksOfCopy(op, buffer) - 1;
    if (int64_t(op.getParts().size()) != others || (others > 0 && dimension != 0))
      return op.emitOpError("expects the other ")
             << others << " blocks as parts of dimension 0, but got " << op.getParts().size();
    return success();
  }
  if (!dimension && op.getParts().empty())
    return success();
  int64_t parts = op.getParts().size() + 1;
  bool isPlain = isa<RankedTensorType>(op.getSource().getType()) && op.getCoordinates().size() == 2 && !op.getRows();
  bool isDimension = dimension && (*dimension == 0 || *dimension == 1);
  int64_t extent = isDimension && *dimension == 0 ? buffer.getRows() : buffer.getColumns();
  if (!isPlain || !isDimension || parts == 1 || extent % parts != 0 || !mayGather(op))
    return op.emitOpError("expects parts of a dimension of a matrix, in a role of warps, which divide ")
           << buffer << ", but got " << parts;
  return success();
}

void CopyOp::build(OpBuilder &builder, OperationState &state, Value source, ValueRange coordinates, Value ring,
                   Value cursor, int64_t index) {
  build(builder, state, source, coordinates, /*block_columns=*/{}, /*parts=*/{}, /*end=*/Value(), ring, cursor,
        /*at=*/Value(), index,
        /*multicast=*/false, /*lines=*/false, /*depth_rows=*/false, /*evict_first=*/false, /*clipped=*/false,
        /*clipped_strips=*/false,
        /*rows=*/DenseI64ArrayAttr(), /*columns=*/IntegerAttr(),
        /*part_dimension=*/IntegerAttr());
}

LogicalResult CopyOp::verify() {
  // copy_c1
  FailureOr<BufferType> buffer = bufferAt(*this, getRing().getType(), getIndex());
  if (failed(buffer))
    return failure();
  // copy_c2
  auto tensor = dyn_cast<RankedTensorType>(getSource().getType());
  size_t rank = tensor ? tensor.getRank() : 3;
  if (getCoordinates().size() != rank)
    return emitOpError("expects ") << rank << " coordinates, but got " << getCoordinates().size();
  // copy_c3
  if (failed(verifyBlockColumns(*this, *buffer)))
    return failure();
  // copy_c5
  if (failed(verifyParts(*this, *buffer)))
    return failure();
  // copy_c6
  if (getAt() && !getRows() && !getColumns())
    return emitOpError("expects rows or columns that begin at a place");
  // copy_c7
  if (std::optional<uint64_t> columns = getColumns();
      columns && (!tensor || int64_t(*columns) < 1 || int64_t(*columns) > buffer->getColumns()))
    return emitOpError("expects columns to be from 1 to the ")
           << buffer->getColumns() << " of the buffer, for a tensor";
  // copy_c8
  const int64_t bytesOfRow = buffer->getStrip();
  const bool hasShortRows = bytesOfRow == 32 || bytesOfRow == 64;
  if (getLines() && (tensor || mayGather(*this) || !hasShortRows || getBlockColumns().size() == 1))
    return emitOpError("expects lines only for whole blocks by tma, into a buffer with strips of 32 or 64 bytes");
  // copy_c9
  auto matrix = dyn_cast<BsrType>(getSource().getType());
  if (getDepthRows() && (!matrix || matrix.getTransposed()))
    return emitOpError("expects depth_rows only for blocks of a matrix that is not transposed");
  // copy_c10
  const bool hasWholeRows = tensor && rank == 2 && !getRows() && !getColumns() && getPartDimension().value_or(0) == 0;
  if (buffer->getAdjacent() && (!hasWholeRows || !mayGather(*this)))
    return emitOpError("expects whole rows of a matrix, in a role of warps, for a buffer of adjacent rows");
  // copy_c11
  const bool clips = getClipped() || getClippedStrips();
  if (clips && (!tensor || rank != 2 || mayGather(*this) || getMulticast() || getRows()))
    return emitOpError("expects to be clipped only where it brings all rows of a matrix by tma, to one CTA");
  if (getClipped() && getClippedStrips())
    return emitOpError("expects to leave out rows or strips, not both");
  // copy_c12
  auto role = (*this)->getParentOfType<RoleOp>();
  if (role && role.getUnit() == RoleUnit::warp && !mayGather(*this))
    return emitOpError("expects to be in a role of one thread, because it is by tma");
  // copy_c4
  std::optional<ArrayRef<int64_t>> rows = getRows();
  if (!rows)
    return success();
  bool isPart = rows->size() == 2 && (*rows)[0] >= 0 && (*rows)[1] >= 1 && (*rows)[0] <= buffer->getRows() &&
                (*rows)[1] <= buffer->getRows() - (*rows)[0];
  if (!isPart || (!tensor && mayGather(*this)))
    return emitOpError("expects rows to be {first, number} of the ")
           << buffer->getRows() << " rows, for a tensor or by tma";
  return success();
}

/// Whether the ring of an op has messages, as far as its definition is known.
static bool mayHaveMessages(Value ring) {
  auto op = ring.getDefiningOp<RingOp>();
  return !op || op.getMessages();
}

/// `messages` are those that the op writes or reads: none or two.
static LogicalResult verifyMessages(Operation *op, Value ring, TypeRange messages) {
  if (messages.empty() || (messages.size() == 2 && mayHaveMessages(ring)))
    return success();
  return op->emitOpError("expects no message, or two of a ring with messages, but got ") << messages.size();
}

LogicalResult PostOp::verify() {
  // post_c2
  if (getEmpty() && getBytes())
    return emitOpError("expects no bytes for an empty slot");
  // post_c1
  return verifyMessages(*this, getRing(), getMessages().getTypes());
}

LogicalResult RingOp::verify() {
  // ring_c3
  if (std::optional<uint64_t> releases = getReleases(); releases && (int64_t(*releases) < 1 || getMessages()))
    return emitOpError("expects releases to be at least 1, for a ring without messages, but got ") << *releases;
  return success();
}

LogicalResult ReleaseOp::verify() {
  // release_c1
  auto role = (*this)->getParentOfType<RoleOp>();
  if (getGroups() && (getCondition() || (role && role.getUnit() != RoleUnit::thread)))
    return emitOpError("expects a role of one thread, and no condition, to release a slot for other groups");
  return success();
}

LogicalResult WaitOp::verify() {
  // wait_c1
  return verifyMessages(*this, getRing(), getResultTypes());
}

LogicalResult BarrierOp::verify() {
  // barrier_c1
  auto role = (*this)->getParentOfType<RoleOp>();
  if (getGroup() && role && role.getUnit() != RoleUnit::warp)
    return emitOpError("expects a role of warps for a barrier of a group");
  return success();
}

static LogicalResult verifySlices(Operation *op) {
  auto program = op->getParentOfType<ProgramOp>();
  if (program && int64_t(program.getSchedule().getSlices()) == 1)
    return op->emitOpError("expects a program with several slices");
  return success();
}

LogicalResult SliceOp::verify() {
  // slice_c1
  return verifySlices(*this);
}

LogicalResult AddSlicesOp::verify() {
  // add_slices_c1
  return verifySlices(*this);
}

LogicalResult AwaitCopiesOp::verify() {
  // await_copies_c1
  if (int64_t(getOutstanding()) < 0)
    return emitOpError("expects outstanding to be at least 0, but got ") << int64_t(getOutstanding());
  return success();
}

LogicalResult ToFragmentOp::verify() {
  // to_fragment_c1
  if (shapeOf(getAccumulator().getType()) != std::pair(getType().getRows(), getType().getColumns()))
    return emitOpError("expects a fragment of the size of its accumulator, but got ")
           << getType() << " of " << getAccumulator().getType();
  return success();
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
