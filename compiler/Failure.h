// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whose fault a failure is, the input's or the compiler's, and how to reproduce the latter.

#ifndef SPARSEC_COMPILER_FAILURE_H
#define SPARSEC_COMPILER_FAILURE_H

#include "mlir/Pass/PassInstrumentation.h"

#include <string>

namespace sparsec {

/// The pass that failed.
struct PassFailure {
  std::string pass;
  /// The pass is one that checks the input (see refusesInput in Pipeline.h) and refused it, rather than breaking it:
  /// what it leaves is valid.
  bool isInputWrong = false;
};

/// Notes the pass that fails.
class NotePassFailure : public mlir::PassInstrumentation {
public:
  explicit NotePassFailure(PassFailure &failure) : failure(failure) {}
  void runAfterPassFailed(mlir::Pass *pass, mlir::Operation *op) override;

private:
  PassFailure &failure;
};

/// The message for a fault of the compiler: keeps the source in a temporary file, and ends with the command that
/// compiles it with `options` (" --a=b --c") again.
std::string describeInternalError(const llvm::Twine &what, llvm::StringRef source, llvm::StringRef options);

} // namespace sparsec

#endif // SPARSEC_COMPILER_FAILURE_H
