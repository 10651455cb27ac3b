// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Merges of partial results of attention: records, arguments, launches and plans on the fake driver, and the reference
// by hand-computed rows.

#include "image/launch_info_reader.h"
#include "runtime_kernel_fixture.h"

#include <cmath>
#include <cstring>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two variants with tiles of 32 rows: one for vectors of 16 bytes, and one for single elements.
LaunchInfoBuilder cudaMerge(sparsec_dtype_t part = SPARSEC_DTYPE_F32, sparsec_dtype_t result = SPARSEC_DTYPE_BF16) {
  enum { o1, lse1, o2, lse2, o, lse };
  LaunchInfoBuilder info = cudaSampled();
  auto tensor = [like = info.arguments[1]](const char *name, sparsec_dtype_t dtype, uint32_t rank) {
    sparsec_argument_info_t argument = like;
    std::strcpy(argument.name, name);
    argument.dtype = dtype;
    argument.rank = rank;
    std::fill_n(argument.sizes, rank, SPARSEC_DYNAMIC);
    return argument;
  };
  info.arguments = {tensor("o1", part, 4),  tensor("lse1", SPARSEC_DTYPE_F32, 3),
                    tensor("o2", part, 4),  tensor("lse2", SPARSEC_DTYPE_F32, 3),
                    tensor("o", result, 4), tensor("lse", SPARSEC_DTYPE_F32, 3)};
  info.operands = {{SPARSEC_MERGE_FIRST, o1, 0, 0},  {SPARSEC_MERGE_FIRST_LSE, lse1, 0, 0},
                   {SPARSEC_MERGE_SECOND, o2, 0, 0}, {SPARSEC_MERGE_SECOND_LSE, lse2, 0, 0},
                   {SPARSEC_MERGE_RESULT, o, 0, 0},  {SPARSEC_MERGE_LSE, lse, 0, 0}};
  info.operations = {{SPARSEC_OPERATION_MERGE, 0, 6, 0, 0, 0, 0, 0}};
  info.regions.clear();
  info.inputs.clear();
  info.steps.clear();
  sparsec_stage_info_t &stage = info.stages[0];
  std::strcpy(stage.symbol, "merge");
  stage.tile_m = 32;
  stage.tile_k = 1;
  stage.row_count = 3;
  stage.panel_first = stage.panel_count = 0;
  info.extents = {{o, SPARSEC_FIELD_SIZE, 0, 1, 1, SPARSEC_EXTENT_JOINED},
                  {o, SPARSEC_FIELD_SIZE, 1, 1, 1, SPARSEC_EXTENT_JOINED},
                  {o, SPARSEC_FIELD_SIZE, 2, 32, 32, SPARSEC_EXTENT_FACTOR}};
  info.parameters = {{SPARSEC_SOURCE_ARGUMENT, o, SPARSEC_FIELD_DATA, 0},
                     {SPARSEC_SOURCE_TILE_ROWS, 0, 0, 0},
                     {SPARSEC_SOURCE_PANELS, 0, 0, 0}};
  stage.parameter_count = 3;
  info.requirements = {{o1, 16, 16, 0}, {o2, 16, 16, 0}, {o, 16, 16, 0}};
  info.variants[0].requirement_count = 3;
  info.kernels[0].argument_count = 6;
  info.kernels[0].result_count = 2;
  std::strcpy(info.kernels[0].name, "merge");
  info.addVariant();
  info.variants[1].alignment = 2;
  info.variants[1].requirement_count = 0;
  info.kernels[0].variant_count = 2;
  return info;
}

class Merge : public KernelOnFake {
protected:
  enum { o1, lse1, o2, lse2, o, lse };

  void SetUp() override {
    fake.multiprocessors = 2;
    fake.parameterCount = 3;
    load(cudaMerge());
    setArguments(2, 3, 20, 64);
    fake.calls.clear();
  }

