// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "numbers.h"

#include <array>
#include <cmath>

namespace sparsec::simulator {

namespace {

/// A small format with subnormal numbers. Without infinities, the largest exponent has numbers too, and only all bits
/// set are NaN.
struct Format {
  int exponentBits, mantissaBits;
  bool hasInfinity;

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  int largestExponent() const { return (1 << exponentBits) - (hasInfinity ? 2 : 1) - bias(); }
  float largest() const {
    const int steps = (2 << mantissaBits) - (hasInfinity ? 1 : 2);
    return float(std::ldexp(steps, largestExponent() - mantissaBits));
  }
  uint32_t nan() const { return (1u << (exponentBits + mantissaBits)) - 1; }
};

constexpr Format f16Format = {5, 10, true}, e4m3Format = {4, 3, false}, e5m2Format = {5, 2, true};

float decode(uint32_t bits, Format format) {
  const uint32_t mantissa = bits & ((1u << format.mantissaBits) - 1);
  const int exponent = int(bits >> format.mantissaBits) & ((1 << format.exponentBits) - 1);
  const float sign = bits >> (format.exponentBits + format.mantissaBits) & 1 ? -1.0f : 1.0f;
  const bool isTop = exponent == (1 << format.exponentBits) - 1;
  if (format.hasInfinity && isTop)
    return mantissa ? std::nanf("") : sign * INFINITY;
  if (!format.hasInfinity && isTop && mantissa == (1u << format.mantissaBits) - 1)
    return std::nanf("");
  if (exponent == 0)
    return sign * float(std::ldexp(mantissa, 1 - format.bias() - format.mantissaBits));
  return sign *
         float(std::ldexp(mantissa + (1u << format.mantissaBits), exponent - format.bias() - format.mantissaBits));
}

/// Nearest-even; what is too large becomes infinity, or the largest number if `saturates`.
uint32_t encode(float value, Format format, bool saturates) {
  const uint32_t sign = std::signbit(value) ? 1u << (format.exponentBits + format.mantissaBits) : 0;
  if (std::isnan(value))
    return format.nan();
  const double magnitude = std::fabs(double(value));
  if (magnitude == 0)
    return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias());
  // nearbyint rounds to even, as the processor does by default.
  double steps = std::nearbyint(std::ldexp(magnitude, format.mantissaBits - exponent));
  if (steps == double(2 << format.mantissaBits)) {
    steps /= 2;
    ++exponent;
  }
  if (std::ldexp(steps, exponent - format.mantissaBits) > double(format.largest())) {
    const uint32_t largest = format.nan() - (format.hasInfinity ? 1u << format.mantissaBits : 1);
    return sign | (saturates ? largest : largest + 1);
  }
  const auto whole = uint32_t(steps);
  if (whole < (1u << format.mantissaBits))
    return sign | whole; // subnormal
  const auto biased = uint32_t(exponent + format.bias());
  return sign | biased << format.mantissaBits | (whole & ((1u << format.mantissaBits) - 1));
}

template <size_t count> std::array<float, count> tableOf(Format format) {
  std::array<float, count> table;
  for (size_t i = 0; i < count; ++i)
    table[i] = decode(uint32_t(i), format);
  return table;
}

} // namespace

float f16ToFloat(uint16_t bits) {
  static const auto table = tableOf<65536>(f16Format);
  return table[bits];
}

float f8ToFloat(uint8_t bits, Type format) {
  static const auto e4m3 = tableOf<256>(e4m3Format), e5m2 = tableOf<256>(e5m2Format);
  return format == Type::e4m3 ? e4m3[bits] : e5m2[bits];
}

uint16_t floatToBf16(float value) {
  if (std::isnan(value))
    return 0x7fff;
  const auto bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t floatToBf16TowardsZero(float value) {
  return std::isnan(value) ? 0x7fff : uint16_t(std::bit_cast<uint32_t>(value) >> 16);
}

uint16_t floatToF16(float value) { return uint16_t(encode(value, f16Format, /*saturates=*/false)); }

uint8_t floatToF8(float value, Type format) {
  return uint8_t(encode(value, format == Type::e4m3 ? e4m3Format : e5m2Format, /*saturates=*/true));
}

float elementToFloat(uint16_t bits, Type format) {
  if (format == Type::bf16)
    return bf16ToFloat(bits);
  return format == Type::f16 ? f16ToFloat(bits) : f8ToFloat(uint8_t(bits), format);
}

} // namespace sparsec::simulator
