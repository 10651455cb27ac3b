// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention on the host: a real kernel gets its parameters and tiles, and agrees with the reference.

#include "runtime_expect.h"
#include "runtime_sequence_image.h"
#include "runtime_views.h"
#include "sparsec/runtime.hpp"

#include <cmath>
#include <cstring>
#include <random>

#ifdef SPARSEC_HAS_TEST_HOST_OBJECT

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

LaunchInfoBuilder attentionInfo() {
  LaunchInfoBuilder info = cudaAttention();
  makeHostInfo(info);
  for (uint32_t i : {0, 1, 2, 7}) {
    info.arguments[i].dtype = SPARSEC_DTYPE_F32;
    info.arguments[i].sizes[3] = 4;
  }
  info.arguments[3].block_rows = 2;
  info.arguments[3].block_columns = 3;
  info.attribute(SPARSEC_ATTRIBUTE_HEAD_DIMENSION).value = 4;
  std::strcpy(info.stages[0].symbol, "sparsec_test_attention");
  info.variants[0].alignment = 4;
  info.setTile(0, 2, 64);
  return info;
}

/// 2 batches, 4 heads of which 2 share a key head, sizes that cut blocks, results with room around them.
struct Problem {
  static constexpr int64_t batches = 2, heads = 4, keyHeads = 2, queries = 7, keys = 13, dimension = 4;
  static constexpr int64_t rows = 4, columns = 5, room = 2;
  std::vector<float> q, k, v, o, lse, slopes = {0.1f, 0.2f, -0.1f, 0.3f};
  std::vector<int32_t> ids;
  sparsec_blocks_t pattern = {};

  Problem() {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (auto [vector, headCount, length] :
         {std::tuple(&q, heads, queries), std::tuple(&k, keyHeads, keys), std::tuple(&v, keyHeads, keys)}) {
      vector->resize(batches * headCount * length * dimension);
      for (float &value : *vector)
        value = uniform(random);
    }
    for (int64_t i = 0; i < batches * keys; ++i)
      ids.push_back(int32_t(random() % 2));
    clearResults();
  }

  void clearResults() {
    o.assign(batches * queries * heads * (dimension + room), NAN);
    lse.assign(batches * heads * (queries + room), NAN);
  }

  /// Q batch-head-sequence, K and V batch-sequence-head.
  ArgumentList arguments() {
    sparsec_dense_t result = sparsec_dense_bshd(o.data(), SPARSEC_DTYPE_F32, batches, heads, queries, dimension + room);
    result.sizes[3] = dimension;
    sparsec_dense_t logSums = sparsec_dense_3d(lse.data(), SPARSEC_DTYPE_F32, batches, heads, queries);
    logSums.strides[1] = queries + room;
    logSums.strides[0] = heads * (queries + room);
    auto keyTensor = [](std::vector<float> &data) {
      return sparsec_dense_bshd(data.data(), SPARSEC_DTYPE_F32, batches, keyHeads, keys, dimension);
    };
    return {sparsec_dense_bhsd(q.data(), SPARSEC_DTYPE_F32, batches, heads, queries, dimension),
            keyTensor(k),
            keyTensor(v),
            pattern,
            0.6,
            sparsec_dense_1d(slopes.data(), SPARSEC_DTYPE_F32, heads),
            sparsec_dense_2d(ids.data(), SPARSEC_DTYPE_I32, batches, keys),
            result,
            logSums};
  }

  void check(sparsec_kernel_t kernel) {
    constexpr int64_t all = batches * heads * queries;
    std::vector<double> expected(all * dimension), expectedLse(all);
    auto arguments = this->arguments();
    ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), 9, 0, all, expected.data(), nullptr));
    ASSERT_OK(sparsec_reference_lse(kernel, arguments.data(), 9, 0, all, expectedLse.data(), nullptr));
    for (int64_t row = 0; row < all; ++row) {
      int64_t query = row % queries, head = row / queries % heads, batch = row / queries / heads;
      const float *got = &o[((batch * queries + query) * heads + head) * (dimension + room)];
      for (int64_t d = 0; d < dimension + room; ++d) {
        if (d < dimension)
          ASSERT_NEAR(got[d], expected[row * dimension + d], 1e-5) << row << ", " << d;
        else
          ASSERT_TRUE(std::isnan(got[d])) << "the padding is not the kernel's";
      }
      float gotLse = lse[(batch * heads + head) * (queries + room) + query];
      if (std::isinf(expectedLse[row]))
        ASSERT_EQ(gotLse, expectedLse[row]);
      else
        ASSERT_NEAR(gotLse, expectedLse[row], 1e-5);
    }
  }
};

