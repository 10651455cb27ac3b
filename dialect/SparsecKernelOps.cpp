// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parsing, printing and verification of the products, and what generated code needs of all ops. The labels in the
// comments are those of SPEC.md.

#include "ElementwiseRegion.h"
#include "OpHelpers.h"
#include "SparsecDialect.h"

#include "sparsec/launch_info.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// sparsec.spmm: syntax
//===----------------------------------------------------------------------===//

void SpmmOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"acc", "extra"});
}

/// keyword(value), where the parser has just read the keyword.
template <typename Attr, typename Symbolize>
static ParseResult parseChoice(OpAsmParser &parser, Attr &choice, StringRef choices, Symbolize symbolize) {
  StringRef value;
  if (parser.parseLParen())
    return failure();
  auto location = parser.getCurrentLocation();
  if (parser.parseKeyword(&value))
    return failure();
  auto symbol = symbolize(value);
  if (!symbol)
    return parser.emitError(location, "expects ") << choices << ", but got " << value;
  choice = Attr::get(parser.getContext(), *symbol);
  return parser.parseRParen();
}

/// keyword(value), where it is not the default.
template <typename Attr, typename Choice, typename Symbolize>
static ParseResult parseOptionalChoice(OpAsmParser &parser, StringRef keyword, Attr &choice, Choice otherwise,
                                       StringRef choices, Symbolize symbolize) {
  choice = Attr::get(parser.getContext(), otherwise);
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return parseChoice(parser, choice, choices, symbolize);
}

/// , %bias per_row, %residual full
static ParseResult parseExtras(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &extras,
                               ArrayAttr &broadcast) {
  SmallVector<Attribute> broadcasts;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    if (parser.parseOperand(extras.emplace_back()))
      return failure();
    auto location = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    auto symbol = symbolizeBroadcast(keyword);
    if (!symbol)
      return parser.emitError(location, "expects per_row, per_column, scalar or full after an extra operand, but got ")
             << keyword;
    broadcasts.push_back(BroadcastAttr::get(parser.getContext(), *symbol));
  }
  broadcast = parser.getBuilder().getArrayAttr(broadcasts);
  return success();
}

static void printExtras(OpAsmPrinter &printer, OperandRange extras, ArrayAttr broadcast) {
  for (auto [extra, attribute] : llvm::zip(extras, broadcast))
    printer << ", " << extra << " " << stringifyBroadcast(cast<BroadcastAttr>(attribute).getValue());
}

/// , %bias per_row, %residual full x_layout(nk) y_layout(nm) accumulation(fast)
static ParseResult parseSpmmInputs(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &extras,
                                   ArrayAttr &broadcast, DenseLayoutAttr &xLayout, ResultLayoutAttr &yLayout,
                                   AccumulationAttr &accumulation) {
  return failure(parseExtras(parser, extras, broadcast) ||
                 parseOptionalChoice(parser, "x_layout", xLayout, DenseLayout::kn, "kn or nk",
                                     [](StringRef s) { return symbolizeDenseLayout(s); }) ||
                 parseOptionalChoice(parser, "y_layout", yLayout, ResultLayout::mn, "mn or nm",
                                     [](StringRef s) { return symbolizeResultLayout(s); }) ||
                 parseOptionalChoice(parser, "accumulation", accumulation, Accumulation::two_level, "two_level or fast",
                                     [](StringRef s) { return symbolizeAccumulation(s); }));
}

static void printSpmmInputs(OpAsmPrinter &printer, Operation *, OperandRange extras, ArrayAttr broadcast,
                            DenseLayoutAttr xLayout, ResultLayoutAttr yLayout, AccumulationAttr accumulation) {
  printExtras(printer, extras, broadcast);
  if (xLayout.getValue() != DenseLayout::kn)
    printer << " x_layout(" << stringifyDenseLayout(xLayout.getValue()) << ")";
  if (yLayout.getValue() != ResultLayout::mn)
    printer << " y_layout(" << stringifyResultLayout(yLayout.getValue()) << ")";
  if (accumulation.getValue() != Accumulation::two_level)
    printer << " accumulation(" << stringifyAccumulation(accumulation.getValue()) << ")";
}

