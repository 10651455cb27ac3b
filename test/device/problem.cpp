// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "problem.h"
#include "harness/numeric.h"
#include "harness/parallel.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <stdexcept>
#include <tuple>

namespace sparsec::device_test {

using namespace harness;

namespace {

// Seeds of the random streams.
enum : uint64_t { patternSeed = 1, matrixSeed = 2, denseSeed = 3, orderSeed = 4, scaleSeed = 5, xScaleSeed = 6 };

BlockPattern filePattern;

/// Shuffles the columns of every row (Fisher and Yates).
void shuffleColumns(BlockPattern &pattern) {
  for (int64_t i = 0; i < pattern.blockRows; ++i)
    for (int64_t p = pattern.rowPtr[i + 1] - 1; p > pattern.rowPtr[i]; --p) {
      int64_t other = pattern.rowPtr[i] + randomBits(orderSeed, p) % (p - pattern.rowPtr[i] + 1);
      std::swap(pattern.colIdx[p], pattern.colIdx[other]);
    }
}

/// The top left corner of the file's pattern, repeated where it is too small.
BlockPattern cropFilePattern(int64_t blockRows, int64_t blockColumns) {
  const BlockPattern &source = filePattern;
  return makePattern(blockRows, blockColumns, [&](int64_t i, int64_t j) {
    auto first = source.colIdx.begin() + source.rowPtr[i % source.blockRows];
    auto last = source.colIdx.begin() + source.rowPtr[i % source.blockRows + 1];
    return std::find(first, last, j % source.blockColumns) != last;
  });
}

} // namespace

BlockPattern patternOf(PatternKind kind, int64_t blockRows, int64_t blockColumns) {
  // The last block column, which is often cut by the edge of the matrix, is always met.
  auto keepRandom = [&](int64_t i, int64_t j) {
    return randomUnit(patternSeed, i * blockColumns + j) < 0.5 || (j == blockColumns - 1 && i < 2);
  };
  switch (kind) {
  case PatternKind::Random:
    return makePattern(blockRows, blockColumns, keepRandom);
  case PatternKind::EmptyRows:
    return makePattern(blockRows, blockColumns, [&](int64_t i, int64_t j) { return i % 3 == 1 && keepRandom(i, j); });
  case PatternKind::DenseRow:
    return makePattern(blockRows, blockColumns, [&](int64_t i, int64_t) { return i == blockRows / 2; });
  case PatternKind::Diagonal:
    return makePattern(blockRows, blockColumns, [&](int64_t i, int64_t j) { return j == i % blockColumns; });
  case PatternKind::OneBlock:
    return makePattern(blockRows, blockColumns,
                       [&](int64_t i, int64_t j) { return i == blockRows - 1 && j == blockColumns - 1; });
  case PatternKind::Unsorted: {
    BlockPattern pattern = makePattern(blockRows, blockColumns, keepRandom);
    shuffleColumns(pattern);
    return pattern;
  }
  case PatternKind::Clustered: // squares of 4 x 4 blocks, with holes, so that plans pack blocks
    return makePattern(blockRows, blockColumns, [&](int64_t i, int64_t j) {
      return randomUnit(patternSeed, (i / 4) * blockColumns + j / 4) < 0.7 &&
             randomUnit(patternSeed, (blockRows + i) * blockColumns + j) < 0.9;
    });
  case PatternKind::Band:
    return makePattern(blockRows, blockColumns,
                       [&](int64_t i, int64_t j) { return std::abs(j - i % blockColumns) <= 1; });
  case PatternKind::Full:
    return makePattern(blockRows, blockColumns, [](int64_t, int64_t) { return true; });
  case PatternKind::NoBlocks:
    return makePattern(blockRows, blockColumns, [](int64_t, int64_t) { return false; });
  case PatternKind::File:
    return cropFilePattern(blockRows, blockColumns);
  }
  throw std::logic_error("unknown pattern");
}

namespace {

void fillValues(Problem &problem) {
  int64_t blockSize = problem.blockRows * problem.blockColumns;
  problem.values.resize(problem.pattern.blockCount() * blockSize * sparsec_dtype_bytes(problem.dtype));
  parallelFor(problem.pattern.blockRows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t p = problem.pattern.rowPtr[i]; p < problem.pattern.rowPtr[i + 1]; ++p)
        for (int64_t e = 0; e < blockSize; ++e) {
          int64_t row = i * problem.blockRows + e / problem.blockColumns;
          int64_t column = problem.pattern.colIdx[p] * problem.blockColumns + e % problem.blockColumns;
          // Elements of edge blocks beyond the matrix do not count.
          bool counts = row < problem.shape.rows && column < problem.shape.depth;
          storeElement(problem.dtype, problem.values.data(), p * blockSize + e,
                       counts ? randomNormal(matrixSeed, p * blockSize + e) : NAN);
        }
  });
}

