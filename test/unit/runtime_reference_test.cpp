// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reference, by hand-computed examples, and every step.

#include "reference/numbers.h"
#include "reference/steps.h"
#include "runtime_linear_fixture.h"

#include <bit>
#include <cmath>

using namespace sparsec::runtime;
using namespace sparsec::test;

namespace {

uint16_t bf16(float value) { return uint16_t(std::bit_cast<uint32_t>(value) >> 16); } // exact for what is used here

TEST(Numbers, F16AndBf16AgreeWithTheirDefinition) {
  auto read16 = [](uint16_t bits, sparsec_dtype_t dtype) { return readElement(&bits, dtype, 0); };
  auto f16 = [&](uint16_t bits) { return read16(bits, SPARSEC_DTYPE_F16); };
  EXPECT_EQ(f16(0x3c00), 1.0);
  EXPECT_EQ(f16(0xc000), -2.0);
  EXPECT_EQ(f16(0x7bff), 65504.0);
  EXPECT_EQ(f16(0x0001), std::ldexp(1.0, -24));
  EXPECT_EQ(f16(0x03ff), std::ldexp(1023.0, -24));
  EXPECT_EQ(f16(0x0400), std::ldexp(1.0, -14));
  EXPECT_EQ(f16(0x3555), 1365.0 / 4096);
  EXPECT_EQ(f16(0xfc00), -infinity);
  EXPECT_TRUE(std::isnan(f16(0x7e00)));
  EXPECT_TRUE(std::signbit(f16(0x8000)));
  EXPECT_EQ(read16(0x3fc0, SPARSEC_DTYPE_BF16), 1.5);
  EXPECT_EQ(read16(0xff80, SPARSEC_DTYPE_BF16), -infinity);
}

TEST(Numbers, F8AgreesWithItsDefinition) {
  auto read8 = [](uint8_t bits, sparsec_dtype_t dtype) { return readElement(&bits, dtype, 0); };
  EXPECT_EQ(read8(0x7e, SPARSEC_DTYPE_F8E4M3FN), 448.0);
  EXPECT_EQ(read8(0x78, SPARSEC_DTYPE_F8E4M3FN), 256.0);
  EXPECT_EQ(read8(0xb8, SPARSEC_DTYPE_F8E4M3FN), -1.0);
  EXPECT_EQ(read8(0x01, SPARSEC_DTYPE_F8E4M3FN), std::ldexp(1.0, -9));
  EXPECT_TRUE(std::isnan(read8(0x7f, SPARSEC_DTYPE_F8E4M3FN)));
  EXPECT_EQ(read8(0x7b, SPARSEC_DTYPE_F8E5M2), 57344.0);
  EXPECT_EQ(read8(0x7c, SPARSEC_DTYPE_F8E5M2), infinity);
  EXPECT_EQ(read8(0x01, SPARSEC_DTYPE_F8E5M2), std::ldexp(1.0, -16));
}

/// The value of an fp8 number by its definition: (-1)^s * 2^(e - bias) * 1.f, or 2^(1 - bias) * 0.f where e = 0.
double f8ByDefinition(int bits, int fractionBits, int bias, bool hasInfinity) {
  const int fractions = 1 << fractionBits, largestExponent = 127 / fractions;
  const int exponent = bits % 128 / fractions, fraction = bits % fractions;
  const double sign = bits < 128 ? 1 : -1;
  if (hasInfinity && exponent == largestExponent)
    return fraction == 0 ? sign * infinity : NAN;
  if (!hasInfinity && bits % 128 == 127)
    return NAN;
  const double significand = double(fraction) / fractions + (exponent == 0 ? 0 : 1);
  return sign * significand * std::pow(2.0, (exponent == 0 ? 1 : exponent) - bias);
}

TEST(Numbers, EveryF8AgreesWithItsDefinition) {
  for (int i = 0; i < 256; ++i) {
    const uint8_t bits = uint8_t(i);
    const double e4m3 = f8ByDefinition(i, 3, 7, /*hasInfinity=*/false), e5m2 = f8ByDefinition(i, 2, 15, true);
    const double got4 = readElement(&bits, SPARSEC_DTYPE_F8E4M3FN, 0);
    const double got5 = readElement(&bits, SPARSEC_DTYPE_F8E5M2, 0);
    EXPECT_TRUE(std::isnan(e4m3) ? std::isnan(got4) : got4 == e4m3 && std::signbit(got4) == (i >= 128)) << i;
    EXPECT_TRUE(std::isnan(e5m2) ? std::isnan(got5) : got5 == e5m2 && std::signbit(got5) == (i >= 128)) << i;
  }
}

TEST(Numbers, ElementsAreFoundByIndex) {
  float numbers[] = {1, 2, 3};
  EXPECT_EQ(readElement(numbers, SPARSEC_DTYPE_F32, 2), 3.0);
  EXPECT_TRUE(std::isnan(readElement(numbers, SPARSEC_DTYPE_NONE, 0)));
}

TEST(Numbers, RoundingIsToNearestEven) {
  EXPECT_EQ(roundToBf16(1 + 1.0 / 256), 1.0) << "a tie goes to the even mantissa";
  EXPECT_EQ(roundToBf16(1 + 3.0 / 256), 1 + 4.0 / 256);
  EXPECT_EQ(roundToBf16(-(1 + 1.0 / 256 + 1e-9)), -(1 + 2.0 / 256));
  EXPECT_EQ(roundToF16(65519.0), 65504.0);
  EXPECT_EQ(roundToF16(65520.0), infinity);
  EXPECT_EQ(roundToF16(-1e30), -infinity);
  EXPECT_EQ(roundToF16(std::ldexp(1.4, -24)), std::ldexp(1.0, -24)) << "a subnormal";
  EXPECT_EQ(roundToF16(std::ldexp(0.4, -24)), 0.0);
  EXPECT_EQ(roundToF16(std::ldexp(2047.5, -25)), std::ldexp(1.0, -14)) << "up to the smallest normal";
  EXPECT_EQ(roundToF32(1 + std::ldexp(1.0, -25)), 1.0);
  EXPECT_EQ(roundToBf16(0.0), 0.0);
  EXPECT_TRUE(std::isnan(roundToF16(NAN)));
}

double step(uint32_t op, double a = 0, double b = 0, double c = 0) {
  double values[] = {a, b, c};
  return evaluateStep({op, 0, 1, 2, 2.5}, values);
}

TEST(Steps, Arithmetic) {
  EXPECT_EQ(step(SPARSEC_STEP_CONSTANT), 2.5);
  EXPECT_EQ(step(SPARSEC_STEP_COPY, 7), 7);
  EXPECT_EQ(step(SPARSEC_STEP_ROUND_F32, 1 + 1e-12), 1);
  EXPECT_EQ(step(SPARSEC_STEP_ROUND_F16, 2049), 2048);
  EXPECT_EQ(step(SPARSEC_STEP_ROUND_BF16, 257), 256);
  EXPECT_EQ(step(SPARSEC_STEP_ADD, 3, 4), 7);
  EXPECT_EQ(step(SPARSEC_STEP_SUBTRACT, 3, 4), -1);
  EXPECT_EQ(step(SPARSEC_STEP_MULTIPLY, 3, 4), 12);
  EXPECT_EQ(step(SPARSEC_STEP_DIVIDE, 3, 4), 0.75);
  EXPECT_EQ(step(SPARSEC_STEP_NEGATE, 3), -3);
  EXPECT_EQ(step(SPARSEC_STEP_ABSOLUTE, -3), 3);
  EXPECT_EQ(step(SPARSEC_STEP_FMA, 3, 4, 5), 17);
  EXPECT_EQ(step(SPARSEC_STEP_FLOOR, -1.5), -2);
  EXPECT_EQ(step(SPARSEC_STEP_CEIL, -1.5), -1);
  EXPECT_TRUE(std::isnan(step(999)));
}

TEST(Steps, MaximumTakesNaNAndMaxnumTheOther) {
  EXPECT_EQ(step(SPARSEC_STEP_MAXIMUM, 3, 4), 4);
  EXPECT_EQ(step(SPARSEC_STEP_MINIMUM, 3, 4), 3);
  EXPECT_TRUE(std::isnan(step(SPARSEC_STEP_MAXIMUM, NAN, 4)));
  EXPECT_TRUE(std::isnan(step(SPARSEC_STEP_MINIMUM, 3, NAN)));
  EXPECT_FALSE(std::signbit(step(SPARSEC_STEP_MAXIMUM, -0.0, 0.0)));
  EXPECT_TRUE(std::signbit(step(SPARSEC_STEP_MINIMUM, 0.0, -0.0)));
  EXPECT_EQ(step(SPARSEC_STEP_MAXNUM, NAN, 4), 4);
  EXPECT_EQ(step(SPARSEC_STEP_MINNUM, 3, NAN), 3);
  EXPECT_EQ(step(SPARSEC_STEP_MAXNUM, 3, 4), 4);
  EXPECT_EQ(step(SPARSEC_STEP_MINNUM, 3, 4), 3);
}

TEST(Steps, Functions) {
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_SQRT, 16), 4);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_RSQRT, 16), 0.25);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_EXP, 1), 2.718281828459045);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_EXP2, 3), 8);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_EXPM1, 1), 1.718281828459045);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_LOG, 10), 2.302585092994046);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_LOG2, 8), 3);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_LOG1P, 9), 2.302585092994046);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_TANH, 1), 0.7615941559557649);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_ERF, 1), 0.8427007929497149);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_SIN, 1), 0.8414709848078965);
  EXPECT_DOUBLE_EQ(step(SPARSEC_STEP_COS, 1), 0.5403023058681398);
}

