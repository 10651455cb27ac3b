// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "InlineRegion.h"

#include "ElementwiseRegion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sparsec;

/// Converts an element that was loaded to the type of sparsec.element: integers of regions have 32 bits.
static Value asValue(OpBuilder &builder, ElementOp element, Value loaded) {
  Type type = element.getResult().getType();
  auto integer = dyn_cast<IntegerType>(loaded.getType());
  if (!integer || integer == type)
    return loaded;
  if (integer.getWidth() > type.getIntOrFloatBitWidth())
    return arith::TruncIOp::create(builder, element.getLoc(), type, loaded);
  return arith::ExtSIOp::create(builder, element.getLoc(), type, loaded);
}

/// The values that `wanted` are made of, themselves included, up to the known ones.
static llvm::SetVector<Value> neededValues(ValueRange wanted, const IRMapping &known) {
  llvm::SetVector<Value> needed(wanted.begin(), wanted.end());
  for (size_t i = 0; i < needed.size(); ++i) // grows
    if (Operation *op = needed[i].getDefiningOp(); op && !known.contains(needed[i]))
      needed.insert_range(op->getOperands());
  return needed;
}

SmallVector<Value> sparsec::inlineValues(OpBuilder &builder, Region &region, ValueRange arguments, ValueRange wanted,
                                         LoadElement loadElement, KnownValues known, ReplaceOp replace) {
  Block &body = region.front();
  IRMapping mapping;
  for (auto [argument, value] : llvm::zip_first(arguments, body.getArguments())) {
    assert(argument.getType() == value.getType() && "expects a value of the type of the region's argument");
    mapping.map(value, argument);
  }
  for (auto [value, computed] : known)
    mapping.map(value, computed);
  llvm::SetVector<Value> needed = neededValues(wanted, mapping);
  for (Operation &op : body.without_terminator()) {
    if (!needed.contains(op.getResult(0)) || mapping.contains(op.getResult(0)))
      continue;
    if (Value replacement = replace ? replace(op) : Value()) {
      mapping.map(op.getResult(0), replacement);
      continue;
    }
    auto element = dyn_cast<ElementOp>(op);
    if (!element) {
      Operation *copy = builder.clone(op, mapping);
      // To nearest even (spmm_c18, attention_c18), as it is when nothing is said: with the attribute it would become
      // one of LLVM's constrained conversions.
      if (auto rounding = dyn_cast<arith::TruncFOp>(copy))
        rounding.removeRoundingmodeAttr();
      continue;
    }
    SmallVector<Value> indices;
    for (Value index : element.getIndices())
      indices.push_back(mapping.lookup(index));
    mapping.map(element.getResult(), asValue(builder, element, loadElement(element, indices)));
  }
  return llvm::map_to_vector(wanted, [&](Value value) { return mapping.lookup(value); });
}

Value sparsec::inlineRegion(OpBuilder &builder, Region &region, ValueRange arguments, LoadElement loadElement) {
  return inlineValues(builder, region, arguments, yieldedValue(region), loadElement)[0];
}

Value sparsec::inlineEpilogue(OpBuilder &builder, Region &epilogue, Value accumulator, ValueRange extras) {
  if (epilogue.empty())
    return accumulator;
  assert(epilogue.getNumArguments() == extras.size() + 1 && "the region takes the accumulator and every extra operand");
  SmallVector<Value> arguments{accumulator};
  llvm::append_range(arguments, extras);
  return inlineRegion(builder, epilogue, arguments, [](ElementOp, ValueRange) -> Value {
    llvm_unreachable("an epilogue gets the elements of its operands as arguments");
  });
}
