// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "status_error.h"

#include "llvm/Support/raw_ostream.h"

namespace sparsec::run {

char StatusError::ID;

llvm::Error toError(sparsec_status_t status, llvm::StringRef context) {
  if (!status)
    return llvm::Error::success();
  sparsec_status_code_t code = sparsec_status_code(status);
  std::string message = fmt::format("{}{}{}: {}", view(context), context.empty() ? "" : ": ",
                                    sparsec_status_code_name(code), sparsec_status_message(status));
  sparsec_status_free(status);
  return llvm::make_error<StatusError>(code, std::move(message));
}

ExitCode reportError(llvm::Error error, llvm::StringRef program) {
  ExitCode exitCode = exitBadInput;
  llvm::handleAllErrors(
      std::move(error),
      [&](const StatusError &status) {
        if (status.code == SPARSEC_STATUS_DRIVER_ERROR || status.code == SPARSEC_STATUS_INTERNAL)
          exitCode = exitInternal;
        llvm::errs() << program << ": error: " << status.message << '\n';
      },
      // Readers have errors of their own: this is a file that cannot be written.
      [&](const llvm::FileError &file) {
        exitCode = exitInternal;
        llvm::errs() << program << ": error: cannot write " << file.message() << '\n';
      },
      [&](const llvm::ErrorInfoBase &other) { llvm::errs() << program << ": error: " << other.message() << '\n'; });
  return exitCode;
}

} // namespace sparsec::run
