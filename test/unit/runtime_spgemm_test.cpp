// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of two block-sparse matrices: the pairs of blocks, the reference by an independent product of dense
// matrices, arguments, and plans on the fake driver.

#include "image/launch_info_reader.h"
#include "plan/pairs.h"
#include "plan/plan.h"
#include "runtime_block_pattern.h"
#include "runtime_kernel_fixture.h"
#include "runtime_paired_image.h"
#include "runtime_refill_image.h"
#include "runtime_saved_plan.h"

#include <map>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

using Numbers = std::array<int32_t, 3>; // of a pair: block of A, block of B, k
using PairsOfBlocks = std::vector<std::vector<Numbers>>;

PairsOfBlocks listed(const PairIndex &index) {
  PairsOfBlocks blocks(index.starts.size() - 1);
  for (size_t block = 0; block < blocks.size(); ++block)
    for (int32_t pair = index.starts[block]; pair < index.starts[block + 1]; ++pair)
      blocks[block].push_back({index.pairs[pair].left, index.pairs[pair].right, index.pairs[pair].k});
  return blocks;
}

/// From the definition, block by block of the result.
PairsOfBlocks expectedPairs(const Pattern &left, const Pattern &right, const Pattern *result) {
  auto pairsAt = [&](int64_t i, int64_t j) {
    std::vector<Numbers> pairs;
    for (int32_t a = left.rowPtr[i]; a < left.rowPtr[i + 1]; ++a)
      for (int32_t b = right.rowPtr[left.colIdx[a]]; b < right.rowPtr[left.colIdx[a] + 1]; ++b)
        if (right.colIdx[b] == j)
          pairs.push_back({a, b, left.colIdx[a]});
    return pairs;
  };
  PairsOfBlocks blocks;
  for (int64_t i = 0; i < left.blockRows(); ++i) {
    for (int64_t j = 0; !result && j < right.blockColumns; ++j)
      blocks.push_back(pairsAt(i, j));
    for (int32_t block = result ? result->rowPtr[i] : 0; result && block < result->rowPtr[i + 1]; ++block)
      blocks.push_back(pairsAt(i, result->colIdx[block]));
  }
  return blocks;
}

TEST(Pairs, OfASmallProduct) {
  // A has blocks (0, 1), (0, 0) and (2, 1); B has (0, 1), (1, 0) and (1, 1).
  const Pattern left(2, {{1, 0}, {}, {1}}), right(2, {{1}, {0, 1}});
  PairIndex index;
  ASSERT_OK(makePairs(left.view(), right.view(), nullptr, index));
  EXPECT_EQ(listed(index), (PairsOfBlocks{{{0, 1, 1}}, {{0, 2, 1}, {1, 0, 0}}, {}, {}, {{2, 1, 1}}, {{2, 2, 1}}}));
  EXPECT_EQ(index.countOf(1), 2);
  EXPECT_EQ(index.pairs.size(), 6u) << "readers may load one pair more";

  const Pattern result(2, {{1}, {0}, {}});
  const BlockPattern view = result.view();
  ASSERT_OK(makePairs(left.view(), right.view(), &view, index));
  EXPECT_EQ(listed(index), (PairsOfBlocks{{{0, 2, 1}, {1, 0, 0}}, {}}));
}

TEST(Pairs, OfRandomPatterns) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const Pattern left = Pattern::random(1 + seed, 17, 0.04 * seed, 0.2, seed);
    const Pattern right = Pattern::random(17, 25 - seed, 0.3, 0.3, seed + 100);
    const Pattern result = Pattern::random(1 + seed, 25 - seed, 0.4, 0.2, seed + 200);
    PairIndex index;
    ASSERT_OK(makePairs(left.view(), right.view(), nullptr, index));
    EXPECT_EQ(listed(index), expectedPairs(left, right, nullptr)) << seed;
    const BlockPattern view = result.view();
    ASSERT_OK(makePairs(left.view(), right.view(), &view, index));
    EXPECT_EQ(listed(index), expectedPairs(left, right, &result)) << seed;
  }
}

