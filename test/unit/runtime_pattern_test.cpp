// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules for the lists of a block pattern.

#include "runtime_expect.h"

#include <functional>
#include <vector>

using namespace sparsec::test;

namespace {

/// 1 batch, 2 heads, 2 rows, 70 columns: more than one word of a set of columns.
struct Lists {
  std::vector<int32_t> partialStarts, partialIndices, fullStarts, fullIndices;
  sparsec_pattern_t pattern = {SPARSEC_PATTERN_INDEX_ARRAYS, 64, 128, 1, 2, 2, 70, 6, {}, {}, 0};

  sparsec_status_t check() {
    pattern.partial = {partialStarts.data(), partialIndices.data()};
    pattern.full = {fullStarts.data(), fullIndices.data()};
    return sparsec_pattern_check(&pattern);
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
  EXPECT_OK(sparsec_pattern_check(&without.pattern)) << "no lists at all";
  sparsec_pattern_t nothing = {SPARSEC_PATTERN_INDEX_ARRAYS, 64, 64, 1, 1, 0, 0, 0, {}, {}, 0};
  EXPECT_OK(sparsec_pattern_check(&nothing));
}

template <typename Good> void expectBroken(const std::string &message, const std::function<void(Lists &)> &change) {
  Good lists;
  change(lists);
  EXPECT_STATUS(lists.check(), SPARSEC_STATUS_INVALID_PATTERN, message);
}

TEST(BlockPattern, BrokenIndexArraysAreNamed) {
  auto broken = expectBroken<IndexArrays>;
  broken("pattern: expects partial.starts[0] to be 0, but got 1", [](auto &l) { l.partialStarts[0] = 1; });
  broken("expects full.starts[0] to be 0, but got -1", [](auto &l) { l.fullStarts[0] = -1; });
  broken("expects partial.starts[2], the end of list 1 (batch 0, head 0, row 1), to be 2 to the capacity, 6, but got 1",
         [](auto &l) { l.partialStarts[2] = 1; });
  broken("expects full.starts[4], the end of list 3 (batch 0, head 1, row 1), to be 4 to the capacity, 6, but got 7",
         [](auto &l) { l.fullStarts[4] = 7; });
  broken("expects partial.indices[2] (batch 0, head 1, row 0) to be 0 to 69, but got 70",
         [](auto &l) { l.partialIndices[2] = 70; });
  broken("expects full.indices[4] (batch 0, head 1, row 1) to be 0 to 69, but got -1",
         [](auto &l) { l.fullIndices[4] = -1; });
  broken("key block 69 is repeated at partial.indices[1] (batch 0, head 0, row 0)",
         [](auto &l) { l.partialIndices[1] = 69; });
  broken("key block 68 is repeated at full.indices[3] (batch 0, head 0, row 1)",
         [](auto &l) { l.fullIndices[3] = 68; });
  broken("key block 4 at full.indices[5] (batch 0, head 1, row 1) is in the partial list too",
         [](auto &l) { l.fullIndices[5] = 4; });
}

TEST(BlockPattern, BrokenPaddedListsAreNamed) {
  auto broken = expectBroken<PaddedLists>;
  broken("pattern: expects partial.starts[3] (batch 0, head 1, row 1) to be 0 to the capacity, 3, but got 4",
         [](auto &l) { l.partialStarts[3] = 4; });
  broken("expects full.starts[0] (batch 0, head 0, row 0) to be 0 to the capacity, 3, but got -1",
         [](auto &l) { l.fullStarts[0] = -1; });
  broken("expects partial.indices[2] (batch 0, head 0, row 0) to be 0 to 69, but got -77",
         [](auto &l) { l.partialStarts[0] = 3; });
  broken("key block 68 is repeated at full.indices[5] (batch 0, head 0, row 1)",
         [](auto &l) { l.fullIndices[5] = 68; });
  broken("key block 5 at full.indices[10] (batch 0, head 1, row 1) is in the partial list too",
         [](auto &l) { l.fullIndices[10] = 5; });
}

TEST(BlockPattern, PlacesOfSeveralBatchesAreNamed) {
  PaddedLists lists; // the same four lists, as 2 batches of 1 head
  lists.pattern.batches = 2;
  lists.pattern.heads = 1;
  EXPECT_OK(lists.check());
  lists.partialIndices[6] = 99;
  EXPECT_STATUS(lists.check(), SPARSEC_STATUS_INVALID_PATTERN,
                "expects partial.indices[6] (batch 1, head 0, row 0) to be 0 to 69, but got 99");
}

TEST(BlockPattern, BrokenSizesAreNamed) {
  struct {
    const char *message;
    std::function<void(sparsec_pattern_t &)> change;
  } cases[] = {
      {"pattern: expects encoding 1 (index arrays) or 2 (padded lists), but got 0",
       [](auto &p) { p.encoding = sparsec_pattern_encoding_t(0); }},
      {"expects blocks of 1 to 65536 queries and keys, but got 0 x 128", [](auto &p) { p.query_block = 0; }},
      {"but got 64 x 65537", [](auto &p) { p.key_block = 65537; }},
      {"expects batches of 0 to 2147418111, but got -1", [](auto &p) { p.batches = -1; }},
      {"expects heads of 0 to 2147418111, but got 2147418112", [](auto &p) { p.heads = 2147418112; }},
      {"expects rows of 0 to", [](auto &p) { p.rows = -1; }},
      {"expects columns of 0 to", [](auto &p) { p.columns = -1; }},
      {"2147418111 batches, 2147418111 heads and 2147418111 rows make more than 2147418111 lists",
       [](auto &p) { p.batches = p.heads = p.rows = 2147418111; }},
      {"4 lists of capacity 2147418111 have more than 2147418111 entries",
       [](auto &p) { p.encoding = SPARSEC_PATTERN_PADDED_LISTS, p.capacity = 2147418111; }},
  };
  for (auto &[message, change] : cases) {
    IndexArrays lists;
    change(lists.pattern);
    EXPECT_STATUS(lists.check(), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  }
  EXPECT_STATUS(sparsec_pattern_check(nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "host_pattern is NULL");
}

} // namespace
