// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host/HostProducts.h"

#include "InlineRegion.h"

#include "sparsec/launch_info.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

HostProducts::HostProducts(ProgramOp program) : HostProgram(program) {
  program.walk([&](StoreOp store) { isTransposed = store.getTransposed(); });
}

bool HostProducts::translateOther(Operation &op) {
  return TypeSwitch<Operation *, bool>(&op)
      .Case<TileOp, BlockLoopOp, RowBlocksOp, BlockColumnOp, LoadOp, LoadPartOp, ZeroOp, ChainOp, StoreOp>(
          [&](auto known) { return emit(known), true; })
      .Default(false);
}

//===----------------------------------------------------------------------===//
// Tiles and blocks
//===----------------------------------------------------------------------===//

Value HostProducts::panels() { return indexParameter(ParameterKind::tile_panels); }

/// The blocks of a panel of X are read again and again, for other rows of the matrix, while they are in a cache. Their
/// rows are far apart in memory. What is read of the matrix itself is less, and contiguous.
Value HostProducts::tileRows() {
  Value rows;
  program.walk([&](BlockLoopOp op) {
    BsrType type = op.getMatrix().getType();
    rows = ceilDivide(sizeOf(op.getMatrix(), type.getStoredRowDimension()), type.getBlockRows());
  });
  return rows;
}

Value HostProducts::rowStarts(TypedValue<BsrType> matrix) {
  return matrix.getType().getTransposed() ? sectionParameter(PlanSection::row_starts)
                                          : parameter(pointer, ParameterKind::row_ptr, argumentOf(matrix));
}

Value HostProducts::blockColumns(TypedValue<BsrType> matrix) {
  return matrix.getType().getTransposed() ? sectionParameter(PlanSection::row_columns)
                                          : parameter(pointer, ParameterKind::col_idx, argumentOf(matrix));
}

void HostProducts::emit(TileOp op) { set(op.getResult(), Tile{number(op.getTileRow()), number(op.getPanel())}); }

/// A tile of the host has all rows of its block row.
void HostProducts::emit(BlockLoopOp op) {
  Value starts = rowStarts(op.getMatrix()), row = get<Tile>(op.getTile()).row;
  Value first = loadIndex(starts, row), end = loadIndex(starts, add(row, constant(1)));
  carry(op.getInits(), op.getBody().getArguments().drop_front(2));
  loop(first, end, [&](Value position) { emitBlock(op, position); });
  carry(op.getInits(), op.getResults());
}

