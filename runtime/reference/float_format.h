// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The floating-point types of elements, and their bits.

#ifndef SPARSEC_RUNTIME_REFERENCE_FLOAT_FORMAT_H
#define SPARSEC_RUNTIME_REFERENCE_FLOAT_FORMAT_H

#include "sparsec/launch_info.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sparsec::runtime {

/// The numbers that define a binary floating-point type with a sign + exponent + mantissa layout.
struct FloatFormat {
  unsigned bytes;
  int mantissaBits;        // stored ones, without the implied leading 1
  int minExponent;         // of the smallest normal number
  int maxExponent;         // of the largest finite number
  bool hasInfinity = true; // without: what would be the largest finite number is the only NaN

  double maxFinite() const;
  /// The distance of neighbouring numbers of this type around `value`; the smallest one for 0 and subnormal numbers.
  double unitInLastPlace(double value) const;
};

/// The format of a floating-point type; nothing for integers.
std::optional<FloatFormat> getFloatFormat(sparsec_dtype_t dtype);

/// The bits of a number, rounded to nearest, ties to even; overflow gives an infinity, or NaN where there is none, as
/// arith.truncf does.
uint32_t encodeElement(double value, const FloatFormat &format);

/// Element `index` of an array at any address, little-endian.
void storeElement(void *array, size_t index, double value, const FloatFormat &format);

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_FLOAT_FORMAT_H
