// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products that are sampled at the blocks of a pattern: what the compiler knows of sparsec.sddmm beside its definition.

#include "BlockTiles.h"
#include "Family.h"
#include "OperationRecords.h"
#include "Selection.h"
#include "SharedMemory.h"
#include "WarpSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

/// `density` is the expected fraction of blocks that are there.
SampledDescription describeProblem(SddmmOp sddmm, double density) {
  BsrType pattern = sddmm.getPattern().getType();
  RankedTensorType left = sddmm.getLeft().getType(), result = sddmm.getResult().getType();
  int64_t m = assumedSize, n = assumedSize;
  setIfStatic(m, pattern.getRows());
  setIfStatic(n, pattern.getColumns());

  SampledDescription problem;
  problem.elementType = toElementType(left.getElementType());
  problem.outputBytes = bytesOfType(result.getElementType());
  problem.wTransposed = sddmm.getALayout() == LeftLayout::km;
  problem.xTransposed = sddmm.getBLayout() == DenseLayout::nk;
  problem.hasEpilogue = sddmm.hasEpilogue();
  problem.epilogueBytes = epilogueBytesOf(sddmm);
  problem.storesInBoxes = pattern.getBlockColumns() % 64 == 0;
  problem.patternColumns = pattern.getBlockColumns();
  // Rows of A are dense, and walked as deep as a stage is.
  problem.density = 1;
  problem.blockColumns = granule(infoOf(MatrixInstruction::Wgmma), problem.elementType);
  problem.blockRows = pattern.getBlockRows();
  problem.m = m;
  problem.n = int64_t(double(n) * density);
  setIfStatic(problem.k, left.getDimSize(1 - sddmm.getRowDimension()));
  return problem;
}

//===----------------------------------------------------------------------===//
// Programs of GPUs
//===----------------------------------------------------------------------===//

// The programs of a sddmm share this on all chips. A tile is the rows of one block row, or a part of them, and the next
// few stored blocks of that row. Its steps go along K.
class SddmmParts : public ProgramBuilder {
public:
  SddmmParts(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule);

protected:
  /// The blocks of a tile. All i32.
  struct Tile {
    TileCoordinates at;
    Value first, count; // of the blocks of all CTAs and groups
  };
  /// The part of a tile that a group stores: its rows and columns of the tile, and blocks. The column counts from the
  /// first of these blocks on.
  struct StoredPart {
    Value group, row, column;
    Value first, end; // empty where the end is not behind the first
  };
  using Values = SmallVector<Value>;

  Type elementType() override { return sddmm.getLeft().getType().getElementType(); }
  /// A ring with a tile of A and one of B.
  Value makeRing(ImplicitLocOpBuilder &b);
  /// The body gives what is carried. Tiles behind the last block of their row have none, and are passed over.
  void forEachTile(ImplicitLocOpBuilder &b, ValueRange inits,
                   function_ref<Values(const Tile &tile, ValueRange carried)> body);
  /// The first row of the tile in A.
  Value rowOfLeft(ImplicitLocOpBuilder &b, const Tile &tile);
  CopyOp copyLeft(ImplicitLocOpBuilder &b, Value row, Value k, Value cursor);
  /// The columns of B that belong to a block column.
  Value columnOfRight(ImplicitLocOpBuilder &b, Value blockColumn);
  CopyOp copyRight(ImplicitLocOpBuilder &b, Value column, Value k, Value cursor);
  Value viewOfLeft(ImplicitLocOpBuilder &b, Value row, int64_t rows);
  Value viewOfRight(ImplicitLocOpBuilder &b, Value column, int64_t columns, StringRef name);
  void storeTile(ImplicitLocOpBuilder &b, const Tile &tile, const StoredPart &part, Value sum);

  Value operand(Value kernelValue) { return mapping.lookup(kernelValue); }
  Value depthOf(ImplicitLocOpBuilder &b) {
    return SizeOp::create(b, operand(sddmm.getLeft()), 1 - sddmm.getRowDimension());
  }
  bool isLeftTransposed() { return sddmm.getALayout() == LeftLayout::km; }
  bool isRightTransposed() { return sddmm.getBLayout() == DenseLayout::nk; }
  int64_t stride() { return blockStride(instruction, pattern.getBlockColumns(), isRightTransposed()); }
  int64_t columnsOfGroup() { return schedule.getTileN() / schedule.getConsumersN(); }
  int64_t groups() { return schedule.getConsumersM() * schedule.getConsumersN(); }

