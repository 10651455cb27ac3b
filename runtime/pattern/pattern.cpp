// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pattern/pattern.h"
#include "arguments/index_arrays.h"
#include "image/enum_values.h"
#include "image/launch_info_reader.h"

namespace sparsec::runtime {

std::span<const int32_t> blockList(const sparsec_pattern_t &pattern, const sparsec_block_lists_t &lists,
                                   int64_t number) {
  if (!lists.starts)
    return {};
  if (pattern.encoding == SPARSEC_PATTERN_PADDED_LISTS)
    return {lists.indices + number * pattern.capacity, size_t(lists.starts[number])};
  return {lists.indices + lists.starts[number], size_t(lists.starts[number + 1] - lists.starts[number])};
}

namespace {

/// Checks what the lists of one pattern say.
class ListChecker {
public:
  ListChecker(const sparsec_pattern_t &pattern, const Subject &subject)
      : pattern(pattern), subject(subject), partial(pattern.columns), full(pattern.columns) {}

  Status check() {
    SPARSEC_RETURN_IF_ERROR(checkStarts(pattern.partial, "partial"));
    SPARSEC_RETURN_IF_ERROR(checkStarts(pattern.full, "full"));
    for (int64_t number = 0; number < listCount(pattern); ++number)
      SPARSEC_RETURN_IF_ERROR(checkRow(number));
    return {};
  }

private:
  Status checkStarts(const sparsec_block_lists_t &lists, const char *name) const;
  Status checkRow(int64_t number);
  Status checkIndices(std::span<const int32_t> list, const sparsec_block_lists_t &lists, const char *name,
                      int64_t number, IndexSet &seen) const;

  template <typename... Pieces> Status broken(const Pieces &...pieces) const {
    return makeStatus(SPARSEC_STATUS_INVALID_PATTERN, subject, ": ", pieces...);
  }
  std::string place(int64_t number) const {
    int64_t perBatch = pattern.heads * pattern.rows;
    return "(batch " + std::to_string(number / perBatch) + ", head " +
           std::to_string(number % perBatch / pattern.rows) + ", row " + std::to_string(number % pattern.rows) + ")";
  }