/// Every state in turn; one row of blocks of each batch and head is empty.
std::vector<uint8_t> blockMask(int64_t batches, int64_t heads) {
  std::vector<uint8_t> mask;
  for (int64_t list = 0; list < batches * heads * Problem::rows; ++list)
    for (int64_t column = 0; column < Problem::columns; ++column)
      mask.push_back(list % Problem::rows == 2 ? 0 : uint8_t((list * 7 + column * column) % 3));
  return mask;
}

TEST(HostAttention, KernelRunsAndAgreesWithTheReference) {
  for (int threads : {1, 3}) {
    sparsec::Device device = sparsec::Device::host(threads);
    ByteVector object = hostObject(attentionInfo());
    sparsec::Module module(device, object.data(), object.size());
    sparsec::Kernel kernel = module.kernel();
    for (sparsec_pattern_encoding_t encoding : {SPARSEC_PATTERN_INDEX_ARRAYS, SPARSEC_PATTERN_PADDED_LISTS})
      for (auto [batches, heads] : {std::pair(1, 1), std::pair(1, 4), std::pair(2, 1), std::pair(2, 4)}) {
        sparsec::Pattern lists(device, shapeOf(2, 3, batches, heads, Problem::queries, Problem::keys, encoding),
                               blockMask(batches, heads));
        Problem problem;
        problem.pattern = lists.view();
        auto arguments = problem.arguments();
        ASSERT_OK(sparsec_launch(kernel.handle(), nullptr, arguments.data(), arguments.size(), nullptr));
        problem.check(kernel.handle());
      }
  }
}

TEST(HostAttention, PatternOfThePredicateGivesTheSameAsTheMaskEverywhere) {
  sparsec::Device device = sparsec::Device::host(2);
  ByteVector object = hostObject(attentionInfo());
  sparsec::Module module(device, object.data(), object.size());
  sparsec::Kernel kernel = module.kernel();
  const sparsec_blocks_t shape = shapeOf(2, 3, 2, 1, Problem::queries, Problem::keys);
  Problem problem;
  // All blocks partial: the mask is asked for every query and key.
  sparsec::Pattern everywhere(device, shape, std::vector<uint8_t>(2 * Problem::rows * Problem::columns, 2));
  problem.pattern = everywhere.view();
  auto arguments = problem.arguments();
  std::vector<double> expected(2 * 4 * 7), got(expected.size());
  ASSERT_OK(sparsec_reference_lse(kernel.handle(), arguments.data(), 9, 0, 56, expected.data(), nullptr));

  sparsec_pattern_buffer_t buffer;
  ASSERT_OK(sparsec_pattern_from_predicate(kernel.handle(), &shape, arguments.data(), 9, device.handle(), &buffer));
  problem.pattern = viewOf(buffer);
  arguments = problem.arguments();
  ASSERT_OK(sparsec_launch(kernel.handle(), nullptr, arguments.data(), arguments.size(), nullptr));
  problem.check(kernel.handle());
  ASSERT_OK(sparsec_reference_lse(kernel.handle(), arguments.data(), 9, 0, 56, got.data(), nullptr));
  EXPECT_THAT(got, ::testing::Pointwise(::testing::DoubleEq(), expected));
  sparsec_pattern_buffer_destroy(buffer);
}

