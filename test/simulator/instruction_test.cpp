// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Instructions of single lanes and of warps, against what C++ computes in wider types.

#include "snippet.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <random>

namespace sparsec::simulator {
namespace {

using Words = std::vector<uint32_t>;

constexpr size_t lanes = 32;

/// Words that are corner cases of integers and floats first, then random.
Words inputs(uint32_t seed) {
  Words words = {0, 1, 0xffffffff, 0x80000000, 0x7fffffff, 0x3f800000, 0xbf800000, 0x7f800000, 31, 33, 0x00ff00ff, 7};
  std::rotate(words.begin(), words.begin() + seed % words.size(), words.end());
  std::mt19937 random(seed);
  while (words.size() < lanes)
    words.push_back(uint32_t(random()));
  return words;
}

/// Runs an instruction on %r1, %r2 and %r3 into %r4; 64-bit results are in %rd4 with a place for each lane.
Words run(const std::string &instruction, const Words &a, const Words &b, const Words &c) {
  Words in[] = {a, b, c}, out(2 * lanes);
  SnippetDevice device;
  for (Words &each : in)
    device.add(each);
  device.add(out);
  std::string body;
  for (int i = 0; i < 3; ++i)
    body += fmt::format("add.u64 %rd8, %rd{}, %rd15; ld.global.b32 %r{}, [%rd8];\n", i, i + 1);
  body += "mov.b64 %rd4, 0; mov.b32 %r4, 0; mov.b32 {%h1, %h2}, %r1;\n" + instruction +
          "\nshl.b64 %rd9, %rd15, 1; add.u64 %rd9, %rd9, %rd3;\n"
          "cvt.u64.u32 %rd10, %r4; or.b64 %rd10, %rd10, %rd4; st.global.b64 [%rd9], %rd10;";
  device.run(body);
  return out;
}

struct IntegerCase {
  const char *instruction;
  uint64_t (*expected)(uint32_t a, uint32_t b, uint32_t c);
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest calls
void PrintTo(const IntegerCase &one, std::ostream *out) { *out << one.instruction; }

int64_t s(uint32_t value) { return int32_t(value); }
uint64_t low(int64_t value) { return uint32_t(value); }

class IntegerInstruction : public testing::TestWithParam<IntegerCase> {};

TEST_P(IntegerInstruction, IsThatOfWiderIntegers) {
  for (uint32_t seed = 0; seed < 6; ++seed) {
    const Words a = inputs(seed), b = inputs(seed + 5), c = inputs(seed + 3),
                out = run(GetParam().instruction, a, b, c);
    for (size_t i = 0; i < lanes; ++i)
      ASSERT_EQ(out[2 * i] | uint64_t(out[2 * i + 1]) << 32, GetParam().expected(a[i], b[i], c[i]))
          << GetParam().instruction << " of " << a[i] << ", " << b[i] << ", " << c[i];
  }
}

using U = uint32_t;
INSTANTIATE_TEST_SUITE_P(
    All, IntegerInstruction,
    testing::Values(
        IntegerCase{"add.s32 %r4, %r1, %r2;", [](U a, U b, U) { return low(s(a) + s(b)); }},
        IntegerCase{"sub.s32 %r4, %r1, %r2;", [](U a, U b, U) { return low(s(a) - s(b)); }},
        IntegerCase{"mul.lo.s32 %r4, %r1, %r2;", [](U a, U b, U) { return low(s(a) * s(b)); }},
        IntegerCase{"mul.hi.s32 %r4, %r1, %r2;", [](U a, U b, U) { return low(s(a) * s(b) >> 32); }},
        IntegerCase{"mul.hi.u32 %r4, %r1, %r2;", [](U a, U b, U) { return uint64_t(a) * b >> 32; }},
        IntegerCase{"mul.wide.u32 %rd4, %r1, %r2;", [](U a, U b, U) { return uint64_t(a) * b; }},
        IntegerCase{"mul.wide.s32 %rd4, %r1, %r2;", [](U a, U b, U) { return uint64_t(s(a) * s(b)); }},
        IntegerCase{"mad.lo.s32 %r4, %r1, %r2, %r3;", [](U a, U b, U c) { return low(s(a) * s(b) + s(c)); }},
        IntegerCase{"max.u32 %r2, %r2, 1; div.u32 %r4, %r1, %r2;",
                    [](U a, U b, U) -> uint64_t { return a / (b ? b : 1); }},
        IntegerCase{"max.u32 %r2, %r2, 1; rem.u32 %r4, %r1, %r2;",
                    [](U a, U b, U) -> uint64_t { return a % (b ? b : 1); }},
        IntegerCase{"min.s32 %r4, %r1, %r2;", [](U a, U b, U) { return low(s(a) < s(b) ? s(a) : s(b)); }},
        IntegerCase{"min.relu.s32 %r4, %r1, %r2;",
                    [](U a, U b, U) { return low(std::max<int64_t>(s(a) < s(b) ? s(a) : s(b), 0)); }},
        IntegerCase{"max.u32 %r4, %r1, %r2;", [](U a, U b, U) -> uint64_t { return a < b ? b : a; }},
        IntegerCase{"neg.s32 %r4, %r1;", [](U a, U, U) { return low(-s(a)); }},
        IntegerCase{"abs.s32 %r4, %r1;", [](U a, U, U) { return low(s(a) < 0 ? -s(a) : s(a)); }},
        IntegerCase{"and.b32 %r4, %r1, %r2;", [](U a, U b, U) -> uint64_t { return a & b; }},
        IntegerCase{"not.b32 %r4, %r1;", [](U a, U, U) -> uint64_t { return ~a; }},
        IntegerCase{"lop3.b32 %r4, %r1, %r2, %r3, 0xe8;",
                    [](U a, U b, U c) -> uint64_t { return (a & b) | (a & c) | (b & c); }},
        IntegerCase{"shl.b32 %r4, %r1, %r2;", [](U a, U b, U) -> uint64_t { return b > 31 ? 0 : a << b; }},
        IntegerCase{"shr.s32 %r4, %r1, %r2;", [](U a, U b, U) { return low(s(a) >> (b > 31 ? 31 : b)); }},
        IntegerCase{"shf.l.wrap.b32 %r4, %r1, %r2, %r3;",
                    [](U a, U b, U c) -> uint64_t { return c % 32 ? U(b << c % 32 | a >> (32 - c % 32)) : b; }},
        IntegerCase{"bfe.u32 %r4, %r1, 5, 9;", [](U a, U, U) -> uint64_t { return a / 32 % 512; }},
        IntegerCase{"bfe.s32 %r4, %r1, 27, 9;", [](U a, U, U) { return low(s(a) >> 27); }},
        IntegerCase{"bfi.b32 %r4, %r1, %r2, 8, 8;",
                    [](U a, U b, U) -> uint64_t { return (b & 0xffff00ffu) | (a & 255) * 256; }},
        IntegerCase{"popc.b32 %r4, %r1;", [](U a, U, U) -> uint64_t { return uint64_t(__builtin_popcount(a)); }},
        IntegerCase{"clz.b32 %r4, %r1;", [](U a, U, U) -> uint64_t { return a ? uint64_t(__builtin_clz(a)) : 32; }},
        IntegerCase{"prmt.b32 %r4, %r1, %r2, 0x5410;",
                    [](U a, U b, U) -> uint64_t { return a % 65536 + b % 65536 * 65536; }},
        IntegerCase{"cvt.s64.s32 %rd4, %r1;", [](U a, U, U) { return uint64_t(s(a)); }},
        IntegerCase{"cvt.u64.u32 %rd4, %r1;", [](U a, U, U) -> uint64_t { return a; }},
        IntegerCase{"cvt.s32.s8 %r4, %r1;", [](U a, U, U) { return low(int8_t(a)); }},
        IntegerCase{"mov.b32 %r4, {%h2, %h1};", [](U a, U, U) -> uint64_t { return U(a << 16 | a >> 16); }},
        IntegerCase{"setp.lt.s32 %p1, %r1, %r2; selp.b32 %r4, 1, 2, %p1;",
                    [](U a, U b, U) -> uint64_t { return s(a) < s(b) ? 1 : 2; }},
        IntegerCase{"setp.ge.u32 %p1, %r1, %r2; not.pred %p1, %p1; selp.b32 %r4, %r1, %r3, %p1;",
                    [](U a, U b, U c) -> uint64_t { return a < b ? a : c; }},
        IntegerCase{"setp.eq.s32 %p2, %r3, 0; setp.ne.or.s32 %p1|%p3, %r1, %r2, %p2; selp.b32 %r4, 1, 0, %p1;",
                    [](U a, U b, U c) -> uint64_t { return a != b || c == 0; }},
        IntegerCase{"slct.b32.s32 %r4, %r1, %r2, %r3;", [](U a, U b, U c) -> uint64_t { return s(c) >= 0 ? a : b; }}));

//===----------------------------------------------------------------------===//
// f32
//===----------------------------------------------------------------------===//

struct FloatCase {
  const char *instruction;
  double (*expected)(double a, double b, double c);
  double tolerance = 0; // relative, beside rounding to f32
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest calls
void PrintTo(const FloatCase &one, std::ostream *out) { *out << one.instruction; }

class FloatInstruction : public testing::TestWithParam<FloatCase> {};

TEST_P(FloatInstruction, IsThatOfDoubles) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-8, 8);
  Words a(lanes), b(lanes), c(lanes);
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 0; i < lanes; ++i)
      for (Words *words : {&a, &b, &c})
        (*words)[i] = std::bit_cast<uint32_t>(values(random));
    const Words out = run(GetParam().instruction, a, b, c);
    for (size_t i = 0; i < lanes; ++i) {
      auto value = [](uint32_t bits) { return double(std::bit_cast<float>(bits)); };
      const double exact = GetParam().expected(value(a[i]), value(b[i]), value(c[i])), got = value(out[2 * i]);
      if (GetParam().tolerance == 0)
        ASSERT_EQ(got, double(float(exact))) << value(a[i]) << ", " << value(b[i]) << ", " << value(c[i]);
      else
        ASSERT_NEAR(got, exact, GetParam().tolerance * std::fabs(exact)) << value(a[i]);
    }
  }
}

