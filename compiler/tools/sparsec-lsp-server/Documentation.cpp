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

/// Every op has a section "### `sparsec.spmm` (::sparsec::SpmmOp)".
static StringMap<StringRef> readSections() {
  SmallVector<StringRef> sections;
  StringRef(documentation).split(sections, "\n### `");
  StringMap<StringRef> descriptions;
  for (StringRef section : drop_begin(sections)) {
    auto [heading, text] = section.split('\n');
    descriptions[heading.split('`').first] = takeDescription(text);
  }
  return descriptions;
}

std::string sparsec::getDocumentation(StringRef op) {
  static const StringMap<StringRef> descriptions = readSections();
  auto found = descriptions.find(op);
  return found == descriptions.end() ? "" : ("### `" + op + "`\n\n" + found->second).str();
}

std::optional<unsigned> sparsec::getRank(StringRef name) {
  static const StringRef names[] = {
      SparsecDialect::getDialectNamespace(),
      mlir::arith::ArithDialect::getDialectNamespace(),
      mlir::math::MathDialect::getDialectNamespace(),
      KernelOp::getOperationName(),
      SpmmOp::getOperationName(),
      SddmmOp::getOperationName(),
      SpgemmOp::getOperationName(),
      AttentionOp::getOperationName(),
      ReturnOp::getOperationName(),
      YieldOp::getOperationName(),
#define SPARSEC_ELEMENTWISE_OP(OP, STEP) OP::getOperationName(),
#define SPARSEC_INTEGER_OP(OP, STEP) OP::getOperationName(),
#include "ElementwiseOps.def"
  };
  const auto *found = find(names, name);
  return found == std::end(names) ? std::nullopt : std::optional<unsigned>(found - names);
}
