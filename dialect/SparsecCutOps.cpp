// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SparsecDialect.h"

using namespace mlir;
using namespace sparsec;

/// Places and flags are those of the warps of one role, whose groups are warpgroups. The program runs with a plan that
/// says which tiles are cut.
static LogicalResult verifyCut(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  if (!role || role.getUnit() != RoleUnit::warpgroup || isa_and_nonnull<RoleOp>(role->getPrevNode()))
    return op->emitOpError("expects to be in the first role, of warpgroups");
  if (!role->getParentOfType<ProgramOp>().getCut())
    return op->emitOpError("expects a program that is cut");
  return success();
}

LogicalResult WriteSumsOp::verify() {
  // write_sums_c1
  return verifyCut(*this);
}

LogicalResult ReleaseSumsOp::verify() {
  // release_sums_c1
  return verifyCut(*this);
}

LogicalResult AcquireSumsOp::verify() {
  // acquire_sums_c1
  return verifyCut(*this);
}

LogicalResult AddSumsOp::verify() {
  // add_sums_c1
  return verifyCut(*this);
}

void ReadSumsOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getOutput(), "output");
  setName(getRows(), "rows");
}

LogicalResult ReadSumsOp::verify() {
  // read_sums_c1
  return verifyCut(*this);
}
