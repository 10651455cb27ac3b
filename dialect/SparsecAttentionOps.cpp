// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verification of sparsec.attention, sparsec.merge and sparsec.element. The labels in the comments are those of
// SPEC.md.

#include "ElementwiseRegion.h"
#include "OpHelpers.h"
#include "SparsecDialect.h"

#include "sparsec/launch_info.h"

using namespace mlir;
using namespace sparsec;

void AttentionOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  SmallVector<StringRef> names{"s", "batch", "head", "query", "key", "extra"};
  nameArguments(region, setName, ArrayRef(names).drop_front(&region == &getMask()));
}

namespace {
/// A tensor of the op, by the name that the messages use, and the names of its dimensions in order.
struct NamedTensor {
  StringRef name;
  RankedTensorType type;
  SmallVector<StringRef> dimensions;
};
} // namespace

/// The tensors of the op that are there. Packed ones have one batch, whatever the number of sequences.
static SmallVector<NamedTensor> getTensors(AttentionOp op) {
  const StringRef queryBatches = op.getQueryStarts() ? "packed batches" : "B";
  const StringRef keyBatches = op.getPageTable() ? "pages" : op.getKeyStarts() ? "packed batches" : "B";
  SmallVector<NamedTensor> tensors{{"Q", op.getQuery().getType(), {queryBatches, "H", "Sq", "D"}},
                                   {"K", op.getKey().getType(), {keyBatches, "Hkv", "Skv", "D"}},
                                   {"V", op.getValue().getType(), {keyBatches, "Hkv", "Skv", "Dv"}},
                                   {"O", op.getResult().getType(), {queryBatches, "H", "Sq", "Dv"}}};
  auto add = [&](StringRef name, Value tensor, ArrayRef<StringRef> dimensions) {
    if (tensor)
      tensors.push_back({name, cast<RankedTensorType>(tensor.getType()), SmallVector<StringRef>(dimensions)});
  };
  add("LSE", op.getLse(), {queryBatches, "H", "Sq"});
  add("sinks", op.getSinks(), {"H"});
  add("query_starts", op.getQueryStarts(), {"B + 1"});
  add("key_starts", op.getKeyStarts(), {"B + 1"});
  add("key_lengths", op.getKeyLengths(), {"B"});
  add("page_table", op.getPageTable(), {"B", "pages of a sequence"});
  return tensors;
}

int64_t AttentionOp::getValueDimension() {
  for (Value value : {Value(getValue()), Value(getResult())})
    if (int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(3); !ShapedType::isDynamic(size))
      return size;
  return getHeadDimension();
}

/// D, and Dv where it is another.
static LogicalResult verifyDimensions(AttentionOp op) {
  constexpr std::array<int64_t, 5> lowered{64, 96, 128, 192, 256};
  auto verifyDimension = [&](StringRef name, int64_t size) -> LogicalResult {
    if (llvm::is_contained(lowered, size))
      return success();
    InFlightDiagnostic diagnostic = op.emitOpError("expects the head dimension ")
                                    << name << " to be 64, 96, 128, 192 or 256, but got ";
    if (ShapedType::isDynamic(size))
      return diagnostic << "?; it must be static";
    return diagnostic << size << ", which has no lowering yet";
  };
  int64_t dimension = op.getHeadDimension(), valueDimension = op.getValueDimension();
  // attention_c4
  if (failed(verifyDimension("D of Q", dimension)) || failed(verifyDimension("Dv of V", valueDimension)))
    return failure();
  // attention_c22. Slots for both keys and values have strips of 64 columns, and 96 are one and a half.
  if (dimension != valueDimension && (dimension % 64 != 0 || valueDimension % 64 != 0))
    return op.emitOpError("expects D and Dv to be equal or multiples of 64, but got ")
           << dimension << " and " << valueDimension << ", which have no lowering yet";
  return success();
}

// attention_c1, merge_c1
static LogicalResult verifyRanks(Operation *op, ArrayRef<NamedTensor> tensors) {
  for (const NamedTensor &tensor : tensors)
    if (tensor.type.getRank() != int64_t(tensor.dimensions.size()))
      return op->emitOpError("expects ") << tensor.name << " to have rank " << tensor.dimensions.size() << ", but got "
                                         << tensor.type;
  return success();
}

/// Static sizes of dimensions, each with the tensor that has it.
using KnownSizes = llvm::StringMap<std::pair<int64_t, StringRef>>;

