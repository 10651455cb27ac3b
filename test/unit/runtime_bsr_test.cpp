// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of a block-sparse pattern.

#include "runtime_expect.h"

#include <functional>
#include <vector>

using namespace sparsec::test;

namespace {

/// 3 block rows of 16 in 40 rows, 4 block columns of 32 in 100 columns.
struct Pattern {
  std::vector<int32_t> rowPtr = {0, 2, 2, 5}, colIdx = {3, 0, 1, 0, 2};
  sparsec_bsr_t bsr = {40, 100, 5, 16, 32, SPARSEC_DTYPE_BF16, nullptr, nullptr, nullptr};

  sparsec_status_t check() {
    bsr.row_ptr = rowPtr.data();
    bsr.col_idx = colIdx.data();
    return sparsec_bsr_check(&bsr);
  }
};

TEST(BsrPattern, OrdinaryPatternsAreAccepted) {
  EXPECT_OK(Pattern().check()) << "unsorted columns, an empty row, edges that are not multiples";
  Pattern empty;
  empty.rowPtr = {0, 0, 0, 0};
  empty.colIdx = {};
  empty.bsr.block_count = 0;
  EXPECT_OK(empty.check());
  sparsec_bsr_t nothing = {0, 0, 0, 16, 16, SPARSEC_DTYPE_BF16, nullptr, nullptr, nullptr};
  EXPECT_OK(sparsec_bsr_check(&nothing));
}

TEST(BsrPattern, ColumnsOfOneRowMayComeAgainInTheNext) {
  // More than 64 block columns, so that more than one word of the set is used.
  Pattern wide;
  wide.bsr.columns = 200 * 32;
  wide.colIdx = {3, 130, 130, 3, 199};
  EXPECT_OK(wide.check());
}

TEST(BsrPattern, BrokenRulesAreNamed) {
  struct {
    const char *message;
    std::function<void(Pattern &)> change;
  } cases[] = {
      {"pattern: expects row_ptr[0] to be 0, but got 1", [](auto &p) { p.rowPtr[0] = 1; }},
      {"expects an ascending row_ptr, but row_ptr[2] is 1 and row_ptr[1] is 2", [](auto &p) { p.rowPtr[2] = 1; }},
      {"expects row_ptr[3] to be the block_count, 5, but got 4", [](auto &p) { p.rowPtr[3] = 4; }},
      {"expects row_ptr[3] to be the block_count, 5, but got 6", [](auto &p) { p.rowPtr[3] = 6; }},
      {"row_ptr[1] is -2 and row_ptr[0] is 0", [](auto &p) { p.rowPtr[1] = -2; }},
      {"expects col_idx[3] (block row 2) to be 0 to 3, but got 4", [](auto &p) { p.colIdx[3] = 4; }},
      {"expects col_idx[0] (block row 0) to be 0 to 3, but got -1", [](auto &p) { p.colIdx[0] = -1; }},
      {"block column 1 is repeated in block row 2 at col_idx[4]", [](auto &p) { p.colIdx[4] = 1; }},
  };
  for (auto &[message, change] : cases) {
    Pattern pattern;
    change(pattern);
    EXPECT_STATUS(pattern.check(), SPARSEC_STATUS_INVALID_PATTERN, message);
  }
}

TEST(BsrPattern, BrokenSizesAreNamed) {
  struct {
    const char *message;
    std::function<void(Pattern &)> change;
  } cases[] = {
      {"blocks of 1 to 65536 rows and columns, but got 0 x 32", [](auto &p) { p.bsr.block_rows = 0; }},
      {"but got 16 x 65537", [](auto &p) { p.bsr.block_columns = 65537; }},
      {"but got -40 x 100", [](auto &p) { p.bsr.rows = -40; }},
      {"but got 40 x 9223372036854775807", [](auto &p) { p.bsr.columns = INT64_MAX; }},
      {"expects a block_count of 0 to 12, but got 13", [](auto &p) { p.bsr.block_count = 13; }},
  };
  for (auto &[message, change] : cases) {
    Pattern pattern;
    change(pattern);
    EXPECT_STATUS(pattern.check(), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  }
  EXPECT_STATUS(sparsec_bsr_check(nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "host_pattern is NULL");
  sparsec_bsr_t bsr = Pattern().bsr;
  EXPECT_STATUS(sparsec_bsr_check(&bsr), SPARSEC_STATUS_INVALID_ARGUMENT, "pattern: row_ptr is NULL");
}

} // namespace
