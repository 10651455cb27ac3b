// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The number formats of the GPU as floats.

#ifndef SPARSEC_TEST_SIMULATOR_NUMBERS_H
#define SPARSEC_TEST_SIMULATOR_NUMBERS_H

#include "types.h"

namespace sparsec::simulator {

inline float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }
float f16ToFloat(uint16_t bits);
float f8ToFloat(uint8_t bits, Type format);

/// To nearest, ties to even.
uint16_t floatToBf16(float value);
uint16_t floatToF16(float value);
/// As above, and beyond the largest number the largest number.
uint8_t floatToF8(float value, Type format);

/// Towards zero.
uint16_t floatToBf16TowardsZero(float value);

/// The element of any format of at most 16 bits.
float elementToFloat(uint16_t bits, Type format);

} // namespace sparsec::simulator

#endif // SPARSEC_TEST_SIMULATOR_NUMBERS_H
