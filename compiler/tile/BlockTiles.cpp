// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

/// Columns of the buffers of a tile.
static constexpr int64_t mostColumns = 64;

void BlockTileBuilder::ifBlockExists(ImplicitLocOpBuilder &b, Value pattern, Value blockRow, Value panel,
                                     function_ref<void(const ResultBlock &)> body) {
  auto row = RowBlocksOp::create(b, pattern, blockRow);
  Value number = named(add(b, row.getFirst(), panel), "number");
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number, row.getEnd());
  carryIf(b, exists, /*carried=*/{}, [&] {
    body({number, blockRow, BlockColumnOp::create(b, pattern, number), pattern});
    return Values();
  });
}

/// A part has the columns of the buffers. What is left of the block is one more part.
void BlockTileBuilder::forParts(ImplicitLocOpBuilder &b, int64_t blockColumns, function_ref<void(const Part &)> body) {
  int64_t rest = blockColumns % mostColumns, whole = blockColumns - rest;
  if (whole == mostColumns) {
    body({i32(b, 0), mostColumns});
  } else if (whole > 0) {
    auto loop = scf::ForOp::create(b, i32(b, 0), i32(b, whole), i32(b, mostColumns));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body({named(loop.getInductionVar(), "column"), mostColumns});
  }
  if (rest > 0)
    body({i32(b, whole), rest});
}

Value BlockTileBuilder::sumUp(ImplicitLocOpBuilder &b, AccumulatorType type, Value begin, Value end, int64_t step,
                              function_ref<Value(Value index, Value sum)> body) {
  Value zero = ZeroOp::create(b, type);
  auto loop = scf::ForOp::create(b, begin, end, i32(b, step), ValueRange{zero});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b, body(loop.getInductionVar(), named(loop.getRegionIterArg(0), "sum")));
  return loop.getResult(0);
}

StoreOp BlockTileBuilder::makeStore(ImplicitLocOpBuilder &b, Value sum, const ResultBlock &block, const Part &part,
                                    ValueRange extras, ArrayAttr broadcast) {
  int64_t blockRows = schedule.getTileM(), blockColumns = schedule.getTileN();
  if (!block.pattern) {
    Value column = add(b, multiply(b, block.column, blockColumns), part.column);
    return StoreOp::create(b, sum, results[0], block.row, /*row=*/i32(b, 0), column, /*group=*/Value(),
                           /*group_row=*/Value(), /*group_column=*/Value(), extras, broadcast, blockRows,
                           /*transposed=*/false, /*staged=*/false, /*staging=*/DenseI64ArrayAttr());
  }
  return StoreOp::create(b, sum, results[0], block.row, /*row=*/i32(b, 0), part.column, /*group=*/Value(),
                         /*group_row=*/Value(), /*group_column=*/Value(), block.number, add(b, block.number, 1),
                         block.pattern, extras, broadcast, blockRows, b.getI64IntegerAttr(blockColumns),
                         /*transposed=*/false, /*swapped=*/false, /*lines=*/false, /*staged=*/false,
                         /*staging=*/DenseI64ArrayAttr());
}
