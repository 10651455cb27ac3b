// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "host/HostProducts.h"

#include "InlineRegion.h"

#include "sparsec/launch_info.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

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
// Loads
//===----------------------------------------------------------------------===//

/// Whether the chain that takes an operand has K as the last dimension of it.
static bool isDepthLast(Value loaded, Operand operand) {
  auto chain = cast<ChainOp>(*loaded.user_begin());
  return operand == Operand::a ? !chain.getATransposed() : chain.getXTransposed();
}

HostProducts::Part HostProducts::partOfTensor(Value tensor, ValueRange coordinates) {
  Matrix matrix = matrixParameter(tensor, /*transposed=*/false);
  Value start = add(multiply(coordinates[0], matrix.stride), coordinates[1]);
  return {matrix.data, start, matrix.elementType, {matrix.stride, constant(1)}};
}

/// The rows and columns of a block in memory.
static std::array<int64_t, 2> storedBlock(BsrType type) {
  std::array<int64_t, 2> block{type.getBlockRows(), type.getBlockColumns()};
  if (type.getTransposed())
    std::swap(block[0], block[1]);
  return block;
}

HostProducts::Part HostProducts::partOfBlock(TypedValue<BsrType> matrix, ValueRange coordinates) {
  auto [rows, columns] = storedBlock(matrix.getType());
  Value start = multiply(coordinates[0], constant(rows * columns));
  start = add(start, add(multiply(coordinates[1], constant(columns)), coordinates[2]));
  return {parameter(pointer, ParameterKind::pointer, argumentOf(matrix)),
          start,
          matrix.getType().getElementType(),
          {constant(columns), constant(1)}};
}

HostProducts::Factor HostProducts::factorOf(const Part &part, bool isDepthLast) {
  Factor factor;
  factor.data = part.data;
  factor.start = part.start;
  factor.elementType = part.elementType;
  factor.outerStride = part.strides[isDepthLast ? 0 : 1];
  factor.depthStride = part.strides[isDepthLast ? 1 : 0];
  factor.isDepthContiguous = isDepthLast;
  return factor;
}

/// The block of a step. It has all rows of the tile.
HostProducts::Factor HostProducts::loadLeft(LoadOp op) {
  auto matrix = cast<TypedValue<BsrType>>(op.getSource());
  BsrType type = matrix.getType();
  Step step = get<Step>(op.getBlock());
  SmallVector<Value> coordinates{step.block, constant(0),
                                 multiply(step.chunk, constant(program.getSchedule().getTileK()))};
  if (type.getTransposed())
    std::swap(coordinates[1], coordinates[2]);
  Factor factor = factorOf(partOfBlock(matrix, coordinates), isDepthLast(op.getResult(), Operand::a));
  Value firstRow = multiply(get<Tile>(op.getTile()).row, constant(type.getBlockRows()));
  factor.outer = inside(sizeOf(matrix, type.getStoredRowDimension()), firstRow, type.getBlockRows());
  factor.depth = step.depth;
  factor.block = step.block;
  return factor;
}

/// The rows of X that belong to the step, in the columns of the tile.
HostProducts::Factor HostProducts::loadRight(LoadOp op) {
  Step step = get<Step>(op.getBlock());
  int64_t columns = program.getSchedule().getTileN();
  Value firstColumn = multiply(get<Tile>(op.getTile()).panel, constant(columns));
  bool isTransposed = isDepthLast(op.getResult(), Operand::x);
  SmallVector<Value> coordinates{firstColumn, step.firstK};
  if (!isTransposed)
    std::swap(coordinates[0], coordinates[1]);
  Factor factor = factorOf(partOfTensor(op.getSource(), coordinates), isTransposed);
  factor.outer = inside(sizeOf(op.getSource(), isTransposed ? 0 : 1), firstColumn, columns);
  factor.depth = step.depth;
  factor.firstOuter = firstColumn;
  factor.firstDepth = step.firstK;
  factor.unpacked = unpack(op, factor, program.getSchedule().getTileK());
  return factor;
}

void HostProducts::emit(LoadOp op) {
  set(op.getResult(), op.getOperand() == Operand::a ? loadLeft(op) : loadRight(op));
}

