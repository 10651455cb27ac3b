// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --dump-ir: one numbered file per pass and stage.

#ifndef SPARSEC_COMPILER_IRDUMP_H
#define SPARSEC_COMPILER_IRDUMP_H

#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/Error.h"

#include <string>

namespace sparsec {

/// How the compiler prints IR: values have the names of their locations.
mlir::OpPrintingFlags dumpFlags();

/// A folder of numbered files. Does nothing when its folder is empty.
class IrDump {
public:
  explicit IrDump(llvm::StringRef folder) : folder(folder) {}

  /// Makes the folder and those above it.
  llvm::Error create();
  /// Writes `contents` to NN-name.
  void write(const llvm::Twine &name, llvm::StringRef contents);
  /// The first write that failed.
  llvm::Error takeError();

  bool isEnabled() const { return !folder.empty(); }

private:
  std::string folder;
  unsigned count = 0;
  std::string error;
};

/// Writes the whole module after every pass.
class DumpAfterPass : public mlir::PassInstrumentation {
public:
  explicit DumpAfterPass(IrDump &dump) : dump(dump) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override;

private:
  IrDump &dump;
};

} // namespace sparsec

#endif // SPARSEC_COMPILER_IRDUMP_H
