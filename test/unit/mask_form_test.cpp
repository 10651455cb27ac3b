// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which values of mask regions are made of words (MaskForm.h), and which are left for every score.

#include "MaskForm.h"

#include "SparsecDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace sparsec;

namespace {

class MaskFormTest : public testing::Test {
protected:
  MaskFormTest() { context.loadDialect<SparsecDialect, arith::ArithDialect, math::MathDialect>(); }

  /// The form of a region with the arguments %b, %h, %i, %j and %t that yields %r. Sets `yielded`.
  MaskForm form(const std::string &body) {
    std::string text = llvm::formatv(
        R"(sparsec.kernel @f(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                             %extra: tensor<?xi32>) -> (o: tensor<?x?x?x64xbf16>) {{
             %o = sparsec.attention %q, %k, %v extras(%extra)
                 mask (%b: i32, %h: i32, %i: i32, %j: i32, %t: tensor<?xi32>) {{
               %zero = arith.constant 0 : i32
               %five = arith.constant 5 : i32
               %distance = arith.subi %i, %j : i32
               %mine = sparsec.element %t[%i] : tensor<?xi32>
               %theirs = sparsec.element %t[%j] : tensor<?xi32>
               {0}
               sparsec.yield %r : i1
             } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xi32>)
                 -> tensor<?x?x?x64xbf16>
             sparsec.return %o : tensor<?x?x?x64xbf16>
           })",
        body);
    module = parseSourceString<ModuleOp>(text, &context);
    MaskForm result;
    if (!module) {
      ADD_FAILURE() << "does not parse:\n" << text;
      return result;
    }
    module->walk([&](AttentionOp op) {
      yielded = yieldedValue(op.getMask());
      result = MaskForm(op.getMask());
    });
    return result;
  }

  /// The interval of a comparison that is the whole region.
  KeyInterval interval(const std::string &comparison) {
    MaskForm made = form("%r = arith.cmpi " + comparison + " : i32");
    EXPECT_TRUE(made.isWhole()) << comparison;
    auto found = made.interval(yielded);
    EXPECT_TRUE(found) << comparison;
    return found.value_or(KeyInterval());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Value yielded;
};

void expectInterval(const KeyInterval &interval, int64_t queries, std::optional<int64_t> begin,
                    std::optional<int64_t> end, bool isOutside = false) {
  EXPECT_EQ(interval.queries, queries);
  EXPECT_EQ(interval.begin, begin);
  EXPECT_EQ(interval.end, end);
  EXPECT_EQ(interval.isOutside, isOutside);
}

TEST_F(MaskFormTest, ComparisonsOfPositionsAreIntervals) {
  expectInterval(interval("sge, %i, %j"), 1, std::nullopt, 1);            // k <= q
  expectInterval(interval("slt, %distance, %five"), 1, -4, std::nullopt); // q - k < 5
  expectInterval(interval("sgt, %five, %distance"), 1, -4, std::nullopt); // the same, in the other order
  expectInterval(interval("sle, %distance, %five"), 1, -5, std::nullopt); // q - k <= 5
  expectInterval(interval("sgt, %distance, %five"), 1, std::nullopt, -5); // q - k > 5
  expectInterval(interval("slt, %j, %five"), 0, std::nullopt, 5);         // k < 5
  expectInterval(interval("eq, %distance, %zero"), 1, 0, 1);              // k = q
  expectInterval(interval("ne, %distance, %five"), 1, -5, -4, /*isOutside=*/true);
}

TEST_F(MaskFormTest, SumsOfPositionsAreIntervals) {
  MaskForm made = form("%sum = arith.addi %i, %j : i32\n %r = arith.cmpi slt, %sum, %five : i32");
  expectInterval(made.interval(yielded).value_or(KeyInterval()), -1, std::nullopt, 5);
}

TEST_F(MaskFormTest, ANumberOfTheQueryIsTheLimitOfAnInterval) {
  KeyInterval before = interval("sgt, %mine, %j"); // k < t[q]
  ASSERT_TRUE(before.origin);
  expectInterval(before, 0, std::nullopt, 0);
  MaskForm made = form("%next = arith.addi %j, %five : i32\n %r = arith.cmpi sge, %next, %mine : i32");
  EXPECT_EQ(made.queryValues.size(), 1u);
  expectInterval(made.interval(yielded).value_or(KeyInterval()), 0, -5, std::nullopt); // k >= t[q] - 5
}

