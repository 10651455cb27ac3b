// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reference of attention, by hand-computed examples and against a plain loop that shares nothing with it.

#include "runtime_attention_fixture.h"

#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <random>

using namespace sparsec::test;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

namespace {

/// The kernel of cudaAttention() in f32, with blocks of 2 queries x 3 keys, without the arguments that a test does not
/// use and without regions unless it asks for them.
struct Variation {
  int64_t dimension = 2, valueDimension = 0; // 0: the same
  bool pattern = false, scale = false, score = false, mask = false;
  bool sinks = false; // in the place of the slopes, which only a score region reads
  bool causal = false;
  int32_t windowLeft = -1, windowRight = -1;

  LaunchInfoBuilder info() const {
    LaunchInfoBuilder info = cudaAttention();
    for (uint32_t i : {0, 1, 2, 7}) {
      info.arguments[i].dtype = SPARSEC_DTYPE_F32;
      info.arguments[i].sizes[3] = i < 2 || valueDimension == 0 ? dimension : valueDimension;
    }
    if (valueDimension != 0) {
      info.attributes.push_back({SPARSEC_ATTRIBUTE_VALUE_DIMENSION, 0, valueDimension});
      ++info.operations[0].attribute_count;
    }
    if (sinks)
      info.operands[5].slot = SPARSEC_ATTENTION_SINKS;
    info.arguments[3].block_rows = 2;
    info.arguments[3].block_columns = 3;
    info.attribute(SPARSEC_ATTRIBUTE_HEAD_DIMENSION).value = dimension;
    info.attribute(SPARSEC_ATTRIBUTE_CAUSAL).value = causal;
    info.attribute(SPARSEC_ATTRIBUTE_WINDOW_LEFT).value = windowLeft;
    info.attribute(SPARSEC_ATTRIBUTE_WINDOW_RIGHT).value = windowRight;
    info.operations[0].region_first = score ? 0 : 1;
    info.operations[0].region_count = uint32_t(score) + uint32_t(mask);
    if (!scale)
      removeArgument(info, 4);
    if (!pattern)
      removeArgument(info, 3);
    return info;
  }
};

class AttentionReference : public AttentionOnFake {
protected:
  int64_t batches = 1, heads = 1, keyHeads = 1, queries = 1, keys = 2, dimension = 2, valueDimension = 2;
  std::vector<float> q, k, v;
  std::vector<float> slopes = {0.0f};
  std::vector<int32_t> ids;
  std::vector<int32_t> partialStarts, partialIndices, fullStarts, fullIndices;
  sparsec_blocks_t pattern = shapeOf(2, 3, 1, 1, 0, 0);
  float scale = 1.0f;
  bool sequenceFirst = false;

  void load(const Variation &variation) {
    AttentionOnFake::load(variation.info());
    valueDimension = variation.valueDimension ? variation.valueDimension : dimension;
    bind();
  }

  /// Makes the arguments from the fields, in the order of the kernel.
  void bind() {
    ids.resize(batches * std::max(keys, queries));
    slopes.resize(heads);
    auto *view = sequenceFirst ? sparsec_dense_bshd : sparsec_dense_bhsd;
    auto tensor = [&](float *data, int64_t headCount, int64_t length, int64_t width) {
      return view(data, SPARSEC_DTYPE_F32, batches, headCount, length, width);
    };
    const std::map<std::string, sparsec::Argument> byName = {
        {"q", tensor(q.data(), heads, queries, dimension)},
        {"k", tensor(k.data(), keyHeads, keys, dimension)},
        {"v", tensor(v.data(), keyHeads, keys, valueDimension)},
        {"pattern", pattern},
        {"scale", scale},
        {"slopes", sparsec_dense_1d(slopes.data(), SPARSEC_DTYPE_F32, heads)},
        {"ids", sparsec_dense_2d(ids.data(), SPARSEC_DTYPE_I32, batches, std::max(keys, queries))},
        {"o", tensor(nullptr, heads, queries, valueDimension)}, // results are neither read nor written
        {"lse", sparsec_dense_3d(nullptr, SPARSEC_DTYPE_F32, batches, heads, queries)}};
    arguments.clear();
    for (size_t i = 0; const sparsec_argument_info_t *info = sparsec_kernel_argument(kernel, i); ++i)
      arguments.push_back(byName.at(info->name));
  }