/// %b, %scale scalar, %old full a_layout(km) b_layout(kn)
static ParseResult parseSddmmInputs(OpAsmParser &parser, OpAsmParser::UnresolvedOperand &right,
                                    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &extras, ArrayAttr &broadcast,
                                    LeftLayoutAttr &aLayout, DenseLayoutAttr &bLayout) {
  return failure(parser.parseOperand(right) || parseExtras(parser, extras, broadcast) ||
                 parseOptionalChoice(parser, "a_layout", aLayout, LeftLayout::mk, "mk or km",
                                     [](StringRef s) { return symbolizeLeftLayout(s); }) ||
                 parseOptionalChoice(parser, "b_layout", bLayout, DenseLayout::nk, "kn or nk",
                                     [](StringRef s) { return symbolizeDenseLayout(s); }));
}

static void printSddmmInputs(OpAsmPrinter &printer, Operation *, Value right, OperandRange extras, ArrayAttr broadcast,
                             LeftLayoutAttr aLayout, DenseLayoutAttr bLayout) {
  printer << right;
  printExtras(printer, extras, broadcast);
  if (aLayout.getValue() != LeftLayout::mk)
    printer << " a_layout(" << stringifyLeftLayout(aLayout.getValue()) << ")";
  if (bLayout.getValue() != DenseLayout::nk)
    printer << " b_layout(" << stringifyDenseLayout(bLayout.getValue()) << ")";
}

/// , %bias per_column c_layout(nm)
static ParseResult parseSpgemmInputs(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::UnresolvedOperand> &extras,
                                     ArrayAttr &broadcast, ResultLayoutAttr &cLayout) {
  return failure(parseExtras(parser, extras, broadcast) ||
                 parseOptionalChoice(parser, "c_layout", cLayout, ResultLayout::mn, "mn or nm",
                                     [](StringRef s) { return symbolizeResultLayout(s); }));
}

static void printSpgemmInputs(OpAsmPrinter &printer, Operation *, OperandRange extras, ArrayAttr broadcast,
                              ResultLayoutAttr cLayout) {
  printExtras(printer, extras, broadcast);
  if (cLayout.getValue() != ResultLayout::mn)
    printer << " c_layout(" << stringifyResultLayout(cLayout.getValue()) << ")";
}

/// (%acc: f32, %b: f32) { ... }
static ParseResult parseElementRegion(OpAsmParser &parser, Region &region) {
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
                 parseTerminatedRegion<YieldOp>(parser, region, arguments));
}

