// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "arguments/blocks.h"
#include "arguments/index_arrays.h"
#include "arguments/memory_check.h"
#include "image/checksum.h"
#include "image/enum_values.h"
#include "image/launch_info_reader.h"

#include <utility>

namespace sparsec::runtime {

std::span<const int32_t> blockList(const sparsec_blocks_t &blocks, const sparsec_block_lists_t &lists, int64_t number) {
  if (!lists.starts)
    return {};
  if (blocks.encoding == SPARSEC_PATTERN_PADDED_LISTS)
    return {lists.indices + number * blocks.capacity, size_t(lists.starts[number])};
  return {lists.indices + lists.starts[number], size_t(lists.starts[number + 1] - lists.starts[number])};
}

namespace {

/// Checks what the lists of one pattern say.
class ListChecker {
public:
  ListChecker(const sparsec_blocks_t &blocks, const Subject &subject)
      : blocks(blocks), subject(subject), rows(blockRowCount(blocks)), columns(blockColumnCount(blocks)),
        lists(listCount(blocks)), partial(columns), full(columns) {}

  Status check() {
    SPARSEC_RETURN_IF_ERROR(checkStarts(blocks.partial, "partial"));
    SPARSEC_RETURN_IF_ERROR(checkStarts(blocks.full, "full"));
    for (int64_t number = 0; number < lists; ++number)
      SPARSEC_RETURN_IF_ERROR(checkRow(number));
    return {};
  }

private:
  Status checkStarts(const sparsec_block_lists_t &arrays, const char *name) const;
  Status checkRow(int64_t number);
  Status checkIndices(std::span<const int32_t> list, const sparsec_block_lists_t &arrays, const char *name,
                      int64_t number, IndexSet &seen) const;

  template <typename... Pieces> Status broken(const Pieces &...pieces) const {
    return makeStatus(SPARSEC_STATUS_INVALID_PATTERN, subject, ": ", pieces...);
  }
  std::string place(int64_t number) const {
    std::string row = "block row " + std::to_string(number % rows) + ")";
    if (blocks.batches == 1 && blocks.heads == 1)
      return "(" + row;
    int64_t perBatch = blocks.heads * rows;
    return "(batch " + std::to_string(number / perBatch) + ", head " + std::to_string(number % perBatch / rows) + ", " +
           row;
  }