  std::vector<double> run(int64_t begin, int64_t end, std::vector<double> *magnitude = nullptr) {
    std::vector<double> y((end - begin) * valueDimension, -99.0);
    if (magnitude)
      magnitude->assign(y.size(), -99.0);
    const ArgumentArray array(arguments);
    EXPECT_OK(sparsec_reference_run(kernel, array.data(), array.size(), begin, end, y.data(),
                                    magnitude ? magnitude->data() : nullptr));
    return y;
  }
  std::vector<double> run() { return run(0, batches * heads * queries); }

  std::vector<double> runLse(std::vector<double> *magnitude = nullptr) {
    std::vector<double> lse(batches * heads * queries, -99.0);
    if (magnitude)
      magnitude->assign(lse.size(), -99.0);
    const ArgumentArray array(arguments);
    EXPECT_OK(sparsec_reference_lse(kernel, array.data(), array.size(), 0, int64_t(lse.size()), lse.data(),
                                    magnitude ? magnitude->data() : nullptr));
    return lse;
  }

  /// One head of queries that are all zero: every visible key has the same weight. v[key] = (3 * key, 1).
  void setUniform(int64_t queryCount, int64_t keyCount) {
    queries = queryCount;
    keys = keyCount;
    q.assign(queries * 2, 0.0f);
    k.assign(keys * 2, 5.0f);
    v.clear();
    for (int64_t key = 0; key < keys; ++key)
      v.insert(v.end(), {3.0f * float(key), 1.0f});
  }

  void fillRandom() {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1.5f, 1.5f);
    for (auto [vector, headCount, length] :
         {std::tuple(&q, heads, queries), std::tuple(&k, keyHeads, keys), std::tuple(&v, keyHeads, keys)}) {
      vector->resize(batches * headCount * length * dimension);
      for (float &value : *vector)
        value = uniform(random);
    }
  }
};

TEST_F(AttentionReference, WeightsAreTheSoftmaxOfTheScores) {
  // Scores 0 and log 3: weights 1/4 and 3/4.
  const double logarithm = double(std::log(3.0f));
  q = {1, 0};
  k = {0, 7, std::log(3.0f), -2};
  v = {4, 8, 0, 4};
  load({.scale = true});
  double weight = 1 / (1 + std::exp(logarithm));
  EXPECT_THAT(run(), ElementsAre(DoubleNear(4 * weight, 1e-15), DoubleNear(8 * weight + 4 * (1 - weight), 1e-15)));
  EXPECT_THAT(run(), ElementsAre(DoubleNear(1, 1e-7), DoubleNear(5, 1e-7)));
  EXPECT_THAT(runLse(), ElementsAre(DoubleNear(std::log(4), 1e-7)));
  scale = 2;
  bind(); // weights 1/10 and 9/10
  EXPECT_THAT(run(), ElementsAre(DoubleNear(0.4, 1e-6), DoubleNear(0.8 + 3.6, 1e-6)));
}

TEST_F(AttentionReference, ScaleIsOneOverTheRootOfTheHeadDimensionWhereNoneIsGiven) {
  dimension = 4;
  q = {1, 0, 0, 0};
  k = {0, 0, 0, 0, 2 * std::log(3.0f), 0, 0, 0};
  v = {4, 0, 0, 0, 0, 0, 0, 0};
  load({.dimension = 4});
  EXPECT_NEAR(run()[0], 1, 1e-6);
}

TEST_F(AttentionReference, LargeScoresDoNotOverflow) {
  q = {1000, 0};
  k = {1000, 0, 999, 0};
  v = {1, 0, 9, 0};
  load({.scale = true});
  EXPECT_THAT(run(), ElementsAre(1, 0));
  EXPECT_THAT(runLse(), ElementsAre(1e6));
}

TEST_F(AttentionReference, SinksJoinTheSumsAndAddNothing) {
  setUniform(1, 2); // two scores of 0
  slopes = {std::log(2.0f)};
  load({.sinks = true});
  std::vector<double> magnitude;
  EXPECT_THAT(run(), ElementsAre(DoubleNear(3.0 / 4, 1e-7), DoubleNear(2.0 / 4, 1e-7)));
  EXPECT_THAT(runLse(&magnitude), ElementsAre(DoubleNear(std::log(4), 1e-7)));
  // Scores of 0 are exact. The sink's exponential is off by 1e-6 times log 2, the maximum and 1, and has half the sum.
  EXPECT_NEAR(magnitude[0], (1 + 2 * std::log(2)) / 2 + (1 + std::log(2)) / 2 + std::log(4) + 1, 1e-5);
  slopes = {1000};
  EXPECT_THAT(run(), ElementsAre(0, 0));
  EXPECT_THAT(runLse(), ElementsAre(1000));
  slopes = {-std::numeric_limits<float>::infinity()};
  EXPECT_THAT(run(), ElementsAre(1.5, 1));
  EXPECT_THAT(runLse(), ElementsAre(DoubleNear(std::log(2), 1e-14)));
}