static void printElementRegion(OpAsmPrinter &printer, Operation *, Region &region) {
  printer << "(";
  llvm::interleaveComma(region.getArguments(), printer, [&](BlockArgument a) { printer.printRegionArgument(a); });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Epilogues and their operands
//===----------------------------------------------------------------------===//

namespace {
/// M, N and the shape of the result as far as the types of an op say; kDynamic where they do not.
struct ResultSizes {
  int64_t m, n;
  SmallVector<int64_t> result;
};
} // namespace

/// The shape that an extra operand must have.
static SmallVector<int64_t> getExtraShape(Broadcast broadcast, const ResultSizes &sizes) {
  switch (broadcast) {
  case Broadcast::per_row:
    return {sizes.m};
  case Broadcast::per_column:
    return {sizes.n};
  case Broadcast::scalar:
    return {};
  case Broadcast::full:
    return sizes.result;
  }
  llvm_unreachable("unknown broadcast");
}

template <typename Op> static LogicalResult verifyExtra(Op op, unsigned index, const ResultSizes &sizes) {
  Type type = op.getExtras()[index].getType();
  Broadcast broadcast = op.getBroadcastOf(index);
  if (broadcast == Broadcast::scalar && type.isF32())
    return success();
  auto tensor = dyn_cast<RankedTensorType>(type);
  // spmm_c13, sddmm_c13, spgemm_c13
  Type element = tensor ? tensor.getElementType() : Type();
  if (!element || (!element.isF32() && !element.isF16() && !element.isBF16()))
    return op.emitOpError("expects extra operand ")
           << index << " to be " << (broadcast == Broadcast::scalar ? "f32 or " : "")
           << "a ranked tensor of f32, f16 or bf16, but got " << type;
  // per_row: spmm_c9, sddmm_c9, spgemm_c9; per_column: spmm_c10, sddmm_c10, spgemm_c10; scalar: spmm_c11, sddmm_c11,
  // spgemm_c11; full: spmm_c12, sddmm_c12, spgemm_c12
  SmallVector<int64_t> expected = getExtraShape(broadcast, sizes);
  bool agrees = tensor.getRank() == int64_t(expected.size()) &&
                llvm::all_of(llvm::zip_equal(tensor.getShape(), expected),
                             [](auto pair) { return agree(std::get<0>(pair), std::get<1>(pair)).has_value(); });
  if (!agrees)
    return op.emitOpError("expects extra operand ") << index << ", " << stringifyBroadcast(broadcast) << ", to be "
                                                    << (broadcast == Broadcast::scalar ? "f32 or " : "")
                                                    << RankedTensorType::get(expected, element) << ", but got " << type;
  return success();
}

/// More would not leave an epilogue the registers that it needs on a GPU.
static constexpr size_t maximalExtras = 16;
// A full one takes two parameters of a machine kernel, its pointer and its stride; everything else takes at most 19.
static_assert(2 * maximalExtras + 19 <= SPARSEC_MAX_PARAMETERS);

template <typename Op> static LogicalResult verifyExtras(Op op, const ResultSizes &sizes) {
  // spmm_c14, sddmm_c14, spgemm_c14
  if (op.getBroadcast().size() != op.getExtras().size())
    return op.emitOpError("expects one broadcast per extra operand, but got ")
           << op.getBroadcast().size() << " for " << op.getExtras().size();
  // spmm_c21, sddmm_c21, spgemm_c21
  if (op.getExtras().size() > maximalExtras)
    return op.emitOpError("expects at most ") << maximalExtras << " extra operands, but got " << op.getExtras().size();
  for (unsigned index = 0; index < op.getExtras().size(); ++index)
    if (failed(verifyExtra(op, index, sizes)))
      return failure();
  // spmm_c15, sddmm_c15, spgemm_c15
  if (!op.hasEpilogue() && !op.getExtras().empty())
    return op.emitOpError("expects an epilogue region where there are extra operands");
  return success();
}

template <typename Op> static LogicalResult verifyEpilogue(Op op) {
  if (!op.hasEpilogue())
    return success();
  Type f32 = Float32Type::get(op.getContext());
  SmallVector<Type> argumentTypes{f32};
  for (Type type : op.getExtras().getTypes())
    argumentTypes.push_back(getElementTypeOrSelf(type));
  // spmm_c16, spmm_c17, sddmm_c16, sddmm_c17, spgemm_c16, spgemm_c17
  if (failed(verifyRegionSignature(op, op.getEpilogue(), "epilogue", argumentTypes, f32)))
    return failure();
  // spmm_c18, spmm_c20, sddmm_c18, sddmm_c20, spgemm_c18, spgemm_c20; spmm_c19, sddmm_c19 and spgemm_c19 are the trait
  // IsolatedFromAbove
  return verifyRegionOps(op.getEpilogue(), "an epilogue", RegionOps::Floats);
}

//===----------------------------------------------------------------------===//
// sparsec.spmm: verification
//===----------------------------------------------------------------------===//

/// `name` is that of an operand in the text of the op.
static LogicalResult verifyHasPartialSums(SpmmOp op, StringRef name) {
  BsrType matrix = op.getMatrix().getType();
  if (matrix.hasF8() && op.getAccumulation() == Accumulation::two_level)
    return success();
  return op.emitOpError("expects ") << name
                                    << " with W of f8E4M3FN or f8E5M2 and accumulation(two_level) only, but got "
                                    << matrix.getElementType() << " and "
                                    << stringifyAccumulation(op.getAccumulation());
}

static LogicalResult verifyScales(SpmmOp op) {
  if (!op.getScales())
    return success();
  // spmm_c23
  if (failed(verifyHasPartialSums(op, "scales")))
    return failure();
  auto scales = cast<RankedTensorType>(op.getScales().getType());
  if (scales.getRank() != 1 || !scales.getElementType().isF32())
    return op.emitOpError("expects scales to be a tensor of f32 of rank 1, one for each stored block, but got ")
           << scales;
  return success();
}

/// N and K are those of X, as far as the types of the op say.
static LogicalResult verifyXScale(SpmmOp op, int64_t n, int64_t k) {
  if (!op.getXScale())
    return success();
  // spmm_c24
  if (failed(verifyHasPartialSums(op, "x_scale")))
    return failure();
  constexpr int64_t depth = SPARSEC_X_SCALE_DEPTH;
  auto scale = cast<RankedTensorType>(op.getXScale().getType());
  int64_t parts = ShapedType::isDynamic(k) ? k : llvm::divideCeil(k, depth);
  bool agrees = scale.getRank() == 2 && scale.getElementType().isF32() && agree(scale.getDimSize(0), n) &&
                agree(scale.getDimSize(1), parts);
  if (!agrees)
    return op.emitOpError("expects x_scale to be ")
           << RankedTensorType::get({n, parts}, Float32Type::get(op.getContext())) << ", N x ceil(K / " << depth
           << "), but got " << scale;
  // spmm_c25
  int64_t columns = op.getMatrix().getType().getBlockColumns();
  if (depth % columns != 0 && columns % depth != 0)
    return op.emitOpError("expects blocks whose columns divide ")
           << depth << " or are a multiple of it where there is an x_scale, but got " << columns;
  return success();
}

static LogicalResult verifyElementTypes(SpmmOp op) {
  Type element = op.getMatrix().getType().getElementType();
  Type denseElement = op.getDense().getType().getElementType();
  Type resultElement = op.getResult().getType().getElementType();
  bool isF8 = op.getMatrix().getType().hasF8();
  // spmm_c1
  if (isF8 && !isa<Float8E4M3FNType, Float8E5M2Type>(denseElement))
    return op.emitOpError("expects X to be of f8E4M3FN or f8E5M2, as W is, but got ") << denseElement;
  if (!isF8 && denseElement != element)
    return op.emitOpError("expects X to have the element type of W, ") << element << ", but got " << denseElement;
  // spmm_c22
  if (!isF8 && op.getAccumulation() == Accumulation::fast)
    return op.emitOpError("expects accumulation(fast) with W of f8E4M3FN or f8E5M2 only, but got ") << element;
  if (failed(verifyScales(op)))
    return failure();
  // spmm_c3
  if (!resultElement.isBF16() && !resultElement.isF16() && !resultElement.isF32())
    return op.emitOpError("expects Y to be of bf16, f16 or f32, but got ") << resultElement;
  return success();
}

static FailureOr<ResultSizes> verifySizes(SpmmOp op) {
  RankedTensorType x = op.getDense().getType(), y = op.getResult().getType();
  // spmm_c4
  if (x.getRank() != 2)
    return op.emitOpError("expects X to have rank 2, but got ") << x;
  // spmm_c5
  if (y.getRank() != 2)
    return op.emitOpError("expects Y to have rank 2, but got ") << y;
  bool xTransposed = op.getXLayout() == DenseLayout::nk, yTransposed = op.getYLayout() == ResultLayout::nm;

  // spmm_c6
  int64_t matrixK = op.getMatrix().getType().getColumns(), denseK = x.getDimSize(xTransposed ? 1 : 0);
  std::optional<int64_t> k = agree(matrixK, denseK);
  if (!k)
    return op.emitOpError("expects X to have K = ") << matrixK << ", the columns of W, but got " << denseK;
  // spmm_c7
  int64_t denseN = x.getDimSize(xTransposed ? 0 : 1), resultN = y.getDimSize(yTransposed ? 0 : 1);
  std::optional<int64_t> n = agree(denseN, resultN);
  if (!n)
    return op.emitOpError("expects Y to have N = ") << denseN << ", as X has, but got " << resultN;
  // spmm_c8
  int64_t matrixM = op.getMatrix().getType().getRows(), resultM = y.getDimSize(yTransposed ? 1 : 0);
  std::optional<int64_t> m = agree(matrixM, resultM);
  if (!m)
    return op.emitOpError("expects Y to have M = ") << matrixM << ", the rows of W, but got " << resultM;
  if (failed(verifyXScale(op, *n, *k)))
    return failure();
  return ResultSizes{*m, *n, yTransposed ? SmallVector<int64_t>{*n, *m} : SmallVector<int64_t>{*m, *n}};
}

LogicalResult SpmmOp::verify() {
  if (failed(verifyElementTypes(*this)))
    return failure();
  FailureOr<ResultSizes> sizes = verifySizes(*this);
  return failed(sizes) ? failure() : verifyExtras(*this, *sizes);
}

LogicalResult SpmmOp::verifyRegions() { return verifyEpilogue(*this); }

bool SpmmOp::hasTwoLevels() { return getMatrix().getType().hasF8() && getAccumulation() == Accumulation::two_level; }

//===----------------------------------------------------------------------===//
// sparsec.sddmm
//===----------------------------------------------------------------------===//

void SddmmOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"acc", "extra"});
}

