// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-opt: runs passes on .mlir files; every dialect and pass of the project is registered.

#include "../RegisterDialects.h"
#include "Passes.h"
#include "Pipeline.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sparsec::registerDialects(registry);
  mlir::registerTransformsPasses();
  sparsec::registerSparsecPasses();
  sparsec::registerPipelines(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "sparsec optimizer\n", registry));
}
