// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands that are quantised: checks of images with a converter, its launches on the fake driver, and what is refused.

#include "image/launch_info_reader.h"
#include "operations/kernel_shape.h"
#include "runtime_linear_fixture.h"

using namespace sparsec::runtime;
using namespace sparsec::test;
using sparsec::Argument;

namespace {

/// cudaLinear() with W and an X as (N, K) of fp8, and the machine kernel that quantises them. It takes all numbers in
/// their order, then all inputs.
LaunchInfoBuilder linearOfF8() {
  LaunchInfoBuilder info = cudaLinear();
  info.arguments[0].dtype = SPARSEC_DTYPE_F8E4M3FN;
  info.arguments[1].dtype = SPARSEC_DTYPE_F8E5M2;
  info.operands[1].layout = SPARSEC_LAYOUT_TRANSPOSED;
  sparsec_stage_info_t converter = info.stages[1];
  std::strcpy(converter.symbol, "linear_convert");
  converter.threads = 256;
  converter.row_count = converter.panel_count = 0;
  converter.parameter_first = uint32_t(info.parameters.size());
  converter.parameter_count = SPARSEC_CONVERSION_NUMBERS + 5;
  for (uint32_t number = 0; number < SPARSEC_CONVERSION_NUMBERS; ++number)
    info.parameters.push_back({SPARSEC_SOURCE_NUMBER, number, 0, 0});
  for (uint32_t input = 0; input < 5; ++input)
    info.parameters.push_back({SPARSEC_SOURCE_INPUT, input, 0, 0});
  info.auxiliaries.push_back({SPARSEC_AUXILIARY_CONVERT_VALUES, uint32_t(info.stages.size())});
  info.stages.push_back(converter);
  info.kernels[0].auxiliary_count = 1;
  return info;
}

Status parse(const std::function<void(LaunchInfoBuilder &)> &change) {
  LaunchInfoBuilder builder = linearOfF8();
  change(builder);
  LaunchInfo info;
  return LaunchInfo::parse(builder.build(), info);
}

TEST(ConverterImage, IsChecked) {
  EXPECT_OK(parse([](auto &) {}));
  struct {
    const char *message;
    std::function<void(LaunchInfoBuilder &)> change;
  } cases[] = {
      {"parameter 0 of the converter of values is number 20 of 20",
       [](auto &i) { i.parameters[i.stages.back().parameter_first].index = 20; }},
      {"parameter 24 of the converter of values is input 5 of 5", [](auto &i) { i.parameters.back().index = 5; }},
      {"parameter 0 of variant 0 is number 0 of 0",
       [](auto &i) { i.parameters[i.stages[0].parameter_first] = {SPARSEC_SOURCE_NUMBER, 0, 0, 0}; }},
      {"the converter of values expects a GPU and a matrix of fp8",
       [](auto &i) { i.arguments[0].dtype = i.arguments[1].dtype = SPARSEC_DTYPE_BF16; }},
  };
  for (auto &[message, change] : cases)
    EXPECT_STATUS(parse(change), SPARSEC_STATUS_INVALID_IMAGE, message);
}

class Quantize : public LinearOnFake {
protected:
  void SetUp() override {
    load(linearOfF8());
    prepare();
  }

  /// Three blocks of a 128 x 192 matrix, and an X of 5 x 300.
  void prepare() {
    setArguments(128, 192, 5);
    arguments[w].blocks.dtype = SPARSEC_DTYPE_F8E4M3FN;
    setPattern({{0, 2}, {1}});
    arguments[x] = sparsec_dense_2d(at(0x200000), SPARSEC_DTYPE_F8E5M2, 5, 300);
    arguments[x].dense.strides[0] = 320;
    matrix = arguments[w].blocks;
    matrix.dtype = SPARSEC_DTYPE_BF16;
    matrix.values = at(0x500000);
    dense = sparsec_dense_2d(at(0x600000), SPARSEC_DTYPE_F32, 5, 300);
    fake.parameterCount = SPARSEC_CONVERSION_NUMBERS + 5;
  }