/// K may end inside a block.
void HostProducts::emitBlock(BlockLoopOp op, Value position) {
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

void HostProducts::emitStep(BlockLoopOp op, const Step &step) {
  Block &body = op.getBody().front();
  set(body.getArgument(0), step);
  set(body.getArgument(1), step.chunk);
  translate(body);
}

void HostProducts::emit(RowBlocksOp op) {
  Value starts = rowStarts(op.getMatrix()), row = number(op.getBlockRow());
  set(op.getFirst(), loadIndex(starts, row));
  set(op.getEnd(), loadIndex(starts, add(row, constant(1))));
}

void HostProducts::emit(BlockColumnOp op) {
  set(op.getColumn(), loadIndex(blockColumns(op.getMatrix()), number(op.getPosition())));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Zeros are written where a loop carries them. A chain that begins with them needs none in memory.
void HostProducts::emit(ZeroOp op) {
  auto type = cast<AccumulatorType>(op.getType());
  int64_t vectors = type.getRows() * type.getColumns() / vectorSize;
  set(op.getResult(), Sum{bufferOf(op, vectors), vectors, /*isZero=*/true, /*factor=*/Value()});
}

/// The factor of each column, by which the chain multiplies the sums of a step: the scale of the block, the scale of
/// the column of X, or their product. Null without scales.
Value HostProducts::emitFactors(ChainOp op, const Factor &a, const Factor &x) {
  if (!op.getScales() && !op.getXScale())
    return {};
  int64_t vectors = program.getSchedule().getTileN() / vectorSize;
  Value factors = zeroedBufferOf(op, vectors);
  Value scale = op.getScales()
                    ? load(f32, parameter(pointer, ParameterKind::pointer, argumentOf(op.getScales())), a.block)
                    : f32Constant(1);
  if (!op.getXScale()) {
    for (int64_t i = 0; i < vectors; ++i)
      storeVector(splat(scale, vectorType), factors, constant(i));
    return factors;
  }
  Matrix xScale = matrixParameter(op.getXScale(), /*transposed=*/false);
  Value part = arith::DivSIOp::create(b, x.firstDepth, constant(SPARSEC_X_SCALE_DEPTH));
  loop(constant(0), x.outer, [&](Value column) {
    Value ofColumn = LLVM::LoadOp::create(b, f32, elementAddress(xScale, add(x.firstOuter, column), part));
    store(arith::MulFOp::create(b, ofColumn, scale), factors, column);
  });
  return factors;
}

/// A group of the vectors of one operand at a time meets all lines of the other one, some of which share a loop over k.
void HostProducts::emit(ChainOp op) {
  Factor a = get<Factor>(op.getA()), x = get<Factor>(op.getX());
  Sum sum = get<Sum>(op.getAccumulator());
  Product product{isTransposed ? a : x, isTransposed ? x : a,  sum,
                  /*depth=*/{},         emitFactors(op, a, x), widthOfLine(op.getType()) / vectorSize};
  product.depth = a.depth == x.depth ? a.depth : smaller(a.depth, x.depth);
  const Factor &lines = product.lines;
  const int64_t whole = lines.outerSize / linesOfLoop, rest = lines.outerSize % linesOfLoop;
  loop(constant(0), ceilDivide(product.vectors.outer, vectorSize), [&](Value group) {
    loop(constant(0), smaller(constant(whole), ceilDivide(lines.outer, linesOfLoop)),
         [&](Value index) { emitLines(product, group, multiply(index, constant(linesOfLoop)), linesOfLoop); });
    if (rest == 0)
      return;
    Value first = constant(whole * linesOfLoop);
    auto hasRest = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, lines.outer, first));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(hasRest.thenBlock());
    emitLines(product, group, first, rest);
  });
  sum.isZero = false;
  set(op.getResult(), sum);
}

/// The sums of `count` lines stay in registers over k. Sums of f32 need no second level, so that only scales need a sum
/// of the step alone. The last chunk of a block may be shallower; the load says how deep.
void HostProducts::emitLines(const Product &product, Value group, Value first, int64_t count) {
  const Sum &sum = product.sum;
  auto line = [&](unsigned i) { return add(first, constant(i)); };
  auto place = [&](unsigned i) { return add(multiply(line(i), constant(product.vectorsOfLine)), group); };
  Values before;
  for (unsigned i = 0; i < count; ++i)
    before.push_back(sum.isZero ? constantVector(0) : loadVector(sum.buffer, place(i)));
  Values total = multiplyAdd(
      constant(0), product.depth, product.factors ? Values(count, constantVector(0)) : before,
      [&](Value k, unsigned i) { return elementOf(product.lines, line(i), k); },
      [&](Value k) { return loadVector(product.vectors.unpacked, vectorNumber(product.vectors, group, k)); });
  for (unsigned i = 0; i < count; ++i) {
    if (product.factors) {
      Value factor =
          isTransposed ? splat(load(f32, product.factors, line(i)), vectorType) : loadVector(product.factors, group);
      total[i] = LLVM::FMulAddOp::create(b, factor, total[i], before[i]);
    }
    storeVector(total[i], sum.buffer, place(i));
  }
}

//===----------------------------------------------------------------------===//
// Stores
//===----------------------------------------------------------------------===//

/// Visits rows x columns elements, the contiguous dimension in the inner loop.
void HostProducts::forElements(bool isRowInner, Value rows, Value columns,
                               function_ref<void(Value row, Value column)> body) {
  if (isRowInner)
    loop(constant(0), columns, [&](Value column) { loop(constant(0), rows, [&](Value row) { body(row, column); }); });
  else
    loop(constant(0), rows, [&](Value row) { loop(constant(0), columns, [&](Value column) { body(row, column); }); });
}

void HostProducts::emit(StoreOp op) {
  if (op.getPattern())
    storeBlocks(op);
  else
    storeDense(op);
}

