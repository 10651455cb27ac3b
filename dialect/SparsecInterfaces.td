// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interfaces of tile ops.

#ifndef SPARSEC_INTERFACES_TD
#define SPARSEC_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Sparsec_StepsOpInterface : OpInterface<"StepsOpInterface"> {
  let description = [{
    An op that defines a walk in steps. `sparsec.first_step`, `sparsec.next_step` and `sparsec.read_step` take its
    result. A new walk is a new op with this interface, and its emission.
  }];
  let cppNamespace = "::sparsec";
  let methods = [
    InterfaceMethod<"i32 values that a step of the walk carries.", "int64_t", "getStepValues">,
    InterfaceMethod<"i32 results of `sparsec.read_step`.", "int64_t", "getReadValues">
  ];
}

#endif // SPARSEC_INTERFACES_TD
