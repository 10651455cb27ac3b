// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bits, moves, comparisons and selections.

#include "decoder.h"
#include "lanes.h"

#include <array>
#include <cmath>
#include <fmt/format.h>

namespace sparsec::simulator {

namespace {

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

template <class T> T bitAnd(T a, T b) { return a & b; }
template <class T> T bitOr(T a, T b) { return a | b; }
template <class T> T bitXor(T a, T b) { return a ^ b; }
template <class T> T bitNot(T a) { return T(~a); }
/// Shifts by the width or more give zeros, or the sign.
template <class T> T shiftLeft(T a, uint32_t by) { return by >= 8 * sizeof(T) ? T(0) : T(a << by); }
template <class T> T shiftRight(T a, uint32_t by) {
  if (by >= 8 * sizeof(T))
    return T(a < 0 ? -1 : 0);
  return T(a >> by);
}
uint32_t countOnes(uint32_t a) { return uint32_t(std::popcount(a)); }
uint32_t countOnesWide(uint64_t a) { return uint32_t(std::popcount(a)); }
uint32_t countZeros(uint32_t a) { return uint32_t(std::countl_zero(a)); }
uint32_t countZerosWide(uint64_t a) { return uint32_t(std::countl_zero(a)); }
uint32_t reverseBits(uint32_t a) {
  uint32_t result = 0;
  for (int bit = 0; bit < 32; ++bit)
    result |= (a >> bit & 1) << (31 - bit);
  return result;
}
/// b bits from bit a on; positions and lengths have 8 bits.
uint32_t extractUnsigned(uint32_t a, uint32_t first, uint32_t length) {
  first &= 255, length &= 255;
  const uint64_t mask = length >= 32 ? allLanes : (uint64_t(1) << length) - 1;
  return first >= 32 ? 0 : uint32_t(a >> first & mask);
}
int32_t extractSigned(uint32_t a, uint32_t first, uint32_t length) {
  first &= 255, length &= 255;
  if (length == 0)
    return 0;
  const uint32_t last = std::min(first + length - 1, 31u);
  const int32_t fill = a >> last & 1 ? -1 : 0;
  if (first >= 32)
    return fill;
  const uint32_t width = last - first + 1;
  return width == 32 ? int32_t(a) : int32_t(extractUnsigned(a, first, width)) | int32_t(uint32_t(fill) << width);
}
uint32_t funnelLeft(uint32_t low, uint32_t high, uint32_t by) {
  return uint32_t(((uint64_t(high) << 32 | low) << (by & 31)) >> 32);
}
uint32_t funnelRight(uint32_t low, uint32_t high, uint32_t by) {
  return uint32_t((uint64_t(high) << 32 | low) >> (by & 31));
}
/// Four bytes of eight; the highest bit of a selector copies the sign.
uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t selector = selectors >> (4 * i) & 15;
    uint32_t byte = uint32_t(bytes >> (8 * (selector & 7))) & 255;
    if (selector & 8)
      byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

void insertBits(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t *d = warp.at(i.at[0]), *a = warp.at(i.at[1]), *b = warp.at(i.at[2]), *first = warp.at(i.at[3]),
           *length = warp.at(i.at[4]);
  forLanes(mask, [=](int lane) {
    const uint32_t from = first[lane] & 255, count = length[lane] & 255;
    const uint32_t ones = count >= 32 ? allLanes : (1u << count) - 1, field = from >= 32 ? 0 : ones << from;
    d[lane] = (b[lane] & ~field) | (from >= 32 ? 0 : a[lane] << from & field);
  });
}

void lookUpBits(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t *d = warp.at(i.at[0]), *a = warp.at(i.at[1]), *b = warp.at(i.at[2]), *c = warp.at(i.at[3]);
  forLanes(mask, [&](int lane) {
    uint32_t result = 0;
    for (int row = 0; row < 8; ++row)
      if (i.immediate >> row & 1)
        result |= (row & 4 ? a[lane] : ~a[lane]) & (row & 2 ? b[lane] : ~b[lane]) & (row & 1 ? c[lane] : ~c[lane]);
    d[lane] = result;
  });
}

// Predicates are masks of lanes.
template <auto function> void ofPredicates(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.setPredicate(i.at[0], mask, function(warp.predicate(i.at[1]), warp.predicate(i.at[2])));
}
void notPredicate(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.setPredicate(i.at[0], mask, ~warp.predicate(i.at[1]));
}
void movePredicate(Warp &warp, const Instruction &i, uint32_t mask) {
  warp.setPredicate(i.at[0], mask, warp.predicate(i.at[1]));
}

template <class T> T identity(T a) { return a; }

//===----------------------------------------------------------------------===//
// Moves of vectors
//===----------------------------------------------------------------------===//

/// {a, b} to a register of both: elements of 16 or 32 bits.
void packVector(Warp &warp, const Instruction &i, uint32_t mask) {
  const unsigned bits = unsigned(i.immediate);
  const bool isWideResult = isWide(i.type);
  forLanes(mask, [&](int lane) {
    uint64_t value = 0;
    for (size_t k = 0; k < i.list.size(); ++k)
      value |= uint64_t(warp.at(i.list[k])[lane] & (bits == 32 ? allLanes : (1u << bits) - 1)) << (bits * k);
    if (isWideResult)
      warp.at<uint64_t>(i.at[0])[lane] = value;
    else
      warp.at(i.at[0])[lane] = uint32_t(value);
  });
}

void unpackVector(Warp &warp, const Instruction &i, uint32_t mask) {
  const unsigned bits = unsigned(i.immediate);
  forLanes(mask, [&](int lane) {
    const uint64_t value = isWide(i.type) ? warp.at<uint64_t>(i.at[0])[lane] : warp.at(i.at[0])[lane];
    for (size_t k = 0; k < i.list.size(); ++k)
      warp.at(i.list[k])[lane] = uint32_t(value >> (bits * k)) & (bits == 32 ? allLanes : (1u << bits) - 1);
  });
}

bool decodeMove(Decoder &d) {
  const Type type = d.takeType();
  if (type == Type::pred) {
    d.out.at = {d.destination(type), d.source(type)};
    return d.finish(movePredicate), true;
  }
  const bool unpacks = d.peek().kind == ParsedOperand::Kind::vector;
  auto setElements = [&] {
    d.out.type = type;
    d.out.immediate = int64_t(8 * bytesOf(type) / d.out.list.size());
    if (d.out.immediate != 16 && d.out.immediate != 32)
      d.fail("knows elements of 16 and 32 bits only");
  };
  if (unpacks) {
    d.destinations(Type::b32);
    d.out.at[0] = d.source(type);
    setElements();
    return d.finish(unpackVector), true;
  }
  d.out.at[0] = d.destination(type);
  if (d.peek().kind == ParsedOperand::Kind::vector) {
    d.sources(Type::b32);
    setElements();
    return d.finish(packVector), true;
  }
  d.out.at[1] = d.source(type);
  d.out.isCopy = d.out.at[1] >= 0;
  d.finish(isWide(type)         ? perLane<&identity<uint64_t>>
           : bytesOf(type) == 2 ? perLane<&identity<uint16_t>>
                                : perLane<&identity<uint32_t>>);
  return true;
}

template <auto of16, auto of32, auto of64, auto ofPredicate> bool decodeBitwise(Decoder &d) {
  const Type type = d.takeType();
  d.out.at = {d.destination(type), d.source(type), d.source(type)};
  if (type == Type::pred)
    d.finish(&ofPredicates<ofPredicate>);
  else
    d.finish(isWide(type) ? perLane<of64> : bytesOf(type) == 2 ? perLane<of16> : perLane<of32>);
  return true;
}

bool decodeNot(Decoder &d) {
  const Type type = d.takeType();
  d.out.at = {d.destination(type), d.source(type)};
  d.finish(type == Type::pred   ? notPredicate
           : isWide(type)       ? perLane<&bitNot<uint64_t>>
           : bytesOf(type) == 2 ? perLane<&bitNot<uint16_t>>
                                : perLane<&bitNot<uint32_t>>);
  return true;
}

bool decodeShift(Decoder &d, const ByType &handlers) {
  const Type type = d.takeType();
  d.out.at = {d.destination(type), d.source(type), d.source(Type::u32)};
  return d.finish(handlers.of(type)), true;
}

bool decodeExtract(Decoder &d) {
  const Type type = d.takeType();
  if (type != Type::u32 && type != Type::s32)
    d.fail("knows 32 bits only");
  d.out.at = {d.destination(type), d.source(type), d.source(Type::u32), d.source(Type::u32)};
  return d.finish(isSigned(type) ? perLane<&extractSigned> : perLane<&extractUnsigned>), true;
}

bool decodeFunnel(Decoder &d) {
  const bool isLeft = d.take("l");
  if (!isLeft)
    d.require("r");
  d.require("wrap");
  d.require("b32");
  d.out.at = {d.destination(Type::b32), d.source(Type::b32), d.source(Type::b32), d.source(Type::u32)};
  return d.finish(isLeft ? perLane<&funnelLeft> : perLane<&funnelRight>), true;
}

bool decodeCount(Decoder &d, Handler narrow, Handler wide) {
  const Type type = d.takeType();
  d.out.at = {d.destination(Type::u32), d.source(type)};
  return d.finish(isWide(type) ? wide : narrow), true;
}

bool decodeThreeWords(Decoder &d, Handler handler, bool hasTable) {
  d.require("b32");
  d.out.at = {d.destination(Type::b32), d.source(Type::b32), d.source(Type::b32), d.source(Type::b32)};
  if (hasTable)
    d.out.immediate = d.immediate();
  return d.finish(handler), true;
}

} // namespace

bool decodeLogic(Decoder &d) {
  const std::string &name = d.name();
  if (name == "mov")
    return decodeMove(d);
  if (name == "and")
    return decodeBitwise<&bitAnd<uint16_t>, &bitAnd<uint32_t>, &bitAnd<uint64_t>, &bitAnd<uint32_t>>(d);
  if (name == "or")
    return decodeBitwise<&bitOr<uint16_t>, &bitOr<uint32_t>, &bitOr<uint64_t>, &bitOr<uint32_t>>(d);
  if (name == "xor")
    return decodeBitwise<&bitXor<uint16_t>, &bitXor<uint32_t>, &bitXor<uint64_t>, &bitXor<uint32_t>>(d);
  if (name == "not")
    return decodeNot(d);
  if (name == "shl")
    return decodeShift(d, {.u16 = perLane<&shiftLeft<uint16_t>>,
                           .u32 = perLane<&shiftLeft<uint32_t>>,
                           .u64 = perLane<&shiftLeft<uint64_t>>});
  if (name == "shr")
    return decodeShift(d,
                       {perLane<&shiftRight<uint16_t>>, perLane<&shiftRight<int16_t>>, perLane<&shiftRight<uint32_t>>,
                        perLane<&shiftRight<int32_t>>, perLane<&shiftRight<uint64_t>>, perLane<&shiftRight<int64_t>>});
  if (name == "bfe")
    return decodeExtract(d);
  if (name == "shf")
    return decodeFunnel(d);
  if (name == "prmt")
    return decodeThreeWords(d, perLane<&permuteBytes>, false);
  if (name == "lop3")
    return decodeThreeWords(d, lookUpBits, true);
  if (name == "popc")
    return decodeCount(d, perLane<&countOnes>, perLane<&countOnesWide>);
  if (name == "clz")
    return decodeCount(d, perLane<&countZeros>, perLane<&countZerosWide>);
  if (name == "brev") {
    d.require("b32");
    d.out.at = {d.destination(Type::b32), d.source(Type::b32)};
    return d.finish(perLane<&reverseBits>), true;
  }
  if (name == "bfi") {
    d.require("b32");
    d.out.at = {d.destination(Type::b32), d.source(Type::b32), d.source(Type::b32), d.source(Type::u32),
                d.source(Type::u32)};
    return d.finish(insertBits), true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Comparisons and selections
//===----------------------------------------------------------------------===//

namespace {

enum Comparison : uint32_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
constexpr std::array<std::string_view, 14> comparisonNames = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                                              "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
enum Combination : uint32_t { none, andOf, orOf, xorOf };

/// With NaN all ordered comparisons are false, `ne` too, and all unordered ones are true.
template <class T> bool compare(uint32_t comparison, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const bool isUnordered = std::isnan(a) || std::isnan(b);
    if (comparison == num || comparison == nan)
      return isUnordered == (comparison == nan);
    if (isUnordered)
      return comparison >= equ;
    if (comparison >= equ)
      comparison -= equ;
  }
  switch (comparison) {
  case eq:
    return a == b;
  case ne:
    return a != b;
  case lt:
    return a < b;
  case le:
    return a <= b;
  case gt:
    return a > b;
  default:
    return a >= b;
  }
}

uint32_t combine(uint32_t combination, uint32_t a, uint32_t b) {
  switch (combination) {
  case andOf:
    return a & b;
  case orOf:
    return a | b;
  case xorOf:
    return a ^ b;
  default:
    return a;
  }
}

template <class T> void setPredicate(Warp &warp, const Instruction &i, uint32_t mask) {
  const auto *a = warp.at<Word<T>>(i.at[2]), *b = warp.at<Word<T>>(i.at[3]);
  const uint32_t comparison = i.flags & 255, combination = i.flags >> 8 & 255;
  uint32_t result = 0;
  forLanes(mask,
           [&](int lane) { result |= uint32_t(compare<T>(comparison, load<T>(a[lane]), load<T>(b[lane]))) << lane; });
  const uint32_t other = combination == none ? allLanes : warp.predicate(i.at[4]);
  warp.setPredicate(i.at[0], mask, combine(combination, result, other));
  warp.setPredicate(i.at[1], mask, combine(combination, ~result, other));
}

template <class T> void select(Warp &warp, const Instruction &i, uint32_t mask) {
  auto *d = warp.at<T>(i.at[0]);
  const auto *a = warp.at<T>(i.at[1]), *b = warp.at<T>(i.at[2]);
  const uint32_t chosen = warp.predicate(i.at[3]);
  forLanes(mask, [=](int lane) { d[lane] = chosen >> lane & 1 ? a[lane] : b[lane]; });
}

/// The first value where the third is not negative.
void selectBySign(Warp &warp, const Instruction &i, uint32_t mask) {
  uint32_t *d = warp.at(i.at[0]), *a = warp.at(i.at[1]), *b = warp.at(i.at[2]);
  const auto *c = warp.at<int32_t>(i.at[3]);
  forLanes(mask, [=](int lane) { d[lane] = c[lane] >= 0 ? a[lane] : b[lane]; });
}

bool decodeSetPredicate(Decoder &d) {
  const Type type = d.takeType();
  const std::string name = d.takeNext();
  const auto found = std::find(comparisonNames.begin(), comparisonNames.end(), name);
  // lo, ls, hi, hs are the unsigned names.
  constexpr std::pair<std::string_view, Comparison> others[] = {{"lo", lt}, {"ls", le}, {"hi", gt}, {"hs", ge}};
  uint32_t comparison = uint32_t(found - comparisonNames.begin());
  for (const auto &[other, meaning] : others)
    if (name == other)
      comparison = meaning;
  if (comparison == comparisonNames.size())
    d.fail(fmt::format("does not know the comparison .{}", name));
  const uint32_t combination = d.take("and") ? andOf : d.take("or") ? orOf : d.take("xor") ? xorOf : none;
  d.out.flags = comparison | combination << 8;
  std::tie(d.out.at[0], d.out.at[1]) = d.predicatePair();
  d.out.at[2] = d.source(type);
  d.out.at[3] = d.source(type);
  if (combination != none)
    d.out.at[4] = d.predicate();
  const ByType handlers = {setPredicate<uint16_t>, setPredicate<int16_t>, setPredicate<uint32_t>, setPredicate<int32_t>,
                           setPredicate<uint64_t>, setPredicate<int64_t>, setPredicate<float>};
  if (!handlers.of(type))
    d.fail("does not know this type");
  return d.finish(handlers.of(type)), true;
}

} // namespace

bool decodeComparison(Decoder &d) {
  if (d.name() == "setp")
    return decodeSetPredicate(d);
  if (d.name() == "selp") {
    const Type type = d.takeType();
    d.out.at = {d.destination(type), d.source(type), d.source(type), d.predicate()};
    return d.finish(isWide(type) ? select<uint64_t> : select<uint32_t>), true;
  }
  if (d.name() == "slct") {
    const Type type = d.takeType();
    d.require("s32");
    if (bytesOf(type) != 4)
      d.fail("knows 32 bits only");
    d.out.at = {d.destination(type), d.source(type), d.source(type), d.source(Type::s32)};
    return d.finish(selectBySign), true;
  }
  return false;
}

} // namespace sparsec::simulator