  const sparsec_pattern_t &pattern;
  const Subject &subject;
  IndexSet partial, full; // key blocks of the row that is being checked
};

Status ListChecker::checkStarts(const sparsec_block_lists_t &lists, const char *name) const {
  if (!lists.starts || listCount(pattern) == 0)
    return {};
  if (pattern.encoding == SPARSEC_PATTERN_PADDED_LISTS) {
    for (int64_t i = 0; i < listCount(pattern); ++i)
      if (lists.starts[i] < 0 || lists.starts[i] > pattern.capacity)
        return broken("expects ", name, ".starts[", i, "] ", place(i), " to be 0 to the capacity, ", pattern.capacity,
                      ", but got ", lists.starts[i]);
    return {};
  }
  if (lists.starts[0] != 0)
    return broken("expects ", name, ".starts[0] to be 0, but got ", lists.starts[0]);
  for (int64_t i = 0; i < listCount(pattern); ++i)
    if (lists.starts[i + 1] < lists.starts[i] || lists.starts[i + 1] > pattern.capacity)
      return broken("expects ", name, ".starts[", i + 1, "], the end of list ", i, " ", place(i), ", to be ",
                    lists.starts[i], " to the capacity, ", pattern.capacity, ", but got ", lists.starts[i + 1]);
  return {};
}

Status ListChecker::checkRow(int64_t number) {
  auto partialList = blockList(pattern, pattern.partial, number), fullList = blockList(pattern, pattern.full, number);
  SPARSEC_RETURN_IF_ERROR(checkIndices(partialList, pattern.partial, "partial", number, partial));
  SPARSEC_RETURN_IF_ERROR(checkIndices(fullList, pattern.full, "full", number, full));
  for (const int32_t &block : fullList)
    if (partial.contains(block))
      return broken("key block ", block, " at full.indices[", &block - pattern.full.indices, "] ", place(number),
                    " is in the partial list too");
  for (int32_t block : partialList)
    partial.erase(block);
  for (int32_t block : fullList)
    full.erase(block);
  return {};
}

Status ListChecker::checkIndices(std::span<const int32_t> list, const sparsec_block_lists_t &lists, const char *name,
                                 int64_t number, IndexSet &seen) const {
  for (const int32_t &block : list) {
    int64_t index = &block - lists.indices;
    if (block < 0 || block >= pattern.columns)
      return broken("expects ", name, ".indices[", index, "] ", place(number), " to be 0 to ", pattern.columns - 1,
                    ", but got ", block);
    if (!seen.insert(block))
      return broken("key block ", block, " is repeated at ", name, ".indices[", index, "] ", place(number));
  }
  return {};
}

Status checkListPointers(const sparsec_pattern_t &pattern, const sparsec_block_lists_t &lists, const Subject &subject,
                         const char *starts, const char *indices) {
  SPARSEC_RETURN_IF_ERROR(checkIndexPointer(lists.starts, false, subject, starts));
  return checkIndexPointer(lists.indices, lists.starts && pattern.capacity != 0 && listCount(pattern) != 0, subject,
                           indices);
}

} // namespace

Status checkPatternSizes(const sparsec_pattern_t &pattern, const Subject &subject) {
  uint32_t encoding = enumValue(pattern.encoding);
  if (encoding != SPARSEC_PATTERN_INDEX_ARRAYS && encoding != SPARSEC_PATTERN_PADDED_LISTS)
    return invalidArgument(subject, ": expects encoding ", int(SPARSEC_PATTERN_INDEX_ARRAYS), " (index arrays) or ",
                           int(SPARSEC_PATTERN_PADDED_LISTS), " (padded lists), but got ", encoding);
  if (pattern.query_block < 1 || pattern.query_block > maxTile || pattern.key_block < 1 || pattern.key_block > maxTile)
    return invalidArgument(subject, ": expects blocks of 1 to ", maxTile, " queries and keys, but got ",
                           pattern.query_block, " x ", pattern.key_block);
  if (pattern.flags & ~uint32_t(SPARSEC_PATTERN_CHECK_LISTS))
    return invalidArgument(subject, ": expects flags of 0 or ", int(SPARSEC_PATTERN_CHECK_LISTS), ", but got ",
                           pattern.flags);
  struct {
    const char *name;
    int64_t value;
  } sizes[] = {{"batches", pattern.batches},
               {"heads", pattern.heads},
               {"rows", pattern.rows},
               {"columns", pattern.columns},
               {"capacity", pattern.capacity}};
  for (auto [name, value] : sizes)
    if (value < 0 || value > maxSize)
      return invalidArgument(subject, ": expects ", name, " of 0 to ", maxSize, ", but got ", value);
  int64_t lists = pattern.batches * pattern.heads, entries = 0; // batches * heads fits 62 bits
  if (__builtin_mul_overflow(lists, pattern.rows, &lists) || lists > maxSize)
    return invalidArgument(subject, ": ", pattern.batches, " batches, ", pattern.heads, " heads and ", pattern.rows,
                           " rows make more than ", maxSize, " lists");
  if (encoding == SPARSEC_PATTERN_PADDED_LISTS &&
      (__builtin_mul_overflow(lists, pattern.capacity, &entries) || entries > maxSize))
    return invalidArgument(subject, ": ", lists, " lists of capacity ", pattern.capacity, " have more than ", maxSize,
                           " entries");
  SPARSEC_RETURN_IF_ERROR(checkListPointers(pattern, pattern.partial, subject, "partial.starts", "partial.indices"));
  return checkListPointers(pattern, pattern.full, subject, "full.starts", "full.indices");
}

Status checkPatternLists(const sparsec_pattern_t &pattern, const Subject &subject) {
  return ListChecker(pattern, subject).check();
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_pattern_check(const sparsec_pattern_t *host_pattern) {
  return guarded([&]() -> Status {
    if (!host_pattern)
      return invalidArgument("host_pattern is NULL");
    constexpr Subject subject = {"pattern"};
    SPARSEC_RETURN_IF_ERROR(checkPatternSizes(*host_pattern, subject));
    return checkPatternLists(*host_pattern, subject);
  });
}
