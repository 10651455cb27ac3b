// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reference of attention whose sequences have sizes of their own, against plain loops over each sequence. What no
// sequence has is NaN in memory.

#include "runtime_kernel_fixture.h"
#include "runtime_sequence_image.h"

#include <cmath>
#include <map>
#include <numeric>

using namespace sparsec::test;

namespace {

constexpr int64_t dimension = 4, heads = 4, keyHeads = 2, pages = 37;

/// The rules that decide which keys a query sees.
struct Rules {
  bool causal = false;
  int64_t windowLeft = -1;
  bool pattern = false; // and a mask; blocks of 2 queries x 3 keys
  int64_t patternRows = 0, patternColumns = 0;
  bool score = false, sinks = false; // one of the two
};

struct Case {
  SequenceOperands operands;
  std::vector<int64_t> queries, keys; // of each sequence
  Rules rules = {};
};

class SequenceReference : public KernelOnFake {
protected:
  void load(const Case &wanted) {
    given = wanted;
    LaunchInfoBuilder info = cudaAttention();
    for (uint32_t i : {0, 1, 2, 7}) {
      info.arguments[i].dtype = SPARSEC_DTYPE_F32;
      info.arguments[i].sizes[3] = dimension;
    }
    info.arguments[3].block_rows = 2;
    info.arguments[3].block_columns = 3;
    info.attribute(SPARSEC_ATTRIBUTE_HEAD_DIMENSION).value = dimension;
    info.attribute(SPARSEC_ATTRIBUTE_CAUSAL).value = given.rules.causal;
    info.attribute(SPARSEC_ATTRIBUTE_WINDOW_LEFT).value = given.rules.windowLeft;
    info.operations[0].region_first = given.rules.score ? 0 : 1;
    info.operations[0].region_count = uint32_t(given.rules.score) + uint32_t(given.rules.pattern);
    if (given.rules.sinks)
      info.operands[5].slot = SPARSEC_ATTENTION_SINKS;
    removeArgument(info, 4); // the scale
    if (!given.rules.pattern)
      removeArgument(info, 3);
    addSequences(info, given.operands);
    KernelOnFake::load(info);
    sequences = int64_t(given.queries.size());
    place();
    bind();
  }

  static float element(int64_t tensor, int64_t b, int64_t h, int64_t i, int64_t d) {
    return float(std::sin(1.3 * double(tensor * 1009 + b * 331 + h * 57 + i * 7 + d)));
  }

  /// Keys that a sequence has room for.
  int64_t capacity(int64_t b) const { return given.keys[b] + (given.operands.keyLengths ? 2 : 0); }

  /// Where the rows of a sequence begin; rows behind the last sequence are nobody's.
  static std::vector<int32_t> startsOf(const std::vector<int64_t> &counts) {
    std::vector<int32_t> starts = {0};
    for (int64_t count : counts)
      starts.push_back(int32_t(starts.back() + count));
    return starts;
  }

  /// The row of an unpacked, packed or paged tensor; `count` heads.
  int64_t rowOfQuery(int64_t b, int64_t h, int64_t i) const {
    return given.operands.queryStarts ? h * rows + queryStarts[b] + i : (b * heads + h) * rows + i;
  }
  int64_t rowOfKey(int64_t b, int64_t h, int64_t i) const {
    if (given.operands.pageTable)
      return (table[b * tableStride + i / rowsOfPage] * keyHeads + h) * rowsOfPage + i % rowsOfPage;
    return given.operands.keyStarts ? h * depth + keyStarts[b] + i : (b * keyHeads + h) * depth + i;
  }

  void place() {
    const SequenceOperands &operands = given.operands;
    std::vector<int64_t> capacities;
    capacities.reserve(sequences);
    for (int64_t b = 0; b < sequences; ++b)
      capacities.push_back(capacity(b));
    queryStarts = startsOf(given.queries);
    keyStarts = startsOf(capacities);
    lengths.assign(given.keys.begin(), given.keys.end());
    rows = operands.queryStarts ? queryStarts.back() + 3 : given.queries[0];
    depth = operands.keyStarts ? keyStarts.back() + 3 : *std::max_element(capacities.begin(), capacities.end());
    tablePages = (depth + rowsOfPage - 1) / rowsOfPage;
    tableStride = tablePages + 1;
    table.assign(sequences * tableStride, -7);
    for (int64_t b = 0, page = 5; b < sequences; ++b)
      for (int64_t i = 0; i * rowsOfPage < given.keys[b]; ++i, page = (page + 10) % pages)
        table[b * tableStride + i] = int32_t(page);
    const int64_t tensorRows = operands.pageTable ? pages * rowsOfPage : operands.keyStarts ? depth : sequences * depth;
    q.assign((operands.queryStarts ? 1 : sequences) * heads * rows * dimension, NAN);
    k.assign(keyHeads * tensorRows * dimension, NAN);
    v = k;
    for (int64_t b = 0; b < sequences; ++b)
      for (int64_t d = 0; d < dimension; ++d) {
        for (int64_t h = 0; h < heads; ++h)
          for (int64_t i = 0; i < given.queries[b]; ++i)
            q[rowOfQuery(b, h, i) * dimension + d] = element(0, b, h, i, d);
        for (int64_t h = 0; h < keyHeads; ++h)
          for (int64_t i = 0; i < given.keys[b]; ++i) {
            k[rowOfKey(b, h, i) * dimension + d] = element(1, b, h, i, d);
            v[rowOfKey(b, h, i) * dimension + d] = element(2, b, h, i, d);
          }
      }
    setPattern();
  }

