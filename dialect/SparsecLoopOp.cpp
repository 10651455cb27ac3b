// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The syntax of ops that name the arguments of their body beside the operands. The labels in the comments are those of
// SPEC.md.

#include "OpHelpers.h"
#include "SparsecDialect.h"

using namespace mlir;
using namespace sparsec;

//===----------------------------------------------------------------------===//
// sparsec.loop
//===----------------------------------------------------------------------===//

/// `(%name = %init : type, ...)`
static ParseResult parseCarried(OpAsmParser &parser, SmallVectorImpl<OpAsmParser::Argument> &carried,
                                SmallVectorImpl<Value> &inits) {
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
    OpAsmParser::Argument &argument = carried.emplace_back();
    OpAsmParser::UnresolvedOperand init;
    return failure(parser.parseArgument(argument) || parser.parseEqual() || parser.parseOperand(init) ||
                   parser.parseColonType(argument.type) || parser.resolveOperand(init, argument.type, inits));
  });
}

/// `while(%name ne number)`, where the name is that of a carried value.
static ParseResult parseTest(OpAsmParser &parser, ArrayRef<OpAsmParser::Argument> carried, OperationState &result) {
  OpAsmParser::UnresolvedOperand tested;
  StringRef keyword;
  int64_t number;
  if (parser.parseKeyword("while") || parser.parseLParen())
    return failure();
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseOperand(tested))
    return failure();
  const auto *found = llvm::find_if(carried, [&](const OpAsmParser::Argument &argument) {
    return argument.ssaName.name == tested.name && argument.ssaName.number == tested.number;
  });
  if (found == carried.end())
    return parser.emitError(location, "expects the test of a carried value, but got ") << tested.name;
  SMLoc keywordLocation = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<LoopTest> test = symbolizeLoopTest(keyword);
  if (!test)
    return parser.emitError(keywordLocation, "expects ne or sge, but got ") << keyword;
  if (parser.parseInteger(number) || parser.parseRParen())
    return failure();
  Builder &builder = parser.getBuilder();
  auto &properties = result.getOrAddProperties<LoopOp::Properties>();
  properties.tested = builder.getI64IntegerAttr(found - carried.begin());
  properties.test = LoopTestAttr::get(builder.getContext(), *test);
  properties.number = builder.getI64IntegerAttr(number);
  return success();
}

ParseResult LoopOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> carried;
  if (parseCarried(parser, carried, result.operands) || parseTest(parser, carried, result) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  for (const OpAsmParser::Argument &argument : carried)
    result.addTypes(argument.type);
  return parseTerminatedRegion<YieldOp>(parser, *result.addRegion(), carried);
}

void LoopOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInits()), printer, [&](auto carried) {
    auto [argument, init] = carried;
    printer << argument << " = " << init << " : " << init.getType();
  });
  printer << ") while(" << getBody().getArgument(getTested()) << " " << stringifyLoopTest(getTest()) << " "
          << int64_t(getNumber()) << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"tested", "test", "number"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult LoopOp::verify() {
  // loop_c1
  if (failed(verifyResultsOfInits(*this, getInits().getTypes())))
    return failure();
  // loop_c2
  int64_t tested = getTested();
  if (tested < 0 || tested >= int64_t(getInits().size()) || !getInits()[tested].getType().isInteger(32))
    return emitOpError("expects to test an i32 of the ") << getInits().size() << " carried values, but got " << tested;
  // loop_c3
  return verifyBodyArguments(*this, SmallVector<Type>(getInits().getTypes()));
}

LogicalResult LoopOp::verifyRegions() {
  // loop_c4
  return verifyYield(*this);
}

//===----------------------------------------------------------------------===//
// sparsec.if_step
//===----------------------------------------------------------------------===//

ParseResult IfStepOp::parse(OpAsmParser &parser, OperationState &result) {
  Type i32 = parser.getBuilder().getI32Type();
  OpAsmParser::UnresolvedOperand step;
  OpAsmParser::Argument key;
  key.type = i32;
  int64_t keys;
  if (parser.parseOperand(step) || parser.resolveOperand(step, i32, result.operands) || parser.parseKeyword("of") ||
      parser.parseInteger(keys) || parser.parseKeyword("keys") || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseLParen() || parser.parseArgument(key) || parser.parseRParen())
    return failure();
  result.getOrAddProperties<IfStepOp::Properties>().keys = parser.getBuilder().getI64IntegerAttr(keys);
  return parser.parseRegion(*result.addRegion(), {key});
}

void IfStepOp::print(OpAsmPrinter &printer) {
  printer << " " << getStep() << " of " << int64_t(getKeys()) << " keys";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"keys"});
  printer << " (" << getBody().getArgument(0) << ") ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}
