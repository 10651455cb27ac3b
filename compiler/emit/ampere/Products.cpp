// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ampere/Products.h"

#include "Ptx.h"
#include "ampere/AdjacentRows.h"
#include "ampere/BufferLayout.h"

using namespace mlir;
using namespace sparsec;
using Values = KernelBuilder::Values;

static constexpr int64_t rowsOfInstruction = rowsOfMma, columnsOfInstruction = 8;
static constexpr int64_t registersOfA = 4, registersOfB = 2, sumsOfInstruction = 4;
/// ldmatrix brings the B operands of two instructions.
static constexpr int64_t columnsOfLoad = 2 * columnsOfInstruction;

/// The A operands of all rows, for the instruction with number k along K.
static Values loadRows(KernelBuilder &b, MmaOperand a, int64_t k) {
  ViewType view = a.view.getType();
  BufferLayout layout(b, a.ring, a.view.getIndex());
  bool isMajorK = view.getMajor() == Major::k;
  Value first = isMajorK ? a.row : a.column, depth = isMajorK ? b.i32(0) : a.row;
  Values registers;
  for (int64_t row = 0; row < (isMajorK ? view.getRows() : view.getColumns()); row += rowsOfInstruction)
    llvm::append_range(registers, layout.loadA(a.slot, a.lane, first, depth, row, k, view.getMajor()));
  return registers;
}

/// Loads fp8 as f16, 16 elements of K at a time. A register has four neighbours in K of one row, which become the
/// registers of that row for the two halves of K.
static Values loadAndWiden(KernelBuilder &b, MmaOperand a) {
  ViewType view = a.view.getType();
  BufferLayout layout(b, a.ring, a.view.getIndex());
  constexpr int64_t depthOfInstruction = 16;
  Values fragment;
  for (int64_t k = 0; k < view.getColumns() / depthOfInstruction; ++k)
    for (int64_t row = 0; row < view.getRows(); row += rowsOfInstruction) {
      Values loaded = layout.loadHalfOfA(a.slot, a.lane, a.row, row, k);
      Values upper = ptx::widenF8(b, view.getElementType(), loaded[0]);
      Values lower = ptx::widenF8(b, view.getElementType(), loaded[1]);
      fragment.append({upper[0], lower[0], upper[1], lower[1]});
    }
  return fragment;
}

Values sparsec::loadMmaFragment(KernelBuilder &b, MmaOperand a, Type element) {
  ViewType view = a.view.getType();
  if (view.getElementType() != element)
    return loadAndWiden(b, a);
  int64_t depth = view.getMajor() == Major::k ? view.getColumns() : view.getRows();
  Values fragment;
  for (int64_t k = 0; k < depth / ptx::matrixDepth(view.getElementType()); ++k)
    llvm::append_range(fragment, loadRows(b, a, k));
  return fragment;
}

/// The operands of an instruction, or of two with f16 for one with fp8. A register of fp8 has four neighbours in K of
/// one row: the first two go to the first instruction.
static SmallVector<Values, 2> operandsOfChain(KernelBuilder &b, Type element, ValueRange registers, bool isWidened) {
  if (!isWidened)
    return {Values(registers)};
  SmallVector<Values, 2> operands(2);
  for (Value four : registers)
    for (auto [operand, two] : llvm::zip(operands, ptx::widenF8(b, element, four)))
      operand.push_back(two);
  return operands;
}

/// The B operands of two instructions.
using LoadB = function_ref<Values(int64_t pair, int64_t k)>;

