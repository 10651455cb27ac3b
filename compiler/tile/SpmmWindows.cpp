// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spmm over windows of a plan. A window has one block row for each group of consumers. The columns of
// X that any of these rows needs are loaded once, for all of them. X and the blocks of W have a ring and a producer
// each:
//
//   producer "x" copies the columns of the window, and releases each for the groups that have no step for it;
//   producer "w" copies the blocks of the window, by column, then by row; where products are short, two of them take
//   turns; a group follows the steps of its row. A step names its column and its block by their numbers in the window.
//
// A group completes its product before it goes on: two others multiply meanwhile. It holds no slot while it waits for
// another one, whose producer may need that slot first.
//
// A short product takes half as long, so that two others do not fill the time until the next one. It stays in flight
// while its group waits for the operands of the next step. The group then holds a column and a block. It does so only
// if the next ones are less than the slots of their rings away, so that no producer needs what is held. Otherwise it
// completes the product first. For long products, whose rings have half the slots, this is slower.
//
// With sums of two levels a group adds two products of 64 of K before it promotes them: those of a step and of the next
// one. It holds the column of the first while it waits for that of the second, under the same condition. The ring of
// blocks has room for all that other groups have in between (checkWindows).
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
  Value multiplyRowInFlight(ImplicitLocOpBuilder &b, Range steps, Value firstColumn, Value firstBlock);
  Value multiplyRowInPairs(ImplicitLocOpBuilder &b, Range steps, Value firstColumn, Value firstBlock);
  Value multiplyBlock(ImplicitLocOpBuilder &b, Value columnSlot, Value blockSlot, Value sum);
  struct Step;
  struct Held;
  Step decode(ImplicitLocOpBuilder &b, Value word, Value firstColumn, Value firstBlock, bool waitsForColumn = false);
  Held multiplyStep(ImplicitLocOpBuilder &b, const Step &step, const Held &held, Value isNear);
  Value formPair(ImplicitLocOpBuilder &b, const Step &first, const Step &second, Value isThere);
  Value multiplyBlocks(ImplicitLocOpBuilder &b, ArrayRef<Step> steps, Value sum);
  void releaseSlots(ImplicitLocOpBuilder &b, Value columnSlot, Value blockSlot, Value condition = {});
  bool mayCut() { return mayCutBlocks(matrix, spmm.getDense().getType(), isTransposed()); }
  int64_t groups() { return schedule.getConsumersM(); }
  /// The bytes of a row of a block.
  int64_t rowBytes() { return schedule.getTileK() * int64_t(elementType().getIntOrFloatBitWidth()) / 8; }
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
};

/// A sum, and the slots that its product in flight reads, if there is one.
struct WindowBuilder::Held {
  Value sum, isInFlight, columnSlot, blockSlot;

  Held(ValueRange values) : sum(values[0]), isInFlight(values[1]), columnSlot(values[2]), blockSlot(values[3]) {}
  Values values() const { return {sum, isInFlight, columnSlot, blockSlot}; }
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
  const int64_t producers = blockProducersOfWindow(rowBytes());
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
    Value sum;
    if (spmm.hasTwoLevels())
      sum = multiplyRowInPairs(b, steps, firstColumn, firstBlock);
    else if (hasShortProducts(rowBytes()))
      sum = multiplyRowInFlight(b, steps, firstColumn, firstBlock);
    else
      sum = multiplyRow(b, steps, firstColumn, firstBlock);
    storeRow(b, rowOfWindow(), tile.column, sum, /*isSwapped=*/false, /*inLines=*/false);
    Range columns = readRange(b, PlanSection::column_offsets, tile.window);
    Range blocks = readRange(b, PlanSection::block_offsets, tile.window);
    return SmallVector<Value>{add(b, firstColumn, arith::SubIOp::create(b, columns.end, columns.first)),
                              add(b, firstBlock, arith::SubIOp::create(b, blocks.end, blocks.first))};
  });
  DrainStoresOp::create(b);
}

