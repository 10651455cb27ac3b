// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions between numbers, and between addresses.

#include "decoder.h"
#include "machine.h"
#include "numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sparsec::simulator {

namespace {

enum Flag : uint32_t {
  towardsZero = 1,
  downwards = 2,
  upwards = 4,
  toInteger = 8,
  flushes = 16,
  saturates = 32,
  relu = 64
};

bool isPair(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::e4m3x2 || type == Type::e5m2x2;
}

Type elementOf(Type pair) {
  switch (pair) {
  case Type::f16x2:
    return Type::f16;
  case Type::bf16x2:
    return Type::bf16;
  case Type::e4m3x2:
    return Type::e4m3;
  default:
    return Type::e5m2;
  }
}

/// An integer of any width, extended to 64 bits.
int64_t readInteger(Warp &warp, Place place, Type type, int lane) {
  if (isWide(type))
    return warp.at<int64_t>(place)[lane];
  const uint32_t word = warp.at(place)[lane];
  switch (bytesOf(type)) {
  case 1:
    return isSigned(type) ? int64_t(int8_t(word)) : int64_t(uint8_t(word));
  case 2:
    return isSigned(type) ? int64_t(int16_t(word)) : int64_t(uint16_t(word));
  default:
    return isSigned(type) ? int64_t(int32_t(word)) : int64_t(word);
  }
}

float readFloat(Warp &warp, Place place, Type type, int lane) {
  const uint32_t word = warp.at(place)[lane];
  return type == Type::f32 ? std::bit_cast<float>(word) : elementToFloat(uint16_t(word), type);
}

void writeInteger(Warp &warp, const Instruction &i, int lane, int64_t value) {
  // The register may be wider than the type: it gets the extended value.
  if (i.wide) {
    warp.at<int64_t>(i.at[0])[lane] = value;
    return;
  }
  auto word = uint32_t(value);
  if (bytesOf(i.type) == 1)
    word = isSigned(i.type) ? uint32_t(int8_t(value)) : uint8_t(value);
  else if (bytesOf(i.type) == 2)
    word = uint16_t(value);
  warp.at(i.at[0])[lane] = word;
}

uint16_t narrow(float value, Type type, uint32_t flags) {
  if (flags & relu)
    value = value > 0 ? value : 0;
  if (type == Type::bf16)
    return flags & towardsZero ? floatToBf16TowardsZero(value) : floatToBf16(value);
  if (type == Type::f16)
    return floatToF16(value);
  return floatToF8(value, type);
}

std::pair<double, double> limitsOf(Type type) {
  const int bits = int(8 * bytesOf(type));
  return isSigned(type) ? std::pair(-std::ldexp(1.0, bits - 1), std::ldexp(1.0, bits - 1) - 1)
                        : std::pair(0.0, std::ldexp(1.0, bits) - 1);
}

/// Clamped to the type; NaN becomes 0.
int64_t roundToInteger(float value, Type type, uint32_t flags) {
  if (std::isnan(value))
    return 0;
  const double rounded = flags & towardsZero ? std::trunc(double(value))
                         : flags & downwards ? std::floor(double(value))
                         : flags & upwards   ? std::ceil(double(value))
                                             : std::nearbyint(double(value));
  const auto [least, most] = limitsOf(type);
  if (rounded <= least)
    return isSigned(type) && isWide(type) ? std::numeric_limits<int64_t>::min() : int64_t(least);
  if (rounded >= most)
    return isWide(type) ? (isSigned(type) ? std::numeric_limits<int64_t>::max() : int64_t(-1)) : int64_t(most);
  return isSigned(type) ? int64_t(rounded) : int64_t(uint64_t(rounded));
}

void integerToInteger(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    int64_t value = readInteger(warp, i.at[1], i.source, lane);
    if (i.flags & saturates) {
      const auto [least, most] = limitsOf(i.type);
      value = int64_t(std::clamp(double(value), least, most));
    }
    writeInteger(warp, i, lane, value);
  });
}

/// Rounds once, to f32.
void integerToFloat(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    const int64_t value = readInteger(warp, i.at[1], i.source, lane);
    float result = isSigned(i.source) ? float(value) : float(uint64_t(value));
    if ((i.flags & towardsZero) && std::fabs(double(result)) > std::fabs(double(value)))
      result = std::nextafter(result, 0.0f);
    warp.at<float>(i.at[0])[lane] = result;
  });
}

void floatToInteger(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    writeInteger(warp, i, lane, roundToInteger(readFloat(warp, i.at[1], i.source, lane), i.type, i.flags));
  });
}

float roundInPlace(float value, uint32_t flags) {
  if (flags & toInteger)
    value = flags & towardsZero ? std::trunc(value)
            : flags & downwards ? std::floor(value)
            : flags & upwards   ? std::ceil(value)
                                : std::nearbyint(value);
  if (flags & saturates)
    value = value > 0 ? std::min(value, 1.0f) : 0.0f;
  return flags & flushes && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}

void floatToFloat(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    const float value = readFloat(warp, i.at[1], i.source, lane);
    if (i.type == Type::f32)
      warp.at<float>(i.at[0])[lane] = roundInPlace(value, i.flags);
    else
      warp.at(i.at[0])[lane] = narrow(value, i.type, i.flags);
  });
}