  /// Every block is empty, partial or full, by a hash.
  static int stateOf(int64_t list, int64_t column) { return int((list * 7919 + column * 104729) % 1009 % 3); }
  static int32_t idOf(int64_t b, int64_t i) { return int32_t((b * 5 + i * 3) % 7 % 2); }
  void setPattern() {
    pattern = shapeOf(2, 3, sequences, 1, given.rules.patternRows, given.rules.patternColumns);
    for (int wanted : {1, 2}) {
      std::vector<int32_t> &starts = listStarts[wanted - 1], &indices = listIndices[wanted - 1];
      starts = {0};
      indices.clear();
      for (int64_t list = 0; list < listsOf(pattern); ++list) {
        for (int64_t column = 0; column < blockColumnsOf(pattern); ++column)
          if (stateOf(list, column) == wanted)
            indices.push_back(int32_t(column));
        starts.push_back(int32_t(indices.size()));
      }
      pattern.capacity = std::max(pattern.capacity, int64_t(indices.size()));
    }
    for (std::vector<int32_t> &indices : listIndices)
      indices.resize(pattern.capacity);
    pattern.partial = {listStarts[0].data(), listIndices[0].data()};
    pattern.full = {listStarts[1].data(), listIndices[1].data()};
    ids.clear();
    for (int64_t b = 0; b < sequences; ++b)
      for (int64_t i = 0; i < idCount; ++i)
        ids.push_back(idOf(b, i));
  }

  void bind() {
    const SequenceOperands &operands = given.operands;
    auto tensor = [](float *data, int64_t first, int64_t headCount, int64_t length) {
      return sparsec_dense_bhsd(data, SPARSEC_DTYPE_F32, first, headCount, length, dimension);
    };
    auto keyTensor = [&](float *data) {
      if (operands.pageTable)
        return tensor(data, pages, keyHeads, rowsOfPage);
      return tensor(data, operands.keyStarts ? 1 : sequences, keyHeads, depth);
    };
    auto numbers = [](std::vector<int32_t> &data) {
      return sparsec_dense_1d(data.data(), SPARSEC_DTYPE_I32, int64_t(data.size()));
    };
    const int64_t batches = operands.queryStarts ? 1 : sequences;
    sparsec_dense_t pageTable = sparsec_dense_2d(table.data(), SPARSEC_DTYPE_I32, sequences, tablePages);
    pageTable.strides[0] = tableStride;
    const std::map<std::string, sparsec::Argument> byName = {
        {"q", tensor(q.data(), batches, heads, rows)},
        {"k", keyTensor(k.data())},
        {"v", keyTensor(v.data())},
        {"pattern", pattern},
        {"slopes", sparsec_dense_1d(slopes.data(), SPARSEC_DTYPE_F32, heads)},
        {"ids", sparsec_dense_2d(ids.data(), SPARSEC_DTYPE_I32, sequences, idCount)},
        {"query_starts", numbers(queryStarts)},
        {"key_starts", numbers(keyStarts)},
        {"key_lengths", numbers(lengths)},
        {"page_table", pageTable},
        {"o", tensor(nullptr, batches, heads, rows)},
        {"lse", sparsec_dense_3d(nullptr, SPARSEC_DTYPE_F32, batches, heads, rows)}};
    arguments.clear();
    for (size_t i = 0; const sparsec_argument_info_t *info = sparsec_kernel_argument(kernel, i); ++i)
      arguments.push_back(byName.at(info->name));
  }

  bool isVisible(int64_t b, int64_t i, int64_t key) const {
    const int64_t position = i + given.keys[b] - given.queries[b];
    if ((given.rules.causal && key > position) ||
        (given.rules.windowLeft >= 0 && key < position - given.rules.windowLeft))
      return false;
    if (!given.rules.pattern)
      return true;
    const int64_t row = i / 2, column = key / 3;
    if (row >= blockRowsOf(pattern) || column >= blockColumnsOf(pattern))
      return false;
    const int state = stateOf(b * blockRowsOf(pattern) + row, column);
    return state == 2 || (state == 1 && idOf(b, i) == idOf(b, key));
  }

