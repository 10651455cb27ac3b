// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "WriteFile.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

llvm::Error sparsec::writeFile(StringRef path, StringRef contents) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (!error) {
    file << contents;
    file.close();
    error = file.error();
    file.clear_error();
  }
  return error ? createFileError(path, error) : llvm::Error::success();
}