  static sparsec_dense_t scalesOf(const std::vector<int64_t> &sizes) {
    return sparsec_dense(at(0x700000), SPARSEC_DTYPE_F32, int32_t(sizes.size()), sizes.data());
  }
  Status quantizeMatrix(sparsec_scale_group_t group, const std::vector<int64_t> &sizes) {
    return quantize(w, matrix, group, scalesOf(sizes));
  }
  Status quantizeDense(sparsec_scale_group_t group, const std::vector<int64_t> &sizes) {
    return quantize(x, dense, group, scalesOf(sizes));
  }
  Status quantize(uint32_t number, const Argument &source, sparsec_scale_group_t group, const sparsec_dense_t &scales) {
    fake.launches.clear();
    const sparsec_argument_t from = source.handle(), to = arguments[number < 5 ? number : 0].handle();
    return Status(sparsec_quantize(kernel, number, &from, &to, group, &scales, stream));
  }

  int64_t number(size_t launch, sparsec_conversion_number_t of) const {
    return int64_t(fake.launches.at(launch).words.at(of));
  }
  const void *input(size_t launch, size_t of) const {
    return reinterpret_cast<const void *>(fake.launches.at(launch).words.at(SPARSEC_CONVERSION_NUMBERS + of));
  }

  sparsec_blocks_t matrix = {};
  sparsec_dense_t dense = {};
  void *stream = at(0x800000);
};

TEST_F(Quantize, OneLaunchMeasuresAndConvertsNeighbours) {
  ASSERT_OK(quantizeDense(SPARSEC_SCALE_TOKEN, {5, 3}));
  ASSERT_EQ(fake.launches.size(), 1u);
  const FakeLaunch &launch = fake.launches[0];
  EXPECT_EQ(launch.function, "linear_convert");
  EXPECT_EQ(launch.gridX, 1u); // of 256 threads
  EXPECT_EQ(launch.threads, 256u);
  EXPECT_EQ(launch.stream, stream);
  const std::vector<int64_t> expected = {SPARSEC_CONVERSION_CONVERT,
                                         SPARSEC_DTYPE_F32,
                                         SPARSEC_DTYPE_F8E5M2,
                                         /*vectors=*/120,
                                         /*of a line=*/24,
                                         /*columns=*/300,
                                         /*strides=*/300,
                                         320,
                                         /*is aligned=*/1,
                                         /*scale of lines=*/1,
                                         /*of columns=*/3,
                                         /*vectors=*/8,
                                         /*lanes=*/8,
                                         /*is whole=*/1,
                                         /*scales=*/15,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0};
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(number(0, sparsec_conversion_number_t(i)), expected[i]) << "number " << i;
  EXPECT_EQ(input(0, 0), dense.data);
  EXPECT_EQ(input(0, 1), arguments[x].dense.data);
  EXPECT_EQ(input(0, 2), at(0x700000));
  EXPECT_EQ(input(0, 3), nullptr);
}

TEST_F(Quantize, ScalesOfDistantValuesAreMeasuredFirst) {
  ASSERT_OK(quantizeMatrix(SPARSEC_SCALE_TENSOR, {}));
  ASSERT_EQ(fake.launches.size(), 3u);
  constexpr sparsec_conversion_phase_t phases[] = {SPARSEC_CONVERSION_CLEAR, SPARSEC_CONVERSION_MEASURE,
                                                   SPARSEC_CONVERSION_CONVERT};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(number(i, SPARSEC_CONVERSION_PHASE), phases[i]);
    EXPECT_EQ(fake.launches[i].gridX, 3u); // 3 * 64 * 64 / 16 vectors
    EXPECT_EQ(number(i, SPARSEC_CONVERSION_LANES_OF_SCALE), 32);
    EXPECT_EQ(number(i, SPARSEC_CONVERSION_IS_WHOLE), 0);
    EXPECT_EQ(number(i, SPARSEC_CONVERSION_SCALES), 1);
    EXPECT_EQ(number(i, SPARSEC_CONVERSION_SCALES_OF_LINE), 0);
  }
}

/// Which lanes share a scale: a row of 64 has 4 vectors and goes on in other blocks, a block has 256.
TEST_F(Quantize, ScalesOfRowsAndBlocks) {
  ASSERT_OK(quantizeMatrix(SPARSEC_SCALE_ROW, {128}));
  EXPECT_EQ(fake.launches.size(), 3u);
  EXPECT_EQ(number(0, SPARSEC_CONVERSION_LANES_OF_SCALE), 4);
  EXPECT_EQ(number(0, SPARSEC_CONVERSION_IS_BY_ROW), 1);
  EXPECT_EQ(input(0, 3), rowPtr.data());
  EXPECT_EQ(input(0, 4), colIdx.data());
  ASSERT_OK(quantizeMatrix(SPARSEC_SCALE_BLOCK, {3}));
  EXPECT_EQ(fake.launches.size(), 3u);
  EXPECT_EQ(number(0, SPARSEC_CONVERSION_LINES_OF_SCALE), 64);
  EXPECT_EQ(number(0, SPARSEC_CONVERSION_LANES_OF_SCALE), 32);
  EXPECT_EQ(input(0, 3), nullptr) << "nothing cuts the blocks";
  ASSERT_OK(quantizeDense(SPARSEC_SCALE_ROW, {5}));
  EXPECT_EQ(number(0, SPARSEC_CONVERSION_LANES_OF_SCALE), 8);
  EXPECT_EQ(fake.launches.size(), 3u) << "a row has 24 vectors";
}

