// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mask_file.h"
#include "pattern.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace sparsec::bench {

Mask readMask(const std::string &path) {
  std::ifstream file(path);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file)
    throw std::runtime_error(fmt::format("cannot read '{}'", path));
  auto read = readers::readPattern(text, path);
  if (!read)
    throw std::runtime_error(llvm::toString(read.takeError()));
  Mask mask;
  mask.name = std::filesystem::path(path).stem().string();
  mask.given = {read->rows, read->columns, read->rowPtr, read->colIdx};
  return mask;
}

} // namespace sparsec::bench
