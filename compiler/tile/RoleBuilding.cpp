// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RoleBuilding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

/// The block of the role around the insertion point, or of the program.
static Block *blockOfRole(Block *block) {
  while (!isa<RoleOp, ProgramOp>(block->getParentOp()))
    block = block->getParentOp()->getBlock();
  return block;
}

Value sparsec::i32(ImplicitLocOpBuilder &b, int64_t value) {
  auto attribute = b.getI32IntegerAttr(static_cast<int32_t>(value));
  Block *block = blockOfRole(b.getInsertionBlock());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(block);
  for (auto constant : block->getOps<arith::ConstantOp>()) {
    if (constant.getValue() == attribute)
      return constant;
    b.setInsertionPointAfter(constant);
  }
  return arith::ConstantOp::create(b, attribute);
}

void sparsec::makeRole(ImplicitLocOpBuilder &b, StringRef name, RoleUnit unit, int64_t count, int64_t registers,
                       function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(b);
  auto role = RoleOp::create(b, name, unit, count, registers);
  b.createBlock(&role.getBody());
  body();
}

void sparsec::tidy(ProgramOp program) {
  // Users come after what they use, so that one walk backwards removes all that nothing uses.
  program.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  SmallVector<arith::ConstantOp> constants;
  program.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<StoreOp, TileSoftmaxOp>(op)) // their regions are the user's, for one element
      return WalkResult::skip();
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      constants.push_back(constant);
    return WalkResult::advance();
  });
  llvm::DenseMap<std::pair<Block *, Attribute>, arith::ConstantOp> kept;
  for (arith::ConstantOp constant : constants) {
    Block *block = blockOfRole(constant->getBlock());
    if (arith::ConstantOp &first = kept[{block, constant.getValue()}]) {
      constant.replaceAllUsesWith(first.getResult());
      constant.erase();
    } else {
      first = constant;
      constant->moveBefore(block, block->begin());
    }
  }
}

Value sparsec::named(Value value, StringRef name) {
  auto rename = [&](Location loc) { return NameLoc::get(StringAttr::get(loc.getContext(), name), loc); };
  if (Operation *op = value.getDefiningOp())
    op->setLoc(rename(op->getLoc()));
  else
    value.setLoc(rename(value.getLoc()));
  return value;
}