static LogicalResult verifyElementTypes(SddmmOp op) {
  Type left = op.getLeft().getType().getElementType(), right = op.getRight().getType().getElementType();
  Type result = op.getResult().getType().getElementType();
  // sddmm_c1
  if (right != left)
    return op.emitOpError("expects B to have the element type of A, ") << left << ", but got " << right;
  // sddmm_c2
  if (!left.isBF16() && !left.isF16())
    return op.emitOpError("expects A to be of bf16 or f16, but got ") << left << ", which has no lowering yet";
  // sddmm_c3
  if (!result.isBF16() && !result.isF16() && !result.isF32())
    return op.emitOpError("expects S to be of bf16, f16 or f32, but got ") << result;
  // sddmm_c22
  if (op.getPattern().getType().getTransposed())
    return op.emitOpError("expects a pattern that is not transposed, but got ") << op.getPattern().getType();
  return success();
}

static FailureOr<ResultSizes> verifySizes(SddmmOp op) {
  BsrType pattern = op.getPattern().getType();
  RankedTensorType a = op.getLeft().getType(), b = op.getRight().getType(), s = op.getResult().getType();
  // sddmm_c4
  if (a.getRank() != 2)
    return op.emitOpError("expects A to have rank 2, but got ") << a;
  if (b.getRank() != 2)
    return op.emitOpError("expects B to have rank 2, but got ") << b;
  // sddmm_c5
  if (s.getRank() != 3 || s.getDimSize(1) != pattern.getBlockRows() || s.getDimSize(2) != pattern.getBlockColumns())
    return op.emitOpError("expects S to be blocks x ")
           << pattern.getBlockRows() << " x " << pattern.getBlockColumns() << ", but got " << s;
  // sddmm_c6
  unsigned rowDimension = op.getRowDimension(), columnDimension = op.getColumnDimension();
  int64_t leftK = a.getDimSize(1 - rowDimension), rightK = b.getDimSize(1 - columnDimension);
  if (!agree(leftK, rightK))
    return op.emitOpError("expects B to have K = ") << leftK << ", as A has, but got " << rightK;
  // sddmm_c7
  std::optional<int64_t> n = agree(pattern.getColumns(), b.getDimSize(columnDimension));
  if (!n)
    return op.emitOpError("expects B to have N = ")
           << pattern.getColumns() << ", the columns of the pattern, but got " << b.getDimSize(columnDimension);
  // sddmm_c8
  std::optional<int64_t> m = agree(pattern.getRows(), a.getDimSize(rowDimension));
  if (!m)
    return op.emitOpError("expects A to have M = ")
           << pattern.getRows() << ", the rows of the pattern, but got " << a.getDimSize(rowDimension);
  return ResultSizes{*m, *n, llvm::to_vector(s.getShape())};
}

