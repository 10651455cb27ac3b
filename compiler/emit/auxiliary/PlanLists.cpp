// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lists of tiles of a plan that is refilled: makeRoundLists() in runtime/plan/round_lists.h says how tiles go to
// workers, and makes the same lists. One CTA has all rounds, with a thread for every worker. What has to be sorted are
// the rows, once, and in each round the workers by their loads and the tiles by their costs. Few are sorted at a time,
// so that a thread counts who comes before its own one. The order of all tiles repeats the same rows for every group of
// panels: how many tiles of a round come before one of them is a matter of numbers.

#include "PlanLists.h"

#include "PlanWindow.h"
#include "Ptx.h"
#include "SideKernel.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

constexpr int64_t mostTileRows = 4096, mostWorkers = 1024;

class PlanLists : PlanKernel {
public:
  explicit PlanLists(ProductContext &context)
      : PlanKernel(context), index(context, matrixOf(context.program)), tileRows(number(SPARSEC_LIST_TILE_ROWS)),
        panels(number(SPARSEC_LIST_PANELS)), workers(number(SPARSEC_LIST_WORKERS)),
        tileOverhead(number(SPARSEC_LIST_TILE_OVERHEAD)), costs(reserve(mostTileRows)), rows(reserve(mostTileRows)),
        loads(reserve(mostWorkers)), next(reserve(mostWorkers)), byLoad(reserve(mostWorkers)), heavyCount(reserve(1)) {}

  void emit();

  static constexpr int64_t words = 2 * mostTileRows + 3 * mostWorkers + 1;

private:
  /// Where a tile is: the rank of its row, its panel, and its place in its round.
  struct Tile {
    Value rank, panel, place;
  };
  /// A group of panels that run at once, and how many of its tiles come before a position.
  struct Group {
    Value firstPanel, panels, tiles;
  };

  Value number(int64_t which) {
    return arith::TruncIOp::create(b, b.i32Type(), context.parameters.get(ParameterKind::number, 0, which));
  }
  Value planSection(int64_t which) { return context.parameters.get(ParameterKind::plan_section, 0, which); }
  Value lessUnsigned(Value one, Value other) { return b.compare(arith::CmpIPredicate::ult, one, other); }
  Value larger(Value one, Value other) { return b.select(b.less(one, other), other, one); }
  /// How many of the first `count` words come before word `own` in an order; equal ones do by their index.
  Value countBefore(Value words, Value count, Value own, llvm::function_ref<Value(Value other, Value own)> isBefore);

  /// Whether tile rows are windows, and no rows of blocks.
  bool haveWindows() { return context.schedule.getWalk() != Walk::blocks; }
  Value costOfBlocks(Value tileRow);
  Value costOfWindow(Value window);
  void begin();
  void groupPanels();
  void sortRows();
  void countHeavyRows();
  void sortWorkers();
  Group groupAt(Value count, Value rowsOfPart);
  Value countOfLowerRank(Value count, Value rank, Value rowsOfPart);
  Tile tileAt(Value position, Value begin, Value end);
  void give(const Tile &tile);
  void runRounds();

  BlockIndex index;
  Value tileRows, panels, workers, tileOverhead;
  Value costs, rows;         // words: the cost of every tile row, and the tile rows by rank
  Value loads, next, byLoad; // of every worker: its load, and where its next tile goes; and the workers by load
  Value heavyCount, heavyRows;
  Value panelsAtOnce, lastGroup, panelsOfLastGroup;
};

} // namespace

Value PlanLists::countBefore(Value words, Value count, Value own,
                             llvm::function_ref<Value(Value other, Value own)> isBefore) {
  Value word = loadWord(words, own), zero = b.i32(0);
  return b.forLoop(zero, count, b.i32(1), {zero}, [&](Value other, ValueRange carried) -> Values {
    Value otherWord = loadWord(words, other);
    Value isEqual = b.compare(arith::CmpIPredicate::eq, otherWord, word);
    Value comesBefore = b.logicalOr(isBefore(otherWord, word), b.logicalAnd(isEqual, b.less(other, own)));
    return {b.add(carried[0], b.select(comesBefore, b.i32(1), zero))};
  })[0];
}