  /// One row by a plain loop; returns the LSE.
  double plainRow(int64_t b, int64_t h, int64_t i, double *y) const {
    double sum = given.rules.sinks ? std::exp(double(slopes[h])) : 0.0;
    std::fill_n(y, dimension, 0.0);
    for (int64_t key = 0; key < given.keys[b]; ++key) {
      if (!isVisible(b, i, key))
        continue;
      double score = 0;
      for (int64_t d = 0; d < dimension; ++d)
        score += double(element(0, b, h, i, d)) * double(element(1, b, h / 2, key, d));
      const double weight = std::exp(score / 2 + (given.rules.score ? double(slopes[h]) * double(key - i) : 0.0));
      sum += weight;
      for (int64_t d = 0; d < dimension; ++d)
        y[d] += weight * double(element(2, b, h / 2, key, d));
    }
    for (int64_t d = 0; d < dimension; ++d)
      y[d] = sum == 0 ? 0 : y[d] / sum;
    return std::log(sum);
  }

  void run(std::vector<double> &y, std::vector<double> &lse) {
    const int64_t count = (given.operands.queryStarts ? 1 : sequences) * heads * rows;
    std::vector<double> magnitude(count * dimension, -99);
    y.assign(count * dimension, -99);
    lse.assign(count, -99);
    ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, count, y.data(), magnitude.data()));
    ASSERT_OK(sparsec_reference_lse(kernel, arguments.data(), arguments.size(), 0, count, lse.data(), nullptr));
    EXPECT_THAT(magnitude, ::testing::Each(::testing::Ge(0)));
  }

  void compare() {
    std::vector<double> y, lse, expected(dimension);
    ASSERT_NO_FATAL_FAILURE(run(y, lse));
    std::vector<bool> isOfSequence(lse.size(), false);
    for (int64_t b = 0; b < sequences; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < given.queries[b]; ++i) {
          const int64_t row = rowOfQuery(b, h, i);
          const double expectedLse = plainRow(b, h, i, expected.data());
          isOfSequence[row] = true;
          for (int64_t d = 0; d < dimension; ++d)
            ASSERT_NEAR(y[row * dimension + d], expected[d], 1e-12) << b << " " << h << " " << i << " " << d;
          if (std::isinf(expectedLse))
            ASSERT_EQ(lse[row], -infinity);
          else
            ASSERT_NEAR(lse[row], expectedLse, 1e-12);
        }
    for (size_t row = 0; row < lse.size(); ++row)
      if (!isOfSequence[row]) {
        ASSERT_EQ(lse[row], -infinity) << row;
        for (int64_t d = 0; d < dimension; ++d)
          ASSERT_EQ(y[row * dimension + d], 0);
      }
  }
  void compare(const Case &wanted) {
    load(wanted);
    compare();
  }

  void refusesValue(const std::string &message, std::vector<int32_t> &array, size_t index, int32_t value) {
    const int32_t good = std::exchange(array[index], value);
    std::vector<double> y(dimension, -1);
    EXPECT_STATUS(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, 1, y.data(), nullptr),
                  SPARSEC_STATUS_INVALID_ARGUMENT, message);
    EXPECT_THAT(y, ::testing::Each(-1));
    array[index] = good;
  }

  static constexpr int64_t idCount = 160;
  Case given;
  int64_t sequences = 0, rows = 0, depth = 0, tablePages = 0, tableStride = 0;
  std::vector<float> q, k, v, slopes = {0.01f, -0.02f, 0.03f, 0.015f};
  std::vector<int32_t> queryStarts, keyStarts, lengths, table, ids;
  std::vector<int32_t> listStarts[2], listIndices[2];
  sparsec_blocks_t pattern = {};
};

TEST_F(SequenceReference, PaddedKeysHaveLengths) {
  const SequenceOperands lengths = {.keyLengths = true};
  const std::vector<int64_t> queries = {6, 6, 6, 6}, keys = {9, 0, 150, 4};
  compare({lengths, queries, keys});
  compare({lengths, queries, keys, {.causal = true}});
  compare({lengths, queries, keys, {.causal = true, .windowLeft = 5, .sinks = true}});
  compare({lengths, queries, keys, {.pattern = true, .patternRows = 6, .patternColumns = 152, .score = true}});
}