using D = double;
INSTANTIATE_TEST_SUITE_P(
    All, FloatInstruction,
    testing::Values(
        FloatCase{"add.rn.f32 %r4, %r1, %r2;", [](D a, D b, D) { return a + b; }},
        FloatCase{"sub.f32 %r4, %r1, %r2;", [](D a, D b, D) { return a - b; }},
        FloatCase{"mul.rn.f32 %r4, %r1, %r2;", [](D a, D b, D) { return a * b; }},
        FloatCase{"div.rn.f32 %r4, %r1, %r2;", [](D a, D b, D) { return a / b; }},
        FloatCase{"fma.rn.f32 %r4, %r1, %r2, %r3;",
                  [](D a, D b, D c) { return D(float(static_cast<long double>(a) * b + c)); }},
        FloatCase{"min.f32 %r4, %r1, %r2;", [](D a, D b, D) { return a < b ? a : b; }},
        FloatCase{"max.NaN.f32 %r4, %r1, %r2;", [](D a, D b, D) { return a < b ? b : a; }},
        FloatCase{"neg.f32 %r4, %r1;", [](D a, D, D) { return -a; }},
        FloatCase{"abs.f32 %r4, %r1;", [](D a, D, D) { return a < 0 ? -a : a; }},
        FloatCase{"copysign.f32 %r4, %r1, %r2;", [](D a, D b, D) { return (a < 0) == (b < 0) ? b : -b; }},
        FloatCase{"add.sat.f32 %r4, %r1, %r2;", [](D a, D b, D) { return std::clamp(a + b, 0.0, 1.0); }},
        FloatCase{"abs.f32 %r1, %r1; sqrt.rn.f32 %r4, %r1;", [](D a, D, D) { return std::sqrt(std::fabs(a)); }},
        FloatCase{"rcp.approx.ftz.f32 %r4, %r1;", [](D a, D, D) { return 1 / a; }, 1e-6},
        FloatCase{"ex2.approx.ftz.f32 %r4, %r1;", [](D a, D, D) { return std::pow(2.0, a); }, 1e-6},
        FloatCase{"abs.f32 %r1, %r1; lg2.approx.f32 %r4, %r1;",
                  [](D a, D, D) { return std::log(std::fabs(a)) / std::log(2.0); }, 1e-4},
        FloatCase{"tanh.approx.f32 %r4, %r1;",
                  [](D a, D, D) { return (std::exp(a) - std::exp(-a)) / (std::exp(a) + std::exp(-a)); }, 1e-5},
        FloatCase{"cvt.rzi.s32.f32 %r4, %r1; cvt.rn.f32.s32 %r4, %r4;", [](D a, D, D) { return std::trunc(a); }},
        FloatCase{"cvt.rmi.f32.f32 %r4, %r1;", [](D a, D, D) { return std::floor(a); }},
        FloatCase{"setp.gtu.f32 %p1, %r1, %r2; selp.f32 %r4, %r1, %r2, %p1;",
                  [](D a, D b, D) { return a > b ? a : b; }}));

