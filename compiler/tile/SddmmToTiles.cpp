// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of a sddmm in values form, for the host: for every stored block the steps of K, then the store.

#include "BlockTiles.h"

using namespace mlir;
using namespace sparsec;

namespace {

class SampledBlockBuilder : public BlockTileBuilder {
public:
  SampledBlockBuilder(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule)
      : BlockTileBuilder(kernel, schedule), sddmm(sddmm) {}

private:
  Type elementType() override { return sddmm.getLeft().getType().getElementType(); }
  void buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) override;
  Value buildSum(ImplicitLocOpBuilder &b, const ResultBlock &block, const Part &part);
  /// The part of an operand from an element of M or N and one of K on.
  Value load(ImplicitLocOpBuilder &b, Operand operand, Value outer, Value k, int64_t size);

  bool isLeftTransposed() { return sddmm.getALayout() == LeftLayout::km; }
  bool isRightTransposed() { return sddmm.getBLayout() == DenseLayout::nk; }

  SddmmOp sddmm;
};

void SampledBlockBuilder::buildTile(ImplicitLocOpBuilder &b, Value tileRow, Value panel) {
  ifBlockExists(b, mapping.lookup(sddmm.getPattern()), tileRow, panel, [&](const ResultBlock &block) {
    forParts(b, schedule.getTileN(), [&](const Part &part) {
      storePart(b, sddmm, buildSum(b, block, part), block, part, /*transposed=*/false);
    });
  });
}

Value SampledBlockBuilder::buildSum(ImplicitLocOpBuilder &b, const ResultBlock &block, const Part &part) {
  int64_t rows = schedule.getTileM(), depth = schedule.getTileK();
  Value row = multiply(b, block.row, rows);
  Value column = add(b, multiply(b, block.column, schedule.getTileN()), part.column);
  Value size = SizeOp::create(b, mapping.lookup(sddmm.getLeft()), 1 - sddmm.getRowDimension());
  return sumUp(b, AccumulatorType::get(b.getContext(), rows, part.columns), i32(b, 0), size, depth,
               [&](Value k, Value sum) -> Value {
                 Value left = load(b, Operand::a, row, named(k, "k"), rows);
                 Value right = load(b, Operand::x, column, k, part.columns);
                 return ChainOp::create(b, left, right, sum, /*scales=*/Value(), /*x_scale=*/Value(),
                                        b.getDenseI64ArrayAttr({depth}), isLeftTransposed(), isRightTransposed());
               });
}

Value SampledBlockBuilder::load(ImplicitLocOpBuilder &b, Operand operand, Value outer, Value k, int64_t size) {
  bool isDepthLast = operand == Operand::a ? !isLeftTransposed() : isRightTransposed();
  Values at{outer, k};
  int64_t rows = size, columns = schedule.getTileK();
  if (!isDepthLast) {
    std::swap(at[0], at[1]);
    std::swap(rows, columns);
  }
  Value source = mapping.lookup(operand == Operand::a ? sddmm.getLeft() : sddmm.getRight());
  return LoadPartOp::create(b, BufferType::get(b.getContext(), rows, columns, elementType()), source, at,
                            /*depth=*/Value(), operand);
}

} // namespace

std::unique_ptr<ProgramBuilder> sparsec::makeSddmmValues(KernelOp kernel, SddmmOp sddmm, ScheduleAttr schedule) {
  return std::make_unique<SampledBlockBuilder>(kernel, sddmm, schedule);
}
