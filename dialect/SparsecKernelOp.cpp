// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parsing, printing and verification of sparsec.kernel. The labels in the comments are those of SPEC.md.

#include "OpHelpers.h"
#include "SparsecDialect.h"

#include "sparsec/launch_info.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// sparsec.kernel: syntax
//===----------------------------------------------------------------------===//

void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (auto [argument, name] : llvm::zip(region.getArguments(), getArgumentNames()))
    setName(argument, cast<StringAttr>(name).getValue());
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<Attribute> argumentNames, resultNames;
  SmallVector<Type> argumentTypes, resultTypes;

  if (parser.parseSymbolName(name, getSymNameAttrName(state.name), state.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true))
    return failure();
  for (auto &argument : arguments) {
    argumentNames.push_back(builder.getStringAttr(argument.ssaName.name.drop_front()));
    argumentTypes.push_back(argument.type);
  }

  auto parseResult = [&]() -> ParseResult {
    auto location = parser.getCurrentLocation();
    std::string resultName;
    Type type;
    if (failed(parser.parseOptionalKeywordOrString(&resultName)) || failed(parser.parseOptionalColon()))
      return parser.emitError(location, "expects a result to be NAME: TYPE");
    if (parser.parseType(type))
      return failure();
    resultNames.push_back(builder.getStringAttr(resultName));
    resultTypes.push_back(type);
    return success();
  };
  auto location = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalArrow()) &&
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseResult))
    return failure();
  if (resultNames.empty())
    return parser.emitError(location, "expects -> (NAME: TYPE, ...) behind the arguments, but got no result");
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();

  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(argumentTypes, resultTypes)));
  state.addAttribute(getArgumentNamesAttrName(state.name), builder.getArrayAttr(argumentNames));
  state.addAttribute(getResultNamesAttrName(state.name), builder.getArrayAttr(resultNames));
  return parseTerminatedRegion<ReturnOp>(parser, *state.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printer << "(";
  llvm::interleaveComma(getBody().getArguments(), printer, [&](BlockArgument a) { printer.printRegionArgument(a); });
  printer << ") -> (";
  llvm::interleaveComma(llvm::zip(getResultNames(), getResultTypes()), printer, [&](auto result) {
    printer.printKeywordOrString(cast<StringAttr>(std::get<0>(result)).getValue());
    printer << ": " << std::get<1>(result);
  });
  printer << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getSymNameAttrName(), getFunctionTypeAttrName(),
                                                                 getArgumentNamesAttrName(), getResultNamesAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// sparsec.kernel: verification
//===----------------------------------------------------------------------===//

/// The launch info has room for this many bytes of an argument's name, without the zero at its end.
static constexpr size_t maximalNameLength = SPARSEC_NAME_LENGTH - 1;

/// kernel_c4: a name that C, PTX and the command line of sparsec-run can hold.
static LogicalResult verifyName(KernelOp kernel, StringRef name, const Twine &what) {
  bool isIdentifier = !name.empty() && !llvm::isDigit(name.front()) &&
                      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  if (!isIdentifier || name.size() > maximalNameLength)
    return kernel.emitOpError("expects the name of ") << what << " to be an identifier of at most " << maximalNameLength
                                                      << " characters, but got '" << name << "'";
  return success();
}

/// kernel_c11: images hold symbols of these names, or the names mean something else there: the constant WARP_SZ to PTX,
/// functions that begin with "llvm." to LLVM.
static LogicalResult verifyIsNotReserved(KernelOp kernel) {
  static constexpr StringLiteral reserved[] = {SPARSEC_LAUNCH_INFO_SYMBOL, "dynamic_shared_memory", "WARP_SZ", "llvm"};
  if (llvm::is_contained(reserved, kernel.getSymName()))
    return kernel.emitOpError("expects a name that means nothing else in an image, but got '")
           << kernel.getSymName() << "'";
  return success();
}

static LogicalResult verifyNames(KernelOp kernel) {
  if (failed(verifyName(kernel, kernel.getSymName(), "the kernel")) || failed(verifyIsNotReserved(kernel)))
    return failure();
  llvm::StringSet<> seen;
  auto verifyList = [&](ArrayAttr names, ArrayRef<Type> types, StringRef what) -> LogicalResult {
    // kernel_c5
    if (names.size() != types.size())
      return kernel.emitOpError("expects one name per ")
             << what << ", but got " << names.size() << " names for " << types.size();
    for (auto [index, name] : llvm::enumerate(names.getAsValueRange<StringAttr>())) {
      if (failed(verifyName(kernel, name, what + " " + Twine(index))))
        return failure();
      // kernel_c6
      if (!seen.insert(name).second)
        return kernel.emitOpError("expects the names of arguments and results to differ, but got '")
               << name << "' twice";
    }
    return success();
  };
  return success(succeeded(verifyList(kernel.getArgumentNames(), kernel.getArgumentTypes(), "argument")) &&
                 succeeded(verifyList(kernel.getResultNames(), kernel.getResultTypes(), "result")));
}

static bool isKnownTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getEncoding() &&
         isa<BFloat16Type, Float16Type, Float32Type, Float8E4M3FNType, Float8E5M2Type>(tensor.getElementType());
}

