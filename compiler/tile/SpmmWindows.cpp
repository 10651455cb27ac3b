// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spmm over windows of a plan. A window has one block row for each group of consumers. The columns of
// X that any of these rows needs are loaded once, for all of them. X and the blocks of W have a ring and a producer
// each:
//
//   producer "x" copies the columns of the window, and releases each for the groups that have no step for it;
//   producer "w" copies the blocks of the window, by column, then by row; with fp8 two of them take turns;
//   a group follows the steps of its row. A step names its column and its block by their numbers in the window.
//
// A group completes its product before it goes on: two others multiply meanwhile. It holds no slot while it waits for
// another one, whose producer may need that slot first.
//
// With sums of two levels a group adds two products of 64 of K before it promotes them: those of a step and of the next
// one. It holds the column of the first while it waits for that of the second, which is less than the slots of the ring
// away, so that its producer does not need the slot that is held. The ring of blocks has room for all that other groups
// have in between (checkWindows).
//
// A step without a block (see SPARSEC_PLAN_STEPS) only waits for its column. A group thus never asks for a position so
// far ahead of the last one that the barrier of an earlier phase looks like that of the position.

#include "WindowProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sparsec;

namespace {

// The words of the sections (plan_sections.h, sparsec_plan_section_t).
constexpr int64_t absentGroups = 8, numberBits = 16, noBlock = 65535;
/// Accumulators and all else must fit the registers at launch for ptxas to take an instruction (C7602). Three groups of
/// consumers have 128, and an instruction with 256 columns takes 128 for its accumulators alone.
constexpr int64_t columnsOfInstruction = 128;

class WindowBuilder : public WindowProgram {
public:
  WindowBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) : WindowProgram(kernel, spmm, schedule) {}

private:
  void buildBody(ImplicitLocOpBuilder &b) override;
  void buildColumnProducer(ImplicitLocOpBuilder &b);
  void buildBlockProducer(ImplicitLocOpBuilder &b);
  void buildBlockProducerInTurn(ImplicitLocOpBuilder &b, int64_t number, int64_t count);
  SmallVector<Value> readBlock(ImplicitLocOpBuilder &b, Value number);
  void copyBlock(ImplicitLocOpBuilder &b, Value slot, ValueRange entry);
  void buildConsumer(ImplicitLocOpBuilder &b);
  Value multiplyRow(ImplicitLocOpBuilder &b, Range steps, Value firstColumn, Value firstBlock);
  Value multiplyRowInPairs(ImplicitLocOpBuilder &b, Range steps, Value firstColumn, Value firstBlock);
  struct Step;
  Step decode(ImplicitLocOpBuilder &b, Value word, Value firstColumn, Value firstBlock);
  Values multiplyStep(ImplicitLocOpBuilder &b, const Step &step, Value isPair, const Step &next, Value sum);
  void releaseStep(ImplicitLocOpBuilder &b, const Step &step);
  Value promoteProducts(ImplicitLocOpBuilder &b, ArrayRef<Step> steps, Value sum);
  Value multiplyBlock(ImplicitLocOpBuilder &b, Value columnSlot, Value blockPosition, Value sum);
  bool mayCut() { return mayCutBlocks(matrix, spmm.getDense().getType(), isTransposed()); }
  int64_t groups() { return schedule.getConsumersM(); }
  int64_t columns() { return schedule.getTileN(); }
  Type pendingType() { return PendingType::get(kernel.getContext(), matrix.getBlockRows(), columns()); }
  Type sumType() { return AccumulatorType::get(kernel.getContext(), matrix.getBlockRows(), columns()); }

  Value columnRing, blockRing;
  Value viewOfBlock, viewOfX; // of the consumer role
  Values viewsOfParts;        // of X, the columns that are promoted together
};

/// A step of a group: its column, whether it multiplies it with a block, and where both are.
struct WindowBuilder::Step {
  Value column, multiplies, columnSlot, blockPosition;
  Value blockSlot = {};
};

