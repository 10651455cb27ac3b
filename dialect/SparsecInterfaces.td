// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interfaces of tile ops.

#ifndef SPARSEC_INTERFACES_TD
#define SPARSEC_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Sparsec_WalkOpInterface : OpInterface<"WalkOpInterface"> {
  let description = [{
    An op that defines a walk. Its result is a `!sparsec.walk`, which `sparsec.walk`, `sparsec.first_step`,
    `sparsec.next_step` and `sparsec.read_step` take. A walk has a loop, steps, or both. A new walk is a new op with
    this interface, and its emission: a WalkEmitter.
  }];
  let cppNamespace = "::sparsec";
  let methods = [
    InterfaceMethod<"The types of the values that a step of the walk visits.", "llvm::SmallVector<mlir::Type>",
                    "getVisitedTypes">,
    InterfaceMethod<"The names of these values in dumps.", "llvm::SmallVector<llvm::StringRef>", "getVisitedNames">,
    InterfaceMethod<"Whether `sparsec.walk` may loop over it.", "bool", "hasLoop">,
    InterfaceMethod<"The i32 values that a step carries; 0 for a walk that has no steps.", "int64_t", "getStepValues">
  ];
}

#endif // SPARSEC_INTERFACES_TD