TEST_F(AttentionReference, RowsWithoutVisibleKeysHaveTheirSink) {
  setUniform(3, 0);
  slopes = {-7};
  load({.sinks = true});
  EXPECT_THAT(run(), ::testing::Each(0.0));
  EXPECT_THAT(runLse(), ::testing::Each(-7));
  slopes = {-std::numeric_limits<float>::infinity()};
  EXPECT_THAT(run(), ::testing::Each(0.0));
  EXPECT_THAT(runLse(), ::testing::Each(-infinity));
}

TEST_F(AttentionReference, CausalIsAlignedAtTheBottomRight) {
  setUniform(2, 4); // queries at positions 2 and 3
  load({.causal = true});
  EXPECT_THAT(run(),
              ElementsAre(DoubleNear(3, 1e-14), DoubleNear(1, 1e-14), DoubleNear(4.5, 1e-14), DoubleNear(1, 1e-14)));
  EXPECT_THAT(runLse(), ElementsAre(DoubleNear(std::log(3), 1e-14), DoubleNear(std::log(4), 1e-14)));
}

TEST_F(AttentionReference, RowsWithoutVisibleKeysAreZero) {
  setUniform(4, 2); // queries at positions -2, -1, 0, 1
  load({.causal = true});
  std::vector<double> magnitude;
  EXPECT_THAT(run(0, 4, &magnitude), ElementsAre(0, 0, 0, 0, 0, 1, DoubleNear(1.5, 1e-14), DoubleNear(1, 1e-14)));
  EXPECT_THAT(std::vector(magnitude.begin(), magnitude.begin() + 4), ::testing::Each(0.0));
  EXPECT_THAT(runLse(&magnitude), ElementsAre(-infinity, -infinity, 0, DoubleNear(std::log(2), 1e-14)));
  EXPECT_THAT(std::vector(magnitude.begin(), magnitude.begin() + 2), ::testing::Each(0.0));
  keys = 0;
  bind();
  EXPECT_THAT(run(), ::testing::Each(0.0));
  EXPECT_THAT(runLse(), ::testing::Each(-infinity));
}

TEST_F(AttentionReference, Window) {
  setUniform(3, 5); // positions 2, 3, 4
  load({.windowLeft = 1, .windowRight = 0});
  EXPECT_THAT(runLse(), ::testing::Each(DoubleNear(std::log(2), 1e-14)));
  EXPECT_NEAR(run()[4], 3 * 3.5, 1e-13) << "keys 3 and 4";
  load({.windowLeft = 2, .windowRight = -1});
  EXPECT_NEAR(run()[2], 3 * 2.5, 1e-13) << "keys 1 to 4";
  load({.windowLeft = -1, .windowRight = 1});
  EXPECT_NEAR(run()[0], 3 * 1.5, 1e-13) << "keys 0 to 3";
  load({.causal = true, .windowLeft = 2, .windowRight = 1});
  EXPECT_NEAR(run()[0], 3 * 1.0, 1e-13) << "keys 0 to 2: both apply";
}

