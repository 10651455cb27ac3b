// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules for the lists of a block pattern.

#include "arguments/blocks.h"
#include "runtime_expect.h"

#include <functional>
#include <vector>

using namespace sparsec::test;

namespace {

/// 1 batch, 2 heads, 2 rows, 70 columns: more than one word of a set of columns.
struct Lists {
  std::vector<int32_t> partialStarts, partialIndices, fullStarts, fullIndices;
  sparsec_blocks_t pattern = shaped();

  static sparsec_blocks_t shaped() {
    sparsec_blocks_t blocks = sparsec_blocks_pattern(1, 2, 100, 70 * 128, 64, 128);
    blocks.capacity = 6;
    return blocks;
  }

  sparsec_status_t check() {
    pattern.partial = {partialStarts.data(), partialIndices.data()};
    pattern.full = {fullStarts.data(), fullIndices.data()};
    return sparsec_blocks_check(&pattern);
  }
};

struct IndexArrays : Lists {
  IndexArrays() {
    partialStarts = {0, 2, 2, 3, 5};
    partialIndices = {69, 0, 3, 5, 4, -77};
    fullStarts = {0, 1, 4, 4, 6};
    fullIndices = {1, 68, 0, 1, 3, 69};
  }
};

struct PaddedLists : Lists {
  PaddedLists() {
    pattern.encoding = SPARSEC_PATTERN_PADDED_LISTS;
    pattern.capacity = 3;
    partialStarts = {2, 0, 1, 2};
    partialIndices = {69, 0, -77, -77, -77, -77, 3, -77, -77, 5, 4, -77};
    fullStarts = {1, 3, 0, 2};
    fullIndices = {1, -77, -77, 68, 0, 1, -77, -77, -77, 3, 69, -77};
  }
};

TEST(BlockPattern, OrdinaryListsAreAccepted) {
  EXPECT_OK(IndexArrays().check()) << "unsorted, empty, and what lies beyond the lists is not looked at";
  EXPECT_OK(PaddedLists().check());
  IndexArrays without;
  without.partialStarts.clear();
  without.pattern.full = {nullptr, nullptr};
  without.pattern.partial = {nullptr, nullptr};
  EXPECT_OK(sparsec_blocks_check(&without.pattern)) << "no lists at all";
  sparsec_blocks_t nothing = sparsec_blocks_pattern(1, 1, 0, 0, 64, 64);
  EXPECT_OK(sparsec_blocks_check(&nothing));
}

template <typename Good> void expectBroken(const std::string &message, const std::function<void(Lists &)> &change) {
  Good lists;
  change(lists);
  EXPECT_STATUS(lists.check(), SPARSEC_STATUS_INVALID_PATTERN, message);
}

TEST(BlockPattern, BrokenIndexArraysAreNamed) {
  auto broken = expectBroken<IndexArrays>;
  broken("blocks: expects partial.starts[0] to be 0, but got 1", [](auto &l) { l.partialStarts[0] = 1; });
  broken("expects full.starts[0] to be 0, but got -1", [](auto &l) { l.fullStarts[0] = -1; });
  broken("expects partial.starts[2], the end of list 1 (batch 0, head 0, block row 1), to be 2 to the capacity, 6, but "
         "got 1",
         [](auto &l) { l.partialStarts[2] = 1; });
  broken(
      "expects full.starts[4], the end of list 3 (batch 0, head 1, block row 1), to be 4 to the capacity, 6, but got 7",
      [](auto &l) { l.fullStarts[4] = 7; });
  broken("expects partial.indices[2] (batch 0, head 1, block row 0) to be 0 to 69, but got 70",
         [](auto &l) { l.partialIndices[2] = 70; });
  broken("expects full.indices[4] (batch 0, head 1, block row 1) to be 0 to 69, but got -1",
         [](auto &l) { l.fullIndices[4] = -1; });
  broken("block column 69 is repeated at partial.indices[1] (batch 0, head 0, block row 0)",
         [](auto &l) { l.partialIndices[1] = 69; });
  broken("block column 68 is repeated at full.indices[3] (batch 0, head 0, block row 1)",
         [](auto &l) { l.fullIndices[3] = 68; });
  broken("block column 4 at full.indices[5] (batch 0, head 1, block row 1) is in the partial list too",
         [](auto &l) { l.fullIndices[5] = 4; });
}

TEST(BlockPattern, BrokenPaddedListsAreNamed) {
  auto broken = expectBroken<PaddedLists>;
  broken("blocks: expects partial.starts[3] (batch 0, head 1, block row 1) to be 0 to the capacity, 3, but got 4",
         [](auto &l) { l.partialStarts[3] = 4; });
  broken("expects full.starts[0] (batch 0, head 0, block row 0) to be 0 to the capacity, 3, but got -1",
         [](auto &l) { l.fullStarts[0] = -1; });
  broken("expects partial.indices[2] (batch 0, head 0, block row 0) to be 0 to 69, but got -77",
         [](auto &l) { l.partialStarts[0] = 3; });
  broken("block column 68 is repeated at full.indices[5] (batch 0, head 0, block row 1)",
         [](auto &l) { l.fullIndices[5] = 68; });
  broken("block column 5 at full.indices[10] (batch 0, head 1, block row 1) is in the partial list too",
         [](auto &l) { l.fullIndices[10] = 5; });
}

TEST(BlockPattern, PlacesOfSeveralBatchesAreNamed) {
  PaddedLists lists; // the same four lists, as 2 batches of 1 head
  lists.pattern.batches = 2;
  lists.pattern.heads = 1;
  EXPECT_OK(lists.check());
  lists.partialIndices[6] = 99;
  EXPECT_STATUS(lists.check(), SPARSEC_STATUS_INVALID_PATTERN,
                "expects partial.indices[6] (batch 1, head 0, block row 0) to be 0 to 69, but got 99");
}

TEST(BlockPattern, BrokenSizesAreNamed) {
  struct {
    const char *message;
    std::function<void(sparsec_blocks_t &)> change;
  } cases[] = {
      {"blocks: expects encoding 1 (index arrays) or 2 (padded lists), but got 0",
       [](auto &p) { p.encoding = sparsec_pattern_encoding_t(0); }},
      {"expects blocks of 1 to 65536 rows and columns, but got 0 x 128", [](auto &p) { p.block_rows = 0; }},
      {"but got 64 x 65537", [](auto &p) { p.block_columns = 65537; }},
      {"expects batches of 0 to 2147418111, but got -1", [](auto &p) { p.batches = -1; }},
      {"expects heads of 0 to 2147418111, but got 2147418112", [](auto &p) { p.heads = 2147418112; }},
      {"expects rows of 0 to", [](auto &p) { p.rows = -1; }},
      {"expects columns of 0 to", [](auto &p) { p.columns = -1; }},
      {"2147418111 batches, 2147418111 heads and 33553408 block rows make more than 2147418111 lists",
       [](auto &p) { p.batches = p.heads = p.rows = 2147418111; }},
      {"4 lists of capacity 2147418111 have more than 2147418111 entries",
       [](auto &p) { p.encoding = SPARSEC_PATTERN_PADDED_LISTS, p.capacity = 2147418111; }},
  };
  for (auto &[message, change] : cases) {
    IndexArrays lists;
    change(lists.pattern);
    EXPECT_STATUS(lists.check(), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  }
  EXPECT_STATUS(sparsec_blocks_check(nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "host_blocks is NULL");
}

/// 3 block rows of 16 in 40 rows, 4 block columns of 32 in 100 columns.
struct Matrix {
  std::vector<int32_t> rowPtr = {0, 2, 2, 5}, colIdx = {3, 0, 1, 0, 2};
  sparsec_blocks_t blocks = sparsec_blocks_bsr(40, 100, 16, 32, 5, nullptr, nullptr, SPARSEC_DTYPE_BF16, nullptr);

  sparsec_status_t check() {
    blocks.full = {rowPtr.data(), colIdx.data()};
    return sparsec_blocks_check(&blocks);
  }
};

TEST(BsrMatrix, OrdinaryOnesAreAccepted) {
  EXPECT_OK(Matrix().check()) << "unsorted columns, an empty row, edges that are not multiples";
  Matrix empty;
  empty.rowPtr = {0, 0, 0, 0};
  empty.colIdx = {};
  empty.blocks.capacity = 0;
  EXPECT_OK(empty.check());
  Matrix roomy;
  roomy.blocks.capacity = 9;
  EXPECT_OK(roomy.check()) << "more room than blocks";
}

TEST(BsrMatrix, ColumnsOfOneRowMayComeAgainInTheNext) {
  // More than 64 block columns, so that more than one word of the set is used.
  Matrix wide;
  wide.blocks.columns = 200 * 32;
  wide.colIdx = {3, 130, 130, 3, 199};
  EXPECT_OK(wide.check());
}

TEST(BsrMatrix, BrokenRulesAreNamed) {
  struct {
    const char *message;
    std::function<void(Matrix &)> change;
  } cases[] = {
      {"blocks: expects full.starts[0] to be 0, but got 1", [](auto &p) { p.rowPtr[0] = 1; }},
      {"expects full.starts[2], the end of list 1 (block row 1), to be 2 to the capacity, 5, but got 1",
       [](auto &p) { p.rowPtr[2] = 1; }},
      {"expects full.starts[3], the end of list 2 (block row 2), to be 2 to the capacity, 5, but got 6",
       [](auto &p) { p.rowPtr[3] = 6; }},
      {"the end of list 0 (block row 0), to be 0 to the capacity, 5, but got -2", [](auto &p) { p.rowPtr[1] = -2; }},
      {"expects full.indices[3] (block row 2) to be 0 to 3, but got 4", [](auto &p) { p.colIdx[3] = 4; }},
      {"expects full.indices[0] (block row 0) to be 0 to 3, but got -1", [](auto &p) { p.colIdx[0] = -1; }},
      {"block column 1 is repeated at full.indices[4] (block row 2)", [](auto &p) { p.colIdx[4] = 1; }},
  };
  for (auto &[message, change] : cases) {
    Matrix matrix;
    change(matrix);
    EXPECT_STATUS(matrix.check(), SPARSEC_STATUS_INVALID_PATTERN, message);
  }
}

/// Structs that a caller of another version passes.
TEST(BlockPattern, SizeOfTheStruct) {
  struct {
    Matrix known;
    uint64_t later = 0xffffffffffffffff;
  } larger;
  larger.known.blocks.size = sizeof(sparsec_blocks_t) + sizeof(uint64_t);
  EXPECT_OK(larger.known.check());
  for (size_t size : {size_t(0), sizeof(sparsec_blocks_t) - 1}) {
    Matrix smaller;
    smaller.blocks.size = size;
    EXPECT_STATUS(smaller.check(), SPARSEC_STATUS_INVALID_ARGUMENT,
                  "blocks: expects a size of at least 112 bytes, but got " + std::to_string(size));
  }
}

TEST(BlockPattern, ChecksumIsThatOfWhatTheListsSay) {
  auto checksumOf = [](auto lists) {
    EXPECT_OK(lists.check());
    return sparsec::runtime::listChecksum(lists.pattern);
  };
  const uint32_t checksum = checksumOf(IndexArrays());
  EXPECT_EQ(checksumOf(PaddedLists()), checksum);
  IndexArrays changed;
  changed.partialIndices[5] = 12;
  EXPECT_EQ(checksumOf(changed), checksum) << "beyond the lists";
  changed = IndexArrays();
  std::swap(changed.fullIndices[1], changed.fullIndices[2]);
  EXPECT_NE(checksumOf(changed), checksum) << "values have the order of the blocks";
  changed = IndexArrays();
  changed.fullStarts[1] = 2;
  EXPECT_NE(checksumOf(changed), checksum) << "the same blocks in other rows";
  changed = IndexArrays();
  std::swap(changed.fullStarts, changed.partialStarts);
  std::swap(changed.fullIndices, changed.partialIndices);
  EXPECT_NE(checksumOf(changed), checksum);
}

} // namespace