TEST(Pairs, OfMatricesWithoutBlocks) {
  PairIndex index;
  ASSERT_OK(makePairs({nullptr, nullptr, 2, 3}, {nullptr, nullptr, 3, 2}, nullptr, index));
  EXPECT_EQ(index.starts, (std::vector<int32_t>(5)));
  EXPECT_EQ(index.pairs.size(), 1u);
  ASSERT_OK(makePairs({nullptr, nullptr, 0, 3}, {nullptr, nullptr, 3, 2}, nullptr, index));
  EXPECT_EQ(index.starts, std::vector<int32_t>{0});
}

TEST(Pairs, AreCountedIn32Bits) {
  PairIndex index;
  EXPECT_STATUS(makePairs({nullptr, nullptr, 65536, 1}, {nullptr, nullptr, 1, 32768}, nullptr, index),
                SPARSEC_STATUS_INVALID_ARGUMENT, "the product has 2147483648 blocks, at most 2147483647 are expected");
  EXPECT_TRUE(index.isEmpty());
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

TEST(PairedImage, SectionsAreChecked) {
  for (bool isSampled : {false, true}) {
    auto parse = [&](uint32_t sections) {
      LaunchInfoBuilder builder = cudaPaired(isSampled);
      builder.variants[0].required_sections = sections;
      LaunchInfo info;
      return LaunchInfo::parse(builder.build(), info);
    };
    EXPECT_OK(parse(pairSections));
    EXPECT_STATUS(parse(0), SPARSEC_STATUS_INVALID_IMAGE, "requires plan sections 0, and those of pairs are expected");
    EXPECT_STATUS(parse(pairSections | windowRows), SPARSEC_STATUS_INVALID_IMAGE,
                  "requires plan sections, but the last variant must run without a plan");
  }
  LaunchInfoBuilder sddmm = cudaSampled();
  sddmm.variants[0].required_sections = pairSections;
  LaunchInfo info;
  EXPECT_STATUS(LaunchInfo::parse(sddmm.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                "and those of pairs are not expected");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// A block-sparse matrix with random small integers, and the same as a dense one. Elements beyond the matrix are NaN.
struct Matrix {
  Pattern pattern;
  int64_t rows, columns, blockRows, blockColumns;
  std::vector<uint16_t> values;
  std::vector<double> dense;

  Matrix(int64_t rows, int64_t columns, int64_t blockRows, int64_t blockColumns, double density, uint32_t seed)
      : pattern(Pattern::random((rows + blockRows - 1) / blockRows, (columns + blockColumns - 1) / blockColumns,
                                density, 0.1, seed)),
        rows(rows), columns(columns), blockRows(blockRows), blockColumns(blockColumns), dense(rows * columns) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < pattern.blockRows(); ++i)
      for (int32_t block = pattern.rowPtr[i]; block < pattern.rowPtr[i + 1]; ++block)
        for (int64_t element = 0; element < blockRows * blockColumns; ++element) {
          const int64_t m = i * blockRows + element / blockColumns;
          const int64_t n = pattern.colIdx[block] * blockColumns + element % blockColumns;
          const bool isInside = m < rows && n < columns;
          const float value = float(int(random() % 9) - 4);
          values.push_back(f16(isInside ? value : NAN));
          if (isInside)
            dense[m * columns + n] = value;
        }
  }

  sparsec_blocks_t view() const {
    return sparsec_blocks_bsr(rows, columns, int32_t(blockRows), int32_t(blockColumns), int64_t(pattern.colIdx.size()),
                              pattern.rowPtr.data(), pattern.colIdx.data(), SPARSEC_DTYPE_F16, values.data());
  }
};

class Paired : public KernelOnFake {
protected:
  void SetUp() override {
    fake.multiprocessors = 2;
    fake.parameterCount = 4;
  }

  void loadProduct(bool sampled) { loadProduct(sampled, cudaPaired(sampled)); }

  void loadProduct(bool sampled, const LaunchInfoBuilder &info) {
    isSampled = sampled;
    load(info);
    arguments = {left.view(), right.view()};
    if (sampled)
      arguments.push_back(pattern.view());
    const int64_t shape[] = {int64_t(pattern.pattern.colIdx.size()), 16, 32};
    before.assign(sampled ? shape[0] * 512 : left.rows * right.columns, 0);
    for (size_t i = 0; i < before.size(); ++i)
      before[i] = float(i % 7);
    for (void *data : {static_cast<void *>(before.data()), at(0x600000)})
      arguments.push_back(sampled ? sparsec_dense(data, SPARSEC_DTYPE_F32, 3, shape)
                                  : sparsec_dense_2d(data, SPARSEC_DTYPE_F32, left.rows, right.columns));
    fake.calls.clear();
  }

  Status createStaticPlan(const ArgumentList &of) { return createPlanWith(SPARSEC_PLAN_STATIC_PATTERN, of); }

  Status createPlanWith(uint32_t flags, const ArgumentList &of) {
    auto options = sized<sparsec_plan_options_t>();
    options.flags = flags;
    return createPlan(of, options);
  }

  /// A kernel whose plans can be refilled.
  void loadRefilled(bool sampled) {
    LaunchInfoBuilder info = cudaPaired(sampled);
    addRefillKernel(info, SPARSEC_AUXILIARY_COUNT_PAIRS, "paired_count_pairs", SPARSEC_PLAN_PAIR_COUNTS);
    addRefillKernel(info, SPARSEC_AUXILIARY_WRITE_PAIRS, "paired_write_pairs", SPARSEC_PLAN_PAIRS);
    loadProduct(sampled, info);
  }

  double product(int64_t m, int64_t n) const {
    double sum = 0;
    for (int64_t k = 0; m < left.rows && n < right.columns && k < left.columns; ++k)
      sum += left.dense[m * left.columns + k] * right.dense[k * right.columns + n];
    return sum;
  }

  bool isSampled = false;
  Matrix left{40, 30, 16, 8, 0.6, 1}, right{30, 70, 8, 32, 0.6, 2}, pattern{40, 70, 16, 32, 0.7, 3};
  std::vector<float> before;
};

TEST_F(Paired, ReferenceOfADenseResult) {
  loadProduct(false);
  std::vector<double> values(40 * 70), magnitude(40 * 70);
  ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, 40, values.data(), magnitude.data()));
  for (int64_t m = 0; m < 40; ++m)
    for (int64_t n = 0; n < 70; ++n) {
      EXPECT_EQ(values[m * 70 + n], product(m, n) + before[m * 70 + n]) << m << ", " << n;
      EXPECT_GE(magnitude[m * 70 + n], std::abs(product(m, n)));
    }
}

