// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The error bound of sparsec-run --check, and which rows it checks.

#include "check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sparsec;
using namespace sparsec::run;

namespace {

const runtime::FloatFormat half = *runtime::getFloatFormat(SPARSEC_DTYPE_F16);
constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

TEST(ErrorBoundTest, AllowsTwoUnitsInTheLastPlace) {
  const double unit = std::ldexp(1.0, -10); // of f16 in [1, 2)
  EXPECT_TRUE(isWithinBound(1.5 + 2 * unit, 1.5, 0.0, half));
  EXPECT_TRUE(isWithinBound(1.5 - 2 * unit, 1.5, 0.0, half));
  EXPECT_FALSE(isWithinBound(1.5 + 3 * unit, 1.5, 0.0, half));
  EXPECT_FALSE(isWithinBound(-1.5, 1.5, 0.0, half));
}

TEST(ErrorBoundTest, AllowsAMillionthOfTheMagnitude) {
  EXPECT_TRUE(isWithinBound(0.9e-3, 0.0, 1000.0, half));
  EXPECT_FALSE(isWithinBound(1.1e-3, 0.0, 1000.0, half));
}

TEST(ErrorBoundTest, NeverWrittenElementsAreWrong) {
  EXPECT_FALSE(isWithinBound(nan, 1.0, 1e30, half));
  EXPECT_TRUE(isWithinBound(nan, nan, 0.0, half));
  EXPECT_FALSE(isWithinBound(1.0, nan, 1e30, half));
}

TEST(ErrorBoundTest, InfinitiesMustBeEarned) {
  EXPECT_TRUE(isWithinBound(infinity, infinity, 0.0, half));
  EXPECT_FALSE(isWithinBound(65504.0, infinity, 1e30, half));
  EXPECT_TRUE(isWithinBound(infinity, 65520.0, 0.0, half)); // rounds to infinity
  EXPECT_TRUE(isWithinBound(-infinity, -65500.0, 0.0, half));
  EXPECT_FALSE(isWithinBound(-infinity, 65520.0, 0.0, half));
  EXPECT_FALSE(isWithinBound(infinity, 60000.0, 0.0, half));
}

/// 100 block rows of 16 rows; block row 70 has three blocks, every other one has one.
readers::BlockMatrix makeMatrix() {
  readers::BlockMatrix matrix;
  matrix.rows = 1595;
  matrix.columns = 64;
  matrix.format = {16, 16, SPARSEC_DTYPE_F16};
  for (int row = 0; row <= 100; ++row)
    matrix.rowPtr.push_back(row <= 70 ? row : row + 2);
  matrix.colIdx.assign(102, 0);
  return matrix;
}

TEST(SelectRowsTest, AllRows) {
  std::vector<int64_t> rows = selectRows(rowsToCheck(makeMatrix(), 8), {CheckRequest::Rows::all, 0}, {});
  ASSERT_EQ(rows.size(), 1595u);
  EXPECT_EQ(rows.front(), 0);
  EXPECT_EQ(rows.back(), 1594);
}

TEST(SelectRowsTest, ACountOfRows) {
  std::vector<int64_t> rows = selectRows(rowsToCheck(makeMatrix(), 8), {CheckRequest::Rows::count, 20}, {77});
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  EXPECT_GE(rows.size(), 20u);
  EXPECT_LE(rows.size(), 24u);
  // The first, the last and the longest row, the suspect, and one of each twentieth.
  for (int64_t row : {0, 1594, 70 * 16, 77})
    EXPECT_TRUE(std::binary_search(rows.begin(), rows.end(), row)) << row;
  for (int64_t part = 0; part < 20; ++part)
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](int64_t row) {
      return row >= part * 1595 / 20 && row < (part + 1) * 1595 / 20;
    })) << part;
}

TEST(SelectRowsTest, ASampleGrowsSmallerWithTheWork) {
  readers::BlockMatrix matrix = makeMatrix();
  EXPECT_EQ(selectRows(rowsToCheck(matrix, 8), CheckRequest(), {}).size(), 1595u);
  EXPECT_LT(selectRows(rowsToCheck(matrix, 1000000), CheckRequest(), {}).size(), 200u);
  EXPECT_GE(selectRows(rowsToCheck(matrix, 1000000000), CheckRequest(), {}).size(), 16u);
}

TEST(SelectRowsTest, AnEmptyMatrixHasNone) {
  readers::BlockMatrix matrix;
  matrix.rowPtr = {0};
  EXPECT_TRUE(selectRows(rowsToCheck(matrix, 8), CheckRequest(), {}).empty());
}

TEST(WrittenRowsTest, AreTheFirstOfEachPeriod) {
  RowsToCheck rows = {/*rows=*/10, 1.0, 0, 1};
  EXPECT_TRUE(rows.isWritten(9));
  rows.period = 5;
  rows.written = 3;
  const bool written[] = {true, true, true, false, false, true, true, true, false, false};
  for (int64_t row = 0; row < 10; ++row)
    EXPECT_EQ(rows.isWritten(row), written[row]) << row;
}

} // namespace
