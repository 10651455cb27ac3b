// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Documentation.h"

#include "SparsecDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using namespace sparsec;

/// Made by mlir-tblgen from the definitions of the ops.
static constexpr char documentation[] =
#include "OpDocumentation.inc"
    ;

/// Summary, syntax, description and example, without the lists of traits and operands that follow.
static StringRef takeDescription(StringRef section) {
  for (StringRef list : {"\nTraits: ", "\nInterfaces: ", "\nEffects: ", "\n#### "})
    section = section.split(list).first;
  return section.trim();
}

/// Every op has a section "### `sparsec.spmm` (::sparsec::SpmmOp)". Calls `body` with its name and the text behind.
static void forSections(function_ref<void(StringRef name, StringRef text)> body) {
  SmallVector<StringRef> sections;
  StringRef(documentation).split(sections, "\n### `");
  for (StringRef section : drop_begin(sections)) {
    auto [heading, text] = section.split('\n');
    body(heading.split('`').first, text);
  }
}

static StringMap<StringRef> readSections() {
  StringMap<StringRef> descriptions;
  forSections([&](StringRef name, StringRef text) { descriptions[name] = takeDescription(text); });
  return descriptions;
}

/// The names that kernels hold, in the order in which their author looks for them.
static SmallVector<StringRef> readNames() {
  SmallVector<StringRef> names = {SparsecDialect::getDialectNamespace(),
                                  mlir::arith::ArithDialect::getDialectNamespace(),
                                  mlir::math::MathDialect::getDialectNamespace(), KernelOp::getOperationName()};
  forSections([&](StringRef name, StringRef text) {
    StringRef traits = text.split("\nTraits: ").second.split('\n').first;
    if (traits.contains("AnchorOp"))
      names.push_back(name);
  });
  names.append({ReturnOp::getOperationName(), YieldOp::getOperationName()});
#define SPARSEC_ELEMENTWISE_OP(OP, STEP) names.push_back(OP::getOperationName());
#define SPARSEC_INTEGER_OP(OP, STEP) names.push_back(OP::getOperationName());
#include "ElementwiseOps.def"
  return names;
}

std::string sparsec::getDocumentation(StringRef op) {
  static const StringMap<StringRef> descriptions = readSections();
  auto found = descriptions.find(op);
  return found == descriptions.end() ? "" : ("### `" + op + "`\n\n" + found->second).str();
}

std::optional<unsigned> sparsec::getRank(StringRef name) {
  static const SmallVector<StringRef> names = readNames();
  const auto *found = find(names, name);
  return found == names.end() ? std::nullopt : std::optional<unsigned>(found - names.begin());
}