/// `operandsOfA(k)` gives the A operands of all rows. Each B operand is loaded once, for all of them.
static Values emitProduct(KernelBuilder &b, int64_t columns, ValueRange accumulators, int64_t depth, Type elementOfA,
                          Type elementOfX, bool isWidened, function_ref<Values(int64_t k)> operandsOfA,
                          LoadB operandsOfX) {
  int64_t groups = columns / columnsOfInstruction, slabs = accumulators.size() / sumsOfInstruction / groups;
  auto typeOf = [&](Type element) -> Type { return isWidened ? b.getF16Type() : element; };
  Values sums(accumulators);
  for (int64_t k = 0; k < depth / ptx::matrixDepth(elementOfA); ++k) {
    auto chainOfA = operandsOfChain(b, elementOfA, operandsOfA(k), isWidened);
    for (int64_t pair = 0; pair * columnsOfLoad < columns; ++pair) {
      auto chainOfX = operandsOfChain(b, elementOfX, operandsOfX(pair, k), isWidened);
      for (auto [a, loaded] : llvm::zip(chainOfA, chainOfX))
        for (int64_t slab = 0; slab < slabs; ++slab)
          for (int64_t half = 0; half < std::min<int64_t>(groups, 2); ++half) {
            int64_t group = slab * groups + 2 * pair + half;
            auto sum = MutableArrayRef<Value>(sums).slice(group * sumsOfInstruction, sumsOfInstruction);
            auto partOfA = ArrayRef(a).slice(slab * registersOfA, registersOfA);
            auto partOfX = ArrayRef(loaded).slice(half * registersOfB, registersOfB);
            Values result = ptx::mma(b, {typeOf(elementOfA), partOfA}, {typeOf(elementOfX), partOfX}, sum);
            llvm::copy(result, sum.begin());
          }
    }
  }
  return sums;
}

/// The same, with B in shared memory.
static Values emitProduct(KernelBuilder &b, MmaOperand x, ValueRange sums, int64_t depth, Type elementOfA,
                          bool isWidened, function_ref<Values(int64_t k)> operandsOfA) {
  ViewType view = x.view.getType();
  BufferLayout layout(b, x.ring, x.view.getIndex());
  bool isTransposed = view.getMajor() == Major::k;
  int64_t columns = isTransposed ? view.getRows() : view.getColumns();
  Value column = isTransposed ? x.row : x.column;
  auto product = [&](LoadB operandsOfX) {
    return emitProduct(b, columns, sums, depth, elementOfA, view.getElementType(), isWidened, operandsOfA, operandsOfX);
  };
  if (!x.elementsOfRow)
    return product([&](int64_t pair, int64_t k) {
      return layout.loadB(x.slot, x.lane, column, pair, k, view.getMajor(), columns < columnsOfLoad);
    });
  auto ofElements = [&] {
    return product(
        [&](int64_t pair, int64_t k) { return loadAdjacentB(b, x, pair, k, columns < columnsOfLoad ? 1 : 2); });
  };
  if (columns <= columnsOfWholeRows)
    return ofElements();
  auto ofVectors = [&] {
    return product([&](int64_t pair, int64_t k) { return loadVectorsOfAdjacentB(b, x, pair, k); });
  };
  return b.ifThenElse(hasVectorsOfColumns(b, x), llvm::to_vector(sums.getTypes()), ofVectors, ofElements);
}

Values sparsec::emitMmaProduct(KernelBuilder &b, MmaOperand a, MmaOperand x, ValueRange sums, int64_t depth,
                               bool isWidened) {
  Type element = a.view.getType().getElementType();
  return emitProduct(b, x, sums, depth, element, isWidened, [&](int64_t k) { return loadRows(b, a, k); });
}

Values sparsec::emitMmaProduct(KernelBuilder &b, ValueRange a, MmaOperand x, ValueRange sums, int64_t depth) {
  Type element = x.view.getType().getElementType();
  int64_t count = a.size() * ptx::matrixDepth(element) / depth;
  return emitProduct(b, x, sums, depth, element, /*isWidened=*/false,
                     [&](int64_t k) { return Values(a.slice(k * count, count)); });
}

/// 16 columns are a 16 x 16 part of the fragment.
Values sparsec::emitMmaProduct(KernelBuilder &b, FragmentType typeOfX, ValueRange a, ValueRange x, ValueRange sums,
                               int64_t depth) {
  constexpr int64_t registersOfLoad = 4;
  Type element = typeOfX.getElementType();
  int64_t steps = depth / ptx::matrixDepth(element), registersOfStep = a.size() / steps;
  return emitProduct(
      b, typeOfX.getRows(), sums, depth, element, element, /*isWidened=*/false,
      [&](int64_t k) { return Values(a.slice(k * registersOfStep, registersOfStep)); },
      [&](int64_t pair, int64_t k) { return Values(x.slice((pair * steps + k) * registersOfLoad, registersOfLoad)); });
}
