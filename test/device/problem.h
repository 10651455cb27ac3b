// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The problems of the tests of products: sizes, patterns and random values, with the product in double.

#ifndef SPARSEC_TEST_DEVICE_PROBLEM_H
#define SPARSEC_TEST_DEVICE_PROBLEM_H

#include "harness/pattern.h"
#include "placed_tensor.h"

#include <memory>
#include <string>
#include <vector>

namespace sparsec::device_test {

struct Shape {
  const char *name;
  int64_t rows, depth, columns; // M, K, N
  Placement placement;
};

enum class PatternKind {
  Random,
  EmptyRows,
  DenseRow,
  Diagonal,
  OneBlock,
  Unsorted,
  Clustered,
  Band,
  NoBlocks,
  Full,
  File
};
const char *patternName(PatternKind kind);

/// Sizes around the block: multiples of it and odd ones, wide and narrow. `quick` leaves the small ones that matter
/// most.
std::vector<Shape> shapesFor(int64_t blockRows, int64_t blockColumns, bool quick);
/// Small sizes. All but one width are whole units of 16 bytes. Some have more steps than a ring of the kernels has
/// slots.
std::vector<Shape> shapesOfUnits(int64_t blockRows, int64_t blockColumns);
/// A row of blocks whose scales of X are in several tiles, of 32 parts of K each.
Shape deepShape(int64_t blockRows, int64_t blockColumns);
/// More tiles than a GPU holds at a time, so that workers take several.
Shape manyTilesShape(int64_t blockRows, int64_t blockColumns);

/// Two windows of block rows, the last one not full, three panels of 64 columns, and a K of four parts.
Shape partsShape(int64_t tileRows);

/// About one and a half tiles for each worker, with enough blocks that plans cut tiles along K. The tiles have the
/// rows of a block and `tileColumns` columns.
Shape cutTilesShape(int64_t blockRows, int64_t blockColumns, int64_t tileColumns, int64_t workers);

/// The scales that a product of fp8 has: of the blocks of W, and of the columns of X for each 128 of K.
struct ScaleKinds {
  bool ofBlocks = false, ofX = false;

  auto operator<=>(const ScaleKinds &) const = default;
};
constexpr int64_t depthOfXScale = 128;

/// W (block-sparse) times X (dense, K x N), whatever the layouts of a kernel.
struct Problem {
  sparsec_dtype_t dtype;
  int64_t blockRows, blockColumns;
  Shape shape;
  harness::BlockPattern pattern;
  std::vector<char> values;             // blocks of W in `dtype`; NaN beyond the matrix
  std::vector<float> x;                 // K x N, elements of `dtype`
  std::vector<float> scales, xScale;    // of the blocks, and N x parts of K; empty where there are none
  std::vector<double> product;          // M x N: sum of w x, times their scales
  std::vector<double> productMagnitude; // M x N: sum of |w x|, the same

  int64_t partsOfK() const { return roundUp(shape.depth, depthOfXScale) / depthOfXScale; }
};

/// The arrays of a matrix that is passed as its transpose, K x M. Columns descend in each of its block rows.
struct StoredMatrix {
  harness::BlockPattern pattern;
  std::vector<char> values;
};
StoredMatrix storeTransposed(const Problem &problem);

/// So many block rows and columns.
harness::BlockPattern patternOf(PatternKind kind, int64_t blockRows, int64_t blockColumns);

/// The problem of these parameters. Problems are kept while type and block stay the same.
std::shared_ptr<const Problem> getProblem(sparsec_dtype_t dtype, int64_t blockRows, int64_t blockColumns,
                                          const Shape &shape, PatternKind kind, ScaleKinds scales = {});

/// The pattern for PatternKind::File, a DLMC `.smtx` file in which each nonzero stands for one block. Larger patterns
/// are cut to the size of the problem.
void setPatternFile(const std::string &path);
bool hasPatternFile();

} // namespace sparsec::device_test

#endif // SPARSEC_TEST_DEVICE_PROBLEM_H
