// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texts that MLIR's parser does not survive are refused before it sees them: a crash would end this program.

#include "CheckText.h"
#include "sparsec/compiler.h"

#include "llvm/ADT/StringRef.h"

#include <gtest/gtest.h>

using llvm::StringRef;

namespace {

struct Check {
  sparsec_compile_code_t code;
  std::string diagnostics;
  bool says(StringRef text) const { return StringRef(diagnostics).contains(text); }
};

Check check(const std::string &source) {
  Check result;
  sparsec_compile_options_t options;
  sparsec_compile_options_init(&options);
  options.emit = SPARSEC_EMIT_MLIR;
  options.user_data = &result;
  options.diagnostic = [](void *user, sparsec_severity_t, const char *text) {
    static_cast<Check *>(user)->diagnostics += text;
  };
  sparsec_compile_result_t compiled = nullptr;
  result.code = sparsec_compile(source.data(), source.size(), &options, &compiled);
  if (compiled)
    sparsec_compile_result_free(compiled);
  return result;
}

std::string repeat(int64_t count, StringRef text) {
  std::string result;
  for (int64_t i = 0; i < count; ++i)
    result += text;
  return result;
}

/// A kernel with an attribute, behind the definitions of aliases.
std::string kernelWith(const std::string &attribute, const std::string &aliases = "") {
  return aliases + "sparsec.kernel @k(%w: !sparsec.bsr<?x?xbf16, block = 64x64>, %x: tensor<?x?xbf16>) -> " +
         "(y: tensor<?x?xbf16>) attributes {user.a = " + attribute + "} {\n" +
         "  %y = sparsec.spmm %w, %x : (!sparsec.bsr<?x?xbf16, block = 64x64>, tensor<?x?xbf16>) -> "
         "tensor<?x?xbf16>\n" +
         "  sparsec.return %y : tensor<?x?xbf16>\n}\n";
}

/// How a text nests, and how many levels a kernel has around it.
struct Nesting {
  const char *name;
  std::string (*text)(int64_t levels);
  int64_t around;
};

const Nesting nestings[] = {
    {"brackets", [](int64_t n) { return kernelWith(repeat(n, "[") + repeat(n, "]")); }, 1},
    {"braces", [](int64_t n) { return kernelWith(repeat(n, "{a = ") + "1" + repeat(n, "}")); }, 1},
    {"angles", [](int64_t n) { return kernelWith(repeat(n, "tuple<") + "i1" + repeat(n, ">")); }, 1},
    {"parentheses", [](int64_t n) { return kernelWith(repeat(n, "(") + "i1" + repeat(n, ") -> ()")); }, 1},
    {"expressions",
     [](int64_t n) { return kernelWith("affine_map<(d0) -> (" + repeat(n, "(") + "d0" + repeat(n, ")") + ")>"); }, 3},
    {"minus", [](int64_t n) { return kernelWith("affine_map<(d0) -> (" + repeat(n, "-") + "d0)>"); }, 3},
    {"sum", [](int64_t n) { return kernelWith("affine_map<(d0) -> (0, d0" + repeat(n, " + d0") + ")>"); }, 3},
    {"product", [](int64_t n) { return kernelWith("affine_map<(d0) -> (d0" + repeat(n, " * 3") + ")>"); }, 3},
    {"mod", [](int64_t n) { return kernelWith("affine_map<(d0) -> (d0" + repeat(n, " mod 3") + ")>"); }, 3},
    {"floordiv", [](int64_t n) { return kernelWith("affine_map<(d0) -> (d0" + repeat(n, " floordiv 3") + ")>"); }, 3},
    {"ceildiv", [](int64_t n) { return kernelWith("affine_map<(d0) -> (d0" + repeat(n, " ceildiv 3") + ")>"); }, 3},
    {"locations",
     [](int64_t n) { return kernelWith("1") + "loc(" + repeat(n, "fused[") + "\"a\"" + repeat(n, "]") + ")\n"; }, 1},
    {"attribute aliases",
     [](int64_t n) {
       std::string aliases = "#a0 = []\n";
       for (int64_t i = 0; i < n; ++i)
         aliases += "#a" + std::to_string(i + 1) + " = #a" + std::to_string(i) + "\n";
       return kernelWith("#a" + std::to_string(n), aliases);
     },
     3},
    {"type aliases",
     [](int64_t n) {
       std::string aliases = "!a0 = i1\n";
       for (int64_t i = 0; i < n; ++i)
         aliases += "!a" + std::to_string(i + 1) + " = () ->\n  !a" + std::to_string(i) + "\n";
       return kernelWith("!a" + std::to_string(n), aliases);
     },
     2},
};

class Nested : public testing::TestWithParam<Nesting> {};

TEST_P(Nested, UpToTheLimit) {
  Check result = check(GetParam().text(sparsec::mostNesting - GetParam().around));
  EXPECT_EQ(result.code, SPARSEC_COMPILE_OK) << result.diagnostics;
}

TEST_P(Nested, BeyondTheLimit) {
  // 100,000 levels overflow every stack.
  for (int64_t levels : {sparsec::mostNesting - GetParam().around + 1, int64_t(100000)}) {
    Check result = check(GetParam().text(levels));
    EXPECT_EQ(result.code, SPARSEC_COMPILE_INVALID_INPUT);
    EXPECT_TRUE(result.says("error: expects at most 128 levels of nested brackets, aliases and operators, but got "))
        << result.diagnostics.substr(0, 400);
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, Nested, testing::ValuesIn(nestings), [](const auto &test) {
  std::string name = test.param.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

TEST(CheckText, PlaceOfTheBracket) {
  Check result = check("#a = [\n" + repeat(126, "[") + "\n  [[]]" + repeat(127, "]") + "\n");
  EXPECT_EQ(result.code, SPARSEC_COMPILE_INVALID_INPUT);
  EXPECT_TRUE(StringRef(result.diagnostics).starts_with("<memory>:3:4: error: ")) << result.diagnostics;
}

TEST(CheckText, RegionsNest) {
  Check result = check(repeat(100000, "module {") + repeat(100000, "}"));
  EXPECT_EQ(result.code, SPARSEC_COMPILE_INVALID_INPUT);
  EXPECT_TRUE(result.says("expects at most 128 levels")) << result.diagnostics.substr(0, 400);
}

TEST(CheckText, WhatDoesNotNest) {
  // Lists, sums in different elements, constants of ops, comments, strings, comparisons, arrows and unknown closing
  // brackets.
  for (const std::string &attribute :
       {"[" + repeat(1000, "-1, ") + "1]", "affine_map<(d0) -> (" + repeat(1000, "d0 + 1, ") + "d0)>",
        "[\n" + repeat(1000, "// ([{<\n") + "]", "\"" + repeat(1000, "([{<\\\"") + "\"",
        "affine_set<(d0) : (" + repeat(1000, "d0 <= 1, 0 >= d0, ") + "d0 == 0)>",
        "[" + repeat(1000, "() -> (), ") + "1]"}) {
    Check result = check(kernelWith(attribute));
    EXPECT_EQ(result.code, SPARSEC_COMPILE_OK) << result.diagnostics.substr(0, 400);
  }
  std::string kernel = kernelWith("1");
  std::string constants = repeat(1000, "    %c = arith.constant -1.0 : f32\n");
  Check result = check(kernel.substr(0, kernel.find("  %y")) + constants);
  EXPECT_TRUE(result.says("redefinition of SSA value '%c'")) << result.diagnostics.substr(0, 400);
  // An alias is as deep as its definition, not as the kernel that uses it.
  result = check(kernelWith(repeat(100, "[") + "#a, #a" + repeat(100, "]"),
                            "#a = " + repeat(20, "[") + "1" + repeat(20, "]") + "\n"));
  EXPECT_EQ(result.code, SPARSEC_COMPILE_OK) << result.diagnostics.substr(0, 400);
}

TEST(CheckText, ArrayOfIndex) {
  for (const std::string &source :
       {kernelWith("array<index: 1>"), kernelWith("array< index>"), kernelWith("array<!i: 1>", "!i = index\n"),
        std::string("!i = index\n#a = array<!i>\n")}) {
    Check result = check(source);
    EXPECT_EQ(result.code, SPARSEC_COMPILE_INVALID_INPUT);
    EXPECT_TRUE(result.says("error: expects the elements of an array to be integers or floats, but got index"))
        << result.diagnostics;
  }
  Check result = check(kernelWith("[array<i64: 1>, array<f32: 1.0>, index]", "!index = i8\n"));
  EXPECT_EQ(result.code, SPARSEC_COMPILE_OK) << result.diagnostics;
}

TEST(CheckText, Bytecode) {
  Check result = check("ML\xefR");
  EXPECT_EQ(result.code, SPARSEC_COMPILE_INVALID_INPUT);
  EXPECT_TRUE(result.says("error: expects MLIR as text, but got bytecode")) << result.diagnostics;
}

TEST(CheckNames, ForeignOnesAreRefusedWhereTheyAre) {
  const std::pair<std::string, const char *> sources[] = {
      {"func.func @f()", "<memory>:1:1: error: expects only sparsec.kernel in a module, but got func.func"},
      {"#a = 1\n\"other.op\"() : () -> ()",
       "<memory>:2:1: error: expects only sparsec.kernel in a module, but got other.op"},
      {kernelWith("1") + "%c = arith.constant 1 : i32",
       "<memory>:5:6: error: expects only sparsec.kernel in a module, but got arith.constant"},
      {kernelWith("#other.attribute<1>"),
       "expects only names of sparsec, arith and math in a kernel, but got other.attribute"},
      {kernelWith("!other.type"), "expects only names of sparsec, arith and math in a kernel, but got other.type"},
      {"module {\n  other.op @f\n}", "expects only names of sparsec, arith and math in a kernel, but got other.op"}};
  for (const auto &[source, message] : sources) {
    Check result = check(source);
    EXPECT_EQ(result.code, SPARSEC_COMPILE_INVALID_INPUT);
    EXPECT_TRUE(result.says(message)) << result.diagnostics;
  }
}

TEST(CheckNames, PointsElsewhereAreNoNames) {
  // Attributes of any name, strings, symbols, locations, and a comparison that looks like the end of brackets.
  for (const char *attribute : {"1, other.name = 2, other.unit", "\"other.op\"", "@\"other.op\"", "[\"other.op\", 1.5]",
                                "affine_set<(d0) : (d0 - 1 >= 0)>, other.name"}) {
    Check result = check(kernelWith(attribute) + "loc(\"other.file\":1:2)\n#l = loc(\"other.file\":1:2)\n");
    EXPECT_EQ(result.code, SPARSEC_COMPILE_OK) << result.diagnostics;
  }
}

TEST(CheckNames, BinaryFilesHaveNoPlace) {
  Check result = check(std::string("\x7f"
                                   "ELF\0",
                                   5));
  EXPECT_EQ(result.code, SPARSEC_COMPILE_INVALID_INPUT);
  EXPECT_EQ(result.diagnostics,
            "<memory>:0:0: error: expects MLIR as text, but got a binary file, with a zero at byte 4\n");
}

} // namespace
