// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzzes the reader of DLMC patterns.

#include "invariants.h"
#include "pattern.h"

using namespace sparsec;

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto pattern = readers::readPattern(bytes, "input.smtx");
  fuzz::checkMatrix(pattern ? readers::expandPattern(std::move(*pattern), fuzz::format, /*seed=*/1, fuzz::limits)
                            : llvm::Expected<readers::BlockMatrix>(pattern.takeError()));
  return 0;
}
