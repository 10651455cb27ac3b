// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "json_lines.h"

namespace sparsec::tune {

using run::failure;
using run::view;

llvm::Error forEachLine(llvm::StringRef text, llvm::StringRef path, ReadRow read) {
  for (int64_t number = 1; !text.empty(); ++number) {
    auto [line, rest] = text.split('\n');
    text = rest;
    if (line.trim().empty())
      continue;
    llvm::Expected<llvm::json::Value> row = llvm::json::parse(line);
    if (!row)
      return failure("{}:{}: {}", view(path), number, llvm::toString(row.takeError()));
    llvm::json::Path::Root root("row");
    if (!read(line, *row, root))
      return failure("{}:{}: {}", view(path), number, llvm::toString(root.getError()));
  }
  return llvm::Error::success();
}

} // namespace sparsec::tune
