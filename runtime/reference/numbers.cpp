// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "numbers.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace sparsec::runtime {

namespace {

template <typename Integer> Integer readInteger(const void *data, int64_t index) {
  Integer value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(value), sizeof(value));
  return value;
}

/// A small IEEE format: sign, exponent, mantissa; all-ones exponents are infinities and NaN.
double widenIeee(unsigned bits, int exponentBits, int mantissaBits) {
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = int(bits >> mantissaBits) & ((1 << exponentBits) - 1);
  int mantissa = int(bits) & ((1 << mantissaBits) - 1);
  double magnitude;
  if (exponent == (1 << exponentBits) - 1)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, 1 - bias - mantissaBits);
  else // the same fields, wider
    magnitude =
        std::bit_cast<double>(uint64_t(exponent - bias + 1023) << 52 | uint64_t(mantissa) << (52 - mantissaBits));
  return bits >> (exponentBits + mantissaBits) ? -magnitude : magnitude;
}

/// Like IEEE, but without infinities: only the largest number is NaN.
double widenE4m3fn(unsigned bits) {
  if ((bits & 0x7f) == 0x7f)
    return std::numeric_limits<double>::quiet_NaN();
  if ((bits & 0x78) == 0x78) {
    double magnitude = std::ldexp(8 + int(bits & 7), 8 - 3);
    return bits & 0x80 ? -magnitude : magnitude;
  }
  return widenIeee(bits, 4, 3);
}

} // namespace

double readElement(const void *data, sparsec_dtype_t dtype, int64_t index) {
  switch (dtype) {
  case SPARSEC_DTYPE_F32:
    return std::bit_cast<float>(readInteger<uint32_t>(data, index));
  case SPARSEC_DTYPE_F16:
    return widenIeee(readInteger<uint16_t>(data, index), 5, 10);
  case SPARSEC_DTYPE_BF16:
    return std::bit_cast<float>(uint32_t(readInteger<uint16_t>(data, index)) << 16);
  case SPARSEC_DTYPE_F8E4M3FN:
    return widenE4m3fn(readInteger<uint8_t>(data, index));
  case SPARSEC_DTYPE_F8E5M2:
    return widenIeee(readInteger<uint8_t>(data, index), 5, 2);
  case SPARSEC_DTYPE_I32:
    return readInteger<int32_t>(data, index);
  case SPARSEC_DTYPE_I64:
    return int32_t(readInteger<int64_t>(data, index));
  case SPARSEC_DTYPE_I8:
    return readInteger<int8_t>(data, index);
  case SPARSEC_DTYPE_NONE:
    break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

double roundToFormat(double value, int mantissaBits, int minExponent, int maxExponent) {
  if (value == 0 || !std::isfinite(value))
    return value;
  int exponent = std::max(std::ilogb(value), minExponent);
  // In units of the last place this is an integer; nearbyint rounds halves to even.
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, mantissaBits - exponent)), exponent - mantissaBits);
  if (std::fabs(rounded) >= std::ldexp(1.0, maxExponent + 1))
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

} // namespace sparsec::runtime
