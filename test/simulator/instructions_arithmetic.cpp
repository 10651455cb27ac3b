// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Integers and f32: sums, products, extrema, and the approximations of the special function unit. Products of bf16.

#include "decoder.h"
#include "lanes.h"
#include "numbers.h"

#include <cmath>
#include <limits>

namespace sparsec::simulator {

namespace {

//===----------------------------------------------------------------------===//
// Integers: all arithmetic wraps around
//===----------------------------------------------------------------------===//

template <class T> using Unsigned = std::make_unsigned_t<T>;

template <class T> T add(T a, T b) { return T(Unsigned<T>(a) + Unsigned<T>(b)); }
template <class T> T subtract(T a, T b) { return T(Unsigned<T>(a) - Unsigned<T>(b)); }
template <class T> T multiplyLow(T a, T b) { return T(uint64_t(a) * uint64_t(b)); }
template <class T> T multiplyHigh(T a, T b) {
  using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
  return T((Wide(a) * Wide(b)) >> (8 * sizeof(T)));
}
template <class T> T multiplyAddLow(T a, T b, T c) { return T(uint64_t(a) * uint64_t(b) + uint64_t(c)); }
template <class T> T divide(T a, T b) {
  // Division by zero gives all ones, as the GPU's does.
  if (b == 0)
    return T(~T(0));
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1))
      return subtract(T(0), a);
  return T(a / b);
}
template <class T> T remainder(T a, T b) {
  if (b == 0)
    return a;
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1))
      return 0;
  return T(a % b);
}
template <class T> T minimum(T a, T b) { return a < b ? a : b; }
template <class T> T maximum(T a, T b) { return a < b ? b : a; }
template <class T> T minimumRelu(T a, T b) { return maximum(minimum(a, b), T(0)); }
template <class T> T maximumRelu(T a, T b) { return maximum(maximum(a, b), T(0)); }
template <class T> T negate(T a) { return subtract(T(0), a); }
template <class T> T absolute(T a) { return a < 0 ? negate(a) : a; }

uint64_t multiplyWideUnsigned(uint32_t a, uint32_t b) { return uint64_t(a) * b; }
int64_t multiplyWideSigned(int32_t a, int32_t b) { return int64_t(a) * b; }
uint64_t multiplyAddWideUnsigned(uint32_t a, uint32_t b, uint64_t c) { return uint64_t(a) * b + c; }
int64_t multiplyAddWideSigned(int32_t a, int32_t b, int64_t c) { return add(int64_t(a) * b, c); }
uint32_t multiplyWideUnsigned16(uint16_t a, uint16_t b) { return uint32_t(a) * b; }
int32_t multiplyWideSigned16(int16_t a, int16_t b) { return int32_t(a) * b; }

//===----------------------------------------------------------------------===//
// f32
//===----------------------------------------------------------------------===//

/// Subnormal numbers become zeros.
float flush(float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0f, a) : a; }

/// 0 to 1; NaN becomes 0.
float saturate(float a) { return a > 0 ? std::min(a, 1.0f) : 0.0f; }

