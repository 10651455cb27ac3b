// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DLMC patterns, and blocks made of them.

#include "pattern.h"
#include "readers_support.h"

using namespace sparsec::readers;
using testing::Values;

namespace {

TEST(PatternTest, ReadsAPattern) {
  Pattern pattern = valueOf(readPattern(corpusFile("pattern/good.smtx"), "good.smtx"));
  EXPECT_EQ(pattern.rows, 3);
  EXPECT_EQ(pattern.columns, 4);
  EXPECT_EQ(pattern.rowPtr, (std::vector<int32_t>{0, 2, 2, 5}));
  EXPECT_EQ(pattern.colIdx, (std::vector<int32_t>{0, 2, 3, 1, 0}));
}

TEST(PatternTest, ReadsEmptyPatterns) {
  Pattern pattern = valueOf(readPattern("2, 7, 0\n0 0 0", "empty.smtx"));
  EXPECT_EQ(pattern.rowPtr, (std::vector<int32_t>{0, 0, 0}));
  EXPECT_TRUE(pattern.colIdx.empty());
  EXPECT_EQ(valueOf(readPattern("0, 0, 0\n0\n\n", "none.smtx")).rowPtr, (std::vector<int32_t>{0}));
}

TEST(PatternTest, AcceptsWindowsLineEnds) {
  EXPECT_EQ(valueOf(readPattern("1, 2, 1\r\n0 1\r\n1\r\n", "a.smtx")).colIdx, (std::vector<int32_t>{1}));
}

struct BadPattern {
  const char *text, *message;
};
class BadPatternTest : public testing::TestWithParam<BadPattern> {};

TEST_P(BadPatternTest, IsRefused) { EXPECT_EQ(messageOf(readPattern(GetParam().text, "a.smtx")), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(
    Texts, BadPatternTest,
    Values(
        BadPattern{"", "a.smtx:1: expects an integer as the number of rows, but got nothing"},
        BadPattern{"3, x", "a.smtx:1: expects an integer as the number of columns, but got 'x'"},
        BadPattern{"3, 4", "a.smtx:1: expects an integer as the number of nonzeros, but got nothing"},
        BadPattern{"-3, 4, 0", "a.smtx:1: expects the number of rows in 0 to 2147483647, but got -3"},
        BadPattern{"2147483648, 4, 0", "a.smtx:1: expects the number of rows in 0 to 2147483647, but got 2147483648"},
        BadPattern{"99999999999999999999, 4, 0",
                   "a.smtx:1: expects the number of rows in 0 to 2147483647, but got 99999999999999999999"},
        BadPattern{"1, 1, 0, 7\n0 0",
                   "a.smtx:1: expects the end of the line after rows, columns, nonzeros, but got '7'"},
        BadPattern{"2147483647, 1, 0\n0 0\n",
                   "a.smtx:2: expects 2147483648 row offsets, but the line has only 3 characters"},
        BadPattern{"1, 1, 1\n0    \n0", "a.smtx:2: expects an integer as a row offset, but got nothing"},
        BadPattern{"1, 1, 1\n0 1 1\n0", "a.smtx:2: expects the end of the line after 2 row offsets, but got '1'"},
        BadPattern{"1, 1, 1\n0 2\n0", "a.smtx:2: expects a row offset in 0 to 1, but got 2"},
        BadPattern{"1, 1, 1\n1 1\n0", "a.smtx:2: expects row offset 0 to be 0, but got 1"},
        BadPattern{"2, 2, 2\n0 2 1\n0 1", "a.smtx:2: expects ascending row offsets, but got 2 and 1 for rows 1 and 2"},
        BadPattern{"1, 2, 2\n0 1\n0 1",
                   "a.smtx:2: expects the last row offset to be the number of nonzeros, 2, but got 1"},
        BadPattern{"1, 2, 2\n0 2\n0", "a.smtx:3: expects 2 column indices, but the line has only 1 characters"},
        BadPattern{"1, 2, 1\n0 1\n2", "a.smtx:3: expects a column index in 0 to 1, but got 2"},
        BadPattern{"1, 2, 1\n0 1\n0\n5", "a.smtx:4: expects the end of the line after the column indices, but got '5'"},
        BadPattern{"1, 2, 1\n0 1\n\x01", "a.smtx:3: expects an integer as a column index, but got '\\x01'"}));

TEST(ExpandPatternTest, EveryNonzeroBecomesABlock) {
  Pattern pattern = valueOf(readPattern(corpusFile("pattern/good.smtx"), "good.smtx"));
  BlockFormat format = {16, 32, SPARSEC_DTYPE_BF16};
  BlockMatrix matrix = valueOf(expandPattern(pattern, format, /*seed=*/3, Limits()));
  EXPECT_EQ(matrix.rows, 48);
  EXPECT_EQ(matrix.columns, 128);
  EXPECT_EQ(matrix.blockCount(), 5);
  EXPECT_EQ(matrix.nonzeros, 5 * 16 * 32);
  std::vector<double> values = widen(matrix.values, SPARSEC_DTYPE_BF16);
  ASSERT_EQ(values.size(), size_t(5 * 16 * 32));
  double sum = 0.0;
  for (double value : values) {
    ASSERT_LE(std::abs(value), 1.0);
    sum += value;
  }
  // The mean of 2560 numbers uniform in [-1, 1) has a standard deviation of 0.011.
  EXPECT_NEAR(sum / double(values.size()), 0.0, 0.06);
  EXPECT_EQ(valueOf(expandPattern(pattern, format, 3, Limits())).values, matrix.values);
  EXPECT_NE(valueOf(expandPattern(pattern, format, 4, Limits())).values, matrix.values);
}

TEST(ExpandPatternTest, RefusesSizesBeyond32Bits) {
  Pattern pattern;
  pattern.rows = 1;
  pattern.columns = int64_t(1) << 28;
  pattern.rowPtr = {0, 0};
  EXPECT_EQ(messageOf(expandPattern(pattern, {16, 16, SPARSEC_DTYPE_F16}, 1, Limits())),
            "expects at most 2147483647 rows and columns, but got 1 x 268435456 blocks of 16 x 16");
}

TEST(ExpandPatternTest, RefusesMoreThanTheLimit) {
  Pattern pattern = valueOf(readPattern(corpusFile("pattern/good.smtx"), "good.smtx"));
  EXPECT_EQ(messageOf(expandPattern(pattern, {16, 16, SPARSEC_DTYPE_F16}, 1, Limits{5 * 512 - 1})),
            "expects at most 2559 bytes of elements, but got 1280 elements of 2 bytes");
}

TEST(ExpandPatternTest, RefusesElementTypesWithoutSupport) {
  Pattern pattern = valueOf(readPattern(corpusFile("pattern/good.smtx"), "good.smtx"));
  EXPECT_EQ(messageOf(expandPattern(pattern, {16, 16, SPARSEC_DTYPE_I32}, 1, Limits())),
            "expects a floating-point element type");
}

} // namespace