void WindowBuilder::buildBody(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  int64_t depth = schedule.getTileK();
  auto makeRing = [&](StringRef name, int64_t stages, Type buffer, int64_t releases) -> Value {
    return RingOp::create(b, RingType::get(context, stages, {buffer}), b.getStringAttr(name), /*messages=*/false,
                          /*skips=*/true, b.getI64IntegerAttr(releases), DenseI64ArrayAttr(), IntegerAttr());
  };
  Type x = isTransposed() ? bufferOf(schedule, columns(), depth, elementOfX())
                          : bufferOf(schedule, depth, columns(), elementOfX());
  int64_t rows = matrix.getBlockRows();
  Type block = matrix.getTransposed() ? bufferOf(schedule, depth, rows, elementType())
                                      : bufferOf(schedule, rows, depth, elementType());
  blockRing = makeRing("block_ring", schedule.getBlockStages(), block, /*releases=*/1);
  columnRing = makeRing("column_ring", schedule.getStages(), x, groups());
  int64_t registers = schedule.getProducerRegisters();
  makeRole(b, "consumer", RoleUnit::warpgroup, groups(), schedule.getConsumerRegisters(), [&] { buildConsumer(b); });
  makeRole(b, "x", RoleUnit::thread, 1, registers, [&] { buildColumnProducer(b); });
  const int64_t producers = blockProducersOfWindow(elementType().getIntOrFloatBitWidth() / 8);
  if (producers == 1)
    return makeRole(b, "w", RoleUnit::thread, 1, registers, [&] { buildBlockProducer(b); });
  for (int64_t number = 0; number < producers; ++number)
    makeRole(b, ("w" + Twine(number)).str(), RoleUnit::thread, 1, registers,
             [&] { buildBlockProducerInTurn(b, number, producers); });
}

//===----------------------------------------------------------------------===//
// Producers
//===----------------------------------------------------------------------===//

/// The word of the next column is loaded while this one is copied.
void WindowBuilder::buildColumnProducer(ImplicitLocOpBuilder &b) {
  Value begin = CursorOp::create(b, columnRing);
  forEachTile(b, begin, [&](const Tile &tile, ValueRange carried) {
    Range columns = readRange(b, PlanSection::column_offsets, tile.window);
    Value first = ReadPlanOp::create(b, PlanSection::columns, columns.first);
    auto loop = scf::ForOp::create(b, columns.first, columns.end, i32(b, 1), ValueRange{carried[0], first});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value slot = named(loop.getRegionIterArg(0), "slot"), word = named(loop.getRegionIterArg(1), "word");
    Value next = ReadPlanOp::create(b, PlanSection::columns, add(b, loop.getInductionVar(), 1));
    AcquireOp::create(b, columnRing, slot);
    PostOp::create(b, columnRing, slot, /*messages=*/ValueRange(), /*empty=*/false);
    Value k = multiply(b, divide(b, word, absentGroups), matrix.getBlockColumns());
    CopyOp::create(b, operand(spmm.getDense()), coordinatesOfX(k, tile.column), columnRing, slot, /*index=*/0);
    Value absent = named(remainder(b, word, absentGroups), "absent");
    ReleaseOp::create(b, columnRing, slot, /*condition=*/Value(), absent);
    scf::YieldOp::create(b, ValueRange{NextOp::create(b, columnRing, slot), next});
    return SmallVector<Value>{loop.getResult(0)};
  });
}

/// An entry of SPARSEC_PLAN_BLOCKS, as far as copies need it.
SmallVector<Value> WindowBuilder::readBlock(ImplicitLocOpBuilder &b, Value number) {
  Value entry = multiply(b, number, 2);
  SmallVector<Value> read{ReadPlanOp::create(b, PlanSection::blocks, entry)};
  if (mayCut())
    read.push_back(ReadPlanOp::create(b, PlanSection::blocks, add(b, entry, 1)));
  return read;
}

/// The CTAs of a cluster work on one window, so that they share its blocks.
void WindowBuilder::copyBlock(ImplicitLocOpBuilder &b, Value slot, ValueRange entry) {
  AcquireOp::create(b, blockRing, slot);
  PostOp::create(b, blockRing, slot, /*messages=*/ValueRange(), /*empty=*/false);
  Value zero = i32(b, 0);
  auto copy = CopyOp::create(b, operand(spmm.getMatrix()), ValueRange{named(entry[0], "block"), zero, zero}, blockRing,
                             slot, /*index=*/0);
  copy.setMulticast(int64_t(schedule.getCluster()) > 1);
  if (mayCut())
    copy.getBlockColumnsMutable().assign(named(entry[1], "column"));
}

