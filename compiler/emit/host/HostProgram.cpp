// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dispatcher, loops, and coordinates.

#include "host/HostProgram.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

LLVM::LLVMFuncOp HostProgram::emit() {
  begin();
  findOperands();
  for (Operation &op : program.getBody().front())
    translate(op);
  LLVM::LLVMFuncOp function = finish();
  if (isComplete)
    return function;
  function.erase();
  return {};
}

void HostProgram::translate(Operation &op) {
  TypeSwitch<Operation *>(&op)
      .Case<TileLoopOp, TileOp, BlockLoopOp, KeyLoopOp, LoadOp, LoadPartOp, LoadRowsOp, ZeroOp, ChainOp,
            FragmentChainOp, SoftmaxBeginOp, SoftmaxOp, StoreOp, StoreRowsOp, RowBlocksOp, BlockColumnOp, ReadPlanOp,
            SizeOp, scf::ForOp, scf::IfOp, arith::ConstantOp>([&](auto known) { emit(known); })
      .Default([&](Operation *other) {
        if (isa<arith::ArithDialect>(other->getDialect()))
          return emitArithmetic(*other);
        other->emitOpError("expects a program in values form on the host, which does not have this op");
        isComplete = false;
      });
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// The runtime distributes the tiles of the raster to threads: a call computes some that follow one another. Attention
/// computes the number of panels from the sizes, because it may have as many parameters as a kernel can have without
/// it.
void HostProgram::emit(TileLoopOp op) {
  Value panelsOfRow = isAttention() ? panels() : indexParameter(ParameterKind::tile_panels);
  forTiles([&](Value index) {
    Block &body = op.getBody().front();
    set(body.getArgument(0), arith::DivSIOp::create(b, index, panelsOfRow).getResult());
    set(body.getArgument(1), arith::RemSIOp::create(b, index, panelsOfRow).getResult());
    translate(body);
  });
}

void HostProgram::emit(TileOp op) {
  if (isAttention())
    return HostQueries::emit(op);
  set(op.getResult(), Tile{number(op.getTileRow()), number(op.getPanel())});
}

/// A tile of the host has all rows of its block row.
void HostProgram::emit(BlockLoopOp op) {
  Value starts = rowStarts(op.getMatrix()), row = get<Tile>(op.getTile()).row;
  Value first = loadIndex(starts, row), end = loadIndex(starts, add(row, constant(1)));
  carry(op.getInits(), op.getBody().getArguments().drop_front(2));
  loop(first, end, [&](Value position) { emitBlock(op, position); });
  carry(op.getInits(), op.getResults());
}

/// K may end inside a block.
void HostProgram::emitBlock(BlockLoopOp op, Value position) {
  auto matrix = op.getMatrix();
  BsrType type = matrix.getType();
  Step block;
  block.firstK = multiply(loadIndex(blockColumns(matrix), position), constant(type.getBlockColumns()));
  Value depth = sizeOf(matrix, type.getStoredColumnDimension());
  block.depth = inside(depth, block.firstK, type.getBlockColumns());
  block.block = type.getTransposed() ? loadIndex(sectionParameter(PlanSection::row_blocks), position) : position;
  block.chunk = constant(0);
  if (int64_t(op.getChunks()) == 1)
    return emitStep(op, block);
  int64_t depthOfChunk = program.getSchedule().getTileK();
  loop(constant(0), arith::CeilDivSIOp::create(b, block.depth, constant(depthOfChunk)), [&](Value number) {
    Step chunk = block;
    Value first = multiply(number, constant(depthOfChunk));
    chunk.firstK = add(block.firstK, first);
    chunk.depth = inside(block.depth, first, depthOfChunk);
    chunk.chunk = number;
    emitStep(op, chunk);
  });
}

void HostProgram::emitStep(BlockLoopOp op, const Step &step) {
  Block &body = op.getBody().front();
  set(body.getArgument(0), step);
  set(body.getArgument(1), step.chunk);
  translate(body);
}

void HostProgram::emit(scf::ForOp op) {
  carry(op.getInits(), op.getRegionIterArgs());
  loop(number(op.getLowerBound()), number(op.getUpperBound()), number(op.getStep()), [&](Value index) {
    set(op.getInductionVar(), index);
    translate(*op.getBody());
  });
  carry(op.getInits(), op.getResults());
}

void HostProgram::emit(scf::IfOp op) {
  auto branch = scf::IfOp::create(b, number(op.getCondition()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  translate(*op.thenBlock());
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

void HostProgram::emit(RowBlocksOp op) {
  Value starts = rowStarts(op.getMatrix()), row = number(op.getBlockRow());
  set(op.getFirst(), loadIndex(starts, row));
  set(op.getEnd(), loadIndex(starts, add(row, constant(1))));
}

void HostProgram::emit(BlockColumnOp op) {
  set(op.getColumn(), loadIndex(blockColumns(op.getMatrix()), number(op.getPosition())));
}

void HostProgram::emit(ReadPlanOp op) {
  set(op.getResult(), loadIndex(sectionParameter(op.getSection()), number(op.getIndex())));
}

void HostProgram::emit(SizeOp op) { set(op.getResult(), sizeOf(op.getSource(), op.getDimension())); }

void HostProgram::emit(arith::ConstantOp op) {
  set(op.getResult(), constant(cast<IntegerAttr>(op.getValue()).getInt()));
}

/// The same op on i64.
void HostProgram::emitArithmetic(Operation &op) {
  IRMapping operands;
  for (Value operand : op.getOperands())
    operands.map(operand, number(operand));
  Operation *copy = b.clone(op, operands);
  for (auto [result, onHost] : llvm::zip_equal(op.getResults(), copy->getResults())) {
    if (result.getType() == i32)
      onHost.setType(i64);
    set(result, onHost);
  }
}