/// As costsOfBlockRows() in runtime/plan.
Value PlanLists::costOfBlocks(Value tileRow) {
  const BsrType type = context.matrix;
  auto ceilDivide = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t tilesOfBlockRow = ceilDivide(type.getBlockRows(), context.schedule.getTileM());
  const int64_t stepsOfBlock = ceilDivide(type.getBlockColumns(), context.schedule.getTileK());
  Value blockRow = b.divide(tileRow, tilesOfBlockRow);
  Value blocks = b.sub(index.start(b.add(blockRow, 1)), index.start(blockRow));
  return b.add(b.mul(blocks, stepsOfBlock), tileOverhead);
}

/// As windowCosts() and streamCosts().
Value PlanLists::costOfWindow(Value window) {
  Value columnCost = number(SPARSEC_LIST_COLUMN_COST), entry = b.mul(window, 2);
  Value ofColumns = b.mul(loadEntry(PlanSection::window_sizes, entry), columnCost);
  Value ofBlocks = b.mul(loadEntry(PlanSection::window_sizes, b.add(entry, 1)), 100);
  const bool areStreams = context.schedule.getWalk() == Walk::streams;
  Value steps = areStreams ? b.add(ofColumns, ofBlocks) : larger(ofColumns, ofBlocks);
  return b.add(steps, b.mul(tileOverhead, 100));
}

void PlanLists::begin() {
  Value zero = b.i32(0);
  forEachOfThread(zero, tileRows, [&](Value tileRow) {
    storeWord(costs, tileRow, haveWindows() ? costOfWindow(tileRow) : costOfBlocks(tileRow));
  });
  Value offsets = planSection(SPARSEC_PLAN_TILE_OFFSETS);
  forEachOfThread(zero, workers, [&](Value worker) {
    storeWord(loads, worker, zero);
    storeWord(next, worker, b.loadElement(b.i32Type(), offsets, worker));
  });
  b.ifThen(b.equal(context.thread, 0), [&] { storeWord(heavyCount, zero, zero); });
  ptx::barrierCta(b);
}

/// As choosePanelsAtOnce() in runtime/plan, and the last group of panels that run at once: those of two rounds, but for
/// windows.
void PlanLists::groupPanels() {
  Value most = number(SPARSEC_LIST_MOST_PANELS_AT_ONCE), ofOne = number(SPARSEC_LIST_BLOCKS_OF_ONE_PANEL);
  Value blocks = index.start(index.blockRows()), one = b.i32(1);
  auto mayBeMore = [&](ValueRange carried) {
    Value next = b.add(carried[0], 1), forEach = b.divide(blocks, b.mul(next, next));
    return b.logicalAnd(b.less(carried[0], most), b.less(b.sub(ofOne, 1), forEach));
  };
  panelsAtOnce = b.whileLoop({one}, mayBeMore, [&](ValueRange carried) { return Values{b.add(carried[0], 1)}; })[0];
  const int64_t lastRounds = haveWindows() ? 0 : 2;
  Value ofLastRounds = larger(b.divide(b.mul(workers, lastRounds), tileRows), one);
  lastGroup = b.divide(larger(b.sub(panels, ofLastRounds), b.i32(0)), panelsAtOnce);
  panelsOfLastGroup = b.sub(panels, b.mul(lastGroup, panelsAtOnce));
}

void PlanLists::sortRows() {
  forEachOfThread(b.i32(0), tileRows, [&](Value tileRow) {
    Value rank =
        countBefore(costs, tileRows, tileRow, [&](Value other, Value own) { return lessUnsigned(own, other); });
    storeWord(rows, rank, tileRow);
  });
  ptx::barrierCta(b);
}

void PlanLists::countHeavyRows() {
  Value zero = b.i32(0), middle = loadWord(costs, loadWord(rows, b.divide(tileRows, 2)));
  forEachOfThread(zero, tileRows, [&](Value tileRow) {
    b.ifThen(lessUnsigned(middle, b.divide(loadWord(costs, tileRow), 2)),
             [&] { ptx::addInto(b, b.elementPointer(heavyCount, b.i32Type(), zero), b.i32(1)); });
  });
  ptx::barrierCta(b);
  heavyRows = loadWord(heavyCount, zero);
}

void PlanLists::sortWorkers() {
  forEachOfThread(b.i32(0), workers, [&](Value worker) {
    Value place = countBefore(loads, workers, worker, [&](Value other, Value own) { return lessUnsigned(other, own); });
    storeWord(byLoad, place, worker);
  });
  ptx::barrierCta(b);
}