  SddmmOp sddmm;
  BsrType pattern;
  MatrixInstruction instruction;
  Value ring;

private:
  Value viewOf(ImplicitLocOpBuilder &b, int64_t index, bool isDepthContiguous, Value first, int64_t outer);
};

SddmmParts::SddmmParts(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule)
    : ProgramBuilder(kernel, schedule), sddmm(sddmm), pattern(sddmm.getPattern().getType()),
      instruction(toSchedule(schedule).instruction) {}

Value SddmmParts::makeRing(ImplicitLocOpBuilder &b) {
  int64_t m = schedule.getTileM(), n = schedule.getTileN(), k = schedule.getTileK();
  auto bufferOfOperand = [&](bool isDepthContiguous, int64_t outer) -> Type {
    return isDepthContiguous ? bufferOf(schedule, outer, k, elementType())
                             : bufferOf(schedule, k, outer, elementType());
  };
  Type buffers[] = {bufferOfOperand(!isLeftTransposed(), m), bufferOfOperand(isRightTransposed(), n)};
  return sparsec::makeRing(b, schedule, buffers);
}

void SddmmParts::forEachTile(ImplicitLocOpBuilder &b, ValueRange inits,
                             function_ref<Values(const Tile &tile, ValueRange carried)> body) {
  walkTiles(b, inits, [&](Value tileRow, Value panel, ValueRange carried) {
    Tile tile;
    tile.at = tileCoordinates(b, schedule, pattern, tileRow, panel);
    auto row = RowBlocksOp::create(b, operand(sddmm.getPattern()), tile.at.blockRow);
    int64_t most = int64_t(schedule.getCluster()) * schedule.getTileN() / stride();
    tile.first = named(add(b, row.getFirst(), multiply(b, panel, most)), "tile_first");
    Value rest = arith::SubIOp::create(b, row.getEnd(), tile.first);
    Value hasBlocks = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rest, i32(b, 0));
    return carryIf(b, hasBlocks, carried, [&] {
      tile.count = named(arith::MinSIOp::create(b, rest, i32(b, most)), "count");
      return body(tile, carried);
    });
  });
}

Value SddmmParts::rowOfLeft(ImplicitLocOpBuilder &b, const Tile &tile) {
  return add(b, multiply(b, tile.at.blockRow, pattern.getBlockRows()), tile.at.row);
}

CopyOp SddmmParts::copyLeft(ImplicitLocOpBuilder &b, Value row, Value k, Value cursor) {
  Values coordinates = isLeftTransposed() ? Values{k, row} : Values{row, k};
  return CopyOp::create(b, operand(sddmm.getLeft()), coordinates, ring, cursor, /*index=*/0);
}

Value SddmmParts::columnOfRight(ImplicitLocOpBuilder &b, Value blockColumn) {
  return multiply(b, blockColumn, pattern.getBlockColumns());
}

CopyOp SddmmParts::copyRight(ImplicitLocOpBuilder &b, Value column, Value k, Value cursor) {
  Values coordinates = isRightTransposed() ? Values{column, k} : Values{k, column};
  return CopyOp::create(b, operand(sddmm.getRight()), coordinates, ring, cursor, /*index=*/1);
}

Value SddmmParts::viewOf(ImplicitLocOpBuilder &b, int64_t index, bool isDepthContiguous, Value first, int64_t outer) {
  MLIRContext *context = b.getContext();
  int64_t k = schedule.getTileK();
  if (isDepthContiguous)
    return ViewOp::create(b, ViewType::get(context, outer, k, elementType(), Major::k), ring, /*row=*/first,
                          /*column=*/Value(), index);
  return ViewOp::create(b, ViewType::get(context, k, outer, elementType(), Major::mn), ring, /*row=*/Value(),
                        /*column=*/first, index);
}

