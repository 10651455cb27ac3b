// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialect, its types and attributes. The labels in the comments are those of SPEC.md.

#include "SparsecDialect.h"

#include "sparsec/launch_info.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

#include "SparsecDialect.cpp.inc"
#include "SparsecEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "SparsecAttrs.cpp.inc"

// `, strip = 128`, `, strip = 128, swizzle = 64`, `, swizzle = 128` or `, adjacent`. The swizzle of a strip has its
// length, unless the text says otherwise.
static ParseResult parseBufferLayout(AsmParser &parser, int64_t &strip, int64_t &swizzle, bool &adjacent) {
  strip = swizzle = 0;
  adjacent = false;
  if (failed(parser.parseOptionalComma()))
    return success();
  if (succeeded(parser.parseOptionalKeyword("adjacent"))) {
    adjacent = true;
    return success();
  }
  if (succeeded(parser.parseOptionalKeyword("strip"))) {
    if (parser.parseEqual() || parser.parseInteger(strip))
      return failure();
    swizzle = strip;
    if (failed(parser.parseOptionalComma()))
      return success();
  }
  return failure(parser.parseKeyword("swizzle") || parser.parseEqual() || parser.parseInteger(swizzle));
}

static void printBufferLayout(AsmPrinter &printer, int64_t strip, int64_t swizzle, bool adjacent) {
  if (strip)
    printer << ", strip = " << strip;
  if (swizzle != strip)
    printer << ", swizzle = " << swizzle;
  if (adjacent)
    printer << ", adjacent";
}

#define GET_TYPEDEF_CLASSES
#include "SparsecTypes.cpp.inc"

/// Short names of the types that the ops of a ring repeat.
struct TypeAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (isa<RingType>(type))
      return os << "ring", AliasResult::FinalAlias;
    return isa<CursorType>(type) ? (os << "cursor", AliasResult::FinalAlias) : AliasResult::NoAlias;
  }
};

void SparsecDialect::initialize() {
  addInterfaces<TypeAliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "SparsecAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "SparsecTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "SparsecOps.cpp.inc"
      >();
}

LogicalResult SparsecDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  // attention_c27
  if (attribute.getName() != exactAttribute)
    return success();
  auto tanh = dyn_cast<math::TanhOp>(op);
  if (!tanh || arith::bitEnumContainsAll(tanh.getFastmath(), arith::FastMathFlags::afn) ||
      !isa<UnitAttr>(attribute.getValue()))
    return op->emitError("expects sparsec.exact to be a unit attribute of math.tanh without fastmath<afn>");
  return success();
}

// !sparsec.bsr<?x?xbf16, block = 64x64>, !sparsec.bsr<?x?xbf16, block = 64x64, transposed>
Type BsrType::parse(AsmParser &parser) {
  SmallVector<int64_t> sizes, block;
  Type element;
  auto location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(sizes) || parser.parseType(element) || parser.parseComma() ||
      parser.parseKeyword("block") || parser.parseEqual() ||
      parser.parseDimensionList(block, /*allowDynamic=*/false, /*withTrailingX=*/false))
    return {};
  bool transposed = succeeded(parser.parseOptionalComma());
  if ((transposed && parser.parseKeyword("transposed")) || parser.parseGreater())
    return {};
  if (sizes.size() != 2 || block.size() != 2) {
    parser.emitError(location, "expects two sizes and two block sizes, as in <?x?xbf16, block = 64x64>");
    return {};
  }
  return parser.getChecked<BsrType>(parser.getContext(), sizes[0], sizes[1], element, block[0], block[1], transposed);
}

void BsrType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList({getRows(), getColumns()});
  printer << "x" << getElementType() << ", block = " << getBlockRows() << "x" << getBlockColumns()
          << (getTransposed() ? ", transposed>" : ">");
}