static bool isIntegerTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getEncoding() && isIntegerElement(tensor.getElementType());
}

/// kernel_c12: sizes are i32 at run time, also when they are rounded up to a tile.
static LogicalResult verifyStaticSizes(KernelOp kernel, ArrayRef<Type> types, StringRef what) {
  for (auto [index, type] : llvm::enumerate(types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    for (int64_t size : tensor ? tensor.getShape() : ArrayRef<int64_t>())
      if (!ShapedType::isDynamic(size) && size > SPARSEC_MAX_SIZE)
        return kernel.emitOpError("expects sizes of at most ")
               << SPARSEC_MAX_SIZE << " of " << what << " " << index << ", but got " << size;
  }
  return success();
}

/// kernel_c13: without this, a misspelt `schedule` would be an attribute that nothing reads.
static LogicalResult verifyAttributes(Operation *op) {
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (!attribute.getName().strref().contains('.'))
      return op->emitOpError("has no attribute '") << attribute.getName().strref() << "'";
  return success();
}

/// kernel_c14
static LogicalResult verifyWalks(KernelOp kernel) {
  auto planned = kernel.getPlannedSchedulesAttr();
  for (ScheduleAttr schedule : kernel.getSchedules()) {
    bool isPlanned = planned && llvm::is_contained(planned, schedule);
    if (isPlanned != (schedule.getWalk() != Walk::blocks))
      return kernel.emitOpError("expects schedules with another walk than blocks in planned_schedules, and there "
                                "alone, but got ")
             << schedule;
  }
  if (!planned)
    return success();
  auto attention = dyn_cast<AttentionOp>(kernel.getAnchor());
  const bool mayJoin = attention && attention.getPattern() && !attention.hasSequences();
  if (!isa<SpmmOp>(kernel.getAnchor()) && !mayJoin)
    return kernel.emitOpError("expects planned_schedules for sparsec.spmm, and for sparsec.attention with a pattern "
                              "and without lengths of sequences");
  for (auto schedule : planned.getAsRange<ScheduleAttr>())
    if ((schedule.getWalk() == Walk::joint) != mayJoin)
      return kernel.emitOpError("expects planned_schedules with walk = ")
             << (mayJoin ? "joint" : "windows or streams") << ", but got " << schedule;
  return success();
}

/// kernel_c15
static LogicalResult verifyNarrowSchedules(KernelOp kernel) {
  ArrayAttr narrow = kernel.getNarrowSchedulesAttr();
  if (!narrow)
    return success();
  if (!isa<SpmmOp>(kernel.getAnchor()))
    return kernel.emitOpError("expects narrow_schedules for sparsec.spmm only");
  int64_t widest = 0;
  for (auto schedule : narrow.getAsRange<ScheduleAttr>()) {
    if (schedule.getWalk() != Walk::blocks || schedule.getCluster() != 1)
      return kernel.emitOpError("expects narrow_schedules with walk = blocks and cluster = 1, but got ") << schedule;
    if (schedule.getTileN() < widest)
      return kernel.emitOpError("expects narrow_schedules by tile_n, the least first, but got ")
             << schedule.getTileN() << " after " << widest;
    widest = schedule.getTileN();
  }
  return success();
}

/// kernel_c17: join_parts adds the sums of one accumulator, of 64 columns.
static LogicalResult verifySplitSchedules(KernelOp kernel) {
  ArrayAttr split = kernel.getSplitSchedulesAttr();
  if (!split)
    return success();
  if (!isa<SpmmOp>(kernel.getAnchor()))
    return kernel.emitOpError("expects split_schedules for sparsec.spmm only");
  constexpr int64_t columns = 64;
  for (auto schedule : split.getAsRange<ScheduleAttr>())
    if (schedule.getWalk() != Walk::streams || schedule.getInstruction() != Instruction::mma_sync ||
        schedule.getTileN() != columns)
      return kernel.emitOpError("expects split_schedules with walk = streams, instruction = mma_sync and tile_n = ")
             << columns << ", but got " << schedule;
  return success();
}

/// kernel_c16
static LogicalResult verifyPackedSchedules(KernelOp kernel) {
  std::optional<ArrayRef<int64_t>> block = kernel.getPackedBlock();
  if (!kernel.getPackedSchedulesAttr() && !block)
    return success();
  auto spmm = dyn_cast<SpmmOp>(kernel.getAnchor());
  if (!kernel.getPackedSchedulesAttr() || !block || !spmm || spmm.getScales())
    return kernel.emitOpError(
        "expects packed_schedules and packed_block together, for sparsec.spmm without scales only");
  BsrType matrix = spmm.getMatrix().getType();
  const int64_t rows = matrix.getBlockRows(), columns = matrix.getBlockColumns();
  auto fills = [](int64_t size, int64_t stored) { return size > 0 && size % stored == 0; };
  if (block->size() != 2 || !fills((*block)[0], rows) || !fills((*block)[1], columns) ||
      (*block)[0] * (*block)[1] == rows * columns)
    return kernel.emitOpError("expects packed_block to be rows and columns of a block with several blocks of ")
           << rows << "x" << columns << ", but got " << kernel.getPackedBlockAttr();
  for (auto schedule : kernel.getPackedSchedulesAttr().getAsRange<ScheduleAttr>())
    if (schedule.getWalk() == Walk::streams)
      return kernel.emitOpError("expects packed_schedules with walk = blocks or windows, but got ") << schedule;
  return success();
}

SmallVector<ScheduleAttr> KernelOp::getSchedules() {
  SmallVector<ScheduleAttr> schedules;
  if (ArrayAttr narrow = getNarrowSchedulesAttr())
    llvm::append_range(schedules, narrow.getAsRange<ScheduleAttr>());
  if (ArrayAttr planned = getPlannedSchedulesAttr())
    llvm::append_range(schedules, planned.getAsRange<ScheduleAttr>());
  for (ScheduleAttr schedule : {getScheduleAttr(), getFallbackScheduleAttr()})
    if (schedule)
      schedules.push_back(schedule);
  return schedules;
}

LogicalResult KernelOp::verify() {
  if (failed(verifyNames(*this)) || failed(verifyAttributes(*this)))
    return failure();
  // kernel_c7
  for (auto [index, type] : llvm::enumerate(getArgumentTypes()))
    if (!isa<BsrType, PatternType, Float32Type>(type) && !isKnownTensor(type) && !isIntegerTensor(type))
      return emitOpError("expects argument ")
             << index << " to be a !sparsec.bsr, a !sparsec.pattern, f32, or a ranked tensor of bf16, f16, f32, "
             << "f8E4M3FN, f8E5M2, i64, i32 or i8 without an encoding, but got " << type;
  // kernel_c8
  for (auto [index, type] : llvm::enumerate(getResultTypes()))
    if (!isKnownTensor(type))
      return emitOpError("expects result ")
             << index << " to be a ranked tensor of bf16, f16, f32, f8E4M3FN or f8E5M2 without an encoding, but got "
             << type;
  return success(succeeded(verifyStaticSizes(*this, getArgumentTypes(), "argument")) &&
                 succeeded(verifyStaticSizes(*this, getResultTypes(), "result")));
}

/// The names of all anchor ops: "sparsec.attention, ... or sparsec.spmm".
static std::string anchorNames(MLIRContext *context) {
  SmallVector<StringRef> names;
  for (RegisteredOperationName op : context->getRegisteredOperations())
    if (op.hasTrait<AnchorOp>())
      names.push_back(op.getStringRef());
  llvm::sort(names);
  return llvm::join(ArrayRef(names).drop_back(), ", ") + " or " + names.back().str();
}

LogicalResult KernelOp::verifyRegions() {
  // kernel_c1
  Block &block = getBody().front();
  if (!llvm::hasNItems(block, 2) || !block.front().hasTrait<AnchorOp>() || !isa<ReturnOp>(block.back()))
    return emitOpError("expects its body to be one anchor op (") << anchorNames(getContext()) << ") and sparsec.return";
  for (Operation &op : block)
    if (failed(verifyAttributes(&op)))
      return failure();
  if (failed(verifyWalks(*this)) || failed(verifyNarrowSchedules(*this)) || failed(verifyPackedSchedules(*this)) ||
      failed(verifySplitSchedules(*this)))
    return failure();
  // kernel_c2
  for (auto [argument, name] : llvm::zip_equal(block.getArguments(), getArgumentNames().getAsValueRange<StringAttr>()))
    if (argument.use_empty())
      return emitOpError("expects argument '") << name << "' to be used, but got no use";
  // kernel_c3
  if (block.back().getOperands() != ValueRange(block.front().getResults()))
    return emitOpError("expects sparsec.return to give the results of ") << block.front().getName() << " in order";
  if (block.front().getResultTypes() != TypeRange(getResultTypes()))
    return emitOpError("expects the declared results to have the types of those of ")
           << block.front().getName() << ", (" << block.front().getResultTypes() << "), but got (" << getResultTypes()
           << ")";
  return success();
}