  /// Contiguous tensors in memory that is made up.
  void setArguments(int64_t batches, int64_t heads, int64_t queries, int64_t width,
                    sparsec_dtype_t part = SPARSEC_DTYPE_F32, sparsec_dtype_t result = SPARSEC_DTYPE_BF16) {
    auto rows = [&](uintptr_t address, sparsec_dtype_t dtype) {
      return sparsec_dense_bhsd(at(address), dtype, batches, heads, queries, width);
    };
    auto logarithms = [&](uintptr_t address) {
      return sparsec_dense_3d(at(address), SPARSEC_DTYPE_F32, batches, heads, queries);
    };
    arguments = {rows(0x1000000, part), logarithms(0x2000000),   rows(0x3000000, part),
                 logarithms(0x4000000), rows(0x5000000, result), logarithms(0x6000000)};
  }

  size_t chosenVariant() {
    size_t variant = 7;
    EXPECT_OK(chooseVariant(&variant));
    return variant;
  }
};

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

void refusesRecords(const std::string &message, const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder builder = cudaMerge();
  change(builder);
  LaunchInfo info;
  EXPECT_STATUS(LaunchInfo::parse(builder.build(), info), SPARSEC_STATUS_INVALID_IMAGE, message);
}

TEST(MergeRecords, SlotsHaveTheirTensors) {
  refusesRecords("argument 0 is no first part: it has kind 2, element type 4",
                 [](auto &info) { info.arguments[0].dtype = SPARSEC_DTYPE_F8E4M3FN; });
  refusesRecords("argument 2 is no second part", [](auto &info) { info.arguments[2].rank = 3; });
  refusesRecords("argument 1 is no log-sum-exp of the first part",
                 [](auto &info) { info.arguments[1].dtype = SPARSEC_DTYPE_BF16; });
  refusesRecords("argument 5 is no log-sum-exp", [](auto &info) { info.arguments[5].rank = 4; });
  refusesRecords("expects 1 to 1 operands in slot 'log-sum-exp of the first part' of merge, but got 2",
                 [](auto &info) { info.operands[2].slot = SPARSEC_MERGE_FIRST_LSE, info.operands[2].argument = 1; });
  refusesRecords("unknown slot of merge", [](auto &info) { info.operands[0].slot = 7; });
}