void HostProducts::storeDense(StoreOp op) {
  AccumulatorType type = op.getAccumulator().getType();
  Target target;
  target.matrix = matrixParameter(op.getResult(), op.getTransposed());
  target.firstRow = add(multiply(number(op.getBlockRow()), constant(op.getBlockRows())), number(op.getRow()));
  target.firstColumn = number(op.getColumn());
  target.firstOfMatrix = target.firstRow;
  target.firstOfColumn = target.firstColumn;
  unsigned rowDimension = op.getTransposed() ? 1 : 0;
  target.rows = inside(sizeOf(op.getResult(), rowDimension), target.firstRow, type.getRows());
  target.columns = inside(sizeOf(op.getResult(), 1 - rowDimension), target.firstColumn, type.getColumns());
  target.columnOfSum = constant(0);
  storeElements(op, target);
}

/// A block is written as a whole. Its elements beyond M or N get the epilogue of a sum of zero.
void HostProducts::storeBlocks(StoreOp op) {
  AccumulatorType type = op.getAccumulator().getType();
  int64_t columnsOfBlock = op.getPattern().getType().getBlockColumns();
  Value first = number(op.getFirstBlock()), column = number(op.getColumn());
  loop(first, number(op.getEndBlock()), [&](Value block) {
    Target target;
    target.matrix = {parameter(pointer, ParameterKind::pointer, argumentOf(op.getResult())), constant(columnsOfBlock),
                     op.getResult().getType().getElementType()};
    Value row = number(op.getRow()), blockRows = constant(op.getBlockRows());
    Value blockColumn = loadIndex(blockColumns(op.getPattern()), block);
    target.firstRow = add(multiply(number(op.getBlockRow()), blockRows), row);
    target.firstColumn = add(multiply(blockColumn, constant(columnsOfBlock)), column);
    target.firstOfMatrix = add(multiply(block, blockRows), row);
    target.firstOfColumn = column;
    target.rows = inside(blockRows, row, type.getRows());
    target.columns = inside(constant(columnsOfBlock), column, type.getColumns());
    target.insideRows = subtract(sizeOf(op.getPattern(), 0), target.firstRow);
    target.insideColumns = subtract(sizeOf(op.getPattern(), 1), target.firstColumn);
    target.columnOfSum = multiply(subtract(block, first), constant(*op.getBlockStride()));
    storeElements(op, target);
  });
}

Value HostProducts::sumOf(StoreOp op, const Target &target, Value row, Value column) {
  Sum sum = get<Sum>(op.getAccumulator());
  if (sum.isZero)
    return f32Constant(0);
  Value line = row, lane = add(target.columnOfSum, column);
  if (isTransposed)
    std::swap(line, lane);
  Value width = constant(widthOfLine(op.getAccumulator().getType()));
  Value element = load(f32, sum.buffer, add(multiply(line, width), lane));
  if (!target.insideRows)
    return element;
  auto isInside = [&](Value position, Value count) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, position, count);
  };
  Value isCounted = arith::AndIOp::create(b, isInside(row, target.insideRows), isInside(column, target.insideColumns));
  return arith::SelectOp::create(b, isCounted, element, f32Constant(0));
}

/// Applies the epilogue to every sum. Elements beyond M or N have the last element of a vector.
void HostProducts::storeElements(StoreOp op, const Target &target) {
  SmallVector<Extra> extras;
  for (auto [extra, broadcast] : llvm::zip_equal(op.getExtras(), op.getBroadcast().getAsRange<BroadcastAttr>()))
    extras.push_back(extraParameter(extra, broadcast.getValue(), target.matrix));
  forElements(target.matrix.transposed, target.rows, target.columns, [&](Value row, Value column) {
    ExtraPosition at{add(target.firstRow, row), add(target.firstColumn, column), add(target.firstOfMatrix, row),
                     add(target.firstOfColumn, column)};
    if (target.insideRows) {
      at.row = smaller(at.row, subtract(sizeOf(op.getPattern(), 0), constant(1)));
      at.column = smaller(at.column, subtract(sizeOf(op.getPattern(), 1), constant(1)));
    }
    Value sum = sumOf(op, target, row, column);
    SmallVector<Value> elements =
        llvm::map_to_vector(extras, [&](const Extra &extra) { return extraElement(extra, at); });
    Value value = fromF32(inlineEpilogue(b, op.getEpilogue(), sum, elements), target.matrix.elementType);
    LLVM::StoreOp::create(b, value, elementAddress(target.matrix, at.fullRow, at.fullColumn));
  });
}