// attention_c5, merge_c4
static LogicalResult verifyAgreement(Operation *op, ArrayRef<NamedTensor> tensors, KnownSizes &known) {
  for (const NamedTensor &tensor : tensors)
    for (auto [dimension, size] : llvm::zip_equal(tensor.dimensions, tensor.type.getShape())) {
      if (ShapedType::isDynamic(size))
        continue;
      auto [first, isNew] = known.try_emplace(dimension, size, tensor.name);
      if (first->second.first != size)
        return op->emitOpError("expects ") << tensor.name << " to have " << dimension << " = " << first->second.first
                                           << ", as " << first->second.second << " has, but got " << size;
    }
  return success();
}

// attention_c7, merge_c2
static LogicalResult verifyIsOfFloats(Operation *op, StringRef name, Type element) {
  if (element.isBF16() || element.isF16() || element.isF32())
    return success();
  return op->emitOpError("expects ") << name << " to be of bf16, f16 or f32, but got " << element;
}

static LogicalResult verifySizes(AttentionOp op) {
  SmallVector<NamedTensor> tensors = getTensors(op);
  if (failed(verifyRanks(op, tensors)) || failed(verifyDimensions(op)))
    return failure();
  KnownSizes known;
  if (op.getQueryStarts() || op.getKeyStarts())
    known["packed batches"] = {1, "a packed tensor"};
  if (failed(verifyAgreement(op, tensors, known)))
    return failure();
  // attention_c6
  if (known.contains("H") && known.contains("Hkv")) {
    int64_t heads = known["H"].first, keyHeads = known["Hkv"].first;
    if (keyHeads == 0 ? heads != 0 : heads % keyHeads != 0)
      return op.emitOpError("expects the heads of Q to be a multiple of those of K and V, ")
             << keyHeads << ", but got " << heads;
  }
  return success();
}

static LogicalResult verifyElementTypes(AttentionOp op) {
  Type element = op.getQuery().getType().getElementType();
  // attention_c2
  if (!element.isBF16() && !element.isF16())
    return op.emitOpError("expects Q to be of bf16 or f16, but got ") << element << ", which has no lowering yet";
  // attention_c3
  for (auto [name, value] : {std::pair("K", op.getKey()), std::pair("V", op.getValue())})
    if (value.getType().getElementType() != element)
      return op.emitOpError("expects ") << name << " to have the element type of Q, " << element << ", but got "
                                        << value.getType().getElementType();
  if (failed(verifyIsOfFloats(op, "O", op.getResult().getType().getElementType())))
    return failure();
  // attention_c8
  if (op.getLse() && !op.getLse().getType().getElementType().isF32())
    return op.emitOpError("expects LSE to be of f32, but got ") << op.getLse().getType().getElementType();
  // attention_c23
  if (op.getSinks() && !op.getSinks().getType().getElementType().isF32())
    return op.emitOpError("expects sinks to be of f32, but got ") << op.getSinks().getType().getElementType();
  return success();
}

/// The operands that give sequences sizes of their own.
static LogicalResult verifySequences(AttentionOp op) {
  // attention_c24
  for (auto [name, value] : {std::pair("query_starts", op.getQueryStarts()), std::pair("key_starts", op.getKeyStarts()),
                             std::pair("key_lengths", op.getKeyLengths()), std::pair("page_table", op.getPageTable())})
    if (value && !value.getType().getElementType().isSignlessInteger(32))
      return op.emitOpError("expects ") << name << " to be of i32, but got " << value.getType().getElementType();
  if (!op.getPageTable())
    return success();
  // attention_c25
  if (!op.getKeyLengths() || op.getKeyStarts())
    return op.emitOpError("expects key_lengths with a page_table, and no key_starts");
  // attention_c26
  for (auto [name, value] : {std::pair("K", op.getKey()), std::pair("V", op.getValue())}) {
    int64_t rows = value.getType().getDimSize(2);
    if (ShapedType::isDynamic(rows) || rows < 16 || rows > 256 || !llvm::isPowerOf2_64(rows))
      return op.emitOpError("expects pages of ")
             << name << " to have 16, 32, 64, 128 or 256 rows, a static size, but got " << value.getType();
  }
  return success();
}

static constexpr size_t maximalExtras = 8;
// One of rank 4 takes eight parameters of a machine kernel, its pointer, its strides and its sizes; everything else
// takes at most 56.
static_assert(8 * maximalExtras + 56 <= SPARSEC_MAX_PARAMETERS);