Value SddmmParts::viewOfLeft(ImplicitLocOpBuilder &b, Value row, int64_t rows) {
  return named(viewOf(b, /*index=*/0, !isLeftTransposed(), row, rows), "a");
}

Value SddmmParts::viewOfRight(ImplicitLocOpBuilder &b, Value column, int64_t columns, StringRef name) {
  return named(viewOf(b, /*index=*/1, isRightTransposed(), column, columns), name);
}

void SddmmParts::storeTile(ImplicitLocOpBuilder &b, const Tile &tile, const StoredPart &part, Value sum) {
  SmallVector<Value> extras;
  for (Value extra : sddmm.getExtras())
    extras.push_back(operand(extra));
  ProblemDescription product = productOf(describeProblem(sddmm, /*density=*/1), instruction);
  auto store =
      StoreOp::create(b, sum, results[0], tile.at.blockRow, tile.at.row, /*column=*/i32(b, 0), part.group, part.row,
                      part.column, part.first, part.end, operand(sddmm.getPattern()), extras, sddmm.getBroadcast(),
                      pattern.getBlockRows(), b.getI64IntegerAttr(stride()), /*transposed=*/false,
                      /*swapped=*/false, /*lines=*/false, usesStagedStore(toSchedule(schedule), product),
                      /*staging=*/DenseI64ArrayAttr());
  setEpilogue(b, store, sddmm.getEpilogue());
}

//===----------------------------------------------------------------------===//
// By wgmma and tensor copies
//===----------------------------------------------------------------------===//

// The program of a sddmm by wgmma and tensor copies. The blocks of a tile are shared out evenly to the CTAs of the
// cluster, which share the rows of A, and to the groups that are side by side in a CTA; a share is never cut. For each
// step of K
//
//   the producer copies the rows of A, and for every block of this CTA the rows of B of the block's columns;
//   each group of consumers multiplies its rows of A by the columns of its blocks, with one product in flight.
//
// A group whose blocks fill at most half of its columns multiplies half as many.
constexpr int64_t bytesOfStripRow = 128; // of a buffer, whose elements have 2 bytes

class SddmmRoles : public SddmmParts {
public:
  using SddmmParts::SddmmParts;

private:
  struct SharedTile : Tile {
    Value share; // the most blocks of one group, i32
  };
  struct Range {
    Value first, end; // empty where the end is not behind the first
  };
  using TileBody = function_ref<Value(const SharedTile &, Value cursor)>;
  using StepBody = function_ref<SmallVector<Value>(Value k, ValueRange carried)>;

  void buildBody(ImplicitLocOpBuilder &b) override;
  void forEachSharedTile(ImplicitLocOpBuilder &b, TileBody body);
  SmallVector<Value> walkDepth(ImplicitLocOpBuilder &b, ValueRange inits, StepBody body);
  Range blocksOf(ImplicitLocOpBuilder &b, const SharedTile &tile, Value groupColumn);
  void buildProducer(ImplicitLocOpBuilder &b);
  Value announcedBytes(ImplicitLocOpBuilder &b, const SharedTile &tile);
  void copyBlocks(ImplicitLocOpBuilder &b, Range blocks, int64_t groupColumn, Value k, Value cursor);
  void buildConsumer(ImplicitLocOpBuilder &b);
  Value buildConsumerTile(ImplicitLocOpBuilder &b, const SharedTile &tile, int64_t columns, Value cursor);
  SmallVector<Value> multiplyTile(ImplicitLocOpBuilder &b, int64_t columns, Value cursor);
  void storeShare(ImplicitLocOpBuilder &b, const SharedTile &tile, Value sum);

  int64_t groupsOfTile() { return int64_t(schedule.getCluster()) * schedule.getConsumersN(); }
  Value rowOf(ImplicitLocOpBuilder &b, Value group) {
    return multiply(b, divide(b, group, schedule.getConsumersN()), rowsOfWarpgroup);
  }
  Value columnOf(ImplicitLocOpBuilder &b, Value group) { return remainder(b, group, schedule.getConsumersN()); }

  Value viewOfA, viewsOfB[2]; // of a consumer; those of B have all columns of its group, and half of them
};