TEST(MergeRecords, JoinedExtentsAreTileRowsBeforeTheLast) {
  refusesRecords("extent 2 of variant 0 has combination 2, which none in its place has",
                 [](auto &info) { info.extents[2].combination = SPARSEC_EXTENT_JOINED; });
  refusesRecords("extent 0 of variant 0 has combination 2, which none in its place has", [](auto &info) {
    info.stages[0].panel_first = 0, info.stages[0].panel_count = 3;
    info.stages[0].row_count = 0;
  });
  for (auto field : {&sparsec_extent_info_t::block, &sparsec_extent_info_t::tile})
    refusesRecords("extent 1 of variant 0 is joined and has blocks of ",
                   [&](auto &info) { info.extents[1].*field = 2; });
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

TEST_F(Merge, SizesGoTogether) {
  refuses("argument 2 'o2': expects size 0 to be 2 to agree", [](auto &all) { all[o2].dense.sizes[0] = 1; });
  refuses("argument 2 'o2': expects size 3 to be 64 to agree", [](auto &all) { all[o2].dense.sizes[3] = 32; });
  refuses("argument 1 'lse1': expects size 1 to be 3 to agree", [](auto &all) { all[lse1].dense.sizes[1] = 4; });
  refuses("argument 3 'lse2': expects size 2 to be 20 to agree", [](auto &all) { all[lse2].dense.sizes[2] = 21; });
  refuses("argument 4 'o': expects size 2 to be 20 to agree", [](auto &all) { all[o].dense.sizes[2] = 19; });
  refuses("argument 5 'lse': expects size 0 to be 2 to agree", [](auto &all) { all[lse].dense.sizes[0] = 3; });
}

TEST_F(Merge, RowsHaveElements) {
  refuses("argument 0 'o1': expects size 3 to be at least 1, but got 0", [](auto &all) {
    for (auto number : {o1, o2, o})
      all[number].dense.sizes[3] = 0;
  });
}

TEST_F(Merge, RowsOfAllHeadsAreCountedIn32Bits) {
  setArguments(2048, 1024, 1024, 1);
  refuses("argument 0 'o1': expects batches * heads * queries of at most 2147418111, but got 2048 * 1024 * 1024",
          [](auto & /*all*/) {});
}

TEST_F(Merge, TypesAreThoseOfTheKernel) {
  refuses("argument 0 'o1': expects elements of type f32, but got bf16",
          [](auto &all) { all[o1].dense.dtype = SPARSEC_DTYPE_BF16; });
  refuses("argument 4 'o': expects elements of type bf16, but got f16",
          [](auto &all) { all[o].dense.dtype = SPARSEC_DTYPE_F16; });
  refuses("argument 3 'lse2': expects rank 3", [](auto &all) { all[lse2].dense.rank = 2; });
}

TEST_F(Merge, StridesAreThoseOfRows) {
  refuses("argument 0 'o1': expects stride 2 to be at least its width, 64, and at most 2147483647, but got 63",
          [](auto &all) { all[o1].dense.strides[2] = 63; });
  refuses("argument 2 'o2': expects strides of 0 to ", [](auto &all) { all[o2].dense.strides[0] = -1; });
  refuses("argument 1 'lse1': expects strides of 0 to ", [](auto &all) { all[lse1].dense.strides[1] = -20; });
  refuses("argument 3 'lse2': expects stride 2 to be 1", [](auto &all) { all[lse2].dense.strides[2] = 2; });
  refuses(
      "argument 4 'o': expects stride 1 to be at least 1280, so that no elements of a result share memory, but got 64",
      [](auto &all) { all[o].dense.strides[1] = 64; });
  refuses(
      "argument 5 'lse': expects stride 0 to be at least 60, so that no elements of a result share memory, but got 59",
      [](auto &all) { all[lse].dense.strides[0] = 59; });
}

TEST_F(Merge, PartsMayRepeatRows) {
  arguments[o1].dense.strides[0] = 0;
  arguments[lse2].dense.strides[1] = 0;
  EXPECT_OK(launch());
}

TEST_F(Merge, ResultsMayBeAPart) {
  load(cudaMerge(SPARSEC_DTYPE_BF16));
  setArguments(2, 3, 20, 64, SPARSEC_DTYPE_BF16);
  for (auto [elements, logarithms] : {std::pair(o1, lse1), std::pair(o2, lse2)}) {
    const ArgumentList good = arguments;
    arguments[o] = arguments[elements];
    arguments[lse] = arguments[logarithms];
    EXPECT_OK(launch());
    arguments = good;
  }
  // A part may be both.
  arguments[o2] = arguments[o] = arguments[o1];
  EXPECT_OK(launch());
  fake.calls.clear();
  refuses("argument 4 'o': its memory overlaps data of argument 0 'o1', but not element for element",
          [](auto &all) { all[o].dense.data = at(0x1000020); });
  refuses("argument 5 'lse': its memory overlaps data of argument 3 'lse2', but not element for element",
          [](auto &all) { all[lse].dense.data = at(0x4000004); });
  // The same memory with queries outside of heads.
  refuses("argument 4 'o': its memory overlaps data of argument 0 'o1', but not element for element", [](auto &all) {
    all[o].dense.strides[1] = 64;
    all[o].dense.strides[2] = 3 * 64;
  });
  // What belongs to other slots may not be the result, however it lies there.
  refuses("argument 5 'lse': its memory overlaps data of argument 0 'o1'",
          [](auto &all) { all[lse].dense.data = all[o1].dense.data; });
}

TEST_F(Merge, ElementsOfAnotherSizeAreNoSameMemory) {
  refuses("argument 4 'o': its memory overlaps data of argument 0 'o1', but not element for element",
          [](auto &all) { all[o].dense.data = all[o1].dense.data; });
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

TEST_F(Merge, VectorsNeedWholeRowsInEveryTensor) {
  EXPECT_EQ(chosenVariant(), 0u);
  setArguments(2, 3, 20, 60); // 120 bytes of bf16
  EXPECT_EQ(chosenVariant(), 1u);
  for (int number : {o1, o2, o}) {
    setArguments(2, 3, 20, 64);
    arguments[number].dense.data = static_cast<char *>(arguments[number].dense.data) + 4;
    EXPECT_EQ(chosenVariant(), 1u) << number;
    setArguments(2, 3, 20, 64);
    const int64_t strides[] = {3 * 20 * 65, 20 * 65, 65};
    std::copy_n(strides, 3, arguments[number].dense.strides);
    EXPECT_EQ(chosenVariant(), 1u) << number;
  }
  // LSE are moved one by one.
  setArguments(2, 3, 20, 64);
  for (int number : {lse1, lse2, lse})
    arguments[number].dense.data = static_cast<char *>(arguments[number].dense.data) + 4;
  EXPECT_EQ(chosenVariant(), 0u);
}

TEST_F(Merge, TilesCrossHeadsAndBatches) {
  // 2 * 3 * 20 rows are four tiles of 32; tiles of each head would be six.
  ASSERT_OK(launch());
  ASSERT_EQ(fake.launches.size(), 1u);
  EXPECT_EQ(fake.launches[0].gridX, 2u) << "two workers";
  EXPECT_EQ(int32_t(fake.launches[0].words[1]), 4) << "tile rows";
  EXPECT_EQ(int32_t(fake.launches[0].words[2]), 1) << "panels";
}

TEST_F(Merge, NothingIsLaunchedWithoutRows) {
  for (auto sizes : {std::array{0, 3, 20}, std::array{2, 0, 20}, std::array{2, 3, 0}}) {
    setArguments(sizes[0], sizes[1], sizes[2], 64);
    EXPECT_OK(launch());
  }
  EXPECT_FALSE(fake.called("cuLaunchKernel"));
}

TEST_F(Merge, PlansHaveNoLists) {
  ASSERT_OK(createPlan(arguments));
  EXPECT_EQ(planInfo().order, SPARSEC_TILE_ORDER_FIXED);
  EXPECT_STREQ(planInfo().reason, "fixed order: all tiles cost the same");
  EXPECT_OK(launch());
  setArguments(2, 3, 21, 64);
  EXPECT_STATUS(launch(), SPARSEC_STATUS_INVALID_ARGUMENT, "queries 20");
}

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

class MergeReference : public Merge {
protected:
  void SetUp() override {
    Merge::SetUp();
    load(cudaMerge(SPARSEC_DTYPE_F32, SPARSEC_DTYPE_F32));
  }

  /// Rows of two elements of one head.
  void setRows(std::vector<float> first, std::vector<float> firstLse, std::vector<float> second,
               std::vector<float> secondLse) {
    a = std::move(first), la = std::move(firstLse), b = std::move(second), lb = std::move(secondLse);
    setArguments(1, 1, int64_t(la.size()), 2, SPARSEC_DTYPE_F32, SPARSEC_DTYPE_F32);
    arguments[o1].dense.data = a.data();
    arguments[lse1].dense.data = la.data();
    arguments[o2].dense.data = b.data();
    arguments[lse2].dense.data = lb.data();
    rows = int64_t(la.size());
  }

  std::vector<double> run() {
    std::vector<double> y(rows * 2, NAN);
    magnitude.assign(rows * 2, NAN);
    EXPECT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, rows, y.data(), magnitude.data()));
    return y;
  }
  std::vector<double> runLse() {
    std::vector<double> values(rows, NAN);
    EXPECT_OK(sparsec_reference_lse(kernel, arguments.data(), arguments.size(), 0, rows, values.data(), nullptr));
    return values;
  }

  std::vector<float> a, la, b, lb;
  std::vector<double> magnitude;
  int64_t rows = 0;
};