TEST(HostAttention, ListsAreCheckedBeforeTheyAreFollowed) {
  sparsec::Device device = sparsec::Device::host(1);
  ByteVector object = hostObject(attentionInfo());
  sparsec::Module module(device, object.data(), object.size());
  Problem problem;
  std::vector<int32_t> starts(Problem::rows, 1), indices = {0, 1, 5, 2};
  problem.pattern = shapeOf(2, 3, 1, 1, Problem::queries, Problem::keys, SPARSEC_PATTERN_PADDED_LISTS);
  problem.pattern.capacity = 1;
  problem.pattern.partial = {starts.data(), indices.data()};
  auto arguments = problem.arguments();
  EXPECT_STATUS(sparsec_launch(module.kernel().handle(), nullptr, arguments.data(), arguments.size(), nullptr),
                SPARSEC_STATUS_INVALID_PATTERN,
                "argument 3 'pattern': expects partial.indices[2] (block row 2) to be 0 to 4, but got 5");
  for (const std::vector<float> &result : {problem.o, problem.lse})
    for (float value : result)
      ASSERT_TRUE(std::isnan(value)) << "results must be untouched";
}

/// The host hands out tiles as threads become free: its plans are checked sizes and lists.
TEST(HostAttention, LaunchesWithPlans) {
  sparsec::Device device = sparsec::Device::host(3);
  ByteVector object = hostObject(attentionInfo());
  sparsec::Module module(device, object.data(), object.size());
  sparsec::Kernel kernel = module.kernel();
  sparsec::Pattern lists(device, shapeOf(2, 3, 2, 4, Problem::queries, Problem::keys), blockMask(2, 4));
  Problem problem;
  problem.pattern = lists.view();
  auto arguments = problem.arguments();
  auto makePlan = [&](int64_t batches, int64_t heads, int64_t queries, const sparsec::Argument &known) {
    auto tensor = [](int64_t batches, int64_t heads, int64_t length) {
      return sparsec_dense_bhsd(nullptr, SPARSEC_DTYPE_F32, batches, heads, length, Problem::dimension);
    };
    return sparsec::Plan(kernel, {tensor(batches, heads, queries),
                                  tensor(batches, SPARSEC_DYNAMIC, Problem::keys),
                                  {},
                                  known,
                                  {},
                                  {},
                                  {},
                                  {},
                                  {}});
  };
  for (const sparsec::Argument &known : {sparsec::Argument(problem.pattern), sparsec::Argument()}) {
    sparsec::Plan plan = makePlan(Problem::batches, Problem::heads, Problem::queries, known);
    EXPECT_EQ(plan.info().order, SPARSEC_TILE_ORDER_FIXED);
    EXPECT_EQ(plan.info().tiles, 2 * 4 * 4);
    EXPECT_EQ(plan.info().workers, 3);
    EXPECT_EQ(plan.info().balance, 1);
    EXPECT_EQ(plan.workspaceBytes(), 0u);
    problem.clearResults();
    ASSERT_OK(sparsec_launch(kernel.handle(), plan.handle(), arguments.data(), arguments.size(), nullptr));
    problem.check(kernel.handle());
  }
  EXPECT_EQ(makePlan(1, 1, 3, {}).info().workers, 2) << "no more than tiles";

  sparsec::Plan other = makePlan(Problem::batches, Problem::heads, Problem::queries + 1, {});
  EXPECT_STATUS(sparsec_launch(kernel.handle(), other.handle(), arguments.data(), arguments.size(), nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "plan is for batches 2, heads 4, queries 8, keys 13");
  std::vector<int32_t> broken(problem.pattern.capacity, Problem::columns);
  problem.pattern.partial.indices = broken.data();
  auto wrong = problem.arguments();
  auto options = sized<sparsec_plan_options_t>();
  options.arguments = wrong.data();
  options.argument_count = wrong.size();
  sparsec_plan_t plan = nullptr;
  EXPECT_STATUS(sparsec_plan_create(kernel.handle(), &options, &plan), SPARSEC_STATUS_INVALID_PATTERN,
                "argument 3 'pattern': expects partial.indices[0]");
  EXPECT_EQ(plan, nullptr);
}

TEST(HostAttention, KeysOfLengthZero) {
  sparsec::Device device = sparsec::Device::host(2);
  ByteVector object = hostObject(attentionInfo());
  sparsec::Module module(device, object.data(), object.size());
  Problem problem;
  problem.pattern = shapeOf(2, 3, 1, 1, Problem::queries, 0, SPARSEC_PATTERN_PADDED_LISTS);
  auto arguments = problem.arguments();
  for (int i : {1, 2})
    arguments[i].dense.sizes[2] = 0;
  ASSERT_OK(sparsec_launch(module.kernel().handle(), nullptr, arguments.data(), arguments.size(), nullptr));
  for (int64_t i = 0; i < int64_t(problem.o.size()); ++i)
    ASSERT_TRUE(i % 6 < 4 ? problem.o[i] == 0 : std::isnan(problem.o[i])) << i;
  for (int64_t i = 0; i < int64_t(problem.lse.size()); ++i)
    ASSERT_TRUE(i % 9 < 7 ? problem.lse[i] == -INFINITY : std::isnan(problem.lse[i])) << i;
}

/// Every launch checks them: between two launches of a launcher they may change.
TEST(HostAttention, LengthsOfSequencesAreChecked) {
  sparsec::Device device = sparsec::Device::host(1);
  LaunchInfoBuilder info = attentionInfo();
  addSequences(info, {.keyLengths = true});
  ByteVector object = hostObject(info);
  sparsec::Module module(device, object.data(), object.size());
  sparsec_kernel_t kernel = module.kernel().handle();
  sparsec::Pattern lists(device, shapeOf(2, 3, 1, 1, Problem::queries, Problem::keys), blockMask(1, 1));
  Problem problem;
  problem.pattern = lists.view();
  std::vector<int32_t> lengths = {Problem::keys, 0};
  auto arguments = problem.arguments();
  arguments.insert(arguments.begin() + 7, sparsec_dense_1d(lengths.data(), SPARSEC_DTYPE_I32, 2));
  auto options = sized<sparsec_launch_options_t>();
  sparsec_launcher_t launcher = nullptr;
  ASSERT_OK(sparsec_launcher_create(kernel, nullptr, arguments.data(), arguments.size(), &options, &launcher));
  EXPECT_OK(sparsec_launch(kernel, nullptr, arguments.data(), arguments.size(), nullptr));
  EXPECT_OK(sparsec_launcher_run(launcher, nullptr));
  lengths[1] = Problem::keys + 1;
  problem.clearResults();
  const std::string message = "argument 7 'key_lengths': expects lengths of 0 to 13, but element 1 is 14";
  EXPECT_STATUS(sparsec_launch(kernel, nullptr, arguments.data(), arguments.size(), nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, message);
  EXPECT_STATUS(sparsec_launcher_run(launcher, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  EXPECT_TRUE(std::isnan(problem.o[0])) << "results must be untouched";
  sparsec_launcher_destroy(launcher);
}

/// Causal and window are those of a sequence's own positions, so that only the mask may leave blocks out.
TEST(HostAttention, PatternsOfThePredicateServeAllLengths) {
  sparsec::Device device = sparsec::Device::host(1);
  auto countBlocks = [&](bool hasLengths) {
    LaunchInfoBuilder info = attentionInfo();
    info.attribute(SPARSEC_ATTRIBUTE_CAUSAL).value = 1;
    if (hasLengths)
      addSequences(info, {.keyLengths = true});
    ByteVector object = hostObject(info);
    sparsec::Module module(device, object.data(), object.size());
    Problem problem;
    problem.ids.assign(problem.ids.size(), 1); // the mask lets all through
    auto arguments = problem.arguments();
    if (hasLengths)
      arguments.insert(arguments.begin() + 7, sparsec_dense_1d(nullptr, SPARSEC_DTYPE_I32, 2));
    const sparsec_blocks_t shape = shapeOf(2, 3, 1, 1, Problem::queries, Problem::keys);
    sparsec_pattern_buffer_t buffer = nullptr;
    EXPECT_OK(sparsec_pattern_from_predicate(module.kernel().handle(), &shape, arguments.data(), arguments.size(),
                                             device.handle(), &buffer));
    const int32_t count = viewOf(buffer).full.starts[Problem::rows];
    sparsec_pattern_buffer_destroy(buffer);
    return count;
  };
  EXPECT_LT(countBlocks(false), Problem::rows * Problem::columns);
  EXPECT_EQ(countBlocks(true), Problem::rows * Problem::columns);
}

} // namespace

#endif // SPARSEC_HAS_TEST_HOST_OBJECT