LogicalResult SddmmOp::verify() {
  if (failed(verifyElementTypes(*this)))
    return failure();
  FailureOr<ResultSizes> sizes = verifySizes(*this);
  return failed(sizes) ? failure() : verifyExtras(*this, *sizes);
}

LogicalResult SddmmOp::verifyRegions() { return verifyEpilogue(*this); }

//===----------------------------------------------------------------------===//
// sparsec.spgemm
//===----------------------------------------------------------------------===//

void SpgemmOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(region, setName, {"acc", "extra"});
}

static LogicalResult verifyTypes(SpgemmOp op) {
  BsrType left = op.getLeft().getType(), right = op.getRight().getType();
  Type element = left.getElementType(), result = op.getResult().getType().getElementType();
  // spgemm_c1
  if (right.getElementType() != element)
    return op.emitOpError("expects B to have the element type of A, ")
           << element << ", but got " << right.getElementType();
  // spgemm_c2
  if (!element.isBF16() && !element.isF16())
    return op.emitOpError("expects A to be of bf16 or f16, but got ") << element << ", which has no lowering yet";
  // spgemm_c3
  if (!result.isBF16() && !result.isF16() && !result.isF32())
    return op.emitOpError("expects C to be of bf16, f16 or f32, but got ") << result;
  // spgemm_c4
  for (Value operand : {op.getLeft(), op.getRight(), op.getPattern()})
    if (operand && cast<BsrType>(operand.getType()).getTransposed())
      return op.emitOpError("expects operands that are not transposed, but got ") << operand.getType();
  // spgemm_c5
  if (right.getBlockRows() != left.getBlockColumns())
    return op.emitOpError("expects B to have blocks of ")
           << left.getBlockColumns() << " rows, the columns of A's blocks, but got " << right.getBlockRows();
  return success();
}

