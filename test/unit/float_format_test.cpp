// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rounding to the element types, against LLVM's arbitrary-precision numbers.

#include "readers_support.h"
#include "reference/float_format.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cmath>
#include <limits>
#include <random>

using namespace sparsec::runtime;

namespace {

uint32_t expectedBits(double value, const llvm::fltSemantics &semantics) {
  llvm::APFloat number(value);
  bool losesInformation;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInformation);
  return uint32_t(number.bitcastToAPInt().getZExtValue());
}

struct Type {
  sparsec_dtype_t dtype;
  const llvm::fltSemantics &semantics;
};

class ElementTest : public testing::TestWithParam<Type> {
protected:
  const FloatFormat format = *getFloatFormat(GetParam().dtype);
  void expectRounding(double value) {
    EXPECT_EQ(encodeElement(value, format), expectedBits(value, GetParam().semantics)) << std::hexfloat << value;
  }
};

TEST_P(ElementTest, RoundsLikeApFloat) {
  std::mt19937_64 generator(7);
  for (int i = 0; i < 20000; ++i) {
    // Random bits cover all exponents, and the sum of two powers of two covers ties.
    double wild = llvm::bit_cast<double>(generator());
    if (!std::isnan(wild))
      expectRounding(wild);
    int exponent = int(generator() % 320) - 170;
    double tie = std::ldexp(1.0, exponent) + std::ldexp(1.0, exponent - int(generator() % 26));
    expectRounding(tie);
    expectRounding(-std::nextafter(tie, 0.0));
  }
}

TEST_P(ElementTest, RoundsTheEdges) {
  double largest = format.maxFinite();
  double half = format.unitInLastPlace(largest) / 2;
  double smallest = format.unitInLastPlace(0.0);
  for (double value : {0.0, -0.0, 1.0, largest, std::nextafter(largest + half, 0.0), largest + half, smallest,
                       smallest / 2, std::nextafter(smallest / 2, 1.0), std::ldexp(1.0, format.minExponent),
                       std::nextafter(std::ldexp(1.0, format.minExponent), 0.0),
                       std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()})
    expectRounding(value);
}

TEST_P(ElementTest, KeepsNaN) {
  uint32_t bits = encodeElement(std::numeric_limits<double>::quiet_NaN(), format);
  EXPECT_TRUE(std::isnan(sparsec::runtime::readElement(&bits, GetParam().dtype, 0)));
}

INSTANTIATE_TEST_SUITE_P(Types, ElementTest,
                         testing::Values(Type{SPARSEC_DTYPE_F32, llvm::APFloat::IEEEsingle()},
                                         Type{SPARSEC_DTYPE_F16, llvm::APFloat::IEEEhalf()},
                                         Type{SPARSEC_DTYPE_BF16, llvm::APFloat::BFloat()},
                                         Type{SPARSEC_DTYPE_F8E4M3FN, llvm::APFloat::Float8E4M3FN()},
                                         Type{SPARSEC_DTYPE_F8E5M2, llvm::APFloat::Float8E5M2()}));

TEST(FloatFormatTest, UnitInLastPlace) {
  FloatFormat half = *getFloatFormat(SPARSEC_DTYPE_F16);
  EXPECT_EQ(half.unitInLastPlace(1.0), std::ldexp(1.0, -10));
  EXPECT_EQ(half.unitInLastPlace(std::nextafter(1.0, 0.0)), std::ldexp(1.0, -11));
  EXPECT_EQ(half.unitInLastPlace(-3.0), std::ldexp(1.0, -9));
  EXPECT_EQ(half.unitInLastPlace(1e-9), std::ldexp(1.0, -24));
  EXPECT_EQ(half.maxFinite(), 65504.0);
}

TEST(FloatFormatTest, LargestNumbersOfFp8) {
  EXPECT_EQ(getFloatFormat(SPARSEC_DTYPE_F8E4M3FN)->maxFinite(), 448.0);
  EXPECT_EQ(getFloatFormat(SPARSEC_DTYPE_F8E5M2)->maxFinite(), 57344.0);
}

TEST(FloatFormatTest, IntegersHaveNone) { EXPECT_FALSE(getFloatFormat(SPARSEC_DTYPE_I32)); }

} // namespace