TEST_F(MergeReference, WeightsAreTheSharesOfTheSums) {
  // Sums of 3 and 1: shares of 3/4 and 1/4. Equal sums: the mean.
  setRows({4, 8, 1, 2}, {std::log(3.0f), 5}, {8, -8, 3, 6}, {0, 5});
  const std::vector<double> y = run(), logarithms = runLse();
  EXPECT_NEAR(y[0], 5, 1e-6);
  EXPECT_NEAR(y[1], 4, 1e-6);
  EXPECT_EQ(y[2], 2);
  EXPECT_EQ(y[3], 4);
  EXPECT_NEAR(logarithms[0], std::log(4), 1e-6);
  EXPECT_NEAR(logarithms[1], 5 + std::log(2), 1e-12);
  EXPECT_NEAR(magnitude[1], 8, 6) << "0.75 * 8 + 0.25 * 8, and what the error of an exponent adds";
}

TEST_F(MergeReference, EmptyPartsHaveNoInfluence) {
  const float none = -std::numeric_limits<float>::infinity();
  setRows({1, 2, NAN, NAN, NAN, 1}, {7, none, none}, {NAN, INFINITY, 3, -0.0f, 2, NAN}, {none, 8, none});
  EXPECT_EQ(run(), (std::vector<double>{1, 2, 3, -0.0, 0, 0}));
  EXPECT_TRUE(std::signbit(run()[3]));
  EXPECT_EQ(magnitude, std::vector<double>(6));
  EXPECT_EQ(runLse(), (std::vector<double>{7, 8, -infinity}));
}