TEST(Steps, LogicAndSelection) {
  EXPECT_EQ(step(SPARSEC_STEP_SELECT, 1, 5, 6), 5);
  EXPECT_EQ(step(SPARSEC_STEP_SELECT, 0, 5, 6), 6);
  EXPECT_EQ(step(SPARSEC_STEP_AND, 1, 0), 0);
  EXPECT_EQ(step(SPARSEC_STEP_AND, 1, 1), 1);
  EXPECT_EQ(step(SPARSEC_STEP_OR, 1, 0), 1);
  EXPECT_EQ(step(SPARSEC_STEP_OR, 0, 0), 0);
  EXPECT_EQ(step(SPARSEC_STEP_XOR, 1, 1), 0);
  EXPECT_EQ(step(SPARSEC_STEP_XOR, 1, 0), 1);
}

TEST(Steps, Comparisons) {
  // For each predicate of arith.cmpf: 1 < 2, 2 = 2, 3 > 2, and NaN with 2.
  const char *expected[] = {"0000", "0100", "0010", "0110", "1000", "1100", "1010", "1110",
                            "0101", "0011", "0111", "1001", "1101", "1011", "0001", "1111"};
  for (uint32_t predicate = 0; predicate < 16; ++predicate) {
    std::string got;
    for (double a : {1.0, 2.0, 3.0, double(NAN)}) {
      double values[] = {a, 2.0};
      got += evaluateStep({SPARSEC_STEP_COMPARE, 0, 1, predicate, 0}, values) != 0 ? '1' : '0';
    }
    EXPECT_EQ(got, expected[predicate]) << "predicate " << predicate;
  }
}