TEST_F(MaskFormTest, DistancesWithLargeConstantsAreNoIntervals) {
  // Where it stands for no limit, q - INT32_MAX less the first key of a block would overflow.
  MaskForm made = form("%large = arith.constant 2147483647 : i32\n %r = arith.cmpi sle, %distance, %large : i32");
  EXPECT_FALSE(made.interval(yielded));
}

TEST_F(MaskFormTest, UnsignedComparisonsAreNoIntervals) {
  MaskForm made = form("%r = arith.cmpi ult, %j, %mine : i32");
  EXPECT_TRUE(made.words.empty());
}

TEST_F(MaskFormTest, TermsAreComparedForEqualityInEitherOrder) {
  for (const char *comparison : {"eq, %mine, %theirs", "ne, %theirs, %mine"}) {
    MaskForm made = form(std::string("%r = arith.cmpi ") + comparison + " : i32");
    ASSERT_TRUE(made.isWhole());
    auto terms = made.equality(yielded);
    ASSERT_TRUE(terms);
    EXPECT_TRUE(made.isOfQuery(terms->ofQuery));
    EXPECT_TRUE(made.isOfKey(terms->ofKey));
    EXPECT_EQ(terms->isEqual, comparison[0] == 'e');
  }
  // An order of terms is one for every score.
  MaskForm made = form("%r = arith.cmpi slt, %mine, %theirs : i32");
  EXPECT_TRUE(made.words.empty());
  EXPECT_EQ(made.rest.ofQuery.size(), 1u);
  EXPECT_EQ(made.rest.ofKey.size(), 1u);
}

TEST_F(MaskFormTest, LogicOfWordsIsAWord) {
  MaskForm made = form(R"(%same = arith.cmpi eq, %mine, %theirs : i32
    %before = arith.cmpi sge, %i, %j : i32
    %first = arith.cmpi slt, %i, %five : i32
    %padding = arith.cmpi eq, %theirs, %zero : i32
    %a = arith.andi %same, %before : i1
    %b0 = arith.xori %a, %padding : i1
    %r = arith.select %first, %b0, %same : i1)");
  EXPECT_TRUE(made.isWhole());
  EXPECT_TRUE(made.rest.ofKey.empty());
  EXPECT_EQ(made.queryValues.size(), 2u); // t[q], and whether q < 5
}

TEST_F(MaskFormTest, AValueOfBothLeavesTheOthersAsWords) {
  MaskForm made = form(R"(%same = arith.cmpi eq, %mine, %theirs : i32
    %rest = arith.remsi %distance, %five : i32
    %some = arith.cmpi ne, %rest, %zero : i32
    %r = arith.andi %same, %some : i1)");
  EXPECT_FALSE(made.isWhole());
  ASSERT_EQ(made.words.size(), 1u);
  EXPECT_TRUE(made.equality(made.words[0]));
  EXPECT_TRUE(made.hasKeyTerms());
  EXPECT_TRUE(made.rest.ofKey.empty()) << "the word has the loads";
}

TEST_F(MaskFormTest, AFourthValueOfTheQueryIsNotKept) {
  MaskForm made = form(R"(%m1 = arith.addi %mine, %five : i32
    %m2 = arith.muli %mine, %five : i32
    %m3 = arith.subi %mine, %five : i32
    %e0 = arith.cmpi eq, %mine, %theirs : i32
    %e1 = arith.cmpi eq, %m1, %theirs : i32
    %e2 = arith.cmpi eq, %m2, %theirs : i32
    %e3 = arith.cmpi eq, %m3, %theirs : i32
    %a = arith.ori %e0, %e1 : i1
    %c = arith.ori %e2, %e3 : i1
    %r = arith.ori %a, %c : i1)");
  EXPECT_FALSE(made.isWhole());
  EXPECT_EQ(made.queryValues.size(), 3u);
  EXPECT_FALSE(made.rest.ofKey.empty());
}

TEST_F(MaskFormTest, NoRegionHasNoWords) { EXPECT_FALSE(MaskForm().hasKeyTerms()); }

} // namespace
