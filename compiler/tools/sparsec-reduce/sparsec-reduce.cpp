// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-reduce: shrinks a .mlir file while a test script still finds it interesting.

#include "../RegisterDialects.h"

#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sparsec::registerDialects(registry);
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