WindowBuilder::Step WindowBuilder::decode(ImplicitLocOpBuilder &b, Value word, Value firstColumn, Value firstBlock,
                                          bool waitsForColumn) {
  Value column = remainder(b, word, 1 << numberBits), block = divide(b, word, 1 << numberBits);
  Step step;
  step.column = column;
  step.columnSlot = CursorOp::create(b, columnRing, add(b, firstColumn, column));
  if (waitsForColumn)
    WaitOp::create(b, TypeRange(), columnRing, step.columnSlot);
  step.multiplies = named(arith::CmpIOp::create(b, arith::CmpIPredicate::ne, block, i32(b, noBlock)), "multiplies");
  step.blockPosition = add(b, firstBlock, block);
  return step;
}

void WindowBuilder::releaseSlots(ImplicitLocOpBuilder &b, Value columnSlot, Value blockSlot, Value condition) {
  ReleaseOp::create(b, columnRing, columnSlot, condition, /*groups=*/Value());
  ReleaseOp::create(b, blockRing, blockSlot, condition, /*groups=*/Value());
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
  Step step = decode(b, word, firstColumn, firstBlock, /*waitsForColumn=*/true);
  auto branch = scf::IfOp::create(b, TypeRange{sumType()}, step.multiplies, /*withElseRegion=*/true);
  scf::YieldOp::create(b, ValueRange{branch.getResult(0), next});
  b.setInsertionPointToStart(branch.thenBlock());
  Value blockSlot = CursorOp::create(b, blockRing, step.blockPosition);
  WaitOp::create(b, TypeRange(), blockRing, blockSlot);
  Value product = multiplyBlock(b, step.columnSlot, blockSlot, sum);
  Value complete = AwaitOp::create(b, sumType(), product, /*outstanding=*/0);
  releaseSlots(b, step.columnSlot, blockSlot);
  scf::YieldOp::create(b, complete);
  b.setInsertionPointToStart(branch.elseBlock());
  ReleaseOp::create(b, columnRing, step.columnSlot);
  scf::YieldOp::create(b, sum);
  return loop.getResult(0);
}

Value WindowBuilder::multiplyBlock(ImplicitLocOpBuilder &b, Value columnSlot, Value blockSlot, Value sum) {
  return ProductOp::create(b, pendingType(), viewOfBlock, blockSlot, viewOfX, columnSlot, sum, /*registers=*/Value(),
                           schedule.getTileK(), b.getI64IntegerAttr(columnsOfInstruction), /*ones=*/IntegerAttr());
}

/// The same with products in flight. Columns and blocks rise from step to step, so that the difference of two words has
/// the distances of both.
Value WindowBuilder::multiplyRowInFlight(ImplicitLocOpBuilder &b, Range steps, Value firstColumn, Value firstBlock) {
  Value zero = ZeroOp::create(b, pendingType()), isInFlight = arith::ConstantIntOp::create(b, 0, 1);
  Value word = ReadPlanOp::create(b, PlanSection::steps, steps.first);
  Values inits = Held({zero, isInFlight, CursorOp::create(b, columnRing), CursorOp::create(b, blockRing)}).values();
  inits.append({word, word});
  auto loop = scf::ForOp::create(b, steps.first, steps.end, i32(b, 1), inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Held held(loop.getRegionIterArgs());
    named(held.sum, "sum"), named(held.isInFlight, "is_in_flight");
    named(held.columnSlot, "held_column"), named(held.blockSlot, "held_block");
    word = named(loop.getRegionIterArg(4), "word");
    Value previous = named(loop.getRegionIterArg(5), "previous");
    Value next = ReadPlanOp::create(b, PlanSection::steps, add(b, loop.getInductionVar(), 1));
    Step step = decode(b, word, firstColumn, firstBlock);
    Value distance = arith::SubIOp::create(b, word, previous);
    auto isLess = [&](Value number, int64_t slots) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, i32(b, slots));
    };
    Value isColumnNear = isLess(remainder(b, distance, 1 << numberBits), schedule.getStages());
    Value isBlockNear = isLess(divide(b, distance, 1 << numberBits), schedule.getBlockStages());
    Value isNear = arith::AndIOp::create(b, isColumnNear, arith::AndIOp::create(b, isBlockNear, step.multiplies));
    Values yielded = multiplyStep(b, step, held, named(isNear, "is_near")).values();
    yielded.append({next, word});
    scf::YieldOp::create(b, yielded);
  }
  Held last(loop.getResults());
  Value sum = AwaitOp::create(b, sumType(), last.sum, /*outstanding=*/0);
  releaseSlots(b, last.columnSlot, last.blockSlot, last.isInFlight);
  return sum;
}