Value sparsec::add(ImplicitLocOpBuilder &b, Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
Value sparsec::add(ImplicitLocOpBuilder &b, Value x, int64_t y) { return y == 0 ? x : add(b, x, i32(b, y)); }

Value sparsec::multiply(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return y == 1 ? x : b.createOrFold<arith::MulIOp>(x, i32(b, y));
}

Value sparsec::divide(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return y == 1 ? x : b.createOrFold<arith::DivUIOp>(x, i32(b, y));
}

Value sparsec::remainder(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return y == 1 ? i32(b, 0) : b.createOrFold<arith::RemUIOp>(x, i32(b, y));
}

TileCoordinates sparsec::tileCoordinates(ImplicitLocOpBuilder &b, ScheduleAttr schedule, BsrType matrix, Value tileRow,
                                         Value panel) {
  int64_t tilesOfRow = llvm::divideCeil(matrix.getBlockRows(), schedule.getTileM());
  TileCoordinates at;
  at.blockRow = divide(b, tileRow, tilesOfRow);
  at.row = multiply(b, remainder(b, tileRow, tilesOfRow), schedule.getTileM());
  Value tileColumn = panel;
  if (int64_t cluster = schedule.getCluster(); cluster > 1)
    tileColumn = add(b, multiply(b, panel, cluster), ClusterRankOp::create(b));
  at.column = multiply(b, tileColumn, schedule.getTileN());
  return at;
}

BufferType sparsec::bufferOf(ScheduleAttr schedule, int64_t rows, int64_t columns, Type element,
                             int64_t columnsOfStrip) {
  constexpr int64_t mostBytes = 128, vectorBytes = 16;
  const int64_t elementBytes = element.getIntOrFloatBitWidth() / 8;
  int64_t rowBytes = columns * elementBytes, stripBytes = columnsOfStrip * elementBytes;
  const bool hasStrips = vectorBytes <= stripBytes && stripBytes < std::min(rowBytes, mostBytes) &&
                         llvm::isPowerOf2_64(stripBytes) && rowBytes % stripBytes == 0;
  int64_t permuted = hasStrips ? stripBytes : std::min(rowBytes & -rowBytes, mostBytes);
  int64_t swizzle = permuted > vectorBytes ? permuted : 0;
  return BufferType::get(schedule.getContext(), rows, columns, element,
                         /*strip=*/hasStrips || schedule.getCopy() == Copy::tma ? permuted : 0, swizzle,
                         /*adjacent=*/false);
}

BufferType sparsec::adjacentBufferOf(BufferType tile) {
  return BufferType::get(tile.getContext(), tile.getRows(), tile.getColumns(), tile.getElementType(), /*strip=*/0,
                         /*swizzle=*/0, /*adjacent=*/true);
}

Value sparsec::makeRing(ImplicitLocOpBuilder &b, ScheduleAttr schedule, ArrayRef<Type> buffers) {
  return RingOp::create(b, RingType::get(b.getContext(), schedule.getStages(), buffers), /*name=*/StringAttr(),
                        /*messages=*/false);
}

void sparsec::walkTiles(ImplicitLocOpBuilder &b, ValueRange inits,
                        function_ref<SmallVector<Value>(Value tileRow, Value panel, ValueRange carried)> body) {
  auto loop = TileLoopOp::create(b, inits);
  loop.setPeriodic(!loop->getParentOfType<ProgramOp>().getSplit()); // split tiles have no lists
  OpBuilder::InsertionGuard guard(b);
  Block &block = loop.getBody().front();
  block.clear(); // a loop that carries nothing has its terminator already
  b.setInsertionPointToStart(&block);
  YieldOp::create(b, body(block.getArgument(0), block.getArgument(1), block.getArguments().drop_front(2)));
}

SmallVector<Value> sparsec::carryIf(ImplicitLocOpBuilder &b, Value condition, ValueRange carried,
                                    function_ref<SmallVector<Value>()> body) {
  auto branch =
      scf::IfOp::create(b, carried.getTypes(), condition, /*addThenBlock=*/true, /*addElseBlock=*/!carried.empty());
  OpBuilder::InsertionGuard guard(b);
  if (!carried.empty()) {
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, carried);
  }
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, body());
  return SmallVector<Value>(branch.getResults());
}

Value sparsec::choose(ImplicitLocOpBuilder &b, Type type, Value condition, function_ref<Value()> then,
                      function_ref<Value()> otherwise) {
  auto branch = scf::IfOp::create(b, TypeRange{type}, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise());
  return branch.getResult(0);
}

SmallVector<Value> sparsec::loopWhile(ImplicitLocOpBuilder &b, ValueRange inits, ArrayRef<StringRef> names,
                                      LoopCondition condition, function_ref<SmallVector<Value>(ValueRange)> body) {
  auto loop = LoopOp::create(b, inits.getTypes(), inits, condition.position, condition.test, condition.number);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locations(inits.size(), b.getLoc());
  Block *block = b.createBlock(&loop.getBody(), {}, inits.getTypes(), locations);
  for (BlockArgument argument : block->getArguments())
    named(argument, names[std::min<size_t>(argument.getArgNumber(), names.size() - 1)]);
  YieldOp::create(b, body(block->getArguments()));
  return SmallVector<Value>(loop.getResults());
}

GroupPart sparsec::partOf(ImplicitLocOpBuilder &b, ScheduleAttr schedule, int64_t rows, int64_t columns) {
  auto part = GroupPartOp::create(b, rows, columns, schedule.getConsumersN());
  return {part.getGroup(), part.getRow(), int64_t(schedule.getConsumersN()) == 1 ? i32(b, 0) : Value(part.getColumn())};
}

bool sparsec::mayCutBlocks(BsrType matrix, RankedTensorType dense, bool isTransposed) {
  return matrix.mayBeCutBy(matrix.getColumns()) && matrix.mayBeCutBy(dense.getDimSize(isTransposed ? 1 : 0));
}