void SddmmRoles::buildBody(ImplicitLocOpBuilder &b) {
  ring = makeRing(b);
  makeRole(b, "consumer", RoleUnit::warpgroup, groups(), schedule.getConsumerRegisters(), [&] { buildConsumer(b); });
  makeRole(b, "producer", RoleUnit::thread, 1, schedule.getProducerRegisters(), [&] { buildProducer(b); });
}

/// The body gives the cursor after the tile.
void SddmmRoles::forEachSharedTile(ImplicitLocOpBuilder &b, TileBody body) {
  Value begin = CursorOp::create(b, ring);
  forEachTile(b, begin, [&](const Tile &tile, ValueRange carried) -> Values {
    Value share = divide(b, add(b, tile.count, groupsOfTile() - 1), groupsOfTile());
    return {body({tile, named(share, "share")}, named(carried[0], "slot"))};
  });
}

/// The blocks of a group of this CTA.
SddmmRoles::Range SddmmRoles::blocksOf(ImplicitLocOpBuilder &b, const SharedTile &tile, Value groupColumn) {
  Value number = groupColumn;
  if (int64_t(schedule.getCluster()) > 1)
    number = add(b, multiply(b, ClusterRankOp::create(b), schedule.getConsumersN()), groupColumn);
  Value first = add(b, tile.first, arith::MulIOp::create(b, number, tile.share));
  Value end = arith::MinSIOp::create(b, add(b, first, tile.share), add(b, tile.first, tile.count));
  return {named(first, "first"), named(end, "end")};
}