TEST_F(Paired, ReferenceOfThePattern) {
  loadProduct(true);
  const auto rows = int64_t(before.size()) / 32;
  std::vector<double> values(before.size()), some(32);
  ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, rows, values.data(), nullptr));
  for (int64_t i = 0; i < pattern.pattern.blockRows(); ++i)
    for (int32_t block = pattern.pattern.rowPtr[i]; block < pattern.pattern.rowPtr[i + 1]; ++block)
      for (int64_t element = 0; element < 512; ++element) {
        const int64_t m = i * 16 + element / 32, n = pattern.pattern.colIdx[block] * 32 + element % 32;
        EXPECT_EQ(values[block * 512 + element], product(m, n) + before[block * 512 + element]) << m << ", " << n;
      }
  ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 17, 18, some.data(), nullptr));
  EXPECT_TRUE(std::equal(some.begin(), some.end(), values.begin() + 17 * 32));
}

TEST_F(Paired, SizesGoTogether) {
  loadProduct(true);
  ASSERT_OK(createStaticPlan(arguments));
  fake.calls.clear();
  refuses("argument 1 'b': expects 30 rows, but got 31", [](auto &all) { all[1].blocks.rows = 31; });
  refuses("argument 2 'p': expects 40 rows, but got 39", [](auto &all) { all[2].blocks.rows = 39; });
  refuses("argument 2 'p': expects 70 columns, but got 71", [](auto &all) { all[2].blocks.columns = 71; });
  refuses("argument 1 'b': expects blocks of 8 x 32", [](auto &all) { all[1].blocks.block_rows = 16; });
  refuses("argument 4 'c': expects stride 1 to be 32 (contiguous blocks), but got 40",
          [](auto &all) { all[4].dense.strides[1] = 40; });
  refuses("argument 2 'p': expects at most 134213631 blocks of 16 rows",
          [](auto &all) { all[2].blocks.capacity = 134213632; });
}

