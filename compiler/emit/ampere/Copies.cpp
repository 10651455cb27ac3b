// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two sources of copies: blocks of a matrix, and tensors.

#include "ampere/ThreadCopy.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

namespace {

/// Blocks that follow one another in the list, side by side in the buffer.
class BlockCopy : public ThreadCopy {
public:
  BlockCopy(ProgramEmitter &program, CopyOp op)
      : ThreadCopy(program, op), matrix(cast<BsrType>(op.getSource().getType())),
        blocks(std::max<int64_t>(columns() / matrix.getBlockColumns(), 1)), block(values.one(op.getCoordinates()[0])),
        firstRow(values.one(op.getCoordinates()[1])), firstColumn(values.one(op.getCoordinates()[2])),
        blockColumns(values.flat(op.getBlockColumns())) {}

private:
  Value isWhole() override;
  Values wholeSources(const Passes &passes) override;
  Source source(const Position &row, const Position &column) override;

  int64_t columns() { return ring.bufferColumns(op.getIndex()); }
  int64_t blockSize() { return matrix.getBlockRows() * matrix.getBlockColumns(); }
  bool mayExceedRows() { return matrix.getBlockRows() % rows() != 0; }
  bool mayExceedColumns() { return blocks == 1 && matrix.getBlockColumns() % columns() != 0; }
  /// K goes along the columns of a block, or along its rows.
  Value depth() { return argument(ParameterKind::size, op.getDepthRows() ? 0 : 1); }
  int64_t depthOfBlock() { return op.getDepthRows() ? matrix.getBlockRows() : matrix.getBlockColumns(); }

  BsrType matrix;
  int64_t blocks; // side by side
  Value block, firstRow, firstColumn;
  Values blockColumns;
};

/// Blocks of a transposed matrix, one below the other in a buffer of K x M. They may be anywhere in the list.
class TransposedBlockCopy : public ThreadCopy {
public:
  TransposedBlockCopy(ProgramEmitter &program, CopyOp op)
      : ThreadCopy(program, op), matrix(cast<BsrType>(op.getSource().getType())),
        blocks{values.one(op.getCoordinates()[0])}, firstRow(values.one(op.getCoordinates()[1])),
        firstDepth(values.one(op.getCoordinates()[2])), blockColumns(values.flat(op.getBlockColumns())) {
    llvm::append_range(blocks, values.flat(op.getParts()));
  }

private:
  Value isWhole() override;
  Values wholeSources(const Passes &passes) override;
  Source source(const Position &row, const Position &column) override;

  /// The rows and columns of a block in memory.
  int64_t storedRows() { return matrix.getBlockColumns(); }
  int64_t storedColumns() { return matrix.getBlockRows(); }
  int64_t columns() { return ring.bufferColumns(op.getIndex()); }
  bool mayExceedDepth() { return blocks.size() == 1 && storedRows() % rows() != 0; }
  bool mayExceedRows() { return storedColumns() % columns() != 0; }
  Value depth() { return argument(ParameterKind::size, matrix.getStoredColumnDimension()); }
  /// The number of an element among the values. `row` is one of M.
  Value elementAt(const InPart &at, Value row);

  BsrType matrix;
  Values blocks; // one below the other
  Value firstRow, firstDepth;
  Values blockColumns;
};

/// Rows of a tensor whose last dimension is contiguous. Its last two dimensions are those of the buffer, any others
/// select a matrix.
class TensorCopy : public ThreadCopy {
public:
  TensorCopy(ProgramEmitter &program, CopyOp op)
      : ThreadCopy(program, op), type(cast<RankedTensorType>(op.getSource().getType())), outer(type.getRank() - 2),
        coordinates(values.flat(op.getCoordinates())) {}

private:
  Value isWhole() override;
  Values wholeSources(const Passes &passes) override;
  bool hasContiguousRows() override { return hasWholeRows(); }
  Source source(const Position &row, const Position &column) override;
  bool staysInL1() override;

