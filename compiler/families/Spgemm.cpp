// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of two block-sparse matrices: what the compiler knows of sparsec.spgemm beside its definition.

#include "BlockTiles.h"
#include "Family.h"
#include "OperationRecords.h"
#include "Selection.h"
#include "SharedMemory.h"
#include "WarpSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

namespace {

constexpr int64_t numbersOfPair = 3; // of an entry of SPARSEC_PLAN_PAIRS: blocks of A and B, and their place along K

/// Tensor stores write whole units of 16 bytes. Rows of other widths are stored from registers.
bool hasWholeRows(SpgemmOp spgemm) {
  RankedTensorType result = spgemm.getResult().getType();
  int64_t width = result.getShape().back();
  return !ShapedType::isDynamic(width) && width * bytesOfType(result.getElementType()) % 16 == 0;
}

/// `density` is that of A.
ProblemDescription describeProblem(SpgemmOp spgemm, double density) {
  BsrType left = spgemm.getLeft().getType(), right = spgemm.getRight().getType();
  ProblemDescription problem;
  problem.elementType = toElementType(left.getElementType());
  problem.outputBytes = bytesOfType(spgemm.getResult().getType().getElementType());
  problem.blockRows = left.getBlockRows();
  problem.blockColumns = left.getBlockColumns();
  problem.tileColumns = right.getBlockColumns();
  problem.hasEpilogue = spgemm.hasEpilogue();
  problem.epilogueBytes = epilogueBytesOf(spgemm);
  problem.storesInBoxes = right.getBlockColumns() % 64 == 0 && hasWholeRows(spgemm);
  problem.density = density;
  setIfStatic(problem.m, left.getRows());
  setIfStatic(problem.k, left.getColumns());
  setIfStatic(problem.n, right.getColumns());
  return problem;
}

//===----------------------------------------------------------------------===//
// Programs of GPUs
//===----------------------------------------------------------------------===//

// The programs of a spgemm share this on all chips. A tile is one block of the result, or some rows of one. The plan
// lists its pairs: blocks of A and B that match. Without a pattern a tile that has no pair is stored, too: it is the
// epilogue of zeros.
class SpgemmParts : public ProgramBuilder {
public:
  SpgemmParts(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule)
      : ProgramBuilder(kernel, schedule), spgemm(spgemm), left(spgemm.getLeft().getType()),
        right(spgemm.getRight().getType()) {}

protected:
  using Values = SmallVector<Value>;
  struct Tile {
    TileCoordinates at;
    Value number;     // of the block of the result
    Value first, end; // of its pairs
    Value column;     // of the result without a pattern
  };
  /// A pair of stored blocks, and the number of their block along K: null where K cuts no block.
  struct Pair {
    Value left, right, k;

    Values values() const { return k ? Values{left, right, k} : Values{left, right}; }
    static Pair of(ValueRange values);
  };

  Type elementType() override { return left.getElementType(); }
  /// A ring with rows of a block of A and those of one of B.
  Value makeRing(ImplicitLocOpBuilder &b);
  /// The body gives what is carried. With a pattern, panels behind the last block of a row are passed over.
  void forEachTile(ImplicitLocOpBuilder &b, ValueRange inits,
                   function_ref<Values(const Tile &tile, ValueRange carried)> body);
  Pair readPair(ImplicitLocOpBuilder &b, Value position);
  /// Copies a step of a pair, from column `k` of A's block on.
  void copyStep(ImplicitLocOpBuilder &b, const Tile &tile, const Pair &pair, Value k, Value cursor);
  void storeTile(ImplicitLocOpBuilder &b, const Tile &tile, const GroupPart &part, Value sum);

  Value operand(Value kernelValue) { return mapping.lookup(kernelValue); }
  bool isSampled() { return spgemm.getPattern() != Value(); }
  int64_t columns() { return right.getBlockColumns(); }
  /// The steps of a pair.
  int64_t steps();
  /// Whether K may end inside a block.
  bool mayCutBlocks() { return left.mayBeCutBy(left.getColumns()) && left.mayBeCutBy(right.getRows()); }