/// Steps of tile_k from 0 to K.
SmallVector<Value> SddmmRoles::walkDepth(ImplicitLocOpBuilder &b, ValueRange inits, StepBody body) {
  auto loop = scf::ForOp::create(b, i32(b, 0), depthOf(b), i32(b, schedule.getTileK()), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, body(named(loop.getInductionVar(), "k"), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

void SddmmRoles::buildProducer(ImplicitLocOpBuilder &b) {
  forEachSharedTile(b, [&](const SharedTile &tile, Value begin) -> Value {
    SmallVector<Range> blocks;
    for (int64_t column = 0; column < int64_t(schedule.getConsumersN()); ++column)
      blocks.push_back(blocksOf(b, tile, i32(b, column)));
    Value bytes = announcedBytes(b, tile);
    Value row = rowOfLeft(b, tile);
    auto step = [&](Value k, ValueRange carried) -> SmallVector<Value> {
      Value cursor = named(carried[0], "slot");
      AcquireOp::create(b, ring, cursor);
      PostOp::create(b, ring, cursor, /*messages=*/ValueRange(), bytes, /*empty=*/false);
      CopyOp copy = copyLeft(b, row, k, cursor);
      copy.setMulticast(int64_t(schedule.getCluster()) > 1);
      for (auto [column, range] : llvm::enumerate(blocks))
        copyBlocks(b, range, int64_t(column), k, cursor);
      return {NextOp::create(b, ring, cursor)};
    };
    return walkDepth(b, begin, step)[0];
  });
}

/// The bytes that this CTA receives in a step: those of A, and those of its blocks.
Value SddmmRoles::announcedBytes(ImplicitLocOpBuilder &b, const SharedTile &tile) {
  Value ofCta = multiply(b, tile.share, schedule.getConsumersN()), rest = tile.count;
  if (int64_t(schedule.getCluster()) > 1) {
    Value before = arith::MulIOp::create(b, ClusterRankOp::create(b), ofCta);
    rest = arith::MaxSIOp::create(b, arith::SubIOp::create(b, tile.count, before), i32(b, 0));
  }
  Value blocks = arith::MinSIOp::create(b, ofCta, rest);
  int64_t columnsOfCopy = isRightTransposed() ? pattern.getBlockColumns() : stride();
  return named(
      add(b, multiply(b, blocks, columnsOfCopy * bytesOfStripRow), int64_t(schedule.getTileM()) * bytesOfStripRow),
      "bytes");
}

/// The rows of B of each block, for one step of K.
void SddmmRoles::copyBlocks(ImplicitLocOpBuilder &b, Range blocks, int64_t groupColumn, Value k, Value cursor) {
  auto walk = WalkOp::create(b, BlockWalkOp::create(b, operand(sddmm.getPattern()), blocks.first, blocks.end));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&walk.getBody().front());
  Value position = walk.getVisited()[0], column = walk.getVisited()[1];
  Value inGroup = arith::SubIOp::create(b, position, blocks.first);
  Value at = add(b, multiply(b, inGroup, stride()), groupColumn * columnsOfGroup());
  CopyOp copy = copyRight(b, columnOfRight(b, column), k, cursor);
  copy.getAtMutable().assign(at);
  if (isRightTransposed())
    copy.setRows(ArrayRef<int64_t>{0, pattern.getBlockColumns()});
  else
    copy.setColumns(stride());
  YieldOp::create(b);
}

void SddmmRoles::buildConsumer(ImplicitLocOpBuilder &b) {
  Value group = GroupOp::create(b);
  viewOfA = viewOfLeft(b, rowOf(b, group), rowsOfWarpgroup);
  Value column = multiply(b, columnOf(b, group), columnsOfGroup());
  int64_t half = columnsOfGroup() / 2;
  viewsOfB[0] = viewOfRight(b, column, columnsOfGroup(), "b");
  viewsOfB[1] = viewOfRight(b, column, half, "b_half");
  forEachSharedTile(b, [&](const SharedTile &tile, Value cursor) -> Value {
    if (half % stride() != 0)
      return buildConsumerTile(b, tile, columnsOfGroup(), cursor);
    Value isHalf = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, tile.share, i32(b, half / stride()));
    auto branch = scf::IfOp::create(b, TypeRange{cursor.getType()}, isHalf, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    for (auto [block, columns] :
         {std::pair(branch.thenBlock(), half), std::pair(branch.elseBlock(), columnsOfGroup())}) {
      b.setInsertionPointToStart(block);
      scf::YieldOp::create(b, buildConsumerTile(b, tile, columns, cursor));
    }
    return branch.getResult(0);
  });
  DrainStoresOp::create(b);
}

Value SddmmRoles::buildConsumerTile(ImplicitLocOpBuilder &b, const SharedTile &tile, int64_t columns, Value cursor) {
  auto sumType = AccumulatorType::get(b.getContext(), rowsOfWarpgroup, columns);
  // The last wait belongs to the branch that has products in flight (see SpmmRoles.cpp).
  Value hasDepth = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, depthOf(b), i32(b, 0));
  auto branch = scf::IfOp::create(b, TypeRange{sumType, cursor.getType()}, hasDepth, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, multiplyTile(b, columns, cursor));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{ZeroOp::create(b, sumType), cursor});
  }
  storeShare(b, tile, branch.getResult(0));
  return branch.getResult(1);
}

/// Gives the sum and the cursor after the steps of K.
SmallVector<Value> SddmmRoles::multiplyTile(ImplicitLocOpBuilder &b, int64_t columns, Value begin) {
  auto pending = PendingType::get(b.getContext(), rowsOfWarpgroup, columns);
  Value viewOfB = viewsOfB[columns == columnsOfGroup() ? 0 : 1];
  Value zero = ZeroOp::create(b, pending);
  auto step = [&](Value k, ValueRange carried) -> SmallVector<Value> {
    Value sum = named(carried[0], "sum"), previous = named(carried[1], "previous"), cursor = named(carried[2], "slot");
    Value hasPrevious = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, k, i32(b, 0));
    WaitOp::create(b, TypeRange(), ring, cursor);
    Value product = ProductOp::create(b, pending, viewOfA, cursor, viewOfB, cursor, sum, schedule.getTileK());
    Value inFlight = AwaitOp::create(b, pending, product, /*outstanding=*/1);
    ReleaseOp::create(b, ring, previous, hasPrevious);
    return {inFlight, cursor, NextOp::create(b, ring, cursor)};
  };
  SmallVector<Value> results = walkDepth(b, {zero, begin, begin}, step);
  auto sumType = AccumulatorType::get(b.getContext(), rowsOfWarpgroup, columns);
  Value sum = AwaitOp::create(b, sumType, results[0], /*outstanding=*/0);
  ReleaseOp::create(b, ring, results[1], /*condition=*/Value());
  return {sum, results[2]};
}

