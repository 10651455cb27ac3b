// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Epilogue.h"

#include "SparsecDialect.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

Value sparsec::inlineEpilogue(OpBuilder &builder, Region &epilogue, Value accumulator, ValueRange extras) {
  if (epilogue.empty())
    return accumulator;
  Block &body = epilogue.front();
  assert(body.getNumArguments() == extras.size() + 1 && "the region takes the accumulator and every extra operand");

  IRMapping mapping;
  mapping.map(body.getArgument(0), accumulator);
  for (auto [argument, extra] : llvm::zip_equal(body.getArguments().drop_front(), extras)) {
    assert(argument.getType() == extra.getType() && "expects one element of the extra operand");
    mapping.map(argument, extra);
  }
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(cast<YieldOp>(body.getTerminator()).getOperand(0));
}
