// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which score regions have a form that saves instructions (ScoreForm.h), and which look like one but have none.

#include "ScoreForm.h"

#include "SparsecDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sparsec;

namespace {

class ScoreFormTest : public testing::Test {
protected:
  ScoreFormTest() { context.loadDialect<SparsecDialect, arith::ArithDialect, math::MathDialect>(); }

  /// The form of a region with the arguments %s, %b, %h, %i, %j and %slopes that yields %r.
  ScoreForm form(const char *body, const char *type = "bf16") {
    std::string text = llvm::formatv(
        R"(sparsec.kernel @f(%q: tensor<?x?x?x64x{0}>, %k: tensor<?x?x?x64x{0}>, %v: tensor<?x?x?x64x{0}>,
                             %extra: tensor<?xf32>) -> (o: tensor<?x?x?x64x{0}>) {{
             %o = sparsec.attention %q, %k, %v extras(%extra)
                 score (%s: f32, %b: i32, %h: i32, %i: i32, %j: i32, %slopes: tensor<?xf32>) {{
               {1}
               sparsec.yield %r : f32
             } : (tensor<?x?x?x64x{0}>, tensor<?x?x?x64x{0}>, tensor<?x?x?x64x{0}>, tensor<?xf32>)
                 -> tensor<?x?x?x64x{0}>
             sparsec.return %o : tensor<?x?x?x64x{0}>
           })",
        type, body);
    module = parseSourceString<ModuleOp>(text, &context);
    ScoreForm result;
    if (!module) {
      ADD_FAILURE() << "does not parse:\n" << text;
      return result;
    }
    module->walk([&](AttentionOp op) {
      auto element = cast<RankedTensorType>(op.getQuery().getType()).getElementType();
      result = ScoreForm(op.getScore(), element);
    });
    return result;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

constexpr char slopeAndDistance[] = R"(%slope = sparsec.element %slopes[%h] : tensor<?xf32>
  %distance = arith.subi %j, %i : i32
  %d = arith.sitofp %distance : i32 to f32
  )";

std::string alibi(const char *rest) { return std::string(slopeAndDistance) + rest; }

TEST_F(ScoreFormTest, LinearBiases) {
  const struct {
    std::string body;
    double sign;
  } cases[] = {
      {alibi("%r = math.fma %slope, %d, %s : f32"), 1},
      {alibi("%r = math.fma %d, %slope, %s : f32"), 1},
      {alibi("%p = arith.mulf %d, %slope : f32\n %r = arith.addf %s, %p : f32"), 1},
      {alibi("%p = arith.mulf %slope, %d : f32\n %r = arith.addf %p, %s : f32"), 1},
      {alibi("%p = arith.mulf %slope, %d : f32\n %r = arith.subf %s, %p : f32"), -1},
      {alibi("%twice = arith.addf %slope, %slope : f32\n %r = math.fma %twice, %d, %s : f32"), 1},
  };
  for (const auto &each : cases) {
    ScoreForm found = form(each.body.c_str());
    ASSERT_TRUE(found.bias) << each.body;
    EXPECT_FALSE(found.scaled);
    EXPECT_EQ(found.bias->sign, each.sign);
    EXPECT_EQ(found.bias->distance.queries, -1);
    EXPECT_EQ(found.bias->distance.keys, 1);
    EXPECT_EQ(found.bias->distance.constant, 0);
  }
}

TEST_F(ScoreFormTest, NoLinearBiases) {
  const std::string bodies[] = {
      // Not the score itself; not the score as it is.
      alibi("%r = math.fma %slope, %s, %d : f32"),
      alibi("%p = arith.mulf %slope, %d : f32\n %r = arith.subf %p, %s : f32"),
      alibi("%e = math.exp %s : f32\n %r = math.fma %slope, %d, %e : f32"),
      // A slope that depends on the place, or whose index is computed.
      alibi("%x = sparsec.element %slopes[%j] : tensor<?xf32>\n %r = math.fma %x, %d, %s : f32"),
      alibi("%n = arith.addi %h, %b : i32\n %x = sparsec.element %slopes[%n] : tensor<?xf32>\n"
            "%r = math.fma %x, %d, %s : f32"),
      alibi("%r = math.fma %d, %d, %s : f32"),
      // A slope that depends on the score, a distance that is not a sum of positions.
      alibi("%x = arith.mulf %slope, %s : f32\n %r = math.fma %x, %d, %s : f32"),
      alibi("%n = arith.muli %j, %j : i32\n %f = arith.sitofp %n : i32 to f32\n %r = math.fma %slope, %f, %s : f32"),
  };
  for (const std::string &body : bodies)
    EXPECT_FALSE(form(body.c_str()).bias) << body;
}

TEST_F(ScoreFormTest, MultipliersOfScores) {
  ScoreForm positive = form("%c = arith.constant 3.0 : f32\n %e = math.exp %s : f32\n %r = arith.mulf %c, %e : f32");
  ASSERT_TRUE(positive.scaled);
  EXPECT_EQ(positive.scaled->multiplier, 3);
  EXPECT_TRUE(isa<math::ExpOp>(positive.scaled->value.getDefiningOp()));
  EXPECT_FALSE(positive.hasFixedShift()) << "an exponential has no bound";
  // The largest exponent would be that of the smallest score.
  EXPECT_EQ(form("%c = arith.constant -3.0 : f32\n %r = arith.mulf %s, %c : f32").scaled->multiplier, 1);
  // Times log2(e) it would be infinite.
  EXPECT_EQ(form("%c = arith.constant 3.0e38 : f32\n %r = arith.mulf %s, %c : f32").scaled->multiplier, 1);
  EXPECT_EQ(form("%c = arith.constant 0.0 : f32\n %r = arith.mulf %s, %c : f32").scaled->multiplier, 1);
}

/// A cap of tanh(%s / `cap`), or times 1 / `cap`.
std::string softcap(double cap, const char *flags, bool divides = true) {
  return llvm::formatv("%c = arith.constant {0:f4} : f32\n %n = arith.constant {1:f9} : f32\n"
                       "%x = {2} : f32\n %t = math.tanh %x {3} : f32\n %r = arith.mulf %t, %c : f32",
                       cap, 1 / cap, divides ? "arith.divf %s, %c" : "arith.mulf %n, %s", flags);
}

TEST_F(ScoreFormTest, SoftCaps) {
  for (bool divides : {true, false}) {
    ScoreForm approximate = form(softcap(20, "fastmath<afn>", divides).c_str());
    ASSERT_TRUE(approximate.isCapped());
    EXPECT_NEAR(*approximate.scaled->capRatio, 0.05, 1e-8);
    EXPECT_EQ(approximate.scaled->multiplier, 20);
    EXPECT_TRUE(approximate.scaled->hasApproximateCap);
  }
  ScoreForm precise = form(softcap(20, "").c_str());
  ASSERT_TRUE(precise.isCapped());
  EXPECT_FALSE(precise.scaled->hasApproximateCap);
  EXPECT_TRUE(form(softcap(largestCap, "").c_str()).isCapped());
  EXPECT_FALSE(form(softcap(2 * largestCap, "").c_str()).isCapped()) << "the error would be too large";
  EXPECT_TRUE(form(softcap(2 * largestCap, "fastmath<afn>").c_str()).isCapped());
  EXPECT_FALSE(form(softcap(20, "{sparsec.exact}").c_str()).isCapped());
  EXPECT_FALSE(form("%c = arith.constant 2.0 : f32\n %x = arith.addf %s, %c : f32\n"
                    "%r = math.tanh %x fastmath<afn> : f32")
                   .isCapped());
}

TEST_F(ScoreFormTest, ExponentsOfQueries) {
  auto exponent = [&](const char *flags, int64_t headDimension, const char *type = "bf16") {
    return form(softcap(20, flags).c_str(), type).scaled->exponentOfQueries(headDimension);
  };
  // A polynomial of degree 3 serves scores up to 64, 90.5, 52.8 and 74.7.
  EXPECT_EQ(exponent("fastmath<afn>", 64), -5);
  EXPECT_EQ(exponent("fastmath<afn>", 128), -5);
  EXPECT_EQ(exponent("", 128), -5);
  EXPECT_EQ(exponent("", 64), std::nullopt) << "32 of 52.8";
  EXPECT_EQ(exponent("fastmath<afn>", 128, "f16"), std::nullopt) << "m is not fixed";
  auto exponentOfRatio = [&](const char *ratio) {
    std::string text = llvm::formatv("%c = arith.constant 20.0 : f32\n %n = arith.constant {0} : f32\n"
                                     "%x = arith.mulf %s, %n : f32\n %t = math.tanh %x fastmath<afn> : f32\n"
                                     "%r = arith.mulf %t, %c : f32",
                                     ratio);
    return form(text.c_str()).scaled->exponentOfQueries(/*headDimension=*/64);
  };
  EXPECT_EQ(exponentOfRatio("-0.05"), -5) << "magnitudes count";
  EXPECT_EQ(exponentOfRatio("0.8"), -1);
  EXPECT_EQ(exponentOfRatio("1.6"), std::nullopt) << "larger queries might overflow";
  EXPECT_EQ(exponentOfRatio("1.49e-9"), std::nullopt) << "much smaller queries lose bits";
}

TEST_F(ScoreFormTest, FixedShiftsOfBoundedScores) {
  auto shift = [&](double cap, const char *type = "bf16") {
    return form(softcap(cap, "").c_str(), type).scaled->fixedShift;
  };
  // The largest exponent, 20 log2(e); of a higher cap what leaves the smallest one at -100; none beyond a span of 150.
  EXPECT_NEAR(shift(20).value(), 28.8539, 1e-3);
  EXPECT_NEAR(shift(50).value(), 100 - 72.1348, 1e-3);
  EXPECT_FALSE(shift(53).has_value());
  EXPECT_FALSE(shift(20, "f16").has_value());
}

} // namespace
