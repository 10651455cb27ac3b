// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random numbers that are the same on every machine, and the element types on the processor.

#ifndef SPARSEC_BENCH_HARNESS_NUMERIC_H
#define SPARSEC_BENCH_HARNESS_NUMERIC_H

#include "sparsec/launch_info.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace sparsec::harness {

/// 64 random bits that depend on the seed and the position only (the finalizer of SplitMix64).
inline uint64_t randomBits(uint64_t seed, uint64_t position) {
  uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15ull + position * 0xd1342543de82ef95ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// Uniform in [0, 1).
inline double randomUnit(uint64_t seed, uint64_t position) {
  return static_cast<double>(randomBits(seed, position) >> 11) * 0x1p-53;
}

/// Normal with mean 0 and variance 1 (Box and Muller).
inline float randomNormal(uint64_t seed, uint64_t position) {
  uint64_t bits = randomBits(seed, position);
  float radius = (static_cast<float>(bits >> 40) + 1.0f) * 0x1p-24f;
  float angle = static_cast<float>(bits & 0xffffff) * (6.2831853f * 0x1p-24f);
  return std::sqrt(-2.0f * std::log(radius)) * std::cos(angle);
}

inline float bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// Rounds to nearest, ties to even.
inline uint16_t floatToBf16(float value) {
  if (std::isnan(value))
    return 0x7fc0;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/// The 8-bit types, whose values without infinities and NaN are (-1)^s 2^(e - bias) 1.m as those of IEEE 754.
struct Float8Format {
  int fractionBits, bias;
  uint8_t largest, overflow; // the largest finite magnitude, and what rounds above it: NaN or infinity
};
constexpr Float8Format float8Format(sparsec_dtype_t dtype) {
  return dtype == SPARSEC_DTYPE_F8E4M3FN ? Float8Format{3, 7, 0x7e, 0x7f} : Float8Format{2, 15, 0x7b, 0x7c};
}

inline double float8ToDouble(const Float8Format &format, uint8_t bits) {
  int magnitude = bits & 0x7f, one = 1 << format.fractionBits;
  double sign = bits & 0x80 ? -1 : 1;
  if (magnitude > format.largest)
    return magnitude == 0x7c && format.overflow == 0x7c ? sign * INFINITY : NAN;
  int exponent = magnitude >> format.fractionBits, fraction = magnitude % one;
  int significand = exponent == 0 ? fraction : fraction + one;
  return sign * std::ldexp(significand, std::max(exponent, 1) - format.bias - format.fractionBits);
}

/// Rounds to nearest, ties to even.
inline uint8_t doubleToFloat8(const Float8Format &format, double value) {
  if (std::isnan(value))
    return 0x7f;
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  double magnitude = std::min(std::abs(value), 0x1p20); // beyond the largest of both types
  int exponent = magnitude == 0 ? 1 - format.bias : std::max(std::ilogb(magnitude), 1 - format.bias);
  double fraction = std::nearbyint(std::ldexp(magnitude, format.fractionBits - exponent));
  int bits = ((exponent + format.bias - 1) << format.fractionBits) + static_cast<int>(fraction);
  return sign | (bits > format.largest ? format.overflow : static_cast<uint8_t>(bits));
}

/// Element `index` of an array of `dtype`: f32, f16, bf16, an integer type or an 8-bit type.
inline double loadElement(sparsec_dtype_t dtype, const void *data, int64_t index) {
  if (dtype == SPARSEC_DTYPE_F32)
    return static_cast<const float *>(data)[index];
  if (dtype == SPARSEC_DTYPE_I32)
    return static_cast<const int32_t *>(data)[index];
  if (dtype == SPARSEC_DTYPE_I64)
    return static_cast<double>(static_cast<const int64_t *>(data)[index]);
  if (dtype == SPARSEC_DTYPE_I8)
    return static_cast<const int8_t *>(data)[index];
  if (dtype == SPARSEC_DTYPE_F8E4M3FN || dtype == SPARSEC_DTYPE_F8E5M2)
    return float8ToDouble(float8Format(dtype), static_cast<const uint8_t *>(data)[index]);
  uint16_t bits = static_cast<const uint16_t *>(data)[index];
  return dtype == SPARSEC_DTYPE_BF16 ? bf16ToFloat(bits) : static_cast<double>(std::bit_cast<_Float16>(bits));
}

template <typename Element> void storeAs(void *data, int64_t index, double value) {
  static_cast<Element *>(data)[index] = static_cast<Element>(value);
}

inline void storeElement(sparsec_dtype_t dtype, void *data, int64_t index, double value) {
  if (dtype == SPARSEC_DTYPE_F32)
    return storeAs<float>(data, index, value);
  if (dtype == SPARSEC_DTYPE_I32)
    return storeAs<int32_t>(data, index, value);
  if (dtype == SPARSEC_DTYPE_I64)
    return storeAs<int64_t>(data, index, value);
  if (dtype == SPARSEC_DTYPE_I8)
    return storeAs<int8_t>(data, index, value);
  if (dtype == SPARSEC_DTYPE_F8E4M3FN || dtype == SPARSEC_DTYPE_F8E5M2) {
    static_cast<uint8_t *>(data)[index] = doubleToFloat8(float8Format(dtype), value);
    return;
  }
  static_cast<uint16_t *>(data)[index] = dtype == SPARSEC_DTYPE_BF16
                                             ? floatToBf16(static_cast<float>(value))
                                             : std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

/// `value` as the nearest element of `dtype`.
inline double roundToDtype(sparsec_dtype_t dtype, double value) {
  double storage = 0; // as large as an element of any type
  storeElement(dtype, &storage, 0, value);
  return loadElement(dtype, &storage, 0);
}

/// The distance between neighbouring elements of `dtype` at the magnitude of `value`.
inline double unitInLastPlace(sparsec_dtype_t dtype, double value) {
  int fractionBits = dtype == SPARSEC_DTYPE_F32 ? 23 : dtype == SPARSEC_DTYPE_F16 ? 10 : 7;
  int smallestExponent = dtype == SPARSEC_DTYPE_F16 ? -14 : -126;
  int exponent = value == 0 ? smallestExponent : std::max(std::ilogb(value), smallestExponent);
  return std::ldexp(1.0, exponent - fractionBits);
}

} // namespace sparsec::harness

#endif // SPARSEC_BENCH_HARNESS_NUMERIC_H
