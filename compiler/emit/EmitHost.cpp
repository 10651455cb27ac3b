// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-emit-host: a sparsec.kernel becomes one function of type sparsec_host_kernel_t (launch_info.h).
//
//   for tile in [tile_begin, tile_end)              one block row x 64 columns of the result
//     accumulator = 0                               block rows x 64 f32, on the stack
//     for block in the block row
//       panel = X[block column, 64 columns] as f32  block columns x 64 f32, on the stack: one form for both layouts
//       for row, for k: accumulator[row] += W[row, k] * panel[k]
//     for row, for column: Y[row, column] = round(epilogue(accumulator[row, column], extra operands))
//
// The multiplication works on vectors of 64 f32 that LLVM splits to the width of the processor; the other loops are
// plain, for LLVM to vectorise.

#include "InlineRegion.h"
#include "Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

namespace sparsec {
#define GEN_PASS_DEF_EMITHOSTPASS
#include "Passes.h.inc"
} // namespace sparsec

/// Columns of a tile: eight registers of eight f32, enough independent sums to hide the latency of a multiply-add.
static constexpr int64_t tileColumns = 64;
/// Bytes of a cache line, the alignment of the buffers on the stack.
static constexpr unsigned bufferAlignment = 64;

namespace {

/// A matrix in memory: element (i, j) is at data + i * stride + j, or at data + j * stride + i when transposed.
struct Matrix {
  Value data, stride;
  Type elementType;
  bool transposed;
};

/// One extra operand of the epilogue: `matrix` for full operands, `value` for an f32 by value.
struct Extra {
  Broadcast broadcast;
  Matrix matrix;
  Value value;
};

/// The part of the result that one tile covers.
struct Tile {
  Value blockRow, firstRow, firstColumn;
  Value rows, columns; // those inside the result
};

class HostEmitter {
public:
  HostEmitter(KernelOp kernel, SpmmOp spmm)
      : kernel(kernel), spmm(spmm), matrixType(spmm.getMatrix().getType()), b(kernel.getLoc(), kernel) {}

  LLVM::LLVMFuncOp emit();

private:
  using Body = llvm::function_ref<void(Value)>;

  // Parameters.
  int64_t argumentOf(Value operand) { return cast<BlockArgument>(operand).getArgNumber(); }
  Value parameter(Type type, ParameterKind kind, int64_t argument = 0, int64_t index = 0);
  Value sizeParameter(int64_t argument, int64_t dimension);
  Matrix matrixParameter(int64_t argument, Type elementType, bool transposed);
  Extra extraParameter(unsigned index);
  void emitParameters();

  // The computation.
  void emitTile(Value tile);
  void emitBlock(const Tile &tile, Value block);
  void emitUnpack(const Tile &tile, Value firstK, Value depth);
  void emitMultiply(const Tile &tile, Value block, Value depth);
  void emitEpilogue(const Tile &tile);
  Value extraElement(const Extra &extra, Value row, Value column);

  // Small words.
  Value constant(int64_t value);
  Value add(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value multiply(Value x, Value y) { return arith::MulIOp::create(b, x, y); }
  /// min(limit, size - first): how many of `limit` positions from `first` on are below `size`.
  Value inside(Value size, Value first, int64_t limit);
  void loop(Value begin, Value end, Body body);
  Value buffer(int64_t rows);
  Value address(Type elementType, Value base, Value index);
  Value load(Type type, Value base, Value index);
  Value loadIndex(Value base, Value index);
  Value elementAddress(const Matrix &matrix, Value row, Value column);
  Value bufferRow(Value buffer, Value row);
  Value loadRow(Value buffer, Value row);
  void storeRow(Value value, Value buffer, Value row);
  Value splat(Value scalar);
  Value toF32(Value value);
  Value fromF32(Value value, Type type);
  int64_t alignment();

  KernelOp kernel;
  SpmmOp spmm;
  BsrType matrixType;
  ImplicitLocOpBuilder b;
  Type i64 = b.getI64Type(), f32 = b.getF32Type();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  VectorType rowType = VectorType::get(tileColumns, b.getF32Type());

  Block *entry = nullptr;
  llvm::SmallDenseMap<int64_t, Value> constants;
  SmallVector<Attribute> recipe;
  Value slots;
  Value values, rowPtr, colIdx, rowCount, depth, columnCount, panels;
  Matrix dense, result;
  SmallVector<Extra> extras;
  Value accumulator, panel, zeroRow;
};

} // namespace

//===----------------------------------------------------------------------===//
// Small words
//===----------------------------------------------------------------------===//

/// Constants stand once, at the start of the function.
Value HostEmitter::constant(int64_t value) {
  Value &result = constants[value];
  if (!result) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(entry);
    result = arith::ConstantIntOp::create(b, value, 64);
  }
  return result;
}

