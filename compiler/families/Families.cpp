// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Family.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sparsec;

const Family &sparsec::familyOf(KernelOp kernel) {
  return *TypeSwitch<Operation *, const Family *>(kernel.getAnchor())
#define SPARSEC_FAMILY(Op, family) .Case([](Op) { return &family(); })
#include "Families.def"
      ;
}