/// d = {a, b}: the first operand is the upper half.
void floatsToPair(Warp &warp, const Instruction &i, uint32_t mask) {
  const Type element = elementOf(i.type);
  const unsigned bits = 8 * bytesOf(element);
  forLanes(mask, [&](int lane) {
    const uint32_t high = narrow(warp.at<float>(i.at[1])[lane], element, i.flags);
    const uint32_t low = narrow(warp.at<float>(i.at[2])[lane], element, i.flags);
    warp.at(i.at[0])[lane] = high << bits | low;
  });
}

void pairToPair(Warp &warp, const Instruction &i, uint32_t mask) {
  const Type from = elementOf(i.source), to = elementOf(i.type);
  const unsigned bitsFrom = 8 * bytesOf(from), bitsTo = 8 * bytesOf(to);
  forLanes(mask, [&](int lane) {
    const uint32_t word = warp.at(i.at[1])[lane], ones = (1u << bitsFrom) - 1;
    const uint32_t low = narrow(elementToFloat(uint16_t(word & ones), from), to, i.flags);
    const uint32_t high = narrow(elementToFloat(uint16_t(word >> bitsFrom & ones), from), to, i.flags);
    warp.at(i.at[0])[lane] = high << bitsTo | low;
  });
}

uint32_t takeFlags(Decoder &d) {
  uint32_t flags = 0;
  constexpr std::pair<std::string_view, uint32_t> names[] = {{"rn", 0},
                                                             {"rz", towardsZero},
                                                             {"rm", downwards},
                                                             {"rp", upwards},
                                                             {"rni", toInteger},
                                                             {"rzi", toInteger | towardsZero},
                                                             {"rmi", toInteger | downwards},
                                                             {"rpi", toInteger | upwards},
                                                             {"ftz", flushes},
                                                             {"sat", saturates},
                                                             {"relu", relu}};
  for (const auto &[name, value] : names)
    if (d.take(name))
      flags |= value;
  return flags;
}

bool decodeConvert(Decoder &d) {
  const Type to = d.out.type = d.takeType(), from = d.out.source = d.takeType();
  d.out.flags = takeFlags(d);
  if (to == Type::f64 || from == Type::f64)
    d.fail("does not know f64");
  if (isPair(to)) {
    const Type element = elementOf(to);
    if (bytesOf(element) == 1)
      d.require("satfinite");
    const Type word = bytesOf(to) == 2 ? Type::b16 : Type::b32;
    d.out.at[0] = d.destination(word);
    if (isPair(from)) {
      d.out.at[1] = d.source(bytesOf(from) == 2 ? Type::b16 : Type::b32);
      return d.finish(pairToPair), true;
    }
    d.out.at[1] = d.source(Type::f32);
    d.out.at[2] = d.source(Type::f32);
    return d.finish(floatsToPair), true;
  }
  // Registers may be wider than the types.
  d.out.wide = d.isWideRegister(d.peek());
  d.out.at[0] = d.destination(d.out.wide ? Type::b64 : Type::b32);
  d.out.at[1] = d.source(from);
  if (isFloat(to))
    d.finish(isFloat(from) ? floatToFloat : integerToFloat);
  else
    d.finish(isFloat(from) ? floatToInteger : integerToInteger);
  return true;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// To or from generic addresses: the window of the space is added or taken away.
template <bool isToSpace> void convertAddress(Warp &warp, const Instruction &i, uint32_t mask) {
  forLanes(mask, [&](int lane) {
    uint64_t value = i.wide & 2 ? warp.at<uint64_t>(i.at[1])[lane] : warp.at(i.at[1])[lane];
    uint64_t base = 0;
    if (i.space == Space::shared || i.space == Space::sharedCluster)
      base = sharedWindow;
    else if (i.space == Space::local)
      base = localWindow;
    else if (i.space == Space::param)
      base = reinterpret_cast<uintptr_t>(warp.cta.cluster.machine.launch.parameters.data());
    if (isToSpace && value < base)
      throw SimulationError("converts an address that is not in this space");
    value = isToSpace ? value - base : value + base;
    if (i.wide & 1)
      warp.at<uint64_t>(i.at[0])[lane] = value;
    else
      warp.at(i.at[0])[lane] = uint32_t(value);
  });
}

bool decodeConvertAddress(Decoder &d) {
  const bool isToSpace = d.take("to");
  d.out.space = d.takeSpace();
  const Type type = d.takeType();
  if (isWide(type))
    d.out.wide = 3;
  d.out.at = {d.destination(type), d.source(type)};
  d.finish(isToSpace ? convertAddress<true> : convertAddress<false>);
  return true;
}

/// The address of a variable of the CTA in another CTA of the cluster.
void mapToCta(Warp &warp, const Instruction &i, uint32_t mask) {
  const uint32_t *a = warp.at(i.at[1]), *rank = warp.at(i.at[2]);
  forLanes(mask, [&](int lane) {
    if (rank[lane] >= warp.cta.cluster.ctas.size())
      throw SimulationError("maps to a CTA that the cluster does not have");
    warp.at(i.at[0])[lane] = (a[lane] & ((1u << rankShift) - 1)) | (rank[lane] + 1) << rankShift;
  });
}

} // namespace

bool decodeConversion(Decoder &d) {
  if (d.name() == "cvt")
    return decodeConvert(d);
  if (d.name() == "cvta")
    return decodeConvertAddress(d);
  if (d.name() == "mapa") {
    d.require("shared::cluster");
    d.require("u32");
    d.out.at = {d.destination(Type::u32), d.source(Type::u32), d.source(Type::u32)};
    return d.finish(mapToCta), true;
  }
  return false;
}

} // namespace sparsec::simulator