TEST_F(Paired, LaunchesNeedAPlanOfAStaticPattern) {
  loadProduct(false);
  refuses("kernel 'paired' multiplies block-sparse matrices: expects a plan that was made with the matrices and "
          "SPARSEC_PLAN_STATIC_PATTERN",
          [](auto &) {});
  const char *needed = "kernel 'paired' multiplies block-sparse matrices: its plan needs all of them and "
                       "SPARSEC_PLAN_STATIC_PATTERN";
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, needed, arguments);
  auto options = sized<sparsec_plan_options_t>();
  options.flags = SPARSEC_PLAN_STATIC_PATTERN;
  ArgumentList withoutB = arguments;
  withoutB[1] = {};
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, needed, withoutB, options);
  ASSERT_OK(createStaticPlan(arguments));
  EXPECT_OK(launch());
  EXPECT_EQ(fake.launches.back().function, "paired");
}

/// The pairs in the memory of the fake device.
PairsOfBlocks plannedPairs(sparsec_plan_t plan, size_t blocks) {
  const auto &sections = plan->variants[0].sections;
  PairIndex index;
  const auto *starts = static_cast<const int32_t *>(sections[SPARSEC_PLAN_PAIR_STARTS]);
  index.starts.assign(starts, starts + blocks + 1);
  const auto *pairs = static_cast<const BlockPair *>(sections[SPARSEC_PLAN_PAIRS]);
  index.pairs.assign(pairs, pairs + index.starts.back());
  return listed(index);
}

TEST_F(Paired, PlansHaveThePairsOfAllBlocks) {
  loadProduct(false);
  ASSERT_OK(createStaticPlan(arguments));
  EXPECT_EQ(plannedPairs(plan, 9), expectedPairs(left.pattern, right.pattern, nullptr));
  EXPECT_EQ(planInfo().tiles, 9);
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_LISTS);
}

TEST_F(Paired, PlansHaveThePairsAndTilesOfThePattern) {
  loadProduct(true);
  ASSERT_OK(createStaticPlan(arguments));
  const size_t blocks = pattern.pattern.colIdx.size();
  EXPECT_EQ(plannedPairs(plan, blocks), expectedPairs(left.pattern, right.pattern, &pattern.pattern));
  const auto &sections = plan->variants[0].sections;
  const auto *offsets = static_cast<const uint32_t *>(sections[SPARSEC_PLAN_TILE_OFFSETS]);
  EXPECT_EQ(offsets[planInfo().workers], blocks) << "a tile for each stored block";
}

/// The block columns of a matrix, where two blocks of a row have changed places.
std::vector<int32_t> withTwoSwapped(const sparsec_blocks_t &blocks) {
  std::vector<int32_t> changed(blocks.full.indices, blocks.full.indices + blocks.capacity);
  const int32_t *starts = blocks.full.starts;
  int row = 0;
  while (starts[row + 1] - starts[row] < 2)
    ++row;
  std::swap(changed[starts[row]], changed[starts[row] + 1]);
  return changed;
}

TEST_F(Paired, SavedPlansComeBack) {
  for (bool sampled : {false, true}) {
    SCOPED_TRACE(sampled);
    loadProduct(sampled);
    ASSERT_OK(createStaticPlan(arguments));
    const ByteVector saved = savePlan();
    const PlanContents before = contentsOf(*plan);
    auto options = sized<sparsec_plan_options_t>();
    options.arguments = arguments.data();
    options.argument_count = arguments.size();
    ASSERT_OK(loadPlan(saved, &options));
    EXPECT_EQ(contentsOf(*plan), before);
    EXPECT_EQ(savePlan(), saved);
    EXPECT_OK(launch());
    // The lists of every matrix are compared.
    for (size_t argument = 0; argument < (sampled ? 3u : 2u); ++argument) {
      sparsec_blocks_t &blocks = arguments[argument].blocks;
      const std::vector<int32_t> changed = withTwoSwapped(blocks);
      const int32_t *good = std::exchange(blocks.full.indices, changed.data());
      EXPECT_STATUS(loadPlan(saved, &options), SPARSEC_STATUS_INVALID_PLAN,
                    "it is for other index arrays than those of argument " + std::to_string(argument));
      blocks.full.indices = good;
    }
  }
}