TEST_F(MergeReference, LargeAndDistantLogarithms) {
  setRows({1, 2, 1, 2}, {3e38f, -1e5f}, {3, 4, 3, 4}, {1, -1e5f});
  EXPECT_EQ(run(), (std::vector<double>{1, 2, 2, 3}));
  EXPECT_EQ(runLse()[0], double(3e38f));
  EXPECT_NEAR(runLse()[1], -1e5 + std::log(2), 1e-9);
}

TEST_F(MergeReference, LogarithmsThatAreNoFiniteNumberMakeRowsNotANumber) {
  setRows({1, 2, 1, 2, 1, 2}, {NAN, 1, INFINITY}, {3, 4, 3, 4, 3, 4}, {1, NAN, 1});
  for (double value : run())
    EXPECT_TRUE(std::isnan(value));
  for (double value : runLse())
    EXPECT_TRUE(std::isnan(value));
}

TEST_F(MergeReference, FollowsTheStridesOfEveryTensor) {
  // Two batches and two heads; queries lie outside of heads in o1, and lse2 is padded.
  setRows(std::vector<float>(2 * 2 * 3 * 2), std::vector<float>(12), std::vector<float>(24),
          std::vector<float>(2 * 2 * 4));
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = float(i);
  setArguments(2, 2, 3, 2, SPARSEC_DTYPE_F32, SPARSEC_DTYPE_F32);
  arguments[o1].dense.data = a.data(), arguments[lse1].dense.data = la.data();
  arguments[o2].dense.data = b.data(), arguments[lse2].dense.data = lb.data();
  const int64_t outside[] = {12, 2, 4, 1}, padded[] = {8, 4, 1};
  std::copy_n(outside, 4, arguments[o1].dense.strides);
  std::copy_n(padded, 3, arguments[lse2].dense.strides);
  std::fill(lb.begin(), lb.end(), NAN); // behind the rows
  for (int head = 0; head < 4; ++head)
    std::fill_n(lb.begin() + head * 4, 3, -std::numeric_limits<float>::infinity());
  rows = 12;
  const std::vector<double> y = run();
  for (int batch = 0; batch < 2; ++batch)
    for (int head = 0; head < 2; ++head)
      for (int query = 0; query < 3; ++query)
        EXPECT_EQ(y[((batch * 2 + head) * 3 + query) * 2 + 1], batch * 12 + head * 2 + query * 4 + 1);
  std::vector<double> some(2 * 2);
  ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 5, 7, some.data(), nullptr));
  EXPECT_TRUE(std::equal(some.begin(), some.end(), y.begin() + 10));
}

} // namespace