float addFloat(float a, float b) { return a + b; }
float subtractFloat(float a, float b) { return a - b; }
float multiplyFloat(float a, float b) { return a * b; }
float divideFloat(float a, float b) { return a / b; }
float fma(float a, float b, float c) { return std::fma(a, b, c); }
/// The other number if one is NaN; -0 is less than +0.
float minimumFloat(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
float maximumFloat(float a, float b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? b : a;
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
float canonicalNan() { return std::bit_cast<float>(0x7fffffffu); }
float minimumNan(float a, float b) { return std::isnan(a) || std::isnan(b) ? canonicalNan() : minimumFloat(a, b); }
float maximumNan(float a, float b) { return std::isnan(a) || std::isnan(b) ? canonicalNan() : maximumFloat(a, b); }
float negateFloat(float a) { return std::bit_cast<float>(std::bit_cast<uint32_t>(a) ^ 0x80000000u); }
float absoluteFloat(float a) { return std::bit_cast<float>(std::bit_cast<uint32_t>(a) & 0x7fffffffu); }
/// The sign of a, the size of b: PTX has the operands in this order.
float copySign(float a, float b) { return std::copysign(b, a); }
float reciprocal(float a) { return 1 / a; }
float squareRoot(float a) { return std::sqrt(a); }
float reciprocalRoot(float a) { return 1 / std::sqrt(a); }

// The approximations are computed exactly here. A kernel must not need more than the unit's few last bits.
float exp2Float(float a) { return std::exp2(a); }
float log2Float(float a) { return std::log2(a); }
float sine(float a) { return std::sin(a); }
float cosine(float a) { return std::cos(a); }
float tangentHyperbolic(float a) { return std::tanh(a); }

/// f32 holds the product of two numbers of bf16 exactly, so that it is rounded once.
uint16_t multiplyBf16(uint16_t a, uint16_t b) { return floatToBf16(bf16ToFloat(a) * bf16ToFloat(b)); }
uint32_t multiplyBf16Pair(uint32_t a, uint32_t b) {
  return multiplyBf16(uint16_t(a), uint16_t(b)) | uint32_t(multiplyBf16(uint16_t(a >> 16), uint16_t(b >> 16))) << 16;
}

// Modifiers of f32 as functions around a function.
template <auto function> float flushed1(float a) { return flush(function(flush(a))); }
template <auto function> float flushed2(float a, float b) { return flush(function(flush(a), flush(b))); }
template <auto function> float flushed3(float a, float b, float c) {
  return flush(function(flush(a), flush(b), flush(c)));
}
template <auto function> float saturated2(float a, float b) { return saturate(function(a, b)); }
template <auto function> float saturated3(float a, float b, float c) { return saturate(function(a, b, c)); }

/// A function of floats with its variants.
struct FloatHandlers {
  Handler plain, flushed, saturated = nullptr;

  Handler take(Decoder &d) const {
    if (d.take("ftz"))
      return flushed;
    return saturated && d.take("sat") ? saturated : plain;
  }
};

template <auto function> constexpr FloatHandlers unary = {perLane<function>, perLane<&flushed1<function>>};
template <auto function>
constexpr FloatHandlers binary = {perLane<function>, perLane<&flushed2<function>>, perLane<&saturated2<function>>};
template <auto function>
constexpr FloatHandlers ternary = {perLane<function>, perLane<&flushed3<function>>, perLane<&saturated3<function>>};

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a function template is no template argument
#define INTEGERS(function)                                                                                             \
  ByType {                                                                                                             \
    perLane<&function<uint16_t>>, perLane<&function<int16_t>>, perLane<&function<uint32_t>>,                           \
        perLane<&function<int32_t>>, perLane<&function<uint64_t>>, perLane<&function<int64_t>>, nullptr                \
  }

bool finish(Decoder &d, Handler handler) {
  if (!handler)
    d.fail("does not know this type or these modifiers");
  d.finish(handler);
  return true;
}

bool finishBinary(Decoder &d, Type type, Handler handler) {
  d.out.at = {d.destination(type), d.source(type), d.source(type)};
  return finish(d, handler);
}

bool finishUnary(Decoder &d, Type type, Handler handler) {
  d.out.at = {d.destination(type), d.source(type)};
  return finish(d, handler);
}

bool decodeSum(Decoder &d, const FloatHandlers &floats, const ByType &integers) {
  const Type type = d.takeType();
  if (type != Type::f32)
    return finishBinary(d, type, integers.of(type));
  d.take("rn");
  return finishBinary(d, type, floats.take(d));
}

bool decodeMultiply(Decoder &d) {
  const Type type = d.takeType();
  if (type == Type::f32) {
    d.take("rn");
    return finishBinary(d, type, binary<&multiplyFloat>.take(d));
  }
  if (type == Type::bf16x2) {
    d.take("rn");
    return finishBinary(d, type, perLane<&multiplyBf16Pair>);
  }
  if (d.take("wide")) {
    const bool is32 = bytesOf(type) == 4;
    const Type result = is32 ? Type::u64 : Type::u32;
    d.out.at = {d.destination(result), d.source(type), d.source(type)};
    if (!is32)
      return finish(d, isSigned(type) ? perLane<&multiplyWideSigned16> : perLane<&multiplyWideUnsigned16>);
    return finish(d, isSigned(type) ? perLane<&multiplyWideSigned> : perLane<&multiplyWideUnsigned>);
  }
  if (d.take("hi"))
    return finishBinary(d, type, INTEGERS(multiplyHigh).of(type));
  d.require("lo");
  return finishBinary(d, type, INTEGERS(multiplyLow).of(type));
}

bool decodeMultiplyAdd(Decoder &d) {
  const Type type = d.takeType();
  if (type == Type::f32) {
    d.require("rn");
    d.out.at = {d.destination(type), d.source(type), d.source(type), d.source(type)};
    return finish(d, ternary<&fma>.take(d));
  }
  if (d.take("wide")) {
    d.out.at = {d.destination(Type::u64), d.source(type), d.source(type), d.source(Type::u64)};
    if (bytesOf(type) != 4)
      d.fail("knows .wide of 32 bits only");
    return finish(d, isSigned(type) ? perLane<&multiplyAddWideSigned> : perLane<&multiplyAddWideUnsigned>);
  }
  d.require("lo");
  d.out.at = {d.destination(type), d.source(type), d.source(type), d.source(type)};
  return finish(d, INTEGERS(multiplyAddLow).of(type));
}

bool decodeExtremum(Decoder &d, bool isMinimum) {
  const Type type = d.takeType();
  if (type == Type::f32) {
    if (d.take("NaN"))
      return finishBinary(d, type, (isMinimum ? binary<&minimumNan> : binary<&maximumNan>).take(d));
    return finishBinary(d, type, (isMinimum ? binary<&minimumFloat> : binary<&maximumFloat>).take(d));
  }
  if (d.take("relu"))
    return finishBinary(d, type, (isMinimum ? INTEGERS(minimumRelu) : INTEGERS(maximumRelu)).of(type));
  return finishBinary(d, type, (isMinimum ? INTEGERS(minimum) : INTEGERS(maximum)).of(type));
}

bool decodeSign(Decoder &d, const FloatHandlers &floats, const ByType &integers) {
  const Type type = d.takeType();
  return finishUnary(d, type, type == Type::f32 ? floats.take(d) : integers.of(type));
}

bool decodeDivide(Decoder &d) {
  const Type type = d.takeType();
  if (type != Type::f32)
    return finishBinary(d, type, INTEGERS(divide).of(type));
  if (!d.take("rn") && !d.take("full"))
    d.require("approx");
  return finishBinary(d, type, binary<&divideFloat>.take(d));
}

bool decodeSpecialFunction(Decoder &d, const FloatHandlers &handlers, bool hasExact) {
  const Type type = d.takeType();
  if (type != Type::f32)
    d.fail("knows f32 only");
  if (!hasExact || !d.take("rn"))
    d.require("approx");
  return finishUnary(d, type, handlers.take(d));
}

} // namespace

bool decodeArithmetic(Decoder &d) {
  const std::string &name = d.name();
  if (name == "add")
    return decodeSum(d, binary<&addFloat>, INTEGERS(add));
  if (name == "sub")
    return decodeSum(d, binary<&subtractFloat>, INTEGERS(subtract));
  if (name == "mul")
    return decodeMultiply(d);
  if (name == "mad" || name == "fma")
    return decodeMultiplyAdd(d);
  if (name == "div")
    return decodeDivide(d);
  if (name == "rem") {
    const Type type = d.takeType();
    return finishBinary(d, type, INTEGERS(remainder).of(type));
  }
  if (name == "min" || name == "max")
    return decodeExtremum(d, name == "min");
  if (name == "neg")
    return decodeSign(d, unary<&negateFloat>, INTEGERS(negate));
  if (name == "abs")
    return decodeSign(d, unary<&absoluteFloat>, INTEGERS(absolute));
  if (name == "copysign")
    return finishBinary(d, d.takeType(), perLane<&copySign>);
  if (name == "rcp")
    return decodeSpecialFunction(d, unary<&reciprocal>, true);
  if (name == "sqrt")
    return decodeSpecialFunction(d, unary<&squareRoot>, true);
  if (name == "rsqrt")
    return decodeSpecialFunction(d, unary<&reciprocalRoot>, false);
  if (name == "ex2")
    return decodeSpecialFunction(d, unary<&exp2Float>, false);
  if (name == "lg2")
    return decodeSpecialFunction(d, unary<&log2Float>, false);
  if (name == "sin")
    return decodeSpecialFunction(d, unary<&sine>, false);
  if (name == "cos")
    return decodeSpecialFunction(d, unary<&cosine>, false);
  if (name == "tanh")
    return decodeSpecialFunction(d, unary<&tangentHyperbolic>, false);
  return false;
}

} // namespace sparsec::simulator