TEST(Steps, IntegersWrap) {
  constexpr double lowest = INT32_MIN, largest = INT32_MAX;
  EXPECT_EQ(step(SPARSEC_STEP_I32_ADD, largest, 1), lowest);
  EXPECT_EQ(step(SPARSEC_STEP_I32_SUBTRACT, lowest, 1), largest);
  EXPECT_EQ(step(SPARSEC_STEP_I32_SUBTRACT, 3, 5), -2);
  EXPECT_EQ(step(SPARSEC_STEP_I32_MULTIPLY, 65536, 65536), 0);
  EXPECT_EQ(step(SPARSEC_STEP_I32_MULTIPLY, largest, 3), 2147483645); // 3 * (2^31 - 1) = 2^32 + 2^31 - 3
  EXPECT_EQ(step(SPARSEC_STEP_I32_DIVIDE, -7, 2), -3);
  EXPECT_EQ(step(SPARSEC_STEP_I32_REMAINDER, -7, 2), -1);
  EXPECT_EQ(step(SPARSEC_STEP_I32_MINIMUM, -7, 2), -7);
  EXPECT_EQ(step(SPARSEC_STEP_I32_MAXIMUM, -7, 2), 2);
  EXPECT_EQ(step(SPARSEC_STEP_I32_AND, -2, 7), 6);
  EXPECT_EQ(step(SPARSEC_STEP_I32_OR, 9, 6), 15);
  EXPECT_EQ(step(SPARSEC_STEP_I32_XOR, -1, 1), -2);
  EXPECT_EQ(step(SPARSEC_STEP_I32_SHIFT_LEFT, 3, 30), -1073741824.0);
  EXPECT_EQ(step(SPARSEC_STEP_I32_SHIFT_RIGHT, -8, 1), -4);
}