  SpgemmOp spgemm;
  BsrType left, right;
  Value ring;

private:
  Value blockNumber(ImplicitLocOpBuilder &b, Value blockRow, Value panel);
  Value exists(ImplicitLocOpBuilder &b, Value blockRow, Value panel);
  Tile readTile(ImplicitLocOpBuilder &b, const TileCoordinates &at, Value panel);
};

SpgemmParts::Pair SpgemmParts::Pair::of(ValueRange values) {
  return {named(values[0], "left"), named(values[1], "right"), values.size() > 2 ? named(values[2], "k") : Value()};
}

/// The buffer of B has the columns of the schedule: whole strips of a tensor copy, or a power of two.
Value SpgemmParts::makeRing(ImplicitLocOpBuilder &b) {
  Type buffers[] = {bufferOf(schedule, schedule.getTileM(), schedule.getTileK(), elementType()),
                    bufferOf(schedule, schedule.getTileK(), schedule.getTileN(), elementType())};
  return sparsec::makeRing(b, schedule, buffers);
}

int64_t SpgemmParts::steps() { return llvm::divideCeil(left.getBlockColumns(), schedule.getTileK()); }

void SpgemmParts::forEachTile(ImplicitLocOpBuilder &b, ValueRange inits,
                              function_ref<Values(const Tile &tile, ValueRange carried)> body) {
  walkTiles(b, inits, [&](Value tileRow, Value panel, ValueRange carried) {
    TileCoordinates at = tileCoordinates(b, schedule, left, tileRow, panel);
    auto build = [&] { return body(readTile(b, at, panel), carried); };
    return isSampled() ? carryIf(b, exists(b, at.blockRow, panel), carried, build) : build();
  });
}

/// Whether a block row of the pattern has a block of this number in the row.
Value SpgemmParts::exists(ImplicitLocOpBuilder &b, Value blockRow, Value panel) {
  auto row = RowBlocksOp::create(b, operand(spgemm.getPattern()), blockRow);
  Value count = arith::SubIOp::create(b, row.getEnd(), row.getFirst());
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, panel, count);
}

/// The number of a block of the result: of all blocks, or of the stored ones of the pattern.
Value SpgemmParts::blockNumber(ImplicitLocOpBuilder &b, Value blockRow, Value panel) {
  if (isSampled())
    return add(b, RowBlocksOp::create(b, operand(spgemm.getPattern()), blockRow).getFirst(), panel);
  Value width = SizeOp::create(b, operand(spgemm.getRight()), /*dimension=*/1);
  Value blocksOfRow = divide(b, add(b, width, columns() - 1), columns());
  return add(b, arith::MulIOp::create(b, blockRow, blocksOfRow), panel);
}

SpgemmParts::Tile SpgemmParts::readTile(ImplicitLocOpBuilder &b, const TileCoordinates &at, Value panel) {
  Tile tile;
  tile.at = at;
  tile.number = named(blockNumber(b, at.blockRow, panel), "number");
  tile.first = named(ReadPlanOp::create(b, PlanSection::pair_starts, tile.number), "first");
  tile.end = named(ReadPlanOp::create(b, PlanSection::pair_starts, add(b, tile.number, 1)), "end");
  tile.column = isSampled() ? i32(b, 0) : multiply(b, panel, columns());
  return tile;
}

SpgemmParts::Pair SpgemmParts::readPair(ImplicitLocOpBuilder &b, Value position) {
  Value entry = multiply(b, position, numbersOfPair);
  Values numbers;
  for (int64_t field = 0; field < (mayCutBlocks() ? 3 : 2); ++field)
    numbers.push_back(ReadPlanOp::create(b, PlanSection::pairs, add(b, entry, field)));
  return Pair::of(numbers);
}

void SpgemmParts::copyStep(ImplicitLocOpBuilder &b, const Tile &tile, const Pair &pair, Value k, Value cursor) {
  auto copyOfA =
      CopyOp::create(b, operand(spgemm.getLeft()), ValueRange{pair.left, tile.at.row, k}, ring, cursor, /*index=*/0);
  auto copyOfB =
      CopyOp::create(b, operand(spgemm.getRight()), ValueRange{pair.right, k, i32(b, 0)}, ring, cursor, /*index=*/1);
  copyOfB.setDepthRows(true);
  if (pair.k) {
    copyOfA.getBlockColumnsMutable().assign(pair.k);
    copyOfB.getBlockColumnsMutable().assign(pair.k);
  }
}