void WindowBuilder::buildBlockProducer(ImplicitLocOpBuilder &b) {
  Value begin = CursorOp::create(b, blockRing);
  forEachTile(b, begin, [&](const Tile &tile, ValueRange carried) {
    Range blocks = readRange(b, PlanSection::block_offsets, tile.window);
    SmallVector<Value> inits{carried[0]};
    llvm::append_range(inits, readBlock(b, blocks.first));
    auto loop = scf::ForOp::create(b, blocks.first, blocks.end, i32(b, 1), inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value slot = named(loop.getRegionIterArg(0), "slot");
    SmallVector<Value> next = readBlock(b, add(b, loop.getInductionVar(), 1));
    copyBlock(b, slot, loop.getRegionIterArgs().drop_front());
    SmallVector<Value> yielded{NextOp::create(b, blockRing, slot)};
    llvm::append_range(yielded, next);
    scf::YieldOp::create(b, yielded);
    return SmallVector<Value>{loop.getResult(0)};
  });
}

/// This producer has every `count`-th position of the ring. It carries the position of the window's first block from
/// window to window.
void WindowBuilder::buildBlockProducerInTurn(ImplicitLocOpBuilder &b, int64_t number, int64_t count) {
  forEachTile(b, {i32(b, 0)}, [&](const Tile &tile, ValueRange carried) {
    Value position = named(carried[0], "first_position");
    Range blocks = readRange(b, PlanSection::block_offsets, tile.window);
    // Unsigned: the difference of a negative number and a power of two keeps its remainder.
    Value skipped = remainder(b, arith::SubIOp::create(b, i32(b, number), position), count);
    Value first = add(b, blocks.first, skipped), toPosition = arith::SubIOp::create(b, position, blocks.first);
    // The entry behind the last block is there, others may not be.
    auto readUpToEnd = [&](Value block) { return readBlock(b, arith::MinSIOp::create(b, block, blocks.end)); };
    auto loop = scf::ForOp::create(b, first, blocks.end, i32(b, count), readUpToEnd(first));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value block = loop.getInductionVar();
    SmallVector<Value> next = readUpToEnd(add(b, block, count));
    copyBlock(b, CursorOp::create(b, blockRing, add(b, block, toPosition)), loop.getRegionIterArgs());
    scf::YieldOp::create(b, next);
    b.setInsertionPointAfter(loop);
    return SmallVector<Value>{add(b, toPosition, blocks.end)};
  });
}

//===----------------------------------------------------------------------===//
// Consumer
//===----------------------------------------------------------------------===//

void WindowBuilder::buildConsumer(ImplicitLocOpBuilder &b) {
  MLIRContext *context = b.getContext();
  int64_t depth = schedule.getTileK();
  int64_t rows = matrix.getBlockRows();
  auto typeOfBlock = matrix.getTransposed() ? ViewType::get(context, depth, rows, elementType(), Major::mn)
                                            : ViewType::get(context, rows, depth, elementType(), Major::k);
  auto typeOfX = isTransposed() ? ViewType::get(context, columns(), depth, elementOfX(), Major::k)
                                : ViewType::get(context, depth, columns(), elementOfX(), Major::mn);
  Value first;
  viewOfBlock = named(ViewOp::create(b, typeOfBlock, blockRing, /*row=*/first, /*column=*/first, /*index=*/0), "w");
  viewOfX = named(ViewOp::create(b, typeOfX, columnRing, /*row=*/first, /*column=*/first, /*index=*/0), "x");
  for (int64_t column = 0; spmm.hasTwoLevels() && column < columns(); column += columnsOfInstruction)
    viewsOfParts.push_back(
        ViewOp::create(b, ViewType::get(context, columnsOfInstruction, depth, elementOfX(), Major::k), columnRing,
                       /*row=*/i32(b, column), /*column=*/first, /*index=*/0));
  Value zero = i32(b, 0);
  forEachTile(b, {zero, zero}, [&](const Tile &tile, ValueRange carried) {
    Value firstColumn = named(carried[0], "first_column"), firstBlock = named(carried[1], "first_block");
    // The group is read anew: kept from tile to tile it would take a register that the accumulators need.
    auto rowOfWindow = [&] { return add(b, multiply(b, tile.window, groups()), GroupOp::create(b)); };
    Range steps = readRange(b, PlanSection::step_offsets, rowOfWindow());
    Value sum = spmm.hasTwoLevels() ? multiplyRowInPairs(b, steps, firstColumn, firstBlock)
                                    : multiplyRow(b, steps, firstColumn, firstBlock);
    storeRow(b, rowOfWindow(), tile.column, sum, /*isSwapped=*/false, /*inLines=*/false);
    Range columns = readRange(b, PlanSection::column_offsets, tile.window);
    Range blocks = readRange(b, PlanSection::block_offsets, tile.window);
    return SmallVector<Value>{add(b, firstColumn, arith::SubIOp::create(b, columns.end, columns.first)),
                              add(b, firstBlock, arith::SubIOp::create(b, blocks.end, blocks.first))};
  });
  DrainStoresOp::create(b);
}

/// Positions of the rings count from `firstColumn` and `firstBlock`, which are those of the window.
Value WindowBuilder::multiplyRow(ImplicitLocOpBuilder &b, Range steps, Value firstColumn, Value firstBlock) {
  Value zero = ZeroOp::create(b, sumType());
  Value word = ReadPlanOp::create(b, PlanSection::steps, steps.first);
  auto loop = scf::ForOp::create(b, steps.first, steps.end, i32(b, 1), ValueRange{zero, word});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value sum = named(loop.getRegionIterArg(0), "sum");
  word = named(loop.getRegionIterArg(1), "word");
  Value next = ReadPlanOp::create(b, PlanSection::steps, add(b, loop.getInductionVar(), 1));
  Value column = remainder(b, word, 1 << numberBits), block = divide(b, word, 1 << numberBits);
  Value columnSlot = CursorOp::create(b, columnRing, add(b, firstColumn, column));
  WaitOp::create(b, TypeRange(), columnRing, columnSlot);
  Value multiplies = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, block, i32(b, noBlock));
  Value blockPosition = add(b, firstBlock, block);
  auto branch = scf::IfOp::create(b, TypeRange{sumType()}, named(multiplies, "multiplies"), /*withElseRegion=*/true);
  scf::YieldOp::create(b, ValueRange{branch.getResult(0), next});
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, multiplyBlock(b, columnSlot, blockPosition, sum));
  b.setInsertionPointToStart(branch.elseBlock());
  ReleaseOp::create(b, columnRing, columnSlot);
  scf::YieldOp::create(b, sum);
  return loop.getResult(0);
}

