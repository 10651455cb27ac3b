// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The errors of exp, tanh and erf on the host that HostMath.cpp documents: a kernel whose epilogue is the function of
// an f32 operand, compared with the C library in double over all of f32 in steps, and densely where it matters. And the
// roundings to bf16 and f16, compared with the nearer one of their neighbours in double.

#include "host_kernels.h"

#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace sparsec::test;

namespace {

/// A kernel with an empty matrix: the result is what the steps make of the operand.
class HostMap : public testing::Test {
protected:
  static constexpr int64_t rows = 16, width = 4096;

  void compileSteps(const char *type, const char *steps) {
    std::string object = compile(llvm::formatv(R"mlir(
sparsec.kernel @map(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>, %e: tensor<?x?xf32>)
    -> (y: tensor<?x?x{0}>) {{
  %y = sparsec.spmm %w, %x, %e full epilogue (%acc: f32, %in: f32) {{
    {1}
    sparsec.yield %out : f32
  } : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>, tensor<?x?xf32>) -> tensor<?x?x{0}>
  sparsec.return %y : tensor<?x?x{0}>
})mlir",
                                               type, steps));
    ASSERT_FALSE(object.empty());
    jit = load(object);
    kernel = llvm::cantFail(jit->lookup("map.host")).toPtr<sparsec_host_kernel_t>();
  }

  /// Takes as many arguments as the result has elements.
  template <typename Result = float> std::vector<Result> apply(const std::vector<float> &arguments) const {
    std::vector<Result> results(rows * width);
    const int32_t rowPtr[] = {0, 0};
    auto slot = [](const void *data) { return uint64_t(reinterpret_cast<uintptr_t>(data)); };
    // M, row_ptr, col_idx, K, values, X, its stride, N, Y, its stride, M, N, operand, its stride
    const uint64_t slots[] = {
        rows,  slot(rowPtr),           0,    16, 0, 0, width, width, slot(results.data()), width, rows,
        width, slot(arguments.data()), width};
    kernel(slots, 0, width / 64);
    return results;
  }

  /// Calls `check` with the floats that have these bits, `step` apart, and their results.
  template <typename Result = float, typename Check>
  void sweep(uint32_t first, uint32_t last, uint32_t step, Check check) const {
    for (uint64_t next = first; next <= last && !HasFatalFailure();) {
      std::vector<float> arguments(rows * width);
      for (float &argument : arguments) {
        argument = std::bit_cast<float>(static_cast<uint32_t>(next));
        next = std::min<uint64_t>(next + step, uint64_t(last) + 1);
      }
      std::vector<Result> results = apply<Result>(arguments);
      for (int64_t i = 0; i < rows * width && !HasFatalFailure(); ++i)
        check(arguments[i], results[i]);
    }
  }

  std::unique_ptr<llvm::orc::LLJIT> jit;
  sparsec_host_kernel_t kernel = nullptr;
};

constexpr uint32_t signBit = 0x80000000;

/// How many units in the last place of f32 a result is off.
double unitsOff(double exact, float result) {
  auto rounded = static_cast<float>(exact);
  if (std::isnan(rounded) || std::isinf(rounded) || std::isinf(result))
    return std::isnan(rounded) ? !std::isnan(result) : rounded != result;
  double unit = std::ldexp(1.0, std::max(exact == 0 ? -126 : std::ilogb(exact), -126) - 23);
  return std::abs(result - exact) / unit;
}

/// Arguments from one to another of the same sign, so many units in the last place apart.
struct Range {
  float first, last;
  uint32_t step;
};

struct Function {
  const char *name;
  double (*exact)(double);
  double largestError; // in units in the last place
  std::vector<Range> whereItMatters;
};

class HostFunction : public HostMap, public testing::WithParamInterface<Function> {
protected:
  void SetUp() override {
    std::string step = llvm::formatv("%out = math.{0} %in : f32", GetParam().name);
    compileSteps("f32", step.c_str());
  }

  void sweep(uint32_t first, uint32_t last, uint32_t step) const {
    HostMap::sweep(first, last, step, [](float argument, float result) {
      ASSERT_LE(unitsOff(GetParam().exact(argument), result), GetParam().largestError)
          << argument << " gives " << result;
    });
  }
};

TEST_P(HostFunction, HasItsErrorEverywhere) {
  sweep(0, signBit - 1, 4099); // subnormal numbers, infinity and NaN too
  sweep(signBit, ~0u, 4099);
}

TEST_P(HostFunction, HasItsErrorWhereItMatters) {
  for (const Range &range : GetParam().whereItMatters)
    sweep(std::bit_cast<uint32_t>(range.first), std::bit_cast<uint32_t>(range.last), range.step);
}

TEST_P(HostFunction, KnowsTheSpecialValues) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special{0.0f, -0.0f, infinity, -infinity};
  std::vector<float> arguments(rows * width);
  llvm::copy(special, arguments.begin());
  arguments[special.size()] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> results = apply(arguments);
  for (auto [argument, result] : llvm::zip(special, results))
    EXPECT_EQ(std::bit_cast<uint32_t>(result), std::bit_cast<uint32_t>(static_cast<float>(GetParam().exact(argument))))
        << argument;
  EXPECT_TRUE(std::isnan(results[special.size()]));
}