  /// The coordinates at which the parts of dimension 0 (rows) or 1 (columns) of the buffer begin.
  Values begins(int64_t dimension);
  int64_t extentOfPart(int64_t dimension);
  Value size(int64_t dimension) { return argument(ParameterKind::size, outer + dimension); }
  /// The row from which on there are zeros.
  Value endOfRows() { return op.getEnd() ? b.minimum(values.one(op.getEnd()), size(0)) : size(0); }
  Value rowStride() { return argument(ParameterKind::stride, outer); }
  /// A row of the buffer is a row of the tensor.
  bool hasWholeRows() { return type.getDimSize(outer + 1) == ring.bufferColumns(op.getIndex()); }
  Value matrixPointer();
  bool changesInLoop(Value coordinate);

  RankedTensorType type;
  int64_t outer; // dimensions that select a matrix
  Values coordinates;
};

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Value BlockCopy::isWhole() {
  Value whole;
  auto require = [&](Value condition) { whole = whole ? b.logicalAnd(whole, condition) : condition; };
  if (mayExceedRows())
    require(b.less(b.add(firstRow, rows() - 1), matrix.getBlockRows()));
  if (mayExceedColumns())
    require(b.less(b.add(firstColumn, columns() - 1), matrix.getBlockColumns()));
  if (!blockColumns.empty())
    require(b.less(maximum(blockColumns), b.divide(depth(), depthOfBlock())));
  return whole;
}

/// Rows are a constant apart.
Values BlockCopy::wholeSources(const Passes &passes) {
  int64_t columnsOfBlock = matrix.getBlockColumns();
  Value column = b.mul(passes.vector, vectorElements);
  if (blocks > 1)
    column = b.add(b.mul(b.divide(column, columnsOfBlock), blockSize()), b.modulo(column, columnsOfBlock));
  Value inTile = b.add(b.mul(b.add(firstRow, passes.row), columnsOfBlock), column);
  Value inStep = b.add(b.mul(b.extend(block), blockSize()), b.extend(firstColumn));
  Value tile = b.elementPointer(argument(ParameterKind::pointer), element, b.extend(inTile));
  Value first = b.elementPointer(tile, element, inStep);
  Values sources;
  for (int64_t i = 0; i < passes.count; ++i)
    sources.push_back(b.elementPointer(first, element, b.i64(i * passes.rows * columnsOfBlock)));
  return sources;
}

ThreadCopy::Source BlockCopy::source(const Position &row, const Position &column) {
  int64_t rowsOfBlock = matrix.getBlockRows(), columnsOfBlock = matrix.getBlockColumns();
  InPart at = locate(column, columnsOfBlock, blocks);
  Value rowInBlock = b.add(firstRow, b.add(row.lane, row.constant));
  Value columnInBlock = b.add(at.offset, firstColumn);
  Value valid = b.i32(vectorElements);
  // Elements beyond K do not count: zeros take the place of what may be a NaN.
  if (!blockColumns.empty()) {
    Value block = b.mul(b.select(blockColumns, at.part), depthOfBlock());
    if (op.getDepthRows())
      valid = b.select(b.less(b.add(block, rowInBlock), depth()), valid, b.i32(0));
    else
      valid = arith::MaxSIOp::create(b, b.minimum(b.sub(depth(), b.add(block, columnInBlock)), valid), b.i32(0));
  }
  if (mayExceedColumns())
    valid = b.select(b.less(columnInBlock, columnsOfBlock), valid, b.i32(0));
  if (mayExceedRows())
    valid = b.select(b.less(rowInBlock, rowsOfBlock), valid, b.i32(0));
  Value inValues = b.add(b.mul(rowInBlock, columnsOfBlock), columnInBlock);
  Value index = b.add(b.mul(b.extend(b.add(block, at.part)), blockSize()), b.extend(inValues));
  return {argument(ParameterKind::pointer), index, valid};
}

//===----------------------------------------------------------------------===//
// Transposed blocks
//===----------------------------------------------------------------------===//

Value TransposedBlockCopy::isWhole() {
  Value whole;
  auto require = [&](Value condition) { whole = whole ? b.logicalAnd(whole, condition) : condition; };
  if (mayExceedRows())
    require(b.less(b.add(firstRow, columns() - 1), storedColumns()));
  if (mayExceedDepth())
    require(b.less(b.add(firstDepth, rows() - 1), storedRows()));
  if (!blockColumns.empty())
    require(b.less(maximum(blockColumns), b.divide(depth(), storedRows())));
  return whole;
}

Value TransposedBlockCopy::elementAt(const InPart &at, Value row) {
  Value inBlock = b.add(b.mul(b.add(firstDepth, at.offset), storedColumns()), b.add(firstRow, row));
  Value block = b.mul(b.extend(b.select(blocks, at.part)), storedRows() * storedColumns());
  return b.add(block, b.extend(inBlock));
}

Values TransposedBlockCopy::wholeSources(const Passes &passes) {
  Value column = b.mul(passes.vector, vectorElements);
  Values sources;
  for (int64_t i = 0; i < passes.count; ++i) {
    InPart at = locate({passes.row, i * passes.rows, passes.rows}, storedRows(), blocks.size());
    sources.push_back(b.elementPointer(argument(ParameterKind::pointer), element, elementAt(at, column)));
  }
  return sources;
}

ThreadCopy::Source TransposedBlockCopy::source(const Position &row, const Position &column) {
  InPart at = locate(row, storedRows(), blocks.size());
  Value inTile = b.add(column.lane, column.constant), depthInBlock = b.add(firstDepth, at.offset);
  Value exists;
  auto require = [&](Value condition) { exists = exists ? b.logicalAnd(exists, condition) : condition; };
  // Elements beyond K do not count: zeros take the place of what may be a NaN.
  if (!blockColumns.empty())
    require(b.less(b.add(b.mul(b.select(blockColumns, at.part), storedRows()), depthInBlock), depth()));
  if (mayExceedDepth())
    require(b.less(depthInBlock, storedRows()));
  if (mayExceedRows())
    require(b.less(b.add(firstRow, inTile), storedColumns()));
  Value valid = b.i32(vectorElements);
  return {argument(ParameterKind::pointer), elementAt(at, inTile), exists ? b.select(exists, valid, b.i32(0)) : valid};
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

Values TensorCopy::begins(int64_t dimension) {
  Values all{coordinates[outer + dimension]};
  if (op.getPartDimension() == static_cast<uint64_t>(dimension))
    llvm::append_range(all, values.flat(op.getParts()));
  return all;
}

int64_t TensorCopy::extentOfPart(int64_t dimension) {
  int64_t extent = dimension == 0 ? rows() : ring.bufferColumns(op.getIndex());
  return extent / static_cast<int64_t>(begins(dimension).size());
}

/// The same slices of the tiles of a multiprocessor go through the same part of X together. That pays for runs of at
/// most a sector of L2, which are a request each, of fp8, whose rings leave room for L1.
bool TensorCopy::staysInL1() {
  constexpr int64_t sectorBytes = 32;
  const bool hasSlices = context.schedule.getSlices() > 1, isF8 = element.getIntOrFloatBitWidth() == 8;
  return hasSlices && isF8 && extentOfPart(1) * ring.elementBytes(op.getIndex()) <= sectorBytes;
}

Value TensorCopy::matrixPointer() {
  Value pointer = argument(ParameterKind::pointer);
  for (int64_t dimension = 0; dimension < outer; ++dimension)
    pointer = b.elementPointer(pointer, element,
                               b.mul(b.extend(coordinates[dimension]), argument(ParameterKind::stride, dimension)));
  return pointer;
}

Value TensorCopy::isWhole() {
  Value whole;
  for (int64_t dimension : {1, 0}) {
    if (dimension == 1 && hasWholeRows())
      continue;
    Values all = begins(dimension);
    Value isInside = b.less(b.add(maximum(all), extentOfPart(dimension) - 1), dimension == 0 ? endOfRows() : size(1));
    whole = whole ? b.logicalAnd(whole, isInside) : isInside;
  }
  return whole;
}

bool TensorCopy::changesInLoop(Value coordinate) {
  auto loop = op->getParentOfType<LoopLikeOpInterface>();
  return loop && loop->isAncestor(coordinate.getParentBlock()->getParentOp());
}

/// The values that a loop around the copy does not change are emitted first, so that they can move out of the loop.
Values TensorCopy::wholeSources(const Passes &passes) {
  int64_t rowsOfPart = extentOfPart(0), columnsOfPart = extentOfPart(1);
  Values rows = begins(0), columns = begins(1);
  Value column = b.mul(passes.vector, vectorElements), stride = rowStride();
  Value columnPart = b.divide(column, columnsOfPart);
  if (columns.size() > 1)
    column = b.modulo(column, columnsOfPart);
  Value row = b.modulo(passes.row, std::min(rowsOfPart, passes.rows));
  Value inner = b.elementPointer(matrixPointer(), element, b.extend(column));
  auto moveColumn = [&](Value pointer) {
    return b.elementPointer(pointer, element, b.extend(b.select(columns, columnPart)));
  };
  bool columnComesLast = changesInLoop(op.getCoordinates()[outer + 1]);
  Value tile = columnComesLast ? inner : moveColumn(inner);
  auto startOf = [&](Value part) {
    Value pointer = b.elementPointer(tile, element, b.mul(b.extend(b.add(b.select(rows, part), row)), stride));
    return columnComesLast ? moveColumn(pointer) : pointer;
  };

  Value betweenPasses = b.mul(stride, passes.rows);
  Values sources;
  for (int64_t i = 0; i < passes.count; ++i) {
    int64_t firstRow = i * passes.rows;
    if (passes.rows > rowsOfPart)
      sources.push_back(startOf(b.add(b.divide(passes.row, rowsOfPart), firstRow / rowsOfPart)));
    else if (firstRow % rowsOfPart == 0)
      sources.push_back(startOf(b.i32(firstRow / rowsOfPart)));
    else
      sources.push_back(b.elementPointer(sources.back(), element, betweenPasses));
  }
  return sources;
}

ThreadCopy::Source TensorCopy::source(const Position &row, const Position &column) {
  Values rows = begins(0), columns = begins(1);
  InPart inRows = locate(row, extentOfPart(0), rows.size()),
         inColumns = locate(column, extentOfPart(1), columns.size());
  Value atRow = b.add(b.select(rows, inRows.part), inRows.offset);
  Value atColumn = b.add(b.select(columns, inColumns.part), inColumns.offset);
  Value exists = b.less(atRow, endOfRows()), valid = b.i32(vectorElements);
  if (hasWholeRows()) {
    // A row that does not exist is not used, but its address must be valid all the same: that of the last one.
    Value index = b.mul(b.extend(b.minimum(atRow, b.sub(size(0), 1))), rowStride());
    return {b.elementPointer(matrixPointer(), element, b.extend(atColumn)), index, b.select(exists, valid, b.i32(0)),
            /*isReadable=*/true};
  }
  Value rest = arith::MaxSIOp::create(b, b.minimum(b.sub(size(1), atColumn), valid), b.i32(0));
  Value index = b.add(b.mul(b.extend(atRow), rowStride()), b.extend(atColumn));
  return {matrixPointer(), index, b.select(exists, rest, b.i32(0))};
}

} // namespace

std::unique_ptr<ThreadCopy> sparsec::makeThreadCopy(ProgramEmitter &program, CopyOp op) {
  if (auto matrix = dyn_cast<BsrType>(op.getSource().getType())) {
    if (matrix.getTransposed())
      return std::make_unique<TransposedBlockCopy>(program, op);
    return std::make_unique<BlockCopy>(program, op);
  }
  return std::make_unique<TensorCopy>(program, op);
}
