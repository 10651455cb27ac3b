// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matrix Market files, and blocks made of them.

#include "matrix_market.h"
#include "readers_support.h"

#include <cmath>

using namespace sparsec::readers;
using testing::Values;

namespace {

/// The elements as text, e.g. "(0,0)=1.5 (2,4)=-2".
std::string entriesOf(const CoordinateMatrix &matrix) {
  std::string text;
  for (const Entry &entry : matrix.entries)
    text += fmt::format("{}({},{})={}", text.empty() ? "" : " ", entry.row, entry.column, entry.value);
  return text;
}

TEST(MatrixMarketTest, ReadsGeneralMatrices) {
  CoordinateMatrix matrix = valueOf(readMatrixMarket(corpusFile("matrix_market/general.mtx"), "general.mtx"));
  EXPECT_EQ(matrix.rows, 3);
  EXPECT_EQ(matrix.columns, 5);
  EXPECT_EQ(entriesOf(matrix), "(0,0)=1.5 (2,4)=-2 (1,2)=0.25 (2,4)=1");
}

TEST(MatrixMarketTest, MirrorsSymmetricMatrices) {
  EXPECT_EQ(entriesOf(valueOf(readMatrixMarket(corpusFile("matrix_market/symmetric.mtx"), "symmetric.mtx"))),
            "(0,0)=4 (2,0)=-7 (0,2)=-7 (2,1)=2 (1,2)=2");
  EXPECT_EQ(entriesOf(valueOf(readMatrixMarket(corpusFile("matrix_market/skew.mtx"), "skew.mtx"))), "(1,0)=3 (0,1)=-3");
}

TEST(MatrixMarketTest, PatternsHaveOnes) {
  EXPECT_EQ(entriesOf(valueOf(readMatrixMarket(corpusFile("matrix_market/pattern.mtx"), "pattern.mtx"))),
            "(0,2)=1 (1,0)=1");
}

TEST(MatrixMarketTest, TinyNumbersAreZero) {
  EXPECT_EQ(
      entriesOf(valueOf(readMatrixMarket("%%matrixmarket MATRIX Coordinate Real General\n1 1 1\n1 1 1e-999", "a.mtx"))),
      "(0,0)=0");
}

struct BadText {
  std::string text;
  const char *message;
};
class BadMatrixMarketTest : public testing::TestWithParam<BadText> {};

TEST_P(BadMatrixMarketTest, IsRefused) {
  EXPECT_EQ(messageOf(readMatrixMarket(GetParam().text, "a.mtx")), GetParam().message);
}

const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n";

INSTANTIATE_TEST_SUITE_P(
    Banners, BadMatrixMarketTest,
    Values(BadText{"", "a.mtx:1: expects '%%MatrixMarket', but got ''"},
           BadText{"%%MatrixMarket vector", "a.mtx:1: expects object 'matrix', but got 'vector'"},
           BadText{"%%MatrixMarket matrix array real general", "a.mtx:1: expects format 'coordinate', but got 'array'"},
           BadText{"%%MatrixMarket matrix coordinate complex general",
                   "a.mtx:1: expects field 'real', 'integer' or 'pattern', but got 'complex'"},
           BadText{"%%MatrixMarket matrix coordinate real hermitian",
                   "a.mtx:1: expects symmetry 'general', 'symmetric' or 'skew-symmetric', but got 'hermitian'"},
           BadText{"%%MatrixMarket matrix coordinate real general more",
                   "a.mtx:1: expects the end of the line after the banner, but got 'more'"}));

INSTANTIATE_TEST_SUITE_P(
    Sizes, BadMatrixMarketTest,
    Values(BadText{general + "% only comments\n", "a.mtx:3: expects a line 'rows columns entries', but the file ends"},
           BadText{general + "2147483648 1 0",
                   "a.mtx:2: expects the number of rows in 0 to 2147483647, but got 2147483648"},
           BadText{general + "1 -1 0", "a.mtx:2: expects the number of columns in 0 to 2147483647, but got -1"},
           BadText{general + "1 1", "a.mtx:2: expects an integer as the number of entries, but got nothing"},
           BadText{general + "1 1 0 0", "a.mtx:2: expects the end of the line after rows columns entries, but got '0'"},
           BadText{symmetric + "2 3 0", "a.mtx:2: expects a symmetric matrix to be square, but got 2 x 3"}));

INSTANTIATE_TEST_SUITE_P(
    Entries, BadMatrixMarketTest,
    Values(BadText{general + "2 3 1\n3 1 1.0", "a.mtx:3: expects a row in 1 to 2, but got 3"},
           BadText{general + "2 3 1\n1 0 1.0", "a.mtx:3: expects a column in 1 to 3, but got 0"},
           BadText{general + "2 3 1\n1 1", "a.mtx:3: expects a number as a value, but got nothing"},
           BadText{general + "2 3 1\n1 1 1.0x", "a.mtx:3: expects a number as a value, but got '1.0x'"},
           BadText{general + "2 3 1\n1 1 nan", "a.mtx:3: expects a finite number as a value, but got 'nan'"},
           BadText{general + "2 3 1\n1 1 1e999", "a.mtx:3: expects a finite number as a value, but got '1e999'"},
           BadText{general + "2 3 1\n1 1 1 1", "a.mtx:3: expects the end of the line after an entry, but got '1'"},
           BadText{general + "2 3 1\n1 1 1\n1 2 1", "a.mtx:4: expects 1 entries, but got more"},
           BadText{general + "9 9 2147483647\n1 1 1\n",
                   "a.mtx:4: expects 2147483647 entries, but the file ends after 1"},
           BadText{symmetric + "2 2 1\n1 2 1",
                   "a.mtx:3: expects entries on or below the diagonal of a symmetric matrix, but got row 1, column 2"},
           BadText{skew + "2 2 1\n2 2 1",
                   "a.mtx:3: expects entries below the diagonal of a skew-symmetric matrix, but got row 2, column 2"}));

TEST(BlockCoordinatesTest, CutsAndPads) {
  // 3 x 5 in blocks of 2 x 3: elements in the blocks (0, 0), (0, 1) and (1, 1), the latter two at the edge.
  CoordinateMatrix source;
  source.rows = 3;
  source.columns = 5;
  source.entries = {{2, 4, 6.0}, {0, 0, 1.0}, {1, 2, 2.0}, {1, 3, 3.0}, {2, 4, 0.5}};
  BlockMatrix matrix = valueOf(blockCoordinates(source, {2, 3, SPARSEC_DTYPE_F32}, Limits()));
  EXPECT_EQ(matrix.rows, 3);
  EXPECT_EQ(matrix.columns, 5);
  EXPECT_EQ(matrix.rowPtr, (std::vector<int32_t>{0, 2, 3}));
  EXPECT_EQ(matrix.colIdx, (std::vector<int32_t>{0, 1, 1}));
  EXPECT_EQ(widen(matrix.values, SPARSEC_DTYPE_F32), (std::vector<double>{1, 0, 0, 0, 0, 2, //
                                                                          0, 0, 0, 3, 0, 0, //
                                                                          0, 6.5, 0, 0, 0, 0}));
  EXPECT_EQ(matrix.nonzeros, 5);
}

TEST(BlockCoordinatesTest, KeepsEmptyRows) {
  CoordinateMatrix source;
  source.rows = 9;
  source.columns = 2;
  source.entries = {{5, 0, 1.0}};
  BlockMatrix matrix = valueOf(blockCoordinates(source, {2, 2, SPARSEC_DTYPE_F16}, Limits()));
  EXPECT_EQ(matrix.rowPtr, (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  source.entries.clear();
  matrix = valueOf(blockCoordinates(source, {2, 2, SPARSEC_DTYPE_F16}, Limits()));
  EXPECT_EQ(matrix.rowPtr, (std::vector<int32_t>(6, 0)));
  EXPECT_TRUE(matrix.values.empty());
}

TEST(BlockCoordinatesTest, RefusesMoreThanTheLimit) {
  CoordinateMatrix source;
  source.rows = 1000;
  source.columns = 4;
  EXPECT_EQ(messageOf(blockCoordinates(source, {4, 4, SPARSEC_DTYPE_F32}, Limits{1000})),
            "expects at most 1000 bytes of row offsets, but got 250 block rows");
  source.entries = {{0, 0, 1.0}, {999, 3, 1.0}};
  EXPECT_EQ(messageOf(blockCoordinates(source, {256, 256, SPARSEC_DTYPE_F32}, Limits{1000})),
            "expects at most 1000 bytes of elements, but got 131072 elements of 4 bytes");
}

TEST(RandomBlockMatrixTest, HasTheDensity) {
  BlockFormat format = {16, 16, SPARSEC_DTYPE_BF16};
  BlockMatrix matrix = valueOf(randomBlockMatrix(1599, 1600, 0.3, format, /*seed=*/5, Limits()));
  EXPECT_EQ(matrix.blockRowCount(), 100);
  // 10000 blocks with probability 0.3: mean 3000, standard deviation 46.
  EXPECT_NEAR(double(matrix.blockCount()), 3000.0, 250.0);
  EXPECT_EQ(valueOf(randomBlockMatrix(1599, 1600, 0.3, format, 5, Limits())).colIdx, matrix.colIdx);
  EXPECT_NE(valueOf(randomBlockMatrix(1599, 1600, 0.3, format, 6, Limits())).colIdx, matrix.colIdx);
  // Row 1599 is padding.
  std::vector<double> values = widen(matrix.values, SPARSEC_DTYPE_BF16);
  for (size_t block = size_t(matrix.rowPtr[99]); block < size_t(matrix.rowPtr[100]); ++block)
    for (size_t column = 0; column < 16; ++column) {
      EXPECT_TRUE(std::isnan(values[(block * 16 + 15) * 16 + column]));
      EXPECT_LE(std::abs(values[(block * 16 + 14) * 16 + column]), 1.0);
    }
}

TEST(RandomBlockMatrixTest, ExtremeDensities) {
  BlockFormat format = {16, 32, SPARSEC_DTYPE_F16};
  EXPECT_EQ(valueOf(randomBlockMatrix(64, 64, 1.0, format, 1, Limits())).blockCount(), 8);
  EXPECT_EQ(valueOf(randomBlockMatrix(64, 64, 0.0, format, 1, Limits())).blockCount(), 0);
  EXPECT_EQ(valueOf(randomBlockMatrix(0, 64, 1.0, format, 1, Limits())).rowPtr, (std::vector<int32_t>{0}));
}

TEST(RandomBlockMatrixTest, RefusesMoreThanTheLimit) {
  EXPECT_EQ(messageOf(randomBlockMatrix(64, 64, 1.0, {16, 16, SPARSEC_DTYPE_F16}, 1, Limits{2048})),
            "expects at most 2048 bytes of elements, but got 2048 elements of 2 bytes");
  EXPECT_EQ(messageOf(randomBlockMatrix(64000, 64, 0.0, {16, 16, SPARSEC_DTYPE_F16}, 1, Limits{2048})),
            "expects at most 2048 bytes of row offsets, but got 4000 block rows");
}

} // namespace