TEST(FloatInstruction, ProductsOfPairsOfBf16) {
  std::mt19937 random(5);
  std::uniform_int_distribution<uint32_t> codes(0x3c00, 0x4400); // 2^-7 to 2^9
  for (int round = 0; round < 16; ++round) {
    Words a(lanes), b(lanes);
    for (Words *words : {&a, &b})
      for (uint32_t &word : *words)
        word = (codes(random) | (random() & 1) << 15) | (codes(random) | (random() & 1) << 15) << 16;
    const Words out = run("mul.rn.bf16x2 %r4, %r1, %r2;", a, b, b);
    for (size_t i = 0; i < lanes; ++i)
      for (int half : {0, 16}) {
        auto value = [&](uint32_t pair) { return double(std::bit_cast<float>(pair >> half << 16)); };
        const double exact = value(a[i]) * value(b[i]), got = value(out[2 * i]);
        // Rounding to nearest is off by at most half of the distance between neighbours of 8 significant bits.
        ASSERT_LE(std::fabs(got - exact), std::ldexp(1.0, std::ilogb(exact) - 8)) << value(a[i]) << ", " << value(b[i]);
      }
  }
}

TEST(FloatInstruction, ComparisonsWithNan) {
  const Words nan(lanes, 0x7fc00000), one(lanes, 0x3f800000);
  for (const auto &[comparison, expected] :
       {std::pair("eq", 0u), std::pair("ne", 0u), std::pair("ltu", 1u), std::pair("geu", 1u), std::pair("neu", 1u),
        std::pair("nan", 1u), std::pair("num", 0u)})
    EXPECT_EQ(run(fmt::format("setp.{}.f32 %p1, %r1, %r2; selp.b32 %r4, 1, 0, %p1;", comparison), nan, one, one)[0],
              expected)
        << comparison;
  EXPECT_EQ(run("min.f32 %r4, %r1, %r2;", nan, one, one)[0], 0x3f800000u);
  EXPECT_EQ(run("min.NaN.f32 %r4, %r1, %r2;", nan, one, one)[0], 0x7fffffffu);
  EXPECT_EQ(run("add.ftz.f32 %r4, %r1, %r2;", Words(lanes, 1), Words(lanes, 1), one)[0], 0u) << "subnormal numbers";
}