void SpgemmParts::storeTile(ImplicitLocOpBuilder &b, const Tile &tile, const GroupPart &part, Value sum) {
  Value end = isSampled() ? add(b, tile.number, 1) : Value(); // of the blocks that are stored
  SmallVector<Value> extras;
  for (Value extra : spgemm.getExtras())
    extras.push_back(operand(extra));
  bool isStaged = usesStagedStore(toSchedule(schedule), describeProblem(spgemm, /*density=*/1));
  auto store = StoreOp::create(b, sum, results[0], tile.at.blockRow, tile.at.row, tile.column, part.group, part.row,
                               part.column, extras, spgemm.getBroadcast(), left.getBlockRows(),
                               /*transposed=*/spgemm.getCLayout() == ResultLayout::nm, isStaged,
                               /*staging=*/DenseI64ArrayAttr());
  if (isSampled()) {
    store.getFirstBlockMutable().assign(tile.number);
    store.getEndBlockMutable().assign(end);
    store.getPatternMutable().assign(operand(spgemm.getPattern()));
    // A group has columns of one block alone.
    store.setBlockStride(std::max(columns(), cast<AccumulatorType>(sum.getType()).getColumns()));
  }
  setEpilogue(b, store, spgemm.getEpilogue());
}

//===----------------------------------------------------------------------===//
// By wgmma and tensor copies
//===----------------------------------------------------------------------===//

// The program of a spgemm by wgmma and tensor copies.
//
//   The producer copies, for each pair and each step of K inside its blocks, the rows of A and the rows of B.
//   Each group of consumers multiplies its 64 rows of A by all columns of B, with one product in flight.
class SpgemmRoles : public SpgemmParts {
public:
  using SpgemmParts::SpgemmParts;

private:
  void buildBody(ImplicitLocOpBuilder &b) override;
  void forEachTileOfRing(ImplicitLocOpBuilder &b, function_ref<Value(const Tile &, Value cursor)> body);
  void buildProducer(ImplicitLocOpBuilder &b);
  Value copyPair(ImplicitLocOpBuilder &b, const Tile &tile, const Pair &pair, Value cursor);
  void buildConsumer(ImplicitLocOpBuilder &b);
  Value buildConsumerTile(ImplicitLocOpBuilder &b, const Tile &tile, Value cursor);
  SmallVector<Value> multiplyPairs(ImplicitLocOpBuilder &b, const Tile &tile, Value cursor);
  void storeRows(ImplicitLocOpBuilder &b, const Tile &tile, Value sum);

  /// Elements of K in a step inside a block.
  int64_t depthOf(int64_t step) {
    return std::min<int64_t>(schedule.getTileK(), left.getBlockColumns() - step * schedule.getTileK());
  }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), rowsOfWarpgroup, columns()); }
  Type pendingType() { return PendingType::get(kernel.getContext(), rowsOfWarpgroup, columns()); }

  Value viewOfA, viewOfB; // of a consumer
};

void SpgemmRoles::buildBody(ImplicitLocOpBuilder &b) {
  ring = makeRing(b);
  makeRole(b, "consumer", RoleUnit::warpgroup, schedule.getConsumersM(), schedule.getConsumerRegisters(),
           [&] { buildConsumer(b); });
  makeRole(b, "producer", RoleUnit::thread, 1, schedule.getProducerRegisters(), [&] { buildProducer(b); });
}

/// The body gives the cursor after the tile.
void SpgemmRoles::forEachTileOfRing(ImplicitLocOpBuilder &b, function_ref<Value(const Tile &, Value cursor)> body) {
  Value begin = CursorOp::create(b, ring);
  forEachTile(b, begin,
              [&](const Tile &tile, ValueRange carried) -> Values { return {body(tile, named(carried[0], "slot"))}; });
}

