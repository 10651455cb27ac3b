// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checks of a text before MLIR's parser reads it. They refuse what would crash the parser or get a misleading error.

#ifndef SPARSEC_COMPILER_CHECKTEXT_H
#define SPARSEC_COMPILER_CHECKTEXT_H

#include "mlir/Support/LLVM.h"

namespace llvm {
class SourceMgr;
} // namespace llvm
namespace mlir {
class MLIRContext;
} // namespace mlir

namespace sparsec {

/// Levels of brackets, aliases and operators that a text may nest. The parser, and all that walks an attribute or a
/// type after it, recurses once or more per level.
inline constexpr int64_t mostNesting = 128;

/// Refuses, with a diagnostic at its place, what MLIR's parser does not survive in the main file of `sources`: nesting
/// that is deeper than `mostNesting`, and dense arrays of `index`. Also refuses bytecode and other binary files, which
/// these checks cannot read.
llvm::LogicalResult checkText(const llvm::SourceMgr &sources, mlir::MLIRContext &context);

/// Refuses ops other than `sparsec.kernel` at the top of the main file of `sources`, and names of dialects that a
/// kernel has no use for. The parser's messages about them advise to register dialects.
llvm::LogicalResult checkNames(const llvm::SourceMgr &sources, mlir::MLIRContext &context);

} // namespace sparsec

#endif // SPARSEC_COMPILER_CHECKTEXT_H
