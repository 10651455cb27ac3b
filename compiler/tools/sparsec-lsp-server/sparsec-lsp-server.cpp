// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// sparsec-lsp-server: diagnostics, completion and go-to-definition in editors that speak the language server protocol.

#include "../RegisterDialects.h"

#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sparsec::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
