// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "output.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"

namespace sparsec::run {

llvm::Error checkOutput(llvm::StringRef path) {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  std::error_code error = llvm::sys::fs::access(folder.empty() ? "." : folder, llvm::sys::fs::AccessMode::Write);
  if (!error && llvm::sys::fs::is_directory(path))
    error = std::make_error_code(std::errc::is_a_directory);
  return error ? llvm::createFileError(path, error) : llvm::Error::success();
}

llvm::Error writeFile(llvm::StringRef path, llvm::StringRef bytes) {
  if (llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
        stream << bytes;
        return llvm::Error::success();
      }))
    return llvm::createFileError(path, std::move(error));
  return llvm::Error::success();
}

} // namespace sparsec::run