TEST_F(AttentionReference, ListsOfBothEncodings) {
  setUniform(5, 8); // 3 x 3 blocks of 2 queries x 3 keys
  partialStarts = {0, 1, 1, 2};
  partialIndices = {2, 0};
  fullStarts = {0, 1, 1, 3};
  fullIndices = {0, 2, 1};
  pattern = shapeOf(2, 3, 1, 1, 5, 8);
  pattern.capacity = 3;
  pattern.partial = {partialStarts.data(), partialIndices.data()};
  pattern.full = {fullStarts.data(), fullIndices.data()};
  load({.pattern = true});
  // Row 0: keys 0 to 2 and 6 to 7. Row 1: none. Row 2 (one query): all.
  auto expected = ElementsAre(DoubleNear(std::log(5), 1e-14), DoubleNear(std::log(5), 1e-14), -infinity, -infinity,
                              DoubleNear(std::log(8), 1e-14));
  EXPECT_THAT(runLse(), expected);
  EXPECT_NEAR(run()[0], 3 * 16.0 / 5, 1e-13);
  EXPECT_NEAR(run()[8], 3 * 3.5, 1e-13);

  partialStarts = {1, 0, 1};
  partialIndices = {2, -9, -9, -9, 0, -9};
  fullStarts = {1, 0, 2};
  fullIndices = {0, -9, -9, -9, 2, 1};
  pattern.encoding = SPARSEC_PATTERN_PADDED_LISTS;
  pattern.capacity = 2;
  pattern.partial = {partialStarts.data(), partialIndices.data()};
  pattern.full = {fullStarts.data(), fullIndices.data()};
  bind();
  EXPECT_THAT(runLse(), expected);
  pattern.full = {nullptr, nullptr};
  bind();
  EXPECT_THAT(runLse(), ElementsAre(DoubleNear(std::log(2), 1e-14), DoubleNear(std::log(2), 1e-14), -infinity,
                                    -infinity, DoubleNear(std::log(3), 1e-14)));
}

TEST_F(AttentionReference, MaskAppliesInPartialBlocksOnly) {
  setUniform(2, 6);
  partialStarts = {0, 1};
  partialIndices = {1};
  fullStarts = {0, 1};
  fullIndices = {0};
  pattern = shapeOf(2, 3, 1, 1, 2, 6);
  pattern.capacity = 1;
  pattern.partial = {partialStarts.data(), partialIndices.data()};
  pattern.full = {fullStarts.data(), fullIndices.data()};
  ids = {4, 8, 4, 4, 8, 4}; // of queries and of keys
  load({.pattern = true, .mask = true});
  // Query 0 (id 4) sees the full block, and keys 3 and 5. Query 1 (id 8) sees the full block and key 4.
  EXPECT_THAT(runLse(), ElementsAre(DoubleNear(std::log(5), 1e-14), DoubleNear(std::log(4), 1e-14)));
  load({.mask = true}); // without a pattern it applies everywhere
  EXPECT_THAT(runLse(), ElementsAre(DoubleNear(std::log(4), 1e-14), DoubleNear(std::log(2), 1e-14)));
}

TEST_F(AttentionReference, ScoresOfMinusInfinityMakeKeysInvisible) {
  setUniform(1, 3);
  slopes = {-std::numeric_limits<float>::infinity()};
  LaunchInfoBuilder info = Variation{.score = true}.info();
  info.steps[3] = {SPARSEC_STEP_ADD, 0, 5, 0, 0}; // s + slopes[head]
  AttentionOnFake::load(info);
  bind();
  std::vector<double> magnitude;
  EXPECT_THAT(run(0, 1, &magnitude), ElementsAre(0, 0));
  EXPECT_THAT(magnitude, ElementsAre(0, 0));
  EXPECT_THAT(runLse(), ElementsAre(-infinity));
}

TEST_F(AttentionReference, NotANumberSpreads) {
  setUniform(1, 3);
  k[2] = NAN;
  load({});
  EXPECT_TRUE(std::isnan(run()[0]));
  EXPECT_TRUE(std::isnan(runLse()[0]));
}

/// softmax(...) v by one loop per row.
struct PlainLoop {
  std::function<double(int64_t, int64_t, int64_t, int64_t)> query, key, value; // batch, head, position, d
  std::function<bool(int64_t, int64_t, int64_t, int64_t)> isVisible;           // batch, head, q, k
  std::function<double(double, int64_t, int64_t, int64_t, int64_t)> score;
  std::function<double(int64_t)> weightOfSink = [](int64_t) { return 0.0; };

  void row(int64_t b, int64_t h, int64_t row, int64_t keys, int64_t dimension, int64_t width, double scale, double *y,
           double &lse) const {
    double sum = weightOfSink(h);
    std::fill_n(y, width, 0.0);
    for (int64_t k = 0; k < keys; ++k) {
      if (!isVisible(b, h, row, k))
        continue;
      double s = 0;
      for (int64_t d = 0; d < dimension; ++d)
        s += query(b, h, row, d) * key(b, h, k, d);
      double weight = std::exp(score(scale * s, b, h, row, k)); // small scores: no maximum is needed
      sum += weight;
      for (int64_t d = 0; d < width; ++d)
        y[d] += weight * value(b, h, k, d);
    }
    for (int64_t d = 0; d < width; ++d)
      y[d] = sum == 0 ? 0 : y[d] / sum;
    lse = std::log(sum);
  }
};