TEST_F(Paired, DamagedPairsAreRefused) {
  loadProduct(false);
  ASSERT_OK(createStaticPlan(arguments));
  const ByteVector good = savePlan();
  auto refusesWord = [&](const std::string &message, sparsec_plan_section_t section, int64_t index, int32_t value) {
    ByteVector bytes = good;
    setWord(bytes, 0, section, index, uint32_t(value));
    EXPECT_STATUS(loadPlan(mended(bytes)), SPARSEC_STATUS_INVALID_PLAN, message);
  };
  const auto *pairs = static_cast<const BlockPair *>(plan->variants[0].sections[SPARSEC_PLAN_PAIRS]);
  // The first two pairs of a block that has so many.
  const auto *starts = static_cast<const int32_t *>(plan->variants[0].sections[SPARSEC_PLAN_PAIR_STARTS]);
  const int32_t *start = starts;
  while (start[1] - start[0] < 2)
    ++start;
  const BlockPair first = pairs[*start], second = pairs[*start + 1];
  const int64_t word = 3 * int64_t(*start);
  refusesWord("pair starts of variant 0: expects 0 at 0, but got 1", SPARSEC_PLAN_PAIR_STARTS, 0, 1);
  refusesWord("pair starts of variant 0: expects at least 100 at 2", SPARSEC_PLAN_PAIR_STARTS, 1, 100);
  refusesWord("pairs of variant 0: expects 1001 elements", SPARSEC_PLAN_PAIR_STARTS, -1, 1000);
  const auto blocksOfA = int32_t(left.pattern.colIdx.size()), blocksOfB = int32_t(right.pattern.colIdx.size());
  for (int32_t wrong : {-1, blocksOfA, second.left})
    refusesWord("are out of range, elsewhere, or there twice", SPARSEC_PLAN_PAIRS, word, wrong);
  for (int32_t wrong : {-1, blocksOfB, second.right})
    refusesWord("are out of range, elsewhere, or there twice", SPARSEC_PLAN_PAIRS, word + 1, wrong);
  for (int32_t wrong : {-1, 4, second.k})
    refusesWord("blocks " + std::to_string(first.left) + " and " + std::to_string(first.right), SPARSEC_PLAN_PAIRS,
                word + 2, wrong);
  refusesWord("pairs of variant 0: expects zeros behind the end", SPARSEC_PLAN_PAIRS, -1, 1);
  // The whole pair twice.
  ByteVector bytes = good;
  for (int64_t i : {0, 1, 2})
    setWord(bytes, 0, SPARSEC_PLAN_PAIRS, word + 3 + i, uint32_t((&first.left)[i]));
  EXPECT_STATUS(loadPlan(mended(bytes)), SPARSEC_STATUS_INVALID_PLAN,
                "at " + std::to_string(word / 3 + 1) + " are out of range, elsewhere, or there twice");
}

TEST_F(Paired, SavedPlansKnowAllLists) {
  loadProduct(true);
  ASSERT_OK(createStaticPlan(arguments));
  const ByteVector good = savePlan();
  auto refuses = [&](const std::string &message, size_t field, size_t list, uint32_t value) {
    ByteVector bytes = good;
    std::memcpy(bytes.data() + sizeof(SavedPlanHeader) + list * sizeof(SavedList) + field, &value, sizeof(value));
    EXPECT_STATUS(loadPlan(mended(bytes)), SPARSEC_STATUS_INVALID_PLAN, message);
  };
  refuses("it knows lists of argument 0 twice", offsetof(SavedList, argument), 1, 0);
  refuses("it knows lists of argument 3, which has none", offsetof(SavedList, argument), 1, 3);
  refuses("pair starts of variant 0: expects 3 elements", offsetof(SavedList, blocks), 2, 2);
  refuses("are out of range, elsewhere, or there twice", offsetof(SavedList, blocks), 0, 1);
  // Without the sections of pairs no launch can run.
  ByteVector bytes = good;
  const uint32_t other = SPARSEC_PLAN_WINDOW_ROWS;
  std::memcpy(bytes.data() + recordOf(good, 0, SPARSEC_PLAN_PAIRS) + offsetof(SavedSection, section), &other, 4);
  EXPECT_STATUS(loadPlan(mended(bytes)), SPARSEC_STATUS_INVALID_PLAN, "has some sections of a kind, but not all");
}