TEST(Steps, IntegersThatArithLeavesOpenAreDefined) {
  constexpr double lowest = INT32_MIN, largest = INT32_MAX;
  EXPECT_EQ(step(SPARSEC_STEP_I32_DIVIDE, 7, 0), 0);
  EXPECT_EQ(step(SPARSEC_STEP_I32_REMAINDER, 7, 0), 0);
  EXPECT_EQ(step(SPARSEC_STEP_I32_DIVIDE, lowest, -1), lowest);
  EXPECT_EQ(step(SPARSEC_STEP_I32_REMAINDER, lowest, -1), 0);
  EXPECT_EQ(step(SPARSEC_STEP_I32_SHIFT_LEFT, 1, 32), 0);
  EXPECT_EQ(step(SPARSEC_STEP_I32_SHIFT_RIGHT, -1, -1), 0);
  EXPECT_EQ(step(SPARSEC_STEP_F32_TO_I32, 1e20), largest);
  EXPECT_EQ(step(SPARSEC_STEP_F32_TO_I32, -infinity), lowest);
  EXPECT_EQ(step(SPARSEC_STEP_F32_TO_I32, NAN), 0);
}

TEST(Steps, IntegerConversionsAndComparisons) {
  EXPECT_EQ(step(SPARSEC_STEP_F32_TO_I32, -2.9), -2);
  EXPECT_EQ(step(SPARSEC_STEP_I32_TO_F32, -5), -5);
  // For each predicate of arith.cmpi: -1 < 2, 2 = 2, 3 > 2.
  const char *expected[] = {"010", "101", "100", "110", "001", "011", "000", "010", "101", "111"};
  for (uint32_t predicate = 0; predicate < 10; ++predicate) {
    std::string got;
    for (double a : {-1.0, 2.0, 3.0}) {
      double values[] = {a, 2.0};
      got += evaluateStep({SPARSEC_STEP_I32_COMPARE, 0, 1, predicate, 0}, values) != 0 ? '1' : '0';
    }
    EXPECT_EQ(got, expected[predicate]) << "predicate " << predicate;
  }
}

TEST(Steps, ErrorsOfExactStepsAreThoseOfTheirOperands) {
  double values[] = {100, 7, 3}, none[] = {0, 0, 0}, some[] = {0.5, 0, 0};
  auto error = [&](uint32_t op, const double *errors) {
    sparsec_step_info_t info = {op, 0, 1, 2, 0};
    return stepError(info, values, errors, evaluateStep(info, values));
  };
  EXPECT_EQ(error(SPARSEC_STEP_I32_ADD, none), 0);
  EXPECT_EQ(error(SPARSEC_STEP_I32_COMPARE, none), 0);
  EXPECT_EQ(error(SPARSEC_STEP_COPY, none), 0);
  EXPECT_EQ(error(SPARSEC_STEP_COPY, some), 0.5);
  EXPECT_EQ(error(SPARSEC_STEP_F32_TO_I32, some), 1) << "99.5 becomes 99";
  EXPECT_EQ(error(SPARSEC_STEP_I32_TO_F32, none), 100 * referenceTolerance);
  EXPECT_EQ(error(SPARSEC_STEP_ADD, some), 0.5 + 107 * referenceTolerance);
}

/// y = alpha * (w x) + bias with blocks of 2 x 3 in a 3 x 5 matrix, so that both edges cut a block.
class Reference : public LinearOnFake {
protected:
  void SetUp() override {
    load(kernelInfo(SPARSEC_LAYOUT_ROW_MAJOR));
    // W = [1 2 3 . .]    X = column n: (1 + n) * (1, 2, 3, 4, 5)
    //     [4 5 6 . .]
    //     [. . . 7 8]
    setArguments(3, 5, 2);
    setPattern({{0}, {1}});
    // Elements beyond the matrix are made 100 to see that it is not used.
    for (float value : {1, 2, 3, 4, 5, 6, 7, 8, 100, 100, 100, 100})
      values.push_back(bf16(value));
    arguments[w].blocks.block_rows = 2;
    arguments[w].blocks.block_columns = 3;
    arguments[w].blocks.values = values.data();
    for (int k = 1; k <= 5; ++k)
      for (int n = 1; n <= 2; ++n)
        denseValues.push_back(bf16(float(k * n)));
    arguments[x].dense.data = denseValues.data();
    arguments[bias].dense.data = biasValues;
    arguments[y].dense.data = nullptr; // neither read nor written
  }