INSTANTIATE_TEST_SUITE_P(
    Functions, HostFunction,
    testing::Values(Function{"exp",
                             std::exp,
                             1.02,
                             {{1e-4f, 90.0f, 61},
                              {-1e-4f, -105.0f, 61},
                              // Subnormal results, and the last ones before 0 and infinity.
                              {-87.0f, -104.5f, 3},
                              {88.5f, 89.1f, 1}}},
                    Function{"tanh", std::tanh, 2.57, {{1e-4f, 11.0f, 61}, {-1e-4f, -11.0f, 61}, {8.5f, 10.5f, 3}}},
                    Function{"erf", std::erf, 1.16, {{1e-4f, 4.5f, 61}, {-1e-4f, -4.5f, 61}, {0.999f, 1.001f, 1}}}),
    [](const auto &info) { return info.param.name; });

/// The value of a 16-bit float, subnormal numbers too; where f32 rounds to infinity, that stands for 2^128 or 2^16.
double valueOf(uint16_t bits, const Format &format) {
  int largest = (1 << (format.exponentBits - 1)) - 1;
  bool isInfinite = (bits & 0x7fff) == ((1 << format.exponentBits) - 1) << format.fractionBits;
  return isInfinite ? std::ldexp(bits >> 15 ? -1 : 1, largest + 1) : decode(bits, format);
}

class HostRounding : public HostMap, public testing::WithParamInterface<std::pair<Format, const char *>> {
protected:
  const Format &format = GetParam().first;

  void SetUp() override { compileSteps(format.name, GetParam().second); }

  /// No neighbour is nearer than the result, and where one is as near, the result is even.
  void expectNearest(float x, uint16_t result) const {
    uint16_t infinity = ((1 << format.exponentBits) - 1) << format.fractionBits;
    if (std::isnan(x)) {
      ASSERT_GT(result & 0x7fff, infinity) << "NaN gives " << result;
      return;
    }
    ASSERT_LE(result & 0x7fff, infinity) << x << " gives " << result;
    ASSERT_EQ(result >> 15, std::signbit(x)) << x << " gives " << result;
    if (std::isinf(x)) {
      ASSERT_EQ(result & 0x7fff, infinity);
      return;
    }
    double distance = std::abs(valueOf(result, format) - x);
    for (int step : {-1, 1}) {
      auto neighbour = static_cast<uint16_t>(result + step);
      if ((result & 0x7fff) + step < 0 || (neighbour & 0x7fff) > infinity)
        continue;
      double other = std::abs(valueOf(neighbour, format) - x);
      ASSERT_TRUE(distance < other || (distance == other && result % 2 == 0)) << x << " gives " << result;
    }
  }

  void sweep(uint32_t first, uint32_t last, uint32_t step) const {
    HostMap::sweep<uint16_t>(first, last, step, [&](float x, uint16_t result) { expectNearest(x, result); });
  }
};

TEST_P(HostRounding, IsToNearestEven) {
  sweep(0, ~0u, 4099);
  sweep(0, ~0u, 1 << 12); // ties of both formats
  for (float around : {0x1p-149f, 0x1p-126f, 0x1p-25f, 0x1p-14f, 1.0f, 65520.0f, 0x1.ffp127f})
    sweep(std::bit_cast<uint32_t>(around) - std::min(std::bit_cast<uint32_t>(around), 1u << 17),
          std::bit_cast<uint32_t>(around) + (1 << 17), 1);
  sweep(0x7f7f0000, 0x7f810000, 1); // the largest numbers, infinity, and NaN with nothing in their upper half
  sweep(0xff7f0000, 0xff810000, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, HostRounding,
    testing::Values(std::pair{bf16, "%out = arith.subf %in, %acc : f32"},
                    std::pair{f16, "%out = arith.subf %in, %acc : f32"},
                    std::pair{bf16, "%h = arith.truncf %in : f32 to bf16 %out = arith.extf %h : bf16 to f32"},
                    std::pair{bf16, "%h = arith.truncf %in to_nearest_even : f32 to bf16 "
                                    "%out = arith.extf %h : bf16 to f32"},
                    std::pair{f16, "%h = arith.truncf %in to_nearest_even : f32 to f16 "
                                   "%out = arith.extf %h : f16 to f32"}));

} // namespace