void fillDense(Problem &problem) {
  problem.x.resize(problem.shape.depth * problem.shape.columns);
  parallelFor(static_cast<int64_t>(problem.x.size()), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e)
      problem.x[e] = static_cast<float>(roundToDtype(problem.dtype, randomNormal(denseSeed, e)));
  });
}

std::vector<float> randomScales(uint64_t seed, int64_t count) {
  std::vector<float> scales(count);
  for (int64_t i = 0; i < count; ++i)
    scales[i] = static_cast<float>(randomNormal(seed, i));
  return scales;
}

/// Rows [begin, end) of the product, one block row's columns at a time.
void multiplyRow(Problem &problem, int64_t row) {
  const Shape &shape = problem.shape;
  double *product = problem.product.data() + row * shape.columns;
  double *magnitude = problem.productMagnitude.data() + row * shape.columns;
  int64_t blockRow = row / problem.blockRows;
  for (int64_t p = problem.pattern.rowPtr[blockRow]; p < problem.pattern.rowPtr[blockRow + 1]; ++p) {
    int64_t firstDepth = problem.pattern.colIdx[p] * problem.blockColumns;
    int64_t firstValue = (p * problem.blockRows + row % problem.blockRows) * problem.blockColumns;
    for (int64_t c = 0; c < problem.blockColumns && firstDepth + c < shape.depth; ++c) {
      double w = loadElement(problem.dtype, problem.values.data(), firstValue + c);
      if (!problem.scales.empty())
        w *= problem.scales[p];
      const float *x = problem.x.data() + (firstDepth + c) * shape.columns;
      for (int64_t n = 0; n < shape.columns; ++n) {
        double term = w * x[n];
        if (!problem.xScale.empty())
          term *= problem.xScale[n * problem.partsOfK() + (firstDepth + c) / depthOfXScale];
        product[n] += term;
        magnitude[n] += std::abs(term);
      }
    }
  }
}

std::shared_ptr<const Problem> makeProblem(sparsec_dtype_t dtype, int64_t blockRows, int64_t blockColumns,
                                           const Shape &shape, PatternKind kind, ScaleKinds scales) {
  auto problem = std::make_shared<Problem>();
  problem->dtype = dtype;
  problem->blockRows = blockRows;
  problem->blockColumns = blockColumns;
  problem->shape = shape;
  problem->pattern =
      patternOf(kind, roundUp(shape.rows, blockRows) / blockRows, roundUp(shape.depth, blockColumns) / blockColumns);
  fillValues(*problem);
  fillDense(*problem);
  if (scales.ofBlocks)
    problem->scales = randomScales(scaleSeed, problem->pattern.blockCount());
  if (scales.ofX)
    problem->xScale = randomScales(xScaleSeed, shape.columns * problem->partsOfK());
  problem->product.assign(shape.rows * shape.columns, 0);
  problem->productMagnitude.assign(shape.rows * shape.columns, 0);
  parallelFor(shape.rows, 8, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      multiplyRow(*problem, row);
  });
  return problem;
}

} // namespace

