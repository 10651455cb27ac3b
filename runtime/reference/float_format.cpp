// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "float_format.h"

#include "numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sparsec::runtime {

double FloatFormat::maxFinite() const {
  double unusedUnits = hasInfinity ? 1.0 : 2.0;
  return std::ldexp(2.0 - std::ldexp(unusedUnits, -mantissaBits), maxExponent);
}

double FloatFormat::unitInLastPlace(double value) const {
  int exponent = value == 0.0 || !std::isfinite(value) ? minExponent : std::max(std::ilogb(value), minExponent);
  return std::ldexp(1.0, exponent - mantissaBits);
}

std::optional<FloatFormat> getFloatFormat(sparsec_dtype_t dtype) {
  switch (dtype) {
  case SPARSEC_DTYPE_F32:
    return FloatFormat{4, 23, -126, 127};
  case SPARSEC_DTYPE_F16:
    return FloatFormat{2, 10, -14, 15};
  case SPARSEC_DTYPE_BF16:
    return FloatFormat{2, 7, -126, 127};
  case SPARSEC_DTYPE_F8E4M3FN:
    return FloatFormat{1, 3, -6, 8, /*hasInfinity=*/false};
  case SPARSEC_DTYPE_F8E5M2:
    return FloatFormat{1, 2, -14, 15};
  case SPARSEC_DTYPE_NONE:
  case SPARSEC_DTYPE_I64:
  case SPARSEC_DTYPE_I32:
  case SPARSEC_DTYPE_I8:
    break;
  }
  return std::nullopt;
}

uint32_t encodeElement(double value, const FloatFormat &format) {
  const int mantissa = format.mantissaBits;
  const uint32_t signBit = uint32_t(1) << (8 * format.bytes - 1), sign = std::signbit(value) ? signBit : 0;
  const uint32_t infinity = uint32_t(format.maxExponent - format.minExponent + 2) << mantissa;
  const uint32_t nan = format.hasInfinity ? infinity | (uint32_t(1) << (mantissa - 1)) : signBit - 1;
  if (std::isnan(value))
    return nan;
  double rounded = std::fabs(roundToFormat(value, mantissa, format.minExponent, format.maxExponent));
  if (rounded > format.maxFinite())
    return sign | (format.hasInfinity ? infinity : nan);
  // In units of the last place the number is an integer. The implied leading 1 of a normal number adds one to the
  // exponent field; a subnormal number has none.
  uint32_t units = uint32_t(rounded / format.unitInLastPlace(rounded));
  int exponent = rounded == 0.0 ? format.minExponent : std::max(std::ilogb(rounded), format.minExponent);
  return sign | ((uint32_t(exponent - format.minExponent) << mantissa) + units);
}

void storeElement(void *array, size_t index, double value, const FloatFormat &format) {
  uint32_t bits = encodeElement(value, format);
  std::memcpy(static_cast<char *>(array) + index * format.bytes, &bits, format.bytes);
}

} // namespace sparsec::runtime