//===----------------------------------------------------------------------===//
// Small formats
//===----------------------------------------------------------------------===//

struct SmallFormat {
  const char *name;
  const char *encode, *decode; // of one value in %r1, and to %r4
  int exponentBits, mantissaBits;
  bool isFinite; // only NaN beyond the numbers, and too large values become the largest
};
// NOLINTNEXTLINE(readability-identifier-naming): the name that GoogleTest calls
void PrintTo(const SmallFormat &format, std::ostream *out) { *out << format.name; }

/// The value of a code, from its fields.
double valueOf(uint32_t code, const SmallFormat &format) {
  const int bias = (1 << (format.exponentBits - 1)) - 1, ones = (1 << format.exponentBits) - 1;
  const uint32_t mantissa = code % (1u << format.mantissaBits), exponent = code >> format.mantissaBits & uint32_t(ones);
  const double sign = code >> (format.exponentBits + format.mantissaBits) & 1 ? -1 : 1;
  const double fraction = double(mantissa) / double(1 << format.mantissaBits);
  if (exponent == uint32_t(ones) && (!format.isFinite || format.exponentBits == 5 || fraction == 0.875))
    return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * (exponent ? std::pow(2, int(exponent) - bias) * (1 + fraction) : std::pow(2, 1 - bias) * fraction);
}

class SmallFloats : public testing::TestWithParam<SmallFormat> {};