WindowBuilder::Step WindowBuilder::decode(ImplicitLocOpBuilder &b, Value word, Value firstColumn, Value firstBlock) {
  Value column = remainder(b, word, 1 << numberBits), block = divide(b, word, 1 << numberBits);
  Step step;
  step.column = column;
  step.multiplies = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, block, i32(b, noBlock));
  step.columnSlot = CursorOp::create(b, columnRing, add(b, firstColumn, column));
  step.blockPosition = add(b, firstBlock, block);
  return step;
}

/// The same with two products for each promotion, where the next step is near enough. It is then done with this one.
Value WindowBuilder::multiplyRowInPairs(ImplicitLocOpBuilder &b, Range steps, Value firstColumn, Value firstBlock) {
  Value zero = ZeroOp::create(b, sumType()), isDone = arith::ConstantIntOp::create(b, 0, 1);
  Value word = ReadPlanOp::create(b, PlanSection::steps, steps.first);
  auto loop = scf::ForOp::create(b, steps.first, steps.end, i32(b, 1), ValueRange{zero, word, isDone});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value sum = named(loop.getRegionIterArg(0), "sum");
  word = named(loop.getRegionIterArg(1), "word");
  isDone = named(loop.getRegionIterArg(2), "is_done");
  Value number = add(b, loop.getInductionVar(), 1), nextWord = ReadPlanOp::create(b, PlanSection::steps, number);
  SmallVector<Type> types{sumType(), b.getI1Type()};
  auto branch = scf::IfOp::create(b, types, isDone, /*withElseRegion=*/true);
  scf::YieldOp::create(b, ValueRange{branch.getResult(0), nextWord, branch.getResult(1)});
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, ValueRange{sum, arith::ConstantIntOp::create(b, 0, 1)});

  b.setInsertionPointToStart(branch.elseBlock());
  const Step step = decode(b, word, firstColumn, firstBlock), next = decode(b, nextWord, firstColumn, firstBlock);
  WaitOp::create(b, TypeRange(), columnRing, step.columnSlot);
  auto products = scf::IfOp::create(b, types, named(step.multiplies, "multiplies"), /*withElseRegion=*/true);
  scf::YieldOp::create(b, products.getResults());
  b.setInsertionPointToStart(products.elseBlock());
  ReleaseOp::create(b, columnRing, step.columnSlot);
  scf::YieldOp::create(b, ValueRange{sum, arith::ConstantIntOp::create(b, 0, 1)});

  b.setInsertionPointToStart(products.thenBlock());
  Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, steps.end);
  Value distance = arith::SubIOp::create(b, next.column, step.column);
  Value isNear = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, distance, i32(b, schedule.getStages()));
  Value isPair = arith::AndIOp::create(b, isThere, arith::AndIOp::create(b, isNear, next.multiplies));
  scf::YieldOp::create(b, multiplyStep(b, step, named(isPair, "is_pair"), next, sum));
  return loop.getResult(0);
}