TEST_F(Quantize, BlocksThatTheMatrixCutsHaveTheirPlaces) {
  arguments[w].blocks.columns = matrix.columns = 180;
  ASSERT_OK(quantizeMatrix(SPARSEC_SCALE_BLOCK, {3}));
  EXPECT_EQ(input(0, 3), rowPtr.data());
  EXPECT_EQ(number(0, SPARSEC_CONVERSION_IS_BY_ROW), 0);
  EXPECT_EQ(number(0, SPARSEC_CONVERSION_MATRIX_COLUMNS), 180);
  EXPECT_EQ(number(0, SPARSEC_CONVERSION_BLOCK_ROW_COUNT), 2);
}

TEST_F(Quantize, MemoryThatIsNotAlignedIsAccessedByElements) {
  dense.strides[0] = 301;
  ASSERT_OK(quantizeDense(SPARSEC_SCALE_TOKEN, {5, 3}));
  EXPECT_EQ(number(0, SPARSEC_CONVERSION_IS_ALIGNED), 0);
  prepare();
  arguments[x].dense.data = at(0x200001);
  ASSERT_OK(quantizeDense(SPARSEC_SCALE_TOKEN, {5, 3}));
  EXPECT_EQ(number(0, SPARSEC_CONVERSION_IS_ALIGNED), 0);
}

TEST_F(Quantize, EmptyOperands) {
  setPattern({{}, {}});
  matrix.capacity = 0;
  ASSERT_OK(quantizeMatrix(SPARSEC_SCALE_BLOCK, {0}));
  EXPECT_TRUE(fake.launches.empty());
  ASSERT_OK(quantizeMatrix(SPARSEC_SCALE_ROW, {128}));
  EXPECT_EQ(fake.launches.size(), 3u) << "rows without blocks have scales of 1";
}

/// A view that is too small for its fields is refused before they are read.
TEST_F(Quantize, EmptyOperandsAreChecked) {
  setPattern({{}, {}});
  matrix.capacity = 0;
  matrix.size = 8;
  EXPECT_STATUS(quantizeMatrix(SPARSEC_SCALE_BLOCK, {0}), SPARSEC_STATUS_INVALID_ARGUMENT,
                "source: expects a size of at least");
}

