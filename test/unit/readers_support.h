// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Helpers of the reader tests.

#ifndef SPARSEC_TEST_UNIT_READERS_SUPPORT_H
#define SPARSEC_TEST_UNIT_READERS_SUPPORT_H

#include "block_matrix.h"
#include "reference/numbers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sparsec::readers {

/// The message of the error, or "" when there is none.
template <typename Value> std::string messageOf(llvm::Expected<Value> value) {
  return value ? "" : llvm::toString(value.takeError());
}

/// The value; a test failure with the message when there is none.
template <typename Value> Value valueOf(llvm::Expected<Value> value) {
  if (value)
    return std::move(*value);
  ADD_FAILURE() << llvm::toString(value.takeError());
  return Value();
}

/// A file of the fuzz corpus, of which the good ones were written by NumPy and SciPy.
inline std::string corpusFile(const std::string &path) {
  auto file = readFile(std::string(SPARSEC_CORPUS_DIR "/") + path);
  if (file)
    return (*file)->getBuffer().str();
  ADD_FAILURE() << llvm::toString(file.takeError());
  return "";
}

/// All elements of an array, widened.
inline std::vector<double> widen(const std::vector<std::byte> &elements, sparsec_dtype_t dtype) {
  std::vector<double> values(elements.size() / (dtype == SPARSEC_DTYPE_F32 ? 4 : 2));
  for (size_t index = 0; index < values.size(); ++index)
    values[index] = runtime::readElement(elements.data(), dtype, int64_t(index));
  return values;
}

} // namespace sparsec::readers

#endif // SPARSEC_TEST_UNIT_READERS_SUPPORT_H