LogicalResult BsrType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t columns,
                              Type elementType, int64_t blockRows, int64_t blockColumns, bool /*transposed*/) {
  struct {
    const char *name;
    int64_t size, most;
  } sizes[] = {{"rows", blockRows, 512}, {"columns", blockColumns, 256}};
  for (auto [name, size, most] : sizes) {
    // bsr_c1
    if (size % 16 != 0)
      return emitError() << "expects block " << name << " to be a multiple of 16, but got " << size;
    // bsr_c2
    if (size < 16 || size > most)
      return emitError() << "expects block " << name << " to be from 16 to " << most << ", but got " << size;
  }
  // bsr_c3: indices and sizes are i32 at run time, also when they are rounded up to a tile
  for (auto [name, size] : {std::pair("rows", rows), std::pair("columns", columns)})
    if (!ShapedType::isDynamic(size) && (size < 0 || size > SPARSEC_MAX_SIZE))
      return emitError() << "expects " << name << " to be ? or from 0 to " << SPARSEC_MAX_SIZE << ", but got " << size;
  // bsr_c4
  if (!isa<BFloat16Type, Float16Type, Float8E4M3FNType, Float8E5M2Type>(elementType))
    return emitError() << "expects elements of bf16, f16, f8E4M3FN or f8E5M2, but got " << elementType;
  return success();
}

// !sparsec.pattern<128x64>
Type PatternType::parse(AsmParser &parser) {
  SmallVector<int64_t> blocks;
  if (parser.parseLess())
    return {};
  auto location = parser.getCurrentLocation();
  if (parser.parseDimensionList(blocks, /*allowDynamic=*/false, /*withTrailingX=*/false) || parser.parseGreater())
    return {};
  if (blocks.size() != 2) {
    parser.emitError(location, "expects a block of queries and one of keys, as in <128x64>");
    return {};
  }
  return parser.getChecked<PatternType>(parser.getContext(), blocks[0], blocks[1]);
}

void PatternType::print(AsmPrinter &printer) const { printer << "<" << getQueryBlock() << "x" << getKeyBlock() << ">"; }

LogicalResult PatternType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t queryBlock, int64_t keyBlock) {
  // pattern_c1
  for (auto [name, size] : {std::pair("queries", queryBlock), std::pair("keys", keyBlock)})
    if (size != 64 && size != 128)
      return emitError() << "expects blocks of 64 or 128 " << name << ", but got " << size
                         << ", which has no lowering yet";
  return success();
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t, int64_t columns,
                                 Type elementType, int64_t strip, int64_t swizzle, bool) {
  auto dividesRow = [&](int64_t bytes) {
    int64_t elementBytes = elementType.isIntOrFloat() ? elementType.getIntOrFloatBitWidth() / 8 : 0;
    return elementBytes > 0 && bytes >= elementBytes && bytes % elementBytes == 0 &&
           columns % (bytes / elementBytes) == 0;
  };
  // buffer_c1
  if (strip != 0 && !dividesRow(strip))
    return emitError() << "expects a strip that divides a row of " << columns << " x " << elementType << ", but got "
                       << strip << " bytes";
  // buffer_c2
  bool divides = strip == 0 ? swizzle == 0 || dividesRow(swizzle) : swizzle == 0 || strip % swizzle == 0;
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle) || !divides)
    return emitError() << "expects a swizzle of 0, 32, 64 or 128 bytes that divides a strip, but got " << swizzle;
  return success();
}