/// The group is read anew: kept from tile to tile it would take registers that the accumulators need.
void SddmmRoles::storeShare(ImplicitLocOpBuilder &b, const SharedTile &tile, Value sum) {
  Value group = GroupOp::create(b);
  Range blocks = blocksOf(b, tile, columnOf(b, group));
  storeTile(b, tile, {group, rowOf(b, group), /*column=*/i32(b, 0), blocks.first, blocks.end}, sum);
}

//===----------------------------------------------------------------------===//
// By mma.sync, with copies by threads
//===----------------------------------------------------------------------===//

// The program of a sddmm in which all warps are one role, for products by mma.sync. For each step of K the warps copy
// the rows of A, and the columns of B that belong to the blocks of the tile, side by side. Each multiplies its rows of
// A by its columns, which are a part of a block or several blocks. WarpSteps.h has the order of copies and products.
//
// A tile with fewer blocks than it has room for copies the last one again. Warps that have columns of no block multiply
// nothing.
class SddmmWarps : public SddmmParts {
public:
  using SddmmParts::SddmmParts;

private:
  void buildBody(ImplicitLocOpBuilder &b) override;
  void buildRole(ImplicitLocOpBuilder &b);
  Values columnsOfBlocks(ImplicitLocOpBuilder &b, const Tile &tile);
  Value multiplyTile(ImplicitLocOpBuilder &b, const Tile &tile, Value hasBlocks);
  Value multiplyStep(ImplicitLocOpBuilder &b, Value slot, Value sum, Value hasBlocks);

  int64_t rowsOfGroup() { return schedule.getTileM() / schedule.getConsumersM(); }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), rowsOfGroup(), columnsOfGroup()); }

  Value viewOfA, viewOfB;
};

void SddmmWarps::buildBody(ImplicitLocOpBuilder &b) {
  ring = makeRing(b);
  makeRole(b, "all", RoleUnit::warp, groups(), /*registers=*/0, [&] { buildRole(b); });
}

void SddmmWarps::buildRole(ImplicitLocOpBuilder &b) {
  GroupPart part = partOf(b, schedule, rowsOfGroup(), columnsOfGroup());
  viewOfA = viewOfLeft(b, part.row, rowsOfGroup());
  viewOfB = viewOfRight(b, part.column, columnsOfGroup(), "b");
  Value blockOfTile = divide(b, part.column, stride()), columnOfBlock = remainder(b, part.column, stride());
  forEachTile(b, /*inits=*/{}, [&](const Tile &tile, ValueRange) {
    Value hasBlocks = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, blockOfTile, tile.count);
    Value sum = multiplyTile(b, tile, hasBlocks);
    Value first = add(b, tile.first, blockOfTile), end = add(b, tile.first, tile.count);
    storeTile(b, tile, {part.group, part.row, columnOfBlock, first, end}, sum);
    return Values();
  });
}

/// The first column of B of each block that a tile has room for.
SddmmWarps::Values SddmmWarps::columnsOfBlocks(ImplicitLocOpBuilder &b, const Tile &tile) {
  Value end = add(b, tile.first, tile.count), last = arith::SubIOp::create(b, end, i32(b, 1));
  Values columns;
  for (int64_t i = 0; i < int64_t(schedule.getTileN()) / stride(); ++i) {
    Value block = i == 0 ? tile.first : arith::MinSIOp::create(b, add(b, tile.first, i), last);
    Value walk = BlockWalkOp::create(b, operand(sddmm.getPattern()), block, end);
    Value blockColumn = FirstStepOp::create(b, walk, /*reads=*/true).getVisited()[1];
    columns.push_back(named(columnOfRight(b, blockColumn), "column"));
  }
  return columns;
}