TEST_P(SmallFloats, DecodeEveryCode) {
  const uint32_t codes = 1u << (1 + GetParam().exponentBits + GetParam().mantissaBits);
  for (uint32_t first = 0; first < codes; first += std::max<uint32_t>(lanes, codes / 64)) {
    Words code(lanes);
    for (uint32_t i = 0; i < lanes; ++i)
      code[i] = first + i;
    const Words out = run(GetParam().decode, code, code, code);
    for (size_t i = 0; i < lanes; ++i) {
      const double expected = valueOf(code[i], GetParam()), got = double(std::bit_cast<float>(out[2 * i]));
      ASSERT_TRUE(std::isnan(expected) ? std::isnan(got) : got == expected) << code[i] << ": " << got;
    }
  }
}

TEST_P(SmallFloats, EncodeToTheNearestCode) {
  std::mt19937 random(3);
  std::normal_distribution<float> values(0, 40);
  const uint32_t codes = 1u << (GetParam().exponentBits + GetParam().mantissaBits); // without the sign
  for (int round = 0; round < 8; ++round) {
    Words in(lanes);
    for (uint32_t &word : in)
      word = std::bit_cast<uint32_t>(std::ldexp(values(random), int(random() % 12) - 8));
    in[0] = std::bit_cast<uint32_t>(float(valueOf(uint32_t(random() % (codes / 2)), GetParam())));
    const Words out = run(GetParam().encode, in, in, in);
    for (size_t i = 0; i < lanes; ++i) {
      const double value = double(std::bit_cast<float>(in[i])), got = valueOf(out[2 * i], GetParam());
      if (std::isinf(got))
        continue; // only f16 has results beyond its numbers here
      double best = HUGE_VAL;
      for (uint32_t code = 0; code < codes; ++code)
        if (const double candidate = valueOf(code, GetParam()); std::isfinite(candidate))
          best = std::min(best, std::fabs(candidate - std::fabs(value)));
      ASSERT_EQ(std::fabs(got - value), best) << value << " became " << got;
      const double other = 2 * value - got; // as far on the other side
      for (uint32_t code = 1; code < codes && best > 0; code += 2)
        ASSERT_FALSE(out[2 * i] % 2 == 1 && valueOf(code - 1, GetParam()) == std::fabs(other)) << "a tie to odd";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SmallFloats,
    testing::Values(
        SmallFormat{"f16", "cvt.rn.f16.f32 %h3, %r1; cvt.u32.u16 %r4, %h3;", "cvt.f32.f16 %r4, %h1;", 5, 10, false},
        SmallFormat{"bf16", "cvt.rn.bf16.f32 %h3, %r1; cvt.u32.u16 %r4, %h3;", "cvt.f32.bf16 %r4, %h1;", 8, 7, false},
        SmallFormat{"f16x2", "cvt.rn.f16x2.f32 %r4, %r1, 0f00000000; shr.u32 %r4, %r4, 16;", "cvt.f32.f16 %r4, %h1;", 5,
                    10, false},
        SmallFormat{"e4m3", "cvt.rn.satfinite.e4m3x2.f32 %h3, 0f00000000, %r1; cvt.u32.u16 %r4, %h3;",
                    "cvt.rn.f16x2.e4m3x2 %r5, %h1; mov.b32 {%h4, %h5}, %r5; cvt.f32.f16 %r4, %h4;", 4, 3, true},
        SmallFormat{"e5m2", "cvt.rn.satfinite.e5m2x2.f32 %h3, 0f00000000, %r1; cvt.u32.u16 %r4, %h3;",
                    "cvt.rn.f16x2.e5m2x2 %r5, %h1; mov.b32 {%h4, %h5}, %r5; cvt.f32.f16 %r4, %h4;", 5, 2, true}));

//===----------------------------------------------------------------------===//
// Control flow and warps
//===----------------------------------------------------------------------===//

/// Runs a body that leaves its result in %r4 of each thread.
Words results(const std::string &body, SnippetShape shape = {}) {
  Words out(size_t(shape.threads) * shape.ctas);
  SnippetDevice device;
  device.add(out);
  device.run(body + "\nmov.u32 %r90, %ctaid.x; mov.u32 %r91, %ntid.x; mad.lo.u32 %r92, %r90, %r91, %r0;\n"
                    "mul.wide.u32 %rd14, %r92, 4; add.u64 %rd14, %rd14, %rd0; st.global.b32 [%rd14], %r4;",
             shape);
  return out;
}

TEST(ControlFlow, LanesDivergeAndMeetAgain) {
  // Collatz steps of each lane, in a loop with a branch inside; all lanes are there at the vote behind it.
  const Words out = results(R"(
    add.u32 %r1, %r0, 1;
    mov.b32 %r4, 0;
  LOOP:
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra DONE;
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra EVEN;
    mad.lo.u32 %r1, %r1, 3, 1;
    bra NEXT;
  EVEN:
    shr.u32 %r1, %r1, 1;
  NEXT:
    add.u32 %r4, %r4, 1;
    bra LOOP;
  DONE:
    vote.sync.ballot.b32 %r5, %p1, -1;
    shl.b32 %r6, %r5, 16;
    add.u32 %r4, %r4, %r6;
  )");
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    uint32_t steps = 0;
    for (uint32_t n = lane + 1; n != 1; n = n % 2 ? 3 * n + 1 : n / 2)
      ++steps;
    EXPECT_EQ(out[lane], steps + 0xffff0000u);
  }
}

TEST(ControlFlow, BranchesWithTargets) {
  const Words out = results(R"(
    mov.u32 %r1, %warpid;
  TARGETS: .branchtargets ZERO, ONE, TWO;
    brx.idx %r1, TARGETS;
  ZERO:
    mov.b32 %r4, 10;
    bra END;
  ONE:
    mov.b32 %r4, 20;
    bra END;
  TWO:
    mov.b32 %r4, 30;
  END:
  )",
                            {.threads = 96});
  for (size_t thread = 0; thread < 96; ++thread)
    EXPECT_EQ(out[thread], 10 * (thread / 32 + 1));
}