/// Where the first `count` tiles of a part with so many rows end.
PlanLists::Group PlanLists::groupAt(Value count, Value rowsOfPart) {
  Value tiles = b.mul(rowsOfPart, panelsAtOnce), number = b.minimum(b.divide(count, tiles), lastGroup);
  Value isLast = b.compare(arith::CmpIPredicate::eq, number, lastGroup);
  return {b.mul(number, panelsAtOnce), b.select(isLast, panelsOfLastGroup, panelsAtOnce),
          b.sub(count, b.mul(number, tiles))};
}

/// How many of these tiles have a lower rank in the part.
Value PlanLists::countOfLowerRank(Value count, Value rank, Value rowsOfPart) {
  const Group group = groupAt(count, rowsOfPart);
  return b.add(b.mul(group.firstPanel, rank), b.minimum(group.tiles, b.mul(group.panels, rank)));
}

/// The tile at a position of the order, in the round of the positions from `begin` to `end`. The order has two parts:
/// the heavy rows of all panels, then the others. A part is its rows again and again, once for every group of panels,
/// each time with the tiles of a row one after the other.
PlanLists::Tile PlanLists::tileAt(Value position, Value begin, Value end) {
  Value heavyTiles = b.mul(heavyRows, panels), zero = b.i32(0);
  Value isHeavy = b.less(position, heavyTiles);
  Value rowsOfPart = b.select(isHeavy, heavyRows, b.sub(tileRows, heavyRows));
  Value firstOfPart = b.select(isHeavy, zero, heavyTiles);
  const Group group = groupAt(b.sub(position, firstOfPart), rowsOfPart);
  Value rank = b.divide(group.tiles, group.panels);
  Value panel = b.add(group.firstPanel, b.modulo(group.tiles, group.panels));
  Value first = larger(begin, firstOfPart);
  Value roundEnd = b.sub(b.select(isHeavy, b.minimum(end, heavyTiles), end), firstOfPart);
  // Before it in the round are tiles of lower rank, and those of its row in panels before its own.
  Value untilRound = countOfLowerRank(b.sub(first, firstOfPart), b.add(rank, 1), rowsOfPart);
  Value before = b.sub(b.add(countOfLowerRank(roundEnd, rank, rowsOfPart), panel), untilRound);
  return {b.add(rank, b.select(isHeavy, zero, heavyRows)), panel, b.add(b.sub(first, begin), before)};
}

/// A worker gets one tile of a round, so that no other thread changes its words.
void PlanLists::give(const Tile &tile) {
  Value worker = loadWord(byLoad, tile.place), row = loadWord(rows, tile.rank);
  Value list = planSection(SPARSEC_PLAN_TILES), place = loadWord(next, worker), entry = b.mul(place, 2);
  LLVM::StoreOp::create(b, row, b.elementPointer(list, b.i32Type(), entry));
  LLVM::StoreOp::create(b, tile.panel, b.elementPointer(list, b.i32Type(), b.add(entry, 1)));
  storeWord(next, worker, b.add(place, 1));
  storeWord(loads, worker, b.add(loadWord(loads, worker), loadWord(costs, row)));
}

/// The first round has the tiles that are left over by the others.
void PlanLists::runRounds() {
  struct Round {
    Value begin, end;
    auto fields() { return std::tie(begin, end); }
  };
  Value tiles = b.mul(tileRows, panels), leftOver = b.modulo(tiles, workers);
  Round first = {b.i32(0), b.select(b.equal(leftOver, 0), workers, leftOver)};
  b.whileLoop(
      first, [&](const Round &round) { return b.less(round.begin, tiles); },
      [&](const Round &round) {
        sortWorkers();
        forEachOfThread(round.begin, round.end,
                        [&](Value position) { give(tileAt(position, round.begin, round.end)); });
        ptx::barrierCta(b);
        return Round{round.end, b.add(round.end, workers)};
      });
}

void PlanLists::emit() {
  begin();
  groupPanels();
  sortRows();
  countHeavyRows();
  runRounds();
}

bool sparsec::multipliesDense(ProgramOp program) {
  auto kernel = program->getParentOfType<ModuleOp>().lookupSymbol<KernelOp>(program.getKernelAttr());
  return kernel && isa<SpmmOp>(kernel.getAnchor());
}

void sparsec::emitPlanLists(ProgramOp program) {
  const SideKernelShape shape = {"_write_lists", planWarps,    /*tilesOfCta=*/1,
                                 mostWorkers,    mostTileRows, wordBits / 8 * PlanLists::words};
  emitAuxiliaryKernel<ProductContext>(program, AuxiliaryKind::write_lists, shape,
                                      [](ProductContext &context) { PlanLists(context).emit(); });
}