/// The next pair is loaded while this one is copied. The plan has one pair more than there are.
void SpgemmRoles::buildProducer(ImplicitLocOpBuilder &b) {
  forEachTileOfRing(b, [&](const Tile &tile, Value begin) -> Value {
    SmallVector<Value> inits{begin};
    llvm::append_range(inits, readPair(b, tile.first).values());
    auto loop = scf::ForOp::create(b, tile.first, tile.end, i32(b, 1), inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    Pair pair = Pair::of(carried.drop_front());
    Pair next = readPair(b, add(b, loop.getInductionVar(), 1));
    SmallVector<Value> results{copyPair(b, tile, pair, named(carried[0], "slot"))};
    llvm::append_range(results, next.values());
    scf::YieldOp::create(b, results);
    return loop.getResult(0);
  });
}

/// Gives the cursor after the pair.
Value SpgemmRoles::copyPair(ImplicitLocOpBuilder &b, const Tile &tile, const Pair &pair, Value cursor) {
  for (int64_t step = 0; step < steps(); ++step) {
    Value k = i32(b, step * schedule.getTileK());
    AcquireOp::create(b, ring, cursor);
    PostOp::create(b, ring, cursor, /*messages=*/ValueRange(), /*empty=*/false);
    copyStep(b, tile, pair, k, cursor);
    cursor = NextOp::create(b, ring, cursor);
  }
  return cursor;
}

void SpgemmRoles::buildConsumer(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  int64_t depth = schedule.getTileK();
  Value row = multiply(b, GroupOp::create(b), rowsOfWarpgroup);
  viewOfA = named(ViewOp::create(b, ViewType::get(context, rowsOfWarpgroup, depth, elementType(), Major::k), ring, row,
                                 /*column=*/Value(), /*index=*/0),
                  "a");
  viewOfB = named(ViewOp::create(b, ViewType::get(context, depth, columns(), elementType(), Major::mn), ring,
                                 /*row=*/Value(), /*column=*/Value(), /*index=*/1),
                  "b");
  forEachTileOfRing(b, [&](const Tile &tile, Value cursor) { return buildConsumerTile(b, tile, cursor); });
  DrainStoresOp::create(b);
}

Value SpgemmRoles::buildConsumerTile(ImplicitLocOpBuilder &b, const Tile &tile, Value cursor) {
  // The last wait belongs to the branch that has products in flight (see SpmmRoles.cpp).
  Value hasPairs = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.first, tile.end);
  auto branch = scf::IfOp::create(b, TypeRange{sumType(), cursor.getType()}, hasPairs, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, multiplyPairs(b, tile, cursor));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{ZeroOp::create(b, sumType()), cursor});
  }
  storeRows(b, tile, branch.getResult(0));
  return branch.getResult(1);
}

/// Gives the sum and the cursor after the pairs.
SmallVector<Value> SpgemmRoles::multiplyPairs(ImplicitLocOpBuilder &b, const Tile &tile, Value begin) {
  Value zero = ZeroOp::create(b, pendingType());
  auto loop = scf::ForOp::create(b, tile.first, tile.end, i32(b, 1), ValueRange{zero, begin, begin});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    Value sum = named(carried[0], "sum"), previous = named(carried[1], "previous"), cursor = named(carried[2], "slot");
    Value hasPrevious =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, named(loop.getInductionVar(), "position"), tile.first);
    for (int64_t step = 0; step < steps(); ++step) {
      WaitOp::create(b, TypeRange(), ring, cursor);
      Value product = ProductOp::create(b, pendingType(), viewOfA, cursor, viewOfB, cursor, sum, depthOf(step));
      sum = AwaitOp::create(b, pendingType(), product, /*outstanding=*/1);
      ReleaseOp::create(b, ring, previous, step == 0 ? hasPrevious : Value());
      previous = cursor;
      cursor = NextOp::create(b, ring, cursor);
    }
    scf::YieldOp::create(b, ValueRange{sum, previous, cursor});
  }
  Value sum = AwaitOp::create(b, sumType(), loop.getResult(0), /*outstanding=*/0);
  ReleaseOp::create(b, ring, loop.getResult(1), /*condition=*/Value());
  return {sum, loop.getResult(2)};
}