TEST(ControlFlow, LanesThatEndTakeNoPart) {
  const Words out = results(R"(
    mov.b32 %r4, 7;
    setp.ge.u32 %p1, %r0, 20;
    @%p1 exit;
    vote.sync.ballot.b32 %r4, %p1, 0xfffff;
    bar.sync 0;
  )");
  for (size_t lane = 0; lane < lanes; ++lane)
    EXPECT_EQ(out[lane], 0u);
}

TEST(Lanes, ShufflesVotesAndReductions) {
  auto expectLanes = [](const std::string &body, auto expected) {
    const Words out = results(body);
    for (uint32_t lane = 0; lane < lanes; ++lane)
      EXPECT_EQ(out[lane], uint32_t(expected(lane))) << body << " in lane " << lane;
  };
  expectLanes("shfl.sync.bfly.b32 %r4, %r0, 5, 31, -1;", [](uint32_t lane) { return lane ^ 5; });
  expectLanes("shfl.sync.idx.b32 %r4, %r0, 9, 31, -1;", [](uint32_t) { return 9; });
  expectLanes("shfl.sync.up.b32 %r4, %r0, 3, 0, -1;", [](uint32_t lane) { return lane < 3 ? lane : lane - 3; });
  expectLanes("shfl.sync.down.b32 %r4|%p1, %r0, 3, 31, -1; selp.b32 %r4, %r4, 99, %p1;",
              [](uint32_t lane) { return lane > 28 ? 99 : lane + 3; });
  expectLanes("shfl.sync.idx.b32 %r4, %r0, 1, 0x181f, -1;", [](uint32_t lane) { return lane / 8 * 8 + 1; });
  expectLanes("setp.lt.u32 %p1, %r0, 3; vote.sync.ballot.b32 %r4, %p1, -1;", [](uint32_t) { return 7; });
  expectLanes("setp.lt.u32 %p1, %r0, 3; vote.sync.any.pred %p2, %p1, -1; selp.b32 %r4, 1, 0, %p2;",
              [](uint32_t) { return 1; });
  expectLanes("setp.lt.u32 %p1, %r0, 3; vote.sync.all.pred %p2, %p1, -1; selp.b32 %r4, 1, 0, %p2;",
              [](uint32_t) { return 0; });
  expectLanes("redux.sync.add.s32 %r4, %r0, -1;", [](uint32_t) { return 496; });
  expectLanes("redux.sync.max.u32 %r4, %r0, -1;", [](uint32_t) { return 31; });
  expectLanes("elect.sync %r5|%p1, -1; selp.b32 %r4, 1, 0, %p1;", [](uint32_t lane) { return lane == 0; });
  expectLanes("mov.u32 %r4, %lanemask_lt;", [](uint32_t lane) { return (uint64_t(1) << lane) - 1; });
}

