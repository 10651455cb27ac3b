// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Element types as doubles: exact widening, and rounding to nearest even.

#ifndef SPARSEC_RUNTIME_REFERENCE_NUMBERS_H
#define SPARSEC_RUNTIME_REFERENCE_NUMBERS_H

#include "sparsec/launch_info.h"

namespace sparsec::runtime {

/// The element at `index` of an array of the type.
double readElement(const void *data, sparsec_dtype_t dtype, int64_t index);

/// To the nearest value with `mantissaBits` stored bits and exponents from `minExponent` (of the smallest normal
/// number) to `maxExponent`; beyond that infinity.
double roundToFormat(double value, int mantissaBits, int minExponent, int maxExponent);

inline double roundToF32(double value) { return static_cast<float>(value); }
inline double roundToF16(double value) { return roundToFormat(value, 10, -14, 15); }
inline double roundToBf16(double value) { return roundToFormat(value, 7, -126, 127); }

} // namespace sparsec::runtime

#endif // SPARSEC_RUNTIME_REFERENCE_NUMBERS_H