Value HostEmitter::inside(Value size, Value first, int64_t limit) {
  return arith::MinSIOp::create(b, constant(limit), arith::SubIOp::create(b, size, first));
}

void HostEmitter::loop(Value begin, Value end, Body body) {
  auto loop = scf::ForOp::create(b, begin, end, constant(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

Value HostEmitter::buffer(int64_t rows) {
  return LLVM::AllocaOp::create(b, pointer, f32, constant(rows * tileColumns), bufferAlignment);
}

Value HostEmitter::address(Type elementType, Value base, Value index) {
  return LLVM::GEPOp::create(b, pointer, elementType, base, ArrayRef<LLVM::GEPArg>{index});
}

Value HostEmitter::load(Type type, Value base, Value index) {
  return LLVM::LoadOp::create(b, type, address(type, base, index));
}

/// An i32 of row_ptr or col_idx.
Value HostEmitter::loadIndex(Value base, Value index) {
  return arith::ExtSIOp::create(b, i64, load(b.getI32Type(), base, index));
}

Value HostEmitter::elementAddress(const Matrix &matrix, Value row, Value column) {
  if (matrix.transposed)
    std::swap(row, column);
  return address(matrix.elementType, matrix.data, add(multiply(row, matrix.stride), column));
}

Value HostEmitter::bufferRow(Value buffer, Value row) {
  return address(f32, buffer, multiply(row, constant(tileColumns)));
}

Value HostEmitter::loadRow(Value buffer, Value row) {
  return LLVM::LoadOp::create(b, rowType, bufferRow(buffer, row), bufferAlignment);
}

void HostEmitter::storeRow(Value value, Value buffer, Value row) {
  LLVM::StoreOp::create(b, value, bufferRow(buffer, row), bufferAlignment);
}

Value HostEmitter::splat(Value scalar) {
  Value first = LLVM::InsertElementOp::create(b, LLVM::PoisonOp::create(b, rowType), scalar, constant(0));
  return LLVM::ShuffleVectorOp::create(b, first, first, SmallVector<int32_t>(tileColumns, 0));
}

Value HostEmitter::toF32(Value value) {
  return value.getType() == f32 ? value : arith::ExtFOp::create(b, f32, value).getResult();
}

Value HostEmitter::fromF32(Value value, Type type) {
  return type == f32 ? value : arith::TruncFOp::create(b, type, value).getResult();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Adds a parameter to the recipe and loads it from its 8-byte slot.
Value HostEmitter::parameter(Type type, ParameterKind kind, int64_t argument, int64_t index) {
  Value slot = address(i64, slots, constant(recipe.size()));
  recipe.push_back(ParameterAttr::get(b.getContext(), kind, argument, index));
  return LLVM::LoadOp::create(b, type, slot);
}

Value HostEmitter::sizeParameter(int64_t argument, int64_t dimension) {
  return arith::ExtSIOp::create(b, i64, parameter(b.getI32Type(), ParameterKind::size, argument, dimension));
}

Matrix HostEmitter::matrixParameter(int64_t argument, Type elementType, bool transposed) {
  Value data = parameter(pointer, ParameterKind::pointer, argument);
  Value stride = parameter(i64, ParameterKind::stride, argument, 0);
  return {data, stride, elementType, transposed};
}

Extra HostEmitter::extraParameter(unsigned index) {
  Value operand = spmm.getExtras()[index];
  int64_t argument = argumentOf(operand);
  Extra extra{spmm.getBroadcastOf(index), {}, {}};
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (!type)
    extra.value = parameter(f32, ParameterKind::scalar, argument);
  else if (extra.broadcast == Broadcast::full)
    extra.matrix = matrixParameter(argument, type.getElementType(), result.transposed);
  else
    extra.matrix = {parameter(pointer, ParameterKind::pointer, argument), {}, type.getElementType(), false};
  return extra;
}

void HostEmitter::emitParameters() {
  int64_t matrixArgument = argumentOf(spmm.getMatrix());
  int64_t resultArgument = kernel.getArgumentTypes().size();
  values = parameter(pointer, ParameterKind::pointer, matrixArgument);
  rowPtr = parameter(pointer, ParameterKind::row_ptr, matrixArgument);
  colIdx = parameter(pointer, ParameterKind::col_idx, matrixArgument);
  rowCount = sizeParameter(matrixArgument, 0);
  depth = sizeParameter(matrixArgument, 1);
  dense =
      matrixParameter(argumentOf(spmm.getDense()), cast<RankedTensorType>(spmm.getDense().getType()).getElementType(),
                      spmm.getXLayout() == DenseLayout::nk);
  bool transposed = spmm.getYLayout() == ResultLayout::nm;
  result =
      matrixParameter(resultArgument, cast<RankedTensorType>(spmm.getResult().getType()).getElementType(), transposed);
  columnCount = sizeParameter(resultArgument, transposed ? 0 : 1);
  panels = arith::ExtSIOp::create(b, i64, parameter(b.getI32Type(), ParameterKind::tile_panels));
  for (unsigned index = 0; index < spmm.getExtras().size(); ++index)
    extras.push_back(extraParameter(index));
}

//===----------------------------------------------------------------------===//
// The computation
//===----------------------------------------------------------------------===//

/// The tile's block of X as f32. Columns beyond N keep what an earlier tile left there: they only reach columns of the
/// accumulator that are not stored.
void HostEmitter::emitUnpack(const Tile &tile, Value firstK, Value depth) {
  auto copy = [&](Value k, Value column) {
    Value source = elementAddress(dense, add(firstK, k), add(tile.firstColumn, column));
    Value element = toF32(LLVM::LoadOp::create(b, dense.elementType, source));
    LLVM::StoreOp::create(b, element, address(f32, bufferRow(panel, k), column));
  };
  // The contiguous dimension of X is the inner loop.
  if (dense.transposed)
    loop(constant(0), tile.columns, [&](Value column) { loop(constant(0), depth, [&](Value k) { copy(k, column); }); });
  else
    loop(constant(0), depth, [&](Value k) { loop(constant(0), tile.columns, [&](Value column) { copy(k, column); }); });
}

/// accumulator[row] += W[row, k] * panel[k], with the sum in registers over k.
void HostEmitter::emitMultiply(const Tile &tile, Value block, Value depth) {
  Value columns = constant(matrixType.getBlockColumns());
  Value firstRow = multiply(block, constant(matrixType.getBlockRows()));
  loop(constant(0), tile.rows, [&](Value row) {
    Value rowStart = multiply(add(firstRow, row), columns);
    auto chain = scf::ForOp::create(b, constant(0), depth, constant(1), loadRow(accumulator, row));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(chain.getBody());
      Value k = chain.getInductionVar();
      Value weight = toF32(load(matrixType.getElementType(), values, add(rowStart, k)));
      Value sum = LLVM::FMulAddOp::create(b, splat(weight), loadRow(panel, k), chain.getRegionIterArg(0));
      scf::YieldOp::create(b, sum);
    }
    storeRow(chain.getResult(0), accumulator, row);
  });
}

void HostEmitter::emitBlock(const Tile &tile, Value block) {
  Value firstK = multiply(loadIndex(colIdx, block), constant(matrixType.getBlockColumns()));
  Value blockDepth = inside(depth, firstK, matrixType.getBlockColumns());
  emitUnpack(tile, firstK, blockDepth);
  emitMultiply(tile, block, blockDepth);
}

Value HostEmitter::extraElement(const Extra &extra, Value row, Value column) {
  if (extra.value)
    return extra.value;
  Type type = extra.matrix.elementType;
  switch (extra.broadcast) {
  case Broadcast::per_row:
    return load(type, extra.matrix.data, row);
  case Broadcast::per_column:
    return load(type, extra.matrix.data, column);
  case Broadcast::scalar:
    return load(type, extra.matrix.data, constant(0));
  case Broadcast::full:
    return LLVM::LoadOp::create(b, type, elementAddress(extra.matrix, row, column));
  }
  llvm_unreachable("all broadcasts are handled");
}

void HostEmitter::emitEpilogue(const Tile &tile) {
  auto store = [&](Value tileRow, Value tileColumn) {
    Value row = add(tile.firstRow, tileRow), column = add(tile.firstColumn, tileColumn);
    Value sum = load(f32, bufferRow(accumulator, tileRow), tileColumn);
    SmallVector<Value> elements;
    for (const Extra &extra : extras)
      elements.push_back(extraElement(extra, row, column));
    Value value = fromF32(inlineEpilogue(b, spmm.getEpilogue(), sum, elements), result.elementType);
    LLVM::StoreOp::create(b, value, elementAddress(result, row, column));
  };
  // The contiguous dimension of the result is the inner loop.
  if (result.transposed)
    loop(constant(0), tile.columns,
         [&](Value column) { loop(constant(0), tile.rows, [&](Value row) { store(row, column); }); });
  else
    loop(constant(0), tile.rows,
         [&](Value row) { loop(constant(0), tile.columns, [&](Value column) { store(row, column); }); });
}

void HostEmitter::emitTile(Value index) {
  Tile tile;
  tile.blockRow = arith::DivSIOp::create(b, index, panels);
  tile.firstRow = multiply(tile.blockRow, constant(matrixType.getBlockRows()));
  Value panelIndex = arith::RemSIOp::create(b, index, panels);
  tile.firstColumn = multiply(panelIndex, constant(tileColumns));
  tile.rows = inside(rowCount, tile.firstRow, matrixType.getBlockRows());
  tile.columns = inside(columnCount, tile.firstColumn, tileColumns);

  loop(constant(0), tile.rows, [&](Value row) { storeRow(zeroRow, accumulator, row); });
  Value begin = loadIndex(rowPtr, tile.blockRow);
  Value end = loadIndex(rowPtr, add(tile.blockRow, constant(1)));
  loop(begin, end, [&](Value block) { emitBlock(tile, block); });
  emitEpilogue(tile);
}

/// The bytes that every pointer and row stride must be a multiple of: the smallest element.
int64_t HostEmitter::alignment() {
  unsigned bits = matrixType.getElementType().getIntOrFloatBitWidth();
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(), kernel.getResultTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      bits = std::min(bits, tensor.getElementTypeBitWidth());
  return bits / 8;
}

LLVM::LLVMFuncOp HostEmitter::emit() {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, i64, i64});
  // The kernel op keeps its name, so the function needs another one.
  auto function = LLVM::LLVMFuncOp::create(b, (kernel.getSymName() + ".host").str(), type);
  entry = function.addEntryBlock(b);
  b.setInsertionPointToEnd(entry);
  slots = function.getArgument(0);
  accumulator = buffer(matrixType.getBlockRows());
  panel = buffer(matrixType.getBlockColumns());
  emitParameters();
  zeroRow = LLVM::ZeroOp::create(b, rowType);
  loop(constant(0), constant(matrixType.getBlockColumns()), [&](Value row) { storeRow(zeroRow, panel, row); });
  loop(function.getArgument(1), function.getArgument(2), [&](Value tile) { emitTile(tile); });
  LLVM::ReturnOp::create(b, ValueRange{});

  function->setAttr("sparsec.kernel", FlatSymbolRefAttr::get(kernel.getSymNameAttr()));
  function->setAttr("sparsec.variant", b.getI64IntegerAttr(0));
  function->setAttr("sparsec.alignment", b.getI64IntegerAttr(alignment()));
  function->setAttr("sparsec.parameters", b.getArrayAttr(recipe));
  function->setAttr("sparsec.tile_m", b.getI64IntegerAttr(matrixType.getBlockRows()));
  function->setAttr("sparsec.tile_n", b.getI64IntegerAttr(tileColumns));
  function->setAttr("sparsec.tile_k", b.getI64IntegerAttr(matrixType.getBlockColumns()));
  return function;
}

/// The math ops that the processor has as instructions become LLVM's intrinsics; the host conversions make libm calls
/// of the others.
static void useInstructions(LLVM::LLVMFuncOp function) {
  IRRewriter rewriter(function.getContext());
  function.walk([&](Operation *op) {
    rewriter.setInsertionPoint(op);
    TypeSwitch<Operation *>(op)
        .Case([&](math::AbsFOp abs) { rewriter.replaceOpWithNewOp<LLVM::FAbsOp>(abs, abs.getOperand()); })
        .Case([&](math::SqrtOp sqrt) { rewriter.replaceOpWithNewOp<LLVM::SqrtOp>(sqrt, sqrt.getOperand()); })
        .Case([&](math::FloorOp floor) { rewriter.replaceOpWithNewOp<LLVM::FFloorOp>(floor, floor.getOperand()); })
        .Case([&](math::CeilOp ceil) { rewriter.replaceOpWithNewOp<LLVM::FCeilOp>(ceil, ceil.getOperand()); })
        .Case([&](math::FmaOp fma) {
          rewriter.replaceOpWithNewOp<LLVM::FMAOp>(fma, fma.getA(), fma.getB(), fma.getC());
        });
  });
}

namespace {

struct EmitHostPass : sparsec::impl::EmitHostPassBase<EmitHostPass> {
  using EmitHostPassBase::EmitHostPassBase;

  void runOnOperation() override {
    auto target = getOperation()->getAttrOfType<TargetAttr>("sparsec.target");
    if (!target || target.getChip() != "host")
      return;
    SymbolTable symbols(getOperation());
    for (KernelOp kernel : llvm::to_vector(getOperation().getOps<KernelOp>()))
      for (SpmmOp spmm : kernel.getBody().getOps<SpmmOp>()) {
        LLVM::LLVMFuncOp function = HostEmitter(kernel, spmm).emit();
        useInstructions(function);
        symbols.insert(function);
      }
  }
};

} // namespace
