// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The dialect itself: one name, two families of ops (SparsecKernelOps.td says what a kernel computes, SparsecTileOps.td
// how it is tiled and pipelined).

#ifndef SPARSEC_DIALECT_TD
#define SPARSEC_DIALECT_TD

include "mlir/IR/OpBase.td"

def Sparsec_Dialect : Dialect {
  let name = "sparsec";
  let cppNamespace = "::sparsec";
  let summary = "Block-sparse matrix products and attention.";
  let description = [{
    Kernel ops say what is computed, in values, with no chip and no threads. Tile ops say how: tiles, rings of
    shared-memory stages, producer and consumer roles. `dialect/SPEC.md` numbers every constraint.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

class Sparsec_Op<string mnemonic, list<Trait> traits = []> : Op<Sparsec_Dialect, mnemonic, traits>;

#endif // SPARSEC_DIALECT_TD