  static LaunchInfoBuilder kernelInfo(uint32_t denseLayout) {
    LaunchInfoBuilder info = cudaLinear();
    info.arguments[w].block_rows = 2;
    info.arguments[w].block_columns = 3;
    info.operandOf(x).layout = denseLayout;
    return info;
  }

  std::vector<double> run(int64_t begin, int64_t end, std::vector<double> *magnitude = nullptr) {
    std::vector<double> result((end - begin) * 2, -1);
    if (magnitude)
      magnitude->assign(result.size(), -1);
    EXPECT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), begin, end, result.data(),
                                    magnitude ? magnitude->data() : nullptr));
    return result;
  }

  std::vector<uint16_t> values, denseValues;
  float biasValues[3] = {10, 20, 30};
};

TEST_F(Reference, ProductAndEpilogue) {
  // W times (1, 2, 3, 4, 5) is (14, 32, 68); alpha is 0.5.
  EXPECT_THAT(run(0, 3), ::testing::ElementsAre(7 + 10, 14 + 10, 16 + 20, 32 + 20, 34 + 30, 68 + 30));
}

TEST_F(Reference, SomeRows) {
  EXPECT_THAT(run(1, 2), ::testing::ElementsAre(16 + 20, 32 + 20));
  EXPECT_THAT(run(1, 3), ::testing::ElementsAre(16 + 20, 32 + 20, 34 + 30, 68 + 30));
  EXPECT_TRUE(run(2, 2).empty());
}

TEST_F(Reference, MagnitudeIsTheSumOfAbsoluteProducts) {
  LaunchInfoBuilder info = kernelInfo(SPARSEC_LAYOUT_ROW_MAJOR);
  info.operations[0].region_count = 0;
  load(info);
  values[1] = bf16(-2);
  std::vector<double> magnitude;
  EXPECT_THAT(run(0, 1, &magnitude), ::testing::ElementsAre(1 - 4 + 9, 2 - 8 + 18));
  EXPECT_THAT(magnitude, ::testing::ElementsAre(1 + 4 + 9, 2 + 8 + 18));
}

/// 2^-9 of the sum of absolute products; with accumulation(fast) 2^-10 for each 32 stored columns, if that is more.
TEST_F(Reference, MagnitudeOfF8IsWhatAGpuLoses) {
  auto magnitudeWith = [&](sparsec_accumulation_t accumulation, int blockColumns) {
    LaunchInfoBuilder info = kernelInfo(SPARSEC_LAYOUT_ROW_MAJOR);
    info.arguments[w].block_columns = uint32_t(blockColumns);
    info.operations[0].region_count = 0;
    info.operations[0].attribute_count = 1;
    info.attributes = {{SPARSEC_ATTRIBUTE_ACCUMULATION, 0, accumulation}};
    load(info);
    values.assign(2 * blockColumns, bf16(0));
    values[0] = bf16(-3);
    setPattern({{0}, {}});
    arguments[w].blocks.block_columns = blockColumns;
    arguments[w].blocks.values = values.data();
    std::vector<double> magnitude;
    run(0, 1, &magnitude);
    return magnitude[1];
  };
  EXPECT_EQ(magnitudeWith(SPARSEC_ACCUMULATION_TWO_LEVEL, 96), 6 * (0x1p-9 / 1e-6));
  EXPECT_EQ(magnitudeWith(SPARSEC_ACCUMULATION_FAST, 96), 6 * (3 * 0x1p-10 / 1e-6));
  EXPECT_EQ(magnitudeWith(SPARSEC_ACCUMULATION_FAST, 97), 6 * (4 * 0x1p-10 / 1e-6));
  EXPECT_EQ(magnitudeWith(SPARSEC_ACCUMULATION_FAST, 3), 6 * (0x1p-9 / 1e-6));
}

TEST_F(Reference, EpilogueAddsItsOwnErrorsToTheMagnitude) {
  values[1] = bf16(-2);
  std::vector<double> magnitude;
  EXPECT_EQ(run(0, 1, &magnitude)[0], (1 - 4 + 9) / 2.0 + 10);
  // acc is 6 with magnitude 14. Times 0.5: 3 of its own and half of 14. Plus 10: 13 of its own.
  EXPECT_NEAR(magnitude[0], 3 + 14 / 2 + 13, 1e-6);
}