/// Completes the product that is held where the step is not near, and then waits for the operands of the step.
WindowBuilder::Held WindowBuilder::multiplyStep(ImplicitLocOpBuilder &b, const Step &step, const Held &held,
                                                Value isNear) {
  OpBuilder::InsertionGuard guard(b);
  Value one = arith::ConstantIntOp::create(b, 1, 1);
  Value isFar = arith::AndIOp::create(b, held.isInFlight, arith::XOrIOp::create(b, isNear, one));
  auto completion = scf::IfOp::create(b, TypeRange{pendingType()}, named(isFar, "is_far"), /*withElseRegion=*/true);
  Value staysInFlight = arith::AndIOp::create(b, held.isInFlight, isNear);
  WaitOp::create(b, TypeRange(), columnRing, step.columnSlot);
  auto branch = scf::IfOp::create(b, TypeRange{pendingType()}, step.multiplies, /*withElseRegion=*/true);
  Value blockSlot = CursorOp::create(b, blockRing, step.blockPosition);
  Held result({branch.getResult(0), step.multiplies, step.columnSlot, blockSlot});

  b.setInsertionPointToStart(completion.thenBlock());
  Value complete = AwaitOp::create(b, pendingType(), held.sum, /*outstanding=*/0);
  releaseSlots(b, held.columnSlot, held.blockSlot);
  scf::YieldOp::create(b, complete);
  b.setInsertionPointToStart(completion.elseBlock());
  scf::YieldOp::create(b, held.sum);

  b.setInsertionPointToStart(branch.thenBlock());
  Value slot = CursorOp::create(b, blockRing, step.blockPosition);
  WaitOp::create(b, TypeRange(), blockRing, slot);
  Value product = multiplyBlock(b, step.columnSlot, slot, completion.getResult(0));
  Value sum = AwaitOp::create(b, pendingType(), product, /*outstanding=*/1);
  releaseSlots(b, held.columnSlot, held.blockSlot, staysInFlight);
  scf::YieldOp::create(b, sum);
  b.setInsertionPointToStart(branch.elseBlock());
  ReleaseOp::create(b, columnRing, step.columnSlot);
  scf::YieldOp::create(b, completion.getResult(0));
  return result;
}

