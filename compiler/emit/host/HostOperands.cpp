// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The operands of products: where they are in memory, and how they become f32 on the stack.

#include "host/HostProducts.h"

using namespace mlir;
using namespace sparsec;

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
  return factor;
}

void HostProducts::emit(LoadOp op) {
  bool isLeft = op.getOperand() == Operand::a;
  ScheduleAttr schedule = program.getSchedule();
  Factor factor = isLeft ? loadLeft(op) : loadRight(op);
  factor.outerSize = isLeft ? schedule.getTileM() : schedule.getTileN();
  factor.depthSize = schedule.getTileK();
  unpack(op, factor, op.getOperand());
  set(op.getResult(), factor);
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
  factor.outerSize = buffer[outer];
  factor.depthSize = buffer[depth];
  unpack(op, factor, op.getOperand());
  set(op.getResult(), factor);
}

//===----------------------------------------------------------------------===//
// Operands as f32
//===----------------------------------------------------------------------===//

/// Places outside the matrix keep the values of an earlier step: they only reach sums that are not stored.
void HostProducts::unpack(Operation *op, Factor &factor, Operand operand) {
  factor.unpacked = zeroedBufferOf(op, factor.outerSize * factor.depthSize / vectorSize);
  if (!isInVectors(operand))
    copyLines(factor);
  else if (factor.isDepthContiguous)
    transposeLines(factor);
  else
    loop(constant(0), factor.depth, [&](Value k) {
      copyLine(factor, /*outer=*/constant(0), k,
               [&](Value group) { return vectorAddress(factor.unpacked, vectorNumber(factor, group, k)); });
    });
}

/// The elements in the order in which they are in memory.
void HostProducts::copyLines(const Factor &factor) {
  bool isDepthContiguous = factor.isDepthContiguous;
  int64_t width = isDepthContiguous ? factor.depthSize : factor.outerSize;
  loop(constant(0), isDepthContiguous ? factor.outer : factor.depth, [&](Value line) {
    Value zero = constant(0), first = multiply(line, constant(width / vectorSize));
    copyLine(factor, isDepthContiguous ? line : zero, isDepthContiguous ? zero : line,
             [&](Value vector) { return vectorAddress(factor.unpacked, add(first, vector)); });
  });
}

/// Lines of K become vectors that have one element of each line. Sixteen lines at a time are copied first.
void HostProducts::transposeLines(const Factor &factor) {
  int64_t depth = factor.depthSize;
  if (!lineBuffer)
    beforeTiles([&] {
      lineBuffer = buffer(depth);
      clear(lineBuffer, depth);
    });
  loop(constant(0), ceilDivide(factor.outer, vectorSize), [&](Value group) {
    Value first = multiply(group, constant(vectorSize));
    loop(constant(0), inside(factor.outer, first, vectorSize), [&](Value line) {
      Value firstVector = multiply(line, constant(depth / vectorSize));
      copyLine(factor, add(first, line), /*k=*/constant(0),
               [&](Value vector) { return vectorAddress(lineBuffer, add(firstVector, vector)); });
    });
    loop(constant(0), ceilDivide(factor.depth, registerSize), [&](Value square) {
      Value k = multiply(square, constant(registerSize));
      for (int64_t half : {0, 1})
        transposeSquare(address(f32, lineBuffer, add(constant(half * registerSize * depth), k)), depth,
                        address(f32, vectorAddress(factor.unpacked, vectorNumber(factor, group, k)),
                                constant(half * registerSize)));
    });
  });
}

/// Copies the line of elements that are neighbours in memory, from (outer, k) on. Most lines are whole: they have no
/// loop. Of others, whole vectors, then what is left.
void HostProducts::copyLine(const Factor &factor, Value outer, Value k, llvm::function_ref<Value(Value vector)> to) {
  auto narrow = VectorType::get(vectorSize, factor.elementType);
  unsigned alignment = factor.elementType.getIntOrFloatBitWidth() / 8;
  Value count = factor.isDepthContiguous ? factor.depth : factor.outer;
  int64_t size = factor.isDepthContiguous ? factor.depthSize : factor.outerSize;
  Value first = add(add(factor.start, multiply(outer, factor.outerStride)), multiply(k, factor.depthStride));
  Value from = address(factor.elementType, factor.data, first);
  auto copyVector = [&](Value vector) {
    Value place = address(factor.elementType, from, multiply(vector, constant(vectorSize)));
    Value elements = LLVM::LoadOp::create(b, narrow, place, alignment);
    LLVM::StoreOp::create(b, arith::ExtFOp::create(b, vectorType, elements), to(vector), vectorAlignment);
  };
  auto isWhole = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, count, constant(size)),
                                   /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(isWhole.thenBlock());
  for (int64_t vector = 0; vector < size / vectorSize; ++vector)
    copyVector(constant(vector));
  b.setInsertionPointToStart(isWhole.elseBlock());
  Value vectors = divide(count, vectorSize), done = multiply(vectors, constant(vectorSize));
  loop(constant(0), vectors, copyVector);
  Value rest = to(vectors);
  loop(done, count,
       [&](Value element) { store(toF32(load(factor.elementType, from, element)), rest, subtract(element, done)); });
}

/// Transposes a square of registers: pairs of rows are interleaved, then pairs of these, then halves of registers are
/// exchanged. Each shuffle is one instruction of AVX.
void HostProducts::transposeSquare(Value from, int64_t stride, Value to) {
  auto type = VectorType::get(registerSize, f32);
  constexpr unsigned alignment = registerSize * sizeof(float);
  auto shuffle = [&](Value x, Value y, ArrayRef<int32_t> lanes) -> Value {
    return LLVM::ShuffleVectorOp::create(b, x, y, lanes);
  };
  Values rows, pairs, fours;
  for (int64_t row = 0; row < registerSize; ++row)
    rows.push_back(LLVM::LoadOp::create(b, type, address(f32, from, constant(row * stride)), alignment));
  for (int64_t row = 0; row < registerSize; row += 2) {
    pairs.push_back(shuffle(rows[row], rows[row + 1], {0, 8, 1, 9, 4, 12, 5, 13}));
    pairs.push_back(shuffle(rows[row], rows[row + 1], {2, 10, 3, 11, 6, 14, 7, 15}));
  }
  for (int64_t half : {0, 4})
    for (int64_t i : {0, 1}) {
      fours.push_back(shuffle(pairs[half + i], pairs[half + i + 2], {0, 1, 8, 9, 4, 5, 12, 13}));
      fours.push_back(shuffle(pairs[half + i], pairs[half + i + 2], {2, 3, 10, 11, 6, 7, 14, 15}));
    }
  auto put = [&](int64_t column, Value value) {
    LLVM::StoreOp::create(b, value, address(f32, to, constant(column * vectorSize)), alignment);
  };
  for (int64_t column = 0; column < registerSize / 2; ++column) {
    put(column, shuffle(fours[column], fours[column + 4], {0, 1, 2, 3, 8, 9, 10, 11}));
    put(column + 4, shuffle(fours[column], fours[column + 4], {4, 5, 6, 7, 12, 13, 14, 15}));
  }
}

Value HostProducts::elementOf(const Factor &factor, Value outer, Value k) {
  Value place = factor.isDepthContiguous ? add(multiply(outer, constant(factor.depthSize)), k)
                                         : add(multiply(k, constant(factor.outerSize)), outer);
  return load(f32, factor.unpacked, place);
}