TEST_F(Reference, TransposedDenseOperand) {
  load(kernelInfo(SPARSEC_LAYOUT_TRANSPOSED));
  denseValues.clear();
  for (int n = 1; n <= 2; ++n)
    for (int k = 1; k <= 6; ++k) // one element of padding in each row
      denseValues.push_back(bf16(float(k * n)));
  arguments[x].dense = sparsec_dense_2d(denseValues.data(), SPARSEC_DTYPE_BF16, 2, 5);
  arguments[x].dense.strides[0] = 6;
  EXPECT_THAT(run(0, 3), ::testing::ElementsAre(17, 24, 36, 52, 64, 98));
}

TEST_F(Reference, FullAndPerColumnOperands) {
  LaunchInfoBuilder info = kernelInfo(SPARSEC_LAYOUT_ROW_MAJOR);
  info.operandOf(bias).broadcast = SPARSEC_BROADCAST_PER_COLUMN;
  load(info);
  arguments[bias].dense = sparsec_dense_1d(biasValues, SPARSEC_DTYPE_F32, 2);
  EXPECT_THAT(run(0, 1), ::testing::ElementsAre(7 + 10, 14 + 20));

  info.operandOf(bias).broadcast = SPARSEC_BROADCAST_FULL;
  info.arguments[bias].rank = 2;
  info.arguments[bias].sizes[1] = SPARSEC_DYNAMIC;
  info.operandOf(bias).layout = SPARSEC_LAYOUT_TRANSPOSED;
  load(info);
  float residual[] = {1, 2, 3, 4, 5, 6}; // (N, M)
  arguments[bias].dense = sparsec_dense_2d(residual, SPARSEC_DTYPE_F32, 2, 3);
  EXPECT_THAT(run(0, 2), ::testing::ElementsAre(7 + 1, 14 + 4, 16 + 2, 32 + 5));
}

TEST_F(Reference, WithoutStepsTheResultIsTheAccumulator) {
  LaunchInfoBuilder info = kernelInfo(SPARSEC_LAYOUT_ROW_MAJOR);
  info.operations[0].region_count = 0;
  load(info);
  EXPECT_THAT(run(0, 1), ::testing::ElementsAre(14, 28));
}

TEST_F(Reference, WidthOfSeveralPanels) {
  setArguments(2, 3, 1100);
  arguments[w].blocks.block_rows = 2;
  arguments[w].blocks.block_columns = 3;
  arguments[w].blocks.values = values.data();
  setPattern({{0}});
  denseValues.assign(3 * 1100, 0);
  for (int n = 0; n < 1100; ++n)
    denseValues[1100 + n] = bf16(float(n % 128)); // row k = 1
  arguments[x].dense.data = denseValues.data();
  arguments[bias].dense.data = biasValues;
  std::vector<double> result(1100);
  ASSERT_OK(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, 1, result.data(), nullptr));
  for (int n = 0; n < 1100; ++n)
    ASSERT_EQ(result[n], 2 * (n % 128) * 0.5 + 10) << n;
}

TEST_F(Reference, BadInputIsRefused) {
  auto refuses = [&](sparsec_status_code_t code, const std::string &message, int64_t begin, int64_t end) {
    double untouched[6] = {-1, -1, -1, -1, -1, -1};
    EXPECT_STATUS(sparsec_reference_run(kernel, arguments.data(), arguments.size(), begin, end, untouched, nullptr),
                  code, message);
    EXPECT_THAT(untouched, ::testing::Each(-1));
  };
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "rows within 0 to 3, but got row_begin 1 and row_end 4", 1, 4);
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "row_begin -1", -1, 1);
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "row_begin 2 and row_end 1", 2, 1);
  colIdx[1] = 2;
  refuses(SPARSEC_STATUS_INVALID_PATTERN, "argument 0 'w': expects full.indices[1] (block row 1) to be 0 to 1", 0, 3);
  colIdx[1] = 1;
  arguments[x].dense.data = nullptr;
  refuses(SPARSEC_STATUS_INVALID_ARGUMENT, "argument 1 'x': data is NULL", 0, 3);
  arguments[x].dense.data = denseValues.data();
  EXPECT_STATUS(sparsec_reference_run(kernel, arguments.data(), arguments.size(), 0, 3, nullptr, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "y is NULL");
  EXPECT_STATUS(sparsec_reference_run(nullptr, arguments.data(), arguments.size(), 0, 3, nullptr, nullptr),
                SPARSEC_STATUS_INVALID_ARGUMENT, "kernel is NULL");
}

} // namespace