TEST_F(Quantize, WrongArgumentsAreRefusedByName) {
  /// Quantises X, or W, with one scale after a change.
  auto ofDense = [&](const std::function<void()> &change) {
    return [this, change] { return change(), quantizeDense(SPARSEC_SCALE_TENSOR, {}); };
  };
  auto ofMatrix = [&](const std::function<void()> &change) {
    return [this, change] { return change(), quantizeMatrix(SPARSEC_SCALE_TENSOR, {}); };
  };
  auto withScales = [&](const std::function<void(sparsec_dense_t &)> &change) {
    return [this, change] {
      sparsec_dense_t scales = scalesOf({});
      change(scales);
      return quantize(x, dense, SPARSEC_SCALE_TENSOR, scales);
    };
  };
  const struct {
    const char *message;
    std::function<Status()> call;
  } cases[] = {
      {"argument: expects a number below 5, but got 5",
       [&] { return quantize(5, dense, SPARSEC_SCALE_TENSOR, scalesOf({})); }},
      {"argument 2 'bias': expects an operand W or X of f8E4M3FN or f8E5M2",
       [&] { return quantize(bias, dense, SPARSEC_SCALE_TENSOR, scalesOf({})); }},
      {"argument 1 'x': expects elements of type f8E5M2, but got bf16",
       ofDense([&] { arguments[x].dense.dtype = SPARSEC_DTYPE_BF16; })},
      {"argument 1 'x': has an open size, but its values are written",
       ofDense([&] { arguments[x].dense.sizes[0] = SPARSEC_DYNAMIC; })},
      {"argument 1 'x': is open, but its values are written", ofDense([&] { arguments[x] = Argument(); })},
      {"argument 1 'x': expects memory to write values to, but the view is read-only",
       ofDense([&] { arguments[x].dense.flags = SPARSEC_DENSE_READ_ONLY; })},
      {"argument 1 'x': expects stride 0 to be at least its width",
       ofDense([&] { arguments[x].dense.strides[0] = 299; })},
      {"argument 1 'x': expects stride 1 to be 1", ofDense([&] { arguments[x].dense.strides[1] = 2; })},
      {"argument 1 'x': data is NULL", ofDense([&] { arguments[x].dense.data = nullptr; })},
      {"source: expects a view of the target's kind",
       [&] { return quantize(x, matrix, SPARSEC_SCALE_TENSOR, scalesOf({})); }},
      {"source: expects elements of type f32, f16 or bf16, but got f8E5M2",
       ofDense([&] { dense.dtype = SPARSEC_DTYPE_F8E5M2; })},
      {"source: expects memory of device 0, but got memory of the host",
       ofDense([&] { dense.device = SPARSEC_PLACE_HOST; })},
      {"source: its memory is NULL", ofDense([&] { dense.data = nullptr; })},
      {"source: its memory is not aligned to the 4 bytes of its elements", ofDense([&] { dense.data = at(0x600002); })},
      {"source: expects a size 0 of 5, as the target has, but got 6", ofDense([&] { dense.sizes[0] = 6; })},
      {"source: expects a size 1 of 300, as the target has, but got 301", ofDense([&] { dense.sizes[1] = 301; })},
      {"source: expects a rank of 2, as the target has, but got 1", ofDense([&] { dense.rank = 1; })},
      {"source: expects stride 1 to be 1 (contiguous), but got 2", ofDense([&] { dense.strides[1] = 2; })},
      {"source: expects stride 0 to be from 0 to 2147483647, but got -1", ofDense([&] { dense.strides[0] = -1; })},
      {"source: expects a size of at least", ofDense([&] { dense.size = 8; })},
      {"source: expects rows of 128, as the target has, but got 64", ofMatrix([&] { matrix.rows = 64; })},
      {"source: expects columns of 192, as the target has, but got 128", ofMatrix([&] { matrix.columns = 128; })},
      {"source: expects block rows of 64, as the target has, but got 32", ofMatrix([&] { matrix.block_rows = 32; })},
      {"source: expects block columns of 64, as the target has, but got 32",
       ofMatrix([&] { matrix.block_columns = 32; })},
      {"source: expects a capacity of 3, as the target has, but got 4", ofMatrix([&] { matrix.capacity = 4; })},
      {"group: a matrix has scales of its rows, its blocks or the tensor, but got 4",
       [&] { return quantizeMatrix(SPARSEC_SCALE_TOKEN, {5, 3}); }},
      {"group: X as (N, K) has scales of rows, of tokens or of the tensor, but got 3",
       [&] { return quantizeDense(SPARSEC_SCALE_BLOCK, {3}); }},
      {"scales: expects rank 2, (N, ceil(K / 128)), but got 1",
       [&] { return quantizeDense(SPARSEC_SCALE_TOKEN, {15}); }},
      {"scales: expects size 1 of (N, ceil(K / 128)) to be 3, but got 2",
       [&] { return quantizeDense(SPARSEC_SCALE_TOKEN, {5, 2}); }},
      {"scales: expects elements of type f32, but got bf16",
       withScales([&](sparsec_dense_t &scales) { scales.dtype = SPARSEC_DTYPE_BF16; })},
      {"scales: expects stride 0 to be 3 (contiguous), but got 4",
       [&] {
         sparsec_dense_t scales = scalesOf({5, 3});
         scales.strides[0] = 4;
         return quantize(x, dense, SPARSEC_SCALE_TOKEN, scales);
       }},
      {"scales: expects memory to write to, but the view is read-only",
       withScales([&](sparsec_dense_t &scales) { scales.flags = SPARSEC_DENSE_READ_ONLY; })},
      {"scales: expects data at a multiple of 4 bytes",
       withScales([&](sparsec_dense_t &scales) { scales.data = nullptr; })},
      {"scales: expects memory of device 0, but got memory of device 1",
       withScales([&](sparsec_dense_t &scales) { scales.device = 1; })},
      {"source, target and scales share memory", ofDense([&] { dense.data = at(0x200000); })},
  };
  for (const auto &[message, call] : cases) {
    prepare();
    EXPECT_STATUS(call(), SPARSEC_STATUS_INVALID_ARGUMENT, message);
    EXPECT_TRUE(fake.launches.empty()) << message;
  }
}

