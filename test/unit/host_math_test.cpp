// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The error of exp on the host that HostMath.cpp documents: a kernel whose epilogue is exp of an f32 operand, compared
// with the C library in double over all of f32 in steps, and densely where the result is neither 0 nor infinite.

#include "host_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace sparsec::test;

namespace {

/// The matrix is empty: the result is exp of the operand.
constexpr const char *expKernel = R"mlir(
sparsec.kernel @map(%w: !sparsec.bsr<?x?xbf16, block = 16x16>, %x: tensor<?x?xbf16>, %e: tensor<?x?xf32>)
    -> (y: tensor<?x?xf32>) {
  %y = sparsec.spmm %w, %x, %e full epilogue (%acc: f32, %in: f32) {
    %exp = math.exp %in : f32
    sparsec.yield %exp : f32
  } : (!sparsec.bsr<?x?xbf16, block = 16x16>, tensor<?x?xbf16>, tensor<?x?xf32>) -> tensor<?x?xf32>
  sparsec.return %y : tensor<?x?xf32>
})mlir";

class HostExp : public testing::Test {
protected:
  static constexpr int64_t rows = 16, width = 4096;

  void SetUp() override {
    std::string object = compile(expKernel);
    ASSERT_FALSE(object.empty());
    jit = load(object);
    kernel = llvm::cantFail(jit->lookup("map.host")).toPtr<sparsec_host_kernel_t>();
  }

  /// exp of as many arguments as the result has elements.
  std::vector<float> apply(const std::vector<float> &arguments) const {
    std::vector<float> results(rows * width);
    const int32_t rowPtr[] = {0, 0};
    auto slot = [](const void *data) { return uint64_t(reinterpret_cast<uintptr_t>(data)); };
    // values, row_ptr, col_idx, M, K, X, its stride, Y, its stride, N, panels, operand, its stride
    const uint64_t slots[] = {0,     slot(rowPtr),         0,     rows,  16,         0,
                              width, slot(results.data()), width, width, width / 64, slot(arguments.data()),
                              width};
    kernel(slots, 0, width / 64);
    return results;
  }

  /// Checks exp of the floats with these bits, `step` apart.
  void sweep(uint32_t first, uint32_t last, uint32_t step) const {
    for (uint64_t next = first; next <= last;) {
      std::vector<float> arguments(rows * width);
      for (float &argument : arguments) {
        argument = std::bit_cast<float>(static_cast<uint32_t>(next));
        next = std::min<uint64_t>(next + step, uint64_t(last) + 1);
      }
      std::vector<float> results = apply(arguments);
      for (int64_t i = 0; i < rows * width; ++i)
        ASSERT_LE(unitsOff(arguments[i], results[i]), 1.02) << arguments[i] << " gives " << results[i];
    }
  }

  /// How many units in the last place of f32 the result is off.
  static double unitsOff(float argument, float result) {
    double exact = std::exp(double(argument));
    auto rounded = static_cast<float>(exact);
    if (std::isnan(rounded) || std::isinf(rounded) || std::isinf(result))
      return std::isnan(rounded) ? !std::isnan(result) : rounded != result;
    double unit = std::ldexp(1.0, std::max(exact == 0 ? -126 : std::ilogb(exact), -126) - 23);
    return std::abs(result - exact) / unit;
  }

  std::unique_ptr<llvm::orc::LLJIT> jit;
  sparsec_host_kernel_t kernel = nullptr;
};

constexpr uint32_t signBit = 0x80000000;

TEST_F(HostExp, HasItsErrorEverywhere) {
  sweep(0, signBit - 1, 4099); // subnormal numbers, infinity and NaN too
  sweep(signBit, ~0u, 4099);
}

TEST_F(HostExp, HasItsErrorWhereItMatters) {
  uint32_t small = std::bit_cast<uint32_t>(1e-4f);
  sweep(small, std::bit_cast<uint32_t>(90.0f), 61);
  sweep(signBit | small, std::bit_cast<uint32_t>(-105.0f), 61);
  // Subnormal results, and the last ones before 0 and infinity.
  sweep(std::bit_cast<uint32_t>(-87.0f), std::bit_cast<uint32_t>(-104.5f), 3);
  sweep(std::bit_cast<uint32_t>(88.5f), std::bit_cast<uint32_t>(89.1f), 1);
}

TEST_F(HostExp, KnowsTheSpecialValues) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> arguments(rows * width);
  arguments[1] = -0.0f;
  arguments[2] = infinity;
  arguments[3] = -infinity;
  arguments[4] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> results = apply(arguments);
  EXPECT_EQ(results[0], 1);
  EXPECT_EQ(results[1], 1);
  EXPECT_EQ(results[2], infinity);
  EXPECT_EQ(std::bit_cast<uint32_t>(results[3]), 0u);
  EXPECT_TRUE(std::isnan(results[4]));
}

} // namespace