TEST_F(SequenceReference, PackedQueriesAndKeys) {
  const SequenceOperands packed = {.queryStarts = true, .keyStarts = true};
  const std::vector<int64_t> queries = {5, 0, 40, 3, 0}, keys = {9, 3, 70, 0, 0};
  compare({packed, queries, keys});
  compare({packed, queries, keys, {.causal = true, .windowLeft = 20, .sinks = true}});
  compare({{.queryStarts = true, .keyStarts = true, .keyLengths = true}, queries, keys, {.causal = true}});
}

TEST_F(SequenceReference, PatternsOfPackedTensorsMayBeAnySize) {
  const SequenceOperands packed = {.queryStarts = true, .keyStarts = true};
  const std::vector<int64_t> queries = {5, 41}, keys = {9, 70};
  for (auto [rows, columns] : {std::pair(41, 70), std::pair(20, 100), std::pair(300, 21), std::pair(0, 0)})
    compare({packed,
             queries,
             keys,
             {.causal = true, .pattern = true, .patternRows = rows, .patternColumns = columns, .score = true}});
}

TEST_F(SequenceReference, OneSideIsPacked) {
  compare({{.queryStarts = true}, {5, 0, 7}, {9, 9, 9}, {.causal = true}});
  compare({{.queryStarts = true, .keyLengths = true}, {5, 0, 7}, {9, 30, 2}, {.causal = true}});
  compare({{.keyStarts = true}, {4, 4, 4}, {9, 0, 70}, {.causal = true}});
}

TEST_F(SequenceReference, PagedKeys) {
  const SequenceOperands paged = {.keyLengths = true, .pageTable = true};
  const SequenceOperands packed = {.queryStarts = true, .keyLengths = true, .pageTable = true};
  compare({paged, {1, 1, 1}, {33, 0, 130}});
  compare({paged, {4, 4}, {16, 17}, {.causal = true, .windowLeft = 9}});
  compare({packed, {5, 0, 37, 1}, {9, 20, 70, 150}, {.causal = true}});
  // The pages of 152 keys have 160.
  compare({packed,
           {5, 0, 37, 1},
           {9, 20, 70, 150},
           {.pattern = true, .patternRows = 37, .patternColumns = 160, .score = true}});
}

TEST_F(SequenceReference, NoSequences) {
  load({{.queryStarts = true, .keyStarts = true}, {}, {}});
  compare();
}

TEST_F(SequenceReference, PartsOfTheRows) {
  load({{.queryStarts = true, .keyStarts = true}, {5, 0, 40, 3}, {9, 3, 70, 11}});
  std::vector<double> all, lse, part(100 * dimension);
  run(all, lse);
  ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 20, 120, part.data(), nullptr));
  EXPECT_EQ(part, std::vector<double>(all.begin() + 20 * dimension, all.begin() + 120 * dimension));
}

TEST_F(SequenceReference, ValuesAreChecked) {
  load({{.queryStarts = true, .keyStarts = true, .keyLengths = true}, {5, 7}, {9, 20}}); // T 15, Tk 36
  refusesValue("argument 5 'query_starts': expects starts that ascend from 0, but element 0 is 1", queryStarts, 0, 1);
  refusesValue("argument 5 'query_starts': expects starts of 0 to 15 from element 1 on, but it is -1", queryStarts, 1,
               -1);
  refusesValue("argument 5 'query_starts': expects starts of 5 to 15 from element 2 on, but it is 4", queryStarts, 2,
               4);
  refusesValue("argument 5 'query_starts': expects starts of 5 to 15 from element 2 on, but it is 16", queryStarts, 2,
               16);
  refusesValue("argument 6 'key_starts': expects starts that ascend from 0, but element 0 is -1", keyStarts, 0, -1);
  refusesValue("argument 6 'key_starts': expects starts of 11 to 36 from element 2 on, but it is 37", keyStarts, 2, 37);
  refusesValue("argument 7 'key_lengths': expects lengths of 0 to 11, but element 0 is 12", lengths, 0, 12);
  refusesValue("argument 7 'key_lengths': expects lengths of 0 to 22, but element 1 is -1", lengths, 1, -1);
  compare();

  load({{.keyLengths = true, .pageTable = true}, {2, 2}, {9, 20}}); // two pages for each
  refusesValue("argument 5 'key_lengths': expects lengths of 0 to 32, but element 1 is 33", lengths, 1, 33);
  refusesValue("argument 6 'page_table': expects page numbers of 0 to 36, but element (1, 1) is 37", table,
               tableStride + 1, 37);
  refusesValue("argument 6 'page_table': expects page numbers of 0 to 36, but element (0, 0) is -1", table, 0, -1);
  compare();

  load({{.keyLengths = true}, {2, 2}, {9, 20}});
  refusesValue("argument 5 'key_lengths': expects lengths of 0 to 22, but element 0 is 23", lengths, 0, 23);
}

} // namespace