/// schedule_c2: the smallest matrix instruction is m16n8k16
static LogicalResult verifyTile(function_ref<InFlightDiagnostic()> emitError, int64_t tileM, int64_t tileN,
                                int64_t tileK, int64_t consumersM, int64_t consumersN) {
  if (tileM % (16 * consumersM) != 0)
    return emitError() << "expects tile_m to be a multiple of 16 for each of consumers_m = " << consumersM
                       << ", but got " << tileM;
  if (tileN % (8 * consumersN) != 0)
    return emitError() << "expects tile_n to be a multiple of 8 for each of consumers_n = " << consumersN
                       << ", but got " << tileN;
  if (tileK % 16 != 0)
    return emitError() << "expects tile_k to be a multiple of 16, but got " << tileK;
  return success();
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError, Instruction instruction, Copy copy,
                                   int64_t tileM, int64_t tileN, int64_t tileK, int64_t stages, int64_t consumersM,
                                   int64_t consumersN, int64_t cluster, int64_t producerRegisters,
                                   int64_t consumerRegisters, int64_t groupM, int64_t ctasPerSm,
                                   int64_t concurrentTiles, Walk walk, int64_t blockStages, int64_t slices) {
  struct Number {
    StringRef name;
    int64_t value, largest;
  };
  // schedule_c1: more than any chip has, and little enough for products of all of them
  for (auto [name, value, largest] :
       {Number{"tile_m", tileM, 4096}, Number{"tile_n", tileN, 4096}, Number{"tile_k", tileK, 4096},
        Number{"stages", stages, 16}, Number{"consumers_m", consumersM, 32}, Number{"consumers_n", consumersN, 32},
        Number{"cluster", cluster, 16}, Number{"group_m", groupM, 65536}, Number{"ctas_per_sm", ctasPerSm, 32},
        Number{"concurrent_tiles", concurrentTiles, 32}, Number{"slices", slices, 32}})
    if (value < 1 || value > largest)
      return emitError() << "expects " << name << " to be from 1 to " << largest << ", but got " << value;
  const bool isProduct = instruction != Instruction::none;
  if (isProduct && failed(verifyTile(emitError, tileM, tileN, tileK, consumersM, consumersN)))
    return failure();
  // schedule_c3: what setmaxnreg takes
  for (auto [name, value] :
       {std::pair("producer_registers", producerRegisters), std::pair("consumer_registers", consumerRegisters)})
    if (value != 0 && (value < 24 || value > 256 || value % 8 != 0))
      return emitError() << "expects " << name << " to be 0 or a multiple of 8 from 24 to 256, but got " << value;
  // schedule_c4
  const bool hasBlockRing = walk == Walk::windows || walk == Walk::streams;
  int64_t least = hasBlockRing ? 2 : 0, most = hasBlockRing ? 32 : 0;
  if (blockStages < least || blockStages > most)
    return emitError() << "expects block_stages to be from 2 to 32, or 0 with walk = blocks or joint, but got "
                       << blockStages;
  // schedule_c5
  if (isProduct ? copy == Copy::vector : copy != Copy::vector && copy != Copy::scalar)
    return emitError() << "expects copy = vector with instruction = none alone, and there vector or scalar, but got "
                       << stringifyInstruction(instruction) << " with " << stringifyCopy(copy);
  return success();
}

/// Far more than a kernel has, and what the fields of the launch info hold.
static constexpr int64_t mostArguments = 65535;

LogicalResult ParameterAttr::verify(function_ref<InFlightDiagnostic()> emitError, ParameterKind, int64_t argument,
                                    int64_t index) {
  // parameter_c1
  for (auto [name, value] : {std::pair("argument", argument), std::pair("index", index)})
    if (value < 0 || value > mostArguments)
      return emitError() << "expects " << name << " to be from 0 to " << mostArguments << ", but got " << value;
  return success();
}

LogicalResult WorkspaceAttr::verify(function_ref<InFlightDiagnostic()> emitError, WorkspaceKind, int64_t bytes) {
  // workspace_c1
  if (bytes < 1 || bytes > INT32_MAX)
    return emitError() << "expects bytes to be from 1 to " << INT32_MAX << ", but got " << bytes;
  return success();
}

LogicalResult TensorMapAttr::verify(function_ref<InFlightDiagnostic()> emitError, TensorMapKind kind, int64_t argument,
                                    int64_t swizzle, ArrayRef<int64_t> box) {
  // tensor_map_c1
  if (argument < 0 || argument > mostArguments)
    return emitError() << "expects argument to be from 0 to " << mostArguments << ", but got " << argument;
  // tensor_map_c2
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle))
    return emitError() << "expects swizzle to be 0, 32, 64 or 128, but got " << swizzle;
  // tensor_map_c3
  bool isDense = kind == TensorMapKind::dense || kind == TensorMapKind::dense_clipped;
  if (isDense ? box.size() < 2 || box.size() > 5 : box.size() != 3)
    return emitError() << "expects the box of a " << stringifyTensorMapKind(kind) << " tensor map to have "
                       << (isDense ? "2 to 5" : "3") << " sizes, but got " << box.size();
  // tensor_map_c4: what a tensor map can hold
  for (int64_t size : box)
    if (size < 1 || size > 256)
      return emitError() << "expects box sizes from 1 to 256, but got " << size;
  return success();
}