TEST_F(Quantize, OtherLayouts) {
  LaunchInfoBuilder info = linearOfF8();
  info.operands[0].layout = SPARSEC_LAYOUT_TRANSPOSED;
  info.operands[1].layout = SPARSEC_LAYOUT_ROW_MAJOR;
  for (sparsec_variant_info_t &variant : info.variants)
    variant.required_sections |= rowSections;
  load(info);
  EXPECT_OK(quantizeMatrix(SPARSEC_SCALE_BLOCK, {3}));
  EXPECT_STATUS(quantizeMatrix(SPARSEC_SCALE_ROW, {128}), SPARSEC_STATUS_INVALID_ARGUMENT,
                "group: a matrix that is stored as (K, M) has scales of its blocks or the tensor, but got 2");
  EXPECT_OK(quantizeDense(SPARSEC_SCALE_TENSOR, {}));
  EXPECT_STATUS(quantizeDense(SPARSEC_SCALE_TOKEN, {5, 3}), SPARSEC_STATUS_INVALID_ARGUMENT,
                "group: X as (K, N) has a scale of the tensor, but got 4");
}

TEST_F(Quantize, KernelsWithoutAConverterAreNamed) {
  LaunchInfoBuilder info = linearOfF8();
  info.kernels[0].auxiliary_count = 0;
  load(info);
  EXPECT_STATUS(quantizeDense(SPARSEC_SCALE_TENSOR, {}), SPARSEC_STATUS_INVALID_ARGUMENT,
                "kernel 'linear' has no converter of values");
}

TEST_F(Quantize, NullIsRefused) {
  const sparsec_argument_t from = Argument(dense).handle();
  const sparsec_dense_t scales = scalesOf({});
  auto call = [&](sparsec_kernel_t of, const sparsec_argument_t *source, const sparsec_argument_t *target,
                  const sparsec_dense_t *into) {
    return Status(sparsec_quantize(of, x, source, target, SPARSEC_SCALE_TENSOR, into, stream));
  };
  EXPECT_STATUS(call(nullptr, &from, &from, &scales), SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");
  EXPECT_STATUS(call(kernel, nullptr, &from, &scales), SPARSEC_STATUS_INVALID_ARGUMENT, "source is NULL");
  EXPECT_STATUS(call(kernel, &from, nullptr, &scales), SPARSEC_STATUS_INVALID_ARGUMENT, "target is NULL");
  EXPECT_STATUS(call(kernel, &from, &from, nullptr), SPARSEC_STATUS_INVALID_ARGUMENT, "scales is NULL");
}

/// The largest grid: threads count their vectors in 32 bits.
TEST_F(Quantize, TooManyVectorsAreRefused) {
  for (sparsec_dense_t *view : {&dense, &arguments[x].dense}) {
    view->sizes[0] = 1 << 20;
    view->sizes[1] = view->strides[0] = 1 << 15;
  }
  arguments[x].dense.data = at(int64_t(1) << 40);
  dense.data = at(int64_t(1) << 44);
  EXPECT_STATUS(quantizeDense(SPARSEC_SCALE_TENSOR, {}), SPARSEC_STATUS_INVALID_ARGUMENT,
                "target: expects at most 2147483391 vectors of 16 values, but got 2147483648");
}

class CheckedQuantize : public Quantize {
  void SetUp() override {
    openChecking();
    Quantize::SetUp();
  }
};

TEST_F(CheckedQuantize, QueriesAllMemory) {
  const std::map<void *, FakeMemory> all = {
      {at(0x200000), {.bytes = 4 * 320 + 300}}, {at(0x600000), {.bytes = 5 * 300 * 4}}, {at(0x700000), {.bytes = 4}}};
  fake.memory = all;
  EXPECT_OK(quantizeDense(SPARSEC_SCALE_TENSOR, {}));
  const std::pair<int64_t, const char *> cases[] = {{0x200000, "argument 1 'x': data needs 1580 bytes"},
                                                    {0x600000, "source needs 6000"},
                                                    {0x700000, "scales needs 4"}};
  for (auto [address, message] : cases) {
    fake.memory = all;
    --fake.memory.at(at(address)).bytes;
    EXPECT_STATUS(quantizeDense(SPARSEC_SCALE_TENSOR, {}), SPARSEC_STATUS_INVALID_ARGUMENT, message);
  }
}

} // namespace