/// The same with two products for each promotion, where the next step is near enough. The words of the next two steps
/// are read while these are multiplied.
Value WindowBuilder::multiplyRowInPairs(ImplicitLocOpBuilder &b, Range steps, Value firstColumn, Value firstBlock) {
  // The entry behind the last step is there, others may not be.
  auto readWord = [&](Value number) -> Value {
    return ReadPlanOp::create(b, PlanSection::steps, arith::MinSIOp::create(b, number, steps.end));
  };
  Values inits{steps.first, readWord(steps.first), readWord(add(b, steps.first, 1)), ZeroOp::create(b, sumType())};
  auto loop = scf::WhileOp::create(b, ValueRange(inits).getTypes(), inits);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locations(inits.size(), b.getLoc());
  Block *test = b.createBlock(&loop.getBefore(), {}, loop.getResultTypes(), locations);
  Value isLeft = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, test->getArgument(0), steps.end);
  scf::ConditionOp::create(b, isLeft, test->getArguments());

  Block *body = b.createBlock(&loop.getAfter(), {}, loop.getResultTypes(), locations);
  Value number = named(body->getArgument(0), "number"), sum = named(body->getArgument(3), "sum");
  Value word = named(body->getArgument(1), "word"), nextWord = named(body->getArgument(2), "next_word");
  Value second = add(b, number, 1), third = add(b, number, 2);
  Value thirdWord = readWord(third), fourthWord = readWord(add(b, number, 3));
  Step step = decode(b, word, firstColumn, firstBlock), next = decode(b, nextWord, firstColumn, firstBlock);
  Value isPair =
      named(formPair(b, step, next, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, second, steps.end)), "is_pair");
  auto branch = scf::IfOp::create(b, loop.getResultTypes(), isPair, /*withElseRegion=*/true);
  scf::YieldOp::create(b, branch.getResults());
  b.setInsertionPointToStart(branch.thenBlock());
  Value ofBoth = multiplyBlocks(b, {step, next}, sum);
  scf::YieldOp::create(b, ValueRange{third, thirdWord, fourthWord, ofBoth});
  b.setInsertionPointToStart(branch.elseBlock());
  auto single = scf::IfOp::create(b, TypeRange{sumType()}, step.multiplies, /*withElseRegion=*/true);
  scf::YieldOp::create(b, ValueRange{second, nextWord, thirdWord, single.getResult(0)});
  b.setInsertionPointToStart(single.thenBlock());
  scf::YieldOp::create(b, multiplyBlocks(b, {step}, sum));
  b.setInsertionPointToStart(single.elseBlock());
  WaitOp::create(b, TypeRange(), columnRing, step.columnSlot);
  ReleaseOp::create(b, columnRing, step.columnSlot);
  scf::YieldOp::create(b, sum);
  return loop.getResult(3);
}

/// Whether the group multiplies both steps together, if the second one `isThere`.
Value WindowBuilder::formPair(ImplicitLocOpBuilder &b, const Step &first, const Step &second, Value isThere) {
  Value distance = arith::SubIOp::create(b, second.column, first.column);
  Value isNear = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, distance, i32(b, schedule.getStages()));
  Value multiply = arith::AndIOp::create(b, first.multiplies, second.multiplies);
  return arith::AndIOp::create(b, multiply, arith::AndIOp::create(b, isThere, isNear));
}

/// Part by part: the products of the steps, which add to each other, and then to the sum of the row. Nothing is between
/// the waits, so that they are tested together. The slots are free before the last part is added.
Value WindowBuilder::multiplyBlocks(ImplicitLocOpBuilder &b, ArrayRef<Step> steps, Value sum) {
  MLIRContext *context = b.getContext();
  Type pending = PendingType::get(context, matrix.getBlockRows(), columnsOfInstruction);
  Type complete = AccumulatorType::get(context, matrix.getBlockRows(), columnsOfInstruction);
  Values blockSlots;
  for (const Step &step : steps)
    blockSlots.push_back(CursorOp::create(b, blockRing, step.blockPosition));
  for (auto [step, blockSlot] : llvm::zip_equal(steps, blockSlots)) {
    WaitOp::create(b, TypeRange(), columnRing, step.columnSlot);
    WaitOp::create(b, TypeRange(), blockRing, blockSlot);
  }
  for (auto [part, view] : llvm::enumerate(viewsOfParts)) {
    Value product;
    for (auto [step, blockSlot] : llvm::zip_equal(steps, blockSlots))
      product =
          ProductOp::create(b, pending, viewOfBlock, blockSlot, view, step.columnSlot, product, schedule.getTileK());
    product = AwaitOp::create(b, complete, product, /*outstanding=*/0);
    if (part + 1 == viewsOfParts.size())
      for (auto [step, blockSlot] : llvm::zip_equal(steps, blockSlots))
        releaseSlots(b, step.columnSlot, blockSlot);
    sum = PromoteOp::create(b, product, sum, /*scale=*/Value(), /*rows=*/Value(), int64_t(part) * columnsOfInstruction);
  }
  return sum;
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeWindowBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) {
  return std::make_unique<WindowBuilder>(kernel, spmm, schedule);
}
