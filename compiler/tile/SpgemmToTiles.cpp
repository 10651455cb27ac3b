// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a spgemm in values form, for the host: for every block of the result its pairs, which are blocks of A
// and of B that the plan lists, then the store.

#include "BlockTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sparsec;

namespace {

class PairedBlockBuilder : public BlockTileBuilder {
public:
  PairedBlockBuilder(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule)
      : BlockTileBuilder(kernel, schedule), spgemm(spgemm) {}

private:
  static constexpr int64_t numbersOfPair = 3; // of an entry of SPARSEC_PLAN_PAIRS: blocks of A and B, place along K

  Type elementType() override { return spgemm.getLeft().getType().getElementType(); }
  void buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) override;
  void buildBlock(ImplicitLocOpBuilder &b, const ResultBlock &block);
  Value buildSum(ImplicitLocOpBuilder &b, const ResultBlock &block, const Part &part);
  Value buildPair(ImplicitLocOpBuilder &b, Value position, const Part &part, Value sum);

  SpgemmOp spgemm;
};

/// The blocks of a dense result are numbered row by row.
void PairedBlockBuilder::buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) {
  if (Value pattern = spgemm.getPattern())
    return ifBlockExists(b, mapping.lookup(pattern), tileRow, panel,
                         [&](const ResultBlock &block) { buildBlock(b, block); });
  int64_t columns = schedule.getTileN();
  Value width = SizeOp::create(b, mapping.lookup(spgemm.getRight()), /*dimension=*/1);
  Value blocksOfRow = divide(b, add(b, width, columns - 1), columns);
  Value number = named(add(b, arith::MulIOp::create(b, tileRow, blocksOfRow), panel), "number");
  buildBlock(b, {number, tileRow, panel, /*pattern=*/Value()});
}

void PairedBlockBuilder::buildBlock(ImplicitLocOpBuilder &b, const ResultBlock &block) {
  forParts(b, schedule.getTileN(), [&](const Part &part) {
    storePart(b, spgemm, buildSum(b, block, part), block, part, spgemm.getCLayout() == ResultLayout::nm);
  });
}

Value PairedBlockBuilder::buildSum(ImplicitLocOpBuilder &b, const ResultBlock &block, const Part &part) {
  Value first = named(ReadPlanOp::create(b, PlanSection::pair_starts, block.number), "first");
  Value end = named(ReadPlanOp::create(b, PlanSection::pair_starts, add(b, block.number, 1)), "end");
  auto type = AccumulatorType::get(b.getContext(), schedule.getTileM(), part.columns);
  return sumUp(b, type, first, end, /*step=*/1,
               [&](Value position, Value sum) { return buildPair(b, named(position, "pair"), part, sum); });
}

Value PairedBlockBuilder::buildPair(ImplicitLocOpBuilder &b, Value position, const Part &part, Value sum) {
  MLIRContext *context = b.getContext();
  Value entry = multiply(b, position, numbersOfPair), zero = i32(b, 0);
  auto number = [&](int64_t field, StringRef name) {
    return named(ReadPlanOp::create(b, PlanSection::pairs, add(b, entry, field)), name);
  };
  Value left = number(0, "left"), right = number(1, "right"), k = number(2, "k");
  int64_t depth = schedule.getTileK();
  Value a = LoadPartOp::create(b, BufferType::get(context, schedule.getTileM(), depth, elementType()),
                               mapping.lookup(spgemm.getLeft()), ValueRange{left, zero, zero}, k, Operand::a);
  Value x = LoadPartOp::create(b, BufferType::get(context, depth, part.columns, elementType()),
                               mapping.lookup(spgemm.getRight()), ValueRange{right, zero, part.column}, k, Operand::x);
  return ChainOp::create(b, a, x, sum, /*scales=*/Value(), /*x_scale=*/Value(), b.getDenseI64ArrayAttr({depth}));
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeSpgemmValues(KernelOp kernel, SpgemmOp spgemm, ScheduleAttr schedule) {
  return std::make_unique<PairedBlockBuilder>(kernel, spgemm, schedule);
}