StoredMatrix storeTransposed(const Problem &problem) {
  const BlockPattern &pattern = problem.pattern;
  const int64_t r = problem.blockRows, c = problem.blockColumns;
  StoredMatrix stored{{pattern.blockColumns, pattern.blockRows, {0}, {}}, std::vector<char>(problem.values.size())};
  for (int64_t j = 0; j < pattern.blockColumns; ++j) {
    for (int64_t i = pattern.blockRows - 1; i >= 0; --i)
      for (int64_t p = pattern.rowPtr[i]; p < pattern.rowPtr[i + 1]; ++p) {
        if (pattern.colIdx[p] != j)
          continue;
        const int64_t number = stored.pattern.blockCount();
        for (int64_t e = 0; e < r * c; ++e)
          storeElement(problem.dtype, stored.values.data(), number * r * c + e % c * r + e / c,
                       loadElement(problem.dtype, problem.values.data(), p * r * c + e));
        stored.pattern.colIdx.push_back(static_cast<int32_t>(i));
      }
    stored.pattern.rowPtr.push_back(static_cast<int32_t>(stored.pattern.blockCount()));
  }
  return stored;
}

const char *patternName(PatternKind kind) {
  static const char *const names[] = {"random",    "empty rows", "dense row", "diagonal", "one block", "unsorted",
                                      "clustered", "band",       "no blocks", "full",     "file"};
  return names[static_cast<int>(kind)];
}

std::vector<Shape> shapesFor(int64_t blockRows, int64_t blockColumns, bool quick) {
  int64_t rows = quick ? 3 * blockRows : roundUp(300, blockRows);
  int64_t depth = quick ? 3 * blockColumns : roundUp(300, blockColumns);
  // Cut into the last block row and the last block column.
  int64_t oddRows = rows - blockRows + 5, oddDepth = depth - blockColumns + 3;
  // With 333 columns more than four tiles of 32 rows for each of 132 multiprocessors: variants for few tiles leave them
  // to the others.
  const int64_t moreRows = roundUp(6000, blockRows) - 3;
  if (quick) {
    std::vector<Shape> shapes = {{"odd, padded", oddRows, oddDepth, 133, Placement::Padded},
                                 {"odd, misaligned", oddRows, oddDepth, 37, Placement::Misaligned},
                                 {"few columns", oddRows, oddDepth, 40, Placement::Padded},
                                 {"one column", oddRows, oddDepth, 1, Placement::Padded},
                                 {"7 columns, tight", oddRows, oddDepth, 7, Placement::Tight},
                                 {"24 columns, tight", oddRows, oddDepth, 24, Placement::Tight},
                                 {"61 columns, tight", oddRows, oddDepth, 61, Placement::Tight}};
    // Variants for few tiles of 32 rows take up to twelve on the three multiprocessors of the simulator.
    if (blockRows == 32)
      shapes.push_back({"odd, padded, more tiles", oddRows, oddDepth, 517, Placement::Padded});
    return shapes;
  }
  return {{"exact", rows, depth, 512, Placement::Tight},
          {"exact, padded", rows, depth, 384, Placement::Padded},
          {"odd, tight, more tiles", moreRows, oddDepth, 333, Placement::Tight},
          {"odd, padded", oddRows, oddDepth, 333, Placement::Padded},
          {"odd, misaligned", oddRows, oddDepth, 333, Placement::Misaligned},
          {"one column", oddRows, oddDepth, 1, Placement::Padded},
          {"one column, tight", oddRows, oddDepth, 1, Placement::Tight},
          {"3 columns", oddRows, oddDepth, 3, Placement::Misaligned},
          {"7 columns, tight", oddRows, oddDepth, 7, Placement::Tight},
          {"8 columns", rows, depth, 8, Placement::Tight},
          {"13 columns, tight", oddRows, oddDepth, 13, Placement::Tight},
          {"15 columns", oddRows, oddDepth, 15, Placement::Misaligned},
          {"24 columns, tight", oddRows, oddDepth, 24, Placement::Tight},
          {"40 columns", oddRows, oddDepth, 40, Placement::Padded},
          {"61 columns, tight", oddRows, oddDepth, 61, Placement::Tight},
          {"64 columns", rows, depth, 64, Placement::Tight},
          {"one element", 1, 1, 1, Placement::Padded}};
}