/// The result's shape without a pattern.
static FailureOr<ResultSizes> verifyDenseResult(SpgemmOp op) {
  RankedTensorType c = op.getResult().getType();
  // spgemm_c7
  if (c.getRank() != 2)
    return op.emitOpError("expects C to have rank 2, but got ") << c;
  bool isTransposed = op.getCLayout() == ResultLayout::nm;
  // spgemm_c8
  int64_t rows = op.getLeft().getType().getRows(), resultRows = c.getDimSize(isTransposed ? 1 : 0);
  std::optional<int64_t> m = agree(rows, resultRows);
  if (!m)
    return op.emitOpError("expects C to have M = ") << rows << ", the rows of A, but got " << resultRows;
  int64_t columns = op.getRight().getType().getColumns(), resultColumns = c.getDimSize(isTransposed ? 0 : 1);
  std::optional<int64_t> n = agree(columns, resultColumns);
  if (!n)
    return op.emitOpError("expects C to have N = ") << columns << ", the columns of B, but got " << resultColumns;
  return ResultSizes{*m, *n, isTransposed ? SmallVector<int64_t>{*n, *m} : SmallVector<int64_t>{*m, *n}};
}

/// And with one.
static FailureOr<ResultSizes> verifySampledResult(SpgemmOp op) {
  BsrType left = op.getLeft().getType(), right = op.getRight().getType(), pattern = op.getPattern().getType();
  RankedTensorType c = op.getResult().getType();
  int64_t r = left.getBlockRows(), t = right.getBlockColumns();
  // spgemm_c22
  if (op.getCLayout() != ResultLayout::mn)
    return op.emitOpError("expects no c_layout with a pattern, but got ") << stringifyResultLayout(op.getCLayout());
  if (pattern.getBlockRows() != r || pattern.getBlockColumns() != t)
    return op.emitOpError("expects a pattern with blocks of ")
           << r << " x " << t << ", but got " << pattern.getBlockRows() << " x " << pattern.getBlockColumns();
  // spgemm_c7
  if (c.getRank() != 3 || c.getDimSize(1) != r || c.getDimSize(2) != t)
    return op.emitOpError("expects C to be blocks x ") << r << " x " << t << ", but got " << c;
  // spgemm_c8
  std::optional<int64_t> m = agree(left.getRows(), pattern.getRows());
  if (!m)
    return op.emitOpError("expects the pattern to have M = ")
           << left.getRows() << ", the rows of A, but got " << pattern.getRows();
  std::optional<int64_t> n = agree(right.getColumns(), pattern.getColumns());
  if (!n)
    return op.emitOpError("expects the pattern to have N = ")
           << right.getColumns() << ", the columns of B, but got " << pattern.getColumns();
  return ResultSizes{*m, *n, llvm::to_vector(c.getShape())};
}

LogicalResult SpgemmOp::verify() {
  if (failed(verifyTypes(*this)))
    return failure();
  // spgemm_c6
  int64_t leftK = getLeft().getType().getColumns(), rightK = getRight().getType().getRows();
  if (!agree(leftK, rightK))
    return emitOpError("expects B to have K = ") << leftK << ", the columns of A, but got " << rightK;
  FailureOr<ResultSizes> sizes = getPattern() ? verifySampledResult(*this) : verifyDenseResult(*this);
  return failed(sizes) ? failure() : verifyExtras(*this, *sizes);
}

LogicalResult SpgemmOp::verifyRegions() { return verifyEpilogue(*this); }

#include "mlir/Dialect/Arith/IR/Arith.h"
#define GET_OP_CLASSES
#include "SparsecOps.cpp.inc"