/// 2 batches, 6 heads of which 3 share a key head, sizes that cut blocks, panels of keys and groups of rows.
class AttentionReferenceRandom : public AttentionReference {
protected:
  void SetUp() override {
    batches = 2, heads = 6, keyHeads = 2, queries = 71, keys = 150, dimension = valueDimension = 8;
    fillRandom();
    for (int64_t h = 0; h < heads; ++h)
      slopes.push_back(0.01f * float(h + 1));
    slopes.erase(slopes.begin());
    std::mt19937 random(11);
    for (int64_t i = 0; i < batches * keys; ++i)
      ids.push_back(int32_t(random() % 3));
    loop.isVisible = [](auto...) { return true; };
    loop.score = [](double s, auto...) { return s; };
    auto element = [this](const std::vector<float> &x, int64_t headCount, int64_t share, int64_t length,
                          const int64_t &width) {
      return [&x, headCount, share, length, &width, this](int64_t b, int64_t h, int64_t i, int64_t d) -> double {
        int64_t index =
            sequenceFirst ? ((b * length + i) * headCount + h / share) : (b * headCount + h / share) * length + i;
        return x[index * width + d];
      };
    };
    loop.query = element(q, heads, 1, queries, dimension);
    loop.key = element(k, keyHeads, 3, keys, dimension);
    loop.value = element(v, keyHeads, 3, keys, valueDimension);
  }

  /// Lists by hash: every block is empty, partial or full; different in every batch and head that has its own.
  void setPattern(sparsec_pattern_encoding_t encoding, int64_t patternBatches, int64_t patternHeads) {
    constexpr int64_t rows = 36, columns = 50;
    pattern = shapeOf(2, 3, patternBatches, patternHeads, queries, keys, encoding);
    pattern.capacity = columns;
    bool isPadded = encoding == SPARSEC_PATTERN_PADDED_LISTS;
    for (int wanted : {1, 2}) {
      std::vector<int32_t> &starts = wanted == 1 ? partialStarts : fullStarts;
      std::vector<int32_t> &indices = wanted == 1 ? partialIndices : fullIndices;
      starts.clear();
      indices.clear();
      for (int64_t list = 0; list < patternBatches * patternHeads * rows; ++list) {
        size_t begin = indices.size();
        if (!isPadded)
          starts.push_back(int32_t(begin));
        for (int64_t column = columns - 1; column >= 0; --column) // descending: no order is asked for
          if (stateOf(list, column) == wanted)
            indices.push_back(int32_t(column));
        if (isPadded) {
          starts.push_back(int32_t(indices.size() - begin));
          indices.resize(begin + columns, -9);
        }
      }
      if (!isPadded) {
        starts.push_back(int32_t(indices.size()));
        pattern.capacity = std::max<int64_t>(pattern.capacity, int64_t(indices.size()));
      }
    }
    pattern.partial = {partialStarts.data(), partialIndices.data()};
    pattern.full = {fullStarts.data(), fullIndices.data()};
  }
  static int stateOf(int64_t list, int64_t column) { return int((list * 7919 + column * 104729) % 1009 % 4); }
  int stateOf(int64_t b, int64_t h, int64_t query, int64_t key) const {
    int64_t batch = pattern.batches == 1 ? 0 : b, head = pattern.heads == 1 ? 0 : h;
    return stateOf((batch * pattern.heads + head) * 36 + query / 2, key / 3);
  }

  void compare() {
    std::vector<double> y = run(), lse = runLse(), expected(valueDimension);
    int64_t row = 0;
    for (int64_t b = 0; b < batches; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < queries; ++i, ++row) {
          double expectedLse;
          double usedScale = hasScale ? double(scale) : 1 / std::sqrt(8.0);
          loop.row(b, h, i, keys, dimension, valueDimension, usedScale, expected.data(), expectedLse);
          for (int64_t d = 0; d < valueDimension; ++d)
            ASSERT_NEAR(y[row * valueDimension + d], expected[d], 1e-12) << b << " " << h << " " << i << " " << d;
          if (std::isinf(expectedLse))
            ASSERT_EQ(lse[row], expectedLse);
          else
            ASSERT_NEAR(lse[row], expectedLse, 1e-12);
        }
  }

