// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzzes the reader of Matrix Market files.

#include "invariants.h"
#include "matrix_market.h"

using namespace sparsec;

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto matrix = readers::readMatrixMarket(bytes, "input.mtx");
  fuzz::checkMatrix(matrix ? readers::blockCoordinates(std::move(*matrix), fuzz::format, fuzz::limits)
                           : llvm::Expected<readers::BlockMatrix>(matrix.takeError()));
  return 0;
}