Value SddmmWarps::multiplyTile(ImplicitLocOpBuilder &b, const Tile &tile, Value hasBlocks) {
  Values columns = columnsOfBlocks(b, tile);
  Value row = rowOfLeft(b, tile);
  int64_t depth = schedule.getTileK();
  Value count = divide(b, add(b, depthOf(b), depth - 1), depth);
  BarrierOp::create(b); // all warps are done with the slots of the previous tile
  auto copies = [&](Value number, Value slot, ValueRange) {
    Value k = named(multiply(b, number, depth), "k");
    copyLeft(b, row, k, slot);
    CopyOp copy = copyRight(b, columns.front(), k, slot);
    if (columns.size() > 1) {
      copy.getPartsMutable().assign(ValueRange(columns).drop_front());
      copy.setPartDimension(isRightTransposed() ? 0 : 1);
    }
  };
  auto nothing = [](Value, ValueRange) { return Values(); };
  auto product = [&](Value, Value slot, ValueRange, Value sum, function_ref<void()> meet) {
    meet();
    return multiplyStep(b, slot, sum, hasBlocks);
  };
  return WarpSteps(b, schedule, ring, count)
      .run(CursorOp::create(b, ring), /*inits=*/{}, /*names=*/{}, sumType(), copies, nothing, product);
}

Value SddmmWarps::multiplyStep(ImplicitLocOpBuilder &b, Value slot, Value sum, Value hasBlocks) {
  auto branch = scf::IfOp::create(b, TypeRange{sumType()}, hasBlocks, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, sum);
  b.setInsertionPointToStart(branch.thenBlock());
  Value product = ProductOp::create(b, sumType(), viewOfA, slot, viewOfB, slot, sum, schedule.getTileK());
  scf::YieldOp::create(b, product);
  return branch.getResult(0);
}

//===----------------------------------------------------------------------===//
// In values form, for the host
//===----------------------------------------------------------------------===//

// The program of a sddmm in values form, for the host: for every stored block the steps of K, then the store.
class SampledBlockBuilder : public BlockTileBuilder {
public:
  SampledBlockBuilder(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule)
      : BlockTileBuilder(kernel, schedule), sddmm(sddmm) {}

private:
  Type elementType() override { return sddmm.getLeft().getType().getElementType(); }
  void buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) override;
  Value buildSum(ImplicitLocOpBuilder &b, const ResultBlock &block, const Part &part);
  /// The part of an operand from an element of M or N and one of K on.
  Value load(ImplicitLocOpBuilder &b, Operand operand, Value outer, Value k, int64_t size);

  bool isLeftTransposed() { return sddmm.getALayout() == LeftLayout::km; }
  bool isRightTransposed() { return sddmm.getBLayout() == DenseLayout::nk; }

  SddmmOp sddmm;
};

void SampledBlockBuilder::buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) {
  ifBlockExists(b, mapping.lookup(sddmm.getPattern()), tileRow, panel, [&](const ResultBlock &block) {
    forParts(b, schedule.getTileN(), [&](const Part &part) {
      storePart(b, sddmm, buildSum(b, block, part), block, part, /*transposed=*/false);
    });
  });
}

Value SampledBlockBuilder::buildSum(ImplicitLocOpBuilder &b, const ResultBlock &block, const Part &part) {
  int64_t rows = schedule.getTileM(), depth = schedule.getTileK();
  Value row = multiply(b, block.row, rows);
  Value column = add(b, multiply(b, block.column, schedule.getTileN()), part.column);
  Value size = SizeOp::create(b, mapping.lookup(sddmm.getLeft()), 1 - sddmm.getRowDimension());
  return sumUp(b, AccumulatorType::get(b.getContext(), rows, part.columns), i32(b, 0), size, depth,
               [&](Value k, Value sum) -> Value {
                 Value left = load(b, Operand::a, row, named(k, "k"), rows);
                 Value right = load(b, Operand::x, column, k, part.columns);
                 return ChainOp::create(b, left, right, sum, /*scales=*/Value(), /*x_scale=*/Value(),
                                        b.getDenseI64ArrayAttr({depth}), isLeftTransposed(), isRightTransposed());
               });
}