  const sparsec_blocks_t &blocks;
  const Subject &subject;
  const int64_t rows, columns, lists;
  IndexSet partial, full; // block columns of the row that is being checked
};

Status ListChecker::checkStarts(const sparsec_block_lists_t &arrays, const char *name) const {
  const int32_t *starts = arrays.starts;
  if (!starts || lists == 0)
    return {};
  if (blocks.encoding == SPARSEC_PATTERN_PADDED_LISTS) {
    for (int64_t i = 0; i < lists; ++i)
      if (starts[i] < 0 || starts[i] > blocks.capacity)
        return broken("expects ", name, ".starts[", i, "] ", place(i), " to be 0 to the capacity, ", blocks.capacity,
                      ", but got ", starts[i]);
    return {};
  }
  if (starts[0] != 0)
    return broken("expects ", name, ".starts[0] to be 0, but got ", starts[0]);
  for (int64_t i = 0; i < lists; ++i)
    if (starts[i + 1] < starts[i] || starts[i + 1] > blocks.capacity)
      return broken("expects ", name, ".starts[", i + 1, "], the end of list ", i, " ", place(i), ", to be ", starts[i],
                    " to the capacity, ", blocks.capacity, ", but got ", starts[i + 1]);
  return {};
}

Status ListChecker::checkRow(int64_t number) {
  auto partialList = blockList(blocks, blocks.partial, number), fullList = blockList(blocks, blocks.full, number);
  SPARSEC_RETURN_IF_ERROR(checkIndices(partialList, blocks.partial, "partial", number, partial));
  SPARSEC_RETURN_IF_ERROR(checkIndices(fullList, blocks.full, "full", number, full));
  for (const int32_t &block : fullList)
    if (partial.contains(block))
      return broken("block column ", block, " at full.indices[", &block - blocks.full.indices, "] ", place(number),
                    " is in the partial list too");
  for (int32_t block : partialList)
    partial.erase(block);
  for (int32_t block : fullList)
    full.erase(block);
  return {};
}

Status ListChecker::checkIndices(std::span<const int32_t> list, const sparsec_block_lists_t &arrays, const char *name,
                                 int64_t number, IndexSet &seen) const {
  for (const int32_t &block : list) {
    int64_t index = &block - arrays.indices;
    if (block < 0 || block >= columns)
      return broken("expects ", name, ".indices[", index, "] ", place(number), " to be 0 to ", columns - 1,
                    ", but got ", block);
    if (!seen.insert(block))
      return broken("block column ", block, " is repeated at ", name, ".indices[", index, "] ", place(number));
  }
  return {};
}

Status checkListPointers(const sparsec_blocks_t &blocks, const sparsec_block_lists_t &lists, const Subject &subject,
                         const char *starts, const char *indices) {
  SPARSEC_RETURN_IF_ERROR(checkIndexPointer(lists.starts, false, subject, starts));
  return checkIndexPointer(lists.indices, lists.starts && blocks.capacity != 0 && listCount(blocks) != 0, subject,
                           indices);
}

Status checkBlockSizes(const sparsec_blocks_t &blocks, const Subject &subject) {
  if (blocks.block_rows < 1 || blocks.block_rows > maxTile || blocks.block_columns < 1 ||
      blocks.block_columns > maxTile)
    return invalidArgument(subject, ": expects blocks of 1 to ", maxTile, " rows and columns, but got ",
                           blocks.block_rows, " x ", blocks.block_columns);
  struct {
    const char *name;
    int64_t value;
  } sizes[] = {{"batches", blocks.batches},
               {"heads", blocks.heads},
               {"rows", blocks.rows},
               {"columns", blocks.columns},
               {"capacity", blocks.capacity}};
  for (auto [name, value] : sizes)
    if (value < 0 || value > maxSize)
      return invalidArgument(subject, ": expects ", name, " of 0 to ", maxSize, ", but got ", value);
  int64_t lists = blocks.batches * blocks.heads, entries = 0; // batches * heads fits 62 bits
  if (__builtin_mul_overflow(lists, blockRowCount(blocks), &lists) || lists > maxSize)
    return invalidArgument(subject, ": ", blocks.batches, " batches, ", blocks.heads, " heads and ",
                           blockRowCount(blocks), " block rows make more than ", maxSize, " lists");
  if (blocks.encoding == SPARSEC_PATTERN_PADDED_LISTS &&
      (__builtin_mul_overflow(lists, blocks.capacity, &entries) || entries > maxSize))
    return invalidArgument(subject, ": ", lists, " lists of capacity ", blocks.capacity, " have more than ", maxSize,
                           " entries");
  return {};
}

} // namespace

Status checkBlocks(const sparsec_blocks_t &blocks, const Subject &subject) {
  SPARSEC_RETURN_IF_ERROR(checkStructSize(blocks, subject));
  uint32_t encoding = enumValue(blocks.encoding);
  if (encoding != SPARSEC_PATTERN_INDEX_ARRAYS && encoding != SPARSEC_PATTERN_PADDED_LISTS)
    return invalidArgument(subject, ": expects encoding ", int(SPARSEC_PATTERN_INDEX_ARRAYS), " (index arrays) or ",
                           int(SPARSEC_PATTERN_PADDED_LISTS), " (padded lists), but got ", encoding);
  if (blocks.flags & ~uint32_t(SPARSEC_BLOCKS_CHECK_LISTS))
    return invalidArgument(subject, ": expects flags of 0 or ", int(SPARSEC_BLOCKS_CHECK_LISTS), ", but got ",
                           blocks.flags);
  SPARSEC_RETURN_IF_ERROR(checkBlockSizes(blocks, subject));
  SPARSEC_RETURN_IF_ERROR(checkListPointers(blocks, blocks.full, subject, "full.starts", "full.indices"));
  return checkListPointers(blocks, blocks.partial, subject, "partial.starts", "partial.indices");
}

Status checkBlockLists(const sparsec_blocks_t &blocks, const Subject &subject) {
  return ListChecker(blocks, subject).check();
}

uint32_t listChecksum(const sparsec_blocks_t &blocks) {
  uint32_t checksum = 0;
  auto add = [&](const void *data, size_t bytes) {
    checksum = crc32(static_cast<const uint8_t *>(data), bytes, checksum);
  };
  for (const sparsec_block_lists_t *lists : {&blocks.full, &blocks.partial})
    for (int64_t number = 0; number < listCount(blocks); ++number) {
      const std::span<const int32_t> list = blockList(blocks, *lists, number);
      const uint64_t size = list.size();
      add(&size, sizeof(size));
      add(list.data(), list.size_bytes());
    }
  return checksum;
}

Status ListCopies::download(const Device &device, const Subject &subject, sparsec_blocks_t &blocks, void *stream) {
  if (device.isHost() || listCount(blocks) == 0)
    return {};
  SPARSEC_RETURN_IF_ERROR(checkListMemory(device, subject, blocks));
  auto copy = [&](size_t count, const int32_t *&array) {
    std::vector<int32_t> &target = copies.emplace_back(count);
    const int32_t *source = std::exchange(array, target.data());
    return device.downloadAsync(target.data(), source, count * sizeof(int32_t), stream);
  };
  for (sparsec_block_lists_t *each : {&blocks.full, &blocks.partial}) {
    if (!each->starts)
      continue;
    SPARSEC_RETURN_IF_ERROR(copy(startCount(blocks), each->starts));
    SPARSEC_RETURN_IF_ERROR(copy(indexCount(blocks), each->indices));
  }
  return device.synchronize(stream);
}

} // namespace sparsec::runtime

using namespace sparsec::runtime;

sparsec_status_t sparsec_blocks_check(const sparsec_blocks_t *host_blocks) {
  return guarded([&]() -> Status {
    if (!host_blocks)
      return invalidArgument("host_blocks is NULL");
    constexpr Subject subject = {"blocks"};
    SPARSEC_RETURN_IF_ERROR(checkBlocks(*host_blocks, subject));
    return checkBlockLists(*host_blocks, subject);
  });
}