  PlainLoop loop;
  bool hasScale = false;
};

TEST_F(AttentionReferenceRandom, DenseWithSharedKeyHeads) {
  load({.dimension = 8});
  compare();
}

TEST_F(AttentionReferenceRandom, SinksAndRowsOfValuesOfAnotherSize) {
  for (int64_t width : {3, 8, 12}) {
    v.resize(batches * keyHeads * keys * 12, 0.25f);
    load({.dimension = 8, .valueDimension = width, .sinks = true});
    loop.weightOfSink = [this](int64_t h) { return std::exp(double(slopes[h])); };
    compare();
  }
}

TEST_F(AttentionReferenceRandom, SequenceFirst) {
  sequenceFirst = true;
  load({.dimension = 8});
  compare();
}

TEST_F(AttentionReferenceRandom, PartsOfTheRows) {
  load({.dimension = 8});
  std::vector<double> all = run(), part = run(60, 500); // within a head, over several, into the second batch
  EXPECT_EQ(part, std::vector<double>(all.begin() + 60 * 8, all.begin() + 500 * 8));
  EXPECT_TRUE(run(7, 7).empty());
}

TEST_F(AttentionReferenceRandom, CausalAndWindow) {
  load({.dimension = 8, .causal = true, .windowLeft = 40});
  loop.isVisible = [](int64_t, int64_t, int64_t i, int64_t key) { return key <= i + 79 && key >= i + 79 - 40; };
  compare();
}

TEST_F(AttentionReferenceRandom, EverythingAtOnce) {
  hasScale = true;
  scale = 0.7f;
  for (sparsec_pattern_encoding_t encoding : {SPARSEC_PATTERN_INDEX_ARRAYS, SPARSEC_PATTERN_PADDED_LISTS})
    for (auto [patternBatches, patternHeads] : {std::pair(1, 1), std::pair(2, 1), std::pair(1, 6), std::pair(2, 6)}) {
      setPattern(encoding, patternBatches, patternHeads);
      load({.dimension = 8, .pattern = true, .scale = true, .score = true, .mask = true, .causal = true});
      loop.isVisible = [this](int64_t b, int64_t h, int64_t i, int64_t key) {
        int state = stateOf(b, h, i, key);
        bool isMasked = ids[b * keys + i] != ids[b * keys + key];
        return key <= i + 79 && (state == 2 || (state == 1 && !isMasked));
      };
      loop.score = [this](double s, int64_t, int64_t h, int64_t i, int64_t key) {
        return s + double(slopes[h]) * double(key - i);
      };
      compare();
    }
}