void HostProducts::emit(LoadPartOp op) {
  auto at = llvm::map_to_vector(op.getCoordinates(), [&](Value coordinate) { return number(coordinate); });
  auto matrix = dyn_cast<TypedValue<BsrType>>(op.getSource());
  bool isLast = isDepthLast(op.getResult(), op.getOperand());
  Factor factor = factorOf(matrix ? partOfBlock(matrix, at) : partOfTensor(op.getSource(), at), isLast);

  std::array<int64_t, 2> buffer{op.getType().getRows(), op.getType().getColumns()};
  auto extent = [&](int dimension) {
    Value size = matrix ? constant(storedBlock(matrix.getType())[dimension]) : sizeOf(op.getSource(), dimension);
    return inside(size, at[matrix ? dimension + 1 : dimension], buffer[dimension]);
  };
  const int outer = isLast ? 0 : 1, depth = 1 - outer;
  factor.outer = extent(outer);
  factor.depth = extent(depth);
  if (op.getDepth()) {
    Value firstOfBlock = multiply(number(op.getDepth()), constant(storedBlock(matrix.getType())[depth]));
    factor.depth = smaller(factor.depth, subtract(sizeOf(matrix, depth), add(firstOfBlock, at[depth + 1])));
  }
  if (op.getOperand() == Operand::x)
    factor.unpacked = unpack(op, factor, buffer[depth]);
  set(op.getResult(), factor);
}

Value HostProducts::elementOf(const Factor &factor, Value outer, Value k) {
  Value place = add(add(factor.start, multiply(outer, factor.outerStride)), multiply(k, factor.depthStride));
  return toF32(load(factor.elementType, factor.data, place));
}

/// X as f32, in one form for both layouts. What is outside the matrix keeps what an earlier step left there: it only
/// reaches columns of sums that are not stored.
Value HostProducts::unpack(Operation *op, const Factor &factor, int64_t depth) {
  Value unpacked = zeroedBufferOf(op, depth);
  forElements(!factor.isDepthContiguous, factor.outer, factor.depth,
              [&](Value column, Value k) { store(elementOf(factor, column, k), bufferRow(unpacked, k), column); });
  return unpacked;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Zeros are written where a loop carries them. A chain that begins with them needs none in memory.
void HostProducts::emit(ZeroOp op) {
  auto type = cast<AccumulatorType>(op.getType());
  set(op.getResult(), Sum{bufferOf(op, type.getRows()), type.getRows(), /*isZero=*/true, /*factor=*/Value()});
}

/// The factor of each column, by which the chain multiplies the sums of a step: the scale of the block, the scale of
/// the column of X, or their product. Null without scales.
Value HostProducts::emitFactors(ChainOp op, const Factor &a, const Factor &x) {
  if (!op.getScales() && !op.getXScale())
    return {};
  Value factors = zeroedBufferOf(op, 1);
  Value scale = op.getScales()
                    ? load(f32, parameter(pointer, ParameterKind::pointer, argumentOf(op.getScales())), a.block)
                    : f32Constant(1);
  if (!op.getXScale()) {
    storeRow(splat(scale, rowType), factors, constant(0));
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

/// sum[row] += A[row, k] * X[k], with the sum in registers over k. Sums of f32 need no second level, so that only
/// scales need a sum of the step alone. The last chunk of a block may be shallower; the load says how deep.
void HostProducts::emit(ChainOp op) {
  Factor a = get<Factor>(op.getA()), x = get<Factor>(op.getX());
  Sum sum = get<Sum>(op.getAccumulator());
  Value depth = a.depth == x.depth ? a.depth : smaller(a.depth, x.depth);
  Value factors = emitFactors(op, a, x);
  loop(constant(0), a.outer, [&](Value row) {
    auto before = [&] { return sum.isZero ? zeroRow() : loadRow(sum.buffer, row); };
    Value total =
        multiplyAdd(
            constant(0), depth, factors ? zeroRow() : before(), [&](Value k, unsigned) { return elementOf(a, row, k); },
            [&](Value k) { return loadRow(x.unpacked, k); })
            .front();
    if (factors)
      total = LLVM::FMulAddOp::create(b, loadRow(factors, constant(0)), total, before());
    storeRow(total, sum.buffer, row);
  });
  sum.isZero = false;
  set(op.getResult(), sum);
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
  Value element = load(f32, bufferRow(sum.buffer, row), add(target.columnOfSum, column));
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