/// The sum, and whether the next step is done, too. The column of the first step is there.
WindowBuilder::Values WindowBuilder::multiplyStep(ImplicitLocOpBuilder &b, const Step &step, Value isPair,
                                                  const Step &next, Value sum) {
  Step first = step, second = next;
  first.blockSlot = CursorOp::create(b, blockRing, step.blockPosition);
  WaitOp::create(b, TypeRange(), blockRing, first.blockSlot);
  auto branch = scf::IfOp::create(b, TypeRange{sumType(), b.getI1Type()}, isPair, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  WaitOp::create(b, TypeRange(), columnRing, second.columnSlot);
  second.blockSlot = CursorOp::create(b, blockRing, second.blockPosition);
  WaitOp::create(b, TypeRange(), blockRing, second.blockSlot);
  Value ofBoth = promoteProducts(b, {first, second}, sum);
  releaseStep(b, first);
  releaseStep(b, second);
  scf::YieldOp::create(b, ValueRange{ofBoth, arith::ConstantIntOp::create(b, 1, 1)});
  b.setInsertionPointToStart(branch.elseBlock());
  Value ofOne = promoteProducts(b, {first}, sum);
  releaseStep(b, first);
  scf::YieldOp::create(b, ValueRange{ofOne, arith::ConstantIntOp::create(b, 0, 1)});
  return branch.getResults();
}

void WindowBuilder::releaseStep(ImplicitLocOpBuilder &b, const Step &step) {
  ReleaseOp::create(b, columnRing, step.columnSlot);
  ReleaseOp::create(b, blockRing, step.blockSlot);
}

/// Part by part: the products of the steps, which add to each other, and then to the sum of the row.
Value WindowBuilder::promoteProducts(ImplicitLocOpBuilder &b, ArrayRef<Step> steps, Value sum) {
  MLIRContext *context = b.getContext();
  Type pending = PendingType::get(context, matrix.getBlockRows(), columnsOfInstruction);
  Type complete = AccumulatorType::get(context, matrix.getBlockRows(), columnsOfInstruction);
  for (auto [part, view] : llvm::enumerate(viewsOfParts)) {
    Value product;
    for (const Step &step : steps)
      product = ProductOp::create(b, pending, viewOfBlock, step.blockSlot, view, step.columnSlot, product,
                                  schedule.getTileK());
    product = AwaitOp::create(b, complete, product, /*outstanding=*/0);
    sum = PromoteOp::create(b, product, sum, /*scale=*/Value(), /*rows=*/Value(), int64_t(part) * columnsOfInstruction);
  }
  return sum;
}

Value WindowBuilder::multiplyBlock(ImplicitLocOpBuilder &b, Value columnSlot, Value blockPosition, Value sum) {
  Value blockSlot = CursorOp::create(b, blockRing, blockPosition);
  WaitOp::create(b, TypeRange(), blockRing, blockSlot);
  Value product = ProductOp::create(b, pendingType(), viewOfBlock, blockSlot, viewOfX, columnSlot, sum,
                                    /*registers=*/Value(), /*condition=*/Value(), schedule.getTileK(),
                                    b.getI64IntegerAttr(columnsOfInstruction));
  Value complete = AwaitOp::create(b, sumType(), product, /*outstanding=*/0);
  ReleaseOp::create(b, columnRing, columnSlot);
  ReleaseOp::create(b, blockRing, blockSlot);
  return complete;
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeWindowBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) {
  return std::make_unique<WindowBuilder>(kernel, spmm, schedule);
}