TEST_F(AttentionReferenceRandom, MagnitudeCoversRoundedArithmeticAndNoMore) {
  // In f32, with probabilities rounded to bf16 before they meet V, which is declared bf16 but holds what both can.
  batches = heads = keyHeads = 1;
  fillRandom();
  std::vector<uint16_t> narrow;
  for (float &value : v) {
    narrow.push_back(uint16_t(std::bit_cast<uint32_t>(value) >> 16));
    value = std::bit_cast<float>(uint32_t(narrow.back()) << 16);
  }
  LaunchInfoBuilder info = Variation{.dimension = 8}.info();
  for (uint32_t i : {0, 1, 2})
    info.arguments[i].dtype = SPARSEC_DTYPE_BF16;
  AttentionOnFake::load(info);
  bind();
  auto toNarrow = [](std::vector<float> &wide, std::vector<uint16_t> &bits) {
    for (float &value : wide) {
      bits.push_back(uint16_t(std::bit_cast<uint32_t>(value) >> 16));
      value = std::bit_cast<float>(uint32_t(bits.back()) << 16);
    }
  };
  std::vector<uint16_t> narrowQ, narrowK;
  toNarrow(q, narrowQ);
  toNarrow(k, narrowK);
  arguments[0].dense = sparsec_dense_bhsd(narrowQ.data(), SPARSEC_DTYPE_BF16, 1, 1, queries, 8);
  arguments[1].dense = sparsec_dense_bhsd(narrowK.data(), SPARSEC_DTYPE_BF16, 1, 1, keys, 8);
  arguments[2].dense = sparsec_dense_bhsd(narrow.data(), SPARSEC_DTYPE_BF16, 1, 1, keys, 8);
  std::vector<double> magnitude, lseMagnitude;
  std::vector<double> y = run(0, queries, &magnitude), lse = runLse(&lseMagnitude);

  auto inFloat = [&](int64_t row, int64_t keyCount, float *result) {
    float sum = 0;
    std::fill_n(result, 8, 0.0f);
    for (int64_t key = 0; key < keyCount; ++key) {
      float s = 0;
      for (int d = 0; d < 8; ++d)
        s += q[row * 8 + d] * k[key * 8 + d];
      float p = std::exp(s * float(1 / std::sqrt(8.0)));
      sum += p;
      float rounded = std::bit_cast<float>((std::bit_cast<uint32_t>(p) + 0x8000) & 0xffff0000);
      for (int d = 0; d < 8; ++d)
        result[d] += rounded * v[key * 8 + d];
    }
    for (int d = 0; d < 8; ++d)
      result[d] /= sum;
    return std::log(sum);
  };
  int64_t noticed = 0;
  for (int64_t row = 0; row < queries; ++row) {
    float result[8];
    EXPECT_LE(std::fabs(inFloat(row, keys, result) - lse[row]), 1e-6 * lseMagnitude[row]);
    for (int d = 0; d < 8; ++d)
      EXPECT_LE(std::fabs(result[d] - y[row * 8 + d]), 1e-6 * magnitude[row * 8 + d]) << row << " " << d;
    // A kernel that forgets 6 keys of 150 is wrong by more than that.
    EXPECT_GT(std::fabs(inFloat(row, keys - 6, result) - lse[row]), 1e-6 * lseMagnitude[row]);
    for (int d = 0; d < 8; ++d)
      noticed += std::fabs(result[d] - y[row * 8 + d]) > 1e-6 * magnitude[row * 8 + d];
  }
  EXPECT_GT(noticed, queries * 8 / 2);
}

TEST_F(AttentionReference, BadInputIsRefused) {
  setUniform(2, 6);
  load({.mask = true});
  auto refuses = [&](sparsec_status_code_t code, const std::string &message, int64_t begin, int64_t end) {
    double untouched[4] = {-1, -1, -1, -1};
    const ArgumentArray array(arguments);
    EXPECT_STATUS(sparsec_reference_run(kernel, array.data(), array.size(), begin, end, untouched, untouched + 2), code,
                  message);
    EXPECT_STATUS(sparsec_reference_lse(kernel, array.data(), array.size(), begin, end, untouched, nullptr), code,
                  message);
    EXPECT_THAT(untouched, ::testing::Each(-1));
  };
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "rows within 0 to 2, but got row_begin 1 and row_end 3", 1, 3);
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "row_begin -1", -1, 1);
  arguments[4].dense.sizes[1] = 5; // ids, one too short
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT,
          "argument 4 'ids': the mask region at batch 0, head 0, q 0, k 5 reads index 5.000000 of dimension 1, whose "
          "size is 5",
          0, 1);
  arguments[0].dense.data = nullptr;
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "argument 0 'q': data is NULL", 0, 1);
  bind();
  const ArgumentArray array(arguments);
  EXPECT_STATUS(sparsec_reference_run(kernel, array.data(), array.size(), 0, 2, nullptr, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "y is NULL");
  EXPECT_STATUS(sparsec_reference_lse(kernel, array.data(), array.size(), 0, 2, nullptr, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "lse is NULL");
  double lse;
  EXPECT_STATUS(sparsec_reference_lse(nullptr, array.data(), array.size(), 0, 1, &lse, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");

  partialStarts = {0, 1};
  partialIndices = {2};
  pattern = shapeOf(2, 3, 1, 1, 2, 6);
  pattern.capacity = 1;
  pattern.partial = {partialStarts.data(), partialIndices.data()};
  load({.pattern = true});
  refuses(SPARSEC_STATUS_INVALID_PATTERN,
          "argument 3 'pattern': expects partial.indices[0] (block row 0) to be 0 to 1, but got 2", 0, 1);
  AttentionOnFake::load(cudaLinear());
  EXPECT_STATUS(sparsec_reference_lse(kernel, array.data(), 5, 0, 1, &lse, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel 'linear' has no LSE: it is neither attention nor a merge");
}

} // namespace