/// The group is read anew: kept from tile to tile it would take registers that the accumulators need.
void SpgemmRoles::storeRows(ImplicitLocOpBuilder &b, const Tile &tile, Value sum) {
  Value group = GroupOp::create(b);
  storeTile(b, tile, {group, multiply(b, group, rowsOfWarpgroup), /*column=*/i32(b, 0)}, sum);
}

//===----------------------------------------------------------------------===//
// By mma.sync, with copies by threads
//===----------------------------------------------------------------------===//

// The program of a spgemm in which all warps are one role, for products by mma.sync. A step is a part of a pair: the
// rows of A and the rows of B of tile_k elements of K. Each warp multiplies its rows of A by its columns of B.
// WarpSteps.h has the order of copies and products. The pair of the step whose copies start next is loaded one step
// ahead.
//
// A tile has a power of two of columns. Those beyond the block of B are zero, and are not stored.
class SpgemmWarps : public SpgemmParts {
public:
  using SpgemmParts::SpgemmParts;

private:
  void buildBody(ImplicitLocOpBuilder &b) override;
  void buildRole(ImplicitLocOpBuilder &b);
  Value sumTile(ImplicitLocOpBuilder &b, const Tile &tile);
  Value multiplyPairs(ImplicitLocOpBuilder &b, const Tile &tile);

  int64_t groups() { return schedule.getConsumersM() * schedule.getConsumersN(); }
  int64_t rowsOfGroup() { return schedule.getTileM() / schedule.getConsumersM(); }
  int64_t columnsOfGroup() { return schedule.getTileN() / schedule.getConsumersN(); }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), rowsOfGroup(), columnsOfGroup()); }

  Value viewOfA, viewOfB;
};

void SpgemmWarps::buildBody(ImplicitLocOpBuilder &b) {
  ring = makeRing(b);
  makeRole(b, "all", RoleUnit::warp, groups(), /*registers=*/0, [&] { buildRole(b); });
}

void SpgemmWarps::buildRole(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  int64_t depth = schedule.getTileK();
  GroupPart part = partOf(b, schedule, rowsOfGroup(), columnsOfGroup());
  viewOfA = named(ViewOp::create(b, ViewType::get(context, rowsOfGroup(), depth, elementType(), Major::k), ring,
                                 part.row, /*column=*/Value(), /*index=*/0),
                  "a");
  viewOfB = named(ViewOp::create(b, ViewType::get(context, depth, columnsOfGroup(), elementType(), Major::mn), ring,
                                 /*row=*/Value(), part.column, /*index=*/1),
                  "b");
  forEachTile(b, /*inits=*/{}, [&](const Tile &tile, ValueRange) {
    storeTile(b, tile, part, sumTile(b, tile));
    return Values();
  });
}

Value SpgemmWarps::sumTile(ImplicitLocOpBuilder &b, const Tile &tile) {
  Value hasPairs = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, tile.first, tile.end);
  auto branch = scf::IfOp::create(b, sumType(), hasPairs, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, multiplyPairs(b, tile));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, ValueRange{ZeroOp::create(b, sumType())});
  return branch.getResult(0);
}

/// The sum of a tile that has pairs.
Value SpgemmWarps::multiplyPairs(ImplicitLocOpBuilder &b, const Tile &tile) {
  BarrierOp::create(b); // all warps are done with the slots of the previous tile
  int64_t depth = schedule.getTileK();
  Value count = multiply(b, arith::SubIOp::create(b, tile.end, tile.first), steps());
  Value last = arith::SubIOp::create(b, count, i32(b, 1));
  Pair first = readPair(b, tile.first);
  SmallVector<StringRef> names{"left", "right", "k"};
  names.resize(first.values().size());
  auto copies = [&](Value number, Value slot, ValueRange pair) {
    copyStep(b, tile, Pair::of(pair), multiply(b, remainder(b, number, steps()), depth), slot);
  };
  auto advance = [&](Value number, ValueRange) {
    Value next = arith::MinSIOp::create(b, add(b, number, 1), last);
    return readPair(b, add(b, tile.first, divide(b, next, steps()))).values();
  };
  auto product = [&](Value, Value slot, ValueRange, Value sum, function_ref<void()> meet) -> Value {
    meet();
    return ProductOp::create(b, sumType(), viewOfA, slot, viewOfB, slot, sum, depth);
  };
  Value begin = CursorOp::create(b, ring);
  return WarpSteps(b, schedule, ring, count).run(begin, first.values(), names, sumType(), copies, advance, product);
}