std::vector<Shape> shapesOfUnits(int64_t blockRows, int64_t blockColumns) {
  return {{"units, padded", 4 * blockRows - 8, 6 * blockColumns, 272, Placement::Padded},
          {"few tiles", blockRows, 2 * blockColumns, 264, Placement::Tight},
          {"units, misaligned", 2 * blockRows, 2 * blockColumns, 48, Placement::Misaligned},
          {"few columns", 3 * blockRows - 8, 6 * blockColumns, 10, Placement::Padded},
          {"8 columns", 3 * blockRows - 8, 6 * blockColumns, 8, Placement::Tight},
          {"one column", 2 * blockRows, 2 * blockColumns - 8, 1, Placement::Padded},
          {"more columns", 2 * blockRows, 6 * blockColumns, 56, Placement::Padded},
          {"one unit", blockRows, blockColumns, 16, Placement::Tight}};
}

Shape deepShape(int64_t blockRows, int64_t blockColumns) {
  return {"deep", blockRows, roundUp(13000, blockColumns), 56, Placement::Padded};
}

Shape manyTilesShape(int64_t blockRows, int64_t blockColumns) {
  return {"many tiles", roundUp(2560, blockRows) - 3, 4 * blockColumns - 1, 4100, Placement::Padded};
}

Shape partsShape(int64_t tileRows) { return {"parts of K", 2 * tileRows - 8, 2096, 136, Placement::Padded}; }

Shape cutTilesShape(int64_t blockRows, int64_t blockColumns, int64_t tileColumns, int64_t workers) {
  const bool isSmall = workers < 8; // on the simulator
  const int64_t tileRows = isSmall ? 3 : 9, blocks = isSmall ? 5 : 10;
  const int64_t panels = std::max<int64_t>((3 * workers / 2 + tileRows / 2) / tileRows, 1);
  return {"cut tiles", tileRows * blockRows - 8, blocks * blockColumns - 8, panels * tileColumns - 24,
          Placement::Padded};
}

std::shared_ptr<const Problem> getProblem(sparsec_dtype_t dtype, int64_t blockRows, int64_t blockColumns,
                                          const Shape &shape, PatternKind kind, ScaleKinds scales) {
  using Group = std::tuple<sparsec_dtype_t, int64_t, int64_t, ScaleKinds>;
  using Key = std::tuple<int64_t, int64_t, int64_t, PatternKind>;
  static Group currentGroup;
  static std::map<Key, std::shared_ptr<const Problem>> problems;
  Group group{dtype, blockRows, blockColumns, scales};
  if (group != currentGroup)
    problems.clear();
  currentGroup = group;
  // The placement of the tensors does not change the problem.
  std::shared_ptr<const Problem> &problem = problems[{shape.rows, shape.depth, shape.columns, kind}];
  if (!problem)
    problem = makeProblem(dtype, blockRows, blockColumns, shape, kind, scales);
  return problem;
}

void setPatternFile(const std::string &path) {
  std::ifstream file(path);
  int64_t rows = 0, columns = 0, count = 0;
  char comma;
  if (!(file >> rows >> comma >> columns >> comma >> count) || rows <= 0 || columns <= 0 || count < 0)
    throw std::runtime_error("cannot read the pattern file '" + path + "'");
  BlockPattern pattern{rows, columns, std::vector<int32_t>(rows + 1), std::vector<int32_t>(count)};
  for (int32_t &offset : pattern.rowPtr)
    file >> offset;
  for (int32_t &column : pattern.colIdx)
    file >> column;
  if (!file || pattern.rowPtr.back() != count)
    throw std::runtime_error("the pattern file '" + path + "' is not complete");
  filePattern = std::move(pattern);
}

bool hasPatternFile() { return filePattern.blockRows > 0; }

} // namespace sparsec::device_test