static LogicalResult verifyExtras(AttentionOp op) {
  // attention_c21
  if (op.getExtras().size() > maximalExtras)
    return op.emitOpError("expects at most ") << maximalExtras << " extra operands, but got " << op.getExtras().size();
  for (auto [index, extra] : llvm::enumerate(op.getExtras())) {
    auto type = cast<RankedTensorType>(extra.getType());
    Type element = type.getElementType();
    // attention_c12
    if (type.getRank() > 4 || !(element.isF32() || element.isF16() || element.isBF16() || isIntegerElement(element)))
      return op.emitOpError("expects extra operand ")
             << index << " to be a tensor of f32, f16, bf16, i64, i32 or i8 of rank 4 at most, but got " << type;
  }
  // attention_c13
  if (!op.getExtras().empty() && !op.hasScore() && !op.hasMask())
    return op.emitOpError("expects a score or a mask region where there are extra operands");
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifySizes(*this)) || failed(verifyElementTypes(*this)))
    return failure();
  // attention_c9
  if (std::optional<ArrayRef<int64_t>> window = getWindow()) {
    constexpr int64_t largest = std::numeric_limits<int32_t>::max();
    if (window->size() != 2)
      return emitOpError("expects window to have 2 limits, left and right, but got ") << window->size();
    for (int64_t limit : *window)
      if (limit < -1 || limit > largest)
        return emitOpError("expects limits of window from -1 to ") << largest << ", but got " << limit;
  }
  if (failed(verifySequences(*this)))
    return failure();
  return verifyExtras(*this);
}

LogicalResult AttentionOp::verifyRegions() {
  Builder builder(getContext());
  SmallVector<Type> argumentTypes{builder.getF32Type()};
  argumentTypes.append(4, builder.getI32Type());
  llvm::append_range(argumentTypes, getExtras().getTypes());
  auto verifyRegion = [&](Region &region, StringRef name, ArrayRef<Type> arguments, Type yielded) -> LogicalResult {
    if (region.empty())
      return success();
    // attention_c14, attention_c15: score; attention_c16, attention_c17: mask
    if (failed(verifyRegionSignature(*this, region, name, arguments, yielded)))
      return failure();
    // attention_c18, attention_c20; attention_c19 is the trait IsolatedFromAbove
    return verifyRegionOps(region, ("a " + name + " region").str(), RegionOps::FloatsAndIntegers);
  };
  return success(succeeded(verifyRegion(getScore(), "score", argumentTypes, builder.getF32Type())) &&
                 succeeded(verifyRegion(getMask(), "mask", ArrayRef(argumentTypes).drop_front(), builder.getI1Type())));
}

LogicalResult MergeOp::verify() {
  const NamedTensor tensors[] = {
      {"O1", getFirst().getType(), {"B", "H", "Sq", "D"}},  {"O2", getSecond().getType(), {"B", "H", "Sq", "D"}},
      {"O", getResult().getType(), {"B", "H", "Sq", "D"}},  {"LSE1", getFirstLse().getType(), {"B", "H", "Sq"}},
      {"LSE2", getSecondLse().getType(), {"B", "H", "Sq"}}, {"LSE", getLse().getType(), {"B", "H", "Sq"}}};
  if (failed(verifyRanks(*this, tensors)))
    return failure();
  for (const NamedTensor &tensor : tensors) {
    Type element = tensor.type.getElementType();
    if (tensor.type.getRank() == 4 && failed(verifyIsOfFloats(*this, tensor.name, element)))
      return failure();
    // merge_c3
    if (tensor.type.getRank() == 3 && !element.isF32())
      return emitOpError("expects ") << tensor.name << " to be of f32, but got " << element;
  }
  KnownSizes known;
  if (failed(verifyAgreement(*this, tensors, known)))
    return failure();
  // merge_c5
  if (known.contains("D") && known["D"].first == 0)
    return emitOpError("expects rows of at least 1 element, but got D = 0");
  return success();
}

bool sparsec::isIntegerElement(Type type) {
  return type.isSignlessInteger(64) || type.isSignlessInteger(32) || type.isSignlessInteger(8);
}

Type sparsec::typeOfElement(Type tensor) {
  Type type = cast<RankedTensorType>(tensor).getElementType();
  return isIntegerElement(type) ? IntegerType::get(type.getContext(), 32) : type;
}

LogicalResult ElementOp::verify() {
  // element_c2
  int64_t rank = getTensor().getType().getRank();
  if (int64_t(getIndices().size()) != rank)
    return emitOpError("expects one index per dimension of ")
           << getTensor().getType() << ", but got " << getIndices().size();
  return success();
}
