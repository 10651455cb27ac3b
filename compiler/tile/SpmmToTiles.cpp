// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spmm: for every tile the blocks of its block row, then the store.

#include "ProgramBuilder.h"
#include "RoleBuilding.h"
#include "ScheduleAttribute.h"
#include "SharedMemory.h"
#include "TargetInfo.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

namespace {

class SpmmBuilder : public ProgramBuilder {
public:
  SpmmBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule)
      : ProgramBuilder(kernel, schedule), spmm(spmm), matrix(spmm.getMatrix().getType()) {}

private:
  void buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) override;
  Type elementType() override { return matrix.getElementType(); }
  int64_t unitOfRows() override;
  Value buildStep(ImplicitLocOpBuilder &b, Value tile, Value block, Value chunk, Value accumulator);
  void buildStore(ImplicitLocOpBuilder &b, const TileCoordinates &at, Value accumulator);
  bool widensF8(OpBuilder &b);
  DenseI64ArrayAttr chunkDepths(Builder &b) const;

  int64_t blocksPerStep() const { return std::max<int64_t>(1, schedule.getTileK() / matrix.getBlockColumns()); }
  int64_t chunks() const { return llvm::divideCeil(matrix.getBlockColumns(), schedule.getTileK()); }

  SpmmOp spmm;
  BsrType matrix;
};

int64_t SpmmBuilder::unitOfRows() {
  ProblemDescription problem;
  problem.xTransposed = spmm.getXLayout() == DenseLayout::nk;
  problem.hasXScale = bool(spmm.getXScale());
  return sparsec::unitOfRows(toSchedule(schedule), problem);
}

void SpmmBuilder::buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) {
  Value tile = TileOp::create(b, tileRow, panel);
  auto type = AccumulatorType::get(b.getContext(), schedule.getTileM(), schedule.getTileN());
  Value zero = ZeroOp::create(b, type);
  Value w = mapping.lookup(spmm.getMatrix());
  auto loop = BlockLoopOp::create(b, TypeRange{type}, w, tile, ValueRange{zero}, blocksPerStep(), chunks());
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = b.createBlock(&loop.getBody());
    Value block = body->addArgument(BlockType::get(b.getContext()), b.getLoc());
    Value chunk = body->addArgument(b.getI32Type(), b.getLoc());
    Value accumulator = body->addArgument(type, b.getLoc());
    YieldOp::create(b, buildStep(b, tile, block, chunk, accumulator));
  }
  buildStore(b, tileCoordinates(b, schedule, matrix, tileRow, panel), loop.getResult(0));
}

Value SpmmBuilder::buildStep(ImplicitLocOpBuilder &b, Value tile, Value block, Value chunk, Value accumulator) {
  MLIRContext *context = b.getContext();
  Type ofX = spmm.getDense().getType().getElementType();
  bool xTransposed = spmm.getXLayout() == DenseLayout::nk;
  int64_t m = schedule.getTileM(), n = schedule.getTileN(), k = schedule.getTileK();
  bool wTransposed = matrix.getTransposed();
  Type ofW = matrix.getElementType();
  auto aType = wTransposed ? BufferType::get(context, k, m, ofW) : BufferType::get(context, m, k, ofW);
  auto xType = xTransposed ? BufferType::get(context, n, k, ofX) : BufferType::get(context, k, n, ofX);
  Value a = LoadOp::create(b, aType, mapping.lookup(spmm.getMatrix()), tile, block, chunk, Operand::a);
  Value x = LoadOp::create(b, xType, mapping.lookup(spmm.getDense()), tile, block, chunk, Operand::x);
  Value scales = spmm.getScales() ? mapping.lookup(spmm.getScales()) : Value();
  Value xScale = spmm.getXScale() ? mapping.lookup(spmm.getXScale()) : Value();
  // Sums of products of f16 are as exact as those of other 16-bit operands: they need a second level only for scales.
  const bool isWidened = widensF8(b);
  const bool hasTwoLevels = spmm.hasTwoLevels() && (!isWidened || scales || xScale);
  return ChainOp::create(b, a, x, accumulator, scales, xScale, chunkDepths(b), wTransposed, xTransposed, hasTwoLevels,
                         isWidened);
}

/// Explicit conversions leave the sums to mma.sync. Where ptxas makes them, it adds each product of 32 of K to them by
/// instructions of its own.
bool SpmmBuilder::widensF8(OpBuilder &b) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto target = module->getAttrOfType<TargetAttr>("sparsec.target");
  const Chip *chip = target ? findChip(target.getChip()) : nullptr;
  const InstructionRate *rate = chip ? chip->find(toSchedule(schedule).instruction) : nullptr;
  return rate && rate->widensF8 && matrix.getElementType().getIntOrFloatBitWidth() == 8;
}

/// The K elements that count in each chunk of a block: tile_k, and what is left in the last one.
DenseI64ArrayAttr SpmmBuilder::chunkDepths(Builder &b) const {
  SmallVector<int64_t> depths(chunks(), schedule.getTileK());
  if (int64_t rest = matrix.getBlockColumns() % schedule.getTileK(); rest && blocksPerStep() == 1)
    depths.back() = rest;
  return b.getDenseI64ArrayAttr(depths);
}

void SpmmBuilder::buildStore(ImplicitLocOpBuilder &b, const TileCoordinates &at, Value accumulator) {
  SmallVector<Value> extras;
  for (Value extra : spmm.getExtras())
    extras.push_back(mapping.lookup(extra));
  int64_t resultBytes = cast<RankedTensorType>(results[0].getType()).getElementTypeBitWidth() / 8;
  bool staged = !schedule.isForHost() && usesStagedStore(toSchedule(schedule), matrix.getBlockRows(), resultBytes);
  auto store = StoreOp::create(b, accumulator, results[0], at.blockRow, at.row, at.column, /*group=*/Value(),
                               /*group_row=*/Value(), /*group_column=*/Value(), extras, spmm.getBroadcast(),
                               matrix.getBlockRows(), /*transposed=*/spmm.getYLayout() == ResultLayout::nm, staged,
                               /*staging=*/DenseI64ArrayAttr());
  setEpilogue(b, store, spmm.getEpilogue());
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeSpmmBuilder(KernelOp kernel, SpmmOp spmm, ScheduleAttr schedule) {
  return std::make_unique<SpmmBuilder>(kernel, spmm, schedule);
}