Value SampledBlockBuilder::load(ImplicitLocOpBuilder &b, Operand operand, Value outer, Value k, int64_t size) {
  bool isDepthLast = operand == Operand::a ? !isLeftTransposed() : isRightTransposed();
  Values at{outer, k};
  int64_t rows = size, columns = schedule.getTileK();
  if (!isDepthLast) {
    std::swap(at[0], at[1]);
    std::swap(rows, columns);
  }
  Value source = mapping.lookup(operand == Operand::a ? sddmm.getLeft() : sddmm.getRight());
  return LoadPartOp::create(b, BufferType::get(b.getContext(), rows, columns, elementType()), source, at,
                            /*depth=*/Value(), operand);
}

//===----------------------------------------------------------------------===//
// The family
//===----------------------------------------------------------------------===//

class SddmmFamily : public Family {
public:
  FailureOr<std::unique_ptr<Selection>> select(KernelOp kernel, const Expectations &expected,
                                               const Chip &chip) const override {
    return makeSelection(kernel, describeProblem(opOf(kernel), expected.density), chip);
  }
  /// One stored block. A step has some of K, because both operands are dense.
  HostTile hostTile(KernelOp kernel) const override {
    constexpr int64_t depthOfStep = 256;
    BsrType pattern = opOf(kernel).getPattern().getType();
    return {pattern.getBlockRows(), pattern.getBlockColumns(), depthOfStep};
  }
  std::unique_ptr<ProgramBuilder> makeBuilder(KernelOp kernel, ScheduleAttr schedule) const override {
    if (schedule.isForHost())
      return std::make_unique<SampledBlockBuilder>(kernel, opOf(kernel), schedule);
    if (schedule.getCopy() == Copy::tma)
      return std::make_unique<SddmmRoles>(kernel, opOf(kernel), schedule);
    return std::make_unique<SddmmWarps>(kernel, opOf(kernel), schedule);
  }
  OperationRecord describe(KernelOp kernel) const override;
  void setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr schedule) const override;
  bool readsSingleElements(uint32_t slot) const override { return slot == SPARSEC_SDDMM_PATTERN; }

private:
  static SddmmOp opOf(KernelOp kernel) { return cast<SddmmOp>(kernel.getAnchor()); }
};

OperationRecord SddmmFamily::describe(KernelOp kernel) const {
  SddmmOp sddmm = opOf(kernel);
  OperandList list(kernel);
  list.add(SPARSEC_SDDMM_PATTERN, sddmm.getPattern());
  list.add(SPARSEC_SDDMM_LEFT, sddmm.getLeft(), static_cast<uint32_t>(sddmm.getALayout()));
  list.add(SPARSEC_SDDMM_RIGHT, sddmm.getRight(), static_cast<uint32_t>(sddmm.getBLayout()));
  list.addExtras(SPARSEC_SDDMM_EXTRA, sddmm, SPARSEC_LAYOUT_NONE);
  list.addResult(SPARSEC_SDDMM_RESULT, 0);
  OperationRecord record;
  record.kind = SPARSEC_OPERATION_SDDMM;
  record.operands = list.take();
  addEpilogue(record, sddmm.getEpilogue(), SPARSEC_SDDMM_EXTRA);
  return record;
}

/// Blocks are written as a whole, also where M cuts them: all block rows have as many tile rows.
void SddmmFamily::setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr schedule) const {
  const sparsec_argument_info_t &pattern = kernel.argumentIn(SPARSEC_SDDMM_PATTERN);
  bool isTransposed = kernel.operandIn(SPARSEC_SDDMM_RIGHT).layout == SPARSEC_LAYOUT_TRANSPOSED;
  uint32_t blocks = 1; // of a tile
  if (schedule)
    blocks = stage.info.tile_n /
             uint32_t(blockStride(toSchedule(schedule).instruction, pattern.block_columns, isTransposed));
  uint32_t panel = stage.info.cluster * blocks * pattern.block_columns;
  stage.rows = {kernel.tilesOf(SPARSEC_SDDMM_PATTERN, 0, pattern.block_rows, pattern.block_rows),
                kernel.tilesOf(SPARSEC_SDDMM_RESULT, 1, pattern.block_rows, stage.info.tile_m)};
  stage.panels = {kernel.tilesOf(SPARSEC_SDDMM_PATTERN, 1, panel, panel)};
}

} // namespace

const Family &sparsec::sddmmFamily() {
  static const SddmmFamily family;
  return family;
}