TEST_F(Paired, LaunchesWithAPlanCheckAllListsThatAskForIt) {
  loadProduct(true);
  ASSERT_OK(createStaticPlan(arguments));
  for (int argument : {0, 1, 2}) {
    SCOPED_TRACE(argument);
    auto good = arguments;
    sparsec_blocks_t &blocks = arguments[argument].blocks;
    const std::vector<int32_t> changed = withTwoSwapped(blocks);
    blocks.full.indices = changed.data();
    blocks.flags |= SPARSEC_BLOCKS_CHECK_LISTS;
    EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, "plan is for other index arrays");
    arguments = good;
  }
}

/// A has 3 x 4 blocks, B 4 x 3, and so many are stored.
TEST_F(Paired, RefillsHaveRoomForThePairsOfAnyBlocks) {
  loadRefilled(false);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL, arguments));
  const VariantPlan &part = plan->variants[0];
  const int64_t ofA = int64_t(left.pattern.colIdx.size()), ofB = int64_t(right.pattern.colIdx.size());
  EXPECT_EQ(part.sectionBytes[SPARSEC_PLAN_PAIR_STARTS], (9u + 1) * 4);
  EXPECT_EQ(part.sectionBytes[SPARSEC_PLAN_PAIRS], size_t(std::min(3 * ofA, 3 * ofB) + 1) * 12);
  EXPECT_EQ(part.sectionBytes[SPARSEC_PLAN_PAIR_COUNTS], 3u * 4);
  fake.launches.clear();
  const ArgumentArray array(arguments);
  fake.parameterCount = 3;
  ASSERT_OK(sparsec_plan_refill(plan, array.data(), array.size(), at(0x77)));
  ASSERT_EQ(fake.launches.size(), 2u);
  EXPECT_EQ(fake.launches[0].function, "paired_count_pairs");
  EXPECT_EQ(fake.launches[1].function, "paired_write_pairs");
  for (const FakeLaunch &each : fake.launches) {
    EXPECT_EQ(each.gridX, 3u) << "a CTA for every block row of A";
    EXPECT_EQ(each.stream, at(0x77));
  }
}

TEST_F(Paired, RefillsOfAPatternHaveNoListsOfTiles) {
  loadRefilled(true);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL, arguments));
  EXPECT_EQ(plan->variants[0].sectionBytes[SPARSEC_PLAN_PAIR_STARTS], (pattern.pattern.colIdx.size() + 1) * 4);
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_FIXED);
  EXPECT_STREQ(planInfo().reason, "fixed order: refills change which tiles there are");
}

TEST_F(Paired, RefillsThatDoNotFitAreRefused) {
  loadRefilled(false);
  auto options = sized<sparsec_plan_options_t>();
  options.flags = SPARSEC_PLAN_REFILL;
  ArgumentList wide = {arguments[0], arguments[1], {}, {}};
  wide[1].blocks.columns = 9 * 32;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "the plan needs pairs, but refills take at most 8 block columns", wide,
              options);
  wide[1].blocks.columns = 8 * 32;
  wide[0].blocks.capacity = wide[1].blocks.capacity = int64_t(1) << 30;
  refusesPlan(SPARSEC_STATUS_INVALID_ARGUMENT, "the product may have 3221225472 pairs of blocks, at most 2147483646",
              wide, options);
  ASSERT_OK(createPlanWith(SPARSEC_PLAN_REFILL, arguments));
  const ArgumentList withoutB = {arguments[0], {}, {}, {}};
  const ArgumentArray array(withoutB);
  EXPECT_STATUS(sparsec_plan_refill(plan, array.data(), array.size(), nullptr), SPARSEC_STATUS_INVALID_ARGUMENT,
                "argument 1 'b': is open, but a refill reads its index arrays");
}

TEST_F(Paired, OtherKernelsHaveNoPairsToRefill) {
  for (const auto &[kind, name] :
       {std::pair(SPARSEC_AUXILIARY_COUNT_PAIRS, "counter"), std::pair(SPARSEC_AUXILIARY_WRITE_PAIRS, "writer")}) {
    LaunchInfoBuilder builder = cudaLinear();
    addRefillKernel(builder, kind, "linear_pairs", SPARSEC_PLAN_PAIR_COUNTS);
    LaunchInfo info;
    EXPECT_STATUS(LaunchInfo::parse(builder.build(), info), SPARSEC_STATUS_INVALID_IMAGE,
                  "the " + std::string(name) + " of pairs expects a GPU and the pairs of two matrices");
  }
}

} // namespace