TEST(Memory, LoadsAndStoresOfVectorsAndPartsOfWords) {
  Words in(lanes * 4), out(lanes * 4);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint32_t(i * 0x01030507u);
  SnippetDevice device;
  device.add(in);
  device.add(out);
  device.run(R"(
    shl.b64 %rd8, %rd15, 2;
    add.u64 %rd9, %rd8, %rd0;
    add.u64 %rd10, %rd8, %rd1;
    ld.global.nc.v2.b32 {%r1, %r2}, [%rd9];
    ld.global.s8 %r3, [%rd9+9];
    ld.global.u16 %r4, [%rd9+12];
    st.global.v4.b32 [%rd10], {%r1, %r2, %r3, %r4};
  )");
  for (size_t i = 0; i < lanes; ++i) {
    EXPECT_EQ(out[4 * i], in[4 * i]);
    EXPECT_EQ(out[4 * i + 1], in[4 * i + 1]);
    EXPECT_EQ(int32_t(out[4 * i + 2]), int(int8_t(in[4 * i + 2] >> 8)));
    EXPECT_EQ(out[4 * i + 3], in[4 * i + 3] % 65536);
  }
}

TEST(Memory, AtomicsOfAllThreads) {
  Words counter = {0, 5};
  SnippetDevice device;
  device.add(counter);
  device.run("atom.global.inc.u32 %r1, [%rd0], 99; red.global.add.u32 [%rd0+4], 2;", {.threads = 64, .ctas = 3});
  EXPECT_EQ(counter[0], 192u % 100);
  EXPECT_EQ(counter[1], 5 + 2 * 192u);
}

TEST(Memory, LocalMemoryBelongsToAThread) {
  const Words out = results(R"(
    .local .align 8 .b8 depot[32];
    mov.b64 %rd1, depot;
    cvta.local.u64 %rd2, %rd1;
    st.local.b32 [%rd1+4], %r0;
    ld.b32 %r4, [%rd2+4];
  )");
  for (uint32_t lane = 0; lane < lanes; ++lane)
    EXPECT_EQ(out[lane], lane);
}

TEST(Barriers, PairWriterAndReader) {
  // Warp 0 writes for warp 1, which waits at a barrier at which warp 0 only arrives.
  const Words out = results(R"(
    mov.b32 %r1, smem;
    and.b32 %r2, %r0, 31;
    shl.b32 %r3, %r2, 2;
    add.u32 %r1, %r1, %r3;
    mov.b32 %r4, 0;
    setp.ge.u32 %p1, %r0, 32;
    @%p1 bra READ;
    st.shared.b32 [%r1], %r0;
    bar.arrive 1, 64;
    bra END;
  READ:
    bar.sync 1, 64;
    ld.shared.b32 %r4, [%r1];
  END:
  )",
                            {.threads = 64, .shared = 128});
  for (uint32_t lane = 0; lane < lanes; ++lane)
    EXPECT_EQ(out[lane + 32], lane);
}

TEST(Clusters, CtasReadEachOthersSharedMemory) {
  const Words out = results(R"(
    mov.b32 %r1, smem;
    shl.b32 %r2, %r0, 2;
    add.u32 %r1, %r1, %r2;
    mov.u32 %r3, %cluster_ctarank;
    mad.lo.u32 %r5, %r3, 100, %r0;
    st.shared.b32 [%r1], %r5;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    xor.b32 %r6, %r3, 1;
    mapa.shared::cluster.u32 %r7, %r1, %r6;
    ld.shared::cluster.b32 %r4, [%r7];
    barrier.cluster.arrive;
    barrier.cluster.wait;
  )",
                            {.ctas = 4, .cluster = 2, .shared = 128});
  for (uint32_t i = 0; i < 4 * lanes; ++i)
    EXPECT_EQ(out[i], (1 - i / lanes % 2) * 100 + i % lanes);
}

} // namespace
} // namespace sparsec::simulator