//===----------------------------------------------------------------------===//
// In values form, for the host
//===----------------------------------------------------------------------===//

// The program of a spgemm in values form, for the host: for every block of the result its pairs, which are blocks of A
// and of B that the plan lists, then the store.
class PairedBlockBuilder : public BlockTileBuilder {
public:
  PairedBlockBuilder(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule)
      : BlockTileBuilder(kernel, schedule), spgemm(spgemm) {}

private:
  Type elementType() override { return spgemm.getLeft().getType().getElementType(); }
  void buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) override;
  void buildBlock(ImplicitLocOpBuilder &b, const ResultBlock &block);
  Value buildSum(ImplicitLocOpBuilder &b, const ResultBlock &block, const Part &part);
  Value buildPair(ImplicitLocOpBuilder &b, Value position, const Part &part, Value sum);

  SpgemmOp spgemm;
};

/// The blocks of a dense result are numbered row by row.
void PairedBlockBuilder::buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) {
  if (Value pattern = spgemm.getPattern())
    return ifBlockExists(b, mapping.lookup(pattern), tileRow, panel,
                         [&](const ResultBlock &block) { buildBlock(b, block); });
  int64_t columns = schedule.getTileN();
  Value width = SizeOp::create(b, mapping.lookup(spgemm.getRight()), /*dimension=*/1);
  Value blocksOfRow = divide(b, add(b, width, columns - 1), columns);
  Value number = named(add(b, arith::MulIOp::create(b, tileRow, blocksOfRow), panel), "number");
  buildBlock(b, {number, tileRow, panel, /*pattern=*/Value()});
}

void PairedBlockBuilder::buildBlock(ImplicitLocOpBuilder &b, const ResultBlock &block) {
  forParts(b, schedule.getTileN(), [&](const Part &part) {
    storePart(b, spgemm, buildSum(b, block, part), block, part, spgemm.getCLayout() == ResultLayout::nm);
  });
}

Value PairedBlockBuilder::buildSum(ImplicitLocOpBuilder &b, const ResultBlock &block, const Part &part) {
  Value first = named(ReadPlanOp::create(b, PlanSection::pair_starts, block.number), "first");
  Value end = named(ReadPlanOp::create(b, PlanSection::pair_starts, add(b, block.number, 1)), "end");
  auto type = AccumulatorType::get(b.getContext(), schedule.getTileM(), part.columns);
  return sumUp(b, type, first, end, /*step=*/1,
               [&](Value position, Value sum) { return buildPair(b, named(position, "pair"), part, sum); });
}

Value PairedBlockBuilder::buildPair(ImplicitLocOpBuilder &b, Value position, const Part &part, Value sum) {
  MLIRContext *context = b.getContext();
  Value entry = multiply(b, position, numbersOfPair), zero = i32(b, 0);
  auto number = [&](int64_t field, StringRef name) {
    return named(ReadPlanOp::create(b, PlanSection::pairs, add(b, entry, field)), name);
  };
  Value left = number(0, "left"), right = number(1, "right"), k = number(2, "k");
  int64_t depth = schedule.getTileK();
  Value a = LoadPartOp::create(b, BufferType::get(context, schedule.getTileM(), depth, elementType()),
                               mapping.lookup(spgemm.getLeft()), ValueRange{left, zero, zero}, k, Operand::a);
  Value x = LoadPartOp::create(b, BufferType::get(context, depth, part.columns, elementType()),
                               mapping.lookup(spgemm.getRight()), ValueRange{right, zero, part.column}, k, Operand::x);
  return ChainOp::create(b, a, x, sum, /*scales=*/Value(), /*x_scale=*/Value(), b.getDenseI64ArrayAttr({depth}));
}

//===----------------------------------------------------------------------===//
// The family
//===----------------------------------------------------------------------===//

