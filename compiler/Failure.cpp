// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Failure.h"

#include "Pipeline.h"
#include "WriteFile.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace sparsec;

/// Where MLIR verifies what a pass leaves, it reports a pass whose result is invalid as failed too.
static bool isValid(Operation *op) {
  ScopedDiagnosticHandler silence(op->getContext(), [](Diagnostic &) {}); // reported already
  return succeeded(verify(op));
}

void NotePassFailure::runAfterPassFailed(Pass *pass, Operation *op) {
  // The adaptors around a nested pass fail with it; they have no name.
  if (pass->getArgument().empty() || !failure.pass.empty())
    return;
  failure.pass = pass->getArgument().str();
  failure.isInputWrong = refusesInput(failure.pass) && isValid(op);
}

/// Keeps the source in a file of its own: it may have come from a pipe or from memory.
static llvm::Error keepSource(StringRef source, SmallVectorImpl<char> &path) {
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("sparsec", path))
    return llvm::errorCodeToError(error);
  llvm::sys::path::append(path, "kernel.mlir");
  return writeFile(StringRef(path.data(), path.size()), source);
}

std::string sparsec::describeInternalError(const Twine &what, StringRef source, StringRef options) {
  std::string message = ("internal error: " + what + "; the input is not at fault").str();
  SmallString<128> path;
  if (llvm::Error error = keepSource(source, path))
    return message + "\ncannot keep the source to reproduce it: " + llvm::toString(std::move(error));
  llvm::raw_string_ostream stream(message);
  stream << "\nto reproduce: sparsec ";
  llvm::sys::printArg(stream, path, /*Quote=*/false);
  stream << options << " -o /dev/null";
  return message;
}
