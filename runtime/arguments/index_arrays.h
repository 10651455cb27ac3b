// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Helpers that the checks of index arrays share.

#ifndef SPARSEC_RUNTIME_INDEX_ARRAYS_H
#define SPARSEC_RUNTIME_INDEX_ARRAYS_H

#include "operations/kernel_shape.h"
#include "status.h"

#include <vector>

namespace sparsec::runtime {

/// Messages start with the subject.
inline Status checkIndexPointer(const int32_t *pointer, bool needed, const Subject &subject, const char *member) {
  if (needed && !pointer)
    return invalidArgument(subject, ": ", member, " is NULL");
  if (reinterpret_cast<uintptr_t>(pointer) % alignof(int32_t) != 0)
    return invalidArgument(subject, ": ", member, " is not aligned to ", alignof(int32_t), " bytes");
  return {};
}

/// Which of the numbers from 0 up to `limit` were already there, with one bit per number: checks a list in linear time.
class IndexSet {
public:
  explicit IndexSet(int64_t limit) : words(ceilDivide(limit, 64)) {}

  bool contains(int32_t number) const { return words[number / 64] & bit(number); }
  /// Whether the number was not yet there.
  bool insert(int32_t number) {
    bool isNew = !contains(number);
    words[number / 64] |= bit(number);
    return isNew;
  }
  /// Removes the number, and maybe others: all that were inserted must be erased.
  void erase(int32_t number) { words[number / 64] = 0; }

private:
  static uint64_t bit(int32_t number) { return uint64_t(1) << (number % 64); }

  std::vector<uint64_t> words;
};

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_INDEX_ARRAYS_H