class SpgemmFamily : public Family {
public:
  FailureOr<std::unique_ptr<Selection>> select(KernelOp kernel, const Expectations &expected,
                                               const Chip &chip) const override {
    return makeSelection(kernel, describeProblem(opOf(kernel), expected.density), chip);
  }
  /// One block of the result.
  HostTile hostTile(KernelOp kernel) const override {
    BsrType left = opOf(kernel).getLeft().getType();
    return {left.getBlockRows(), opOf(kernel).getRight().getType().getBlockColumns(), left.getBlockColumns()};
  }
  std::unique_ptr<ProgramBuilder> makeBuilder(KernelOp kernel, ScheduleAttr schedule) const override {
    if (schedule.isForHost())
      return std::make_unique<PairedBlockBuilder>(kernel, opOf(kernel), schedule);
    if (schedule.getCopy() == Copy::tma)
      return std::make_unique<SpgemmRoles>(kernel, opOf(kernel), schedule);
    return std::make_unique<SpgemmWarps>(kernel, opOf(kernel), schedule);
  }
  OperationRecord describe(KernelOp kernel) const override;
  void setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr schedule) const override;
  bool readsSingleElements(uint32_t slot) const override { return slot == SPARSEC_SPGEMM_PATTERN; }
  /// A dense result, which tensor stores write.
  bool movesWholeUnits(uint32_t kind, uint32_t slot, bool hasTensorMap) const override {
    return kind == SPARSEC_OPERATION_SPGEMM && slot == SPARSEC_SPGEMM_RESULT && hasTensorMap;
  }

private:
  static SpgemmOp opOf(KernelOp kernel) { return cast<SpgemmOp>(kernel.getAnchor()); }
};

OperationRecord SpgemmFamily::describe(KernelOp kernel) const {
  SpgemmOp spgemm = opOf(kernel);
  // The values of a pattern's blocks have one layout.
  uint32_t layout = spgemm.getPattern() ? uint32_t(SPARSEC_LAYOUT_NONE) : static_cast<uint32_t>(spgemm.getCLayout());
  OperandList list(kernel);
  list.add(SPARSEC_SPGEMM_LEFT, spgemm.getLeft());
  list.add(SPARSEC_SPGEMM_RIGHT, spgemm.getRight());
  if (spgemm.getPattern())
    list.add(SPARSEC_SPGEMM_PATTERN, spgemm.getPattern());
  list.addExtras(SPARSEC_SPGEMM_EXTRA, spgemm, layout);
  list.addResult(SPARSEC_SPGEMM_RESULT, 0, layout);
  OperationRecord record;
  record.kind = spgemm.getPattern() ? SPARSEC_OPERATION_SAMPLED_SPGEMM : SPARSEC_OPERATION_SPGEMM;
  record.operands = list.take();
  addEpilogue(record, spgemm.getEpilogue(), SPARSEC_SPGEMM_EXTRA);
  return record;
}

/// Blocks of a pattern are written as a whole, also where M cuts them.
void SpgemmFamily::setGrid(const RecordView &kernel, StageRecord &stage, ScheduleAttr /*schedule*/) const {
  uint32_t blockRows = kernel.argumentIn(SPARSEC_SPGEMM_LEFT).block_rows, tileRows = stage.info.tile_m;
  uint32_t columns = kernel.argumentIn(SPARSEC_SPGEMM_RIGHT).block_columns;
  if (kernel.kind() == SPARSEC_OPERATION_SAMPLED_SPGEMM)
    stage.rows = {kernel.tilesOf(SPARSEC_SPGEMM_LEFT, 0, blockRows, blockRows),
                  kernel.tilesOf(SPARSEC_SPGEMM_RESULT, 1, blockRows, tileRows)};
  else
    stage.rows = {kernel.tilesOf(SPARSEC_SPGEMM_LEFT, 0, blockRows, tileRows)};
  stage.panels = {kernel.tilesOf(SPARSEC_SPGEMM_RIGHT, 1, columns, columns)};
}

} // namespace

const Family &sparsec::spgemmFamily() {
  static const SpgemmFamily family;
  return family;
}
