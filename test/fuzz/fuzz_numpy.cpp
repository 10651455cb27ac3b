// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fuzzes the reader of NumPy arrays.

#include "invariants.h"
#include "numpy.h"

using namespace sparsec;

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto array = readers::readNumpy(bytes, "input.npy");
  if (!array) {
    fuzz::require(!llvm::toString(array.takeError()).empty());
    return 0;
  }
  fuzz::require(array->data.size() == uint64_t(array->elementCount()) * uint64_t(array->width));
  for (sparsec_dtype_t dtype : {SPARSEC_DTYPE_F32, SPARSEC_DTYPE_F16, SPARSEC_DTYPE_BF16})
    llvm::consumeError(readers::convertElements(*array, dtype, "input.npy").takeError());
  llvm::consumeError(readers::convertIndices(*array, "input.npy").takeError());
  return 0;
}
